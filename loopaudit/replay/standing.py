"""How a run is taken when guards are measured: did it do its job, or was it stuck, and who says so?

In this order: a user's verdict on its findings; the outcome that the log records, or the labels
file of runs; a stated rule. A run whose outcome nobody told is taken for stuck if it has a loop
that it did not leave by itself, for healthy if it has none and was not ended by an error, a limit,
a guard or its user, and is left out otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from loopaudit.findings import EndedBy, Finding, OutcomeBy
from loopaudit.replay.audit import AuditedRun
from loopaudit.replay.endings import ERROR, INTERRUPTED, LIMIT, STOPPED
from loopaudit.replay.finding_labels import LOOP, NOT_A_LOOP, Label
from loopaudit.replay.outcomes import Meaning, meaning

#: a finding less sure than this does not make a run stuck
SURE = 0.7


class Standing(StrEnum):
    HEALTHY = "healthy"
    STUCK = "stuck"
    UNKNOWN = "unknown"


class KnownBy(StrEnum):
    LABEL = "label"  # a user's verdict on a finding of it
    OUTCOME = "outcome"  # recorded in the log
    LABELS = "labels file"  # told by the user for the run
    RULE = "rule"  # nobody said; the rules above


@dataclass(frozen=True, slots=True)
class Judged:
    standing: Standing
    by: KnownBy
    loops: tuple[Finding, ...]  # its findings without those that a user said are no loops


#: what is said where runs are taken by rule
RULES_IN_WORDS = (
    "no outcome is recorded: taken for stuck with a loop it did not leave by itself, for healthy"
    " without a loop unless it ends with an error, a limit or an interrupt, else left out"
)


#: who says an outcome that is more than a rule of ours
_TOLD: dict[OutcomeBy | None, KnownBy] = {
    OutcomeBy.LOG: KnownBy.OUTCOME,
    OutcomeBy.LABELS: KnownBy.LABELS,
}
#: endings after which a run without a loop is not taken for healthy
_BROKEN_OFF = frozenset((ERROR, INTERRUPTED, LIMIT, STOPPED))
_MEANS = {Meaning.WELL: Standing.HEALTHY, Meaning.BADLY: Standing.STUCK}


def judged(item: AuditedRun, labels: dict[str, Label]) -> Judged:
    """How one run stands. `labels`: by id of the finding."""
    said = [labels[f.id].verdict for f in item.findings if f.id in labels]
    loops = tuple(
        f for f in item.findings if f.id not in labels or labels[f.id].verdict != NOT_A_LOOP
    )
    if LOOP in said:
        return Judged(Standing.STUCK, KnownBy.LABEL, loops)
    told = item.summary.outcome_by
    if told in _TOLD:
        outcome = outcome_of(item.summary.outcome)
        if outcome is not Standing.UNKNOWN:
            return Judged(outcome, _TOLD[told], loops)
    if said and not loops:
        return Judged(Standing.HEALTHY, KnownBy.LABEL, loops)
    sure = [f for f in loops if f.confidence >= SURE and f.ended_by is not EndedBy.RECOVERED]
    if sure:
        return Judged(Standing.STUCK, KnownBy.RULE, loops)
    ended = item.found.ending
    broken_off = ended is not None and ended.outcome in _BROKEN_OFF
    if loops or broken_off or item.summary.still_running or not len(item.found.columns):
        return Judged(Standing.UNKNOWN, KnownBy.RULE, loops)
    return Judged(Standing.HEALTHY, KnownBy.RULE, loops)


def outcome_of(label: str | None) -> Standing:
    """What a recorded outcome means; unknown words are no outcome."""
    return _MEANS.get(meaning(label), Standing.UNKNOWN)
