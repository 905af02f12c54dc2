"""What comes out: readings, trips, findings and the report.

Steps and calls are 0-based within their run; lines 1-based. Money is an exact `Decimal` in USD.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from typing import Any

from loopaudit.model import Attempt, Skip


class Level(StrEnum):
    """What a guard does when a count reaches a threshold, from mild to final."""

    WARN = "warn"
    REPAIR = "repair"
    CONVERGE = "converge"
    ALERT = "alert"
    WITHDRAW = "withdraw"
    STOP = "stop"
    STOP_ALL = "stop_all"

    @property
    def stops(self) -> bool:
        return self is Level.STOP or self is Level.STOP_ALL


class EndedBy(StrEnum):
    RECOVERED = "recovered"
    GUARD = "guard"
    USER = "user"
    LIMIT = "limit"
    END_OF_LOG = "end_of_log"


class Retryable(StrEnum):
    """Would the same call, unchanged, be likely to work later?"""

    YES = "yes"
    NO = "no"
    NOT_APPLICABLE = "n/a"  # nothing failed


class OutcomeBy(StrEnum):
    """Who says what became of a run."""

    LOG = "log"
    LABELS = "labels file"
    INFERRED = "inferred"


class Completeness(StrEnum):
    COMPLETE = "complete"
    ESTIMATED = "estimated"
    LOWER_BOUND = "lower_bound"
    PARTIAL = "partial"


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule and its own documentation; `explain`, SARIF help and README come from it."""

    id: str  # says what is wrong, e.g. "retry-storm"
    title: str
    looks_for: str
    not_counted: str  # what looks like it and is left alone
    evidence: str  # where the thresholds come from
    remedy: str  # what to change
    signal: str  # the reading it judges
    cause: str = ""  # the class of its cause: a key of `replay.advice.CAUSES`
    needs: frozenset[str] = frozenset()  # of "results", "times", "usage", "arguments"
    family: str = "repeat"


@dataclass(slots=True)
class Reading:
    """A count made by a detector, with its evidence. It knows no threshold.

    `group` names the chain this count belongs to: readings of one signal with one group are one
    growing thing, and a reset starts a new group. A detector may hand out the object of a group
    again, brought up to date: who keeps what it said keeps a copy. `redundant` holds the flat
    indices of the calls that *this* reading adds as redundant; `redundant_steps` the steps that it
    adds as a whole, such as those without calls; `redundant_text` where the text of its step begins
    to repeat itself.
    """

    signal: str
    count: int | float  # a number of times; for budgets the measured value (tokens, seconds, USD)
    step: int
    call: int | None = None  # flat index in the run; None: about the step as a whole
    group: Hashable = None
    first_step: int | None = None  # where the repeated thing was first done (useful work)
    first_call: int | None = None
    redundant: tuple[int, ...] = ()
    redundant_steps: tuple[int, ...] = ()
    redundant_text: tuple[int, float] | None = None  # character of it, share of the step's output
    attempts: tuple[Attempt, ...] = ()  # failed API attempts that this is about
    period: int | None = None
    retryable: bool | None = None  # None: nothing failed
    poll: bool = False  # the thing repeated is a known wait; policies have thresholds of their own
    note: str | None = None
    held: Any = None  # for who judges it: what stands for this group, whatever the count
    kept: Any = None  # for who adds it up: what this group comes to; False: it need not be told


@dataclass(slots=True)
class Trip:
    """A verdict of a guard: a count met a threshold and an action follows."""

    detector: str
    level: Level
    count: int | float
    threshold: int | float
    step: int
    call: int | None = None  # position within the step; None: about the step
    reason: str = ""
    recoverable: bool | None = None
    budget: int | None = None  # the watchdog's step budget at that moment
    saves_from: int = 0  # first step that would not have been paid for, had it been obeyed
    final: bool = False  # the guard itself ends here (exhausted budget): nothing more is fed
    first_step: int | None = None
    group: Hashable = None


@dataclass(slots=True)
class Undecidable:
    run: str
    detector: str
    needs: str


@dataclass(slots=True)
class NotLoop:
    """Something looked at and not counted."""

    run: str
    kind: str  # "poll-with-progress", "paging", "test-after-edit", "retry-of-transient-error", …
    step: int
    reason: str
    path: str = ""
    line: int = 0


@dataclass(slots=True)
class Place:
    run: str
    step: int
    call: int | None
    path: str
    line: int
    at: float | None = None
    char_offset: int | None = None


@dataclass(slots=True)
class WasteStep:
    run: str
    step: int
    part: float = 1.0  # share of the step's output and input that is redundant, 0..1


@dataclass(slots=True)
class Waste:
    steps: list[WasteStep] = field(default_factory=list)
    tokens: int | None = None  # None: the log has no usage
    cache_read: int | None = None
    usd: Decimal | None = None  # None: unpriced or no usage
    share: float | None = None  # of the run's tokens
    estimated: bool = False
    waited: float | None = None  # seconds between failed API attempts and the next ones
    resent: int | None = None  # input tokens sent again by API attempts; the log tells no bill
    unknown: list[str] = field(default_factory=list)  # what the log does not tell of it

    @property
    def amounts(self) -> tuple[int | None, Decimal | None]:
        """Tokens and USD; nothing wasted is 0, unless the log cannot tell."""
        if self.steps:
            return self.tokens, self.usd
        return (None, None) if self.unknown else (0, Decimal(0))


