"""Cycles: the same few steps with the same results, round after round."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from loopaudit.detectors.base import NONE, Detector
from loopaudit.findings import Reading, Rule
from loopaudit.model import Boundary, BoundaryKind, Call, CallStatus, Step, StepKind

SIGNAL = "cycle"

RULES: tuple[Rule, ...] = (
    Rule(
        id="cycle",
        title="The same steps went round and round with the same results",
        looks_for=(
            "Two to six different steps in a row, repeated with equal calls and equal results for "
            "three full rounds (ten where a known wait is among them). The shortest true period is "
            "reported. Failing changes of one file, for the same kind of reason, are the same "
            "step, whatever they tried to write."
        ),
        not_counted=(
            "A round in which any call or result differs, a user message between, and once the "
            "round after the context was compacted. One call repeated alone is "
            "same-call-same-result."
        ),
        evidence=(
            "Cycles of three are missed by tests for consecutive or alternating calls (stella#359, "
            "gemini-cli#4464); OpenHands stops at six alternating steps."
        ),
        remedy=(
            "Break the round where it fails: make the failing tool say what would have worked (the "
            "text that stands there now, the valid arguments), and give the prompt a rule to stop "
            "after the second equal failure."
        ),
        signal=SIGNAL,
        cause="no-stop",
        needs=frozenset({"results", "arguments"}),
        family="cycle",
    ),
)


class _Row:
    """Steps in a row that equal the step one period earlier."""

    __slots__ = ("epoch", "first", "matched", "pending", "told")

    def __init__(self) -> None:
        self.matched = 0
        self.begin(None, 0)

    def begin(self, first: Step | None, epoch: int) -> None:
        self.first = first  # first step of the first round
        self.epoch = epoch  # losses of memory before it
        self.pending: list[int] = []  # redundant calls of the second round
        self.told = False


class Cycles(Detector):
    """Rounds of 2 to `longest` equal steps. Remembers only the last `longest` steps: O(1) a step.

    Steps without calls neither continue nor break a cycle; the order of parallel calls is ignored.
    """

    signals = (SIGNAL,)
    needs = frozenset({"results", "arguments"})

    def __init__(self, longest: int = 6) -> None:
        self.longest = longest
        self._tokens: deque[int] = deque(maxlen=longest)
        self._past: deque[tuple[Step, int]] = deque(maxlen=longest)  # step, epoch; as the tokens
        self._rows = [_Row() for _ in range(longest)]  # period 1, 2, …
        self._active = False  # some row has matches
        self._epoch = 0  # losses of memory so far

    def boundary(self, boundary: Boundary) -> Sequence[Reading]:
        if boundary.kind is BoundaryKind.USER:
            self._tokens.clear()
            self._past.clear()
            self._break()
        elif boundary.kind is BoundaryKind.COMPACTION:
            self._epoch += 1
        return NONE

    def step_ended(self, step: Step) -> Sequence[Reading]:
        calls = step.calls
        if not calls:
            if step.kind is StepKind.COMPACTION:
                self._epoch += 1
            return NONE
        token = _token(calls[0]) if len(calls) == 1 else _joint_token(calls)
        if token is None:
            token = ~step.index  # equal to nothing
        readings: Sequence[Reading] = NONE
        if token in self._tokens:
            readings = self._match(token, step)
        elif self._active:
            self._break()
        self._tokens.append(token)
        self._past.append((step, self._epoch))
        return readings

    def _break(self) -> None:
        self._active = False
        for row in self._rows:
            row.matched = 0

    def _match(self, token: int, step: Step) -> Sequence[Reading]:
        self._active = True
        best, cover = 0, 0
        for period, row in enumerate(self._rows, 1):
            if period > len(self._tokens) or self._tokens[-period] != token:
                row.matched = 0
                continue
            before, epoch = self._past[-period]
            if not row.matched:
                row.begin(before, epoch)
            row.matched += 1
            if row.matched <= period and not self._excused(row, epoch):
                row.pending += [call.index for call in step.calls]
            if row.matched >= period and row.matched + period > cover:
                best, cover = period, row.matched + period
        if best > 1 and self._differ(best):
            reading = self._reading(best, step)
            if reading.redundant:
                return (reading,)
        return NONE

    def _excused(self, row: _Row, epoch: int) -> bool:
        """The round after the first loss of memory: its counterpart lies before that loss."""
        return epoch == row.epoch != self._epoch

    def _differ(self, period: int) -> bool:
        """Whether more than one call takes part: one call with answers in turns is a poll."""
        rounds = list(self._past)[-period:]
        return len({_identity(step) for step, _ in rounds}) > 1

    def _reading(self, period: int, step: Step) -> Reading:
        row = self._rows[period - 1]
        first = row.first
        assert first is not None
        if row.told:
            excused = self._excused(row, self._past[-period][1])
            redundant = () if excused else tuple(call.index for call in step.calls)
        else:
            row.told = True
            redundant = tuple(row.pending)
        calls = [call for past, _ in list(self._past)[-period:] for call in past.calls]
        failures = [call.retryable for call in calls if call.failed]
        polls = any(call.polls for call in calls)
        return Reading(
            signal=SIGNAL,
            count=1 + row.matched // period,
            step=step.index,
            call=step.calls[-1].index,
            group=(SIGNAL, period, first.index),
            first_step=first.index,
            first_call=first.calls[0].index,
            redundant=redundant,
            period=period,
            retryable=all(failures) if failures else (polls or None),
            poll=polls,
        )


def _token(call: Call) -> int | None:
    """Equal for equal (call, result); None where there is nothing to compare."""
    result = call.result if call.masked is None else call.masked
    if call.status is CallStatus.SIBLING:
        return call.key
    if result is None or call.status is CallStatus.INTERRUPTED:
        return None
    if call.mutates and call.failed and call.target is not None:
        return hash((call.tool, call.target.path, call.error))
    return call.key ^ (result >> 1)


def _joint_token(calls: list[Call]) -> int | None:
    """Equal for equal parallel calls and results, in whatever order they stand."""
    total = 0
    for call in calls:
        token = _token(call)
        if token is None:
            return None
        total += token
    return total


def _identity(step: Step) -> int:
    """Equal for equal calls, whatever they returned; of failing changes, for equal failures."""
    return sum((call.mutates and call.failed and _token(call)) or call.key for call in step.calls)
