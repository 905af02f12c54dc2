"""The numbers behind the charts of one run: a row a step, spans of loops, marks of guards."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from loopaudit.findings import Finding, Trip
from loopaudit.model import BUCKETS
from loopaudit.money import usd
from loopaudit.replay.audit import AuditedRun
from loopaudit.replay.results import UNKNOWN

Row = dict[str, Any]

#: input in the order in which it is drawn; the cache writes of all lifetimes are one
INPUT = ("cache_read", "cache_write", "fresh_input")


@dataclass(frozen=True, slots=True)
class Span:
    """The steps of a loop, 0-based, both ends included."""

    rule: str
    onset: int
    last: int


@dataclass(frozen=True, slots=True)
class Mark:
    """Where a guard first spoke, or first stopped."""

    guard: str
    level: str
    detector: str
    step: int


@dataclass(slots=True)
class RunSeries:
    """One run. Unknown numbers are None: a step without usage or price has none."""

    run: str
    title: str
    began: float | None
    ended: float | None
    rows: list[Row] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    unpriced: int = 0  # steps without a price
    inherited: int = 0  # steps copied from another run, which are left out


def run_series(item: AuditedRun) -> RunSeries:
    """The steps that the run itself paid for, in order, with running sums."""
    table, priced = item.found.columns, item.priced
    summary = item.summary
    models = ", ".join(summary.models[:2]) or "model unknown"
    out = RunSeries(summary.id, models, summary.started, summary.ended)
    out.inherited = len(item.found.inherited)
    waste = {entry.step: entry.part for entry in item.summary.waste.steps}
    money, tokens = Decimal(0), 0
    for step in priced.own:
        cost = priced.cost[step]
        amount = None if cost == UNKNOWN else usd(cost)
        total = _known(table.total[step])
        money += amount or 0
        tokens += total or 0
        out.unpriced += amount is None
        buckets = {
            name: _known(column[step]) for name, column in zip(BUCKETS, table.buckets, strict=True)
        }
        writes = [n for name, n in buckets.items() if name.startswith("cache_write") and n]
        at = table.at[step]
        out.rows.append(
            {
                "run": summary.id,
                "step": step + 1,
                "line": table.line[step],
                "at": None if math.isnan(at) else at,
                "model": table.models[table.model[step]],
                "calls": table.calls[step],
                "failed": table.failed[step],
                "fresh_input": buckets["fresh_input"],
                "cache_read": buckets["cache_read"],
                "cache_write": sum(writes) if writes else None,
                "output": buckets["output"],
                "tokens": total,
                "usd": amount,
                "running_tokens": tokens,
                "running_usd": money,
                "wasted_part": waste.get(step, 0.0),
            }
        )
    out.spans = spans(item.findings)
    out.marks = marks(item.found.trips)
    return out


def spans(findings: Sequence[Finding]) -> list[Span]:
    """Loops in order of onset; those over several runs, and API attempts, span no steps of one."""
    found = [
        Span(f.rule, f.onset.step, f.last.step)
        for f in findings
        if f.onset.run == f.last.run and not f.waste.unknown
    ]
    return sorted(found, key=lambda span: (span.onset, span.last, span.rule))


def marks(trips: Mapping[str, Sequence[Trip]]) -> list[Mark]:
    """First intervention and first stop of each guard set."""
    out = []
    for guard in sorted(trips):
        first = next(iter(trips[guard]), None)
        stop = next((trip for trip in trips[guard] if trip.level.stops), None)
        for trip in (first, None if stop is first else stop):
            if trip is not None:
                out.append(Mark(guard, trip.level.value, trip.detector, trip.step))
    return out


def _known(number: int) -> int | None:
    return None if number == UNKNOWN else number


def chosen(audited: Sequence[AuditedRun], run: str | None) -> AuditedRun | None:
    """The run named (or its unique beginning), else the one that wasted most, else the dearest."""
    if run is not None:
        exact = [item for item in audited if item.summary.id == run]
        close = exact or [item for item in audited if run in item.summary.id]
        return close[0] if len(close) == 1 else None
    return max(audited, key=_weight, default=None)


def _weight(item: AuditedRun) -> tuple[Decimal, int, Decimal, int]:
    waste, tokens = item.summary.waste, item.summary.tokens
    return (
        waste.usd or Decimal(0),
        waste.tokens or 0,
        item.summary.usd or Decimal(0),
        tokens.total or 0,
    )
