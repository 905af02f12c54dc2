"""The check as GitHub workflow commands: annotations at the lines of the logs."""

from __future__ import annotations

from collections.abc import Iterator

from loopaudit.check.codes import CODES, Level
from loopaudit.check.result import CheckResult, Spot
from loopaudit.render.check_rows import command, title
from loopaudit.render.text import inert

_COMMANDS = {
    Level.ERROR: "error",
    Level.UNKNOWN: "error",
    Level.WARN: "warning",
    Level.NOTE: "notice",
}
_MOST_SPOTS = 10  # GitHub shows ten of a kind for a step


def lines(result: CheckResult) -> Iterator[str]:
    for one in result.judgements:
        if one.level is Level.OK:
            continue
        name = _COMMANDS[one.level]
        about = f"title={_property(f'loopaudit: {CODES[one.code].title}')}"
        spots: tuple[Spot | None, ...] = one.spots[:_MOST_SPOTS] or (None,)
        for spot in spots:
            if spot is None:
                yield f"::{name} {about}::{_data(title(one))}"
            else:
                place = f"file={_property(spot.path)},line={spot.line}"
                yield f"::{name} {place},{about}::{_data(f'{title(one)} Look: {command(spot)}')}"
    yield _data(result.verdict)


def _data(text: str) -> str:
    return inert(text).replace("%", "%25")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
