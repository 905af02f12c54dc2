"""Cycles: the same few steps with the same results, round after round."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from loopaudit.detectors.base import COMPACTION, COMPACTION_STEP, ERROR, NONE, USER, Detector
from loopaudit.findings import Reading, Rule
from loopaudit.model import Boundary, Call, CallStatus, Step

SIGNAL = "cycle"

_SIBLING, _INTERRUPTED = CallStatus.SIBLING, CallStatus.INTERRUPTED

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

    __slots__ = ("differ", "epoch", "first", "matched", "pending", "period", "told")

    def __init__(self, period: int) -> None:
        self.period = period
        self.matched = 0
        self.pending: list[int] = []  # redundant calls of the second round

    def begin(self, first: Step, epoch: int) -> None:
        self.first = first  # first step of the first round
        self.epoch = epoch  # losses of memory before it
        self.pending = []
        self.differ: bool | None = None  # more than one call takes part
        self.told: tuple[Reading] | None = None

    def excused(self, epoch: int, now: int) -> bool:
        """The round after the first loss of memory: its counterpart lies before that loss."""
        return epoch == self.epoch != now


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
        self._alike = 0  # newest tokens that are all the same
        self._rows = [_Row(period) for period in range(1, longest + 1)]
        self._active = False  # some row has matches
        self._epoch = 0  # losses of memory so far

    def boundary(self, boundary: Boundary) -> Sequence[Reading]:
        if boundary.kind is USER:
            self._tokens.clear()
            self._past.clear()
            self._alike = 0
            self._break()
        elif boundary.kind is COMPACTION:
            self._epoch += 1
        return NONE

    def step_ended(self, step: Step) -> Sequence[Reading]:
        calls = step.calls
        if not calls:
            if step.kind is COMPACTION_STEP:
                self._epoch += 1
            return NONE
        token = _token(calls[0]) if len(calls) == 1 else _joint_token(calls)
        if token is None:
            token = ~step.index  # equal to nothing
        readings: Sequence[Reading] = NONE
        tokens = self._tokens
        if token in tokens:
            self._alike = self._alike + 1 if token == tokens[-1] else 1
            if self._alike <= self.longest:  # else one step alone: no row can be longer than it is
                readings = self._match(token, step)
        else:
            self._alike = 1
            if self._active:
                self._break()
        tokens.append(token)
        self._past.append((step, self._epoch))
        return readings

    def _break(self) -> None:
        self._active = False
        for row in self._rows:
            row.matched = 0

    def _match(self, token: int, step: Step) -> Sequence[Reading]:
        self._active = True
        tokens, past = self._tokens, self._past
        there = len(tokens)
        best: _Row | None = None
        cover = 0
        for row in self._rows:
            period = row.period
            matched = row.matched
            if period > there or tokens[-period] != token:
                if matched:
                    row.matched = 0
                continue
            if not matched:
                row.begin(*past[-period])
            row.matched = matched = matched + 1
            if matched <= period and not row.excused(past[-period][1], self._epoch):
                row.pending += [call.index for call in step.calls]
            if matched >= period and matched + period > cover:
                best, cover = row, matched + period
        if best is None or best.period == 1:
            return NONE
        if best.differ is None:
            best.differ = self._differ(best.period)
        return self._tell(best, step) if best.differ else NONE

    def _differ(self, period: int) -> bool:
        """Whether more than one call takes part: one call with answers in turns is a poll."""
        rounds = list(self._past)[-period:]
        return len({_identity(step) for step, _ in rounds}) > 1

    def _tell(self, row: _Row, step: Step) -> Sequence[Reading]:
        told, period = row.told, row.period
        if told is None:
            redundant = tuple(row.pending)
            told = row.told = (self._reading(row),)
        elif row.excused(self._past[-period][1], self._epoch):
            return NONE
        else:
            redundant = tuple([call.index for call in step.calls])
        reading = told[0]
        reading.count = 1 + row.matched // period
        reading.step = step.index
        reading.call = step.calls[-1].index
        reading.redundant = redundant
        return told if redundant else NONE

    def _reading(self, row: _Row) -> Reading:
        """What is the same in each round."""
        first, period = row.first, row.period
        calls = [call for past, _ in list(self._past)[-period:] for call in past.calls]
        failures = [call.retryable for call in calls if call.status is ERROR]
        polls = any(call.polls for call in calls)
        return Reading(
            signal=SIGNAL,
            count=0,
            step=first.index,
            group=(SIGNAL, period, first.index),
            first_step=first.index,
            first_call=first.calls[0].index,
            period=period,
            retryable=all(failures) if failures else (polls or None),
            poll=polls,
        )


def _token(call: Call) -> int | None:
    """Equal for equal (call, result); None where there is nothing to compare."""
    result = call.result if call.masked is None else call.masked
    status = call.status
    if status is _SIBLING:
        return call.key
    if result is None or status is _INTERRUPTED:
        return None
    if call.mutates and status is ERROR and call.target is not None:
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
