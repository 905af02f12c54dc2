"""Findings about failed API attempts: no step was redundant, but time and input were spent."""

from __future__ import annotations

from collections.abc import Sequence

from loopaudit.findings import EndedBy, Finding, Place, Waste
from loopaudit.model import Attempt, BoundaryKind, Run, UsageMark
from loopaudit.replay.chains import Chain
from loopaudit.replay.verdicts import reason, retryable

_NOT_BILLED = "what the failed attempts cost: no log tells their usage"
_NOT_TIMED = "how long it waited: neither waits nor times are recorded"
_NOT_SENT = "how much input was sent again: no response tells it"


def storm(run: Run, group: Sequence[Chain]) -> Finding:
    """One finding for chains about the attempts before one response, or after the last one."""
    primary = group[0]
    number = primary.last.step
    attempts = max((chain.attempts[number] for chain in group), key=len)
    answered = number < len(run.steps) and attempts[0] in run.steps[number].attempts
    error = attempts[-1]
    what = " ".join(str(part) for part in (error.http_status, error.code or error.error) if part)
    return Finding(
        rule=primary.document.id,
        run=run.id,
        occurrences=int(primary.last.count),
        first_seen=_place(run, number, attempts[0]),
        onset=_place(run, number, attempts[min(1, len(attempts) - 1)]),
        last=_place(run, number, attempts[-1]),
        ended_by=_ended_by(run, answered, error),
        retryable=retryable((), group),
        call=f"model API: {what}"[:200],
        waste=_waste(run, number, attempts, answered),
        reasons=[reason(chain, ()) for chain in group],
    )


def _place(run: Run, number: int, attempt: Attempt) -> Place:
    path = run.steps[number].path if number < len(run.steps) else run.path
    return Place(run.id, number, None, path, attempt.line, attempt.at)


def _ended_by(run: Run, answered: bool, last: Attempt) -> EndedBy:
    if answered:
        return EndedBy.RECOVERED
    kinds = {boundary.kind for boundary in run.after if boundary.line > last.line}
    if kinds & {BoundaryKind.USER, BoundaryKind.INTERRUPT}:
        return EndedBy.USER
    return EndedBy.LIMIT if last.gave_up or BoundaryKind.LIMIT in kinds else EndedBy.END_OF_LOG


def _waste(run: Run, number: int, attempts: Sequence[Attempt], answered: bool) -> Waste:
    waste = Waste(unknown=[_NOT_BILLED])
    step = run.steps[number] if answered else None
    waste.waited = _waited(attempts, None if step is None else step.at)
    if waste.waited is None:
        waste.unknown.append(_NOT_TIMED)
    usage = None if step is None else step.usage
    sent = None if usage is None or usage.mark is UsageMark.ABSENT else usage.input
    if sent is None:
        waste.unknown.append(_NOT_SENT)
    else:
        waste.resent = sent * len(attempts)
    return waste


def _waited(attempts: Sequence[Attempt], answered_at: float | None) -> float | None:
    """Seconds from failure to next attempt, in all; None where the log tells neither."""
    times = [attempt.at for attempt in attempts if attempt.at is not None]
    if answered_at is not None and times and answered_at >= times[0]:
        return answered_at - times[0]
    if len(times) == len(attempts) > 1:
        return max(0.0, times[-1] - times[0])
    waits = [a.wait for a in attempts if a.wait is not None and a.wait >= 0]
    return sum(waits) if waits else None
