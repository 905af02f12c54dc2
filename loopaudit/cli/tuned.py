"""The guard sets that `tune` and `chart --kind thresholds` turn."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from loopaudit.guards.preset import Preset
    from loopaudit.settings import Settings


def guards_to_tune(names: tuple[str, ...], chosen: Settings) -> list[Preset]:
    """The sets to tune, each once. Raises `UsageError`, `ConfigError`."""
    from functools import partial

    from loopaudit.guards import presets
    from loopaudit.tune.dimensions import LIMITS, SERVICE, limits, service

    found: dict[str, Preset] = {}
    for name in names:
        if name == LIMITS:
            budget = chosen.reader("budgets").table("run").number("usd", least=0)
            preset = limits(chosen.table("guards"), budget)
        elif name == SERVICE:
            day = chosen.reader("budgets").table("day")
            preset = service(day.number("usd", least=0), day.number("tokens", least=0))
        else:
            preset = presets.load(
                name, chosen.table("guards"), place=partial(chosen.place, "guards")
            )
        found[preset.name] = preset
    return list(found.values())
