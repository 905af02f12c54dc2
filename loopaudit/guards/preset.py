"""What a guard set is once it is read: rules with thresholds, limits, overrides per task type."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from loopaudit import plugins
from loopaudit.detectors.base import Detector
from loopaudit.errors import ConfigError
from loopaudit.findings import Level
from loopaudit.retry import DEFAULT, RetryPolicy

Number = int | float

#: the variant of a set that has only one
DEFAULT_VARIANT = "default"


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Counts at which something happens. `levels` is ordered from the strongest action down."""

    report: Number | None = None  # hindsight reports a finding from here on
    levels: tuple[tuple[Level, Number], ...] = ()

    def at(self, level: Level) -> Number | None:
        """The count at which `level` follows, None if it never does."""
        return next((number for name, number in self.levels if name is level), None)


@dataclass(frozen=True, slots=True)
class PresetRule:
    """One signal of one detector and what follows from its count."""

    signal: str
    detector: str  # "module:attribute"
    options: Mapping[str, Any] = field(default_factory=dict)  # given to the detector
    thresholds: Thresholds = Thresholds()
    poll: Thresholds | None = None  # instead of `thresholds`, for readings of known waits
    over: bool = False  # the count must exceed the threshold; else reach it
    once: bool = False  # each action once per chain, not at every reading that holds
    before_step: bool = False  # judged before the next step, not at the reading
    unit: str = "times"  # or "steps", "tokens", "seconds", "usd"
    reason: str = ""

    @property
    def report(self) -> Number | None:
        return self.thresholds.report

    @property
    def needs(self) -> frozenset[str]:
        """What a log must hold for this rule to be decidable."""
        kind = self.detector_class
        return kind.needs | kind.needs_more.get(self.signal, frozenset())

    @property
    def detector_class(self) -> type[Detector]:
        found = plugins.load(self.detector, f"guard rule {self.signal}")
        if not (isinstance(found, type) and issubclass(found, Detector)):
            raise ConfigError(f"guard rule {self.signal}: {self.detector} is no detector")
        return found

    def make(self) -> Detector:
        """A fresh detector. Raises `ConfigError` where it does not take the options."""
        return self.maker()()

    def maker(self) -> Callable[[], Detector]:
        """What makes the detectors of any number of runs; it raises as `make` does."""
        kind, options = self.detector_class, dict(self.options)

        def made() -> Detector:
            try:
                return kind(**options)
            except Exception as error:  # whatever an extension raises
                raise ConfigError(
                    f"guard rule {self.signal}: {self.detector} does not take its options: {error}"
                ) from error

        return made


@dataclass(frozen=True, slots=True)
class Overrides:
    """What differs for one task type."""

    rules: Mapping[str, PresetRule] = field(default_factory=dict)  # by signal
    limits: Mapping[str, Number] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Preset:
    """One variant of a guard set. Plain data: it goes to worker processes as it is."""

    set: str  # "fuses"
    variant: str  # "demo"
    description: str
    policy: str  # "first", "each" or "watchdog"
    rules: tuple[PresetRule, ...]
    limits: Mapping[str, Number] = field(default_factory=dict)  # numbers that are no thresholds
    retry: RetryPolicy = DEFAULT
    task_types: Mapping[str, Overrides] = field(default_factory=dict)
    source: str = ""  # product, version and date whose numbers these are

    @property
    def name(self) -> str:
        return self.set if self.variant == DEFAULT_VARIANT else f"{self.set}:{self.variant}"

    @property
    def needs_text(self) -> bool:
        """Does a detector of this set compare the meaning of results (`Call.vector`)?"""
        return any(getattr(rule.detector_class, "wants_vectors", False) for rule in self.rules)

    def rule(self, signal: str) -> PresetRule | None:
        return next((rule for rule in self.rules if rule.signal == signal), None)

    def for_task(self, task_type: str | None) -> Preset:
        """This preset with the overrides of `task_type` applied; itself where there are none."""
        changed = self.task_types.get(task_type) if task_type is not None else None
        if changed is None:
            return self
        rules = tuple(changed.rules.get(rule.signal, rule) for rule in self.rules)
        return replace(self, rules=rules, limits={**self.limits, **changed.limits}, task_types={})
