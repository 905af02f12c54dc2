"""The check on the screen: figures, reasons with their places, what changed; the verdict last."""

from __future__ import annotations

from collections.abc import Iterator

from rich.cells import cell_len

from loopaudit.check.codes import Level
from loopaudit.check.result import CheckResult, Judgement
from loopaudit.errors import ExitCode
from loopaudit.render.check_rows import HEAD, TOLD, change_words, command, rows, title
from loopaudit.render.screen import Screen, table
from loopaudit.render.text import inert

_MOST_SPOTS = 3
_STYLE = {Level.ERROR: "red", Level.UNKNOWN: "yellow", Level.WARN: "yellow", Level.NOTE: "dim"}
_WORD = {
    Level.ERROR: "FAIL",
    Level.UNKNOWN: "CANNOT SAY",
    Level.WARN: "warn",
    Level.NOTE: "note",
    Level.OK: "ok",
}


def lines(result: CheckResult, screen: Screen, *, why: bool = False) -> Iterator[str]:
    against = f", {result.old_name} -> now" if result.old is not None else ""
    if result.new.types:
        yield screen.style(f"By task type{against}", "bold")
        yield from _by_type(result, screen)
        yield ""
    for level in (*TOLD, Level.OK) if why else TOLD:
        for one in result.at(level):
            yield from _one(one, screen)
    told = {
        spot for one in result.judgements if one.code == "verdict-changed" for spot in one.spots
    }
    others = [change for change in result.changes if change.spot not in told]
    if others:
        yield screen.style(f"Runs whose verdict changed: {len(others)}", "bold")
        for change in others:
            yield from screen.row(
                f"{inert(change.run)} under {inert(change.guard)}: {inert(change_words(change))}",
                indent=2,
            )
            yield f"    {inert(command(change.spot))}"
    colour = {ExitCode.PASS: "green", ExitCode.LIMIT: "red"}.get(result.code, "yellow")
    yield screen.style(result.verdict, "bold", colour)


def _by_type(result: CheckResult, screen: Screen) -> Iterator[str]:
    """A heading a task type with what is the same for all guards, and a line a guard."""
    found = [tuple(inert(cell) for cell in row) for row in rows(result)]
    laid = list(table([HEAD[1:2] + HEAD[3:5], *(row[1:2] + row[3:5] for row in found)]))
    fits = all(cell_len(line) <= screen.width for line in laid)
    if fits:
        yield laid.pop(0)
    before = None
    for row in found:
        task_type, guard, runs, interrupted, missed, waste, cost = row
        if task_type != before:
            before = task_type
            yield from screen.row(f"{task_type}: runs {runs}; waste {waste}; cost {cost}", "bold")
        if fits:
            yield laid.pop(0)
        else:
            told = f"healthy interrupted {interrupted}; loops missed {missed}"
            yield from screen.row(told, label=f"  {guard}: ")


def _one(one: Judgement, screen: Screen) -> Iterator[str]:
    word = _WORD[one.level]
    label = f"{word:<11}"
    styles = (_STYLE[one.level],) if one.level in _STYLE else ()
    yield from screen.row(inert(title(one)), *styles, label=label)
    for spot in one.spots[:_MOST_SPOTS]:
        step = "" if spot.step is None else f"step {spot.step + 1:,}  "
        finding = "" if spot.finding is None else f"  finding {inert(spot.finding)}"
        yield from screen.row(f"{step}{inert(spot.path)}:{spot.line}{finding}", indent=len(label))
        yield f"{' ' * len(label)}{inert(command(spot))}"  # in one line, to be pasted
    if len(one.spots) > _MOST_SPOTS:
        yield from screen.row(f"and {len(one.spots) - _MOST_SPOTS:,} more", indent=len(label))
