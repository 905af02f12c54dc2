"""Zip archives of JSON members (Inspect's `.eval` logs) as lines: one member a line.

Each line is `{"member": NAME, "value": …}`. The header comes first, then the samples in the order
of their names with numbers as numbers: members are written when a sample ends, which is no order.
A crashed run has no header; what was written at its start stands in for it. Other members repeat
what samples hold and come as `{"member": NAME}` alone; a damaged one as `{"member", "lost"}`.
One member is held in memory at a time; one past `MAX_MEMBER` is lost alone, and the opener refuses
an archive that unpacks to far more than its size.
"""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import orjson

from loopaudit.errors import InputError

MAGIC = b"PK\x03\x04"
MAX_MEMBER = 256 << 20  # bytes unpacked
_BLOCK = 1 << 20
_HEADER, _START, _SAMPLES = "header.json", "_journal/start.json", "samples/"
_NUMBER = re.compile(r"\d+")


class Members(io.RawIOBase):
    """The lines of an archive as a stream. Raises `InputError` where it is none that we know."""

    problem: str | None = None  # as of other packed streams; what is damaged stands in its line

    def __init__(self, raw: io.FileIO, path: str) -> None:
        # the standard library before 3.14 cannot unpack zstd members
        library = "zipfile" if sys.version_info >= (3, 14) else "backports.zstd.zipfile"
        self._raw = raw
        try:
            self._zip = import_module(library).ZipFile(raw)
            names = self._zip.namelist()
        except MemoryError:
            raise
        except Exception as error:  # a damaged directory raises whatever it meets
            why = f"damaged or cut short ({str(error)[:200] or type(error).__name__})"
            raise InputError(f"{path}: a zip archive, {why}") from error
        if _HEADER not in names and _START not in names:
            raise InputError(f"{path}: a zip archive, unpack it first")
        self._lines = self._read(_in_order(names))
        self._left = b""

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self._raw.close()
        super().close()

    def readinto(self, buffer: Any) -> int:
        if not self._left:
            self._left = next(self._lines, b"")
        data = self._left[: len(buffer)]
        self._left = self._left[len(data) :]
        buffer[: len(data)] = data
        return len(data)

    def _read(self, names: list[str]) -> Iterator[bytes]:
        head = _HEADER if _HEADER in names else _START
        for name in names:
            line: dict[str, Any] = {"member": name.encode("utf-8", "replace").decode()}
            if name == head or name.startswith(_SAMPLES):
                try:
                    data, end = bytearray(), False
                    with self._zip.open(name) as member:
                        while not end and len(data) <= MAX_MEMBER:
                            block = member.read(_BLOCK)
                            end = not block
                            data += block
                except MemoryError:
                    raise
                except Exception as error:  # each way of packing has error types of its own
                    line["lost"] = f"damaged ({str(error)[:200] or type(error).__name__})"
                else:
                    if end:
                        yield orjson.dumps(line)[:-1] + b',"value":'
                        yield from _blocks(data)
                        yield b"}\n"
                        continue
                    line["lost"] = "longer than 256 MiB"
            yield orjson.dumps(line) + b"\n"


def _blocks(data: bytearray) -> Iterator[bytes]:
    """JSON text on one line: line ends stand only between its tokens."""
    for start in range(0, len(data), _BLOCK):
        yield bytes(data[start : start + _BLOCK]).translate(_NO_LINE_ENDS)


_NO_LINE_ENDS = bytes(32 if byte in (10, 13) else byte for byte in range(256))


def _in_order(names: list[str]) -> list[str]:
    def order(name: str) -> tuple[int, str]:
        rank = 3 if not name.startswith(_SAMPLES) else 2
        rank = {_HEADER: 0, _START: 1}.get(name, rank)
        # a number after its length sorts as a number, however many digits it has
        return rank, _NUMBER.sub(lambda found: f"{len(found.group()):08d}{found.group()}", name)

    return sorted(set(names), key=order)
