"""Network addresses, ports behind a host, and temporary paths."""

from __future__ import annotations

import re
from itertools import pairwise

_IPV4 = re.compile(
    r"[0-9](?<![0-9A-Za-z_.@^~-].)(?<!==.)(?<!ersion .)(?<!ersion: .)(?<!ersion\":\".)"
    r"(?<!ection .)[0-9]{0,2}\.(?:[0-9]{1,3}\.){2}[0-9]{1,3}(?:/[0-9]{1,2}\b)?"
    r"(?![0-9A-Za-z_-]|\.[0-9A-Za-z])"
)
_COLON_PORT = re.compile(r":([0-9]{4,5})(?![0-9A-Za-z_]|[.:][0-9])")
_HOST = re.compile(
    r"(?:\blocalhost|<ip>(?:%[0-9A-Za-z]{1,16})?\]?|::1?\]|\*|://[^\s/\"'<>]{1,255}"
    r"|\.(?:local|internal|lan))\Z"
)
_TMP = re.compile(  # not a folder `tmp` somewhere in a project
    r"/(?:tmp/(?:(?<![0-9A-Za-z_.-]/tmp/)|(?<=/private/tmp/)|(?<=/var/tmp/))|T/(?<=<tmp>/T/))"
    r"([^\\/\s\"'`:;,()<>|]{1,255})(/pytest-[0-9]{1,9}(?![0-9]))?"
)
_WINDOWS_TMP = re.compile(r"(\\[Tt]emp\\{1,2})([^\\/\s\"'`:;,()<>|]{1,255})")
_STAMPED = re.compile(r"[0-9]{10}")
_FOLDERS = re.compile(r"/var/folders/[0-9A-Za-z_+]{1,32}/[0-9A-Za-z_+]{1,64}/T/")
_TMP_NAME = re.compile(  # Python's tempfile
    r"tmp[0-9a-z_]{8}(?<![0-9A-Za-z_-]...........)(?![0-9A-Za-z_])"
)


def mask_addresses(text: str) -> str:
    return _IPV4.sub(_ipv4, text)


def mask_ports(text: str) -> str:
    """After the addresses, so that a port behind one is known as a port."""
    return _COLON_PORT.sub(_port, text)


def mask_paths(text: str, shape: bytes) -> str:
    """Names that were drawn below temporary folders."""
    folders = b"/folders/" in shape
    if folders:
        text = _FOLDERS.sub("/var/folders/<tmp>/T/", text)
    if folders or b"tmp" in shape:
        text = _TMP_NAME.sub("<tmp>", _TMP.sub(_tmp, text))
    if b"\\temp\\" in shape:
        text = _WINDOWS_TMP.sub(lambda m: m[1] + _name(m[2]), text)
    return text


def _ipv4(match: re.Match[str]) -> str:
    numbers = match[0].partition("/")[0].split(".")
    heading = max(map(len, numbers)) == 1  # 4.2.1.3
    return "<ip>" if not heading and all(int(number) <= 255 for number in numbers) else match[0]


def _port(match: re.Match[str]) -> str:
    start = match.start()
    known = _HOST.search(match.string, max(0, start - 259), start)
    return ":<port>" if known else match[0]


def _tmp(match: re.Match[str]) -> str:
    head = match[0][: match.start(1) - match.start()]
    return head + _name(match[1]) + ("/<tmp>" if match[2] else "")


def _name(name: str) -> str:
    """The first name below a temporary folder: masked if it was drawn, not chosen."""
    stem, dot, ending = name.partition(".")
    if stem == "tmp" and len(ending) >= 6 and "." not in ending:  # mktemp: tmp.AbCdEfGhIj
        return "<tmp>"
    return f"<tmp>{dot}{ending}" if _drawn(stem, bool(dot)) else name


def _drawn(stem: str, has_ending: bool) -> bool:
    """Whether a name looks random: xyz123, tmpab12cd; not report2, data_2024.csv."""
    if stem.startswith("tmp") and len(stem) >= 9:
        return True
    if _STAMPED.search(stem):
        return True
    digits = sum(c.isdigit() for c in stem)
    turns = sum(
        a.isdigit() != b.isdigit() or (a.islower() and b.isupper())
        for a, b in pairwise(stem)
        if a.isalnum() and b.isalnum()
    )
    if has_ending:
        return digits >= 2 and turns >= 3
    return digits >= 3 or turns >= 3
