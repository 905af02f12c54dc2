"""Which thresholds of a preset can never be reached, or only once an earlier stop was ignored."""

from __future__ import annotations

from collections.abc import Iterable

from loopaudit.detectors.base import Detector
from loopaudit.findings import Level
from loopaudit.guards.preset import Number, Preset, PresetRule


def unreachable(preset: Preset) -> list[str]:
    """One sentence per threshold, with the figures that make it so; of all task types."""
    lines = list(_of_one(preset))
    for task in preset.task_types:
        lines += [f"{task}: {line}" for line in _of_one(preset.for_task(task)) if line not in lines]
    return lines


def _of_one(preset: Preset) -> Iterable[str]:
    for rank, rule in enumerate(preset.rules):
        detector = rule.detector_class(**rule.options)
        levels = rule.thresholds.levels
        if not levels and rule.report is None:
            yield f"{rule.signal}: no limit is set, so it is not enforced"
        for level, threshold in levels:
            name = f"{rule.signal} {level} at {threshold:g}"
            least = _least(rule, threshold)
            yield from _never(preset, rule, detector, name, least)
            yield from _hidden(preset.rules, rank, detector, name, level, least)


def _least(rule: PresetRule, threshold: Number) -> Number:
    """The least count that meets the threshold."""
    return threshold + 1 if rule.over else threshold


def _never(
    preset: Preset, rule: PresetRule, detector: Detector, name: str, least: Number
) -> Iterable[str]:
    options = ", ".join(f"{k} {v}" for k, v in rule.options.items() if isinstance(v, int | float))
    most = detector.most(rule.signal)
    if most is not None and least > most:
        yield f"{name} can never be reached: at most {most} with {options}"
        return
    taking_turns = detector.most(rule.signal, 2)
    if taking_turns is not None and least > taking_turns:
        yield (
            f"{name} can never be reached by two calls that take turns: "
            f"at most {taking_turns} each with {options}"
        )
    if preset.policy == "watchdog" and rule.signal != "repeated_action":
        base = preset.limits["base_steps"]
        most_steps = min(base + 2, preset.limits.get("hard_max_steps", 4 * base))
        if least > most_steps:
            yield (
                f"{name} can never be reached: without progress the budget of {base:g} steps "
                f"ends after at most {most_steps:g}"
            )


def _hidden(
    rules: tuple[PresetRule, ...],
    rank: int,
    detector: Detector,
    name: str,
    level: Level,
    least: Number,
) -> Iterable[str]:
    """Other rules whose stop comes first, whatever the run looks like."""
    signal = rules[rank].signal
    for other, implied in detector.implied(signal, int(least)).items():
        for other_rank, rule in enumerate(rules):
            stop = rule.thresholds.at(Level.STOP) if rule.signal == other else None
            if stop is None:
                continue
            needed = _least(rule, stop)
            first = needed < implied or (needed == implied and other_rank < rank)
            if first:
                yield f"{name} can be seen only if the stop of {other} at {stop:g} was not obeyed"
