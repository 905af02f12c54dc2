"""Compares counts with thresholds and names the action; the watchdog's renewal and repair."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from loopaudit.findings import Level, Reading, Trip
from loopaudit.guards.preset import Preset, PresetRule
from loopaudit.model import Boundary, BoundaryKind

NONE: tuple[Trip, ...] = ()

#: what is said or done once per chain; a warning and a stop are given at each event that holds,
#: except by rules marked `once`: a sum that has passed its limit stays above it
ONCE = frozenset({Level.CONVERGE, Level.ALERT, Level.WITHDRAW})

# readings of the watchdog's detector that are no rule of their own (see `detectors.watchdog`)
_STEPS, _PROGRESS = "request_steps", "progress"
_RECOVERABLE = frozenset({"repeated_action", "consecutive_errors", "no_progress"})


class Policy:
    """`first`: the first rule that holds is the verdict; `each`: every rule may give one.

    Within a rule the strongest level that holds counts.
    """

    def __init__(self, preset: Preset, rules: Iterable[PresetRule]) -> None:
        self._rules = {r.signal: (rank, _floor(r), r) for rank, r in enumerate(rules)}
        self._first = preset.policy != "each"
        self._told: set[tuple[object, ...]] = set()
        self._waiting: dict[str, Reading] = {}  # for rules judged before the next step

    def boundary(self, boundary: Boundary) -> None:
        """A boundary has passed; the detectors have seen it."""

    def judge(
        self, readings: Sequence[Reading], position: int | None, saves_from: int
    ) -> Sequence[Trip]:
        """Verdicts on the readings of one event about the call at `position`, or about a step."""
        found: list[tuple[int, Trip]] = []
        for reading in readings:
            known = self._rules.get(reading.signal)
            if known is None:
                continue
            rank, floor, rule = known
            if rule.before_step:
                self._waiting[reading.signal] = reading
                continue
            if reading.count < floor or (self._first and found and found[-1][0] < rank):
                continue
            trip = self._verdict(reading, rule, reading.step, position, saves_from)
            if trip is not None:
                found.append((rank, trip))
        return self._choose(found) if found else NONE

    def before_step(self, step: int) -> Sequence[Trip]:
        """Verdicts due before step number `step`."""
        if not self._waiting:
            return NONE
        found = []
        for signal, reading in self._waiting.items():
            rank, _, rule = self._rules[signal]
            trip = self._verdict(reading, rule, step, None, step)
            if trip is not None:
                found.append((rank, trip))
        self._waiting.clear()
        return self._choose(found) if found else NONE

    def _verdict(
        self, reading: Reading, rule: PresetRule, step: int, position: int | None, saves_from: int
    ) -> Trip | None:
        count = reading.count
        limits = rule.poll if reading.poll and rule.poll is not None else rule.thresholds
        for level, threshold in limits.levels:
            if not (count > threshold or (count == threshold and not rule.over)):
                continue
            once = rule.once or level in ONCE
            if once and (reading.signal, level, reading.group) in self._told:
                return None
            return Trip(
                reading.signal,
                level,
                count,
                threshold,
                step,
                position,
                rule.reason,
                saves_from=saves_from,
                first_step=reading.first_step,
                group=reading.group,
            )
        return None

    def _choose(self, found: list[tuple[int, Trip]]) -> Sequence[Trip]:
        if len(found) > 1:
            found.sort(key=_rank)
        trips = [trip for _, trip in (found[:1] if self._first else found)]
        for trip in trips:
            if trip.level in ONCE or self._rules[trip.detector][2].once:
                self._told.add((trip.detector, trip.level, trip.group))
        return trips


def _floor(rule: PresetRule) -> float:
    """No count below this meets a threshold of `rule`."""
    levels = rule.thresholds.levels + (rule.poll.levels if rule.poll is not None else ())
    return min((number for _, number in levels), default=math.inf)


def _rank(found: tuple[int, Trip]) -> int:
    return found[0]


class Watchdog(Policy):
    """A soft budget of steps, renewed while there is progress; one repair per request, then stop.

    A stop or a repair resets no counter. An exhausted budget ends the request; a real user message
    starts a new one (guards.md §2).
    """

    def __init__(self, preset: Preset, rules: Iterable[PresetRule]) -> None:
        super().__init__(preset, rules)
        self._base = int(preset.limits["base_steps"])
        self.hard_max = int(preset.limits.get("hard_max_steps", 4 * self._base))
        self._start()

    def _start(self) -> None:
        self.budget = self._base
        self._steps = 0
        self._repaired = False

    def boundary(self, boundary: Boundary) -> None:
        if boundary.kind is BoundaryKind.USER:
            self._start()

    def judge(
        self, readings: Sequence[Reading], position: int | None, saves_from: int
    ) -> Sequence[Trip]:
        trips = super().judge(readings, position, saves_from)
        steps = next((reading for reading in readings if reading.signal == _STEPS), None)
        if steps is not None:
            self._steps = int(steps.count)
        if trips:
            return [self._stop(t) if t.detector in _RECOVERABLE else t for t in trips]
        near = self._steps >= self.budget - 2
        if steps is not None and steps.note == _PROGRESS and near and self.budget < self.hard_max:
            self.budget = min(self.hard_max, self.budget + self._base)
        return NONE

    def _stop(self, trip: Trip) -> Trip:
        if trip.level is Level.STOP and not self._repaired:
            self._repaired = True
            trip = replace(trip, level=Level.REPAIR)
        return replace(trip, recoverable=True, budget=self.budget)

    def before_step(self, step: int) -> Sequence[Trip]:
        if self._steps < self.budget:
            return super().before_step(step)
        reason = "hard_max_steps" if self.budget >= self.hard_max else "max_steps"
        return [
            Trip(
                reason,
                Level.STOP,
                self._steps,
                self.budget,
                step,
                reason=reason,
                recoverable=False,
                budget=self.budget,
                saves_from=step,
                final=True,
            )
        ]


def policy(preset: Preset, rules: Iterable[PresetRule]) -> Policy:
    """The policy that `preset` names, over those of its rules that can be decided."""
    return Watchdog(preset, rules) if preset.policy == "watchdog" else Policy(preset, rules)
