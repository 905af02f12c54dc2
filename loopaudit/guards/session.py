"""One guard set on one run: events go to its detectors, their readings to its policy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from loopaudit.detectors.base import MODEL_STEP, USER, Detector
from loopaudit.detectors.base import NONE as NOTHING
from loopaudit.errors import ExtensionError
from loopaudit.findings import Reading, Trip
from loopaudit.guards import policy as policies
from loopaudit.guards.policy import NONE, Policy, Watchdog
from loopaudit.guards.preset import Preset, PresetRule
from loopaudit.guards.trips import Trips
from loopaudit.model import Boundary, Call, Run, Step

Handlers = tuple[Callable[[Any], Sequence[Reading]], ...]


class GuardSession:
    """Replays, or guards live: the events of `detectors.base` in, verdicts out.

    Rules whose detector needs something in `missing` give no verdicts and stand in `undecidable` as
    (signal, what is missing). Detectors of the whole service are left out: see `service`.
    `observe` gets every reading; `policy` makes what judges them, by default what the preset names.
    """

    def __init__(
        self,
        preset: Preset,
        *,
        task_type: str | None = None,
        missing: frozenset[str] = frozenset(),
        observe: Callable[[Reading], object] | None = None,
        policy: Callable[[Preset, list[PresetRule]], Policy] | None = None,
    ) -> None:
        plan = _plan(preset, task_type, missing)
        self.preset = preset = plan.preset
        self.ended = False  # an exhausted budget: nothing is fed until the next user message
        self._observe = observe
        self._next = 0  # index of the next step
        self._missing = plan.undecidable
        self._detectors = [make() for make in plan.detectors]
        if policy is None:
            self._policy = policies.policy(preset, plan.rules, plan.seats)
        else:
            self._policy = policy(preset, plan.rules)
        self._handlers = {
            event: tuple([getattr(self._detectors[i], event) for i in numbers])
            for event, numbers in plan.heard.items()
        }
        self._boundary = self._handlers["boundary"]
        self._step_started = self._handlers["step_started"]
        self._call_proposed = self._handlers["call_proposed"]
        self._call_ended = self._handlers["call_ended"]
        self._step_ended = self._handlers["step_ended"]
        self._run_ended = self._handlers["run_ended"]

    def hears(self, event: str) -> bool:
        """Whether any detector listens to `event`, a method of `Detector`."""
        return bool(self._handlers[event])

    def before_step(self, step_index: int, at: float | None = None) -> Sequence[Trip]:
        """Limits judged before a model step is asked for. A compaction is no such step."""
        self._next = step_index
        if self.ended:
            return NONE
        trips = self._policy.before_step(step_index)
        if trips:
            self.ended = any(trip.final for trip in trips)
        return trips

    def boundary(self, boundary: Boundary) -> Sequence[Trip]:
        if boundary.kind is USER:
            self.ended = False
        if self.ended:
            return NONE
        trips = self._feed(self._boundary, boundary, None)
        self._policy.boundary(boundary)
        return trips

    def step_started(self, step: Step) -> Sequence[Trip]:
        self._next = step.index + 1
        return NONE if self.ended else self._feed(self._step_started, step, None)

    def call_proposed(self, call: Call) -> Sequence[Trip]:
        return NONE if self.ended else self._feed(self._call_proposed, call, call.position)

    def call_ended(self, call: Call) -> Sequence[Trip]:
        return NONE if self.ended else self._feed(self._call_ended, call, call.position)

    def step_ended(self, step: Step) -> Sequence[Trip]:
        return NONE if self.ended else self._feed(self._step_ended, step, None)

    def run_ended(self, run: Run) -> Sequence[Trip]:
        return NONE if self.ended else self._feed(self._run_ended, run, None)

    def replay(self, steps: Iterable[Step]) -> Trips:
        """The verdicts on recorded steps and the boundaries before them: those of the events one by
        one, in less time."""
        trips = Trips()
        started, ended = self._step_started, self._step_ended
        proposed, answered = self._call_proposed, self._call_ended
        judge = self._judge
        for step in steps:
            for boundary in step.before:
                trips.extend(self.boundary(boundary))
            if step.kind is MODEL_STEP and (told := self.before_step(step.index, step.at)):
                trips.extend(told)
            self._next = step.index + 1
            if self.ended:
                continue
            if started and (found := self._readings(started, step)):
                judge(trips, found, None)
            if proposed:
                for call in step.calls:
                    if found := self._readings(proposed, call):
                        judge(trips, found, call.position)
            for call in step.calls:
                found = NOTHING
                try:
                    for handle in answered:
                        if readings := handle(call):
                            found = (*found, *readings) if found else readings
                except MemoryError:
                    raise
                except Exception as error:
                    raise _broken(handle, error) from error
                if found:
                    judge(trips, found, call.position)
            if found := self._readings(ended, step):
                judge(trips, found, None)
        return trips

    def _feed(self, handlers: Handlers, event: Any, position: int | None) -> Sequence[Trip]:
        found = self._readings(handlers, event)
        if not found:
            return NONE
        if self._observe is not None:
            for reading in found:
                self._observe(reading)
        return self._policy.judge(found, position, self._next)

    def _judge(self, trips: Trips, found: Sequence[Reading], position: int | None) -> None:
        if self._observe is not None:
            for reading in found:
                if reading.kept is not False:
                    self._observe(reading)
        self._policy.judge_into(trips, found, position, self._next)

    def _readings(self, handlers: Handlers, event: Any) -> Sequence[Reading]:
        found: Sequence[Reading] = NOTHING
        try:
            for handle in handlers:
                if readings := handle(event):
                    found = (*found, *readings) if found else readings
        except MemoryError:
            raise
        except Exception as error:
            raise _broken(handle, error) from error
        return found

    @property
    def undecidable(self) -> list[tuple[str, str]]:
        """(signal, what the log lacks for it): neither fired nor not fired."""
        partly = [
            (signal, "results")
            for detector in self._detectors
            if getattr(detector, "undecided", 0)
            for signal in detector.signals
        ]
        return self._missing + partly

    def dismissed(self) -> list[tuple[str, int, str]]:
        """What was looked at and not counted: (kind, step, reason)."""
        return [row for detector in self._detectors for row in detector.dismissed()]

    @property
    def budget(self) -> int | None:
        """The watchdog's budget of steps as it stands now."""
        return self._policy.budget if isinstance(self._policy, Watchdog) else None


