"""Lines of the parts of a document that a program has indented: counted from what it says.

In such a document every part begins a line of its own, so the lines of a part are as many as those
of the same part written anew, and the text itself need not be searched.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson

_INDENT = orjson.OPT_INDENT_2
_LOOKED_AT = 500  # lines of a document


def locator(data: bytes, value: Any) -> Callable[..., int] | None:
    """A function from a path of keys to its line; None where `data` is not laid out like that.

    `value` is what `data` says, and must not be changed while lines are asked for. Plain numbers in
    a list have the line of the list.
    """
    if not isinstance(value, list | dict):
        return None
    body = data.strip()
    if not _alike(body, value):
        return None
    first = data.count(b"\n", 0, data.find(body[:1])) + 1
    known: dict[tuple[Any, ...], dict[Any, int] | list[int]] = {}

    def locate(*keys: Any) -> int:
        here, line = value, first
        path: tuple[Any, ...] = ()
        for key in keys:
            if path not in known:
                known[path] = _starts(here, line)
            lines = known[path]
            if isinstance(lines, dict):
                if key not in lines:
                    break
            elif not isinstance(key, int) or not 0 <= key < len(lines):
                break
            if isinstance(here, list) and not isinstance(here[key], str | list | dict):
                break
            here, line = here[key], lines[key]
            path = (*path, key)
            if not isinstance(here, list | dict):
                break
        return line

    return locate


def _starts(value: list[Any] | dict[str, Any], line: int) -> dict[Any, int] | list[int]:
    """The line of each part of what begins on `line`."""
    starts = []
    line += 1
    for part in value.values() if isinstance(value, dict) else value:
        starts.append(line)
        line += 1
        if part and isinstance(part, list | dict):
            line += orjson.dumps(part, option=_INDENT).count(b"\n")
    return dict(zip(value, starts, strict=True)) if isinstance(value, dict) else starts


def _alike(body: bytes, value: Any) -> bool:
    """Whether `body` has the lines of `value` written anew: as many, and some looked at."""
    try:
        anew = orjson.dumps(value, option=_INDENT)
    except TypeError:  # numbers or depths that it does not write
        return False
    count = anew.count(b"\n")
    if count != body.count(b"\n"):
        return False
    every = count // _LOOKED_AT + 1
    pairs = zip(anew.split(b"\n")[::every], body.split(b"\n")[::every], strict=True)
    # letters and numbers may be written otherwise, so only how a line begins is compared
    return all(
        ours == theirs or ours in b"-0123456789"
        for ours, theirs in ((left.lstrip()[:1], right.lstrip()[:1]) for left, right in pairs)
    )
