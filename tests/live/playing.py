"""Plays scenarios for the tests, and replays what they recorded through the real reader."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from loopaudit.findings import Report, Trip
from loopaudit.guards import presets
from loopaudit.guards.preset import Preset
from loopaudit.live.agent import Event, Outcome
from loopaudit.live.play import Ways, play
from loopaudit.live.scenario import Scenario
from loopaudit.live.scenario_file import find
from loopaudit.replay.audit import AuditOptions, audit

GUARDS = (
    "fuses:demo",
    "fuses:production",
    "watchdog:demo",
    "watchdog:production",
    "backstop:demo",
    "backstop:production",
    "loopaudit",
    "retries:demo",
    "retries:production",
)


def sets(*names: str) -> list[Preset]:
    return [presets.load(name, env={}) for name in names]


def played(
    scenario: str | Scenario, *guards: str, language: str = "en", seed: int = 0
) -> tuple[list[Outcome], list[Event], bytes]:
    """Outcomes, all events and the transcript."""
    events: list[Event] = []
    record = io.BytesIO()
    one = find(scenario) if isinstance(scenario, str) else scenario
    outcomes = play(
        one,
        sets(*guards),
        Ways(language=language, seed=seed),
        record=record,
        watch=lambda _, event: events.append(event),
    )
    return outcomes, events, record.getvalue()


def replayed(record: bytes, path: Path, *guards: str) -> Report:
    path.write_bytes(record)
    return audit(AuditOptions([str(path)], guards=guards, processes=1, now=2e9))


def facts(trip: Trip) -> tuple[Any, ...]:
    """What makes two verdicts the same one."""
    return (
        trip.detector,
        trip.level,
        trip.count,
        trip.threshold,
        trip.step,
        trip.call,
        trip.recoverable,
        trip.budget,
        trip.saves_from,
    )
