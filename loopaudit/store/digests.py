"""One digest for a plain value, equal in every process; and one for the program itself."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from types import FunctionType
from typing import Any

from xxhash import xxh3_128

_PACKAGE = "loopaudit"


class NotPlain(Exception):
    """A value that is more than its data: no digest stands for it."""


def digest(*values: Any) -> bytes:
    """16 bytes for plain data: numbers, texts, enums, containers, data classes, functions of this
    package, and objects that reduce to these. Raises `NotPlain`."""
    found: list[str] = []
    for value in values:
        _put(value, found)
    return xxh3_128("\x1f".join(found).encode("utf-8", "surrogatepass")).digest()


def _put(value: Any, found: list[str]) -> None:
    kind = type(value)
    if value is None or kind in (bool, int, float, Decimal, bytes, date, datetime, time):
        found.append(f"{kind.__name__} {value!r}")
    elif kind is str:
        found += ("str", str(len(value)), value)
    elif isinstance(value, Enum):
        found += (_name(kind), value.name)
    elif isinstance(value, list | tuple):
        found += (_name(kind), str(len(value)))
        for item in value:
            _put(item, found)
    elif isinstance(value, Mapping):
        found += ("mapping", str(len(value)))
        for key, item in value.items():
            _put(key, found)
            _put(item, found)
    elif isinstance(value, set | frozenset):
        items = []
        for item in value:
            own: list[str] = []
            _put(item, own)
            items.append("\x1e".join(own))
        found += ("set", str(len(items)), *sorted(items))
    elif is_dataclass(value) and not isinstance(value, type):
        found.append(_name(kind))
        for one in fields(value):
            _put(getattr(value, one.name), found)
    elif isinstance(value, FunctionType) and value.__closure__ is None:
        found.append(_name(value))
    else:
        found.append(_name(kind))
        if "__reduce__" not in vars(kind) or kind.__module__ == "builtins":
            raise NotPlain(f"{kind.__module__}.{kind.__qualname__}")
        made, parts = value.__reduce__()[:2]
        found.append(_name(made))
        _put(parts, found)


def _name(thing: Any) -> str:
    module, name = thing.__module__, thing.__qualname__
    ours = module in ("builtins", _PACKAGE) or module.startswith(f"{_PACKAGE}.")
    if not ours or "<" in name:
        raise NotPlain(f"{module}.{name}")
    return f"{module}.{name}"


def program(leave_out: Iterable[str] = ()) -> tuple[bytes, float] | None:
    """A digest of our own files, of Python and of the packages installed beside us; and when the
    newest of our files was changed (seconds since the epoch). None where that cannot be told.

    Files are known by size, times and inode, so that an edited checkout is another program.
    `leave_out`: names at the top of the package that decide nothing here.
    """
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    left = {*leave_out, "__pycache__"}
    found: list[str] = []
    newest = 0
    stack = [root]
    try:
        while stack:
            folder = stack.pop()
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.name == "__pycache__" or (folder == root and entry.name in left):
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        stack.append(entry.path)
                        continue
                    info = entry.stat()
                    times = info.st_mtime_ns, info.st_ctime_ns
                    found.append(f"{entry.path} {info.st_size} {times} {info.st_ino}")
                    newest = max(newest, *times)
    except OSError:
        return None
    if not found:  # not in a folder: packed into one file
        return None
    about = (sys.version, sys.byteorder, str(sys.maxsize), *_installed())
    text = "\n".join([*sorted(found), *about])
    return xxh3_128(text.encode("utf-8", "surrogatepass")).digest(), newest / 1e9


def _installed() -> list[str]:
    """Packages with their versions, as the names of their folders tell them."""
    names: set[str] = set()
    for folder in sys.path:
        try:
            inside = os.listdir(folder or ".")
        except OSError:
            continue
        names.update(name for name in inside if name.endswith((".dist-info", ".egg-info")))
    return sorted(names)
