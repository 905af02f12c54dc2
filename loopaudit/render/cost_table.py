"""Costs on a screen: one row a value, most expensive first, and a line that adds up to the report.

What does not fit beside each other stands on a line of its own below each row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from rich.cells import cell_len

from loopaudit.cost.amounts import Amounts, dollars
from loopaudit.cost.attribution import Costs, Row
from loopaudit.findings import Completeness, Totals
from loopaudit.money import usd
from loopaudit.render import figures as f
from loopaudit.render.screen import Screen
from loopaudit.render.summary import completeness, completeness_style
from loopaudit.render.text import cut_middle, inert

_NARROWEST, _WIDEST = (22, 30), 60  # columns of the label: of one dimension, of several
_GAP = 2
_MARK = {
    Completeness.COMPLETE: "",
    Completeness.ESTIMATED: "~",
    Completeness.LOWER_BOUND: "≥",
    Completeness.PARTIAL: "≥",
}
#: what is said where a log does not tell
_UNTOLD = {
    "model": "(no model named)",
    "request": "(no user message)",
    "day": "(time unknown)",
    "week": "(time unknown)",
    "month": "(time unknown)",
    "outcome": "(no outcome)",
}


class _Column(NamedTuple):
    head: str
    text: Callable[[Amounts], str]
    wanted: Callable[[Amounts], bool]  # by the total: a column of nothing is left out
    words: str = "{}"  # the same number on a line of its own
    below: bool = False  # with the sub-agents that were started


class _Line(NamedTuple):
    label: str
    amounts: Amounts
    below: Amounts | None = None

    def cell(self, column: _Column) -> str:
        amounts = self.below if column.below else self.amounts
        return "" if amounts is None else column.text(amounts)


def _always(_: Amounts) -> bool:
    return True


def _cost(amounts: Amounts) -> str:
    if amounts.pico is None:
        return f.UNKNOWN if amounts.responses or amounts.tokens else ""
    return _MARK[amounts.completeness] + f.money(amounts.usd)


def _tokens(name: str, *, zero: bool = False) -> Callable[[Amounts], str]:
    """A number of tokens; empty where it is not known, and for none where that says nothing."""

    def text(amounts: Amounts) -> str:
        number: int | None = getattr(amounts, name)
        return f.short(number) if number or (zero and number == 0) else ""

    return text


def _money(name: str, mark: str = "") -> Callable[[Amounts], str]:
    def text(amounts: Amounts) -> str:
        value: int | None = getattr(amounts, name)
        return mark + f.money(dollars(value)) if value else ""

    return text


def _some(name: str) -> Callable[[Amounts], bool]:
    return lambda amounts: bool(getattr(amounts, name))


_COLUMNS = (
    _Column("cost", _cost, _always),
    _Column("resp.", lambda a: f.full(a.responses), _always, "{} responses"),
    _Column("fresh", _tokens("fresh_input", zero=True), _some("fresh_input"), "{} fresh"),
    _Column("read", _tokens("cache_read", zero=True), _some("cache_read"), "{} cache read"),
    _Column("write", _tokens("cache_write", zero=True), _some("cache_write"), "{} cache write"),
    _Column("output", _tokens("output", zero=True), _some("output"), "{} output"),
    _Column("waste", _money("waste_pico"), _some("waste_pico"), "{} wasted"),
    _Column("carried", _money("carried_pico", "~"), _some("carried_pico"), "{} carried"),
    _Column("recorded", _money("recorded_pico"), _some("recorded_pico"), "{} by the log itself"),
    _Column("wasted", _tokens("waste_tokens"), _some("waste_tokens"), "{} tokens wasted"),
    _Column("re-sent", _tokens("carried_tokens"), _some("carried_tokens"), "~{} tokens carried"),
    _Column("unpriced", _tokens("unpriced_tokens"), _some("unpriced_tokens"), "{} tokens unpriced"),
    _Column(
        "inherited", _tokens("inherited_tokens"), _some("inherited_tokens"), "{} tokens inherited"
    ),
)
_CALLS = _Column("calls", lambda a: f.full(a.calls), _always, "{} calls")
_BELOW = _Column("with sub.", _cost, _always, "{} with its sub-agents", below=True)


def lines(costs: Costs, totals: Totals, screen: Screen, most: int = 20) -> Iterator[str]:
    """`most` rows are shown, the others as one; 0: all."""
    yield from _head(costs, totals, screen)
    if not costs.rows:  # a table of nothing would be called complete
        if totals.reasons:
            yield from screen.row(completeness(totals), *completeness_style(totals))
        return
    for name in costs.nowhere:
        yield from screen.row(f"{name}: not in these logs", "yellow")
    yield ""
    yield from _table(costs, screen, most)
    if 0 < most < len(costs.rows):
        yield "(--top 0 shows all)"
    yield from screen.row(_in_full(costs.total))
    yield ""
    yield from screen.row(completeness(totals), *completeness_style(totals))
    yield from _legend(costs, screen)


def _head(costs: Costs, totals: Totals, screen: Screen) -> Iterator[str]:
    head = f"Cost by {' and '.join(costs.by)}"
    if {"day", "week", "month"} & set(costs.by):
        head += f", in time zone {inert(screen.zone_name)}"
    head += f"; {f.count(totals.runs, 'run')}"
    if totals.price_date:
        head += f"; list prices of {totals.price_date}, not a bill"
    yield from screen.row(head, "bold")


def _in_full(total: Amounts) -> str:
    """The figures that the table rounds, as they are."""
    parts = [f"{f.full(total.tokens)} tokens"]
    if total.usd is not None:
        parts.append(f"${f.exact(total.usd)}")
    if total.recorded_pico is not None:
        parts.append(f"${f.exact(usd(total.recorded_pico))} by the logs themselves")
    if total.difference:
        way = "more" if total.difference > 0 else "less"
        parts.append(f"${f.exact(abs(total.difference))} {way} than they record where they do")
    return f"In full: {', '.join(parts)}"


def _table(costs: Costs, screen: Screen, most: int) -> Iterator[str]:
    shown = costs.rows if most <= 0 else costs.rows[:most]
    body = [_Line(_label(row, costs), row.amounts, row.below) for row in shown]
    rest = costs.rows[len(shown) :]
    if rest:
        others = Amounts()
        for row in rest:
            others.add(row.amounts)
        body.append(_Line(f"{len(rest):,} more", others))
    body.append(_Line("total", costs.total))
    columns = [column for column in _COLUMNS if column.wanted(costs.total)]
    if "tool" in costs.by:
        columns.insert(2, _CALLS)
    if any(line.below is not None for line in body):
        columns.insert(1, _BELOW)
    yield from _rows(body, columns, _NARROWEST[len(costs.by) > 1], screen)


def _rows(
    body: Sequence[_Line], columns: Sequence[_Column], narrowest: int, screen: Screen
) -> Iterator[str]:
    widths = [
        max(cell_len(column.head), *(cell_len(line.cell(column)) for line in body)) + _GAP
        for column in columns
    ]
    longest = min(max(cell_len(line.label) for line in body), _WIDEST)
    room = screen.width - min(longest, narrowest)
    beside = 0
    while beside < len(columns) and widths[beside] <= room:
        room -= widths[beside]
        beside += 1
    label = min(longest, screen.width - sum(widths[:beside]))

    def row(name: str, cells: Sequence[str]) -> str:
        name = cut_middle(name, label)
        name += " " * (label - cell_len(name))
        return name + "".join(
            " " * (width - cell_len(cell)) + cell
            for cell, width in zip(cells, widths, strict=False)
        )

    yield screen.style(row("", [column.head for column in columns[:beside]]), "dim")
    for line in body:
        text = row(line.label, [line.cell(column) for column in columns[:beside]])
        yield screen.style(text, "bold") if line is body[-1] else text
        more = ", ".join(
            column.words.format(line.cell(column))
            for column in columns[beside:]
            if line.cell(column)
        )
        if more:
            yield from screen.row(more, "dim", indent=4)


def _label(row: Row, costs: Costs) -> str:
    parts = []
    for name, label in zip(costs.by, row.key, strict=True):
        if label is not None:
            parts.append(inert(label))
        elif name in costs.nowhere:
            parts.append("(not in these logs)")
        else:
            parts.append(_UNTOLD.get(name, "(unknown)"))
    return "  ".join(parts)


def _legend(costs: Costs, screen: Screen) -> Iterator[str]:
    if "tool" in costs.by:
        yield from screen.row(
            "A response's cost is split evenly over its calls; it is counted with the first of"
            " them. Responses without calls: (no tool)."
        )
    if costs.total.carried_tokens:
        yield from screen.row(
            "Carried: what later responses re-sent because of the loops, until a compaction;"
            " estimated, and not part of the waste."
        )
