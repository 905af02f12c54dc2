"""What became of runs and which type of task they were, each with who says so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from loopaudit.findings import OutcomeBy, Report, RunSummary
from loopaudit.render.screen import Screen, table
from loopaudit.render.text import cut, inert

_MOST = 4  # outcomes in one line
_NONE = "not told"


def outcome(run: RunSummary) -> str:
    """`success (log: reward)`; what is inferred is always marked as that."""
    if run.outcome is None:
        return "not told, and no rule tells" if not run.still_running else "still running"
    return f"{run.outcome} ({run.outcome_said})"


def task_type(run: RunSummary) -> str:
    """`research (rule: …)`"""
    if run.task_type is None:
        return "not told, and no rule tells"
    return f"{run.task_type} ({run.task_type_source})" if run.task_type_source else run.task_type


def head(report: Report, screen: Screen) -> Iterator[str]:
    """One line where logs or labels tell outcomes; inferred ones are only counted."""
    told = [run for run in report.runs if run.outcome_by not in (None, OutcomeBy.INFERRED)]
    if not told:
        return
    kinds = Counter(run.outcome or "" for run in told).most_common()
    text = ", ".join(f"{many:,} {cut(inert(name), 30)}" for name, many in kinds[:_MOST])
    rest = sum(many for _, many in kinds[_MOST:])
    text += f", {rest:,} other" if rest else ""
    by = Counter(run.outcome_by for run in report.runs)
    text += f" ({' and '.join(str(who) for who in OutcomeBy if by[who] and who != 'inferred')})"
    untold = len(report.runs) - len(told)
    text += f"; {untold:,} not told" if untold else ""
    yield from screen.row(f"Outcomes: {text}")


def why(report: Report, screen: Screen) -> Iterator[str]:
    """All outcomes and task types with their sources, most frequent first."""
    if not report.runs:
        return
    yield from _table(
        "Outcomes", ((r.outcome, _short(r.outcome_said)) for r in report.runs), screen
    )
    yield from _table(
        "Task types (explain task-types has the rules)",
        ((r.task_type, _short(r.task_type_source)) for r in report.runs),
        screen,
    )


def _short(source: str | None) -> str | None:
    """A source without its line, so that the rows of one file count together."""
    if source is None or not source.startswith(OutcomeBy.LABELS):
        return source
    return source.rpartition(":")[0]


def _table(
    title: str, rows: Iterator[tuple[str | None, str | None]], screen: Screen
) -> Iterator[str]:
    yield screen.style(title, "bold")
    counted = sorted(Counter(rows).items(), key=lambda item: (-item[1], str(item[0])))
    yield from table(
        [
            (f"{many:,}", cut(inert(name or _NONE), 30), cut(inert(source or ""), 90))
            for (name, source), many in counted
        ],
        right=(0,),
    )
    yield ""


def counts(report: Report) -> list[tuple[str, str, int]]:
    """Outcome, who says so, and how many runs; for tables."""
    found = Counter(
        (run.outcome or _NONE, run.outcome_by.value if run.outcome_by else "")
        for run in report.runs
    )
    return [(name, by, many) for (name, by), many in sorted(found.items(), key=_by_number)]


def _by_number(item: tuple[tuple[str, str], int]) -> tuple[int, tuple[str, str]]:
    return -item[1], item[0]
