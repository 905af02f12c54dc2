"""`loopaudit chart`: figures of a run or of a whole folder."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import typer

from loopaudit.cli.app import command
from loopaudit.cli.drawing import By, Kind
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
    Until,
    Zone,
)
from loopaudit.errors import UsageError

if TYPE_CHECKING:
    from loopaudit.guards.preset import Preset

app = typer.Typer(
    **command(
        "Draws a chart as PNG, SVG or PDF (by the ending of -o). Money is list price, not a bill."
        " Without --run the charts of one run take the one that wasted most."
    )
)


_KINDS = {".png": "png", ".svg": "svg", ".pdf": "pdf"}


@app.command()
def chart(
    paths: Paths = None,
    kind: Annotated[
        Kind,
        typer.Option(
            "--kind",
            "-k",
            help="run: cost so far with loops shaded; snowball: input of each step; timeline: what"
            " was repeated; cost: bars --by; spins: how long loops spun; retries: failed attempts"
            " and waits; thresholds: what guards would save against the healthy runs they"
            " interrupt (see tune).",
        ),
    ] = Kind.RUN,
    output: Annotated[
        str, typer.Option("-o", "--output", metavar="FILE", help="FILE.png, .svg or .pdf.")
    ] = "chart.png",
    data: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="The numbers behind it too: FILE.csv or FILE.parquet."),
    ] = None,
    run: Annotated[
        str | None, typer.Option(metavar="RUN", help="Id of a run, or a unique part of it.")
    ] = None,
    by: Annotated[By, typer.Option("--by", help="Of --kind cost.")] = By.DAY,
    agent: Agents = None,
    guard: Annotated[
        list[str] | None,
        typer.Option("--guard", "-g", metavar="PRESET", help="Guards to mark. Repeatable."),
    ] = None,
    dark: Annotated[bool, typer.Option("--dark", help="For dark pages.")] = False,
    excerpts: Annotated[
        bool, typer.Option("--excerpts", help="Arguments in the timeline; they may hold secrets.")
    ] = False,
    since: Since = None,
    until: Until = None,
    tz: Zone = None,
    task_type: Annotated[
        str | None,
        typer.Option(metavar="TYPE", help="Judge every run as one of this type of task."),
    ] = None,
    labels: Labels = None,
    mapping: Mapping = None,
    log_format: LogFormat = None,
    processes: Processes = None,
    no_cache: NoCache = False,
    config: Config = None,
    quiet: Quiet = False,
) -> int:
    import time

    from loopaudit import settings
    from loopaudit.cli import options as given
    from loopaudit.cli.auditing import studied
    from loopaudit.cli.drawing import Asked, drawn, prepared
    from loopaudit.cli.output import check
    from loopaudit.cli.tuned import guards_to_tune
    from loopaudit.render.charts.style import looks, save
    from loopaudit.tune import options as tuning

    ending = _KINDS.get(Path(output).suffix.lower())
    if ending is None:
        raise UsageError(f"-o {output}: no kind of picture", "FILE.png, FILE.svg or FILE.pdf")
    if data is not None and Path(data).suffix.lower() not in (".csv", ".parquet"):
        raise UsageError(f"--data {data}: no kind of table", "FILE.csv or FILE.parquet")
    if kind in (Kind.COST, Kind.SPINS, Kind.THRESHOLDS) and run is not None:
        raise UsageError(f"--run: --kind {kind} is of all runs", "leave it out, or name its file")
    check(output)
    check(data)
    now = time.time()
    chosen = settings.load(config)
    preferred = given.preferences(chosen)
    zone_name = tz or preferred.zone_name
    zone = given.zone(zone_name)
    options = given.audit_options(
        paths or [],
        chosen,
        agents=agent or (),
        guards=preferred.guards if kind is Kind.THRESHOLDS else guard or preferred.guards,
        **given.window(since, until, zone, now),
        task_type=task_type,
        log_format=log_format,
        labels=labels,
        mapping=mapping,
        processes=processes,
        no_cache=no_cache,
        excerpts=excerpts,
        quiet=quiet,
    )
    turned: list[Preset] = []
    if kind is Kind.THRESHOLDS:
        turned = guards_to_tune(tuple(guard or tuning.read(chosen).guards), chosen)
    prepared(kind, options, turned)
    asked = Asked(options, zone_name, now, run, by, turned)
    with looks(dark):
        figure, rows = drawn(kind, asked, *studied(options, quiet=quiet))
        with _opened(output) as stream:
            save(figure, stream, ending)
    if data is not None:
        _write_rows(rows, data)
    if not quiet:
        print(f"loopaudit: wrote {output}" + (f" and {data}" if data else ""), file=sys.stderr)
        _tell_undrawn()
    return 0


def _tell_undrawn() -> None:
    """Letters that no font of this machine has stand in the picture as code points."""
    from loopaudit.render.charts.style import undrawn
    from loopaudit.render.figures import count

    missing = undrawn()
    if missing:
        named = ", ".join(f"U+{ord(char):04X}" for char in missing[:4])
        named += ", …" if len(missing) > 4 else ""
        print(
            f"loopaudit: no font here has {count(len(missing), 'character')} ({named});"
            " the picture names them\n"
            "hint: install fonts that have them (Noto Sans, Noto Sans CJK, Noto Emoji)",
            file=sys.stderr,
        )


def _write_rows(rows: list[dict[str, Any]], target: str) -> None:
    from loopaudit.cli.output import opened
    from loopaudit.render.tables import write_csv, write_parquet

    if Path(target).suffix.lower() == ".csv":
        with opened(target) as text:
            write_csv(rows, text)
    else:
        with _opened(target) as stream:
            write_parquet(rows, stream)


def _opened(target: str) -> BinaryIO:
    try:
        return open(target, "wb")
    except OSError as error:
        raise UsageError(f"-o {target}: {(error.strerror or str(error)).lower()}") from None
