"""Lays guard sets over each other: a variant over its set, a user's set over a built-in one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def flatten(raw: Mapping[str, Any], variant: str, variants: list[str]) -> dict[str, Any]:
    """`raw` with what it says for `variant` moved up, and what it says for others left out."""

    def one(table: Mapping[str, Any]) -> Any:
        kept = {key: value for key, value in table.items() if key not in variants}
        chosen = table.get(variant, {})
        return deep(kept, chosen) if isinstance(chosen, Mapping) else chosen

    flat = dict(raw)
    flat["rule"] = [one(rule) for rule in raw.get("rule", ())]
    flat["detector"] = {}
    for name, table in raw.get("detector", {}).items():
        kept = {key: value for key, value in table.items() if key not in variants}
        options = {**table.get("options", {}), **table.get(variant, {})}
        flat["detector"][name] = {**kept, "options": options}
    flat["limits"] = one(raw.get("limits", {}))
    flat["task_types"] = {
        task: {
            key: one(value) if isinstance(value, Mapping) else value for key, value in table.items()
        }
        for task, table in raw.get("task_types", {}).items()
    }
    return flat


def merge(base: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """`own` on top of `base`, both flat: rules are matched by signal, new ones come last."""
    rules = {rule["signal"]: rule for rule in base["rule"]}
    for rule in own["rule"]:
        rules[rule["signal"]] = deep(rules.get(rule["signal"], {}), rule)
    tables = {
        key: deep(base.get(key, {}), own.get(key, {}))
        for key in ("detector", "limits", "retry", "task_types")
    }
    return {**base, **own, **tables, "rule": list(rules.values())}


def deep(base: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in own.items():
        old = merged.get(key)
        both = isinstance(old, Mapping) and isinstance(value, Mapping)
        merged[key] = deep(old, value) if both else value  # type: ignore[arg-type]
    return merged
