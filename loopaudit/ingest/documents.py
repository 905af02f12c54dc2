"""Documents: one JSON or YAML value for a whole file, or several pretty-printed ones in a row."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import orjson

from loopaudit.errors import InputError
from loopaudit.ingest.salvage import DECODER

_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[\]{},:\n]')
MAX_LOCATED = 64 << 20  # larger documents are read without line numbers of their parts


def parse_document(data: bytes, path: str) -> list[tuple[int, Any]]:
    """(line, value) of each value in `data`. Raises `InputError` with path and line."""
    body = data.lstrip(b"\xef\xbb\xbf \t\r\n")
    if body[:1] not in (b"{", b"["):
        return [(1, _yaml(data, path))]
    try:
        return [(1, orjson.loads(body))]
    except ValueError:
        pass
    text = body.decode("utf-8", "replace")
    values: list[tuple[int, Any]] = []
    position, line = 0, data[: len(data) - len(body)].count(b"\n") + 1
    while position < len(text):
        try:
            value, end = DECODER.raw_decode(text, position)
        except (ValueError, RecursionError) as error:
            if values:
                break
            at = line + text.count("\n", position, getattr(error, "pos", position))
            raise InputError(f"{path}:{at}: the JSON document cannot be read: {error}") from error
        values.append((line, value))
        line += text.count("\n", position, end)
        while end < len(text) and text[end] in " \t\r\n,":
            line += text[end] == "\n"
            end += 1
        position = end
    return values


def _yaml(data: bytes, path: str) -> Any:
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return yaml.load(data, Loader=loader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or type(error).__name__
        raise InputError(f"{path}{line}: neither JSON nor readable YAML: {problem}") from error


def locator(data: bytes) -> Callable[..., int] | None:
    """A function from a path of keys and indices to the 1-based line where that value begins.

    A path that is not found gives the line of its longest known part. JSON only.
    """
    if len(data) > MAX_LOCATED or data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] not in (b"{", b"["):
        return None
    table: dict[tuple[Any, ...], int] = {}

    def locate(*keys: Any) -> int:
        if not table:
            table.update(_lines(data))
        path = keys
        while path and path not in table:
            path = path[:-1]
        return table.get(path, 1)

    return locate


def _lines(data: bytes, depth: int = 5) -> dict[tuple[Any, ...], int]:
    """Line of every value down to `depth` levels, by one pass over the tokens."""
    table: dict[tuple[Any, ...], int] = {(): 1}
    line = 1
    path: list[Any] = []  # keys and indices of the open containers' current members
    kinds: list[bool] = []  # True: array
    key: bytes | None = None
    for match in _TOKEN.finditer(data):
        token = match.group()
        first = token[:1]
        if first == b"\n":
            line += 1
        elif first == b'"':
            if kinds and not kinds[-1] and path[-1] is None:
                key = token
        elif first == b":":
            if kinds and key is not None:
                path[-1] = (
                    orjson.loads(key) if b"\\" in key else key[1:-1].decode("utf-8", "replace")
                )
                key = None
                if len(path) <= depth:
                    table[tuple(path)] = line
        elif first in b"[{":
            if kinds and kinds[-1] and len(path) <= depth:
                table[tuple(path)] = line
            kinds.append(first == b"[")
            path.append(0 if kinds[-1] else None)
        elif first in b"]}":
            if kinds:
                kinds.pop()
                path.pop()
        elif kinds:
            path[-1] = path[-1] + 1 if kinds[-1] else None
            key = None
    return table
