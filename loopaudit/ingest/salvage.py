"""Parse one line; where that fails, save what can be saved and say what was lost.

orjson reads nearly all lines. It refuses half an emoji, NaN, a BOM, control bytes and bytes that
are not UTF-8; for those the standard parser is asked. What neither takes is searched for whole
objects (welded and spliced lines). Nothing is lost without a reason.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

import orjson

#: not an error while the log may still be written
CUT_TAIL = "cut last line (a log that is still written ends so)"
#: a repair
TOO_DEEP = "values nested too deep, left out"

_START = re.compile(r'\{\s*"')
_NESTING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[\]{}]', re.DOTALL)
_DEEPEST = 200  # levels of a value that are kept
_MAX_TRIES = 2_000  # starts of objects tried in one broken line
_MAX_DIGITS = 400  # longer integers are no count of anything


@dataclass(slots=True)
class Parsed:
    values: list[Any] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)  # reasons, one for each lost piece
    repaired: str | None = None  # what had to be repaired, nothing being lost


def parse(raw: bytes, *, last: bool = False) -> Parsed:
    """The values of one line that `orjson` refused. `last`: the line ends the file unfinished."""
    data = raw.strip(b" \t\r\n\x00")
    repaired = None
    if data.startswith(b"\xef\xbb\xbf"):
        data, repaired = data[3:].lstrip(), "byte order mark"
        try:
            return Parsed([orjson.loads(data)], repaired=repaired)
        except ValueError:
            pass
    if not data:
        return Parsed()
    text, bad = _text(data)
    if bad:
        repaired = "bytes that are not UTF-8"
    try:
        return Parsed([_loads(text)], repaired=repaired)
    except RecursionError:
        try:
            return Parsed([_loads(shallow(text))], repaired=TOO_DEEP)
        except (RecursionError, ValueError):
            return Parsed(lost=["nested too deep"])
    except ValueError as error:
        first = str(error).partition(": line")[0]
    parsed = _recover(text, last)
    if not parsed.values and not parsed.lost:
        parsed.lost.append(f"no JSON ({first})")
    return parsed


def _text(data: bytes) -> tuple[str, bool]:
    try:
        return data.decode(), False
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace"), True


def _int(digits: str) -> int | float:
    return int(digits) if len(digits) <= _MAX_DIGITS else float("inf")


DECODER = json.JSONDecoder(strict=False, parse_int=_int)


def _loads(text: str) -> Any:
    return DECODER.decode(text)


def shallow(text: str) -> str:
    """`text` with null for every value that lies deeper than `_DEEPEST`, from where its brackets
    begin to follow one another. Linear in the length of `text`."""
    kept: list[str] = []
    done = depth = end = 0
    row = cut = (0, 0)  # place and depth: where a row of opening brackets began; of what is cut
    for match in _NESTING.finditer(text):
        token = match.group()
        if token in ("[", "{"):
            depth += 1
            if not end or text[end : match.start()].strip():
                row = (match.start(), depth)
            end = match.end()
            if depth == _DEEPEST + 1:
                cut = row
        else:
            end = 0
            if token in ("]", "}"):
                if depth == cut[1]:
                    kept += (text[done : cut[0]], "null")
                    done, cut = match.end(), (0, 0)
                depth -= 1
    return "".join((*kept, text[done:]))


def _recover(text: str, last: bool) -> Parsed:
    """Whole objects of a broken line: each must end where the line ends or the next one begins."""
    parsed = Parsed()
    position = tries = 0
    gap = False  # something before the present position was lost
    while position < len(text):
        match = _START.search(text, position)
        if match is None or tries >= _MAX_TRIES:
            gap = True
            break
        start = match.start()
        if text[position:start].strip():
            gap = True
        tries += 1
        if gap and text[max(0, start - 64) : start].rstrip()[-1:] in (":", "[", ","):
            position = start + 1  # a value inside the broken record, not a record
            continue
        try:
            value, end = DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            gap, position = True, start + 1
            continue
        rest = text[end : end + 64].lstrip()
        if rest and not rest.startswith("{"):
            gap, position = True, start + 1  # an object inside a broken one
            continue
        if gap:
            parsed.lost.append("cut record")
            gap = False
        parsed.values.append(value)
        position = end
    if gap and (parsed.values or text[:1] in ("{", "[")):
        parsed.lost.append(CUT_TAIL if last else "cut record")
    if parsed.values and not parsed.lost:
        parsed.repaired = f"{len(parsed.values)} records welded into one line"
    return parsed
