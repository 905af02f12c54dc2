"""The meter over all runs of a service: every step of every run in, verdicts per run out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from threading import Lock

from loopaudit.findings import Level, Reading, Trip
from loopaudit.guards.policy import Policy
from loopaudit.guards.preset import Preset
from loopaudit.guards.session import made_once
from loopaudit.model import Step

#: characters of a step's text in the trail
_EXCERPT = 80


class ServiceSession:
    """Rules of `preset` whose detector has the whole service for its scope.

    Steps of all runs go in as they end, in order of time; several threads may feed one session.
    `price` gives the USD of a step whose log has no cost. `observe` gets every reading, with run,
    step, last tool and a bit of text in its note: the trail of a post-mortem.
    """

    def __init__(
        self,
        preset: Preset,
        *,
        price: Callable[[Step], Decimal | None] | None = None,
        observe: Callable[[Reading], object] | None = None,
    ) -> None:
        rules = [rule for rule in preset.rules if rule.detector_class.scope == "service"]
        self.name = preset.name
        self._detectors = [rule.make() for rule in made_once(rules)]
        for detector in self._detectors:
            if price is not None and hasattr(detector, "price"):
                detector.price = price
        self._policy = Policy(preset, rules)
        self._observe = observe
        self._over: Trip | None = None  # the verdict that stops all runs
        self._over_at: float | None = None
        self._stopped: set[str] = set()
        self._lock = Lock()

    def before_step(self, run: str, step: int) -> list[Trip]:
        """The verdict that stopped the service, for a live run that was not told yet."""
        with self._lock:
            if self._over is None or run in self._stopped:
                return []
            self._stopped.add(run)
            return [replace(self._over, step=step, saves_from=step)]

    def step_ended(self, run: str, step: Step) -> list[Trip]:
        """Verdicts for `run`: whether this step was still allowed, then what it used up.

        A run is told once to stop: at the step that reached the limit, or before its next one.
        """
        with self._lock:
            trips: list[Trip] = []
            if self._over is not None and run not in self._stopped:
                self._stopped.add(run)
                # a response that was there by then is paid for
                over_at = self._over_at
                paid = step.at is not None and over_at is not None and step.at <= over_at
                saves_from = step.index + paid
                trips.append(replace(self._over, step=step.index, saves_from=saves_from))
            readings = [r for detector in self._detectors for r in detector.step_ended(step)]
            if self._observe is not None:
                for reading in readings:
                    self._observe(replace(reading, note=_trail(run, step, reading.note)))
            for trip in self._policy.judge(readings, None, step.index + 1):
                if trip.level is Level.STOP_ALL:
                    if self._over is None:
                        self._over, self._over_at = trip, step.ended
                    if run in self._stopped:
                        continue
                    self._stopped.add(run)
                trips.append(trip)
            return trips


def _trail(run: str, step: Step, note: str | None) -> str:
    parts = [f"run {run}", f"step {step.index + 1}"]
    if step.calls:
        parts.append(f"last tool {step.calls[-1].tool}")
    if step.text:
        parts.append(step.text[:_EXCERPT])
    return ", ".join(parts if note is None else [*parts, note])
