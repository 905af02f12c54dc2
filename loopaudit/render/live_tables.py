"""Live runs side by side: the comparison with its predictions, and the fire drill."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from loopaudit.live.compare import Compared, Sum
from loopaudit.live.drill import RAN_AWAY, Drilled
from loopaudit.render.figures import count, duration, full, money
from loopaudit.render.screen import Screen, fitted, table
from loopaudit.render.text import inert

VERSION = 1

_FAULTS = {
    None: "",
    RAN_AWAY: "RAN AWAY: no guard stopped it",
    "healthy-stopped": "WRONGLY STOPPED: it would have ended well",
}


def comparison(rows: Iterable[Compared], screen: Screen) -> Iterator[str]:
    """A table a scenario: each guard set beside no guard, and beside what the replay predicted."""
    outside: list[str] = []
    for row in rows:
        name = inert(row.scenario.name)
        yield screen.style(name, "bold") + f"  ({row.scenario.ends})"
        cells = [("guard", "steps", "tokens", "USD", "time", "saved", "predicted")]
        cells.append(("none", *_sum(row.bare), "", ""))
        ends = ["", _ended(row.how, None)]
        for one in row.guarded:
            span = full(one.least)
            if one.most != one.least:
                span += f" to {full(one.most)}"
            mark = "" if one.within else " *"
            cells.append((one.guard, *_sum(one.sum), full(one.saved) + mark, span))
            ends.append(_ended(one.how, one.by))
            if one.note:
                outside.append(f"* {name} under {one.guard}: {one.note}")
        for line, end in zip(table(cells, right={1, 2, 3, 4, 5, 6}), ends, strict=True):
            yield line
            if end:
                yield screen.style(f"    {end}", "dim")
        yield ""
    yield from screen.row(
        "Saved and predicted are tokens: at least from the first stop on (warnings ignored), at"
        " most from the first intervention on (obeyed at once). Prices are the scenario's own."
    )
    for line in outside:
        yield from screen.row(line)


def _sum(one: Sum) -> tuple[str, str, str, str]:
    return full(one.steps), full(one.tokens), money(one.usd), duration(one.seconds)


def _ended(how: str, by: str | None) -> str:
    return f"{how} ({by})" if by else "ran on" if how == "limit" else how


def comparison_json(rows: Iterable[Compared]) -> dict[str, Any]:
    """The same as numbers. USD are exact decimals in text; savings are tokens."""
    return {
        "live_comparison": VERSION,
        "scenarios": [
            {
                "scenario": row.scenario.name,
                "ends": row.scenario.ends,
                "unguarded": {**_figures(row.bare), "ended": row.how},
                "guarded": [
                    {
                        "guard": one.guard,
                        **_figures(one.sum),
                        "ended": one.how,
                        "stopped_by": one.by,
                        "first_intervention": one.step,
                        "saved_tokens": one.saved,
                        "predicted_at_least": one.least,
                        "predicted_at_most": one.most,
                        "within": one.within,
                        "note": one.note or None,
                    }
                    for one in row.guarded
                ],
            }
            for row in rows
        ],
    }


def _figures(one: Sum) -> dict[str, Any]:
    return {
        "steps": one.steps,
        "tokens": one.tokens,
        "usd": str(one.usd),
        "seconds": one.seconds,
    }


def drilled(rows: Sequence[Drilled], guards: Sequence[str], screen: Screen) -> Iterator[str]:
    """A line a scenario, the faults last in words."""
    yield from screen.row(f"Guards: {', '.join(guards) or 'none'}")
    cells = [("scenario", "kind", "steps", "first spoke", "ended")]
    for row in rows:
        first = row.first
        cells.append(
            (
                inert(row.scenario.name),
                row.scenario.ends,
                full(row.steps),
                f"step {first.trip.step + 1}, {first.trip.detector}" if first else "-",
                _ended(row.how, row.stop.trip.detector if row.stop else None),
            )
        )
    yield from fitted(cells, screen.width, right={2})
    faults = [row for row in rows if row.fault]
    yield ""
    for row in faults:
        line = f"{inert(row.scenario.name)}: {_FAULTS[row.fault]}"
        yield from screen.row(line, "red")
    if not faults:
        yield screen.style(f"All {count(len(rows), 'scenario')} as they should be.", "green")


def drilled_json(rows: Sequence[Drilled], guards: Sequence[str]) -> dict[str, Any]:
    return {
        "drill": VERSION,
        "guards": list(guards),
        "faults": sum(row.fault is not None for row in rows),
        "scenarios": [
            {
                "scenario": row.scenario.name,
                "ends": row.scenario.ends,
                "steps": row.steps,
                "tokens": row.tokens,
                "ended": row.how,
                "first_step": row.first.trip.step if row.first else None,
                "first_guard": row.first.guard if row.first else None,
                "first_signal": row.first.trip.detector if row.first else None,
                "stopped_by": row.stop.trip.detector if row.stop else None,
                "fault": row.fault,
            }
            for row in rows
        ],
    }
