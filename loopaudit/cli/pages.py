"""Reports for other people: Markdown, an incident, a page; single runs are read once more."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from loopaudit.errors import NothingMeasured, UsageError

if TYPE_CHECKING:
    from loopaudit.findings import Report
    from loopaudit.render.screen import Screen
    from loopaudit.replay.audit import AuditedRun, Everything

#: runs of the worst loops whose cost is drawn on the page
_DRAWN = 3


def write_markdown(report: Report, stream: TextIO) -> None:
    from loopaudit.render.markdown import write

    write(report, stream)


def write_incident(
    report: Report,
    audited: list[AuditedRun],
    everything: Everything,
    name: str,
    stream: TextIO,
    excerpts: bool,
) -> None:
    """One run by its id, a unique part of it, or `worst`."""
    from loopaudit.render.markdown import Incident, write_incident
    from loopaudit.replay.audit import own_totals
    from loopaudit.replay.look import again

    ids = [run.id for run in report.runs]
    if not ids:
        raise NothingMeasured("no run to tell of", "loopaudit report tells what was read")
    if name == "worst" and "worst" not in ids:
        name = report.findings[0].run if report.findings else (ids[0] if ids else name)
    matches = [one for one in ids if one == name] or [one for one in ids if name in one]
    if len(matches) != 1:
        what = f"{len(matches)} runs match" if matches else "no run matches"
        raise UsageError(f"{what} {name!r}", f"runs here: {', '.join((matches or ids)[:5])}")
    summary = next(run for run in report.runs if run.id == matches[0])
    item = next(item for item in audited if item.summary.id == summary.id)
    run = again(item.found.run, everything)
    write_incident(Incident(report, summary, run, own_totals(item, report), excerpts), stream)


def write_page(
    report: Report,
    audited: list[AuditedRun],
    everything: Everything,
    stream: TextIO,
    screen: Screen,
    excerpts: bool,
) -> None:
    """The page, with the steps of the worst loops and its charts."""
    from loopaudit.render.page.content import TOLD, Given
    from loopaudit.render.page.write import write
    from loopaudit.replay.look import again_all

    given = Given(report, screen.zone, screen.zone_name, screen.titles, excerpts=excerpts)
    given.presets = everything.plan.guards
    by_id = {item.summary.id: item for item in audited}
    worst = list(dict.fromkeys(finding.run for finding in report.findings[:TOLD]))
    told = [by_id[name] for name in worst if name in by_id]
    # one that changed meanwhile is told without its steps
    given.runs = again_all([item.found.run for item in told], everything)
    given.run_charts = _run_charts(report, told)
    given.charts = _charts(report, audited, screen)
    write(given, stream)


def _run_charts(report: Report, worst: list[AuditedRun]) -> dict[str, str]:
    from functools import partial

    from loopaudit.render.charts import run
    from loopaudit.render.charts.series import run_series
    from loopaudit.render.page.write import svg

    drawn = {}
    for item in worst[:_DRAWN]:
        series = run_series(item)
        if any(row["tokens"] is not None for row in series.rows):
            date = report.totals.price_date
            draw = partial(run.cost, series, "", date)
            drawn[item.summary.id] = svg(draw, f"Cost of run {item.summary.id} step by step")
    return drawn


def _charts(report: Report, audited: list[AuditedRun], screen: Screen) -> list[tuple[str, str]]:
    """Cost by day and by model, and how long loops spun, where there is something to draw."""
    from functools import partial

    from loopaudit.cost.attribution import attribute
    from loopaudit.cost.dimensions import cut_by
    from loopaudit.money import PriceBook
    from loopaudit.render.charts import bars, spins
    from loopaudit.render.page.write import svg

    out = []
    book = PriceBook()  # prices the carried tokens only, which no chart shows
    date = report.totals.price_date
    window = [report.meta.get(name) for name in ("now", "since", "until")]
    for by in ("day", "model"):
        cut = cut_by(by, screen.zone, *window)
        data = bars.bars(attribute(audited, (by,), screen.zone, book, report), cut)
        if len(data.bars) > 1 and any(bar.known for bar in data.bars):
            draw = partial(bars.draw, data, screen.zone_name, date)
            caption = f"Useful cost and loop waste by {data.by}."
            out.append((svg(draw, caption), caption))
    lengths = spins.spins(report.findings, [guard.preset for guard in report.guards])
    if len(lengths.recorded) > 1:
        caption = "How long loops spun, as recorded and as guards would have cut them."
        out.append((svg(partial(spins.draw, lengths), caption), caption))
    return out
