"""What all formats of `check` share: figures old and new, commands to look, one line a reason."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from decimal import Decimal

from loopaudit.check.codes import Level
from loopaudit.check.result import Change, CheckResult, Judgement, Spot
from loopaudit.check.snapshot import TypeRow
from loopaudit.render import figures as f

HEAD = ("task type", "guard", "runs", "healthy interrupted", "loops missed", "waste", "cost")


def rows(result: CheckResult) -> Iterator[tuple[str, ...]]:
    """One row a task type and guard: figures as they are, old -> new where they changed."""
    for task_type, row in result.new.types.items():
        old = None if result.old is None else result.old.types.get(task_type)
        for guard in result.new.guards:
            yield (
                task_type,
                guard,
                _arrow(None if old is None else f"{old.runs:,}", f"{row.runs:,}"),
                _arrow(_hits(old, guard, "interrupted"), _hits(row, guard, "interrupted") or ""),
                _arrow(_hits(old, guard, "missed"), _hits(row, guard, "missed") or ""),
                _arrow(None if old is None else _waste(old), _waste(row)),
                _arrow(None if old is None else _money(old.cost_usd), _money(row.cost_usd)),
            )


def _arrow(old: str | None, new: str) -> str:
    return new if old is None or old == new else f"{old} -> {new}"


def _hits(row: TypeRow | None, guard: str, what: str) -> str | None:
    if row is None:
        return None
    counts = row.interrupted if what == "interrupted" else row.missed
    of = row.healthy if what == "interrupted" else row.loops
    return f"{counts.get(guard, 0):,} of {of:,}"


def _money(amount: Decimal | None) -> str:
    return "unknown" if amount is None else f.money(amount)


def _waste(row: TypeRow) -> str:
    if row.waste_tokens is None:
        return "unknown"
    tokens = f"{f.short(row.waste_tokens)} tokens"
    return tokens if row.waste_usd is None else f"{f.money(row.waste_usd)} ({tokens})"


def command(spot: Spot) -> str:
    """What to type to look at a run, safe to paste."""
    return f"loopaudit show {shlex.quote(spot.run)} {shlex.quote(spot.path)}"


def title(one: Judgement) -> str:
    """[code] task type, guard: message"""
    where = ", ".join(part for part in (one.task_type, one.guard) if part)
    return f"[{one.code}] {where + ': ' if where else ''}{one.message}"


def change_words(change: Change) -> str:
    worse = f"; {change.worse}" if change.worse else ""
    return f"{change.before.words()} -> {change.after.words()}{worse}"


#: levels worth telling, worst first
TOLD = (Level.ERROR, Level.UNKNOWN, Level.WARN, Level.NOTE)
