"""Ids that show by their own form that a machine drew them."""

from __future__ import annotations

import re

from loopaudit.masks.keyed import _SWITCH

_TO_X = bytes(  # hex digits -> x, the x of 0x -> \x01
    120 if chr(b) in "0123456789abcdefABCDEF" else 1 if chr(b) in "xX" else b for b in range(256)
)
_TO_U = bytes(  # digits and capitals -> U
    85 if 48 <= b <= 57 or 65 <= b <= 90 else 95 for b in range(256)
)
_UUID = re.compile(
    r"(?<![0-9A-Za-z])[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
    r"(?![0-9A-Za-z])"
)
_HEX_RUN = re.compile(r"(?<![0-9A-Za-z_./+{-])[0-9a-fA-F]{12,64}(?![0-9A-Za-z_+/=-]|\.[A-Za-z])")
_ID_LENGTHS = frozenset((12, 16, 24, 64))  # not 32 (md5), 40 (git), nor the lines of a dump
_HASH_LABEL = re.compile(
    r"(?:commit|sha-?\d{0,3}|md5|digest|checksum|hash|etag|integrity|rev|revision|head|tree|blob"
    r"|merge|index|fingerprint|parent|from|@|提交|摘要|校验和|哈希)[\"']?\s?[:=：(]?\s?[\"']?\Z|\.\.\Z",
    re.IGNORECASE,
)
_ADDRESS = re.compile(  # by what stands before, or by where 64-bit systems put things
    r"0x(?:(?:(?<=at 0x)|(?<=address 0x)|(?<=addr 0x)|(?<=pointer 0x))[0-9a-fA-F]{6,16}"
    r"|(?:7[ef]|5[56])[0-9a-fA-F]{10}|0000[0-9a-fA-F]{12})(?![0-9A-Za-z_])"
)
_MAC = re.compile(r"(?<![0-9A-Za-z:])[0-9a-fA-F]{2}(?::[0-9a-fA-F]{2}){5}(?![0-9A-Za-z:])")
_ULID = re.compile(r"(?<![0-9A-Za-z])0[0-9A-HJKMNP-TV-Z]{25}(?![0-9A-Za-z])")
_IPV6 = re.compile(
    r"(?<![0-9A-Za-z:])[0-9a-fA-F]{4}:(?:[0-9a-fA-F]{0,4}:){1,6}[0-9a-fA-F]{1,4}(?![0-9A-Za-z:])"
)
_TYPED = re.compile(
    r"(?<![0-9A-Za-z])(req|msg|toolu|call|resp|run|sess)[_-]([0-9A-Za-z]{3,64})"
    r"(?![0-9A-Za-z])"
)
_HAS_TYPED = re.compile(rb"_[A-Za-z]{0,24}[0-9][0-9A-Za-z]{2}")
_NUMBERED = frozenset(["req", "msg", "toolu", "resp", "sess"])


def _typed(match: re.Match[str]) -> str:
    prefix, tail = match[1], match[2]
    switches = len(_SWITCH.findall(tail))
    if (
        (tail.isdigit() and prefix in _NUMBERED)
        or (len(tail) >= 8 and switches >= 3)
        or (len(tail) >= 6 and tail[0].isdigit())
    ):
        return f"{prefix}<id>"
    return match[0]


def _hex_run(match: re.Match[str]) -> str:
    run, text, start, end = match[0], match.string, match.start(), match.end()
    if len(run) not in _ID_LENGTHS or run.isdigit() or run.isalpha():
        return run
    if text.startswith(("  ", " *"), end) and (start == 0 or text[start - 1] in "\n\r"):
        return run  # sha256sum and kin: `sum  file`
    if text.startswith("..", end) or _HASH_LABEL.search(text, max(0, start - 20), start):
        return run
    return "<id>"


def _ipv6(match: re.Match[str]) -> str:
    run = match[0]
    full = run.count(":") == 7 or run.count("::") == 1
    return "<ip>" if full and any(c.isdigit() for c in run) else run


def mask_ids(text: str, raw: bytes, shape: bytes) -> str:
    """Typed tokens (`req_011…`), UUIDs, ULIDs, long hex runs, memory, MAC and IPv6 addresses."""
    if _HAS_TYPED.search(raw):
        text = _TYPED.sub(_typed, text)
    if b"UUUUUUUUUUUUUUUUUUUUUUUUUU" in raw.translate(_TO_U):
        text = _ULID.sub("<id>", text)
    hexes = shape.translate(_TO_X)
    if b"xxxxxx" in hexes:
        if b"xxxx-xxxxxxxxxxxx" in hexes:
            text = _UUID.sub("<id>", text)
        if b"x\x01xxxxxx" in hexes:
            text = _ADDRESS.sub("<address>", text)
        if b"xxxxxxxxxxxx" in hexes:
            text = _HEX_RUN.sub(_hex_run, text)
    if b"xx:xx:xx:xx:xx:xx" in hexes:
        text = _MAC.sub("<mac>", text)
    if b"xxxx:" in hexes:
        text = _IPV6.sub(_ipv6, text)
    return text
