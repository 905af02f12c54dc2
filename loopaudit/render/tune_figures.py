"""Writes the figures of `tune` for people: rates with intervals, amounts, thresholds."""

from __future__ import annotations

from decimal import Decimal

from loopaudit.render import figures as f
from loopaudit.tune.corpus import Unit
from loopaudit.tune.dimensions import Choice, Dimension
from loopaudit.tune.statistics import clopper_pearson


def percent(part: float) -> str:
    """1.7, 12, 100: one decimal below 10."""
    value = part * 100
    return f"{value:.1f}" if value < 9.95 else f"{value:.0f}"


def rate(hits: int, of: int) -> str:
    """1.7 % (1.2-2.3) of 2,195: with the exact interval of 95 %."""
    if not of:
        return "none there"
    low, high = clopper_pearson(hits, of)
    return f"{percent(hits / of)} % ({percent(low)}-{percent(high)}) of {of:,}"


def amount(value: float, unit: Unit) -> str:
    """An amount without the name of its unit, except for money."""
    if unit is Unit.USD:
        return f.money(Decimal(repr(value)))
    return f.short(round(value))


def threshold(choice: Choice, dimension: Dimension) -> str:
    """3, 1,800 s, $0.50, never; with the option where that is turned too."""
    if choice.threshold is None:
        return "never"
    number = choice.threshold
    if dimension.unit == "usd":
        text = f"${number:,.10g}"
    else:
        text = f"{number:,.10g}" + (" s" if dimension.unit == "seconds" else "")
    if choice.option is not None:
        text += f" ({dimension.option} {choice.option:g})"
    return text


def counted_in(unit: Unit) -> str:
    """What amounts are, in words."""
    return {
        Unit.USD: "dollars at list prices",
        Unit.TOKENS: "tokens (not all of these logs have a price)",
        Unit.CALLS: "calls (these logs tell no usage)",
    }[unit]
