"""`loopaudit export`: runs, steps and findings as CSV or Parquet, for notebooks."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
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
        "Writes three tables: runs, steps and findings. Steps and lines count from 1, times are"
        " UTC, money is list price (not a bill), unknown is empty. No text of calls is written."
    )
)


class Format(StrEnum):
    CSV = "csv"
    PARQUET = "parquet"


@app.command()
def export(
    paths: Paths = None,
    output: Annotated[
        str, typer.Option("-o", "--output", metavar="FOLDER", help="Made if it is not there.")
    ] = "loopaudit-export",
    format: Annotated[
        Format, typer.Option("--format", "-f", help="Kind of files.")
    ] = Format.PARQUET,
    agent: Agents = None,
    since: Since = None,
    until: Until = None,
    tz: Zone = None,
    task_type: TaskType = None,
    labels: Labels = None,
    mapping: Mapping = None,
    log_format: LogFormat = None,
    estimate: Annotated[
        bool,
        typer.Option("--estimate", help="Estimate tokens that a log does not tell."),
    ] = False,
    processes: Processes = None,
    no_cache: NoCache = False,
    config: Config = None,
    quiet: Quiet = False,
) -> int:
    from polars.exceptions import PolarsError

    from loopaudit.cli.auditing import exit_code
    from loopaudit.cli.tables import for_csv, tables

    folder = Path(output)
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"-o {output}: not a folder", "name a folder, or one to be made")
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
        estimate=estimate,
        processes=processes,
        no_cache=no_cache,
        quiet=quiet,
    )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, frame in frames.items():
            target = folder / f"{name}.{format}"
            if format is Format.CSV:
                for_csv(frame).write_csv(target, datetime_format="%Y-%m-%dT%H:%M:%S%.6fZ")
            else:
                frame.write_parquet(target)
    except OSError as error:
        raise UsageError(f"-o {output}: {(error.strerror or str(error)).lower()}") from None
    except PolarsError as error:  # how the engine tells a full disk
        raise UsageError(f"-o {output}: cannot write {name}.{format}: {error}") from None
    if not quiet:
        sizes = ", ".join(f"{frame.height:,} {name}" for name, frame in frames.items())
        print(f"loopaudit: wrote {sizes} to {output}", file=sys.stderr)
    return exit_code(found, strict=False, quiet=quiet)
