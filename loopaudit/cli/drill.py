"""`loopaudit drill`: every scenario against one's own guards."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from typing import Annotated

import typer

from loopaudit.cli.app import command
from loopaudit.cli.flags import Config
from loopaudit.errors import ExitCode

app = typer.Typer(
    **command(
        "A fire drill: plays every scenario against the guards of loopaudit.toml and says which"
        " guard spoke at which step, which scenario would run away, and which healthy one would be"
        " stopped. Ends with 1 where one does."
    )
)


class Format(StrEnum):
    TEXT = "text"
    JSON = "json"


@app.command()
def drill(
    scenario: Annotated[
        list[str] | None,
        typer.Option(
            "--scenario", "-s", metavar="NAME", help="Only these; a TOML file too. Repeatable."
        ),
    ] = None,
    guard: Annotated[
        list[str] | None,
        typer.Option(
            "--guard", "-g", metavar="PRESET", help="Instead of the settings'. Repeatable."
        ),
    ] = None,
    format: Annotated[Format, typer.Option("--format", "-f", help="Kind of output.")] = Format.TEXT,
    language: Annotated[str, typer.Option("--lang", metavar="en|zh", help="Of the texts.")] = "en",
    config: Config = None,
) -> int:
    from loopaudit import settings
    from loopaudit.cli import living
    from loopaudit.cli import options as given
    from loopaudit.cli.output import coloured, width
    from loopaudit.live.drill import drill
    from loopaudit.render.live_tables import drilled, drilled_json
    from loopaudit.render.screen import Screen, put

    chosen = settings.load(config)
    names = guard or given.preferences(chosen).guards or ("loopaudit",)
    guards = living.guards(chosen, names)
    ways = living.ways(chosen, language, 0, False)
    rows = list(drill(living.scenarios(scenario or ("all",)), guards, ways))
    loaded = [preset.name for preset in guards]
    if format is Format.JSON:
        print(json.dumps(drilled_json(rows, loaded), indent=2, ensure_ascii=False))
    else:
        screen = Screen(width(sys.stdout), coloured(sys.stdout))
        put(drilled(rows, loaded, screen), sys.stdout)
    return ExitCode.LIMIT if any(row.fault for row in rows) else ExitCode.PASS