@dataclass(frozen=True, slots=True)
class Advice:
    """What to do about a finding, in the order in which it is done."""

    symptom: str  # what is seen
    cause: str  # why, as a rule
    find: str  # how to make sure in the log
    change: str  # what to change


@dataclass(slots=True)
class Stop:
    """What one guard would have done about a finding; savings count from this entry's own step."""

    guard: str
    detector: str
    level: Level
    threshold: int | float
    step: int
    saved_tokens_at_most: int | None = None
    saved_usd_at_most: Decimal | None = None
    saves_from: int = 0


@dataclass(slots=True)
class Finding:
    rule: str
    run: str
    occurrences: int
    first_seen: Place
    onset: Place
    last: Place
    ended_by: EndedBy
    retryable: Retryable = Retryable.NOT_APPLICABLE
    confidence: float = 1.0
    confidence_reason: str = ""
    tool: str | None = None
    key: str | None = None
    call: str | None = None  # bounded excerpt of the call, for screens only
    period: int | None = None
    waste: Waste = field(default_factory=Waste)
    listed_steps: list[int] = field(default_factory=list)  # redundant in part: listed, not charged
    interruptions: list[tuple[int, int]] = field(default_factory=list)  # first and last other step
    reasons: list[str] = field(default_factory=list)
    advice: str = ""  # what to change
    advice_parts: Advice | None = None  # the whole of it
    redundant: dict[str, int] = field(default_factory=dict)  # redundant calls by tool
    stops: list[Stop] = field(default_factory=list)
    id: str = ""  # fingerprint: rule, session, first call; stable over re-runs


@dataclass(slots=True)
class Tokens:
    fresh_input: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    output: int | None = None
    reasoning: int | None = None  # inside output
    total: int | None = None


@dataclass(slots=True)
class InputSummary:
    path: str
    format: str
    confidence: float
    lines: int = 0
    records_used: int = 0
    records_ignored: dict[str, int] = field(default_factory=dict)  # by name
    skips: int = 0
    runs: int = 0
    missing: list[str] = field(default_factory=list)
    bytes: int = 0


@dataclass(slots=True)
class RunSummary:
    id: str
    parent: str | None
    path: str
    format: str
    agent: str | None
    task_type: str | None
    outcome: str | None
    outcome_source: str | None
    steps: int
    calls: int
    calls_failed: int
    started: float | None
    ended: float | None
    tokens: Tokens
    usd: Decimal | None
    inherited_tokens: int | None = None
    recorded_usd: Decimal | None = None
    waste: Waste = field(default_factory=Waste)
    models: list[str] = field(default_factory=list)
    session: str | None = None
    project: str | None = None
    version: str | None = None
    still_running: bool = False
    missing: list[str] = field(default_factory=list)
    outcome_by: OutcomeBy | None = None
    task_type_source: str | None = None

    @property
    def outcome_said(self) -> str | None:
        """Who says the outcome, and where or by which rule; None without one."""
        if self.outcome_by is None:
            return None
        return f"{self.outcome_by}: {self.outcome_source or 'not told where'}"


@dataclass(slots=True)
class Verdict:
    """A trip of a guard on a run, in the shape of the report."""

    run: str
    trip: Trip


@dataclass(slots=True)
class GuardResult:
    preset: str
    runs_stopped: int = 0
    verdicts: list[Verdict] = field(default_factory=list)
    undecidable: list[Undecidable] = field(default_factory=list)
    unreachable: list[str] = field(default_factory=list)  # thresholds their window never reaches


@dataclass(slots=True)
class Failure:
    """Something of loopaudit or an extension that broke, and on which run."""

    owner: str
    run: str | None
    path: str | None
    message: str


@dataclass(slots=True)
class Totals:
    runs: int = 0
    responses: int = 0
    calls: int = 0
    calls_failed: int = 0
    duplicates_removed: int = 0
    tokens: Tokens = field(default_factory=Tokens)
    inherited_tokens: int | None = None
    usd: Decimal | None = None
    recorded_usd: Decimal | None = None
    price_date: str | None = None
    unpriced_tokens: int = 0
    unpriced_models: list[str] = field(default_factory=list)
    completeness: Completeness = Completeness.COMPLETE
    reasons: list[str] = field(default_factory=list)
    waste: Waste = field(default_factory=Waste)


@dataclass(slots=True)
class ToolWaste:
    """How many calls of one tool were redundant."""

    tool: str
    calls: int
    redundant: int


@dataclass(slots=True)
class Spin:
    mean_steps_recorded: float | None = None
    mean_steps_guarded: dict[str, float | None] = field(default_factory=dict)  # by preset
    tokens_saved_share: dict[str, float | None] = field(default_factory=dict)


@dataclass(slots=True)
class Report:
    tool_version: str
    inputs: list[InputSummary] = field(default_factory=list)
    skips: list[Skip] = field(default_factory=list)
    totals: Totals = field(default_factory=Totals)
    runs: list[RunSummary] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    not_loops: list[NotLoop] = field(default_factory=list)
    guards: list[GuardResult] = field(default_factory=list)
    spin: Spin = field(default_factory=Spin)
    tools: list[ToolWaste] = field(default_factory=list)  # with redundant calls, worst first
    failures: list[Failure] = field(default_factory=list)
    meta: dict[str, Any] = field(default_factory=dict)