_EVENTS = (
    "boundary",
    "step_started",
    "call_proposed",
    "call_ended",
    "step_ended",
    "run_ended",
)


@dataclass(frozen=True, slots=True)
class _Plan:
    """What runs of one task type share under one preset, if they lack the same things."""

    of: Preset
    preset: Preset  # the same for the task type
    rules: list[PresetRule]  # those that can be decided
    undecidable: list[tuple[str, str]]  # (signal, what is missing) of the others
    detectors: list[Callable[[], Detector]]
    heard: dict[str, list[int]]  # event -> the detectors that override it; others cost nothing
    seats: policies.Seats


_plans: dict[tuple[int, str | None, frozenset[str]], _Plan] = {}  # by identity of the preset


def _plan(of: Preset, task_type: str | None, missing: frozenset[str]) -> _Plan:
    """Remembered: every run asks, and many runs are short."""
    known = _plans.get((id(of), task_type, missing))
    if known is not None:
        return known
    preset = of.for_task(task_type)
    rules: list[PresetRule] = []
    undecidable: list[tuple[str, str]] = []
    for rule in preset.rules:
        if rule.detector_class.scope != "run":
            continue
        lacking = rule.needs & missing
        if lacking:
            undecidable += [(rule.signal, need) for need in sorted(lacking)]
        else:
            rules.append(rule)
    made = made_once(rules)
    kinds = [rule.detector_class for rule in made]
    heard = {
        event: [i for i, kind in enumerate(kinds) if getattr(kind, event) is not of_base]
        for event in _EVENTS
        for of_base in [getattr(Detector, event)]
    }
    makers = [rule.maker() for rule in made]
    plan = _Plan(of, preset, rules, undecidable, makers, heard, policies.seats(rules))
    if len(_plans) >= 64:  # sets made to try thresholds come and go
        _plans.clear()
    _plans[id(of), task_type, missing] = plan
    return plan


def made_once(rules: Sequence[PresetRule]) -> list[PresetRule]:
    """The first rule of each detector: rules with the same one and the same options share it."""
    found = {(rule.detector, repr(sorted(rule.options.items()))): rule for rule in reversed(rules)}
    return list(found.values())[::-1]


def _broken(handle: Callable[..., object], error: Exception) -> ExtensionError:
    kind = type(getattr(handle, "__self__", handle))
    return ExtensionError(
        f"detector {kind.__module__}:{kind.__qualname__} broke: {type(error).__name__}: {error}"
    )
