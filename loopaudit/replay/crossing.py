"""Crossing tables: for each count of a signal the first step at which a run reached it.

A detector counts without knowing a threshold, so its counts are the same for all thresholds, and
any threshold can afterwards be looked up: the first stop is where the count first met it. What
cannot be looked up so is kept as it came: events with several readings under a policy that takes
the first rule only (`mixed`), and every event under a policy whose state depends on the thresholds
(`events`), such as a renewed budget.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from loopaudit.findings import Level, Reading, Trip
from loopaudit.guards.policy import ONCE, Policy, policy
from loopaudit.guards.preset import Preset, PresetRule
from loopaudit.guards.session import GuardSession
from loopaudit.model import Boundary, BoundaryKind, Run
from loopaudit.replay.replay import replay_run

Key = tuple[str, bool]  # signal, and whether the thresholds for known waits are meant
Mixed = tuple[tuple[str, float, bool], ...]  # (signal, count, poll) of each reading of one event


@dataclass(slots=True)
class Series:
    """Counts as they grew: `values` rise; `saves_from` is the first step that a stop at that count
    would have saved (the number of steps where it came too late to save any)."""

    values: array[float] = field(default_factory=lambda: array("d"))
    saves_from: array[int] = field(default_factory=partial(array, "i"))

    def add(self, value: float, step: int) -> None:
        if not self.values or value > self.values[-1]:
            self.values.append(value)
            self.saves_from.append(step)


@dataclass(frozen=True, slots=True)
class Event:
    """What a policy was told: a user's message (no readings, `step` -1), the moment before a step
    (no readings), or readings after which `step` is the next one to be paid for."""

    step: int
    readings: tuple[Reading, ...] = ()


@dataclass(slots=True)
class Crossings:
    """All that one guard set counted on one run."""

    series: dict[Key, Series] = field(default_factory=dict)
    mixed: dict[Mixed, int] = field(default_factory=dict)  # -> first step it would have saved
    events: list[Event] = field(default_factory=list)
    undecidable: list[tuple[str, str]] = field(default_factory=list)


def needs_replay(preset: Preset) -> bool:
    """Does the first stop depend on more than the counts of one event?

    So with a budget that progress renews, and where a warning that is given only once takes the
    verdict from the rules after it.
    """
    if preset.policy == "watchdog":
        return True
    return preset.policy == "first" and any(
        not level.stops and (rule.once or level in ONCE)
        for rule in preset.rules
        for level, _ in rule.thresholds.levels
    )


def record(run: Run, preset: Preset) -> Crossings:
    """The crossing tables of `run` under the rules of `preset`, whatever their thresholds."""
    found = Crossings()
    session = GuardSession(
        preset,
        task_type=run.task_type,
        missing=run.missing,
        policy=partial(_Recorder, found=found),
    )
    replay_run(run, [session])
    found.undecidable = list(session.undecidable)
    return found


class _Recorder(Policy):
    """Stands in the place of a policy and writes down what it is told."""

    def __init__(self, preset: Preset, rules: Iterable[PresetRule], *, found: Crossings) -> None:
        rules = list(rules)
        super().__init__(preset, rules)
        self._found = found
        self._by_signal = {rule.signal: rule for rule in rules}
        self._all = needs_replay(preset)

    def boundary(self, boundary: Boundary) -> None:
        if self._all and boundary.kind is BoundaryKind.USER:
            self._found.events.append(Event(-1))

    def judge(
        self, readings: Sequence[Reading], position: int | None, saves_from: int
    ) -> Sequence[Trip]:
        if self._all:
            kept = tuple(_bare(reading) for reading in readings)
            self._found.events.append(Event(saves_from, kept))
            return ()
        now = []
        for reading in readings:
            rule = self._by_signal.get(reading.signal)
            if rule is None:
                continue
            if rule.before_step:
                self._waiting[reading.signal] = reading
            else:
                now.append(reading)
        if now:
            self._note(now, saves_from)
        return ()

    def before_step(self, step: int) -> Sequence[Trip]:
        if self._all:
            self._found.events.append(Event(step))
        elif self._waiting:
            self._note(list(self._waiting.values()), step)
            self._waiting.clear()
        return ()

    def _note(self, readings: list[Reading], step: int) -> None:
        found = self._found
        parts = tuple(
            (r.signal, r.count, r.poll and self._by_signal[r.signal].poll is not None)
            for r in readings
        )
        if self._first and len(parts) > 1:
            found.mixed.setdefault(parts, step)
            return
        for signal, count, poll in parts:
            series = found.series.get((signal, poll))
            if series is None:
                series = found.series[signal, poll] = Series()
            series.add(count, step)


def _bare(reading: Reading) -> Reading:
    """A reading without its evidence: what a policy looks at."""
    return Reading(
        reading.signal,
        reading.count,
        reading.step,
        group=reading.group,
        poll=reading.poll,
        note=reading.note,
    )


def first_acts(events: Iterable[Event], preset: Preset) -> tuple[int | None, int | None]:
    """The first step that a stop by `preset` would have saved, and the first one that a milder act
    before it would have, by its policy on recorded events."""
    judge = policy(preset, [r for r in preset.rules if r.detector_class.scope == "run"])
    user = Boundary(BoundaryKind.USER, 0, "")
    trips: Sequence[Trip]
    mild: int | None = None
    for event in events:
        if event.readings:
            trips = judge.judge(event.readings, None, event.step)
        elif event.step < 0:
            judge.boundary(user)
            continue
        else:
            trips = judge.before_step(event.step)
        for trip in trips:
            if trip.level.stops:
                return trip.saves_from, mild
            if mild is None:
                mild = trip.saves_from
    return None, mild


def with_thresholds(preset: Preset, chosen: dict[tuple[str, Level, bool], float | None]) -> Preset:
    """`preset` with thresholds replaced: (signal, level, for known waits) -> number, None: never.

    What differs by task type is dropped: the thresholds hold for every type.
    """
    rules = []
    for rule in preset.rules:
        for poll in (False, True):
            own = rule.poll if poll else rule.thresholds
            if own is None:
                continue
            levels = []
            for level, number in own.levels:
                wanted = chosen.get((rule.signal, level, poll), number)
                if wanted is not None:
                    levels.append((level, wanted))
            changed = replace(own, levels=tuple(levels))
            rule = replace(rule, poll=changed) if poll else replace(rule, thresholds=changed)
        rules.append(rule)
    return replace(preset, rules=tuple(rules), task_types={})


__all__ = [
    "Crossings",
    "Event",
    "Series",
    "first_acts",
    "needs_replay",
    "record",
    "with_thresholds",
]
