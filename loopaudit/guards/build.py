"""Builds a preset from a guard set whose variant is chosen: shares, environment, cross checks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from loopaudit.errors import ConfigError, LoopauditError
from loopaudit.findings import Level
from loopaudit.guards.checks import LEVELS, LIMITS, THRESHOLDS, Where, share
from loopaudit.guards.layers import deep
from loopaudit.guards.preset import Number, Overrides, Preset, PresetRule, Thresholds
from loopaudit.model import ErrorClass
from loopaudit.retry import RetryPolicy
from loopaudit.settings.values import closest

_MEASURED = ("seconds", "usd")
# strongest first: the first that holds is what happens
_BY_FORCE = tuple(sorted(Level, key=list(Level).index, reverse=True))


def build(
    flat: Mapping[str, Any], name: str, variant: str, where: Where, env: Mapping[str, str]
) -> Preset:
    """The preset of a checked, flat set. Environment variables win over what is written."""
    rules: dict[str, PresetRule] = {}
    tables: dict[str, Mapping[str, Any]] = {}
    for table in flat["rule"]:
        signal = table["signal"]
        if signal in rules:
            raise where.error(f"two rules for {signal}", "one rule holds all its thresholds")
        table = {**table, **_from_env(table.get("env", {}), env)}
        tables[signal] = table
        if table.get("detector") is None:
            known = [rule["signal"] for rule in flat["rule"] if rule.get("detector") is not None]
            hint = 'name what counts: detector = "module:attribute"'
            raise where.of(signal).error(
                f"signal {signal!r} has no detector", closest(signal, known, hint)
            )
        rules[signal] = _rule(table, flat["detector"], where.of(signal))
        _check_detector(rules[signal], where.of(signal))
    limits = _limits(flat["limits"], where, env)
    if flat.get("policy") == "watchdog" and "base_steps" not in limits:
        raise where.at("limits").error("the watchdog needs base_steps")
    task_types = {
        task: _overrides(entries, tables, flat, limits, where.at("task_types", task), env)
        for task, entries in flat["task_types"].items()
    }
    retry = dict(flat.get("retry", {}))
    if "retried" in retry:
        retry["retried"] = frozenset(ErrorClass(kind) for kind in retry["retried"])
    return Preset(
        set=name,
        variant=variant,
        description=flat.get("description", ""),
        policy=flat.get("policy", "first"),
        rules=tuple(rules.values()),
        limits=limits,
        retry=RetryPolicy(**retry),
        task_types=task_types,
        source=" ".join(flat[key] for key in ("product", "version", "date") if key in flat),
    )


def _check_detector(rule: PresetRule, where: Where) -> None:
    """Make one, so that a detector that cannot be is told where it is written."""
    try:
        signals = rule.detector_class.signals
        rule.make()
    except LoopauditError as error:
        raise where.error(error.message.removeprefix(f"guard rule {rule.signal}: ")) from error
    if signals and rule.signal not in signals:
        raise where.error(
            f"{rule.detector} counts no {rule.signal!r}", f"it counts {', '.join(signals)}"
        )


def _rule(table: Mapping[str, Any], detectors: Mapping[str, Any], where: Where) -> PresetRule:
    detector, options = table["detector"], dict(table.get("options", {}))
    if ":" not in detector:
        shared = detectors.get(detector, {})
        if "class" not in shared:
            raise where.error(
                f"no detector {detector!r}",
                f'write [detector.{detector}] class = "module:attribute"',
            )
        detector, options = shared["class"], {**shared["options"], **options}
    poll, unit = table.get("poll"), table.get("unit", "times")
    return PresetRule(
        signal=table["signal"],
        detector=detector,
        options=options,
        thresholds=_thresholds(table, unit, where),
        poll=None if poll is None else _thresholds(poll, unit, where.at("poll")),
        over=table.get("over", False),
        once=table.get("once", False),
        before_step=table.get("when") == "before_step",
        unit=unit,
        reason=table.get("reason", table["signal"]),
    )


def _thresholds(table: Mapping[str, Any], unit: str, where: Where) -> Thresholds:
    raw = {key: table[key] for key in THRESHOLDS if table.get(key, False) is not False}
    last = raw.get("stop", raw.get("stop_all"))
    values: dict[str, Number] = {}
    for key, value in raw.items():
        if isinstance(value, str):
            if type(last) not in (int, float):
                raise where.at(key).error(f"{value} of no stop", "give the rule a stop")
            value = _part(share(value, where.at(key)), last, unit)
        values[key] = value
    for mild in LEVELS:
        for strong in ("stop", "stop_all"):
            if mild in values and strong in values and values[mild] > values[strong]:
                raise where.error(
                    f"{table.get('signal', '')} {strong} at {values[strong]:g} is below {mild} at "
                    f"{values[mild]:g}".lstrip(),
                    f"the {mild} could never be seen",
                )
    levels = tuple((level, values[level.value]) for level in _BY_FORCE if level.value in values)
    return Thresholds(values.get("report"), levels)


def _part(percent: float, of: Any, unit: str) -> Number:
    """`percent` of a threshold; of what is counted, the least whole number that reaches it."""
    part: float = round(percent * of / 100, 9)  # 0.7 x 30 is 21, not 20.999…
    return part if unit in _MEASURED else math.ceil(part)


def _from_env(variables: Mapping[str, str], env: Mapping[str, str]) -> dict[str, Number]:
    return {
        key: _variable(variable, env[variable])
        for key, variable in variables.items()
        if env.get(variable, "").strip()
    }


def _variable(variable: str, text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise ConfigError(
            f"environment variable {variable}: must be a whole number above 0, not {text!r}"
        )
    return value


def _limits(table: Mapping[str, Any], where: Where, env: Mapping[str, str]) -> dict[str, Number]:
    limits: dict[str, Number] = {key: table[key] for key in LIMITS if key in table}
    limits.update(_from_env(table.get("env", {}), env))
    base, most = limits.get("base_steps"), limits.get("hard_max_steps")
    if base is not None and most is not None and most < base:
        raise where.at("limits").error(f"hard_max_steps {most} is below base_steps {base}")
    return limits


def _overrides(
    entries: Mapping[str, Any],
    tables: Mapping[str, Mapping[str, Any]],
    flat: Mapping[str, Any],
    limits: Mapping[str, Number],
    where: Where,
    env: Mapping[str, str],
) -> Overrides:
    rules, changed = {}, {}
    for key, value in entries.items():
        if value == {}:  # nothing for this variant
            continue
        if key in LIMITS:
            changed[key] = value
        elif key in tables:
            table = deep(tables[key], value)
            table |= _from_env(table.get("env", {}), env)
            rules[key] = _rule(table, flat["detector"], where.at(key))
        else:
            raise where.at(key).error(
                "is neither a signal of this set nor a limit",
                f"known: {', '.join((*tables, *LIMITS))}",
            )
    if changed:
        changed = _limits({**limits, **changed, "env": flat["limits"].get("env", {})}, where, env)
    return Overrides(rules, changed)
