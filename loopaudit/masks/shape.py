"""What a text may hold, seen from its digits: which masks are worth running.

The *shape* of a text is its UTF-8 in lower case with every digit as `0`. Both patterns start with a
literal `0`, so that `re` hops from digit to digit; what stands before a number is found by the
second one in the reversed shape.
"""

from __future__ import annotations

import re

_SHAPE = bytes(
    48 if 48 <= byte <= 57 else byte + 32 if 65 <= byte <= 90 else byte for byte in range(256)
)
_WORDS = (
    b"attempt attempts attempted try tries retry retries retrying number count pid pids process"
    b" goroutine thread port ports is id no no. left made took"
)
_UNIT = (
    rb"(?:(?:milli|micro|nano)?s(?:ec)?(?:ond)?s?|[mnu]s|\xc2\xb5s|\xce\xbcs|h|hrs?|hours?|m|mins?"
    rb"|minutes?|d|days?|weeks?|months?|y|years?)(?![a-z_(\[=]|\.[a-z0-9])(?P<duration>)"
)
# An empty named group ends each branch: a branch that begins with a plain letter is tried fastest.
_AFTER = re.compile(
    rb"0(?=[] :t_.)=kmgbirotflsnuhdwy\xc2\xce-])(?::00(?P<clock>)|t00(?P<clock2>)|_00(?P<clock3>)"
    rb"|-00(?:-00[t_-]0?0[:_-]00|0000)(?P<clock4>)|\.0{1,3}\.0{1,3}\.0(?P<address>)"
    rb"|"
    + _UNIT.replace(b"<duration>", b"<duration2>")
    + rb"|[ -]"
    + _UNIT
    + rb"|(?:st|nd|rd|th)? (?:more |failed |remaining )?(?:attempt|retr|tries|times)(?P<counted>)"
    rb"| ?[kmgt]?i?(?:b|bytes|bits?|it|reqs?|requests|ops|rows|toks?|tokens|files|items|lines"
    rb"|steps?|tests)(?:/s|ps)(?P<rate>)|s/it(?P<rate2>)"
    rb"|\]:(?P<form>)|\) panicked(?P<form2>)|==(?P<form3>)|\)(?<=\(node:00000\))(?P<form4>))"
)
_BEFORE = re.compile(
    rb"0(?=[] :=#(\[\"'-])(?::edon\((?P<form5>)|\( :llik(?P<form6>)"
    rb"|[ #:=(\[\"'-]{1,3}(?=[a-z])(?:"
    + b"|".join(word[::-1] for word in _WORDS.split())
    + rb")(?![a-z]{3})(?P<label>))"
)


def shape_of(text: bytes) -> bytes:
    return text.translate(_SHAPE)


def hints(shape: bytes) -> set[str]:
    """Names of the masks that may find something."""
    found = {match.lastgroup or "" for match in _AFTER.finditer(shape)}
    found.update(match.lastgroup or "" for match in _BEFORE.finditer(shape[::-1]))
    if b":0000" in shape:
        found.add("port")
    return {name.rstrip("23456") for name in found}
