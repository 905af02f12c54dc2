"""The verdicts on a run in little room: a loop that runs on brings the same ones over and over."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, overload

from loopaudit.findings import Trip

_WIDTH = 5  # a trip, and what differs from it: count, step, call, saves_from


class Trips(Sequence[Trip]):
    """Verdicts in order, made when they are asked for.

    `rows` holds five entries for each: a verdict, and the count, step, call and saves_from by which
    this one differs from it.
    """

    __slots__ = ("rows",)

    def __init__(self, trips: Iterable[Trip] = ()) -> None:
        self.rows: list[Any] = []
        self.extend(trips)

    def extend(self, trips: Iterable[Trip]) -> None:
        for trip in trips:
            self.rows += (trip, trip.count, trip.step, trip.call, trip.saves_from)

    def __len__(self) -> int:
        return len(self.rows) // _WIDTH

    def __iter__(self) -> Iterator[Trip]:
        rows = iter(self.rows)
        return map(_trip, rows, rows, rows, rows, rows)

    @overload
    def __getitem__(self, at: int) -> Trip: ...
    @overload
    def __getitem__(self, at: slice) -> list[Trip]: ...
    def __getitem__(self, at: int | slice) -> Trip | list[Trip]:
        numbers = range(len(self))[at]
        if isinstance(numbers, range):
            return [_trip(*self._row(number)) for number in numbers]
        return _trip(*self._row(numbers))

    def _row(self, number: int) -> list[Any]:
        return self.rows[number * _WIDTH : (number + 1) * _WIDTH]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Trips | list | tuple):
            return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Trips({list(self)!r})"

    def sort(self, key: Callable[[Trip], Any]) -> None:
        trips = sorted(self, key=key)
        self.rows.clear()
        self.extend(trips)


def _trip(like: Trip, count: int | float, step: int, call: int | None, saves_from: int) -> Trip:
    if count == like.count and step == like.step and call == like.call:
        return like
    return Trip(
        like.detector,
        like.level,
        count,
        like.threshold,
        step,
        call,
        like.reason,
        like.recoverable,
        like.budget,
        saves_from,
        like.final,
        like.first_step,
        like.group,
    )
