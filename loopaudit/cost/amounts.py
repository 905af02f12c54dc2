"""What each step adds to a bill, as columns, and the sums of them.

Columns hold whole numbers, money in picodollars, `UNKNOWN` where the log or the price list is
silent. Sums are exact; a sum of nothing known is None.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from decimal import Decimal

from loopaudit.cost.carried import carried
from loopaudit.findings import Completeness
from loopaudit.model import BUCKETS
from loopaudit.money import PriceBook, usd
from loopaudit.replay.audit import AuditedRun
from loopaudit.replay.results import UNKNOWN
from loopaudit.replay.totals import Gap, gap_of, unpriced_tokens

Columns = Mapping[str, Sequence[int]]


@dataclass(slots=True)
class Amounts:
    """Sums over steps. Tokens lie in disjoint buckets, `reasoning` inside `output`.

    `waste_*` are the redundant steps, each once. `carried_*` is what other responses re-sent
    because of them (see `carried`), an estimate; it lies outside the waste.
    """

    responses: int = 0  # without compactions
    calls: int = 0
    fresh_input: int | None = None
    cache_read: int | None = None
    cache_write_5m: int | None = None
    cache_write_1h: int | None = None
    cache_write_unsplit: int | None = None
    output: int | None = None
    reasoning: int | None = None
    web_searches: int | None = None  # requests
    tokens: int | None = None
    pico: int | None = None  # at list prices
    recorded_pico: int | None = None  # as the log itself says
    both_listed_pico: int | None = None  # of responses with a list price and a recorded cost …
    both_recorded_pico: int | None = None  # … and what the log records of them
    waste_steps: int = 0
    waste_tokens: int | None = None
    waste_pico: int | None = None
    carried_tokens: int | None = None
    carried_pico: int | None = None
    unpriced_tokens: int = 0
    inherited_tokens: int | None = None  # of copied responses, counted where they belong
    absent: int = 0  # responses without usage
    lower_bound: int = 0  # responses whose output was written before it ended
    halves: int = 0  # responses that tell only input or only output
    estimated: int = 0  # responses with estimated usage
    caveats: int = 0  # responses whose price rests on something that the log does not tell
    partial: bool = False  # records of these logs could not be read

    @property
    def cache_write(self) -> int | None:
        known = [
            part
            for part in (self.cache_write_5m, self.cache_write_1h, self.cache_write_unsplit)
            if part is not None
        ]
        return sum(known) if known else None

    @property
    def usd(self) -> Decimal | None:
        return dollars(self.pico)

    @property
    def difference(self) -> Decimal | None:
        """List price less recorded cost, over the responses that have both."""
        if self.both_listed_pico is None or self.both_recorded_pico is None:
            return None
        return dollars(self.both_listed_pico - self.both_recorded_pico)

    @property
    def completeness(self) -> Completeness:
        """The worst mark, as in the totals of the report."""
        if self.partial:
            return Completeness.PARTIAL
        if self.absent or self.lower_bound or self.halves or self.unpriced_tokens:
            return Completeness.LOWER_BOUND
        if self.estimated or self.caveats:
            return Completeness.ESTIMATED
        return Completeness.COMPLETE

    def settle(self) -> Amounts:
        """Nothing wasted costs 0, not an unknown amount. To be called when all is summed up."""
        if not self.waste_steps:
            self.waste_tokens = self.waste_pico = 0
        if not self.carried_tokens:
            self.carried_tokens = self.carried_pico = 0
        return self

    def add(self, other: Amounts) -> None:
        for name in _NAMES:
            more = getattr(other, name)
            if more is not None:
                setattr(self, name, (getattr(self, name) or 0) + more)
        self.partial |= other.partial


_NAMES = tuple(field.name for field in fields(Amounts) if field.name != "partial")
_COUNTS = frozenset(field.name for field in fields(Amounts) if field.default == 0)


def dollars(amount: int | None) -> Decimal | None:
    """Picodollars as exact USD."""
    return None if amount is None else usd(amount)


def columns_of(item: AuditedRun, book: PriceBook) -> dict[str, Sequence[int]]:
    """A column for every number in `Amounts`, one entry a step, for the steps that count."""
    table, cost = item.found.columns, item.priced.cost
    size = len(table)
    columns: dict[str, Sequence[int]] = dict(zip(BUCKETS, table.buckets, strict=True))
    columns |= {
        "responses": [1 - compaction for compaction in table.compaction],
        "calls": table.calls,
        "tokens": table.total,
        "pico": cost,
        "recorded_pico": table.cost,
        "both_listed_pico": _where(cost, table.cost),
        "both_recorded_pico": _where(table.cost, cost),
    }
    gaps = {gap: [0] * size for gap in Gap}
    unpriced, caveats = [0] * size, [0] * size
    for i in item.priced.own:
        gap = gap_of(table, i)
        if gap is not None:
            gaps[gap][i] = 1
        unpriced[i] = unpriced_tokens(table, item.priced, i)
    for step, _ in item.priced.caveats:
        caveats[step] = 1
    columns |= {
        "absent": gaps[Gap.ABSENT],
        "lower_bound": gaps[Gap.LOWER],
        "halves": gaps[Gap.HALF],
        "estimated": gaps[Gap.ESTIMATED],
        "unpriced_tokens": unpriced,
        "caveats": caveats,
    }
    columns["carried_tokens"], columns["carried_pico"] = carried(item, book)
    return columns | _waste(item)


def telling(columns: Columns) -> dict[str, Sequence[int]]:
    """Without the columns of which no step tells anything: their sums are what `Amounts` has."""
    return {
        name: column
        for name, column in columns.items()
        if column.count(UNKNOWN) < len(column)
        and (name not in _COUNTS or column.count(0) < len(column))
    }


def _where(column: Sequence[int], other: Sequence[int]) -> list[int]:
    """A column where the other is known too."""
    return [UNKNOWN if o == UNKNOWN else n for n, o in zip(column, other, strict=True)]


def _waste(item: AuditedRun) -> dict[str, Sequence[int]]:
    table, cost = item.found.columns, item.priced.cost
    steps = [0] * len(table)
    tokens, money = ([UNKNOWN] * len(table) for _ in range(2))
    for entry in item.summary.waste.steps:
        steps[entry.step] = 1
        if table.total[entry.step] != UNKNOWN:
            tokens[entry.step] = round(table.total[entry.step] * entry.part)
        if cost[entry.step] != UNKNOWN:
            money[entry.step] = item.priced.of(entry, table)
    return {"waste_steps": steps, "waste_tokens": tokens, "waste_pico": money}


def sums(columns: Columns, places: Iterable[int]) -> Amounts:
    """The sums of all columns over `places`, not settled yet."""
    places = list(places)
    total = Amounts()
    for name, column in columns.items():
        known = [column[i] for i in places if column[i] != UNKNOWN]
        if known or name in _COUNTS:
            setattr(total, name, sum(known))
    return total


def split(columns: Columns, pieces: Sequence[int]) -> dict[str, Sequence[int]]:
    """Each step `i` cut into `pieces[i]` entries, evenly; what does not divide goes to the first.

    The entries of a step add up to it exactly. A response is therefore counted with its first call.
    """
    if all(count == 1 for count in pieces):
        return dict(columns)
    return {
        name: [
            UNKNOWN if whole == UNKNOWN else whole // count + (part < whole % count)
            for whole, count in zip(column, pieces, strict=True)
            for part in range(count)
        ]
        for name, column in columns.items()
    }
