"""Open an input, decompressing by its magic bytes, and read it in large blocks."""

from __future__ import annotations

import bz2
import io
import lzma
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from loopaudit import files
from loopaudit.errors import InputError
from loopaudit.ingest import archives, framed

BLOCK = 1 << 18  # fits the caches beside what is made of it
PACKED_BLOCK = 1 << 17  # of packed bytes
#: so much is unpacked at once: all that a damaged place can take with it
UNPACKED_BLOCK = 1 << 16
#: a record longer than this is passed over; pictures in transcripts reach some 12 MB
MAX_LINE = 256 << 20
#: a packed file that grows past this many times its size, and past `SAFE`, is taken for a bomb
MAX_RATIO = 500
SAFE = 1 << 30

_MAGIC = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
}
#: what is no log whatever its name; tape archives are known by a word further on
_FOREIGN = {
    b"PK\x03\x04": "a zip archive, unpack it first",
    b"7z\xbc\xaf": "a 7z archive, unpack it first",
    b"SQLite format 3\x00": "an SQLite database, not a log",
    b"%PDF-": "a PDF, not a log",
    b"\x89PNG": "a picture, not a log",
    b"\xff\xd8\xff": "a picture, not a log",
    **dict.fromkeys(
        (b"\xff\xfe", b"\xfe\xff", b'{\0"\0', b'\0{\0"'), "UTF-16 text, save it as UTF-8"
    ),
    **dict.fromkeys(_MAGIC, "packed more than once, unpack it first"),
}
_TAR = slice(257, 262), b"ustar"


class CutStream(Exception):
    """An input that ends too early or is broken; what came before it is good."""


class TooLong(bytes):
    """The beginning of a line longer than `MAX_LINE`."""

    passed_over = 0  # bytes of the line that are left out


TOO_LONG = "a line longer than 256 MiB"
#: begins what is said where the system gave an error while a log was read
READING_FAILED = "reading failed"


def compression(head: bytes) -> str | None:
    for magic, name in _MAGIC.items():
        if head.startswith(magic):
            return name
    return None


def open_stream(path: str) -> io.BufferedReader[Any]:
    """A buffered binary stream over the (unpacked) content. Raises `InputError`."""
    try:
        raw = files.opened(path)
    except OSError as error:
        raise InputError(f"{path}: {files.reason(error)}") from error
    source: Any = raw
    try:
        magic = raw.read(8)
        packed = compression(magic)
        raw.seek(0)
        if magic.startswith(archives.MAGIC):
            source = archives.Members(raw, path)
        elif framed.is_framed(magic):
            source = framed.Framed(raw, path)
        elif packed is not None:
            source = _Unpacked(raw, _decoder(packed, path))
        stream = io.BufferedReader(source, BLOCK)
        head = stream.peek(512)
        problem = _foreign(head)
        if packed is not None and not head and source.problem:
            problem = "packed data is damaged at its very start"
    except OSError as error:
        problem = files.reason(error)
    except InputError:
        raw.close()
        raise
    if problem:
        raw.close()
        raise InputError(f"{path}: {problem}")
    return stream


def is_packed(stream: io.BufferedReader[Any]) -> bool:
    return isinstance(stream.raw, _Unpacked | archives.Members | framed.Framed)


def _foreign(head: bytes) -> str | None:
    place, word = _TAR
    if head[place] == word:
        return "a tape archive, unpack it first"
    return next((what for magic, what in _FOREIGN.items() if head.startswith(magic)), None)


class _Unpacked(io.RawIOBase):
    """Unpacked content of a file up to its end, or up to where it breaks: see `problem`.

    The readers of the standard library drop what they hold when a file breaks off.
    """

    def __init__(self, raw: io.FileIO, decoder: Callable[[], Any]) -> None:
        self._raw = raw
        self._new = decoder
        self._decoder: Any = None
        self._left = b""  # packed bytes behind the end of a member
        self.problem: str | None = None  # once read to the end: what is broken, "" for nothing

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self._raw.close()
        super().close()

    def readinto(self, buffer: Any) -> int:
        data = b""
        while not data and self.problem is None:
            try:
                data = self._next(min(len(buffer), UNPACKED_BLOCK))
            except MemoryError:
                raise
            except Exception as error:  # each way of packing has error types of its own
                self.problem = str(error)
        buffer[: len(data)] = data
        return len(data)

    def _next(self, size: int) -> bytes:
        """Some content, or none yet. Sets `problem` at the end."""
        packed = self._left
        if not packed and (self._decoder is None or self._decoder.needs_input):
            packed = self._raw.read(PACKED_BLOCK) or b""
            if not packed:
                self.problem = "" if self._decoder is None else "the file ends in the middle"
                return b""
        self._left = b""
        if self._decoder is None:
            packed = packed.lstrip(b"\0")  # padding
            if not packed:
                return b""
            self._decoder = self._new()
        data: bytes = self._decoder.decompress(packed, size)
        if self._decoder.eof:
            self._left, self._decoder = self._decoder.unused_data, None
        return data


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


def lines(stream: io.BufferedReader[Any], packed_size: int = 0) -> Iterator[bytes]:
    """Lines with their line ends. Raises `CutStream` where the input breaks off.

    Of a line longer than `MAX_LINE` only the beginning comes, as `TooLong`.
    """
    limit = packed_size * MAX_RATIO + SAFE if packed_size else 0
    total = 0
    long: TooLong | None = None  # the line that has not ended
    readline = stream.readline
    while True:
        try:
            raw = readline(MAX_LINE)
        except OSError as error:
            raise CutStream(f"{READING_FAILED} ({files.reason(error)})") from error
        if limit:
            total += len(raw)
            if total > limit:
                raise CutStream(f"unpacks to more than {MAX_RATIO} times its size; stopped reading")
        if len(raw) < MAX_LINE or raw.endswith(b"\n"):
            if long is not None:
                long.passed_over += len(raw)
                yield long
                long = None
            elif raw:
                yield raw
            if not raw:
                break
        elif long is None:
            long = TooLong(raw[:1024])
            long.passed_over = len(raw) - len(long)
        else:
            long.passed_over += len(raw)
    problem = getattr(stream.raw, "problem", None)
    if problem:
        raise CutStream(f"packed data breaks off or is damaged ({problem})")
