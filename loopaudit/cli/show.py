"""`loopaudit show`: the steps of one run, so that a claim can be checked against the log."""

from __future__ import annotations

import os
import re
import sys
from typing import Annotated

import typer

from loopaudit.cli.app import command
from loopaudit.cli.flags import (
    Agents,
    Config,
    Labels,
    LogFormat,
    Mapping,
    NoCache,
    Paths,
    Since,
    Until,
    Zone,
)
from loopaudit.errors import UsageError

app = typer.Typer(
    **command(
        "The steps of one run around the onset of its loops: time, file:line, calls with arguments"
        " and results, and where a guard would have stepped in. Steps are counted from 1. Excerpts"
        " of the log are shown: they may hold secrets."
    )
)


@app.command()
def show(
    run: Annotated[
        str,
        typer.Argument(
            metavar="RUN", help="Id of a run or of a finding, its beginning, or a file."
        ),
    ],
    paths: Paths = None,
    steps: Annotated[
        str | None, typer.Option(metavar="A-B", help="These steps instead, e.g. 209-216.")
    ] = None,
    agent: Agents = None,
    guard: Annotated[
        list[str] | None,
        typer.Option(
            "--guard",
            "-g",
            metavar="PRESET",
            help="Guard to replay, e.g. fuses:demo; see explain. Repeatable.",
        ),
    ] = None,
    since: Since = None,
    until: Until = None,
    tz: Zone = None,
    task_type: Annotated[
        str | None, typer.Option(metavar="TYPE", help="Judge the run as one of this type of task.")
    ] = None,
    labels: Labels = None,
    mapping: Mapping = None,
    log_format: LogFormat = None,
    no_cache: NoCache = False,
    config: Config = None,
) -> None:
    import time

    from loopaudit import files, settings
    from loopaudit.cli import options as given
    from loopaudit.cli.catalog import titles
    from loopaudit.cli.output import coloured, plain, width
    from loopaudit.render.screen import Screen
    from loopaudit.render.steps import write
    from loopaudit.replay.look import find_run, part_in

    # a file with one run needs no id
    if not paths and (files.is_remote(run) or os.path.exists(run)):
        paths, run = [run], ""
    chosen = settings.load(config)
    preferred = given.preferences(chosen)
    zone_name = tz or preferred.zone_name
    zone = given.zone(zone_name)
    options = given.audit_options(
        paths or [],
        chosen,
        agents=agent or (),
        guards=guard or preferred.guards,
        **given.window(since, until, zone, time.time()),
        task_type=task_type,
        log_format=log_format,
        labels=labels,
        mapping=mapping,
        no_cache=no_cache,
        excerpts=True,
    )
    found, report = find_run(options, run)
    span = None if steps is None else span_of(steps, len(found.steps))
    screen = Screen(
        width(sys.stdout),
        coloured(sys.stdout),
        zone,
        given.zone_title(zone_name),
        titles=titles(),
        ascii=plain(sys.stdout),
    )
    write(
        found,
        [part for finding in report.findings if (part := part_in(finding, found.id)) is not None],
        [
            (result.preset, verdict.trip)
            for result in report.guards
            for verdict in result.verdicts
            if verdict.run == found.id
        ],
        sys.stdout,
        screen,
        span,
        next((run for run in report.runs if run.id == found.id), None),
    )


def span_of(text: str, steps: int) -> tuple[int, int]:
    """0-based first and last step of `A-B`, `A`, `A-` or `-B`, which count from 1."""
    match = re.fullmatch(r"\s*(\d{0,99})\s*(-?)\s*(\d{0,99})\s*", text, re.ASCII)
    if match is None or not (match[1] or match[3]):
        raise UsageError(f"--steps {text!r} is no range of steps", "e.g. --steps 209-216")
    first = int(match[1] or 1)
    last = int(match[3]) if match[3] else max(first, steps) if match[2] else first
    if first < 1 or last < first:
        raise UsageError(f"--steps {text!r} is no range of steps", "e.g. --steps 209-216")
    if first > steps:
        raise UsageError(f"--steps {text}: the run has {steps:,} steps")
    return first - 1, min(last, steps) - 1
