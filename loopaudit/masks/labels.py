"""Numbers behind a word that makes them volatile: pids, ports, counters of attempts, ids."""

from __future__ import annotations

import re

_OF = r"[0-9]{1,6}(?:\s?(?:/|of|out of)\s?[0-9]{1,6})?(?![0-9A-Za-z_%]|\.[0-9])"

# Each pattern starts with literal letters: `re` then searches at the speed of `str.find`.
_LABELS: tuple[tuple[bytes, re.Pattern[str], str], ...] = tuple(
    (guard, re.compile(pattern), mark)
    for guard, pattern, mark in (
        (
            b"ttempt",
            rf"(ttempt(?:s|ed)?(?:\s(?:number|no\.?|left|made))?\s?[#:=(\[]{{0,2}}\s?){_OF}",
            r"\1<attempt>",
        ),
        (b"etr", rf"(etr(?:y|ies|ying)(?:\scount)?\s?[#:=(\[]{{0,2}}\s?){_OF}", r"\1<attempt>"),
        (
            b"ry ",
            rf"(ry\s(?<=\b[Tt]ry.)(?:#\s?{_OF}|[0-9]{{1,6}}\s?(?:/|of\s)\s?[0-9]{{1,6}}))",
            "ry <attempt>",
        ),
        (b"id ", r"(id(?<=\b[Pp]id)s?\s\(?)[0-9]{1,10}\b", r"\1<pid>"),
        (b"id ", r"(ID(?<=\bPID)s?\s\(?)[0-9]{1,10}\b", r"\1<pid>"),
        (
            b"ocess",
            r"(ocess(?<=\b[Pp]rocess)\s\(?(?:id\s)?)[0-9]{2,10}\b(?!%|[.,][0-9]|\s[a-z])",
            r"\1<pid>",
        ),
        (b"outine", r"(outine )[0-9]{1,10}(?= \[)", r"\1<pid>"),
        (b"hread-", r"(hread-(?<=\bThread-))[0-9]{1,10}\b", r"\1<pid>"),
        (
            b"took",
            r"(took[:=]?\s)[0-9]{1,9}(?:\.[0-9]{1,9})?(?![0-9A-Za-z%.]|\s[a-z])",
            r"\1<duration>",
        ),
        (b"ort", r"(ort(?<=\b[Pp]ort)s?\s(?:is\s|number\s)?)[0-9]{4,5}\b", r"\1<port>"),
    )
)
_ID = re.compile(r" [iI][dD]\s[\"'(]?((?:[A-Za-z]{1,12}[-_])?[0-9][0-9A-Za-z_-]{0,63})\b")
_ID_OF = re.compile(
    r"\b(?:message|msg|request|trace|span|session|correlation|transaction|run|chunk|event|call"
    r"|container|execution)\Z",
    re.IGNORECASE,
)
_COUNTED = re.compile(
    r"[0-9](?<![0-9A-Za-z_.$].)[0-9]{0,3}(?:st|nd|rd|th)?\s(?:more\s|failed\s|remaining\s)?"
    r"(?:attempts?|retries|retry|tries)\b"
)
_TIMES = re.compile(r"[0-9](?<=ied .)[0-9]{0,3}\stimes?\b")  # tried, retried 3 times
_FORMS = re.compile(
    r"(?<=[A-Za-z]\[)[0-9]{2,7}(?=\]:)"  # syslog: sshd[1234]:
    r"|(?<=\(node:)[0-9]{1,7}(?=\))|(?<===)[0-9]{1,7}(?===)"  # node's warnings, valgrind
    r"|(?<=kill: \()[0-9]{1,7}(?=\))|(?<=' \()[0-9]{2,10}(?=\) panicked)"  # shell, Rust
)


def mask_labels(text: str, shape: bytes) -> str:
    """Numbers behind their word."""
    for guard, pattern, mark in _LABELS:
        if guard in shape:
            text = pattern.sub(mark, text)
    return _ID.sub(_id, text) if b" id " in shape else text


def mask_counted(text: str) -> str:
    """Numbers of attempts before their word."""
    return _TIMES.sub("<attempt>", _COUNTED.sub("<attempt>", text))


def mask_forms(text: str) -> str:
    """Pids in brackets and the like."""
    return _FORMS.sub("<pid>", text)


def _id(match: re.Match[str]) -> str:
    start = match.start()
    if _ID_OF.search(match.string, max(0, start - 16), start):
        return match[0][: match.start(1) - start] + "<id>"
    return match[0]
