"""Objects read as streams: in parts, several under way at once, and ahead of what is read.

A process reads one object after the other. Their parts, in that order, are fetched by a few threads
up to `AHEAD` bytes, over the ends of objects too: ten thousand small ones cost no ten thousand
round trips. What an object was at its listing is what is read; one that changed is an error.
"""

from __future__ import annotations

import errno
import io
import threading
from collections import deque
from collections.abc import Sequence
from queue import SimpleQueue
from typing import Any

from loopaudit.files import objects
from loopaudit.files.objects import Object

PART = 4 << 20
AHEAD = 32 << 20  # bytes held or under way in a process
MOST_PARTS = 64  # and so many parts: many objects are small
THREADS = 12
#: read at once where a single line is looked up
_NEAR = 1 << 18


class _Part:
    """Bytes of an object, under way or here."""

    __slots__ = ("_data", "_done", "_end", "_error", "_of", "_start")

    def __init__(self, of: Object, number: int) -> None:
        self._of = of
        self._start = number * PART
        self._end = min(self._start + PART, of.size)
        self._done = threading.Event()
        self._data = b""
        self._error: BaseException | None = None

    def __len__(self) -> int:
        return self._end - self._start

    def fetch(self) -> None:
        try:
            self._data = objects.fetch(self._of, self._start, self._end)
        except BaseException as error:  # raised where it is read
            self._error = error
        self._done.set()

    def data(self) -> bytes:
        self._done.wait()
        if self._error is not None:
            raise self._error
        return self._data


class _Ahead:
    """Parts of the object that is read, and of those that come after it."""

    def __init__(self) -> None:
        self._coming: deque[Object] = deque()  # the first is being read
        self._next = (0, 0)  # the part to begin next: place in `_coming`, number
        self._parts: dict[tuple[str, int], _Part] = {}
        self._bytes = 0
        self._queue: SimpleQueue[_Part] = SimpleQueue()
        self._threads = 0

    def expect(self, coming: Sequence[Object]) -> None:
        self._coming = deque(coming)
        self._next = (0, 0)
        self._parts.clear()
        self._bytes = 0

    def begin(self, one: Object) -> None:
        """`one` is read now; what was to come before it is not."""
        if one not in self._coming:
            self.expect([one, *self._coming])
        while self._coming[0] != one:
            gone = self._coming.popleft()
            for key in [key for key in self._parts if key[0] == gone.url]:
                self._bytes -= len(self._parts.pop(key))
            place, number = self._next
            self._next = (place - 1, number) if place else (0, 0)
        self._go_on()

    def part(self, one: Object, number: int) -> bytes:
        """A part of the object that is read now; the parts before it are let go."""
        for key in [key for key in self._parts if key[0] == one.url and key[1] < number]:
            self._bytes -= len(self._parts.pop(key))
        self._go_on()
        part = self._parts.get((one.url, number))
        if part is None:  # read out of order
            part = _Part(one, number)
            part.fetch()
        return part.data()

    def _go_on(self) -> None:
        while self._next[0] < len(self._coming):
            place, number = self._next
            one = self._coming[place]
            if number * PART >= one.size:
                self._next = (place + 1, 0)
                continue
            part = _Part(one, number)
            full = self._bytes + len(part) > AHEAD or len(self._parts) >= MOST_PARTS
            if self._parts and full:
                return
            self._next = (place, number + 1)
            self._parts[one.url, number] = part
            self._bytes += len(part)
            self._queue.put(part)
            if self._threads < min(THREADS, len(self._parts)):
                self._threads += 1
                threading.Thread(target=self._work, daemon=True).start()

    def _work(self) -> None:
        while True:
            self._queue.get().fetch()


_ahead = _Ahead()


def expect(coming: Sequence[Object]) -> None:
    """Tell what will be read in this process, in this order."""
    objects.know(list(coming))
    _ahead.expect(coming)


def opened(url: str) -> Stream:
    """The object at `url`, to be read from its beginning. Raises `OSError`."""
    one = objects.found(url)
    if one is None:
        raise FileNotFoundError(errno.ENOENT, "no such object")
    _ahead.begin(one)
    return Stream(one)


class Stream(io.RawIOBase):
    """An object as a file. Raises `OSError`."""

    def __init__(self, one: Object) -> None:
        self._object = one
        self._at = 0
        self._number = -1
        self._data = memoryview(b"")

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._object.size}[whence]
        self._at = max(0, base + offset)
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: Any) -> int:
        if self._at >= self._object.size:
            return 0
        number, start = divmod(self._at, PART)
        if number != self._number:
            self._data, self._number = memoryview(_ahead.part(self._object, number)), number
        data = self._data[start : start + len(buffer)]
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)


def near(url: str, offset: int) -> io.BufferedReader[Any]:
    """A stream from `offset` on for a few lines, beside the one that is read. Raises `OSError`."""
    one = objects.found(url)
    if one is None:
        raise FileNotFoundError(errno.ENOENT, "no such object")
    return io.BufferedReader(_Near(one, offset), _NEAR)


class _Near(io.RawIOBase):
    def __init__(self, one: Object, offset: int) -> None:
        self._object, self._at = one, offset

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        end = min(self._at + len(buffer), self._object.size)
        if end <= self._at:
            return 0
        data = objects.fetch(self._object, self._at, end)
        buffer[: len(data)] = data
        self._at = end
        return len(data)
