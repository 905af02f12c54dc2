"""What a worker sends back for a run: a summary, its steps as columns, findings and trips."""

from __future__ import annotations

from array import array
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from operator import attrgetter

from loopaudit.findings import Failure, Finding, InputSummary, NotLoop, OutcomeBy
from loopaudit.guards.trips import Trips
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
from loopaudit.money.rates import pico
from loopaudit.replay.crossing import Crossings
from loopaudit.replay.endings import Ending

UNKNOWN = -1  # in integer columns: the log does not say
MARKS = tuple(UsageMark)
_NAN = float("nan")
_NO_USAGE = Usage(mark=UsageMark.ABSENT)
_BUCKET_OF = tuple(attrgetter(name) for name in BUCKETS)
_BILLED = BUCKETS.index("reasoning")  # the buckets before it add up to the total
_AT_ONCE = 4_096  # steps written down together, column by column
_COUNTED = (
    *("line", "calls", "failed", "total", "model", "service", "note", "cost"),
    *("request", "memory", "said", "heard", "tool"),
)


@dataclass(slots=True)
class StepColumns:
    """One entry a step. Integers use `UNKNOWN` for what the log does not say.

    Once a run is written down its columns are as narrow as they can be (see `narrow`): some 70
    bytes a step in all, which is what grows with the number of responses.
    """

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
    #: of logs without sessions, ids and times: digest of all up to each response, else empty
    past: array[int] = field(default_factory=partial(array, "Q"))

    def __len__(self) -> int:
        return len(self.ids)

    def usage(self, index: int) -> Usage | None:
        """The usage of one step again, as an object."""
        mark = MARKS[self.marks[index]]
        if mark is UsageMark.ABSENT:
            return None
        counts = [None if (n := column[index]) == UNKNOWN else n for column in self.buckets]
        usage = Usage(*counts)  # type: ignore[arg-type]
        usage.mark, usage.note = mark, self.notes[self.note[index]]
        return usage


@dataclass(frozen=True, slots=True)
class Spawn:
    """A call that starts another agent."""

    id: str | None
    key: int
    masked: int | None  # digest of tool and masked arguments; None where they are not kept whole
    step: int
    call: int  # index within the run
    alone: bool  # its response called nothing else
    only: bool  # the run called nothing else
    interrupted: bool
    line: int
    path: str
    at: float | None
    tool: str
    text: str  # bounded excerpt


@dataclass(slots=True)
class Listed:
    """What the list says that each step of a run costs, whether or not it counts here."""

    by: bytes  # digest of the user's own table, which comes before the list
    cost: array[int]  # picodollars, `UNKNOWN` where it cannot be told
    caveats: list[tuple[int, str]]  # (step, what its price rests on that the log does not tell)
    modes: dict[int, str]  # step -> the mode (fast, batch …) that its model has no price for
    outputs: dict[int, int]  # step redundant in part -> what its output cost


@dataclass(slots=True)
class RunResult:
    """A run as replayed, without its steps."""

    run: Run  # `steps` emptied
    columns: StepColumns
    content: int  # digest of everything the run holds, 0 where the log has ids of its own
    findings: list[Finding] = field(default_factory=list)
    not_loops: list[NotLoop] = field(default_factory=list)
    trips: dict[str, Trips] = field(default_factory=dict)  # by preset
    undecidable: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    inherited: set[int] = field(default_factory=set)  # steps owned by another run
    spawns: list[Spawn] = field(default_factory=list)  # calls that start agents
    asked: int | None = None  # digest of what the run was asked to do, masked
    crossings: dict[str, Crossings] = field(default_factory=dict)  # by preset, where asked for
    listed: Listed | None = None  # its prices, where they are known already
    ending: Ending | None = None  # how it ended, by stated rules
    outcome_by: OutcomeBy | None = None  # who says the outcome of `run`


@dataclass(slots=True)
class JobResult:
    inputs: list[InputSummary] = field(default_factory=list)
    runs: list[RunResult] = field(default_factory=list)
    skips: list[Skip] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    repaired: dict[str, int] = field(default_factory=dict)
    cut_tails: list[str] = field(default_factory=list)
    mentioned: list[Run] = field(default_factory=list)  # runs of other files that these tell of


class _Names(dict[str | None, int]):
    """Numbers names as they are asked for."""

    def __missing__(self, name: str | None) -> int:
        self[name] = number = len(self)
        return number


#: ids at least this long are taken for unique in the world (UUIDs, `msg_01…`, `chatcmpl-…`)
LONG_ID = 16


