"""What the commands of the live agent share: guards and ways from flags and settings."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from loopaudit.errors import UsageError

if TYPE_CHECKING:
    from loopaudit.guards.preset import Preset
    from loopaudit.live.play import Ways
    from loopaudit.live.scenario import Scenario
    from loopaudit.settings import Settings

LANGUAGES = ("en", "zh")


def ways(settings: Settings, language: str, seed: int, real_time: bool) -> Ways:
    """How to play, with the user's own table of tools and masks."""
    from loopaudit.effects import ToolTable
    from loopaudit.live.clock import RealClock, ScriptedClock
    from loopaudit.live.play import Ways
    from loopaudit.masks import from_settings

    if language not in LANGUAGES:
        raise UsageError(f"--lang {language!r}", f"one of {', '.join(LANGUAGES)}")
    return Ways(
        language=language,
        seed=seed,
        tools=ToolTable(settings.table("tools"), settings.place),
        mask=from_settings(settings.table("masks"), partial(settings.place, "masks")),
        clock=RealClock if real_time else ScriptedClock,
    )


def guards(settings: Settings, names: Sequence[str]) -> list[Preset]:
    """The guard sets named, each once, with the user's changes."""
    from loopaudit.guards import presets

    place = partial(settings.place, "guards")
    found = (presets.load(name, settings.table("guards"), place=place) for name in names)
    return list({preset.name: preset for preset in found}.values())


def scenarios(names: Sequence[str]) -> list[Scenario]:
    """Scenarios by name or file; "all" are the built-in ones."""
    from loopaudit.live.scenario_file import built_in, find

    found: list[Scenario] = []
    for name in names:
        found += built_in().values() if name == "all" else [find(name)]
    return found
