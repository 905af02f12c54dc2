"""What a worker sends back for a run: a summary, its steps as columns, findings and trips."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from functools import partial

from loopaudit.findings import Failure, Finding, InputSummary, NotLoop, Trip
from loopaudit.keys import digest
from loopaudit.model import (
    BUCKETS,
    BoundaryKind,
    CallStatus,
    Run,
    Skip,
    Step,
    StepKind,
    Usage,
    UsageMark,
)

UNKNOWN = -1  # in integer columns: the log does not say
MARKS = tuple(UsageMark)
_MARK_NUMBER = {mark: number for number, mark in enumerate(MARKS)}
_ABSENT = _MARK_NUMBER[UsageMark.ABSENT]
_NAN = float("nan")


@dataclass(slots=True)
class StepColumns:
    """One entry a step. Integers use `UNKNOWN` for what the log does not say."""

    models: list[str | None]
    services: list[str | None]
    notes: list[str | None]
    tools: list[str | None]
    ids: array[int] = field(default_factory=partial(array, "Q"))  # see `_identity`
    at: array[float] = field(default_factory=lambda: array("d"))  # epoch seconds, NaN if unknown
    line: array[int] = field(default_factory=partial(array, "i"))
    calls: array[int] = field(default_factory=partial(array, "i"))
    failed: array[int] = field(default_factory=partial(array, "i"))  # calls that failed
    compaction: bytearray = field(default_factory=bytearray)
    buckets: tuple[array[int], ...] = field(  # in the order of `BUCKETS`
        default_factory=lambda: tuple(array("q") for _ in BUCKETS)
    )
    total: array[int] = field(default_factory=partial(array, "q"))
    marks: bytearray = field(default_factory=bytearray)  # index into `MARKS`
    model: array[int] = field(default_factory=partial(array, "i"))  # index into `models`
    service: array[int] = field(default_factory=partial(array, "i"))  # index into `services`
    note: array[int] = field(default_factory=partial(array, "i"))  # index into `notes`
    cost: array[int] = field(default_factory=partial(array, "q"))  # recorded, picodollars
    request: array[int] = field(default_factory=partial(array, "i"))  # user messages up to here
    memory: array[int] = field(default_factory=partial(array, "i"))  # compactions before it
    said: array[int] = field(default_factory=partial(array, "q"))  # characters: text, arguments
    heard: array[int] = field(default_factory=partial(array, "q"))  # characters of its results
    tool: array[int] = field(default_factory=partial(array, "i"))  # into `tools`, one a call
    spawned: dict[str, int] = field(default_factory=dict)  # id of a call that starts a run -> step
    paths: dict[int, str] = field(default_factory=dict)  # where it is not the run's path

    def __len__(self) -> int:
        return len(self.ids)

    def usage(self, index: int) -> Usage | None:
        """The usage of one step again, as an object."""
        mark = MARKS[self.marks[index]]
        if mark is UsageMark.ABSENT:
            return None
        usage = Usage(mark=mark, note=self.notes[self.note[index]])
        for name, column in zip(BUCKETS, self.buckets, strict=True):
            if column[index] != UNKNOWN:
                setattr(usage, name, column[index])
        return usage


@dataclass(slots=True)
class RunResult:
    """A run as replayed, without its steps."""

    run: Run  # `steps` emptied
    columns: StepColumns
    content: int  # digest of everything the run holds, 0 where the log has ids of its own
    findings: list[Finding] = field(default_factory=list)
    not_loops: list[NotLoop] = field(default_factory=list)
    trips: dict[str, list[Trip]] = field(default_factory=dict)  # by preset
    undecidable: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    inherited: set[int] = field(default_factory=set)  # steps owned by another run


@dataclass(slots=True)
class JobResult:
    inputs: list[InputSummary] = field(default_factory=list)
    runs: list[RunResult] = field(default_factory=list)
    skips: list[Skip] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    repaired: dict[str, int] = field(default_factory=dict)
    cut_tails: list[str] = field(default_factory=list)
    mentioned: list[Run] = field(default_factory=list)  # runs of other files that these tell of


class _Names:
    def __init__(self) -> None:
        self.values: list[str | None] = []
        self._index: dict[str | None, int] = {}

    def __call__(self, value: str | None) -> int:
        place = self._index.get(value)
        if place is None:
            place = self._index[value] = len(self.values)
            self.values.append(value)
        return place


#: ids at least this long are taken for unique in the world (UUIDs, `msg_01…`, `chatcmpl-…`)
LONG_ID = 16


def _identity(step: Step) -> int:
    """Digest by which a response is known again in another file; 0: it cannot be known again.

    Short ids ("r1") are used by unrelated logs: those must agree in time and model too.
    """
    if step.id is None:
        return 0
    if len(step.id) >= LONG_ID:
        return digest(step.id)
    return 0 if step.at is None else digest(f"{step.id}|{step.at}|{step.model}")


def columns(run: Run) -> tuple[StepColumns, int]:
    """The steps of `run` as columns, and the digest of its content.

    The steps are taken out of the run as they are written down: both at once would be the peak of
    memory for a long session.
    """
    models, services, notes, tools = _Names(), _Names(), _Names(), _Names()
    table = StepColumns(models.values, services.values, notes.values, tools.values)
    buckets = list(zip(BUCKETS, table.buckets, strict=True))
    billed = BUCKETS.index("reasoning")  # the buckets before it add up to the total
    # a log with ids of its own is known by them; only others need to be compared as a whole
    parts: list[str] | None = [] if run.session is None else None
    requests = compactions = 0
    steps, run.steps = run.steps, []
    steps.reverse()
    while steps:
        step = steps.pop()
        at, usage = step.at, step.usage
        place = len(table.ids)
        table.ids.append(_identity(step))
        table.at.append(_NAN if at is None else at)
        table.line.append(step.line)
        table.calls.append(len(step.calls))
        table.compaction.append(step.kind is StepKind.COMPACTION)
        table.model.append(models(step.model))
        table.service.append(services(step.service))
        if step.path != run.path:
            table.paths[place] = step.path
        total = UNKNOWN
        if usage is None or usage.mark is UsageMark.ABSENT:
            table.marks.append(_ABSENT)
            for column in table.buckets:
                column.append(UNKNOWN)
        else:
            table.marks.append(_MARK_NUMBER[usage.mark])
            for number, (name, column) in enumerate(buckets):
                value = getattr(usage, name)
                column.append(UNKNOWN if value is None else value)
                if value is not None and number < billed:
                    total = value if total == UNKNOWN else total + value
        table.note.append(notes(usage.note if usage is not None else None))
        table.total.append(total)
        table.cost.append(UNKNOWN if step.cost is None else int(step.cost.scaleb(12)))
        for boundary in step.before:
            requests += boundary.kind is BoundaryKind.USER
            compactions += boundary.kind is BoundaryKind.COMPACTION
        table.request.append(requests)
        table.memory.append(compactions)
        compactions += step.kind is StepKind.COMPACTION
        said, heard, failed = step.text_size, 0, 0
        for call in step.calls:
            failed += call.status is CallStatus.ERROR
            table.tool.append(tools(call.tool))
            said += call.args_size
            heard += call.size or 0
            if call.spawns and call.id is not None:
                table.spawned[call.id] = place
        table.failed.append(failed)
        table.said.append(said)
        table.heard.append(heard)
        if parts is not None:
            parts.append(f"{step.id}|{at}|{step.text_key}")
            parts += [f"{call.id}|{call.key}|{call.result}" for call in step.calls]
    return table, digest("\n".join(parts)) if parts else 0
