"""What was looked at while something was read, and what it was then: tells later if it changed.

A plain file is known by size, times of last write and of last change, inode, and a digest of its
head and tail. On POSIX every write changes the time of last change, and no program can set it, so
a file written anew with the same size and time of last write does not pass. Windows has no such
time: there the digest is made of the whole content.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from xxhash import xxh3_64

#: size, last write and last change (ns), inode, digest. A folder: no digest; an object in a store:
#: size, ETag
Mark = tuple[int | str, ...]

_ENDS = 4096  # bytes of the head, and of the tail
_BLOCK = 1 << 20
_HAS_CHANGE_TIME = os.name == "posix"
#: a file may be written twice within one tick of its clock: younger ones cannot be told apart.
#: Clocks of files tick every 10 ms or less, or (where the stamps are whole) every two seconds
_TICK, _WHOLE_TICK = 0.1, 2.5
_SECOND = 1_000_000_000


def mark(path: str) -> Mark | None:
    """What the file at `path` is now; None: there is none. Raises `OSError`."""
    if "://" in path:
        return _remote(path)
    try:
        info = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    if not stat.S_ISREG(info.st_mode):
        return stat.S_IFMT(info.st_mode), info.st_mtime_ns, info.st_ctime_ns, info.st_ino
    number = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    try:
        info = os.fstat(number)
        size = info.st_size
        if not _HAS_CHANGE_TIME:
            content = _digest(number)
        elif size <= 2 * _ENDS:
            content = xxh3_64(os.pread(number, size, 0)).intdigest()
        else:
            ends = os.pread(number, _ENDS, 0) + os.pread(number, _ENDS, size - _ENDS)
            content = xxh3_64(ends).intdigest()
    finally:
        os.close(number)
    return size, info.st_mtime_ns, info.st_ctime_ns, info.st_ino, content


def _digest(number: int) -> int:
    found = xxh3_64()
    while block := os.read(number, _BLOCK):
        found.update(block)
    return found.intdigest()


def _remote(path: str) -> Mark | None:
    from loopaudit.files import objects

    one = objects.found(path)
    if one is None:
        return None
    if one.etag is None:
        raise OSError(f"{path}: nothing tells whether it changed")
    return one.size, one.etag


def settled(found: Mark | None, now: float) -> bool:
    """Whether a later write must show: False where it could bear the same time."""
    if found is None or len(found) == 2:
        return True
    written, changed = (int(n) for n in found[1:3])
    last = changed if _HAS_CHANGE_TIME else max(written, changed)
    tick = _TICK if last % _SECOND else _WHOLE_TICK
    return last + tick * _SECOND < now * _SECOND


@dataclass(slots=True)
class Evidence:
    """Everything that was looked at, as it was before. Unsound: it is not all of it."""

    marks: dict[str, Mark | None] = field(default_factory=dict)
    sound: bool = True

    def holds(self) -> bool:
        """Whether it can be relied on and all is still as it was."""
        now = time.time()
        return self.sound and all(settled(m, now) for m in self.marks.values()) and same(self.marks)


def same(marks: dict[str, Mark | None] | Iterable[tuple[str, Mark | None]]) -> bool:
    """Whether all files are now what they were. Raises nothing: what cannot be seen is changed."""
    pairs = marks.items() if isinstance(marks, dict) else marks
    try:
        return all(mark(path) == was for path, was in pairs)
    except Exception:  # of the system, or of the client of an object store
        return False


_watch: Evidence | None = None


@contextmanager
def watching() -> Iterator[Evidence]:
    """Writes down every file that is looked at meanwhile, in this process."""
    global _watch
    _watch = found = Evidence()
    try:
        yield found
    finally:
        _watch = None


def note(path: str) -> None:
    """To be called before a file is looked at, whether or not it is there."""
    if _watch is not None and path not in _watch.marks:
        try:
            _watch.marks[path] = mark(path)
        except Exception:  # told where it is opened
            _watch.sound = False


def doubt() -> None:
    """What is read now depends on more than the files that are noted."""
    if _watch is not None:
        _watch.sound = False
