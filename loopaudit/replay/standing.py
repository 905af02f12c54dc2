"""How a run is taken when guards are measured: did it do its job, or was it stuck, and who says so?

In this order: a user's label on its findings; the outcome that the log records; a stated rule. A
run whose outcome nobody recorded is taken for stuck if it has a loop that it did not leave by
itself, for healthy if it has none and its log ends with an answer, and is left out otherwise.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from loopaudit.findings import EndedBy, Finding
from loopaudit.replay.audit import AuditedRun
from loopaudit.replay.labels import LOOP, NOT_A_LOOP, Label

#: a finding less sure than this does not make a run stuck
SURE = 0.7
_WELL = re.compile(r"success|succeeded|passed|pass|solved|resolved|ok|true|completed|correct", re.I)
_BADLY = re.compile(
    r"fail\w*|error\w*|unresolved|unsolved|wrong|incorrect|false|stuck|looped|timeout|aborted", re.I
)


class Standing(StrEnum):
    HEALTHY = "healthy"
    STUCK = "stuck"
    UNKNOWN = "unknown"


class KnownBy(StrEnum):
    LABEL = "label"  # a user's verdict on its findings
    OUTCOME = "outcome"  # recorded in the log
    RULE = "rule"  # nobody said; the rules above


@dataclass(frozen=True, slots=True)
class Judged:
    standing: Standing
    by: KnownBy
    loops: tuple[Finding, ...]  # its findings without those that a user said are no loops


#: what is said where runs are taken by rule
RULES_IN_WORDS = (
    "no outcome is recorded: taken for stuck with a loop it did not leave by itself, for healthy"
    " without a loop, and left out otherwise"
)


def judged(item: AuditedRun, labels: dict[str, Label]) -> Judged:
    """How one run stands. `labels`: by id of the finding."""
    said = [labels[f.id].verdict for f in item.findings if f.id in labels]
    loops = tuple(
        f for f in item.findings if f.id not in labels or labels[f.id].verdict != NOT_A_LOOP
    )
    if LOOP in said:
        return Judged(Standing.STUCK, KnownBy.LABEL, loops)
    outcome = outcome_of(item.found.run.outcome)
    if outcome is not Standing.UNKNOWN:
        return Judged(outcome, KnownBy.OUTCOME, loops)
    if said and not loops:
        return Judged(Standing.HEALTHY, KnownBy.LABEL, loops)
    sure = [f for f in loops if f.confidence >= SURE and f.ended_by is not EndedBy.RECOVERED]
    if sure:
        return Judged(Standing.STUCK, KnownBy.RULE, loops)
    if loops or item.summary.still_running or not len(item.found.columns):
        return Judged(Standing.UNKNOWN, KnownBy.RULE, loops)
    return Judged(Standing.HEALTHY, KnownBy.RULE, loops)


def outcome_of(label: str | None) -> Standing:
    """What a recorded outcome means; unknown words are no outcome."""
    if label is None:
        return Standing.UNKNOWN
    word = label.strip()
    if _WELL.fullmatch(word):
        return Standing.HEALTHY
    return Standing.STUCK if _BADLY.fullmatch(word) else Standing.UNKNOWN
