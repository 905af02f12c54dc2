"""`loopaudit chart`: figures of a run or of a whole folder."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

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
    Until,
    Zone,
)
from loopaudit.errors import NothingMeasured, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

    from loopaudit.findings import Report
    from loopaudit.replay.audit import AuditedRun, AuditOptions, Everything
    from loopaudit.settings import Settings

app = typer.Typer(
    **command(
        "Draws a chart as PNG, SVG or PDF (by the ending of -o). Money is list price, not a bill."
        " Without --run the charts of one run take the one that wasted most."
    )
)


class Kind(StrEnum):
    RUN = "run"
    SNOWBALL = "snowball"
    TIMELINE = "timeline"
    COST = "cost"
    SPINS = "spins"
    RETRIES = "retries"
    THRESHOLDS = "thresholds"


class By(StrEnum):
    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    MODEL = "model"
    AGENT = "agent"
    PROJECT = "project"
    TASK_TYPE = "task-type"
    TOOL = "tool"
    FORMAT = "format"


#: the guard set that judges attempts, and runs read again for them at most
_RETRIES, _MOST_AGAIN = "retries:production", 200
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
    from loopaudit.cli.output import check
    from loopaudit.render.charts.style import looks, save

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
        guards=() if kind is Kind.THRESHOLDS else guard or preferred.guards,
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
    with looks(dark):
        if kind is Kind.THRESHOLDS:
            drawn, rows = _of_thresholds(options, chosen, guard or (), quiet=quiet)
        else:
            drawn, rows = _drawn(kind, options, run, by, zone_name, now, quiet=quiet)
        with _opened(output) as stream:
            save(drawn, stream, ending)
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


def _drawn(
    kind: Kind,
    options: AuditOptions,
    run: str | None,
    by: By,
    zone_name: str,
    now: float,
    *,
    quiet: bool,
) -> tuple[Figure, list[dict[str, Any]]]:
    """The figure and the rows behind it."""
    from loopaudit.cli import options as given
    from loopaudit.cli.auditing import analysed
    from loopaudit.render.charts import spins

    zone = given.zone(zone_name)
    if kind is Kind.RETRIES and not {_RETRIES, "retries"} & set(options.guards):
        options.guards = (*options.guards, _RETRIES)
    if kind in (Kind.TIMELINE, Kind.RETRIES):
        return _of_calls(kind, options, run, zone_name, quiet=quiet)
    report, audited = analysed(options, quiet=quiet)
    if kind is Kind.COST:
        return _of_costs(report, audited, options, by, zone_name, now)
    if kind is Kind.SPINS:
        data = spins.spins(report.findings, [guard.preset for guard in report.guards])
        if not data.recorded:
            raise NothingMeasured(
                "there is no loop to draw", "loopaudit report tells what was found"
            )
        return spins.draw(data), data.rows()
    from loopaudit.render.charts import run as of_run
    from loopaudit.render.charts.series import run_series

    series = run_series(_one(audited, run))
    if not series.rows:
        raise NothingMeasured("the run has no step of its own to draw", "--run names another")
    if all(row["tokens"] is None for row in series.rows):
        raise NothingMeasured(
            f"neither cost nor tokens of {series.run} are known: the log has no usage",
            "--kind timeline draws its calls",
        )
    when = _when(series.began, series.ended, zone, given.zone_title(zone_name))
    if kind is Kind.SNOWBALL:
        return of_run.snowball(series, when), series.rows
    return of_run.cost(series, when, report.totals.price_date), series.rows


def _of_costs(
    report: Report,
    audited: list[AuditedRun],
    options: AuditOptions,
    by: By,
    zone_name: str,
    now: float,
) -> tuple[Figure, list[dict[str, Any]]]:
    from functools import partial

    from loopaudit.cli import options as given
    from loopaudit.cost.attribution import attribute
    from loopaudit.cost.dimensions import cut_by
    from loopaudit.money import PriceBook
    from loopaudit.render.charts import bars
    from loopaudit.settings import Settings

    zone = given.zone(zone_name)
    chosen = options.settings or Settings()
    book = PriceBook(chosen.table("prices"), place=partial(chosen.place, "prices"))
    costs = attribute(audited, (by.value,), zone, book, report)
    data = bars.bars(costs, cut_by(by.value, zone, now, options.since, options.until))
    if not any(bar.known for bar in data.bars):
        raise NothingMeasured("neither cost nor tokens are known", "the logs have no usage")
    title = given.zone_title(zone_name)
    return bars.draw(data, title, report.totals.price_date), data.rows()


def _of_calls(
    kind: Kind, options: AuditOptions, run: str | None, zone_name: str, *, quiet: bool
) -> tuple[Figure, list[dict[str, Any]]]:
    """Charts that need the run itself, which is read once more."""
    from loopaudit.cli import options as given
    from loopaudit.cli.auditing import studied
    from loopaudit.render.charts import timeline
    from loopaudit.replay.look import again

    everything, report, audited = studied(options, quiet=quiet)
    if kind is Kind.RETRIES:
        return _of_retries(everything, audited, run)
    found = again(_one(audited, run).found.run, everything)
    when = _when(found.started, found.ended, given.zone(zone_name), given.zone_title(zone_name))
    findings = [finding for finding in report.findings if finding.run == found.id]
    data = timeline.timeline(found, findings, excerpts=options.excerpts)
    if not data.points:
        raise NothingMeasured(f"no call in {found.id}", "--run names another run")
    return timeline.draw(data, when), data.points


def _of_retries(
    everything: Everything, audited: list[AuditedRun], run: str | None
) -> tuple[Figure, list[dict[str, Any]]]:
    """Of one run, or of those whose attempts break the policy, or of all where they are few."""
    from loopaudit.render.charts import retries
    from loopaudit.render.figures import count
    from loopaudit.replay.look import again_all

    if run is not None:
        items, of = [_one(audited, run)], _one(audited, run).summary.id
    else:
        broken = [item for item in audited if item.found.trips.get(_RETRIES)]
        items = (broken or audited)[:_MOST_AGAIN]
        whose = " whose attempts break the policy" if broken else ""
        of = f"{count(len(items), 'run')}{whose}"
        if len(items) < len(broken or audited):
            of += f" of {len(broken or audited):,}"
    attempts = retries.retries(again_all([item.found.run for item in items], everything).values())
    if not attempts.rows:
        hint = "" if run is None else "--run names another run"
        raise NothingMeasured(f"no failed attempt in {of}", hint)
    return retries.draw(attempts, of), attempts.rows


def _of_thresholds(
    options: AuditOptions, chosen: Settings, names: Sequence[str], *, quiet: bool
) -> tuple[Figure, list[dict[str, Any]]]:
    """The trade of `tune`, with the same settings."""
    from loopaudit.cli.auditing import analysed
    from loopaudit.cli.tuned import guards_to_tune
    from loopaudit.render.charts import trade
    from loopaudit.replay import finding_labels
    from loopaudit.tune import options as tuning
    from loopaudit.tune.tune import traced, tune

    wanted = tuning.read(chosen)
    guards = guards_to_tune(tuple(names) or tuple(wanted.guards), chosen)
    options.traced = traced(guards)
    verdicts = finding_labels.read(finding_labels.path_of(chosen))
    _, audited = analysed(options, quiet=quiet)
    data = trade.trades(tune(audited, guards, verdicts, wanted))
    if not data.panels:
        raise NothingMeasured("there is no advice to draw", "loopaudit tune tells the reasons")
    return trade.draw(data), data.rows()


def _one(audited: list[AuditedRun], run: str | None) -> AuditedRun:
    from loopaudit.render.charts.series import chosen

    if not audited:
        raise NothingMeasured("no run to draw", "loopaudit report tells what was read")
    item = chosen(audited, run)
    if item is None:
        names = ", ".join(item.summary.id for item in audited[:5])
        which = (
            "no one run is worst" if run is None else f"no run, or more than one, matches {run!r}"
        )
        raise UsageError(which, f"--run names one of these: {names}")
    return item


def _when(began: float | None, ended: float | None, zone: Any, title: str) -> str:
    from loopaudit.render.figures import moment

    if began is None or ended is None:
        return "times unknown"
    return f"{moment(began, zone)} to {moment(ended, zone)} {title}"


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
