"""Records with their length before them, as the OpenTelemetry Collector writes packed files.

With `compression: zstd` its file exporter writes no lines: each record is four bytes of length
(big-endian) and so many bytes of zstd. They come out as lines. Records in protobuf have the same
frames and are refused by name. One record is held in memory at a time.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from loopaudit.errors import InputError

_ZSTD = b"\x28\xb5\x2f\xfd"
MAX_RECORD = 256 << 20  # bytes, packed and unpacked
_PROTOBUF = "records in protobuf; have the Collector write `format: json`"


def is_framed(head: bytes) -> bool:
    """Whether a file that begins like this holds framed records."""
    length = int.from_bytes(head[:4], "big")
    return head[4:8] == _ZSTD and 8 < length <= MAX_RECORD


class Framed(io.RawIOBase):
    """The records of a file as lines."""

    def __init__(self, raw: io.FileIO, path: str) -> None:
        # the standard library before 3.14 has no zstd
        library = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
        try:
            self._zstd = import_module(library)
        except ImportError:
            raise InputError(
                f"{path}: packed with zstd and no reader for it is installed",
                "pip install backports.zstd",
            ) from None
        self._raw = raw
        self._path = path
        self.problem: str | None = None  # why it ended before its end
        self._lines = self._read()
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

    def _read(self) -> Iterator[bytes]:
        first = True
        while head := self._raw.read(4):
            length = int.from_bytes(head, "big")
            body = self._raw.read(length) if len(head) == 4 and 0 < length <= MAX_RECORD else b""
            if len(head) < 4 or body is None or len(body) < length or not body:
                self.problem = "the last record is cut short"
                return
            try:
                text = self._zstd.ZstdDecompressor().decompress(body, MAX_RECORD)
            except self._zstd.ZstdError:
                self.problem = "a record of the file is damaged; what follows it is lost"
                return
            if first and text.lstrip()[:1] not in (b"{", b"["):
                raise InputError(f"{self._path}: {_PROTOBUF}")
            first = False
            yield text.translate(None, b"\r\n") + b"\n"
