"""`loopaudit sources`: where the coding agents of this machine keep their logs."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import Annotated

import typer

from loopaudit.cli.app import command
from loopaudit.cli.flags import Config

app = typer.Typer(
    **command(
        "Which coding agents have left logs on this machine, where, how many sessions, how large, "
        "from when to when. Variables that move an agent's folder are honoured; nothing is opened."
    )
)


class Format(StrEnum):
    TEXT = "text"
    JSON = "json"


@app.command()
def sources(
    format: Annotated[Format, typer.Option("--format", "-f", help="Kind of output.")] = Format.TEXT,
    tz: Annotated[
        str | None,
        typer.Option(metavar="ZONE", help="Of dates: UTC, local, Europe/Berlin …  [default: UTC]"),
    ] = None,
    config: Config = None,
) -> None:
    import json
    import os
    from pathlib import Path

    from loopaudit import places, settings
    from loopaudit.cli import options as given
    from loopaudit.cli.output import coloured, width
    from loopaudit.render.places_table import document, lines
    from loopaudit.render.screen import Screen, put

    preferred = given.preferences(settings.load(config))
    zone = given.zone(tz or preferred.zone_name)
    home = Path.home()
    found = [places.survey(agent, os.environ, home) for agent in places.agents().values()]
    if format is Format.JSON:
        print(json.dumps({"sources": document(found)}, indent=2, ensure_ascii=False))
        return
    screen = Screen(width(sys.stdout), coloured(sys.stdout), zone=zone)
    put(lines(found, str(home), screen), sys.stdout)
