"""What a worker sends back for a run: a summary, its steps as columns, findings and trips."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field

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


@dataclass(slots=True)
class StepColumns:
    """One entry a step. Integers use `UNKNOWN` for what the log does not say."""

    ids: array[int]  # see `_identity`
    at: array[float]  # seconds since the epoch, NaN if unknown
    line: array[int]
    calls: array[int]
    failed: array[int]  # calls that failed
    compaction: bytearray
    buckets: tuple[array[int], ...]  # in the order of `BUCKETS`
    total: array[int]
    marks: bytearray  # index into `MARKS`
    model: array[int]  # index into `models`
    service: array[int]  # index into `services`
    note: array[int]  # index into `notes`
    models: list[str | None]
    services: list[str | None]
    notes: list[str | None]
    cost: array[int]  # recorded, picodollars
    request: array[int]  # user messages of the run up to here
    memory: array[int]  # compactions of the run before this response
    said: array[int]  # characters of visible text and of arguments of calls
    heard: array[int]  # characters of the results of its calls
    tool: array[int]  # index into `tools`; one entry a call, those of a step side by side
    tools: list[str | None]
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
    """The steps of `run` as columns, and the digest of its content."""
    size = len(run.steps)
    buckets = tuple(array("q", [UNKNOWN]) * size for _ in BUCKETS)
    models, services, notes, tools = _Names(), _Names(), _Names(), _Names()
    width = array("l").itemsize
    table = StepColumns(
        ids=array("Q", bytes(8 * size)),
        at=array("d", bytes(8 * size)),
        line=array("q", bytes(8 * size)),
        calls=array("l", bytes(width * size)),
        failed=array("l", bytes(width * size)),
        compaction=bytearray(size),
        buckets=buckets,
        total=array("q", [UNKNOWN]) * size,
        marks=bytearray(size),
        model=array("l", bytes(width * size)),
        service=array("l", bytes(width * size)),
        note=array("l", bytes(width * size)),
        models=models.values,
        services=services.values,
        notes=notes.values,
        cost=array("q", [UNKNOWN]) * size,
        request=array("l", bytes(width * size)),
        memory=array("l", bytes(width * size)),
        said=array("q", bytes(8 * size)),
        heard=array("q", bytes(8 * size)),
        tool=array("l"),
        tools=tools.values,
    )
    named = list(zip(BUCKETS, buckets, strict=True))
    billed = BUCKETS.index("reasoning")  # the buckets before it add up to the total
    absent, nan = MARKS.index(UsageMark.ABSENT), float("nan")
    # a log with ids of its own is known by them; only others need to be compared as a whole
    parts: list[str] | None = [] if run.session is None else None
    requests = compactions = 0
    for i, step in enumerate(run.steps):
        at, usage = step.at, step.usage
        table.ids[i] = _identity(step)
        table.at[i] = nan if at is None else at
        table.line[i] = step.line
        table.calls[i] = len(step.calls)
        table.compaction[i] = step.kind is StepKind.COMPACTION
        table.model[i] = models(step.model)
        table.service[i] = services(step.service)
        if step.path != run.path:
            table.paths[i] = step.path
        if usage is None or usage.mark is UsageMark.ABSENT:
            table.marks[i] = absent
            table.note[i] = notes(usage.note if usage is not None else None)
        else:
            table.marks[i] = MARKS.index(usage.mark)
            table.note[i] = notes(usage.note)
            total = None
            for place, (name, column) in enumerate(named):
                value = getattr(usage, name)
                if value is not None:
                    column[i] = value
                    if place < billed:
                        total = value if total is None else total + value
            if total is not None:
                table.total[i] = total
        if step.cost is not None:
            table.cost[i] = int(step.cost.scaleb(12))
        for boundary in step.before:
            requests += boundary.kind is BoundaryKind.USER
            compactions += boundary.kind is BoundaryKind.COMPACTION
        table.request[i], table.memory[i] = requests, compactions
        compactions += step.kind is StepKind.COMPACTION
        said, heard = step.text_size, 0
        for call in step.calls:
            table.failed[i] += call.status is CallStatus.ERROR
            table.tool.append(tools(call.tool))
            said += call.args_size
            if call.size is not None:
                heard += call.size
            if call.spawns and call.id is not None:
                table.spawned[call.id] = i
        table.said[i], table.heard[i] = said, heard
        if parts is not None:
            parts.append(f"{step.id}|{at}|{step.text_key}")
            parts += [f"{call.id}|{call.key}|{call.result}" for call in step.calls]
    return table, digest("\n".join(parts)) if parts else 0
