"""Logs beside a provider's export on a screen, and the spend that no log explains."""

from __future__ import annotations

from collections.abc import Iterator

from loopaudit.cost.amounts import dollars
from loopaudit.cost.reconcile import Line, Reconciliation, Side
from loopaudit.findings import Totals
from loopaudit.render import figures as f
from loopaudit.render.screen import Screen, table
from loopaudit.render.summary import completeness, completeness_style
from loopaudit.render.text import cut, cut_middle, inert

_MOST = 5  # unreadable rows named


def lines(found: Reconciliation, totals: Totals, screen: Screen, most: int = 20) -> Iterator[str]:
    """Days and models with the greatest difference first; `most` rows, 0: all."""
    export = found.export
    price = "tokens at list prices" if found.priced_here else "money as billed"
    yield from screen.row(
        f"Logs beside {inert(export.path)} ({price}); days in UTC; logs at list prices"
        + (f" of {totals.price_date}" if totals.price_date else ""),
        "bold",
    )
    yield ""
    ranked = sorted(found.lines, key=_greatest_first)
    shown = ranked if most <= 0 else ranked[:most]
    rows: list[tuple[str, ...]] = [
        ("day", "model", "logs", "export", "difference", *(_TOKENS if export.has_tokens else ()))
    ]
    whole = Line("total", "", found.logs, found.billed)
    rows += [_row(line, export.has_tokens, screen.width - 62) for line in (*shown, whole)]
    yield from table(rows, right=range(2, 9))
    if len(shown) < len(ranked):
        yield f"  (and {len(ranked) - len(shown):,} more; --top 0 shows all)"
    yield ""
    yield from _conclusion(found, screen)
    yield from screen.row(completeness(totals), *completeness_style(totals))


_TOKENS = ("logs", "export tok.")


def _row(line: Line, tokens: bool, width: int) -> tuple[str, ...]:
    row = (
        line.day,
        cut_middle(inert(line.model), max(width, 16)),
        _money(line.logs),
        _money(line.export),
        _signed(line.difference("pico")),
    )
    return (*row, _short(line.logs), _short(line.export)) if tokens else row


def _greatest_first(line: Line) -> tuple[int, int, str, str]:
    money, tokens = line.difference("pico"), line.difference("tokens")
    return (-abs(money or 0), -abs(tokens or 0), line.day, line.model)


def _money(side: Side | None) -> str:
    return "none" if side is None else f.money(dollars(side.pico))


def _short(side: Side | None) -> str:
    return "" if side is None or side.tokens is None else f.short(side.tokens)


def _signed(amount: int | None) -> str:
    if amount is None:
        return f.UNKNOWN
    return ("+" if amount > 0 else "") + f.money(dollars(amount))


def _conclusion(found: Reconciliation, screen: Screen) -> Iterator[str]:
    spend = [] if found.billed.pico is None else [f.money(dollars(found.unexplained("pico")))]
    if found.export.has_tokens:
        spend.append(f.count(found.unexplained("tokens"), "token"))
    text = f"No log explains {' and '.join(spend)}"
    alone = sum(line.logs is None for line in found.lines)
    if alone:
        kinds = f.count(alone, "day and model", "days and models")
        text += f"; of {kinds} there is no log at all"
    yield from screen.row(text, "bold")
    unpriced = sum(
        line.logs is not None and line.export is not None and line.difference("pico") is None
        for line in found.lines
    )
    if unpriced:
        kinds = f.count(unpriced, "day and model", "days and models")
        yield from screen.row(f"Not compared in money: {kinds} without a price", "yellow")
    surplus, tokens = found.surplus("pico"), found.surplus("tokens")
    if surplus or tokens:
        text = f"The logs have {f.money(dollars(surplus))}"
        if found.export.has_tokens:
            text += f" and {f.count(tokens, 'token')}"
        yield from screen.row(f"{text} that the export has not")
    for side, where in (
        (found.outside, "on days that the export does not cover"),
        (found.undated, "in responses without a time"),
    ):
        if side.tokens or side.pico:
            yield from screen.row(
                f"Not compared: {f.money(dollars(side.pico))} and"
                f" {f.count(side.tokens or 0, 'token')} {where}"
            )
    unreadable = found.export.unreadable
    if unreadable:
        named = "; ".join(f"line {n}: {cut(inert(why), 50)}" for n, why in unreadable[:_MOST])
        more = " …" if len(unreadable) > _MOST else ""
        yield from screen.row(
            f"{f.count(len(unreadable), 'row')} of the export could not be read: {named}{more}",
            "yellow",
        )
