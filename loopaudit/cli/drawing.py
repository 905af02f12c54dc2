"""Draws one chart of an analysis: what `loopaudit chart` writes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from loopaudit.errors import NothingMeasured, UsageError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from loopaudit.findings import Report
    from loopaudit.guards.preset import Preset
    from loopaudit.replay.audit import AuditedRun, AuditOptions, Everything

    Audited = list[AuditedRun]
    Drawn = tuple[Figure, list[dict[str, Any]]]


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


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked for beside the kind. `guards`: those whose thresholds are turned."""

    options: AuditOptions
    zone_name: str
    now: float
    run: str | None = None
    by: By = By.DAY
    guards: Sequence[Preset] = ()


def prepared(kind: Kind, options: AuditOptions, guards: Sequence[Preset]) -> None:
    """What a chart needs to have counted while logs are read. `guards`: those to turn."""
    if kind is Kind.RETRIES and not {_RETRIES, "retries"} & set(options.guards):
        options.guards = (*options.guards, _RETRIES)
    if kind is Kind.THRESHOLDS:
        from loopaudit.tune.tune import traced

        options.guards, options.traced = (), traced(guards)


def drawn(kind: Kind, asked: Asked, read: Everything, report: Report, audited: Audited) -> Drawn:
    """The figure and the rows behind it. Raises `NothingMeasured`, `UsageError`."""
    from loopaudit.cli import options as given
    from loopaudit.render.charts import spins

    zone = given.zone(asked.zone_name)
    if kind is Kind.THRESHOLDS:
        return _of_thresholds(asked, audited)
    if kind is Kind.RETRIES:
        return _of_retries(read, audited, asked.run)
    if kind is Kind.TIMELINE:
        return _timeline(asked, read, report, audited)
    if kind is Kind.COST:
        return _of_costs(report, audited, asked)
    if kind is Kind.SPINS:
        data = spins.spins(report.findings, [guard.preset for guard in report.guards])
        if not data.recorded:
            raise NothingMeasured(
                "there is no loop to draw", "loopaudit report tells what was found"
            )
        return spins.draw(data), data.rows()
    from loopaudit.render.charts import run as of_run
    from loopaudit.render.charts.series import run_series

    series = run_series(_one(audited, asked.run))
    if not series.rows:
        raise NothingMeasured("the run has no step of its own to draw", "--run names another")
    if all(row["tokens"] is None for row in series.rows):
        raise NothingMeasured(
            f"neither cost nor tokens of {series.run} are known: the log has no usage",
            "--kind timeline draws its calls",
        )
    when = _when(series.began, series.ended, zone, given.zone_title(asked.zone_name))
    if kind is Kind.SNOWBALL:
        return of_run.snowball(series, when), series.rows
    return of_run.cost(series, when, report.totals.price_date), series.rows


def _of_costs(report: Report, audited: Audited, asked: Asked) -> Drawn:
    from functools import partial

    from loopaudit.cli import options as given
    from loopaudit.cost.attribution import attribute
    from loopaudit.cost.dimensions import cut_by
    from loopaudit.money import PriceBook
    from loopaudit.render.charts import bars
    from loopaudit.settings import Settings

    options = asked.options
    zone = given.zone(asked.zone_name)
    chosen = options.settings or Settings()
    book = PriceBook(chosen.table("prices"), place=partial(chosen.place, "prices"))
    costs = attribute(audited, (asked.by.value,), zone, book, report)
    data = bars.bars(costs, cut_by(asked.by.value, zone, asked.now, options.since, options.until))
    if not any(bar.known for bar in data.bars):
        raise NothingMeasured("neither cost nor tokens are known", "the logs have no usage")
    title = given.zone_title(asked.zone_name)
    return bars.draw(data, title, report.totals.price_date), data.rows()


def _timeline(asked: Asked, read: Everything, report: Report, audited: Audited) -> Drawn:
    """Needs the run itself, which is read once more."""
    from loopaudit.cli import options as given
    from loopaudit.render.charts import timeline
    from loopaudit.replay.look import again

    found = again(_one(audited, asked.run).found.run, read)
    zone, title = given.zone(asked.zone_name), given.zone_title(asked.zone_name)
    findings = [finding for finding in report.findings if finding.run == found.id]
    data = timeline.timeline(found, findings, excerpts=asked.options.excerpts)
    if not data.points:
        raise NothingMeasured(f"no call in {found.id}", "--run names another run")
    return timeline.draw(data, _when(found.started, found.ended, zone, title)), data.points


def _of_retries(everything: Everything, audited: Audited, run: str | None) -> Drawn:
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


def _of_thresholds(asked: Asked, audited: Audited) -> Drawn:
    """The trade of `tune`, with the same settings."""
    from loopaudit.render.charts import trade
    from loopaudit.replay import finding_labels
    from loopaudit.settings import Settings
    from loopaudit.tune import options as tuning
    from loopaudit.tune.tune import tune

    chosen = asked.options.settings or Settings()
    verdicts = finding_labels.read(finding_labels.path_of(chosen))
    made = tune(audited, asked.guards, verdicts, tuning.read(chosen))
    data = trade.trades(made)
    if not data.panels:
        raise NothingMeasured("there is no advice to draw", "loopaudit tune tells the reasons")
    return trade.draw(data), data.rows()


def _one(audited: Audited, run: str | None) -> AuditedRun:
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
