"""Results of calls that are made again: compared masked, their first results held until then."""

from __future__ import annotations

from collections.abc import Callable
from sys import getsizeof

from loopaudit.ingest.again import Again
from loopaudit.ingest.results import mask_digest, quote, result_text
from loopaudit.model import Call

#: distinct calls from which on the arguments of old ones are no longer quoted
LONG_RUN = 20_000
#: of a repeated call so many results are quoted: whether a test failed is said in words only
QUOTED = 4


class Repeated:
    """The calls of one run by key. Keeps the promise that results of repeated calls are masked."""

    __slots__ = ("_first", "_held", "_held_bytes", "_mask", "_reader", "_times")

    def __init__(
        self, mask: Callable[[str], str] | None, reader: Callable[[Call], Again | None]
    ) -> None:
        """`reader` finds what can read the result of a call again."""
        self._mask = mask
        self._reader = reader
        self._first: dict[int, Call] = {}  # first call of each key
        self._held: dict[int, str] = {}  # result text of first calls
        self._held_bytes = 0
        self._times: dict[int, int] = {}  # calls of each key that repeats

    def called(self, call: Call) -> None:
        self._first.setdefault(call.key, call)

    def forget(self, call: Call) -> None:
        """The arguments of `call` turn out to be others."""
        key = call.key
        if self._first.get(key) is call:
            del self._first[key]
            text = self._held.pop(key, None)
            if text is not None:
                self._held_bytes -= getsizeof(text)

    def answered(self, call: Call, text: str, most: int) -> None:
        """Take in a result, whose digest its call has. `most`: bytes of texts to be held."""
        key = call.key
        first = self._first.get(key)
        if first is None or first is call:
            self._first[key] = call
            self._hold(key, text, most)
            return
        held = self._held.pop(key, None)
        if held is not None:
            self._held_bytes -= getsizeof(held)
        seen = self._times[key] = self._times.get(key, 1) + 1
        if seen <= QUOTED and call.text is None:
            call.text = quote(text)
        if call.result == first.result:
            if first.masked is None:
                first.masked = mask_digest(text, self._mask)
            call.masked = first.masked
            return
        call.masked = mask_digest(text, self._mask)
        if first.masked is None and first.result is not None:
            old = self._again(first) if held is None else held
            first.masked = None if old is None else mask_digest(old, self._mask)

    def _hold(self, key: int, text: str, most: int) -> None:
        self._held[key] = text
        self._held_bytes += getsizeof(text)
        while self._held_bytes > most:
            oldest = next(iter(self._held))
            evicted = self._held.pop(oldest)
            self._held_bytes -= getsizeof(evicted)
            call = self._first[oldest]
            if len(self._first) > LONG_RUN:
                call.args = None
            if self._reader(call) is None:
                call.masked = mask_digest(evicted, self._mask)

    def _again(self, call: Call) -> str | None:
        reader = self._reader(call)
        if reader is None or call.id is None or call.result_line is None:
            return None
        value = reader.result(call.result_line, call.id)
        return None if value is None else result_text(value)
