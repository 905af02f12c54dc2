"""The check on the screen: figures, reasons with their places, what changed; the verdict last."""

from __future__ import annotations

from collections.abc import Iterator

from loopaudit.check.codes import Level
from loopaudit.check.judge import CheckResult, Judgement
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
    found = list(rows(result))
    if found:
        against = f", {result.old_name} -> now" if result.old is not None else ""
        yield screen.style(f"By task type{against}", "bold")
        yield from table([HEAD, *(tuple(inert(cell) for cell in row) for row in found)], right=(2,))
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
