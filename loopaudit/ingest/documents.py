"""Documents: one JSON or YAML value for a whole file, or several pretty-printed ones in a row."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import orjson

from loopaudit.errors import InputError
from loopaudit.ingest import indented
from loopaudit.ingest.salvage import DECODER, shallow

# possessive repeats: without them a long string takes forty times its size in memory
_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"(\s*+:)?|[\[\]{},]', re.DOTALL)
_BRACKET = re.compile(rb'(?:[^"\[\]{}]++|"[^"\\]*+(?:\\.[^"\\]*+)*+")*+[\[\]{}]', re.DOTALL)
_MARK = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[\]{},]', re.DOTALL)
_OPENING = re.compile(r"^[{\[]", re.MULTILINE)
MAX_LOCATED = 64 << 20  # larger documents are read without line numbers of their parts
_FIRST_DEPTH, _DEEPEST = 3, 6  # levels of a document whose lines are told: at first, at most
_MAX_TRIES = 100  # values tried in one broken document
_MAX_ALIASED = 50_000_000  # values that the aliases of a YAML document may unfold to


@dataclass(slots=True)
class Document:
    values: list[tuple[int, Any]] = field(default_factory=list)  # line, value
    lost: list[tuple[int, str]] = field(default_factory=list)  # line, reason
    shallow: bool = False  # values nested too deep are left out


def parse_document(data: bytes, path: str) -> Document:
    """The values in `data`. Raises `InputError` with path and line where there are none.

    What is broken is lost alone: reading goes on at the next value that begins a line. Of a single
    value that breaks off, the whole elements of its outermost open list are kept.
    """
    body = data.lstrip(b"\xef\xbb\xbf \t\r\n")
    if body[:1] not in (b"{", b"["):
        return Document([(1, _yaml(data, path))])
    try:
        return Document([(1, orjson.loads(body))])
    except ValueError:
        pass
    text = body.decode("utf-8", "replace")
    found = Document()
    position, line = 0, data[: len(data) - len(body)].count(b"\n") + 1
    first, broken_at = line, 0  # where the first value begins, and breaks
    while position < len(text):
        try:
            value, end = DECODER.raw_decode(text, position)
            found.values.append((line, value))
            while end < len(text) and text[end] in " \t\r\n,":
                end += 1
        except (ValueError, RecursionError) as error:
            if isinstance(error, RecursionError) and not found.shallow:
                text, found.shallow = text[:position] + shallow(text[position:]), True
                continue
            at = getattr(error, "pos", position)
            broken_at = broken_at or at
            why = getattr(error, "msg", "nested too deep").partition(" starting")[0].lower()
            found.lost.append((line + text.count("\n", position, at), f"broken JSON ({why})"))
            following = _OPENING.search(text, position + 1)
            if following is None or len(found.lost) >= _MAX_TRIES:
                break
            end = following.start()
        line += text.count("\n", position, end)
        position = end
    if not found.values:
        _keep_elements(text, broken_at, first, found)
    if not found.values:
        at, why = found.lost[0]
        raise InputError(f"{path}: line {at}: {why}")
    return found


def _keep_elements(text: str, end: int, line: int, found: Document) -> None:
    """Put into `found` the value that begins `text` and breaks at `end`, cut to what is whole."""
    open_, cut, outer = [], 0, 0  # closing brackets; end of an element; depth of the outermost list
    for match in _MARK.finditer(text, 0, end):
        token = match.group()
        if token in "[{":
            open_.append("]" if token == "[" else "}")
            outer = outer or (len(open_) if token == "[" else 0)
        elif token in "]}":
            if len(open_) <= outer:
                cut = outer = 0
            del open_[-1:]
            if len(open_) == outer:
                cut = match.end()
        elif token == "," and len(open_) == outer:
            cut = match.start()
    if cut and outer:
        try:
            value = DECODER.decode(text[:cut] + "".join(reversed(open_[:outer])))
        except (ValueError, RecursionError):
            return
        found.values.append((line, value))


def _yaml(data: bytes, path: str) -> Any:
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(data)
    try:
        node = loader.get_single_node()
        if _unfolded(node, {}) > _MAX_ALIASED:
            raise ValueError("its aliases unfold to too many values")
        return None if node is None else loader.construct_document(node)
    except MemoryError:
        raise
    except Exception as error:  # also what its constructors raise on a wrong `!!timestamp`
        mark = getattr(error, "problem_mark", None)
        line = f" line {mark.line + 1}:" if mark else ""
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or error
        raise InputError(f"{path}:{line} neither JSON nor readable YAML: {problem}") from error


def _unfolded(node: Any, known: dict[int, int]) -> int:
    """Values that a YAML node holds, each as often as it is referred to; a circle counts once."""
    if id(node) not in known:
        known[id(node)] = 1
        parts = node.value if isinstance(getattr(node, "value", None), list) else ()
        for part in parts:
            for child in part if isinstance(part, tuple) else (part,):
                known[id(node)] += _unfolded(child, known)
    return known[id(node)]


def locator(data: bytes, value: Any = None) -> Callable[..., int] | None:
    """A function from a path of keys and indices to the 1-based line where that value begins.

    `value` is what `data` says, where that is known. A path that is not found gives the line of its
    longest known part. JSON only.
    """
    if len(data) > MAX_LOCATED or data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] not in (b"{", b"["):
        return None
    if b"\n" not in data.strip():
        line = data.count(b"\n", 0, data.find(data.strip()[:1])) + 1
        return lambda *keys: line
    counted = indented.locator(data, value)
    if counted is not None:
        return counted
    table: dict[tuple[Any, ...], int] = {}
    depth = 0  # down to which the table goes: as deep as was asked for

    def locate(*keys: Any) -> int:
        nonlocal table, depth
        if not table or depth < min(len(keys), _DEEPEST):
            depth = min(max(len(keys), _FIRST_DEPTH), _DEEPEST)
            table = _lines(data, depth)
        path = keys
        while path and path not in table:
            path = path[:-1]
        return table.get(path, 1)

    return locate


def _key(token: bytes) -> str:
    if b"\\" in token:
        try:
            return str(orjson.loads(token))
        except ValueError:  # half an emoji, a control byte: no reader asks for such a key
            pass
    return token[1:-1].decode("utf-8", "replace")


def _lines(data: bytes, depth: int) -> dict[tuple[Any, ...], int]:
    """Line of every value down to `depth` levels, by one pass over the tokens.

    Of lists, texts and containers have lines of their own, plain numbers that of their list.
    """
    table: dict[tuple[Any, ...], int] = {(): 1}
    line, counted = 1, 0  # line ends are counted up to `counted`
    position: int | None = 0
    path: list[Any] = []  # keys and indices of the open containers' current members
    kinds: list[bool] = []  # True: array
    inside = False  # the innermost open container is an array
    names: dict[bytes, str] = {}  # keys as they stand in the log

    while position is not None:
        start, position = position, None
        for match in _TOKEN.finditer(data, start):
            at = match.start()
            first = data[at]
            if first == _QUOTE:
                if not kinds or (match.end(1) < 0 and not inside):
                    continue  # a value, or no JSON
                line += data.count(b"\n", counted, at)
                counted = at
                if not inside:
                    if path[-1] is not None:
                        continue  # a second key before a comma is none
                    token = match.group()
                    key = names.get(token)
                    if key is None:
                        key = names[token] = _key(token.rstrip(b": \t\r\n"))
                    path[-1] = key
                table[tuple(path)] = line
            elif first == _COMMA:
                if kinds:
                    path[-1] = path[-1] + 1 if inside else None
            elif first in b"[{":
                if inside:
                    line += data.count(b"\n", counted, at)
                    counted = at
                    table[tuple(path)] = line
                if len(path) == depth:
                    position = _end(data, match.end())
                    break
                inside = first == _LIST
                kinds.append(inside)
                path.append(0 if inside else None)
            elif kinds:
                kinds.pop()
                path.pop()
                inside = bool(kinds) and kinds[-1]
    return table


def _end(data: bytes, start: int) -> int | None:
    """Where the container that was opened before `start` ends; None where it does not."""
    open_ = 1
    while found := _BRACKET.match(data, start):
        start = found.end()
        open_ += 1 if data[start - 1] in b"[{" else -1
        if not open_:
            return start
    return None


_QUOTE, _COMMA, _LIST = b'",['
