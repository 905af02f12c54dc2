"""Compares counts with thresholds and names the action; the watchdog's renewal and repair."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from loopaudit.findings import Level, Reading, Trip
from loopaudit.guards.preset import Number, Preset, PresetRule
from loopaudit.guards.trips import Trips
from loopaudit.model import Boundary, BoundaryKind

NONE: tuple[Trip, ...] = ()

#: what is said or done once per chain; a warning and a stop are given at each event that holds,
#: except by rules marked `once`: a sum that has passed its limit stays above it
ONCE = frozenset({Level.CONVERGE, Level.ALERT, Level.WITHDRAW})

# readings of the watchdog's detector that are no rule of their own (see `detectors.watchdog`)
_STEPS, _PROGRESS = "request_steps", "progress"
_RECOVERABLE = frozenset({"repeated_action", "consecutive_errors", "no_progress"})


class Seat(NamedTuple):
    """A rule as it is judged."""

    rank: int  # place among the rules
    floor: float  # no count below it does anything
    waits: bool  # judged before the next step
    over: bool
    reason: str
    strongest: Level | None  # given at every count from its threshold on; None: once, or never
    levels: tuple[tuple[Level, Number], ...]
    poll: tuple[tuple[Level, Number], ...]  # for readings of known waits


class Seats(NamedTuple):
    """The rules of one set; the same ones serve any number of policies."""

    by_signal: dict[str, Seat]
    once: frozenset[tuple[str, Level]]  # what is said or done once per chain


def seats(rules: Iterable[PresetRule]) -> Seats:
    by_signal = {rule.signal: _seat(rank, rule) for rank, rule in enumerate(rules)}
    once = [
        (rule.signal, level)
        for rule in rules
        for level, _ in (rule.thresholds.levels + (rule.poll.levels if rule.poll else ()))
        if rule.once or level in ONCE
    ]
    return Seats(by_signal, frozenset(once))


def _seat(rank: int, rule: PresetRule) -> Seat:
    levels = rule.thresholds.levels
    poll = levels if rule.poll is None else rule.poll.levels
    floor = min((number for _, number in levels + poll), default=math.inf)
    floor = -math.inf if rule.before_step else floor
    strongest = levels[0][0] if levels and not rule.once and levels[0][0] not in ONCE else None
    return Seat(rank, floor, rule.before_step, rule.over, rule.reason, strongest, levels, poll)


class Policy:
    """`first`: the first rule that holds is the verdict; `each`: every rule may give one.

    Within a rule the strongest level that holds counts.
    """

    def __init__(
        self, preset: Preset, rules: Sequence[PresetRule], made: Seats | None = None
    ) -> None:
        """`made`: the seats of `rules`, where they are known already."""
        self._seats, self._once = seats(rules) if made is None else made
        self._first = preset.policy != "each"
        self._holds = type(self) is Policy and not self._first
        self._told: set[tuple[object, ...]] = set()
        self._waiting: dict[str, Reading] = {}  # for rules judged before the next step

    def boundary(self, boundary: Boundary) -> None:
        """A boundary has passed; the detectors have seen it."""

    def judge(
        self, readings: Sequence[Reading], position: int | None, saves_from: int
    ) -> Sequence[Trip]:
        """Verdicts on the readings of one event about the call at `position`, or about a step."""
        seats, first = self._seats, self._first
        trips: list[Trip] = []
        last = 0
        sort = False
        for reading in readings:
            seat = seats.get(reading.signal)
            if seat is None or reading.count < seat.floor:
                continue
            if seat.waits:
                self._waiting[reading.signal] = reading
                continue
            rank = seat.rank
            if first and trips and last < rank:
                continue
            trip = self._verdict(reading, seat, reading.step, position, saves_from)
            if trip is not None:
                sort = sort or rank < last
                last = rank
                trips.append(trip)
                if self._holds and trip.level is seat.strongest:
                    reading.held = (rank, trip, trip.count, reading.poll)
        return self._choose(trips, sort) if trips else NONE

    def judge_into(
        self, trips: Trips, readings: Sequence[Reading], position: int | None, saves_from: int
    ) -> None:
        """`judge` for recordings: while a count stays where the last level of its rule was met, its
        verdict is the one that was given then."""
        last = -1
        rows: list[object] = []
        for reading in readings:
            held = reading.held
            if held is None:
                break
            rank, trip, least, poll = held
            count = reading.count
            if rank < last or count < least or poll is not reading.poll:
                break
            last = rank
            rows += (trip, count, reading.step, position, saves_from)
        else:
            trips.rows += rows
            return
        trips.extend(self.judge(readings, position, saves_from))

    def before_step(self, step: int) -> Sequence[Trip]:
        """Verdicts due before step number `step`."""
        if not self._waiting:
            return NONE
        found = [
            self._verdict(reading, self._seats[signal], step, None, step)
            for signal, reading in self._waiting.items()
        ]
        self._waiting.clear()
        trips = [trip for trip in found if trip is not None]
        return self._choose(trips, True) if trips else NONE

    def _verdict(
        self, reading: Reading, seat: Seat, step: int, position: int | None, saves_from: int
    ) -> Trip | None:
        count = reading.count
        for level, threshold in seat.poll if reading.poll else seat.levels:
            if count < threshold or (count == threshold and seat.over):
                continue
            signal, group = reading.signal, reading.group
            if (signal, level) in self._once and (signal, level, group) in self._told:
                return None
            return Trip(
                signal,
                level,
                count,
                threshold,
                step,
                position,
                seat.reason,
                saves_from=saves_from,
                first_step=reading.first_step,
                group=group,
            )
        return None

    def _choose(self, trips: list[Trip], sort: bool) -> Sequence[Trip]:
        """Those that are given, in the order of the rules."""
        if sort:
            trips.sort(key=lambda trip: self._seats[trip.detector].rank)
        if self._first:
            del trips[1:]
        for trip in trips if self._once else ():
            if (trip.detector, trip.level) in self._once:
                self._told.add((trip.detector, trip.level, trip.group))
        return trips


class Watchdog(Policy):
    """A soft budget of steps, renewed while there is progress; one repair per request, then stop.

    A stop or a repair resets no counter. An exhausted budget ends the request; a real user message
    starts a new one (guards.md §2).
    """

    def __init__(
        self, preset: Preset, rules: Sequence[PresetRule], made: Seats | None = None
    ) -> None:
        super().__init__(preset, rules, made)
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


def policy(preset: Preset, rules: Sequence[PresetRule], made: Seats | None = None) -> Policy:
    """The policy that `preset` names, over those of its rules that can be decided."""
    kind = Watchdog if preset.policy == "watchdog" else Policy
    return kind(preset, rules, made)
