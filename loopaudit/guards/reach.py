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
        detector = rule.make()
        if not rule.thresholds.levels and rule.report is None:
            yield f"{rule.signal}: no limit is set, so it is not enforced"
        for level, threshold in rule.thresholds.levels:
            name = f"{rule.signal} {level} at {threshold:g}"
            least = _least(rule, threshold)
            for judge in (_never, _hidden, _by_turns):
                if lines := list(judge(preset, rank, detector, name, least)):
                    yield from lines
                    break


def _least(rule: PresetRule, threshold: Number) -> Number:
    """The least count that meets the threshold."""
    return threshold + 1 if rule.over else threshold


def _never(
    preset: Preset, rank: int, detector: Detector, name: str, least: Number
) -> Iterable[str]:
    rule = preset.rules[rank]
    most = detector.most(rule.signal)
    if most is not None and least > most:
        yield f"{name} can never be reached: at most {most} with {_options(rule)}"
    if preset.policy == "watchdog" and rule.signal != "repeated_action":
        # the last renewal comes with the last progress, at most 2 steps before the budget ends
        base = preset.limits["base_steps"]
        steps = min(base + 2, preset.limits.get("hard_max_steps", 4 * base))
        if least > steps:
            yield (
                f"{name} can never be reached: without progress the budget of {base:g} steps ends "
                f"after at most {steps:g}"
            )


def _by_turns(
    preset: Preset, rank: int, detector: Detector, name: str, least: Number
) -> Iterable[str]:
    rule = preset.rules[rank]
    most = detector.most(rule.signal, 2)
    if most is not None and least > most:
        yield (
            f"{name} can never be reached by two calls that take turns: "
            f"at most {most} each with {_options(rule)}"
        )


def _options(rule: PresetRule) -> str:
    return ", ".join(f"{k} {v}" for k, v in rule.options.items() if isinstance(v, int | float))


def _hidden(
    preset: Preset, rank: int, detector: Detector, name: str, least: Number
) -> Iterable[str]:
    """Other rules that take the verdict, or whose stop came before, whatever the run looks like."""
    implied = detector.implied(preset.rules[rank].signal, int(least))
    for other_rank, other in enumerate(preset.rules):
        count = implied.get(other.signal)
        if count is None:
            continue
        held = [n for _, n in other.thresholds.levels if _least(other, n) <= count]
        if held and other_rank < rank and preset.policy != "each":
            yield f"{name} is never the verdict: {other.signal} at {min(held):g} comes first"
            continue
        stop = other.thresholds.at(Level.STOP)
        if stop is not None and _least(other, stop) < count:
            yield (
                f"{name} can be seen only if the stop of {other.signal} at {stop:g} was not obeyed"
            )
