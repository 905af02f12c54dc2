"""Open an input, decompressing by its magic bytes, and read it in large blocks."""

from __future__ import annotations

import bz2
import io
import lzma
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, BinaryIO

from loopaudit.errors import InputError

BLOCK = 1 << 20
PACKED_BLOCK = 1 << 17  # of packed bytes
#: a record longer than this is passed over; pictures in transcripts reach some 12 MB
MAX_LINE = 256 << 20
#: a packed file that grows past this many times its size is taken for a bomb
MAX_RATIO = 2_000

_MAGIC = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
}


class CutStream(Exception):
    """A packed file that ends too early or is broken; what came before it is good."""


def compression(head: bytes) -> str | None:
    for magic, name in _MAGIC.items():
        if head.startswith(magic):
            return name
    return None


def open_stream(path: str) -> BinaryIO:
    """A buffered binary stream over the (unpacked) content. Raises `InputError`."""
    try:
        raw = open(path, "rb", buffering=0)  # noqa: SIM115
    except OSError as error:
        raise InputError(f"{path}: {(error.strerror or str(error)).lower()}") from error
    try:
        head = raw.read(6)
        raw.seek(0)
    except OSError as error:
        raw.close()
        raise InputError(f"{path}: {(error.strerror or str(error)).lower()}") from error
    packed = compression(head)
    if packed is None:
        return io.BufferedReader(raw, BLOCK)
    return io.BufferedReader(_Unpacked(raw, _decoder(packed, path)), BLOCK)


class _Unpacked(io.RawIOBase):
    """Unpacked content of a file, all of it that is whole before an error is raised.

    The readers of the standard library drop what they hold when a file breaks off.
    """

    def __init__(self, raw: io.FileIO, decoder: Callable[[], Any]) -> None:
        self._raw = raw
        self._new = decoder
        self._decoder: Any = None
        self._left = b""  # packed bytes behind the end of a member

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self._raw.close()
        super().close()

    def readinto(self, buffer: Any) -> int:
        size = len(buffer)
        while True:
            packed = self._left
            if not packed and (self._decoder is None or self._decoder.needs_input):
                packed = self._raw.read(PACKED_BLOCK) or b""
                if not packed and self._decoder is None:
                    return 0
                if not packed:
                    raise EOFError("the file ends in the middle")
            self._left = b""
            if self._decoder is None:
                packed = packed.lstrip(b"\0")  # padding
                if not packed:
                    continue
                self._decoder = self._new()
            data = self._decoder.decompress(packed, size)
            if self._decoder.eof:
                self._left, self._decoder = self._decoder.unused_data, None
            if data:
                buffer[: len(data)] = data
                return len(data)


def _decoder(packed: str, path: str) -> Callable[[], Any]:
    if packed == "gzip":
        from isal.igzip_lib import DECOMP_GZIP, IgzipDecompressor

        return partial(IgzipDecompressor, flag=DECOMP_GZIP)
    if packed == "bzip2":
        return bz2.BZ2Decompressor
    if packed == "xz":
        return lzma.LZMADecompressor
    try:
        if sys.version_info >= (3, 14):
            from compression.zstd import ZstdDecompressor
        else:
            from backports.zstd import ZstdDecompressor
    except ImportError as error:
        raise InputError(
            f"{path}: packed with zstd and no reader for it is installed",
            "pip install backports.zstd",
        ) from error
    return ZstdDecompressor


def lines(stream: BinaryIO, packed_size: int = 0) -> Iterator[bytes]:
    """Lines with their line ends. Raises `CutStream` where a packed stream breaks off.

    A line longer than `MAX_LINE` comes as the first `MAX_LINE` bytes; the rest is passed over.
    """
    limit = packed_size * MAX_RATIO + (1 << 30) if packed_size else 0
    total = 0
    readline = stream.readline
    try:
        while raw := readline(MAX_LINE):
            yield raw
            if len(raw) >= MAX_LINE and not raw.endswith(b"\n"):
                while (rest := readline(MAX_LINE)) and not rest.endswith(b"\n"):
                    pass
            if limit:
                total += len(raw)
                if total > limit:
                    raise CutStream("unpacks to more than 2,000 times its size; stopped reading")
    except (EOFError, OSError, lzma.LZMAError, ValueError) as error:
        raise CutStream(f"packed data breaks off or is damaged ({error})") from error
    except Exception as error:  # zstd and isal raise error types of their own
        known = ("ZstdError", "IsalError", "error")
        if isinstance(error, CutStream) or type(error).__name__ not in known:
            raise
        raise CutStream(f"packed data breaks off or is damaged ({error})") from error
