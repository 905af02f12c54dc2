"""The first screen: what happened, what it cost, where it began, what would have stopped it.

Plain lines of text. Colour only repeats what the words say. Steps are counted from 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from typing import TextIO

from loopaudit.findings import GuardResult, NotLoop, Report
from loopaudit.render import figures as f
from loopaudit.render.loop import loop, wasted
from loopaudit.render.screen import Screen, table
from loopaudit.render.summary import summary
from loopaudit.render.text import inert


def write(report: Report, stream: TextIO, screen: Screen | None = None) -> None:
    screen = screen or Screen()
    for line in lines(report, screen):
        # a line that starts with `::` is a command to CI runners
        bare = line.lstrip()
        if bare.startswith("::"):
            line = line.replace("::", ": :", 1)
        stream.write(line.rstrip(" ") + "\n")


def lines(report: Report, screen: Screen) -> Iterator[str]:
    yield from summary(report, screen)
    yield ""
    yield from _findings(report, screen)
    yield from _guards(report, screen)
    yield from _not_loops(report, screen)
    if screen.why:
        yield from _why(report, screen)
    yield from _failures(report, screen)


def _findings(report: Report, screen: Screen) -> Iterator[str]:
    findings = report.findings
    if not findings and not report.totals.runs:
        return
    if not findings:
        judged = f.count(report.totals.runs, "run")
        yield from screen.row(f"No loops found in {judged}.", "bold", "green")
        yield ""
        return
    yield from screen.row(_headline(report), "bold", "red")
    yield ""
    shown = findings if screen.top <= 0 else findings[: screen.top]
    runs = {run.id: run for run in report.runs}
    for number, finding in enumerate(shown, 1):
        yield from loop(number, finding, runs.get(finding.run), report.guards, screen)
        yield ""
    rest = findings[len(shown) :]
    if rest:
        amount = sum((item.waste.usd for item in rest if item.waste.usd is not None), Decimal(0))
        spent = f", {f.money(amount)} together" if amount else ""
        yield from screen.row(
            f"and {f.count(len(rest), 'smaller loop')}{spent} (--top 0 shows all)"
        )
        yield ""


def _headline(report: Report) -> str:
    waste = report.totals.waste
    head = f.count(len(report.findings), "loop")
    if waste.tokens is None:
        steps = len({(step.run, step.step) for step in waste.steps})
        return f"{head}, {f.count(steps, 'redundant step')}; waste unknown: the log has no usage"
    return f"{head} wasted {wasted(waste, 'of all tokens')}"


def _guards(report: Report, screen: Screen) -> Iterator[str]:
    if not report.guards:
        return
    with_loop = {finding.run for finding in report.findings}
    spin = report.spin
    rows = [
        ("", "stops", "mean loop", "tokens saved"),
        ("as recorded", "", _steps(spin.mean_steps_recorded), ""),
    ]
    for guard in report.guards:
        saved = spin.tokens_saved_share.get(guard.preset)
        rows.append(
            (
                inert(guard.preset),
                _stopped(guard, with_loop),
                _steps(spin.mean_steps_guarded.get(guard.preset)),
                f.share(saved) if saved is not None else "",
            )
        )
    yield screen.style(f"Guards on {f.count(report.totals.runs, 'run')}, had they been on", "bold")
    yield from table(rows, right=(1, 2, 3))
    for guard in report.guards:
        for name in guard.unreachable:
            yield from screen.row(f"{inert(guard.preset)}: {inert(name)}", "yellow", indent=2)
        if guard.undecidable:
            yield from screen.row(_undecided(guard), "yellow", indent=2)


def _steps(mean: float | None) -> str:
    return "" if mean is None else f"{mean:,.1f} steps"


def _stopped(guard: GuardResult, with_loop: set[str]) -> str:
    stopped = {item.run for item in guard.verdicts if item.trip.level.stops}
    healthy = len(stopped - with_loop)
    return f"{guard.runs_stopped:,}" + (f" ({healthy} without a loop)" if healthy else "")


def _undecided(guard: GuardResult) -> str:
    needs = sorted({item.needs for item in guard.undecidable})
    runs = len({item.run for item in guard.undecidable})
    names = sorted({item.detector for item in guard.undecidable})
    return (
        f"{inert(guard.preset)}: cannot say for {f.count(runs, 'run')} ({inert(', '.join(names))}):"
        f" the log has no {inert(' and no '.join(needs))}"
    )


def _not_loops(report: Report, screen: Screen) -> Iterator[str]:
    if not report.not_loops:
        return
    kinds = Counter(item.kind for item in report.not_loops)
    text = ", ".join(f"{number:,} × {inert(kind)}" for kind, number in kinds.most_common())
    hint = "" if screen.why else "  (--why lists them)"
    yield from screen.row(f"Looked at and not counted: {text}{hint}")


def _why(report: Report, screen: Screen) -> Iterator[str]:
    for kind, items in _by_kind(report.not_loops).items():
        yield from screen.row(inert(kind), "bold", indent=2)
        for item in items:
            yield from screen.row(
                f"step {item.step + 1:,}  {_file(item)}{inert(item.reason)}", indent=4
            )
    if report.skips:
        yield screen.style("Not read", "bold")
        for skip in report.skips:
            place = inert(skip.path) + (f":{skip.line}" if skip.line is not None else "")
            yield from screen.row(f"{place}  {inert(skip.reason)}", indent=2)


def _by_kind(items: list[NotLoop]) -> dict[str, list[NotLoop]]:
    kinds: dict[str, list[NotLoop]] = {}
    for item in items:
        kinds.setdefault(item.kind, []).append(item)
    return kinds


def _file(item: NotLoop) -> str:
    return f"{inert(item.path)}:{item.line}  " if item.path else ""


def _failures(report: Report, screen: Screen) -> Iterator[str]:
    for failure in report.failures:
        where = f" on run {inert(failure.run)}" if failure.run else ""
        yield from screen.row(
            f"BROKEN  {inert(failure.owner)}{where}: {inert(failure.message)}", "bold", "red"
        )
