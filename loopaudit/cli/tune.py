"""`loopaudit tune`: which thresholds pay, for each task type, on the user's own runs."""

from __future__ import annotations

import sys
from enum import StrEnum
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
    Processes,
    Quiet,
    Since,
    TaskType,
    Until,
    Zone,
)
from loopaudit.errors import UsageError

app = typer.Typer(
    **command(
        "Which thresholds pay, for each task type: every value of every threshold with the loops it"
        " catches, the healthy runs it interrupts and what both cost; the best combination, chosen"
        " on half of the runs and tried on the other. Runs need an outcome (or labels, see label);"
        " without one stated rules take its place. Ends with 3 where there are too few runs to say"
        " anything."
    )
)


class Format(StrEnum):
    TEXT = "text"
    JSON = "json"
    CSV = "csv"
    PARQUET = "parquet"


@app.command()
def tune(
    paths: Paths = None,
    agent: Agents = None,
    guard: Annotated[
        list[str] | None,
        typer.Option(
            "--guard",
            "-g",
            metavar="PRESET",
            help="Set to tune; limits: steps, time, tokens and money of a run; service: a budget"
            " of a day for all runs. Repeatable."
            "  [default: loopaudit, limits]",
        ),
    ] = None,
    format: Annotated[Format, typer.Option("--format", "-f", help="Kind of output.")] = Format.TEXT,
    output: Annotated[
        str | None, typer.Option("-o", "--output", metavar="FILE", help="Write to a file.")
    ] = None,
    brief: Annotated[bool, typer.Option("--brief", help="The overview only.")] = False,
    explain: Annotated[
        str | None,
        typer.Option("--explain", metavar="TYPE", help="Say in words why, for one task type."),
    ] = None,
    emit: Annotated[
        str | None,
        typer.Option(
            "--emit",
            metavar="AGENT",
            help="Print the limits in an agent's own terms: claude-code, langgraph …",
        ),
    ] = None,
    write: Annotated[
        bool,
        typer.Option(
            "--write", help="Put what is recommended into loopaudit.toml (or --config FILE)."
        ),
    ] = False,
    figure: Annotated[
        str | None, typer.Option("--figure", metavar="FILE", help="Draw the trade as SVG or PNG.")
    ] = None,
    max_false_stops: Annotated[
        float | None,
        typer.Option(min=0, max=1, metavar="SHARE", help="Of healthy runs.  [default: 0.02]"),
    ] = None,
    false_stop_cost: Annotated[
        float | None,
        typer.Option(min=0, metavar="TIMES", help="Of what the run had spent.  [default: 1]"),
    ] = None,
    since: Since = None,
    until: Until = None,
    tz: Zone = None,
    task_type: TaskType = None,
    labels: Labels = None,
    mapping: Mapping = None,
    log_format: LogFormat = None,
    processes: Processes = None,
    no_cache: NoCache = False,
    config: Config = None,
    quiet: Quiet = False,
) -> int:
    import time
    from dataclasses import replace
    from math import isfinite

    from loopaudit import settings
    from loopaudit.cli import options as given
    from loopaudit.cli.auditing import analysed, exit_code, measured
    from loopaudit.cli.output import check, coloured, opened, width
    from loopaudit.cli.tuned import guards_to_tune
    from loopaudit.errors import ExitCode
    from loopaudit.render import tune_export, tune_table, tune_words
    from loopaudit.render.screen import Screen, put
    from loopaudit.render.text import inert
    from loopaudit.replay import finding_labels
    from loopaudit.tune import emit as agents
    from loopaudit.tune import options as tuning
    from loopaudit.tune import write as writing
    from loopaudit.tune.tune import traced
    from loopaudit.tune.tune import tune as advise

    check(output)
    check(figure)
    if format is Format.PARQUET and output in (None, "-") and sys.stdout.isatty():
        raise UsageError("--format parquet is not for the screen", "-o FILE")
    if emit is not None:
        agents.known(emit)
    for name, value in (
        ("--max-false-stops", max_false_stops),
        ("--false-stop-cost", false_stop_cost),
    ):
        if value is not None and not isfinite(value):
            raise UsageError(f"{name} {value}: must be a finite number")
    now = time.time()
    chosen = settings.load(config)
    preferred = given.preferences(chosen)
    zone = given.zone(tz or preferred.zone_name)
    wanted = tuning.read(chosen)
    if max_false_stops is not None:
        wanted = replace(wanted, max_false_stops=max_false_stops)
    if false_stop_cost is not None:
        wanted = replace(wanted, false_stop_cost=false_stop_cost)
    guards = guards_to_tune(tuple(guard or wanted.guards), chosen)
    options = given.audit_options(
        paths or [],
        chosen,
        agents=agent or (),
        **given.window(since, until, zone, now),
        task_type=task_type,
        log_format=log_format,
        labels=labels,
        mapping=mapping,
        processes=processes,
        no_cache=no_cache,
        quiet=quiet,
    )
    options.traced = traced(guards)
    verdicts = finding_labels.read(finding_labels.path_of(chosen))
    found, audited = analysed(options, quiet=quiet)
    if not measured(found) and format is Format.TEXT:
        return exit_code(found, strict=False, quiet=quiet)
    made = advise(audited, guards, verdicts, wanted)
    if explain is not None and explain not in {a.task_type for a in made.advice}:
        types = ", ".join(dict.fromkeys(a.task_type for a in made.advice))
        raise UsageError(f"--explain {explain}: no run of this type", f"types here: {types}")
    with opened(output) as stream:
        if emit is not None:
            put(map(inert, agents.lines(made, emit)), stream)
        elif explain is not None:
            screen = Screen(width(stream), coloured(stream))
            put(tune_words.lines(made, explain, screen), stream)
        elif format is Format.TEXT:
            put(
                tune_table.lines(made, Screen(width(stream), coloured(stream)), brief=brief), stream
            )
        elif format is Format.JSON:
            tune_export.write_json(made, found, stream)
        elif format is Format.CSV:
            tune_export.write_csv(made, stream)
        else:
            tune_export.write_parquet(made, stream.buffer)
    if figure is not None:
        from loopaudit.render.tune_figure import draw

        draw(made, figure)
    if write:
        place = writing.write(made, config, chosen)
        if not quiet:
            print(f"loopaudit: {place}", file=sys.stderr)
    code = exit_code(found, strict=False, quiet=quiet)
    if code is ExitCode.PASS and all(a.together is None for a in made.advice):
        if not quiet:
            print("loopaudit: no advice: see the reasons given", file=sys.stderr)
        return ExitCode.UNKNOWN
    return code
