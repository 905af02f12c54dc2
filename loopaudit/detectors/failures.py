"""Failing steps in a row, and one error that comes back however the call is varied."""

from __future__ import annotations

from collections.abc import Sequence

from loopaudit.detectors.base import ERROR, NONE, OK, USER, Detector
from loopaudit.detectors.same_errors import found_nothing, same_error, tried
from loopaudit.findings import Reading, Rule
from loopaudit.model import Boundary, Call, Step

FAILING = "failing_steps"
SAME_ERROR = "same_error"

RULES: tuple[Rule, ...] = (
    Rule(
        id="failing-steps",
        title="Step after step failed, with no success between",
        looks_for="Five steps or more in a row in which every call that ran failed.",
        not_counted=(
            "A step with one success. A row that is one error for varied arguments and nothing "
            "else: that is same-error (changes of one file are no varied arguments). Several "
            "failures in one response are one failing step. Calls that were rejected, or not run "
            "because a sibling failed, are no failures; nor is a search that says it found "
            "nothing. A user message starts again."
        ),
        evidence=(
            "On a modern coding set (170 runs) three failing calls in a row killed no success and "
            "caught 18 % of the failures; on an older set they killed 4 %. On 15,132 other runs "
            "with a known outcome (7 sets, each weighing the same) three stand in 1.0 % of the "
            "successes and 21 % of the failures, five in 0.2 % and 17 %."
        ),
        remedy=(
            "Read the first of these errors, not the last. Make the tool's error say what would be "
            "valid, and tell the model to change its approach, or to ask, after two failures."
        ),
        signal=FAILING,
        cause="no-stop",
        needs=frozenset({"results"}),
        family="failure",
    ),
    Rule(
        id="same-error",
        title="The same error came back for varied arguments",
        looks_for=(
            "Five failures or more of one tool with the same error, apart from the words and "
            "figures taken from the arguments, with no success of that tool between. A guard only "
            "warns."
        ),
        not_counted=(
            "Up to four tries: finding the right arguments takes some (cheasee-pi#644). A success "
            "of the tool, another error, or a user message starts again. Answers without hits are "
            "no errors."
        ),
        evidence=(
            "gemini-cli PR#16954 proposes 5; finding the right arguments may take four tries "
            "(cheasee-pi#644). On 15,132 runs with a known outcome five such failures stand in "
            "0.02 % of the successes and 3 % of the failures."
        ),
        remedy=(
            "The tool does not say what it needs: put the valid values or the missing precondition "
            "into its error message and its description, or withdraw it where it cannot work."
        ),
        signal=SAME_ERROR,
        cause="no-when-not",
        needs=frozenset({"results", "arguments"}),
        family="failure",
    ),
)


class _Errors:
    """Failures of one tool with one error."""

    __slots__ = ("count", "first", "keys", "step", "told")

    def __init__(self, call: Call) -> None:
        self.first = call
        self.keys = {call.key}
        self.step = call.step  # the newest one
        self.count = 1  # steps that tried something new and met the error
        self.told: Reading | None = None


class _Row:
    """Failing steps in a row."""

    __slots__ = ("count", "first", "keys", "passing", "pending", "told", "varied")

    def __init__(self, first: Call) -> None:
        self.first = first
        self.count = 0
        self.passing = True  # all failures may pass by themselves
        self.varied = True  # so far one error, and no call twice
        self.keys: set[int] = set()  # what was tried: calls, or files to change
        self.pending: list[int] = []  # redundant calls not told yet
        self.told: Reading | None = None


class Failures(Detector):
    """Failing steps in a row, and varied calls of one tool with one error. O(1) a step."""

    signals = (FAILING, SAME_ERROR)
    needs = frozenset({"results"})

    def __init__(self) -> None:
        self._row: _Row | None = None
        self._errors: dict[str, _Errors] = {}  # by tool

    def boundary(self, boundary: Boundary) -> Sequence[Reading]:
        if boundary.kind is USER:
            self._row = None
            self._errors.clear()
        return NONE

    def step_ended(self, step: Step) -> Sequence[Reading]:
        failed: list[Call] = []
        worked = False
        for call in step.calls:
            status = call.status
            if status is OK:
                worked = True
                if self._errors:
                    self._errors.pop(call.tool, None)
            elif status is ERROR and not found_nothing(call):
                failed.append(call)
        if worked:
            self._row = None
        if not failed:
            return NONE
        readings: list[Reading] = []
        if not worked:
            self._failing(step, failed, readings)
        for call in failed:
            self._same(call, readings)
        return readings

    def _failing(self, step: Step, failed: list[Call], readings: list[Reading]) -> None:
        row = self._row
        if row is None:
            row = self._row = _Row(failed[0])
        row.count += 1
        for call in failed:
            if not call.retryable:
                row.passing = False
            if row.varied and (tried(call) in row.keys or not same_error(row.first, call)):
                row.varied = False
        if row.varied:
            row.keys.update(map(tried, failed))
        if row.count == 1:
            return
        if row.varied or row.pending:
            row.pending += [call.index for call in step.calls]
            if row.varied:
                return
            redundant, row.pending = tuple(row.pending), []
        else:
            redundant = tuple([call.index for call in step.calls])
        reading, first = row.told, row.first
        if reading is None:
            group = (FAILING, first.step)
            reading = row.told = Reading(FAILING, 0, 0, None, group, first.step, first.index)
        reading.count = row.count
        reading.step = step.index
        reading.call = failed[-1].index
        reading.redundant = redundant
        reading.retryable = row.passing
        readings.append(reading)

    def _same(self, call: Call, readings: list[Reading]) -> None:
        if call.error_key is None:
            return
        known = self._errors.get(call.tool)
        if known is None or not same_error(known.first, call):
            self._errors[call.tool] = _Errors(call)
            return
        if call.key in known.keys:
            return
        known.keys.add(call.key)
        if known.step == call.step:  # side by side: one try
            return
        known.step = call.step
        known.count += 1
        reading, first = known.told, known.first
        if reading is None:
            group = (SAME_ERROR, first.index)
            reading = known.told = Reading(SAME_ERROR, 0, 0, None, group, first.step, first.index)
        reading.count = known.count
        reading.step = call.step
        reading.call = call.index
        reading.redundant = (call.index,)
        reading.retryable = bool(call.retryable)
        readings.append(reading)
