"""Sets the logs beside a provider's export, per UTC day and model: the spend no log explains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from loopaudit.cost.attribution import attribute
from loopaudit.cost.exports import Billed, Export
from loopaudit.money import PriceBook
from loopaudit.replay.audit import AuditedRun
from loopaudit.settings import Settings

NO_MODEL = "(no model named)"


@dataclass(slots=True)
class Side:
    """Tokens and picodollars; None: not told."""

    tokens: int | None = None
    pico: int | None = None

    def add(self, tokens: int | None, pico: int | None) -> None:
        if tokens is not None:
            self.tokens = (self.tokens or 0) + tokens
        if pico is not None:
            self.pico = (self.pico or 0) + pico


@dataclass(slots=True)
class Line:
    """One day and model. A side is None where it has nothing at all."""

    day: str
    model: str
    logs: Side | None = None
    export: Side | None = None

    def difference(self, what: str) -> int | None:
        """What the export has more than the logs; None where one of them does not tell."""
        mine, theirs = (
            0 if side is None else getattr(side, what) for side in (self.logs, self.export)
        )
        return None if mine is None or theirs is None else theirs - mine


@dataclass(slots=True)
class Reconciliation:
    export: Export
    lines: list[Line] = field(default_factory=list)
    logs: Side = field(default_factory=Side)
    billed: Side = field(default_factory=Side)
    outside: Side = field(default_factory=Side)  # logged on days that the export does not cover
    undated: Side = field(default_factory=Side)  # logged without a time
    priced_here: bool = False  # the export has no money: its tokens at list prices

    def unexplained(self, what: str) -> int:
        """What the export has and the logs have not, over all days and models."""
        return sum(max(line.difference(what) or 0, 0) for line in self.lines)

    def surplus(self, what: str) -> int:
        """What the logs have and the export has not."""
        return sum(max(-(line.difference(what) or 0), 0) for line in self.lines)


def reconcile(
    audited: Sequence[AuditedRun], export: Export, settings: Settings, book: PriceBook
) -> Reconciliation:
    """Raises `ConfigError` for a wrong table `[reconcile.models]`."""
    result = Reconciliation(export, priced_here=not export.has_money)
    names = _Names(settings)
    days = sorted(day for day, _ in export.billed)
    lines: dict[tuple[str, str], Line] = {}
    for row in attribute(audited, ("day", "model"), UTC, book).rows:
        day, model = row.key
        amounts = (row.amounts.tokens, row.amounts.pico)
        if day is None:
            result.undated.add(*amounts)
        elif not days or not days[0] <= day <= days[-1]:
            result.outside.add(*amounts)
        elif any(amounts):
            model = model or NO_MODEL
            line = lines.setdefault((day, names(model)), Line(day, model))
            line.logs = line.logs or Side()
            line.logs.add(*amounts)
            result.logs.add(*amounts)
    for (day, model), billed in sorted(export.billed.items()):
        model = model or NO_MODEL
        line = lines.setdefault((day, names(model)), Line(day, model))
        line.export = line.export or Side()
        money = _price(billed, day, model, book) if result.priced_here else billed.pico
        amounts = (billed.tokens, money)
        line.export.add(*amounts)
        result.billed.add(*amounts)
    result.lines = [lines[key] for key in sorted(lines)]
    return result


def _price(billed: Billed, day: str, model: str, book: PriceBook) -> int | None:
    """The tokens of a day at list prices, those of small requests: their sizes are not told."""
    at = datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp()
    rates = book.rates(_plain(model), at)
    return None if rates is None else replace(rates, tiers=rates.tiers[:1]).cost(billed.usage)


class _Names:
    """Knows a model again under another name: as settings say, else by the price list."""

    def __init__(self, settings: Settings) -> None:
        table = settings.reader("reconcile").table("models")
        self._given = {name: table.text(name) or name for name in table.values}
        self._list = PriceBook()
        self._known: dict[str, str] = {}

    def __call__(self, name: str) -> str:
        known = self._known.get(name)
        if known is None:
            plain = _plain(self._given.get(name, name))
            rates = self._list.rates(plain, None)
            known = plain if rates is None else f"{rates.provider} {rates.model}"
            self._known[name] = known
        return known


def _plain(name: str) -> str:
    """`Claude Opus 4.5` as a model id."""
    return name.strip().lower().replace(" ", "-")
