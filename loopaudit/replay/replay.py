"""Drives guards over a recorded run, in the order of events that `detectors.base` lays down."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Iterator, Sequence

from loopaudit.findings import Trip, Verdict
from loopaudit.guards.service import ServiceSession
from loopaudit.guards.session import GuardSession
from loopaudit.model import BoundaryKind, Run, Step, StepKind


def replay_run(run: Run, sessions: Sequence[GuardSession]) -> list[list[Trip]]:
    """Every verdict of each session on `run`, in order. The recording runs on after a stop."""
    return [_replay(run, session) for session in sessions]


def _replay(run: Run, session: GuardSession) -> list[Trip]:
    trips: list[Trip] = []
    proposed = session.call_proposed if session.hears("call_proposed") else None
    ended = session.call_ended
    for step in run.steps:
        for boundary in step.before:
            trips += session.boundary(boundary)
        if step.kind is StepKind.MODEL:
            trips += session.before_step(step.index, step.at)
        trips += session.step_started(step)
        if proposed is not None:
            for call in step.calls:
                trips += proposed(call)
        for call in step.calls:
            if told := ended(call):
                trips += told
        if told := session.step_ended(step):
            trips += told
    for boundary in run.after:
        trips += session.boundary(boundary)
    stopped = any(boundary.kind is BoundaryKind.GUARD_STOP for boundary in run.after)
    if stopped or run.attempts_after:  # a next step was due: a guard forbade it, or it only failed
        trips += session.before_step(len(run.steps))
    trips += session.run_ended(run)
    return trips


def replay_service(
    runs: Iterable[tuple[str, Sequence[Step]]], session: ServiceSession
) -> list[Verdict]:
    """Every verdict of a meter over all runs (id, steps), their steps merged by time."""
    timed = [_timed(number, run, steps) for number, (run, steps) in enumerate(runs)]
    return [
        Verdict(run, trip)
        for _, _, _, run, step in heapq.merge(*timed)
        for trip in session.step_ended(run, step)
    ]


def _timed(
    number: int, run: str, steps: Sequence[Step]
) -> Iterator[tuple[float, int, int, str, Step]]:
    """Steps with a key to merge by; one without a time stands with the one before it."""
    now = -math.inf
    for position, step in enumerate(steps):
        at = step.at if step.ended is None else step.ended
        if at is not None and at > now:
            now = at
        yield now, number, position, run, step
