"""Failing steps in a row, and one error that comes back however the call is varied."""

from __future__ import annotations

import re
from collections.abc import Sequence

from loopaudit.detectors.base import NONE, Detector
from loopaudit.findings import Reading, Rule
from loopaudit.model import Boundary, BoundaryKind, Call, CallStatus, Step

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

_WORD = re.compile(r"[\w./~-]+")
_QUOTED = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"|`[^`\n]*`")
# words of an error that says no more than "exit code 1" or "no matches found"
_NO_HITS = frozenset(
    _WORD.findall(
        "no output command process exited failed with an exit code status 1 match matches result "
        "results file files hit hits nothing found was were"
    )
)
_TELLING = frozenset({"1", "found", "matches", "results", "hits"})
_SHORT = 100
_HEAD = 200  # characters of an error that are compared


class ErrorWords:
    """The words of an error, without figures and quotations; and those of the call's arguments."""

    __slots__ = ("given", "key", "words")

    def __init__(self, call: Call) -> None:
        self.key = call.error_key
        text = (call.text or "")[:_HEAD]
        if call.mutates and call.target is not None:
            text = text.partition("\n")[0]  # below stands what could not be changed
        if text[:1] not in ("{", "["):  # in JSON the message itself is quoted
            text = _QUOTED.sub(" ", text)
        self.words = [w for w in _WORD.findall(text) if not w.isdigit()]
        self.given = set(_WORD.findall(call.args or ""))

    def like(self, other: ErrorWords) -> bool:
        """Whether both are one error, apart from words taken from the arguments of either."""
        if self.key is not None and self.key == other.key:
            return True
        given = self.given | other.given
        mine = [word for word in self.words if word not in given]
        return bool(mine) and mine == [word for word in other.words if word not in given]


class _Errors:
    """Failures of one tool with one error."""

    __slots__ = ("count", "error", "first", "keys", "step")

    def __init__(self, call: Call, error: ErrorWords) -> None:
        self.error = error
        self.first = call
        self.keys = {call.key}
        self.step = call.step  # the newest one
        self.count = 1  # steps that tried something new and met the error


class _Row:
    """Failing steps in a row."""

    __slots__ = ("count", "error", "first", "keys", "passing", "pending", "varied")

    def __init__(self, first: Call, error: ErrorWords) -> None:
        self.first = first
        self.error = error
        self.count = 0
        self.passing = True  # all failures may pass by themselves
        self.varied = True  # so far one error, and no call twice
        self.keys: set[int] = set()  # what was tried: calls, or files to change
        self.pending: list[int] = []  # redundant calls not told yet


class Failures(Detector):
    """Failing steps in a row, and varied calls of one tool with one error. O(1) a step."""

    signals = (FAILING, SAME_ERROR)
    needs = frozenset({"results"})

    def __init__(self) -> None:
        self._row: _Row | None = None
        self._errors: dict[str, _Errors] = {}  # by tool

    def boundary(self, boundary: Boundary) -> Sequence[Reading]:
        if boundary.kind is BoundaryKind.USER:
            self._row = None
            self._errors.clear()
        return NONE

    def step_ended(self, step: Step) -> Sequence[Reading]:
        failed: list[Call] = []
        worked = False
        for call in step.calls:
            status = call.status
            if status is CallStatus.OK:
                worked = True
                if self._errors:
                    self._errors.pop(call.tool, None)
            elif status is CallStatus.ERROR and not found_nothing(call):
                failed.append(call)
        if worked:
            self._row = None
        if not failed:
            return NONE
        errors = [ErrorWords(call) for call in failed]
        readings = [] if worked else self._failing(step, failed, errors)
        for call, error in zip(failed, errors, strict=True):
            readings += self._same(call, error)
        return readings

    def _failing(self, step: Step, failed: list[Call], errors: list[ErrorWords]) -> list[Reading]:
        row = self._row
        if row is None:
            row = self._row = _Row(failed[0], errors[0])
        if row.varied:
            keys = {tried(call) for call in failed}
            row.varied = row.keys.isdisjoint(keys) and all(map(row.error.like, errors))
            row.keys |= keys
        row.passing = row.passing and all(call.retryable for call in failed)
        row.count += 1
        if row.count == 1:
            return []
        row.pending += [call.index for call in step.calls]
        if row.varied:
            return []
        redundant, row.pending = tuple(row.pending), []
        return [
            Reading(
                signal=FAILING,
                count=row.count,
                step=step.index,
                call=failed[-1].index,
                group=(FAILING, row.first.step),
                first_step=row.first.step,
                first_call=row.first.index,
                redundant=redundant,
                retryable=row.passing,
            )
        ]

    def _same(self, call: Call, error: ErrorWords) -> list[Reading]:
        if error.key is None:
            return []
        known = self._errors.get(call.tool)
        if known is None or not known.error.like(error):
            self._errors[call.tool] = _Errors(call, error)
            return []
        if call.key in known.keys:
            return []
        known.keys.add(call.key)
        if known.step == call.step:  # side by side: one try
            return []
        known.step = call.step
        known.count += 1
        first = known.first
        return [
            Reading(
                signal=SAME_ERROR,
                count=known.count,
                step=call.step,
                call=call.index,
                group=(SAME_ERROR, first.index),
                first_step=first.step,
                first_call=first.index,
                redundant=(call.index,),
                retryable=bool(call.retryable),
            )
        ]


def tried(call: Call) -> int:
    """The call; of a change to a file only the file: other words for it are no other try."""
    if call.mutates and call.target is not None:
        return hash((call.tool, call.target.path))
    return call.key


def found_nothing(call: Call) -> bool:
    """A search without hits ends with code 1 and says nothing else: an answer, not a failure."""
    text = call.text
    if not text:
        return call.exit_code == 1 and bool(call.blank)
    if len(text) > _SHORT:
        return False
    words = set(_WORD.findall(text.lower().rstrip(".")))
    return words <= _NO_HITS and not words.isdisjoint(_TELLING)
