"""Checks a guard set as written: keys, types and numbers, each error with its place."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import fields
from difflib import get_close_matches
from typing import Any

from loopaudit.errors import ConfigError
from loopaudit.findings import Level
from loopaudit.model import ErrorClass
from loopaudit.retry import RetryPolicy

Place = Callable[..., tuple[str, int | None] | None]

POLICIES = ("first", "each", "watchdog")
LEVELS = tuple(level.value for level in Level)
THRESHOLDS = ("report", *LEVELS)
UNITS = ("times", "steps", "tokens", "seconds", "usd")
LIMITS = ("base_steps", "hard_max_steps", "max_steps_per_request")

_TEXTS = ("name", "description", "product", "version", "date", "extends")
_TABLES = ("detector", "limits", "retry", "task_types")
_TOP = (*_TEXTS, *_TABLES, "policy", "variants", "rule")
_WORDS = ("signal", "detector", "reason")
_RULE = (*_WORDS, "options", "poll", "over", "once", "when", "unit", "env", *THRESHOLDS)
_VARIANT = ("options", "poll", *THRESHOLDS)
_DETECTOR = ("class", "options")
_RESERVED = frozenset((*_RULE, *_DETECTOR, *LIMITS, ""))


class Where:
    """A place in a guard set: its name, then keys; and how to find the line that wrote it."""

    def __init__(
        self,
        keys: tuple[str | int, ...],
        place: Place | None = None,
        rules: Mapping[str, int] | None = None,
    ) -> None:
        self.keys = keys
        self.place = place
        self.rules = rules or {}  # number of the rule that the user wrote for a signal

    def at(self, *keys: str | int) -> Where:
        return Where((*self.keys, *keys), self.place)

    def of(self, signal: str) -> Where:
        """Where the rule for `signal` stands."""
        return self.at("rule", self.rules[signal]) if signal in self.rules else self.at(signal)

    def error(self, message: str, hint: str = "") -> ConfigError:
        found = self.place(*self.keys) if self.place is not None else None
        path, line = found or ("", None)
        name, *keys = self.keys
        inside = "".join(f", rule {k + 1}" if isinstance(k, int) else f", {k}" for k in keys)
        inside = inside.replace("rule, rule", "rule")
        return ConfigError(f"guard set {name}{inside}: {message}", hint, path=path, line=line)


def check_set(raw: Any, where: Where, variants: Collection[str] = ()) -> None:
    """Raise `ConfigError` at the first thing that is no part of a guard set.

    `variants` names those of the set that `raw` changes; else its own `variants` counts.
    """
    table = _table(raw, where)
    _known(table, _TOP, where)
    for key in _TEXTS:
        if key in table:
            _is(table[key], str, "a text", where.at(key))
    if table.get("policy", "first") not in POLICIES:
        raise where.at("policy").error(
            f"no policy {table['policy']!r}", f"there are: {', '.join(POLICIES)}"
        )
    own = table.get("variants", [])
    if not (isinstance(own, list) and all(isinstance(name, str) for name in own)):
        raise where.at("variants").error("must be a list of names")
    if own and variants:
        raise where.at("variants").error(
            "a built-in set keeps its variants", 'use another name and extends = "…"'
        )
    for name in own:
        if name in _RESERVED:
            raise where.at("variants").error(f"{name!r} cannot be the name of a variant")
    variants = (*variants, *own)
    rules = table.get("rule", [])
    if not isinstance(rules, list):
        raise where.at("rule").error("must be a list of tables", "write [[rule]]")
    for number, rule in enumerate(rules):
        _check_rule(rule, where.at("rule", number), variants)
    for name, detector in _sub(table, "detector", where):
        at = where.at("detector", name)
        for key, value in _table(detector, at).items():
            if key == "class":
                _is(value, str, 'a text "module:attribute"', at.at(key))
            elif key == "options" or key in variants:
                _table(value, at.at(key))
            else:
                raise _unknown(key, (*_DETECTOR, *variants), at)
    for key, value in _sub(table, "limits", where):
        _check_limits_entry(key, value, where.at("limits", key), variants)
    _check_retry(dict(_sub(table, "retry", where)), where.at("retry"))
    for task, overrides in _sub(table, "task_types", where):
        for key, value in _table(overrides, where.at("task_types", task)).items():
            _check_override(key, value, where.at("task_types", task, key), variants)


def _check_rule(rule: Any, where: Where, variants: Collection[str]) -> None:
    table = _table(rule, where)
    if "signal" not in table:
        raise where.error("has no signal", 'name the count it judges: signal = "…"')
    for key, value in table.items():
        at = where.at(key)
        if key in _WORDS:
            _is(value, str, "a text", at)
        elif key in ("over", "once"):
            _is(value, bool, "true or false", at)
        elif key == "when":
            if value != "before_step":
                raise at.error(f"cannot be {value!r}", 'only "before_step" is known')
        elif key == "unit":
            if value not in UNITS:
                raise at.error(f"cannot be {value!r}", f"known: {', '.join(UNITS)}")
        elif key == "env":
            for threshold, variable in _table(value, at).items():
                if threshold not in THRESHOLDS:
                    raise _unknown(threshold, THRESHOLDS, at)
                _is(variable, str, "the name of a variable", at.at(threshold))
        elif key in variants:
            _check_thresholds(_table(value, at), at, _VARIANT)
        elif key not in _RULE:
            raise _unknown(key, (*_RULE, *variants), where)
    _check_thresholds({k: table[k] for k in _VARIANT if k in table}, where, _VARIANT)


def _check_thresholds(table: Mapping[str, Any], where: Where, known: Collection[str]) -> None:
    _known(table, known, where)
    for key, value in table.items():
        at = where.at(key)
        if key == "options":
            _table(value, at)
        elif key == "poll":
            _check_thresholds(_table(value, at), at, THRESHOLDS)
        elif isinstance(value, str):
            share(value, at)
        elif value is not False:
            number(value, at)


def _check_limits_entry(key: str, value: Any, where: Where, variants: Collection[str]) -> None:
    if key == "env":
        for limit, variable in _table(value, where).items():
            if limit not in LIMITS:
                raise _unknown(limit, LIMITS, where)
            _is(variable, str, "the name of a variable", where.at(limit))
    elif key in variants:
        for limit, count in _table(value, where).items():
            if limit not in LIMITS:
                raise _unknown(limit, LIMITS, where)
            whole(count, where.at(limit))
    elif key in LIMITS:
        whole(value, where)
    else:
        raise _unknown(key, ("env", *LIMITS, *variants), where)


def _check_retry(table: Mapping[str, Any], where: Where) -> None:
    kinds = {field.name: field for field in fields(RetryPolicy)}
    for key, value in table.items():
        at = where.at(key)
        if key not in kinds:
            raise _unknown(key, kinds, where)
        if key == "retried":
            classes = [kind.value for kind in ErrorClass]
            if not isinstance(value, list) or any(name not in classes for name in value):
                raise at.error("must be a list of error classes", f"known: {', '.join(classes)}")
        elif isinstance(kinds[key].default, bool):
            _is(value, bool, "true or false", at)
        elif key == "retries":
            whole(value, at, zero=True)
        else:
            number(value, at, zero=True)


def _check_override(key: str, value: Any, where: Where, variants: Collection[str]) -> None:
    """One entry of a task type: thresholds of a signal, or a limit; either may be per variant."""
    if key in LIMITS:
        by_variant = value if isinstance(value, Mapping) else {"": value}
        for variant, count in by_variant.items():
            if variant and variant not in variants:
                raise _unknown(variant, variants, where)
            whole(count, where)
        return
    table = _table(value, where)
    for name, part in table.items():
        if name in variants:
            _check_thresholds(_table(part, where.at(name)), where.at(name), _VARIANT)
    own = {k: v for k, v in table.items() if k not in variants}
    _check_thresholds(own, where, (*_VARIANT, *variants))


# -- values ---------------------------------------------------------------------------------------


def number(value: Any, where: Where, *, zero: bool = False) -> int | float:
    """A finite number above 0 (or not below it, with `zero`)."""
    if type(value) not in (int, float) or not math.isfinite(value):
        raise where.error(f"must be a number, not {value!r}")
    if value < 0 or (value == 0 and not zero):
        raise where.error(f"must be {'at least' if zero else 'above'} 0, not {value!r}")
    return value  # type: ignore[no-any-return]


def whole(value: Any, where: Where, *, zero: bool = False) -> int:
    """A whole number of at least 1 (or 0, with `zero`)."""
    if type(value) is not int:
        raise where.error(f"must be a whole number, not {value!r}")
    number(value, where, zero=zero)
    return value


def share(value: str, where: Where) -> float:
    """Percent of "70%" as a number."""
    try:
        percent = float(value.removesuffix("%"))
    except ValueError:
        percent = math.nan
    if not value.endswith("%") or not 0 < percent <= 100:
        raise where.error(
            f"must be a number, not {value!r}", 'or a share of the stop, such as "70%"'
        )
    return percent


def _table(value: Any, where: Where) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise where.error(f"must be a table, not {value!r}")
    return value


def _sub(table: Mapping[str, Any], key: str, where: Where) -> Any:
    return _table(table.get(key, {}), where.at(key)).items()


def _is(value: Any, kind: type, name: str, where: Where) -> None:
    if not isinstance(value, kind):
        raise where.error(f"must be {name}, not {value!r}")


def _known(table: Mapping[str, Any], known: Collection[str], where: Where) -> None:
    for key in table:
        if key not in known:
            raise _unknown(key, known, where)


def _unknown(key: str, known: Collection[str], where: Where) -> ConfigError:
    close = get_close_matches(str(key), list(known), 1)
    hint = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(known)}"
    return where.at(key).error("is no known key", hint)
