"""`loopaudit query`: SQL over runs, steps and findings."""

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

app = typer.Typer(
    **command(
        "Answers an SQL query over the tables runs, steps and findings (`loopaudit schema"
        " tables` tells their columns). Money is list price, not a bill; unknown is null."
    )
)


class Format(StrEnum):
    TEXT = "text"
    CSV = "csv"
    JSON = "json"


@app.command()
def query(
    sql: Annotated[str, typer.Argument(metavar="SQL", help="One SELECT, in quotes.")],
    paths: Paths = None,
    format: Annotated[Format, typer.Option("--format", "-f", help="Kind of output.")] = Format.TEXT,
    agent: Agents = None,
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
    from loopaudit.cli.auditing import exit_code
    from loopaudit.cli.tables import answer, checked, for_csv, tables

    checked(sql)
    found, frames = tables(
        paths,
        config,
        agents=agent or (),
        since=since,
        until=until,
        tz=tz,
        task_type=task_type,
        log_format=log_format,
        labels=labels,
        mapping=mapping,
        processes=processes,
        no_cache=no_cache,
        quiet=quiet,
    )
    frame = answer(sql, frames)
    if format is Format.CSV:
        sys.stdout.write(for_csv(frame).write_csv(datetime_format="%Y-%m-%dT%H:%M:%S%.6fZ"))
    elif format is Format.JSON:
        from loopaudit.render.text import json_inert

        sys.stdout.write(json_inert(frame.write_json()) + "\n")
    else:
        _print(frame)
    return exit_code(found, strict=False, quiet=quiet)


def _print(frame: object) -> None:
    import polars

    from loopaudit.cli.output import width
    from loopaudit.render.text import inert

    assert isinstance(frame, polars.DataFrame)
    with polars.Config(
        tbl_rows=-1,
        tbl_cols=-1,
        tbl_width_chars=width(sys.stdout),
        tbl_hide_dataframe_shape=True,
        tbl_hide_column_data_types=True,
        tbl_formatting="NOTHING",
        fmt_str_lengths=60,
        set_fmt_float="full",
    ):
        for line in str(frame).splitlines():
            print(inert(line).rstrip())
