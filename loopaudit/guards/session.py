"""One guard set on one run: events go to its detectors, their readings to its policy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from loopaudit.detectors.base import Detector
from loopaudit.errors import ExtensionError
from loopaudit.findings import Reading, Trip
from loopaudit.guards import policy as policies
from loopaudit.guards.policy import NONE, Policy, Watchdog
from loopaudit.guards.preset import Preset, PresetRule
from loopaudit.model import Boundary, BoundaryKind, Call, Run, Step

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
        preset = preset.for_task(task_type)
        self.preset = preset
        self.ended = False  # an exhausted budget: nothing is fed until the next user message
        self._observe = observe
        self._next = 0  # index of the next step
        self._detectors: list[Detector] = []
        self._missing: list[tuple[str, str]] = []
        decidable = self._open(preset, missing)
        self._policy = (policy or policies.policy)(preset, decidable)
        self._boundary = self._handlers("boundary")
        self._step_started = self._handlers("step_started")
        self._call_proposed = self._handlers("call_proposed")
        self._call_ended = self._handlers("call_ended")
        self._step_ended = self._handlers("step_ended")
        self._run_ended = self._handlers("run_ended")

    def _open(self, preset: Preset, missing: frozenset[str]) -> list[PresetRule]:
        """Make each detector once; the rules that can be decided."""
        decidable, made, lacking = _decidable(preset, missing)
        self._missing += lacking
        self._detectors = [rule.make() for rule in made]
        return decidable

    def _handlers(self, event: str) -> Handlers:
        """Methods of the detectors that override `event`; an unused event costs nothing."""
        base = getattr(Detector, event)
        return tuple(
            getattr(detector, event)
            for detector in self._detectors
            if getattr(type(detector), event) is not base
        )

    def hears(self, event: str) -> bool:
        """Whether any detector listens to `event`, a method of `Detector`."""
        handlers: Handlers = getattr(self, f"_{event}")
        return bool(handlers)

    def before_step(self, step_index: int, at: float | None = None) -> Sequence[Trip]:
        """Limits judged before a model step is asked for. A compaction is no such step."""
        self._next = step_index
        if self.ended:
            return NONE
        trips = self._policy.before_step(step_index)
        self.ended = any(trip.final for trip in trips)
        return trips

    def boundary(self, boundary: Boundary) -> Sequence[Trip]:
        if boundary.kind is BoundaryKind.USER:
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

    def _feed(self, handlers: Handlers, event: Any, position: int | None) -> Sequence[Trip]:
        found: Sequence[Reading] = ()
        try:
            for handle in handlers:
                readings = handle(event)
                if readings:
                    found = [*found, *readings] if found else readings
        except MemoryError:
            raise
        except Exception as error:
            raise _broken(handle, error) from error
        if not found:
            return NONE
        if self._observe is not None:
            for reading in found:
                self._observe(reading)
        return self._policy.judge(found, position, self._next)

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


_Decidable = tuple[list[PresetRule], list[PresetRule], list[tuple[str, str]]]
_decided: dict[tuple[int, frozenset[str]], tuple[Preset, _Decidable]] = {}  # by identity of the set


def _decidable(preset: Preset, missing: frozenset[str]) -> _Decidable:
    """Rules that can be decided, those that make their detectors, and (signal, what is missing) of
    the others. Remembered: every run asks."""
    known = _decided.get((id(preset), missing))
    if known is not None:
        return known[1]
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
    found = rules, list(made_once(rules)), undecidable
    if len(_decided) >= 64:  # sets made for one task type come and go
        _decided.clear()
    _decided[id(preset), missing] = preset, found
    return found


def made_once(rules: Sequence[PresetRule]) -> list[PresetRule]:
    """The first rule of each detector: rules with the same one and the same options share it."""
    found = {(rule.detector, repr(sorted(rule.options.items()))): rule for rule in reversed(rules)}
    return list(found.values())[::-1]


def _broken(handle: Callable[..., object], error: Exception) -> ExtensionError:
    kind = type(getattr(handle, "__self__", handle))
    return ExtensionError(
        f"detector {kind.__module__}:{kind.__qualname__} broke: {type(error).__name__}: {error}"
    )
