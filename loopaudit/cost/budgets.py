"""Budgets: which step reached a share of one, and what was spent after it.

    [budgets]
    warn_percent = 60                   # of every budget below
    stop_percent = 100
    [budgets.run]                       # each run by itself
    usd = 5.00
    tokens = 2_000_000
    [budgets.day]                       # each day, all runs together
    usd = 50
    [budgets.service]                   # everything together
    usd = 1_000
    [budgets.task_types.research]       # all runs of this type together
    usd = 100
    [budgets.task_types.research.run]   # each run of this type, in place of [budgets.run]
    usd = 20

A share is reached when as much has been spent. Runs are merged by time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from decimal import Decimal
from enum import StrEnum
from math import ceil

from loopaudit.cost.amounts import Columns, columns_of
from loopaudit.cost.dimensions import day_of
from loopaudit.money import PriceBook, pico
from loopaudit.replay.audit import AuditedRun
from loopaudit.settings import Settings, Table

WARN, STOP = Decimal(60), Decimal(100)  # percent; of `backstop` (guards.md §3)


class Scope(StrEnum):
    """What a budget is for: each of these has one of its own."""

    RUN = "run"
    TASK_TYPE = "task-type"
    DAY = "day"
    SERVICE = "service"  # all runs together


class Unit(StrEnum):
    USD = "usd"
    TOKENS = "tokens"


class Verdict(StrEnum):
    REACHED = "reached"  # all of it is spent
    CANNOT_SAY = "cannot say"  # not reached by what is known, and not all is known
    WARNED = "warned"  # the first share is reached
    WITHIN = "within"


@dataclass(frozen=True, slots=True)
class Budget:
    """`limit` in picodollars or tokens. `task_type`: only runs of this type."""

    scope: Scope
    unit: Unit
    limit: int
    task_type: str | None = None
    warn_percent: Decimal = WARN
    stop_percent: Decimal = STOP

    def share(self, percent: Decimal) -> int:
        """The least amount with which this share is reached."""
        return max(1, ceil(self.limit * percent / 100))


@dataclass(slots=True)
class Crossing:
    """The step with which a share was reached; `spent` up to it, `after` in what followed."""

    percent: Decimal
    run: str
    step: int  # 0-based
    path: str
    line: int
    at: float | None
    spent: int
    after: int = 0
    steps_after: int = 0


@dataclass(slots=True)
class Spending:
    """How one budget was spent. `key`: run, task type or day; None: the day is not known."""

    budget: Budget
    key: str | None
    spent: int = 0
    steps: int = 0
    unpriced_tokens: int = 0
    absent: int = 0  # responses without usage
    lower_bound: int = 0  # responses that cost at least what is counted
    warned: Crossing | None = None
    reached: Crossing | None = None

    @property
    def verdict(self) -> Verdict:
        if self.reached is not None:
            return Verdict.REACHED
        if self.key is None or self.absent or self.unpriced_tokens:
            return Verdict.CANNOT_SAY
        return Verdict.WITHIN if self.warned is None else Verdict.WARNED


def read(settings: Settings) -> list[Budget]:
    """The budgets of the settings. Raises `ConfigError`."""
    table = settings.reader("budgets")
    table.only(("warn_percent", "stop_percent", "run", "day", "service", "task_types"))
    warn, stop = (
        Decimal(str(table.number(key, float(default), least=0)))
        for key, default in (("warn_percent", WARN), ("stop_percent", STOP))
    )
    if warn > stop:
        raise table.wrong("warn_percent", "warn_percent is above stop_percent")
    found: list[Budget] = []

    def add(rows: Table, scope: Scope, task_type: str | None = None) -> None:
        usd, tokens = rows.number("usd", least=0), rows.integer("tokens", least=0)
        for unit, limit in (
            (Unit.USD, None if usd is None else pico(Decimal(str(usd)))),
            (Unit.TOKENS, tokens),
        ):
            if limit is not None:
                found.append(Budget(scope, unit, limit, task_type, warn, stop))

    for scope in (Scope.RUN, Scope.DAY, Scope.SERVICE):
        part = table.table(scope.value)
        part.only(("usd", "tokens"))
        add(part, scope)
    types = table.table("task_types")
    for name in types.values:
        part = types.table(name)
        part.only(("usd", "tokens", "run"))
        add(part, Scope.TASK_TYPE, name)
        part = part.table("run")
        part.only(("usd", "tokens"))
        add(part, Scope.RUN, name)
    return found


def with_flags(budgets: Sequence[Budget], flags: Sequence[Budget]) -> list[Budget]:
    """Budgets of the settings, each replaced where a flag gives one for the same thing."""
    given = {(flag.scope, flag.unit) for flag in flags}
    kept = [b for b in budgets if b.task_type is not None or (b.scope, b.unit) not in given]
    return [*kept, *flags]


def spend(
    audited: Sequence[AuditedRun], budgets: Sequence[Budget], zone: tzinfo, book: PriceBook
) -> list[Spending]:
    """Every budget and how it was spent, worst verdict first, then by what was spent."""
    if not budgets:
        return []
    columns = [columns_of(item, book) for item in audited]
    events = _in_time(audited)
    found: list[Spending] = []
    for budget in budgets:
        own: dict[str | None, Spending] = {}
        kept = _applies(budget, budgets, audited)
        for _, number, step in events:
            if not kept[number]:
                continue
            key = _key(budget.scope, audited[number], step, zone)
            spending = own.get(key)
            if spending is None:
                spending = own[key] = Spending(budget, key)
            _count(spending, audited[number], columns[number], step)
        found += own.values()
    order = list(Verdict)
    found.sort(key=lambda s: (order.index(s.verdict), s.budget.scope, s.budget.unit, -s.spent))
    return found


def _applies(
    budget: Budget, budgets: Iterable[Budget], audited: Sequence[AuditedRun]
) -> list[bool]:
    """For each run whether a budget is meant for it."""
    special = {
        other.task_type
        for other in budgets
        if other.scope is budget.scope is Scope.RUN
        and other.unit is budget.unit
        and other.task_type is not None
    }
    kept = []
    for item in audited:
        task_type = item.found.run.task_type
        if budget.task_type is not None:
            kept.append(task_type == budget.task_type)
        elif budget.scope is Scope.TASK_TYPE:
            kept.append(task_type is not None)
        else:
            kept.append(task_type not in special)
    return kept


def _key(scope: Scope, item: AuditedRun, step: int, zone: tzinfo) -> str | None:
    match scope:
        case Scope.RUN:
            return item.found.run.id
        case Scope.TASK_TYPE:
            return item.found.run.task_type
        case Scope.DAY:
            day = day_of(item.found.columns.at[step], zone)
            return None if day is None else day.isoformat()
    return "all"


def _count(spending: Spending, item: AuditedRun, columns: Columns, step: int) -> None:
    budget = spending.budget
    money = budget.unit is Unit.USD
    amount = max(columns["pico" if money else "tokens"][step], 0)
    spending.spent += amount
    spending.steps += 1
    spending.absent += columns["absent"][step]
    spending.lower_bound += columns["lower_bound"][step] + columns["halves"][step]
    if money:
        spending.unpriced_tokens += columns["unpriced_tokens"][step]
    for crossing in (spending.warned, spending.reached):
        if crossing is not None:
            crossing.after += amount
            crossing.steps_after += 1
    if spending.warned is None and spending.spent >= budget.share(budget.warn_percent):
        spending.warned = _crossing(budget.warn_percent, spending, item, step)
    if spending.reached is None and spending.spent >= budget.share(budget.stop_percent):
        spending.reached = _crossing(budget.stop_percent, spending, item, step)


def _crossing(percent: Decimal, spending: Spending, item: AuditedRun, step: int) -> Crossing:
    run, table = item.found.run, item.found.columns
    at = table.at[step]
    return Crossing(
        percent=percent,
        run=run.id,
        step=step,
        path=table.paths.get(step, run.path),
        line=table.line[step],
        at=None if at != at else at,
        spent=spending.spent,
    )


def _in_time(audited: Sequence[AuditedRun]) -> list[tuple[float, int, int]]:
    """(time, run, step) of all steps that count, by time; a run's own order is never changed.

    A step without a time stands with the one before it; a run without any comes last.
    """
    events = []
    for number, item in enumerate(audited):
        times = item.found.columns.at
        now = min((at for at in times if at == at), default=float("inf"))
        for step in item.priced.own:
            if times[step] > now:
                now = times[step]
            events.append((now, number, step))
    return sorted(events)
