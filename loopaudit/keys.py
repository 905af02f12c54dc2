"""Digests to compare by: canonical JSON, call keys, result keys."""

from __future__ import annotations

import json
import re
from typing import Any

import orjson
from xxhash import xxh3_64_intdigest

# an integral float as orjson writes it ("1.0", "1e3"): `1` and `1.0` are one number
_FLOAT = re.compile(rb"[0-9](?:\.0(?![0-9])|[eE])")
#: two digits of a Python integer: 16 bytes less than 64 bits take, for each digest in memory
_BITS = (1 << 60) - 1
#: an object with only these values holds no float: the usual case, and quicker than a search
_FLAT = frozenset((str, int, bool, type(None)))
_MAX_DEPTH = 200  # orjson gives up at 254; deeper values are compared by their text


def digest(data: str | bytes) -> int:
    """60-bit digest; a half emoji (lone surrogate) is hashed as it stands."""
    if isinstance(data, str):
        try:
            return xxh3_64_intdigest(data.encode()) & _BITS
        except UnicodeEncodeError:
            return xxh3_64_intdigest(data.encode("utf-8", "surrogatepass")) & _BITS
    return xxh3_64_intdigest(data) & _BITS


def canonical(value: Any) -> bytes:
    """JSON with keys sorted at every depth; `1` and `1.0` are one number; array order counts.

    A string that holds a JSON object or array (arguments are often written so) is read first.
    Any value is accepted: what no JSON writer takes is written as its `repr`.
    """
    if isinstance(value, str):
        value = _inner(value)
    try:
        data = orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except (TypeError, ValueError, RecursionError):
        return _slow(value)
    if not (type(value) is dict and _FLAT.issuperset(map(type, value.values()))) and (
        _FLOAT.search(data)
    ):
        return orjson.dumps(_plain(value, 0), option=orjson.OPT_SORT_KEYS)
    return data


def call_key(tool: str, arguments: bytes) -> int:
    """Digest of a call: tool name and canonical arguments."""
    return xxh3_64_intdigest(tool.encode("utf-8", "surrogatepass") + b"\0" + arguments) & _BITS


def _inner(text: str) -> Any:
    head = text.lstrip()[:1]
    if head not in ("{", "["):
        return text
    try:
        return orjson.loads(text)
    except ValueError:
        pass
    except UnicodeEncodeError:
        pass
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _plain(value: Any, depth: int) -> Any:
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    if depth > _MAX_DEPTH:
        return value
    if isinstance(value, dict):
        return {k: _plain(v, depth + 1) for k, v in value.items()}
    if isinstance(value, list):
        return [_plain(v, depth + 1) for v in value]
    return value


def _slow(value: Any) -> bytes:
    """For what orjson refuses: lone surrogates, integers beyond 64 bits, depth."""
    try:
        text = json.dumps(
            _plain(value, 0),
            sort_keys=True,
            ensure_ascii=False,
            separators=(",", ":"),
            default=repr,
        )
    except (RecursionError, ValueError, TypeError):
        return _flat(value)
    return text.encode("utf-8", "surrogatepass")


def _flat(value: Any) -> bytes:
    """Iterative writer for values nested deeper than the interpreter recurses."""
    out: list[str] = []
    stack: list[Any] = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, _Text):
            out.append(item)
        elif isinstance(item, dict):
            out.append("{")
            stack.append(_Text("}"))
            for key in sorted(item, key=str, reverse=True):
                stack += [_Text(","), item[key], _Text(f"{key!r}:")]
        elif isinstance(item, list):
            out.append("[")
            stack.append(_Text("]"))
            for child in reversed(item):
                stack += [_Text(","), child]
        else:
            out.append(repr(item))
    return "".join(out).encode("utf-8", "surrogatepass")


class _Text(str):
    """Text that `_flat` writes as it stands."""

    __slots__ = ()
