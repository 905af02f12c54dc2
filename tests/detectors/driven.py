"""Runs with times, attempts and costs, and the readings of one detector on them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from typing import Any

from loopaudit.detectors.base import Detector
from loopaudit.findings import Reading
from loopaudit.model import (
    Attempt,
    Boundary,
    BoundaryKind,
    Call,
    CallStatus,
    ErrorClass,
    Run,
    Step,
    Usage,
)

USER = BoundaryKind.USER
OK, ERROR = CallStatus.OK, CallStatus.ERROR


def bound(kind: BoundaryKind = USER, at: float | None = None, line: int = 0) -> Boundary:
    return Boundary(kind, line, "r.jsonl", at)


def called(
    start: float | None = None,
    end: float | None = None,
    *,
    tool: str = "Bash",
    status: CallStatus = OK,
    **more: Any,
) -> Call:
    result = None if status is CallStatus.UNANSWERED else 1
    return Call(
        0, 0, 0, None, tool, hash(tool), 0,
        status=status, started=start, ended=end, result=result, **more,
    )  # fmt: skip


def tried(
    at: float | None = None,
    *,
    error: ErrorClass = ErrorClass.TRANSIENT,
    line: int = 0,
    **more: Any,
) -> Attempt:
    return Attempt(line, at, error, **more)


def stepped(at: float | None = None, *calls: Call, tokens: int | None = None, **more: Any) -> Step:
    usage = None if tokens is None else Usage(fresh_input=tokens, output=0)
    more.setdefault("usage", usage)
    return Step(0, "r.jsonl", 0, at=at, calls=list(calls), **more)


def run_of(
    items: Iterable[Step | Boundary], attempts_after: Iterable[Attempt] = (), **more: Any
) -> Run:
    """Steps and boundaries in order; numbers are filled in as `ingest` does."""
    run = Run("r", "r.jsonl", "test", **more)
    before: list[Boundary] = []
    flat = 0
    for item in items:
        if isinstance(item, Boundary):
            before.append(item)
            continue
        item.index, item.before, before = len(run.steps), before, []
        times = [item.ended, item.at]
        for position, call in enumerate(item.calls):
            call.index, call.step, call.position = flat, item.index, position
            flat += 1
            times.append(call.ended)
        item.ended = max((t for t in times if t is not None), default=None)
        run.steps.append(item)
    run.after, run.attempts_after = before, list(attempts_after)
    return run


def readings(detector: Detector, run: Run) -> list[Reading]:
    """Copies of all readings, in the order of events that `detectors.base` lays down."""
    found: list[Reading] = []

    def take(said: Sequence[Reading]) -> None:
        found.extend(map(copy, said))

    for step in run.steps:
        for boundary in step.before:
            take(detector.boundary(boundary))
        take(detector.step_started(step))
        for call in step.calls:
            take(detector.call_proposed(call))
        for call in step.calls:
            take(detector.call_ended(call))
        take(detector.step_ended(step))
    for boundary in run.after:
        take(detector.boundary(boundary))
    take(detector.run_ended(run))
    return found


def counts(found: Iterable[Reading], signal: str) -> list[int | float]:
    return [reading.count for reading in found if reading.signal == signal]
