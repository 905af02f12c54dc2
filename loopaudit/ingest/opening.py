"""Open an input, decompressing by its magic bytes, and read it in large blocks."""

from __future__ import annotations

import bz2
import io
import lzma
import sys
from collections.abc import Iterator
from typing import BinaryIO, cast

from loopaudit.errors import InputError

BLOCK = 1 << 20
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
    return io.BufferedReader(_unpack(raw, packed, path), BLOCK)


def _unpack(raw: io.FileIO, packed: str, path: str) -> io.RawIOBase:
    if packed == "gzip":
        from isal import igzip

        return cast(io.RawIOBase, igzip.IGzipFile(fileobj=raw))  # type: ignore[no-untyped-call]
    if packed == "bzip2":
        return cast(io.RawIOBase, bz2.BZ2File(raw))
    if packed == "xz":
        return cast(io.RawIOBase, lzma.LZMAFile(raw))
    try:
        if sys.version_info >= (3, 14):
            from compression.zstd import ZstdFile
        else:
            from backports.zstd import ZstdFile
    except ImportError as error:
        raise InputError(
            f"{path}: packed with zstd and no reader for it is installed",
            "pip install backports.zstd",
        ) from error
    return cast(io.RawIOBase, ZstdFile(raw))


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
    except Exception as error:  # zstd raises its own error type
        if isinstance(error, CutStream) or type(error).__name__ not in ("ZstdError", "error"):
            raise
        raise CutStream(f"packed data breaks off or is damaged ({error})") from error
