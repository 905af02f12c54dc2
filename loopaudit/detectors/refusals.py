"""A call that a guard, a rule or the user refused, made again as it was."""

from __future__ import annotations

from collections.abc import Sequence

from loopaudit.detectors.base import NONE, OK, USER, Detector
from loopaudit.findings import Reading, Rule
from loopaudit.model import Boundary, Call, CallStatus

SIGNAL = "refused_again"

RULES: tuple[Rule, ...] = (
    Rule(
        id="refused-again",
        title="A call that was refused was made again as it was",
        looks_for=(
            "The same call refused three times or more, by a guard, by a permission rule or by the "
            "user, whatever the refusal says."
        ),
        not_counted=(
            "A message of the user in between (it may be the permission), a successful change of "
            "state, a call that was let through at last. Refusals side by side in one response are "
            "one. A call that failed is left to other rules."
        ),
        evidence=(
            "openclaw#106231, #119719 and #124332: a guard blocked the call, and the run went on "
            "for hours; kimi-cli#2142: the reminder was ignored 76 times."
        ),
        remedy=(
            "A block that is only a sentence is not obeyed: end the turn at the second refusal, or "
            "withdraw the tool; say in the refusal what may be done instead, without repeating the "
            "call in its words."
        ),
        signal=SIGNAL,
        cause="no-teeth",
        needs=frozenset({"arguments"}),
        family="refusal",
    ),
)

_REFUSED = (CallStatus.BLOCKED, CallStatus.REJECTED)


class _Row:
    __slots__ = ("count", "last", "told")

    def __init__(self, first: Call) -> None:
        self.last = first.step
        self.count = 1
        group = (SIGNAL, first.key, first.index)
        self.told = (
            Reading(
                SIGNAL,
                1,
                first.step,
                group=group,
                first_step=first.step,
                first_call=first.index,
                retryable=False,
            ),
        )


class Refusals(Detector):
    """How often one call was refused in a row. State only per refused call."""

    signals = (SIGNAL,)
    needs = frozenset({"arguments"})

    def __init__(self) -> None:
        self._rows: dict[int, _Row] = {}

    def boundary(self, boundary: Boundary) -> Sequence[Reading]:
        if boundary.kind is USER:
            self._rows.clear()
        return NONE

    def call_ended(self, call: Call) -> Sequence[Reading]:
        status = call.status
        if status not in _REFUSED:
            if self._rows and status is OK:
                if call.mutates:
                    self._rows.clear()
                else:
                    self._rows.pop(call.key, None)
            return NONE
        row = self._rows.get(call.key)
        if row is None:
            self._rows[call.key] = _Row(call)
            return NONE
        if row.last != call.step:
            row.last = call.step
            row.count += 1
        elif row.count == 1:
            return NONE
        reading = row.told[0]
        reading.count = row.count
        reading.step = call.step
        reading.call = call.index
        reading.redundant = (call.index,)
        return row.told
