"""The neutral record: what every log format is translated into, and what every guard reads.

Two layers. *Pieces* are what a format emits, in file order, each with its line: a response may come
in several pieces, a result may come long after its call, anything may come twice. `ingest` merges
pieces into a `Run` of `Step`s of `Call`s. Absent knowledge is `None`, never 0 or "".
Times are seconds since the epoch, UTC. Lines are 1-based; steps and calls are 0-based.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from typing import Any, NamedTuple


class CallStatus(StrEnum):
    """How a call ended. Only `ERROR` is the tool's own failure."""

    OK = "ok"
    ERROR = "error"
    REJECTED = "rejected"  # by the user, or by a permission rule
    BLOCKED = "blocked"  # by a guard
    SIBLING = "sibling_error"  # not run because another call of the batch failed
    INTERRUPTED = "interrupted"
    UNANSWERED = "unanswered"


class ErrorClass(StrEnum):
    """Why something failed, as the retry classifier sees it (see `retry.classify`)."""

    TRANSIENT = "transient"
    THROTTLED = "throttled"
    QUOTA = "quota"  # spent quota or spend limit: terminal
    PERMANENT = "permanent"
    CONTEXT_OVERFLOW = "context_overflow"
    UNKNOWN = "unknown"


class UsageMark(StrEnum):
    """How far the usage of a response can be trusted."""

    REPORTED = "reported"
    ESTIMATED = "estimated"
    LOWER_BOUND = "lower_bound"
    ABSENT = "absent"


class BoundaryKind(StrEnum):
    """What happened between two responses. Only `USER` is a real user message."""

    USER = "user"
    HOOK = "hook"  # text injected by a hook
    REMINDER = "reminder"  # text injected by the harness
    GUARD = "guard"  # text injected by a loop guard
    COMPACTION = "compaction"
    RESUME = "resume"
    INTERRUPT = "interrupt"  # the user stopped the agent
    LIMIT = "limit"  # a step, time or money limit of the harness ended the run
    GUARD_STOP = "guard_stop"  # a loop guard of the harness ended the run


class StepKind(StrEnum):
    MODEL = "model"
    COMPACTION = "compaction"  # costs tokens, is no step for step limits


class SourceRef(NamedTuple):
    """A place in an input file."""

    path: str
    line: int


@dataclass(slots=True)
class Usage:
    """Tokens of one response in disjoint buckets. `reasoning` lies inside `output`."""

    fresh_input: int | None = None
    cache_read: int | None = None
    cache_write_5m: int | None = None
    cache_write_1h: int | None = None
    cache_write_unsplit: int | None = None  # a cache write whose lifetime the log does not tell
    output: int | None = None
    reasoning: int | None = None
    web_searches: int | None = None  # requests, not tokens
    mark: UsageMark = UsageMark.REPORTED
    note: str | None = None  # why the mark is not `reported`; speed or batch mode ("fast", "batch")

    @property
    def cache_write(self) -> int | None:
        """All cache writes, or None where none of the three is known."""
        return add(add(self.cache_write_5m, self.cache_write_1h), self.cache_write_unsplit)

    @property
    def input(self) -> int | None:
        """Everything sent to the model: fresh, read from and written to the cache."""
        return add(add(self.fresh_input, self.cache_read), self.cache_write)

    @property
    def total(self) -> int | None:
        """Tokens billed for the response: input of all kinds plus output."""
        return add(self.input, self.output)


#: the counts of a `Usage`; those before `reasoning` are disjoint and add up to its total
BUCKETS = (
    "fresh_input",
    "cache_read",
    "cache_write_5m",
    "cache_write_1h",
    "cache_write_unsplit",
    "output",
    "reasoning",
    "web_searches",
)


def add(a: int | None, b: int | None) -> int | None:
    """Sum in which None is 'not known' and gives way to a known number."""
    return b if a is None else a if b is None else a + b


# -- pieces: what a format emits ------------------------------------------------------------------


@dataclass(slots=True)
class CallPiece:
    """A tool call as written. `args` is the parsed value, or the raw text where it is no JSON."""

    id: str | None
    tool: str
    args: Any = None
    at: float | None = None
    line: int | None = None  # None: the line of the response piece


