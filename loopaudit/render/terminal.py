"""The first screen: what happened, what it cost, where it began, what would have stopped it.

Plain lines of text. Colour only repeats what the words say. Steps are counted from 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from typing import TextIO

from loopaudit.findings import Completeness, GuardResult, Report
from loopaudit.render import figures as f
from loopaudit.render import outcomes
from loopaudit.render.loop import loop, wasted
from loopaudit.render.savings import rule_name
from loopaudit.render.screen import Screen, put, table
from loopaudit.render.summary import summary, windowed
from loopaudit.render.text import cut, inert

_WORST = 3  # tools shown with their share of redundant calls
_MOST = 5  # inputs listed that could not be read, where nothing could


def write(report: Report, stream: TextIO, screen: Screen | None = None) -> None:
    put(lines(report, screen or Screen()), stream, screen)


def lines(report: Report, screen: Screen) -> Iterator[str]:
    yield from summary(report, screen, _headline(report) if report.totals.runs else "")
    if report.totals.runs:
        yield ""
        yield from _findings(report, screen)
        yield from _tools(report, screen)
        yield from _guards(report, screen)
        yield from _not_loops(report, screen)
        if screen.why:
            yield from outcomes.why(report, screen)
    yield from _not_read(report, screen)
    yield from _failures(report, screen)


def _findings(report: Report, screen: Screen) -> Iterator[str]:
    findings = report.findings
    shown = findings if screen.top <= 0 else findings[: screen.top]
    runs = {run.id: run for run in report.runs}
    of = "the part in the window" if windowed(report) else "the run"
    for number, finding in enumerate(shown, 1):
        yield from loop(number, finding, runs.get(finding.run), report.guards, screen, of)
        yield ""
    rest = findings[len(shown) :]
    if rest:
        amount = sum((item.waste.usd for item in rest if item.waste.usd is not None), Decimal(0))
        spent = f", {f.money(amount)} together" if amount else ""
        yield from screen.row(
            f"and {f.count(len(rest), 'smaller loop')}{spent} (--top 0 shows all)"
        )
        yield ""


def _tools(report: Report, screen: Screen) -> Iterator[str]:
    """Whose answers were not worth asking for again: redundant calls by tool, worst first."""
    worst = report.tools if screen.why else report.tools[:_WORST]
    if not worst:
        return
    yield screen.style("Redundant calls by tool", "bold")
    rows = [
        (
            f.share(item.redundant / item.calls),
            f"{item.redundant:,} of {f.count(item.calls, 'call')}",
            cut(inert(item.tool), 40),
        )
        for item in worst
    ]
    yield from table(rows, right=(0, 1))
    if len(worst) < len(report.tools):
        yield f"  and {f.count(len(report.tools) - len(worst), 'more tool')} (--why shows all)"
    yield ""


def _headline(report: Report) -> str:
    if not report.findings:
        return f"No loops found in {f.count(report.totals.runs, 'run')}."
    waste = report.totals.waste
    head = f.count(len(report.findings), "loop")
    if waste.tokens is None:
        steps = len({(step.run, step.step) for step in waste.steps})
        return f"{head}, {f.count(steps, 'redundant step')}; waste unknown: the log has no usage"
    bounded = report.totals.completeness is not Completeness.COMPLETE
    return f"{head} wasted {wasted(waste, 'all', bounded=bounded)}"


def _guards(report: Report, screen: Screen) -> Iterator[str]:
    """One row per guard; what it cannot say or never reaches below."""
    if not report.guards:
        return
    with_loop = {finding.run for finding in report.findings}
    with_loop |= {entry.run for entry in report.totals.waste.steps}
    spin = report.spin
    head = ("", "stops", "no loop", "mean loop", "saves", "cannot say")
    recorded = ("as recorded", "", "", _steps(spin.mean_steps_recorded), "", "")
    rows = [head, *([recorded] if spin.mean_steps_recorded is not None else [])]
    for guard in report.guards:
        saved = spin.tokens_saved_share.get(guard.preset)
        unsure = len({item.run for item in guard.undecidable})
        stopped = {item.run for item in guard.verdicts if item.trip.level.stops}
        healthy = len(stopped - with_loop)
        rows.append(
            (
                inert(guard.preset),
                f"{guard.runs_stopped:,}",
                f"{healthy:,}" if healthy else "",
                _steps(spin.mean_steps_guarded.get(guard.preset)),
                f"up to {f.share(saved)}" if saved else "" if saved is None else "nothing",
                f.count(unsure, "run") if unsure else "",
            )
        )
    used = [n for n in range(len(head)) if n < 2 or any(row[n] for row in rows[1:])]
    rows = [tuple(row[n] for n in used) for row in rows]  # type: ignore[misc]
    since = " from the start of each run" if windowed(report) else ""
    head_line = f"Guards on {f.count(report.totals.runs, 'run')}, had they been on{since}"
    yield screen.style(head_line, "bold")
    yield from table(rows, right=range(1, len(used)))
    for guard in report.guards if screen.why else ():
        for name in guard.unreachable:
            yield from screen.row(f"{inert(guard.preset)}: {inert(name)}", "yellow", indent=2)
        yield from _undecided(guard, screen)


def _steps(mean: float | None) -> str:
    return "" if mean is None else f"{mean:,.1f} steps"


def _undecided(guard: GuardResult, screen: Screen) -> Iterator[str]:
    """Which detectors could not judge how many runs, and what those logs lack."""
    runs: dict[tuple[str, str], set[str]] = {}
    for item in guard.undecidable:
        runs.setdefault((item.needs, item.detector), set()).add(item.run)
    for (needs, detector), where in sorted(runs.items()):
        yield from screen.row(
            f"{inert(guard.preset)}: {rule_name(detector)} cannot say for"
            f" {f.count(len(where), 'run')}: no {inert(needs)} in the log",
            "yellow",
            indent=2,
        )


def _not_loops(report: Report, screen: Screen) -> Iterator[str]:
    if not report.not_loops:
        return
    kinds = Counter(item.kind for item in report.not_loops)
    text = ", ".join(f"{number:,} × {inert(kind)}" for kind, number in kinds.most_common())
    hint = "" if screen.why else "  (--why lists them)"
    yield from screen.row(f"Looked at and not counted: {text}{hint}")
    if not screen.why:
        return
    for kind in kinds:
        yield from screen.row(inert(kind), "bold", indent=2)
        for item in report.not_loops:
            if item.kind == kind:
                place = f"{inert(item.path)}:{item.line}  " if item.path else ""
                yield from screen.row(
                    f"step {item.step + 1:,}  {place}{inert(item.reason)}", indent=4
                )


def _not_read(report: Report, screen: Screen) -> Iterator[str]:
    """Nothing is left out in silence: counted here, listed where asked for or where all is lost."""
    skips, others = report.skips, report.meta.get("other_files", 0)
    files = sum(skip.line is None for skip in skips)
    records = sum(skip.count for skip in skips) - files
    parts = [f.count(files, "file")] if files else []
    parts += [f.count(records, "record")] if records else []
    parts += [f"{f.count(others, 'file')} not named like a log"] if others else []
    shown = skips if screen.why else [] if report.totals.runs else skips[:_MOST]
    hint = "" if len(shown) == len(skips) else "  (--why lists them)"
    if parts:
        yield from screen.row(f"Not read: {', '.join(parts)}{hint}", "yellow")
    for skip in shown:
        place = inert(skip.path) + (f":{skip.line}" if skip.line is not None else "")
        yield from screen.row(f"{place}  {inert(skip.reason)}", indent=2)
    repaired = sorted(report.meta.get("repaired", {}).items())
    if repaired and screen.why:
        text = ", ".join(f"{number:,} × {inert(what)}" for what, number in repaired)
        yield from screen.row(f"Repaired: {text}")


def _failures(report: Report, screen: Screen) -> Iterator[str]:
    for failure in report.failures:
        where = f" on run {inert(failure.run)}" if failure.run else ""
        yield from screen.row(
            f"BROKEN  {inert(failure.owner)}{where}: {inert(failure.message)}", "bold", "red"
        )
