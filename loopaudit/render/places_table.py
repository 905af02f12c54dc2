"""What agents have left on this machine, as a table or as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from loopaudit.places import Survey
from loopaudit.render.figures import iso
from loopaudit.render.screen import Screen, table
from loopaudit.render.text import inert

_UNITS = ("B", "KB", "MB", "GB", "TB")


def lines(surveys: Sequence[Survey], home: str, screen: Screen) -> Iterator[str]:
    """One row an agent, the one written last first; what was looked for in vain below."""
    here = sorted((s for s in surveys if s.places), key=lambda s: (-(s.last or 0), s.agent.name))
    if here:
        rows = [("agent", "sessions", "size", "last written", "where")]
        for found in here:
            rows.append(
                (
                    found.agent.name,
                    "database" if found.sessions is None else f"{found.sessions:,}",
                    _size(found.size),
                    _span(found, screen),
                    inert(_short(found.places[0], home)),
                )
            )
            for place in found.places[1:]:
                rows.append(("", "", "", "", inert(_short(place, home))))
        yield from table(rows, right=(1, 2))
        yield ""
        yield from screen.row(f"loopaudit report --agent {here[0].agent.name} --since 7d", "dim")
    else:
        yield from screen.row("No logs of a known agent are on this machine.")
    missing = ", ".join(s.agent.name for s in surveys if not s.places)
    if missing:
        yield from screen.row(missing, "dim", label="looked for, not here  ")


def document(surveys: Sequence[Survey]) -> list[dict[str, Any]]:
    """The same for programs; times are ISO 8601 in UTC, sessions null where not counted."""
    return [
        {
            "agent": found.agent.name,
            "title": found.agent.title,
            "places": found.places,
            "sessions": found.sessions,
            "bytes": found.size,
            "first_written": iso(found.first),
            "last_written": iso(found.last),
        }
        for found in surveys
        if found.places
    ]


def _span(found: Survey, screen: Screen) -> str:
    if found.first is None or found.last is None:
        return "-"
    days = [
        datetime.fromtimestamp(at, screen.zone).date().isoformat()
        for at in (found.first, found.last)
    ]
    return days[0] if days[0] == days[1] else f"{days[0]} to {days[1]}"


def _size(number: int) -> str:
    size, unit = float(number), 0
    while size >= 1000 and unit < len(_UNITS) - 1:
        size, unit = size / 1000, unit + 1
    return f"{size:.0f} {_UNITS[unit]}" if size >= 10 or not unit else f"{size:.1f} {_UNITS[unit]}"


def _short(path: str, home: str) -> str:
    """A path below the home folder, shortened as a shell takes it."""
    return f"~{path[len(home) :]}" if home != "/" and path.startswith(f"{home}/") else path
