"""Counts over the last calls of a request: equal calls, equal results, two calls taking turns.

All are judged before a call, against the calls before it; the call itself is not in the window yet.
A result counts from the moment it is known, so calls of one step do not see each other's results.
Source of the four counts: the `fuses` guard set (guards.md §1).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import ClassVar

from loopaudit.detectors.base import NONE, Detector
from loopaudit.findings import Reading
from loopaudit.model import Boundary, BoundaryKind, Call

BREAKER = "global_circuit_breaker"
PING_PONG = "ping_pong"
GENERIC = "generic_repeat"
POLL = "poll_no_progress"


class _Entry:
    """One call in the window."""

    __slots__ = ("call", "masked", "result", "step")

    def __init__(self, call: int, step: int) -> None:
        self.call = call
        self.step = step
        self.result: int | None = None
        self.masked: int | None = None


class _Held:
    """The calls of one key in the window, oldest first, and the newest streak of equal results."""

    __slots__ = ("answered", "entries", "first", "newest", "result", "streak")

    def __init__(self) -> None:
        self.entries: deque[_Entry] = deque()
        self.answered = 0  # entries with a result
        self.streak = 0  # newest answered entries with one result
        self.result: int | None = None  # that result
        self.newest = -1  # call index of the newest answered entry
        self.first: _Entry | None = None  # where the streak began; may have left the window

    def answer(self, entry: _Entry) -> None:
        self.answered += 1
        if entry.call < self.newest:  # answered out of order: live only
            self._recount()
        elif entry.result == self.result and self.streak:
            self.streak += 1
            self.newest = entry.call
        else:
            self.streak, self.result, self.newest, self.first = 1, entry.result, entry.call, entry

    def _recount(self) -> None:
        self.streak = 0
        for entry in reversed(self.entries):
            if entry.result is None:
                continue
            if entry.result != self.result:
                break
            self.streak += 1
            self.first = entry


class CallWindow(Detector):
    """The last `window` calls since the last user message, and four counts over them.

    `global_circuit_breaker`: newest answered calls of this key with one result as recorded.
    `generic_repeat`: calls of this key, whatever they returned.
    `ping_pong`: strictly alternating calls that this one continues, itself included.
    `poll_no_progress`: for known polls, newest answered calls of this key with one masked result.
    The first, second and fourth count the calls before this one: n means that this is number n + 1.
    """

    signals = (BREAKER, PING_PONG, GENERIC, POLL)
    needs = frozenset({"arguments"})
    needs_more: ClassVar[Mapping[str, frozenset[str]]] = {
        BREAKER: frozenset({"results"}),
        POLL: frozenset({"results"}),
    }

    def __init__(self, window: int = 30) -> None:
        if window < 1:
            raise ValueError(f"window must be at least 1, not {window}")
        self.window = window
        self._keys: deque[int] = deque()  # newest last
        self._held: dict[int, _Held] = {}
        self._last: int | None = None  # newest key
        self._other: int | None = None  # the key before it, where the two alternate
        self._tail = 0  # length of the alternating tail
        self._tail_from: tuple[int, int] = (0, 0)  # call and step where that tail began

    def boundary(self, boundary: Boundary) -> Sequence[Reading]:
        if boundary.kind is BoundaryKind.USER:
            self._keys.clear()
            self._held.clear()
            self._last = self._other = None
            self._tail = 0
        return NONE

    def call_proposed(self, call: Call) -> Sequence[Reading]:
        key = call.key
        held = self._held.get(key)
        readings: Sequence[Reading] = NONE
        if held is not None:
            readings = self._readings(call, held)
        else:
            held = self._held[key] = _Held()
        self._append(key, held, call)
        return readings

    def call_ended(self, call: Call) -> Sequence[Reading]:
        result = call.result
        held = self._held.get(call.key)
        if result is not None and held is not None:
            for entry in reversed(held.entries):
                if entry.call == call.index:
                    entry.result = result
                    entry.masked = call.result_key
                    held.answer(entry)
                    break
        return NONE

    def _readings(self, call: Call, held: _Held) -> list[Reading]:
        index, step, key = call.index, call.step, call.key
        own = (index,)
        readings = []
        first = held.first
        if held.streak and first is not None:
            readings.append(
                Reading(BREAKER, held.streak, step, index, first.call, first.step, first.call, own)
            )
        if key == self._other and self._tail >= 2 and len(self._keys) >= 3:
            count = min(self._tail, self.window) + 1
            begin, begin_step = self._tail_from
            readings.append(
                Reading(PING_PONG, count, step, index, begin, begin_step, begin, own, period=2)
            )
        oldest, count = held.entries[0], len(held.entries)
        readings.append(Reading(GENERIC, count, step, index, key, oldest.step, oldest.call, own))
        if call.polls and held.answered:
            readings.append(_poll(call, held))
        return readings

    def _append(self, key: int, held: _Held, call: Call) -> None:
        held.entries.append(_Entry(call.index, call.step))
        keys = self._keys
        keys.append(key)
        last = self._last
        if key == last:
            self._tail = 1
            self._other = None
            self._tail_from = (call.index, call.step)
        else:
            if self._tail >= 2 and key == self._other:
                self._tail += 1
            elif last is not None:
                self._tail = 2
                newest = self._held[last].entries[-1]
                self._tail_from = (newest.call, newest.step)
            else:
                self._tail = 1
                self._tail_from = (call.index, call.step)
            self._other = last
            self._last = key
        if len(keys) > self.window:
            self._forget(keys.popleft())

    def _forget(self, key: int) -> None:
        held = self._held[key]
        entry = held.entries.popleft()
        if entry.result is not None:
            held.answered -= 1
            if held.streak > held.answered:
                held.streak = held.answered
        if not held.entries:
            del self._held[key]

    def most(self, signal: str, turns: int = 1) -> int | None:
        """Each of `turns` calls that take turns fills its part of the window."""
        if signal == PING_PONG:
            return self.window + 1 if self.window >= 3 else 0
        return self.window // turns

    def implied(self, signal: str, count: int) -> Mapping[str, int]:
        if signal == PING_PONG:
            return {GENERIC: (count - 1) // 2}
        return {GENERIC: count} if signal in (BREAKER, POLL) else {}


def _poll(call: Call, held: _Held) -> Reading:
    count = 0
    first = newest = None
    for entry in reversed(held.entries):
        if entry.result is None:
            continue
        newest = newest or entry
        if entry.masked != newest.masked:
            break
        count += 1
        first = entry
    assert first is not None
    return Reading(
        POLL,
        count,
        call.step,
        call.index,
        group=first.call,
        first_step=first.step,
        first_call=first.call,
        redundant=(call.index,),
        poll=True,
    )
