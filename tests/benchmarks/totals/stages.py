"""From the right totals to a peer's, one stated habit of the peer at a time.

A stage is a habit: it leaves records out, counts some again, or prices otherwise. What a stage
changes is what the habit explains. After the last one the totals must be the peer's own, to the
token and to a millionth of a dollar; what is left over is unexplained.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from decimal import Decimal

from records import Record

from loopaudit.model import Usage
from loopaudit.money import PriceBook, usd

BUCKETS = ("fresh_input", "cache_read", "cache_write", "output")
Sums = dict[str, Decimal]
Price = Callable[[Record], int]

BOOK = PriceBook()


@dataclass(slots=True)
class Counted:
    """The records that count, how they are one response, and what a response costs."""

    records: list[Record]
    key: Callable[[Record], object] = lambda record: record.key
    price: Price = field(default_factory=lambda: listed)

    def responses(self) -> list[Record]:
        """Usage is written again while a reply grows: field by field the larger number."""
        best: dict[object, Record] = {}
        for record in self.records:
            seen = best.setdefault(self.key(record), record)
            if seen is not record:
                best[self.key(record)] = larger(seen, record)
        return list(best.values())

    def sums(self) -> Sums:
        found = self.responses()
        return {
            "fresh_input": Decimal(sum(r.fresh for r in found)),
            "cache_read": Decimal(sum(r.read for r in found)),
            "cache_write": Decimal(sum(r.write for r in found)),
            "output": Decimal(sum(r.output for r in found)),
            "usd": usd(sum(self.price(r) for r in found)),
        }


@dataclass(frozen=True, slots=True)
class Stage:
    """One habit of a peer, in words, and what it does to what counts."""

    habit: str
    change: Callable[[Counted], Counted]


def larger(a: Record, b: Record) -> Record:
    names = ("fresh", "read", "write", "write_1h", "output", "searches")
    most = {name: max(getattr(a, name), getattr(b, name)) for name in names}
    return replace(a, **most, fast=a.fast or b.fast, in_us=a.in_us or b.in_us)


def only(keep: Callable[[Record], bool]) -> Callable[[Counted], Counted]:
    return lambda counted: replace(counted, records=[r for r in counted.records if keep(r)])


def keyed(key: Callable[[Record], object]) -> Callable[[Counted], Counted]:
    return lambda counted: replace(counted, key=key)


def priced(price: Price) -> Callable[[Counted], Counted]:
    return lambda counted: replace(counted, price=price)


# -- prices ---------------------------------------------------------------------------------------


def usage(record: Record) -> Usage:
    short = record.write - record.write_1h
    return Usage(
        record.fresh,
        record.read,
        short if record.split else 0,
        record.write_1h,
        0 if record.split else short,
        record.output,
        web_searches=record.searches,
        note="fast" if record.fast else None,
    )


def listed(record: Record) -> int:
    """Picodollars by the rules of the issue; nothing where no price is known."""
    return _cost(record, usage(record), "us" if record.in_us else None)


def standard(record: Record) -> int:
    """The plain list price: no mode, no region, no searches."""
    plain = usage(replace(record, fast=False, searches=0))
    return _cost(record, plain, None)


def all_writes_short(record: Record) -> int:
    return standard(replace(record, write_1h=0))


def _cost(record: Record, counts: Usage, service: str | None) -> int:
    if record.model is None:
        return 0
    return BOOK.cost(counts, record.model, record.at, service) or 0


def differing(before: Iterable[Record], after: Iterable[Record]) -> list[str]:
    """Places of the records that a stage left out or brought in."""
    places = {r.place for r in before} ^ {r.place for r in after}
    return sorted(places)
