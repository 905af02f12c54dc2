"""Options that several commands take, each said once: name, place and help are the same in all."""

from __future__ import annotations

from typing import Annotated

import typer

Paths = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[PATHS]...", help="Files, folders or globs; - is stdin.", show_default=False
    ),
]
CheckPaths = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[PATHS]...",
        help="Files, folders or globs; else paths of [check].",
        show_default=False,
    ),
]
Since = Annotated[
    str | None,
    typer.Option(metavar="WHEN", help="From here on: a date, a time, or 7d, 24h (ago)."),
]
Until = Annotated[str | None, typer.Option(metavar="WHEN", help="Up to here; a date is included.")]
Zone = Annotated[
    str | None,
    typer.Option(metavar="ZONE", help="Of times: UTC, local, Europe/Berlin …  [default: UTC]"),
]
TaskType = Annotated[
    str | None, typer.Option(metavar="TYPE", help="Take every run as one of this type of task.")
]
LogFormat = Annotated[
    str | None, typer.Option(metavar="NAME", help="Read every input as this format.")
]
Agents = Annotated[
    list[str] | None,
    typer.Option(
        "--agent",
        metavar="NAME",
        help="Read the logs of this agent, wherever it keeps them (see sources). Repeatable.",
    ),
]
Mapping = Annotated[
    str | None,
    typer.Option("--map", metavar="FILE", help="Read by this mapping (see explain map)."),
]
Labels = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Outcomes and task types of runs, as CSV or JSON lines (see explain labels).",
    ),
]
Processes = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="Worker processes; default: one per core.")
]
NoCache = Annotated[
    bool,
    typer.Option("--no-cache", help="Read all logs anew, and keep nothing (see cache)."),
]
Config = Annotated[
    str | None, typer.Option(metavar="FILE", help="Settings; default: loopaudit.toml here.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Nothing on stderr.")]