@dataclass(slots=True)
class ResponsePiece:
    """(A part of) one model response. Pieces with one `id` in one run are one response."""

    run: str
    line: int
    id: str | None = None
    at: float | None = None
    ended: float | None = None
    model: str | None = None
    text: str | None = None  # visible text of this piece
    thinking_chars: int = 0
    calls: tuple[CallPiece, ...] = ()
    usage: Usage | None = None
    cost: Decimal | None = None  # USD as recorded in the log
    finish: str | None = None
    kind: StepKind = StepKind.MODEL
    service: str | None = None  # provider, service tier or region where the log names it
    same_step_as: str | None = None  # id of an earlier response this continues (chained batches)
    streamed: bool = False  # its calls may be told while their arguments are still written


@dataclass(slots=True)
class ResultPiece:
    """The answer to a call. `call_id` None: answers the oldest unanswered call (of `tool`)."""

    run: str
    line: int
    call_id: str | None
    text: Any = None  # str, or a JSON value where the log keeps structure; None = nothing recorded
    at: float | None = None
    status: CallStatus = CallStatus.OK
    tool: str | None = None
    http_status: int | None = None  # structured status of a failure, where the log has one
    code: str | None = None  # structured error code or type
    exit_code: int | None = None
    duration: float | None = None  # seconds
    flagged: bool = False  # the log says itself that the call went well: words tell nothing more


@dataclass(slots=True)
class AttemptPiece:
    """One failed API attempt (the SDK or the harness retried, or gave up)."""

    run: str
    line: int
    at: float | None = None
    http_status: int | None = None
    code: str | None = None
    message: str | None = None
    wait: float | None = None  # seconds waited before the next attempt
    retry_after: float | None = None  # seconds the server asked for
    number: int | None = None  # 1-based
    limit: int | None = None  # retries the policy allows
    gave_up: bool = False
    layer: str | None = None  # which layer retried, where the log names it


@dataclass(slots=True)
class BoundaryPiece:
    run: str
    line: int
    kind: BoundaryKind
    at: float | None = None
    text: str | None = None


@dataclass(slots=True)
class RunPiece:
    """What the log says of a run as a whole. Later pieces fill what earlier ones left None."""

    run: str
    line: int
    session: str | None = None
    parent: str | None = None  # run id of the parent
    parent_call: str | None = None  # call id in the parent that started this run
    agent: str | None = None  # name or type of the agent
    task_type: str | None = None
    outcome: str | None = None
    outcome_source: str | None = None
    metadata: Mapping[str, str] | None = None  # tags and attributes, as written
    project: str | None = None  # working folder
    user: str | None = None  # who it ran for
    host: str | None = None  # machine it ran on
    version: str | None = None  # of the agent program
    model: str | None = None
    prompt: str | None = None
    forked_from: str | None = None
    at: float | None = None


Piece = ResponsePiece | ResultPiece | AttemptPiece | BoundaryPiece | RunPiece


@dataclass(slots=True)
class Skip:
    """Input that was lost, with the reason. `line` None: the whole file."""

    path: str
    line: int | None
    reason: str
    count: int = 1  # records


# -- the run --------------------------------------------------------------------------------------


class Target(NamedTuple):
    """What a call works on: a file, and for a ranged read its 1-based lines [first, last]."""

    path: str
    first: int | None = None
    last: int | None = None


_ERROR = CallStatus.ERROR  # a member looked up by its class costs as much as a call of a function


