"""Drives guards over a recorded run, in the order of events that `detectors.base` lays down."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Iterator, Sequence

from loopaudit.findings import Verdict
from loopaudit.guards.service import ServiceSession
from loopaudit.guards.session import GuardSession
from loopaudit.guards.trips import Trips
from loopaudit.model import BoundaryKind, Run, Step


def replay_run(run: Run, sessions: Sequence[GuardSession]) -> list[Trips]:
    """Every verdict of each session on `run`, in order. The recording runs on after a stop."""
    return [_replay(run, session) for session in sessions]


def _replay(run: Run, session: GuardSession) -> Trips:
    trips = session.replay(run.steps)
    for boundary in run.after:
        trips.extend(session.boundary(boundary))
    stopped = any(boundary.kind is BoundaryKind.GUARD_STOP for boundary in run.after)
    if stopped or run.attempts_after:  # a next step was due: a guard forbade it, or it only failed
        trips.extend(session.before_step(len(run.steps)))
    trips.extend(session.run_ended(run))
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
