"""How long things took: calls, decisions of the model, and silences in which nothing happened.

A hung tool or a dead stream never reaches the next step, so a guard that counts steps cannot see
it; the times of the events show it afterwards. Time that the user took is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from loopaudit.detectors.base import NONE, Detector
from loopaudit.findings import Reading, Rule
from loopaudit.model import Boundary, BoundaryKind, Call, CallStatus, Run, Step, StepKind

QUERY = "query_duration"
COMPUTATION = "computation_duration"
DECISION = "decision_time"
GAP = "gap"

#: seconds below which nothing is told: no time-out is that short, and most calls are
FLOOR = 1.0
#: tools that wait for the user
ASKING = (
    "AskUserQuestion", "ExitPlanMode", "ask_user", "ask_user_question", "request_user_input",
    "ask_followup_question", "ask_question", "human_input", "user_input", "attempt_completion",
)  # fmt: skip

_SLOW_TOOL = "A time-out in the tool and an answer that says how to ask for less, or to wait."

RULES: tuple[Rule, ...] = (
    Rule(
        id="slow-query",
        title="A query took longer than its time-out",
        looks_for="Seconds from call to result of the tools that the preset lists as queries.",
        not_counted="Tools that wait for the user; agents started by a call.",
        evidence="backstop: 10 s (guards.md §3).",
        remedy=_SLOW_TOOL,
        signal=QUERY,
        cause="no-limit",
        needs=frozenset({"times", "results"}),
        family="time",
    ),
    Rule(
        id="slow-computation",
        title="A tool call took longer than its time-out",
        looks_for=(
            "Seconds from call to result of all tools that are not listed as queries. Where the "
            "user has to approve calls, logs do not tell that wait from the tool's own time."
        ),
        not_counted="Tools that wait for the user; agents started by a call.",
        evidence="backstop: 30 s (guards.md §3). Builds and test runs need more.",
        remedy=_SLOW_TOOL,
        signal=COMPUTATION,
        cause="no-limit",
        needs=frozenset({"times", "results"}),
        family="time",
    ),
    Rule(
        id="slow-decision",
        title="The model took longer than its time-out",
        looks_for="Seconds from what the model was last told to its response.",
        not_counted="Waits between retries, and time that the user took.",
        evidence="backstop: 30 s (demo), 120 s (guards.md §3).",
        remedy="A time-out on the stream's next piece rather than on the whole response.",
        signal=DECISION,
        cause="no-limit",
        needs=frozenset({"times"}),
        family="time",
    ),
    Rule(
        id="silent-gap",
        title="Nothing happened for long while the run was at work",
        looks_for=(
            "Seconds between two events while a call or a response was awaited: a hung tool, a "
            "dead stream. The note says what was awaited."
        ),
        not_counted=(
            "Silence after a finished answer (the user was away), tools that wait for the user, "
            "calls that the user rejected, waits between retries."
        ),
        evidence="The time-outs above; Codex ends a stream after 300 s without a piece.",
        remedy="A time-out on every call and every stream, outside the agent's own loop.",
        signal=GAP,
        cause="no-limit",
        needs=frozenset({"times"}),
        family="time",
    ),
)


class CallDuration(Detector):
    """`query_duration`, `computation_duration`: seconds a call took."""

    signals = (QUERY, COMPUTATION)
    needs = frozenset({"times", "results"})

    def __init__(
        self, queries: Iterable[str] = (), asking: Iterable[str] = ASKING, floor: float = FLOOR
    ) -> None:
        self._queries = frozenset(queries)
        self._asking = frozenset(asking)
        self._floor = floor

    def call_ended(self, call: Call) -> Sequence[Reading]:
        if call.started is None or call.ended is None:
            return NONE
        seconds = call.ended - call.started
        if not seconds >= self._floor or call.spawns or call.tool in self._asking:
            return NONE
        if call.status is CallStatus.REJECTED or not call.answered:
            return NONE
        signal = QUERY if call.tool in self._queries else COMPUTATION
        return (
            Reading(
                signal,
                round(seconds, 3),
                call.step,
                call.index,
                group=call.index,
                first_step=call.step,
                first_call=call.index,
                poll=call.polls,
            ),
        )


class _Clock:
    """Time of the last event, and whether the run was at work since then."""

    __slots__ = ("at_work", "now", "unanswered")

    def __init__(self) -> None:
        self.now: float | None = None  # None: not known
        self.at_work = False
        self.unanswered: Call | None = None

    def to(self, at: float | None) -> float | None:
        """Move on; seconds since the last event, None where either time is unknown."""
        if at is None:
            return None
        before, self.now = self.now, at if self.now is None else max(self.now, at)
        return None if before is None else at - before

    def boundary(self, boundary: Boundary) -> None:
        if boundary.at is None and boundary.kind is BoundaryKind.USER:
            self.now = None  # the user wrote at an unknown time
        self.to(boundary.at)
        # a resumed session waits for the user, an interrupted one too; all else sets it to work
        self.at_work = boundary.kind not in _IDLE
        self.unanswered = None

    def attempts(self, step: Step) -> None:
        for attempt in step.attempts:
            self.to(attempt.at)
            if attempt.at is not None and attempt.wait is not None and attempt.wait > 0:
                self.to(attempt.at + attempt.wait)

    def ended(self, step: Step) -> None:
        self.to(step.ended)
        self.at_work = bool(step.calls) or step.kind is StepKind.COMPACTION
        self.unanswered = next((c for c in step.calls if not c.answered), None)


_IDLE = frozenset(
    {
        BoundaryKind.RESUME,
        BoundaryKind.INTERRUPT,
        BoundaryKind.LIMIT,
        BoundaryKind.GUARD_STOP,
    }
)


class DecisionTime(Detector):
    """`decision_time`: seconds from what the model was last told (a result, a message, the end of
    a wait between retries) to the first piece of its response."""

    signals = (DECISION,)
    needs = frozenset({"times"})

    def __init__(self, floor: float = FLOOR) -> None:
        self._clock = _Clock()
        self._floor = floor

    def boundary(self, boundary: Boundary) -> Sequence[Reading]:
        self._clock.boundary(boundary)
        return NONE

    def step_started(self, step: Step) -> Sequence[Reading]:
        clock = self._clock
        clock.attempts(step)
        asked = clock.at_work and clock.unanswered is None
        seconds = clock.to(step.at)
        if not asked or seconds is None or not seconds >= self._floor or step.inherited:
            return NONE
        return (Reading(DECISION, round(seconds, 3), step.index, group=step.index),)

    def step_ended(self, step: Step) -> Sequence[Reading]:
        self._clock.ended(step)
        return NONE


class Gap(Detector):
    """`gap`: seconds of silence between two events while something was awaited."""

    signals = (GAP,)
    needs: ClassVar = frozenset({"times"})

    def __init__(self, asking: Iterable[str] = ASKING, floor: float = FLOOR) -> None:
        self._clock = _Clock()
        self._asking = frozenset(asking)
        self._floor = floor
        self._step: int | None = None  # newest step
        self._gaps = 0

    def boundary(self, boundary: Boundary) -> Sequence[Reading]:
        clock = self._clock
        call, at_work = clock.unanswered, clock.at_work
        seconds = None if boundary.at is None else clock.to(boundary.at)
        clock.boundary(boundary)
        if self._step is None or not at_work:
            return NONE
        if call is not None:
            return self._tell(seconds, f"no answer to {call.tool}", call.step, call)
        if boundary.kind is BoundaryKind.RESUME:
            return NONE  # the program was closed, for however long
        return self._tell(seconds, "no response of the model", self._step)

    def step_started(self, step: Step) -> Sequence[Reading]:
        clock = self._clock
        call, at_work = clock.unanswered, clock.at_work
        found: list[Reading] = []
        if step.attempts and at_work and not step.inherited:
            seconds = clock.to(step.attempts[0].at)
            found += self._tell(seconds, "before an attempt failed", step.index)
        clock.attempts(step)
        seconds = clock.to(step.at)
        self._step = step.index
        if at_work and not step.inherited:
            if call is not None:
                found += self._tell(seconds, f"no answer to {call.tool}", call.step, call)
            else:
                found += self._tell(seconds, "before the model's response", step.index)
        return found

    def call_ended(self, call: Call) -> Sequence[Reading]:
        if call.ended is None:
            return NONE
        seconds = self._clock.to(call.ended)
        if call.status is CallStatus.REJECTED:
            return NONE
        return self._tell(seconds, f"during {call.tool}", call.step, call)

    def step_ended(self, step: Step) -> Sequence[Reading]:
        self._clock.ended(step)
        return NONE

    def run_ended(self, run: Run) -> Sequence[Reading]:
        """Attempts that got no response end a silence too."""
        clock = self._clock
        if not run.attempts_after or self._step is None or not clock.at_work:
            return NONE
        found: list[Reading] = []
        for attempt in run.attempts_after:
            found += self._tell(clock.to(attempt.at), "before an attempt failed", self._step)
            if attempt.at is not None and attempt.wait is not None and attempt.wait > 0:
                clock.to(attempt.at + attempt.wait)
        return found

    def _tell(
        self, seconds: float | None, note: str, step: int, call: Call | None = None
    ) -> Sequence[Reading]:
        if seconds is None or not seconds >= self._floor:
            return NONE
        if call is not None and call.tool in self._asking:
            return NONE
        self._gaps += 1
        return (
            Reading(
                GAP,
                round(seconds, 3),
                step,
                None if call is None else call.index,
                group=self._gaps,
                first_step=step,
                first_call=None if call is None else call.index,
                poll=call is not None and (call.polls or call.spawns),
                note=note,
            ),
        )
