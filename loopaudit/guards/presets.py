"""Guard sets as data: finds a preset by name, built-in or the user's, and reads it.

A set is one TOML file (`presets/NAME.toml`) or one table of the user's settings in the same form:

    description = "..."; policy = "first"; variants = ["demo", "production"]
    [detector.NAME]  class = "module:attribute", options = {…}, VARIANT = {options of that variant}
    [[rule]]         signal, detector (a NAME from above or "module:attribute"), options, thresholds
                     (report, warn, … stop), VARIANT = {thresholds}, poll = {thresholds},
                     over, once, when = "before_step", env = {threshold = "VARIABLE"}, unit, reason
    [limits]         base_steps = 12, VARIANT = {…}, env = {…}
    [retry]          numbers of `retry.RetryPolicy`
    [task_types.T]   SIGNAL = {thresholds, or VARIANT = {thresholds}}, LIMIT = number

A threshold may be a share of the stop in the same rule ("70%"), or `false`: never. A user's table
with the name of a built-in set changes that set, rule by rule; `extends = "fuses:demo"` makes a new
one from another. `fuses:demo` names a variant; `fuses` alone is `production`.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from loopaudit.errors import ConfigError, UsageError
from loopaudit.guards.build import build
from loopaudit.guards.checks import Where, check_set
from loopaudit.guards.layers import flatten, merge
from loopaudit.guards.preset import DEFAULT_VARIANT, Preset
from loopaudit.guards.reach import unreachable

__all__ = ["Preset", "load", "names", "unreachable", "variables"]

Place = Callable[..., tuple[str, int | None] | None]

_PREFERRED = "production"


def names(user: Mapping[str, Any] | None = None) -> list[str]:
    """Names of all presets, variants written out, sorted."""
    found = []
    for name in sorted({*_built_in(), *(user or {})}):
        variants = _variants(name, user or {})
        found += [name] if variants == [DEFAULT_VARIANT] else [f"{name}:{v}" for v in variants]
    return found


def variables(user: Mapping[str, Any] | None = None) -> set[str]:
    """Environment variables that some set takes a number from."""
    found: set[str] = set()
    waiting: list[Any] = [*map(_read, _built_in()), *(user or {}).values()]
    while waiting:
        item = waiting.pop()
        if isinstance(item, Mapping):
            env = item.get("env")
            names_of = env.values() if isinstance(env, Mapping) else ()
            found.update(name for name in names_of if isinstance(name, str))
            waiting += item.values()
        elif isinstance(item, list):
            waiting += item
    return found


def load(
    name: str,
    user: Mapping[str, Any] | None = None,
    *,
    place: Place | None = None,
    env: Mapping[str, str] | None = None,
) -> Preset:
    """The preset `name`. `user` holds the user's sets by name; `place` finds a key's path and line.

    Environment variables (`env`, by default those of the process) win over both. Raises
    `UsageError` for an unknown name, `ConfigError` for a set that cannot be used.
    """
    user = user or {}
    set_name, _, variant = name.partition(":")
    if set_name not in user and set_name not in _built_in():
        raise UsageError(f"no guard set {set_name!r}", f"there are: {', '.join(names(user))}")
    where = Where((set_name,), place)
    if set_name in user:
        check_set(user[set_name], where, _built_in_variants(set_name))
        written = enumerate(user[set_name].get("rule", ()))
        where.rules = {rule["signal"]: number for number, rule in written}
    variants = _variants(set_name, user)
    if not variant:
        variant = _PREFERRED if _PREFERRED in variants else variants[0]
    elif variant not in variants:
        raise UsageError(
            f"guard set {set_name!r} has no variant {variant!r}", f"it has: {', '.join(variants)}"
        )
    flat = _flat_set(set_name, variant, user, place, ())
    return build(flat, set_name, variant, where, os.environ if env is None else env)


def _flat_set(
    name: str, variant: str, user: Mapping[str, Any], place: Place | None, path: tuple[str, ...]
) -> dict[str, Any]:
    """The set as one table without variants, on top of what it extends."""
    own = user.get(name)
    where = Where((name,), place)
    if own is None:
        return flatten(_read(name), variant, _variants(name, user))
    if name in path:
        raise where.error(f"extends itself: {' -> '.join((*path, name))}")
    flat = flatten(own, variant, _variants(name, user))
    if name in _built_in():
        return merge(flatten(_read(name), variant, _variants(name, {})), flat)
    base = own.get("extends")
    if base is None:
        return flat
    base_name, _, base_variant = base.partition(":")
    if base_name not in user and base_name not in _built_in():
        others = {key: value for key, value in user.items() if key not in (name, *path)}
        raise where.at("extends").error(
            f"no guard set {base_name!r}", f"there are: {', '.join(names(others))}"
        )
    if base_name in user:
        check_set(user[base_name], Where((base_name,), place), _built_in_variants(base_name))
    variants = _variants(base_name, user)
    base_variant = base_variant or (_PREFERRED if _PREFERRED in variants else variants[0])
    if base_variant not in variants:
        raise where.at("extends").error(
            f"guard set {base_name!r} has no variant {base_variant!r}",
            f"it has: {', '.join(variants)}",
        )
    return merge(_flat_set(base_name, base_variant, user, place, (*path, name)), flat)


def _variants(name: str, user: Mapping[str, Any]) -> list[str]:
    raw = _read(name) if name in _built_in() else user[name]
    variants = raw.get("variants") if isinstance(raw, Mapping) else None
    return list(variants) if isinstance(variants, list) and variants else [DEFAULT_VARIANT]


def _built_in_variants(name: str) -> list[str]:
    return _variants(name, {}) if name in _built_in() else []


@cache
def _built_in() -> tuple[str, ...]:
    folder = files("loopaudit.guards") / "presets"
    return tuple(
        sorted(e.name.removesuffix(".toml") for e in folder.iterdir() if e.name.endswith(".toml"))
    )


@cache
def _read(name: str) -> dict[str, Any]:
    file = files("loopaudit.guards") / "presets" / f"{name}.toml"
    where = Where((name,), lambda *_: (f"{name}.toml", None))
    try:
        raw = tomllib.loads(file.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(str(error), path=f"{name}.toml") from error
    check_set(raw, where)
    return raw
