"""What is said of a finding: how it ended, does a retry help, how sure it is."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from itertools import pairwise

from loopaudit.findings import EndedBy, Finding, Retryable
from loopaudit.model import BoundaryKind, Call, CallStatus, Run
from loopaudit.replay.chains import Chain, report_from

_ENDS = {
    BoundaryKind.GUARD_STOP: EndedBy.GUARD,
    BoundaryKind.LIMIT: EndedBy.LIMIT,
    BoundaryKind.INTERRUPT: EndedBy.USER,
    BoundaryKind.USER: EndedBy.USER,
}
# "2 failed", "3 errors", "--- FAIL", "Failures: 2", "失败 2 项": a result that reports a failure
# though the call itself succeeded
_REPORTS_FAILURE = re.compile(
    r"\b[1-9]\d*\s+(?:\w+\s+)?(?:failed|failures?|failing|errors?)\b"
    r"|\b(?:failed|failures?|errors?)\s?[:=]\s?[1-9]"
    r"|^(?:-{3} )?FAIL(?:ED)?\b|\bnot ok [1-9]"
    r"|[1-9]\d*\s?[个项条处]?\s?(?:测试|用例|检查)?(?:失败|错误|未通过)"
    r"|(?:失败|错误|未通过)\s?[:：]?\s?[1-9]",
    re.IGNORECASE | re.MULTILINE,
)
_DENIED = (CallStatus.REJECTED, CallStatus.BLOCKED)
#: repeats of a chain looked at for such words: results of a chain are equal, not all are quoted
_LOOKED_AT = 8


def ended_by(run: Run, steps: Sequence[int], keys: Collection[int]) -> EndedBy:
    """How a loop ended. `steps`: its redundant steps in order; `keys`: of the calls it repeats."""
    last = steps[-1]
    gaps = sorted(b - a for a, b in pairwise(steps)) or [1]
    gap = gaps[len(gaps) // 2]  # the usual one: a stretch of other work in between says nothing
    statuses = {call.status for call in run.steps[last].calls}
    for step in run.steps[last + 1 :]:  # repeats that were stopped before they had a result
        ended = any(boundary.kind in _ENDS for boundary in step.before)
        if ended or not step.calls or any(call.key not in keys for call in step.calls):
            break
        statuses.update(call.status for call in step.calls)
        last = step.index
    rest = len(run.steps) - 1 - last
    if rest and rest < gap and run.steps[-1].calls:  # the log ends before the next occurrence
        rest = 0
    kinds = {boundary.kind for boundary in (run.steps[last + 1].before if rest else run.after)}
    for kind, end in _ENDS.items():
        if kind in kinds:
            return end
    if CallStatus.INTERRUPTED in statuses:
        return EndedBy.USER
    if CallStatus.BLOCKED in statuses:
        return EndedBy.GUARD
    return EndedBy.RECOVERED if rest else EndedBy.END_OF_LOG


def retryable(calls: Sequence[Call], group: Sequence[Chain]) -> Retryable:
    """Would the same calls, unchanged, be likely to work later?"""
    answers = {chain.retryable for chain in group}
    if False in answers:
        return Retryable.NO
    if True in answers:
        return Retryable.YES
    for chain in group:
        for call in (calls[index] for index in chain.calls[:_LOOKED_AT]):
            if (
                call.exit_code
                or call.status in _DENIED
                or (call.text and call.target is None and _REPORTS_FAILURE.search(call.text))
            ):
                return Retryable.NO
    return Retryable.NOT_APPLICABLE


def reason(chain: Chain, calls: Sequence[Call]) -> str:
    """One chain in words: rule, tool, count."""
    reading = chain.last
    tool = "" if reading.first_call is None else f" {calls[reading.first_call].tool}"
    if reading.period:
        tool = ""
        often = f"{int(reading.count)} rounds of {reading.period} steps"
    else:
        often = f"{int(reading.count)} times"
    note = f", {reading.note}" if reading.note else ""
    return f"{chain.document.id}:{tool} {often}{note}"


#: how sure a rule is by itself, by its family
_SURE = {"cycle": 0.95, "failure": 0.6, "growth": 0.7, "batch": 0.6}
_SURE_ELSE = 0.9


def confidence(
    run: Run, calls: Sequence[Call], group: Sequence[Chain], finding: Finding
) -> tuple[float, str]:
    """0..1 with what raised or lowered it."""
    primary = group[0]
    rule = primary.document
    value, why = _SURE.get(rule.family, _SURE_ELSE), []
    failing = primary.retryable is not None
    if value < _SURE_ELSE:
        why.append(
            f"the calls differ, only their {'failure' if failing else 'answer'} is the same"
            if rule.family in ("failure", "growth")
            else "one response can hold equal calls on purpose"
        )
    if primary.poll:
        value -= 0.1
        why.append("a wait may have been meant")
    count, least = primary.last.count, report_from(primary.rule, primary.poll)
    if count >= 2 * least:
        value += 0.05
        why.append(f"{int(count)} times, reported from {least:g}")
    elif count == least and finding.ended_by is EndedBy.RECOVERED:
        value -= 0.2
        why.append("just as often as is reported, and the agent went on by itself")
    if rule.family == "repeat" and _only_masked(calls, primary):
        value -= 0.05
        why.append("the results are equal apart from ids, times and the like")
    if _changed_meanwhile(run, finding):
        value -= 0.3
        why.append("other state changed meanwhile")
    if not finding.waste.steps and primary.steps and rule.family != "batch":
        value -= 0.2
        why.append("useful calls stood beside each repeat")
    return round(min(max(value, 0.1), 0.99), 2), "; ".join(why) or _plainly(primary)


def _plainly(primary: Chain) -> str:
    """What makes a finding sure, where nothing raised or lowered that."""
    if primary.attempts:
        return "each attempt is recorded"
    if primary.document.family == "text":
        return "the same words, and nothing done"
    return "equal calls, equal results"


def _only_masked(calls: Sequence[Call], chain: Chain) -> bool:
    first = chain.last.first_call
    return first is not None and any(calls[c].result != calls[first].result for c in chain.calls)


def _changed_meanwhile(run: Run, finding: Finding) -> bool:
    redundant = {entry.step for entry in finding.waste.steps}
    return any(
        call.mutates and call.status is CallStatus.OK
        for step in run.steps[finding.onset.step : finding.last.step]
        if step.index not in redundant
        for call in step.calls
    )
