"""Drives guards over a recorded run, in the order of events that `detectors.base` lays down."""

from __future__ import annotations

from collections.abc import Sequence

from loopaudit.findings import Trip
from loopaudit.guards.session import GuardSession
from loopaudit.model import Run, StepKind


def replay_run(run: Run, sessions: Sequence[GuardSession]) -> list[list[Trip]]:
    """Every verdict of each session on `run`, in order. The recording runs on after a stop."""
    return [_replay(run, session) for session in sessions]


def _replay(run: Run, session: GuardSession) -> list[Trip]:
    trips: list[Trip] = []
    proposed, ended = session.call_proposed, session.call_ended
    for step in run.steps:
        for boundary in step.before:
            trips += session.boundary(boundary)
        if step.kind is StepKind.MODEL:
            trips += session.before_step(step.index, step.at)
        trips += session.step_started(step)
        for call in step.calls:
            trips += proposed(call)
        for call in step.calls:
            trips += ended(call)
        trips += session.step_ended(step)
    for boundary in run.after:
        trips += session.boundary(boundary)
    trips += session.run_ended(run)
    return trips
