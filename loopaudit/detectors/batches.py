"""One batch of calls emitted several times within one response."""

from __future__ import annotations

from collections.abc import Sequence

from loopaudit.detectors.base import NONE, Detector
from loopaudit.findings import Reading, Rule
from loopaudit.model import Call, Step

SIGNAL = "batch_emitted_again"

RULES: tuple[Rule, ...] = (
    Rule(
        id="batch-emitted-again",
        title="One response held the same batch of calls again and again",
        looks_for=(
            "Two calls or more, in the same order and with the same arguments, three times or more "
            "within one response, and the answers equal; one call alone from ten times on. Such a "
            "response did its work once, so it is listed and not charged."
        ),
        not_counted=(
            "A parallel fan-out: calls that differ, one call a few times side by side (samples), "
            "answers that differ. The same batch in later responses is left to cycle and "
            "same-call-same-result."
        ),
        evidence=(
            "A parallel fan-out of six trips 14 of 19 detectors tried; opencode and OpenHands take "
            "three or four equal calls of one response for a loop."
        ),
        remedy=(
            "Drop calls that stand twice in a response and answer them once, set a limit of calls "
            "per response, and a limit of output tokens."
        ),
        signal=SIGNAL,
        cause="no-cut",
        needs=frozenset({"arguments"}),
        family="batch",
    ),
)

#: rounds of one call alone that are no fan-out any more
ALONE = 10
SIDE_BY_SIDE = "side-by-side"
_TOLD = 100  # of them
_ROUNDS = 3
_MOST = 2_000  # calls of one response that are looked at


class Batches(Detector):
    """How often the last batch of a response stands in it. O(1) for responses of a few calls."""

    signals = (SIGNAL,)
    needs = frozenset({"arguments"})

    def __init__(self, alone: int = ALONE) -> None:
        self.alone = alone
        self._side_by_side: list[tuple[str, int, str]] = []

    def dismissed(self) -> Sequence[tuple[str, int, str]]:
        return self._side_by_side

    def step_ended(self, step: Step) -> Sequence[Reading]:
        calls = step.calls
        if len(calls) < 2 * _ROUNDS:
            return NONE
        keys = [call.key for call in calls[-_MOST:]]
        distinct = len(set(keys))
        if distinct * _ROUNDS > len(keys) and len(keys) - distinct < 2 * (_ROUNDS - 1):
            return NONE
        start, period = _rounds(keys)
        if not period or not _answered_alike(calls[-_MOST:][start:], period):
            return NONE
        length = len(keys) - start
        if period == 1 and length < self.alone:
            if len(self._side_by_side) < _TOLD:
                why = f"{calls[-1].tool} {length} times side by side in one response"
                self._side_by_side.append((SIDE_BY_SIDE, step.index, why))
            return NONE
        redundant = calls[-_MOST:][start + period :]
        first = calls[-_MOST:][start]
        return (
            Reading(
                signal=SIGNAL,
                count=length // period,
                step=step.index,
                call=calls[-1].index,
                group=(SIGNAL, step.index),
                first_step=step.index,
                first_call=first.index,
                redundant=tuple(call.index for call in redundant),
                note=f"in one response: {period} call{'s' if period > 1 else ''} each time",
            ),
        )


def _rounds(keys: list[int]) -> tuple[int, int]:
    """(start, period) of the shortest batch that fills the end of `keys` three times or more."""
    last = keys[-1]
    for period in range(1, len(keys) // _ROUNDS + 1):
        if keys[-1 - period] != last:
            continue
        start = len(keys) - 1
        while start >= period and keys[start] == keys[start - period]:
            start -= 1
        start = start - period + 1
        if len(keys) - start >= _ROUNDS * period:
            return start, period
    return 0, 0


def _answered_alike(calls: Sequence[Call], period: int) -> bool:
    return all(
        a.result_key == b.result_key or a.result_key is None or b.result_key is None
        for a, b in zip(calls, calls[period:], strict=False)
    )
