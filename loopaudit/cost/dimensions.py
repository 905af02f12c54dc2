"""By what costs can be told apart: the label of each step in each dimension."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, tzinfo
from functools import cached_property

from loopaudit.findings import OutcomeBy
from loopaudit.replay.audit import AuditedRun

#: None: the log does not say
Label = str | None
#: one label for all steps of a run, or one a step
Labels = Label | Sequence[Label]

NO_TOOL = "(no tool)"


@dataclass(slots=True)
class Kin:
    """Where a run stands among the runs given; all are numbers in that list."""

    parent: int | None = None
    step: int | None = None  # of the parent, in which it was started
    children: list[int] = field(default_factory=list)


class Runs:
    """The runs of an audit with their family tree."""

    def __init__(self, audited: Sequence[AuditedRun], zone: tzinfo) -> None:
        self.audited = audited
        self.zone = zone

    def labels(self, dimension: str, number: int) -> Labels:
        """Labels of run `number`. Not for `tool`, which cuts steps into their calls."""
        return DIMENSIONS[dimension](self, number)

    @cached_property
    def kin(self) -> list[Kin]:
        numbers = {item.found.run.id: n for n, item in enumerate(self.audited)}
        family = [Kin() for _ in self.audited]
        for number, item in enumerate(self.audited):
            run = item.found.run
            if run.parent is None:
                continue
            parent = numbers.get(run.parent)
            if parent is None:  # runs of one name were told apart by their paths
                parent = numbers.get(f"{run.path}:{run.parent}")
            if parent is not None and number not in self._line(parent, family):
                family[number].parent = parent
                family[number].step = self._started_in(item, self.audited[parent])
                family[parent].children.append(number)
        return family

    def line(self, number: int) -> list[int]:
        """The run itself, its parent, and so on up to the root."""
        return self._line(number, self.kin)

    def below(self, number: int) -> set[int]:
        """The run itself and everything it started, at any depth."""
        found, open_runs = set[int](), [number]
        while open_runs:
            run = open_runs.pop()
            found.add(run)
            open_runs += self.kin[run].children
        return found

    @staticmethod
    def _line(number: int, family: list[Kin]) -> list[int]:
        line = [number]
        while (above := family[line[-1]].parent) is not None:
            line.append(above)
        return line

    @staticmethod
    def _started_in(item: AuditedRun, parent: AuditedRun) -> int | None:
        """The step of the call that started a run, else the last one before its first event."""
        run, table = item.found.run, parent.found.columns
        if run.parent_call is not None and run.parent_call in table.spawned:
            return table.spawned[run.parent_call]
        if run.started is None:
            return None
        before = [step for step, at in enumerate(table.at) if at <= run.started]
        return before[-1] if before else None

    def inherited(self, number: int, field_name: str) -> Label:
        """What a run says of itself, else the nearest run above it that says it."""
        values = (getattr(self.audited[n].found.run, field_name) for n in self.line(number))
        return next((value for value in values if value is not None), None)


def _session(runs: Runs, number: int) -> Label:
    """The conversation that a person started, sub-agents included."""
    root = runs.audited[runs.line(number)[-1]].found.run
    return root.session or root.parent or root.id


def _request(runs: Runs, number: int) -> Labels:
    """The user message that is being answered, by its number in the session; 0: before the first.

    A sub-agent answers the message that its parent was answering when it started it.
    """
    line = runs.line(number)
    session = _session(runs, number)
    root = runs.audited[line[-1]].found.columns
    if not len(root) or not root.request[-1]:
        return None  # nobody speaks in this log
    if len(line) == 1:
        return [f"{session} #{request}" for request in root.request]
    step = runs.kin[line[-2]].step
    return None if step is None else f"{session} #{root.request[step]}"


def _run(runs: Runs, number: int) -> Label:
    return runs.audited[number].found.run.id


def _agent(runs: Runs, number: int) -> Label:
    run = runs.audited[number].found.run
    return run.agent or ("main" if run.parent is None else "sub-agent")


def _of_run(field_name: str) -> Callable[[Runs, int], Label]:
    return lambda runs, number: runs.inherited(number, field_name)


def _model(runs: Runs, number: int) -> Labels:
    table = runs.audited[number].found.columns
    return [table.models[index] for index in table.model]


def _task_type(runs: Runs, number: int) -> Label:
    return runs.audited[number].found.run.task_type


def _outcome(runs: Runs, number: int) -> Label:
    """That of the run, else of the nearest above it that a log or a label tells; marked where it is
    inferred."""
    line = [runs.audited[n].summary for n in runs.line(number)]
    told = (one for one in line if one.outcome_by not in (None, OutcomeBy.INFERRED))
    one = next(told, line[0])
    if one.outcome_by is OutcomeBy.INFERRED:
        return f"{one.outcome} (inferred)"
    return one.outcome


def _format(runs: Runs, number: int) -> Label:
    return runs.audited[number].found.run.format


def _dated(name: Callable[[date], str]) -> Callable[[Runs, int], Labels]:
    def labels(runs: Runs, number: int) -> Labels:
        return [
            None if (day := day_of(at, runs.zone)) is None else name(day)
            for at in runs.audited[number].found.columns.at
        ]

    return labels


def day_of(at: float, zone: tzinfo) -> date | None:
    """The day in a zone; None for a time that is unknown or outside of the calendar."""
    try:
        return datetime.fromtimestamp(at, zone).date()
    except (ValueError, OverflowError, OSError):  # NaN is a ValueError
        return None


def _week(day: date) -> str:
    year, week, _ = day.isocalendar()
    return f"{year}-W{week:02d}"


def cut_by(
    by: str, zone: tzinfo, now: float | None, since: float | None, until: float | None
) -> list[str]:
    """Labels of the days, weeks or months that hold only a part of their time: that of `now`, and
    those into which the window cuts. `since` at midnight cuts no day."""
    name = {"day": date.isoformat, "week": _week, "month": _month}.get(by)
    if name is None:
        return []
    found = set()
    for at, step in ((now, 0.0), (since, -1.0), (until, -1.0)):
        day = None if at is None else day_of(at, zone)
        before = None if at is None else day_of(at + step, zone)
        if day is not None and before is not None and (not step or name(day) == name(before)):
            found.add(name(day))
    return sorted(found)


def _month(day: date) -> str:
    return day.isoformat()[:7]


DIMENSIONS: dict[str, Callable[[Runs, int], Labels]] = {
    "session": _session,
    "request": _request,
    "run": _run,
    "agent": _agent,
    "project": _of_run("project"),
    "user": _of_run("user"),
    "host": _of_run("host"),
    "model": _model,
    "task-type": _task_type,
    "format": _format,
    "outcome": _outcome,
    "day": _dated(date.isoformat),
    "week": _dated(_week),
    "month": _dated(_month),
}
#: all that `--by` takes; `tool` alone cuts a step into parts
NAMES = (*DIMENSIONS, "tool")


def tools_of(item: AuditedRun) -> tuple[list[int], list[str]]:
    """Into how many parts each step is cut, and the tool of every part."""
    table = item.found.columns
    pieces = [max(calls, 1) for calls in table.calls]
    tools: list[str] = []
    first = 0
    for calls in table.calls:
        names = [table.tools[index] or "" for index in table.tool[first : first + calls]]
        tools += names or [NO_TOOL]
        first += calls
    return pieces, tools