@dataclass(slots=True)
class Call:
    """One tool call with its result.

    `key` is a 64-bit digest of tool name and canonical arguments. `result` is a 64-bit digest of
    the result as recorded; `masked` the same with volatile parts (ids, times, pids …) masked: it is
    set for every call whose key occurs more than once in the run, so use `result_key`.
    Both are None while the call is unanswered.
    """

    index: int  # 0-based in the run
    step: int
    position: int  # 0-based in the step
    id: str | None
    tool: str
    key: int
    line: int
    args: str | None = None  # bounded excerpt of the canonical arguments
    args_size: int = 0  # characters of the whole, 0 where there are none
    status: CallStatus = CallStatus.UNANSWERED
    error: ErrorClass | None = None
    retryable: bool | None = None  # would the same call be likely to work later? None: no failure
    error_key: int | None = None  # digest of the masked error text
    result: int | None = None
    masked: int | None = None
    size: int | None = None  # characters of the result
    blank: bool | None = None  # the result is empty or white space
    nothing_found: bool = False  # the result says in words that nothing was found
    text: str | None = None  # bounded excerpt of the result
    http_status: int | None = None
    code: str | None = None
    exit_code: int | None = None
    started: float | None = None
    ended: float | None = None
    result_line: int | None = None
    result_path: str | None = None  # None: the step's path
    mutates: bool = False  # changes state, by the table of tools
    polls: bool = False  # a known wait or poll, by the table of tools
    spawns: bool = False  # starts another agent, by the table of tools
    target: Target | None = None
    vector: Any = None  # text vector of the result, only where a guard needs it

    @property
    def result_key(self) -> int | None:
        """Digest to compare results by: masked where known, else raw; None if unanswered."""
        return self.result if self.masked is None else self.masked

    @property
    def failed(self) -> bool:
        return self.status is _ERROR

    @property
    def answered(self) -> bool:
        return self.status is not CallStatus.UNANSWERED


@dataclass(slots=True)
class Attempt:
    """One failed API attempt before (or instead of) a response."""

    line: int
    at: float | None
    error: ErrorClass
    http_status: int | None = None
    code: str | None = None
    message: str | None = None  # bounded
    wait: float | None = None
    retry_after: float | None = None
    number: int | None = None
    limit: int | None = None
    gave_up: bool = False
    layer: str | None = None


@dataclass(slots=True)
class Boundary:
    kind: BoundaryKind
    line: int
    path: str
    at: float | None = None
    #: digest of the masked text, of what no user wrote; None where it is the only one of its run
    text_key: int | None = None
    text: str | None = None  # bounded excerpt


class Chant(NamedTuple):
    """A stretch of visible text that repeats what stands before it in the same response."""

    offset: int  # character of the visible text at which the first repeat begins
    size: int  # redundant characters
    times: int  # how often the stretch stands there, the first time included
    key: int  # equal for equal stretches, wherever in a round they are cut


@dataclass(slots=True)
class Step:
    """One model response with its calls and their results."""

    index: int
    path: str
    line: int
    id: str | None = None
    kind: StepKind = StepKind.MODEL
    at: float | None = None  # first seen
    ended: float | None = None  # last piece or result
    model: str | None = None
    text_key: int | None = None  # digest of the visible text, None if there is none
    text: str | None = None  # bounded excerpt
    text_size: int = 0  # characters of visible text
    #: digest of the masked visible text, of a response without calls; None where no other one
    #: stands between the same two messages of the user
    said: int | None = None
    chant: Chant | None = None  # where the visible text repeats itself
    finish: str | None = None
    usage: Usage | None = None
    cost: Decimal | None = None  # USD recorded in the log
    service: str | None = None
    attempts: Sequence[Attempt] = ()
    before: Sequence[Boundary] = ()  # boundaries since the step before
    calls: list[Call] = field(default_factory=list)
    inherited: bool = False  # copied from another run, which owns its tokens


@dataclass(slots=True)
class Run:
    """The steps of one agent thread."""

    id: str
    path: str
    format: str
    session: str | None = None
    parent: str | None = None
    parent_call: str | None = None
    agent: str | None = None
    task_type: str | None = None
    task_type_source: str | None = None  # what gave it: see `task_types`
    outcome: str | None = None
    outcome_source: str | None = None
    metadata: dict[str, str] = field(default_factory=dict)  # tags and attributes, as written
    project: str | None = None
    user: str | None = None
    host: str | None = None
    version: str | None = None
    prompt: str | None = None  # bounded excerpt of the first user message
    forked_from: str | None = None
    steps: list[Step] = field(default_factory=list)
    after: list[Boundary] = field(default_factory=list)  # boundaries after the last step
    attempts_after: list[Attempt] = field(default_factory=list)  # failed attempts with no response
    started: float | None = None
    ended: float | None = None
    missing: frozenset[str] = frozenset()  # of "results", "times", "usage", "arguments"
    orphan_results: int = 0  # results that answer no call of this run
    duplicates: int = 0  # responses, calls and results recorded more than once

    @property
    def calls(self) -> list[Call]:
        return [call for step in self.steps for call in step.calls]
