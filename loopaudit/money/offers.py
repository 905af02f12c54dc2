"""A dated price offer, and the choice of the one that holds at a moment."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from loopaudit.money.rates import Tier

DAY = 86_400


@dataclass(frozen=True, slots=True)
class Offer:
    """Prices and when they hold: `start` <= at < `end` (epoch seconds), within `hours` of the day.

    `hours` are seconds since midnight UTC, [from, to), and may run over midnight.
    """

    tiers: tuple[Tier, ...]
    source: str
    web_search: int | None = None
    request: int = 0
    start: float = -math.inf
    end: float = math.inf
    hours: tuple[tuple[int, int], ...] = ()
    weekdays: bool = False  # Monday to Friday, UTC
    label: str = ""  # the glob or id by which it is known

    def holds(self, at: float) -> bool:
        if not self.start <= at < self.end:
            return False
        if self.hours:
            second = at % DAY
            if not any(
                first <= second < last if first <= last else second >= first or second < last
                for first, last in self.hours
            ):
                return False
        return not (self.weekdays and datetime.fromtimestamp(at, UTC).weekday() >= 5)


def holding(offers: Iterable[Offer], at: float) -> Offer | None:
    """The last of `offers` that holds at a moment: later rows override earlier ones."""
    chosen = None
    for offer in offers:
        if offer.holds(at):
            chosen = offer
    return chosen


class Periods:
    """Cuts time into the pieces within which no price of `offers` changes."""

    __slots__ = ("_clock", "_edges", "_weekly")

    def __init__(self, offers: Iterable[Offer]) -> None:
        edges: set[float] = set()
        clock: set[int] = set()
        self._weekly = False
        for offer in offers:
            edges.update(t for t in (offer.start, offer.end) if math.isfinite(t))
            for first, last in offer.hours:
                clock.update((first, last))
            self._weekly |= offer.weekdays
        self._edges = sorted(edges)
        self._clock = sorted(clock)

    def key(self, at: float) -> tuple[int, int, int]:
        """The piece a moment lies in."""
        return (
            bisect_right(self._edges, at) if self._edges else 0,
            bisect_right(self._clock, at % DAY) if self._clock else 0,
            int(at // DAY) % 7 if self._weekly else 0,
        )
