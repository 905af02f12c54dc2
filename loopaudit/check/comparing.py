"""Holds what guards do now against a baseline, other settings or another guard."""

from __future__ import annotations

from collections.abc import Iterator

from loopaudit.check.codes import Level
from loopaudit.check.limits import spot_of
from loopaudit.check.options import CheckOptions
from loopaudit.check.result import Change, CheckResult, Judgement
from loopaudit.check.snapshot import Measured, RunRow, Snapshot


def compare(result: CheckResult, old: Snapshot, name: str) -> None:
    """Fills in what changed since `old`, for the guards and runs that both know."""
    new = result.new
    result.old, result.old_name = old, name
    result.added = sorted(new.runs.keys() - old.runs.keys())
    result.gone = sorted(old.runs.keys() - new.runs.keys())
    for one in new.measured:
        before = old.runs.get(one.id)
        if before is None:
            continue
        after = new.runs[one.id]
        result.changes += _changes(one, before, after)


def _changes(one: Measured, before: RunRow, after: RunRow) -> Iterator[Change]:
    for guard, outcome in after.outcomes.items():
        known = before.outcomes.get(guard)
        if known is None or known.does == outcome.does:
            continue
        act = outcome.first or known.first
        yield Change(
            one.id, after.task_type, after.standing, guard, known, outcome,
            spot_of(one, None if act is None else act.step),
        )  # fmt: skip


def against_baseline(result: CheckResult, options: CheckOptions) -> Iterator[Judgement]:
    """What changed since the baseline, after `compare`."""
    old = result.old
    assert old is not None
    if result.added or result.gone:
        message = f"{len(result.added)} runs are new, {len(result.gone)} are gone"
        yield Judgement("corpus-changed", Level.NOTE, message)
    lost = [guard for guard in result.new.guards if guard not in old.guards]
    for guard in lost:
        message = "the baseline does not know this guard: loopaudit baseline update --reason …"
        yield Judgement("verdict-changed", Level.UNKNOWN, message, guard=guard)
    if options.verdict_changes is Level.OK:
        return
    for change in result.changes:
        worse = f"; {change.worse}" if change.worse else ""
        yield Judgement(
            "verdict-changed", options.verdict_changes,
            f"run {change.run}: {change.before.words()} -> {change.after.words()}{worse}",
            change.task_type, change.guard, spots=(change.spot,),
        )  # fmt: skip
    if not result.changes and not lost:
        yield Judgement("verdict-changed", Level.OK, "every verdict is as in the baseline")


def regressions(result: CheckResult) -> Iterator[Judgement]:
    """Where it got worse than the settings it is compared with, type by type and guard by guard."""
    old = result.old
    assert old is not None
    for task_type, row in result.new.types.items():
        before = old.types.get(task_type)
        if before is None:
            continue
        for guard in result.new.guards:
            for what, new_count, old_count in (
                ("healthy runs interrupted", row.interrupted, before.interrupted),
                ("loops missed", row.missed, before.missed),
            ):
                a, b = old_count.get(guard, 0), new_count.get(guard, 0)
                worse = [
                    c.spot
                    for c in result.changes
                    if c.guard == guard and c.task_type == task_type and b > a
                ]
                yield Judgement(
                    "regression", Level.ERROR if b > a else Level.OK, f"{what}: {a} -> {b}",
                    task_type, guard, measured=b, allowed=a, runs=row.runs, spots=tuple(worse),
                )  # fmt: skip
