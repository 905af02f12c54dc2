"""Retries that cannot help, are too many, come too soon or late, or stand inside other retries.

Calls of tools are looked at here, attempts at the model's API in `attempts`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar

from loopaudit.detectors import attempts
from loopaudit.detectors.attempts import LASTING, NESTED, OVER_POLICY, PERMANENT, WAIT
from loopaudit.detectors.base import COMPACTION, COMPACTION_STEP, ERROR, NONE, OK, USER, Detector
from loopaudit.detectors.progress import NEVER, Progress
from loopaudit.findings import Reading, Rule
from loopaudit.model import (
    Boundary,
    Call,
    ErrorClass,
    Run,
    Step,
)

RULES: tuple[Rule, ...] = (
    Rule(
        id="permanent-error-retried",
        title="A call that cannot work was made again unchanged",
        looks_for=(
            "The same call failing again with an error that no wait cures: a bad argument, a "
            "missing file or tool, old text not found, no permission, any 4xx but 408 and 429, a "
            "spent quota, a full context. Attempts at the model's API are counted likewise."
        ),
        not_counted=(
            "Another error or a success, a successful change of state in between (of the same "
            "file where the call names one), a real user message. The first try after the context "
            "was compacted is excused once. Failing tests and unknown errors are left to other "
            "rules; equal calls side by side in one response are one try."
        ),
        evidence=(
            "On 15,334 runs with a known outcome three such tries stand in 0.3 % of the successes "
            "and 45 % of the failures (0.2 % and 11 % without SQL tasks). A budget refusal sent as "
            "429 was retried about 36 times per call (cognee#4679)."
        ),
        remedy=(
            "Say in the error that it is final and what would work instead; withdraw a tool that "
            "is gone; answer a spent quota with another status than 429."
        ),
        signal=PERMANENT,
        cause="no-retry-class",
        needs=frozenset({"results", "arguments"}),
        family="retry",
    ),
    *attempts.RULES,
)

_PASSING = frozenset({ErrorClass.TRANSIENT, ErrorClass.THROTTLED})
#: "failed after 3 attempts", "retried 4 times", "重试3次"
_INNER = re.compile(
    r"\b(?:after|in|all|exhausted) ([0-9]{1,3}) (attempts|tries|retries)"
    r"|\bretried ([0-9]{1,3}) times|重试了?\s*([0-9]{1,3})\s*次",
    re.IGNORECASE,
)


class _Row:
    """Failures of one call in a row."""

    __slots__ = ("attempts", "count", "excused", "first", "last", "told")

    def __init__(self, call: Call) -> None:
        self.first = self.last = call
        self.count = 1
        self.excused = False  # one try after a loss of memory was let pass
        self.attempts = 0  # tries inside the calls so far, as their errors tell
        self.told: tuple[Reading] | None = None

    def tell(
        self, signal: str, count: int, call: Call, retryable: bool, note: str | None = None
    ) -> tuple[Reading]:
        told, first = self.told, self.first
        if told is None:
            group = (call.key, first.index)
            told = self.told = (Reading(signal, 0, 0, None, group, first.step, first.index),)
        reading = told[0]
        reading.count = count
        reading.step = call.step
        reading.call = call.index
        reading.redundant = (call.index,)
        reading.retryable = retryable
        reading.note = note
        return told


class Retries(Detector):
    """Readings: `permanent_retried`, `retries_over_policy`, `wait_outside_interval`,
    `nested_retries`. The numbers are those of the wait before a retry, times in seconds.

    Counts: failures in a row; retries of one step by one layer; waits outside so far in one
    request; attempts in all.
    """

    signals = (PERMANENT, OVER_POLICY, WAIT, NESTED)
    needs_more: ClassVar = {PERMANENT: frozenset({"results", "arguments"})}

    def __init__(
        self, base: float = 0.5, factor: float = 2.0, cap: float = 30.0, jitter: float = 0.25
    ) -> None:
        self._waits = {"base": base, "factor": factor, "cap": cap, "jitter": jitter}
        self._rows: dict[int, _Row] = {}  # failures in a row, by call key
        self._progress = Progress()
        self._at = NEVER  # newest answered call
        self._lost_at = NEVER  # newest answered call before the last loss of memory

    def boundary(self, boundary: Boundary) -> Sequence[Reading]:
        if boundary.kind is USER:
            self._rows.clear()
            self._progress.forget()
        elif boundary.kind is COMPACTION:
            self._lost_at = self._at
        return NONE

    def step_started(self, step: Step) -> Sequence[Reading]:
        if step.kind is COMPACTION_STEP:
            self._lost_at = self._at
        if not step.attempts:
            return NONE
        return attempts.readings(
            step.attempts, step.before, step.index, self._waits, answered=True, answered_at=step.at
        )

    def run_ended(self, run: Run) -> Sequence[Reading]:
        if not run.attempts_after:
            return NONE
        last = run.steps[-1].index if run.steps else 0
        return attempts.readings(run.attempts_after, run.after, last, self._waits, answered=False)

    # -- calls ------------------------------------------------------------------------------------

    def call_ended(self, call: Call) -> Sequence[Reading]:
        status = call.status
        if status is OK:
            self._at = call.index
            if self._rows:
                self._rows.pop(call.key, None)
            if call.mutates or call.spawns:
                self._progress.note(call)
        elif status is ERROR:
            self._at = call.index
            if call.error in LASTING:
                return self._lasting(call)
            if call.error in _PASSING:
                return self._passing(call)
            if self._rows:
                self._rows.pop(call.key, None)
        return NONE

    def _lasting(self, call: Call) -> Sequence[Reading]:
        row = self._rows.get(call.key)
        if row is None or not _same_failure(row.last, call):
            self._rows[call.key] = _Row(call)
            return NONE
        last = row.last
        if last.step != call.step:  # else side by side: one try
            if self._progress.since(last.index, call.target):
                self._rows[call.key] = _Row(call)
                return NONE
            row.count += 1
            row.last = call
            if self._lost_at >= last.index and not row.excused:
                row.excused = True
                return NONE
        elif row.count == 1:
            return NONE
        return row.tell(PERMANENT, row.count, call, retryable=False)

    def _passing(self, call: Call) -> Sequence[Reading]:
        row = self._rows.get(call.key)
        if row is None or row.last.error not in _PASSING:
            row = self._rows[call.key] = _Row(call)
            row.attempts = _inner_attempts(call)
            return NONE
        if row.last.step == call.step:
            return NONE
        inner = _inner_attempts(call)
        row.last = call
        row.count += 1
        row.attempts += inner
        if inner < 2:
            return NONE
        note = f"{row.count} calls, each retried inside"
        return row.tell(NESTED, row.attempts, call, retryable=True, note=note)


def _same_failure(a: Call, b: Call) -> bool:
    """Equal errors: in structure where it is recorded, else in the masked text."""
    if a.error is not b.error:
        return False
    if a.http_status is not None and a.http_status == b.http_status:
        return True
    if a.error_key is not None and a.error_key == b.error_key:
        return True
    return a.result is not None and (a.result == b.result or a.result_key == b.result_key)


def _inner_attempts(call: Call) -> int:
    """Attempts inside a call, as its error tells; 1 where it tells nothing."""
    found = _INNER.search(call.text) if call.text else None
    if found is None:
        return 1
    if found[1] is not None:
        return int(found[1]) + (found[2].lower() == "retries")
    return int(found[3] or found[4]) + 1