def _identity(step: Step) -> int:
    """Digest by which a response is known again in another file; 0: it cannot be known again.

    Short ids ("r1") are used by unrelated logs: those must agree in time and model too. Without any
    id, a time to the millisecond and all that the response holds must agree.
    """
    if step.id is None:
        if step.at is None or step.at == int(step.at):
            return 0
        held = f"{step.model}|{step.usage}|{step.text_key}|{[call.key for call in step.calls]}"
        return digest(f"{step.at}|{held}")
    if len(step.id) >= LONG_ID:
        return digest(step.id)
    return 0 if step.at is None else digest(f"{step.id}|{step.at}|{step.model}")


def _total(*counts: int) -> int:
    """The sum of the known ones."""
    unknown = counts.count(UNKNOWN)
    return UNKNOWN if unknown == len(counts) else sum(counts) - unknown * UNKNOWN


def narrow(column: array[int]) -> array[int]:
    """The same numbers in as few bytes as hold them all."""
    for code in "bhi":
        with suppress(OverflowError):
            return array(code, column)
    return column


def columns(run: Run) -> tuple[StepColumns, int]:
    """The steps of `run` as columns, and the digest of its content.

    The steps are taken out of the run as they are written down: both at once would be the peak of
    memory for a long session.
    """
    models, services, notes, tools = _Names(), _Names(), _Names(), _Names()
    table = StepColumns([], [], [], [])
    # a log with ids of its own is known by them; only others need to be compared as a whole
    parts: list[str] | None = [] if run.session is None else None
    requests = compactions = past = 0
    steps, run.steps = run.steps, []
    steps.reverse()
    while steps:
        some = steps[: -_AT_ONCE - 1 : -1]
        del steps[-_AT_ONCE:]
        first = len(table.ids)
        table.ids.extend(map(_identity, some))
        table.at.extend([_NAN if step.at is None else step.at for step in some])
        table.line.extend([step.line for step in some])
        table.calls.extend([len(step.calls) for step in some])
        table.compaction.extend([step.kind is StepKind.COMPACTION for step in some])
        table.model.extend([models[step.model] for step in some])
        table.service.extend([services[step.service] for step in some])
        table.cost.extend([UNKNOWN if step.cost is None else pico(step.cost) for step in some])
        usages = [_NO_USAGE if step.usage is None else step.usage for step in some]
        table.note.extend([notes[usage.note] for usage in usages])
        usages = [_NO_USAGE if usage.mark is UsageMark.ABSENT else usage for usage in usages]
        table.marks.extend([MARKS.index(usage.mark) for usage in usages])
        for column, get in zip(table.buckets, _BUCKET_OF, strict=True):
            column.extend([UNKNOWN if (n := get(usage)) is None else n for usage in usages])
        table.total.extend(map(_total, *(column[first:] for column in table.buckets[:_BILLED])))
        for place, step in enumerate(some, first):
            if step.path != run.path:
                table.paths[place] = step.path
            for boundary in step.before:
                requests += boundary.kind is BoundaryKind.USER
                compactions += boundary.kind is BoundaryKind.COMPACTION
            table.request.append(requests)
            table.memory.append(compactions)
            compactions += step.kind is StepKind.COMPACTION
            said, heard, failed = step.text_size, 0, 0
            for call in step.calls:
                failed += call.status is CallStatus.ERROR
                table.tool.append(tools[call.tool])
                said += call.args_size
                heard += call.size or 0
                if call.spawns and call.id is not None:
                    table.spawned[call.id] = place
            table.failed.append(failed)
            table.said.append(said)
            table.heard.append(heard)
            if parts is not None:
                parts.append(f"{step.id}|{step.at}|{step.text_key}")
                parts += [f"{call.id}|{call.key}|{call.result}" for call in step.calls]
                if step.id is None and step.at is None and len(table.past) == place:
                    asked = [(boundary.kind.value, boundary.text) for boundary in step.before]
                    spoken = f"{step.text_key}|{[call.key for call in step.calls]}"
                    past = digest(f"{past}|{asked}|{spoken}")
                    table.past.append(past)
                    past = digest(f"{past}|{[call.result for call in step.calls]}")
    table.models += models
    table.services += services
    table.notes += notes
    table.tools += tools
    for name in _COUNTED:
        setattr(table, name, narrow(getattr(table, name)))
    table.buckets = tuple(narrow(column) for column in table.buckets)
    return table, digest("\n".join(parts)) if parts else 0
