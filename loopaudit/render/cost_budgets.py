"""Budgets on a screen: the step that reached a share, and what was spent after it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from loopaudit.cost.amounts import dollars
from loopaudit.cost.budgets import Budget, Crossing, Scope, Spending, Unit, Verdict
from loopaudit.render import figures as f
from loopaudit.render.screen import Screen
from loopaudit.render.text import inert

_STYLE = {
    Verdict.REACHED: ("bold", "red"),
    Verdict.CANNOT_SAY: ("bold", "yellow"),
    Verdict.WARNED: ("bold", "yellow"),
    Verdict.WITHIN: ("green",),
}
_MOST = 10  # of one verdict


def lines(spendings: Sequence[Spending], screen: Screen) -> Iterator[str]:
    """The worst first. Budgets that were kept are shown one by one only where they are few."""
    for verdict in Verdict:
        found = [spending for spending in spendings if spending.verdict is verdict]
        for number, spending in enumerate(found[:_MOST]):
            if number == 0 or verdict is not Verdict.WITHIN:
                yield ""
            yield from _spending(spending, screen)
        if len(found) > _MOST:
            yield from screen.row(f"and {len(found) - _MOST:,} more: {verdict.value}")


def amount(number: int, unit: Unit) -> str:
    if unit is Unit.USD:
        return f.money(dollars(number))
    return f.count(number, "token")


def _spending(spending: Spending, screen: Screen) -> Iterator[str]:
    budget, unit = spending.budget, spending.budget.unit
    share = f.share(spending.spent / budget.limit) if spending.spent < 10 * budget.limit else ""
    least = "at least " if spending.lower_bound or _unknown(spending) else ""
    yield from screen.row(
        f"BUDGET {amount(budget.limit, unit)} {_whose(spending)}: {spending.verdict.value.upper()};"
        f" {least}{amount(spending.spent, unit)} spent{f', {share}' if share else ''}",
        *_STYLE[spending.verdict],
    )
    for crossing in (spending.warned, spending.reached):
        if crossing is not None:
            yield from _crossing(crossing, unit, screen)
    if spending.verdict is Verdict.CANNOT_SAY:
        why = _unknown(spending) or ["their day is not known"]
        yield from screen.row(f"cannot say: {' and '.join(why)}", "yellow", indent=2)


def _whose(spending: Spending) -> str:
    budget: Budget = spending.budget
    key = inert(spending.key or "steps without a time")
    match budget.scope:
        case Scope.RUN:
            kind = f" of type {inert(budget.task_type)}" if budget.task_type else ""
            return f"of run {key}{kind}"
        case Scope.TASK_TYPE:
            return f"of all runs of type {key}"
        case Scope.DAY:
            return f"of {key}"
    return "of everything"


def _unknown(spending: Spending) -> list[str]:
    parts = []
    if spending.unpriced_tokens:
        parts.append(f"{f.full(spending.unpriced_tokens)} tokens have no price")
    if spending.absent:
        parts.append(f"{f.count(spending.absent, 'response')} without usage")
    return parts


def _crossing(crossing: Crossing, unit: Unit, screen: Screen) -> Iterator[str]:
    when = f.moment(crossing.at, screen.zone)
    if crossing.at is not None:
        when += f" {inert(screen.zone_name)}"
    after = (
        f"{amount(crossing.after, unit)} after it, in {f.count(crossing.steps_after, 'step')}"
        if crossing.steps_after
        else "nothing after it"
    )
    yield from screen.row(
        f"step {crossing.step + 1:,} of {inert(crossing.run)}, {when}"
        f"  {inert(crossing.path)}:{crossing.line}",
        indent=2,
        label=f"{crossing.percent.normalize():f} %".rjust(5) + "  ",
    )
    yield from screen.row(f"{amount(crossing.spent, unit)} up to it, {after}", indent=9)
