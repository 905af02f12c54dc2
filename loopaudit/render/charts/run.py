"""Charts of one run, step by step: its cost so far, and what it sent to the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loopaudit.render.charts.series import INPUT, RunSeries
from loopaudit.render.charts.style import (
    BLUE,
    GREEN,
    ORANGE,
    SKY,
    WASTE,
    counts,
    dollars,
    figure,
    label,
    legend,
    main_colour,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BUCKETS = {
    "cache_read": ("read from the cache", SKY),
    "cache_write": ("written to the cache", ORANGE),
    "fresh_input": ("fresh", BLUE),
}
#: beyond so many steps bars melt into one another, and areas are drawn
_MOST_BARS = 150


def cost(series: RunSeries, when: str, price_date: str | None) -> Figure:
    """Money so far; without any price, tokens so far."""
    priced = series.unpriced < len(series.rows)
    unit = "running_usd" if priced else "running_tokens"
    what = "Cost so far, list price" if priced else "Tokens so far (no price known)"
    if priced and price_date:
        what += f" of {price_date}, not a bill"
    drawn, axes = figure(f"{what}: {series.run}", _subtitle(series, when))
    steps = [row["step"] for row in series.rows]
    _shade(axes, series)
    axes.step(
        steps,
        [float(row[unit]) for row in series.rows],
        where="post",
        color=main_colour(),
        linewidth=2,
        label="so far",
    )
    _mark(axes, series)
    _finish(drawn, axes, series)
    axes.set_ylim(bottom=0)
    (dollars if priced else counts)(axes)
    axes.set_ylabel("USD, list price" if priced else "tokens")
    return drawn


def snowball(series: RunSeries, when: str) -> Figure:
    """Input tokens of each step by bucket: how the context is sent again and again."""
    drawn, axes = figure(f"Input of each step: {series.run}", _subtitle(series, when))
    steps = [row["step"] for row in series.rows]
    _shade(axes, series)
    below = [0.0] * len(steps)
    layers = []
    for name in INPUT:
        values = [float(row[name] or 0) for row in series.rows]
        if any(values):
            layers.append((name, values))
    if len(steps) <= _MOST_BARS:
        for name, values in layers:
            title, colour = _BUCKETS[name]
            axes.bar(steps, values, 0.9, below, color=colour, label=title)
            below = [a + b for a, b in zip(below, values, strict=True)]
    elif layers:
        axes.stackplot(
            steps,
            [values for _, values in layers],
            colors=[_BUCKETS[name][1] for name, _ in layers],
            labels=[_BUCKETS[name][0] for name, _ in layers],
            step="mid",
        )
    _mark(axes, series)
    _finish(drawn, axes, series)
    counts(axes)
    axes.set_ylabel("input tokens")
    unknown = sum(all(row[name] is None for name in INPUT) for row in series.rows)
    if unknown:
        note = f"{unknown} steps without known input"
        axes.annotate(note, (0.01, 0.97), xycoords="axes fraction", fontsize=8.5, va="top")
    return drawn


def _subtitle(series: RunSeries, when: str) -> str:
    parts = [series.title, when]
    if series.unpriced and series.unpriced < len(series.rows):
        parts.append(f"lower bound: {series.unpriced} steps without a price")
    if series.inherited:
        parts.append(f"{series.inherited} steps copied from another run left out")
    return " · ".join(part for part in parts if part)


def _shade(axes: Axes, series: RunSeries) -> None:
    """Loops from onset to last step, as shaded spans."""
    named: set[str] = set()
    for span in series.spans:
        axes.axvspan(
            span.onset + 0.5,
            span.last + 1.5,
            facecolor=WASTE,
            alpha=0.18,
            hatch="//",
            edgecolor=WASTE,
            linewidth=0,
            label=None if span.rule in named else f"loop: {label(span.rule)}",
        )
        axes.axvline(span.onset + 1, color=WASTE, linewidth=1)
        named.add(span.rule)


def _mark(axes: Axes, series: RunSeries) -> None:
    """Where guards would have spoken: dashed for a warning, solid for a stop."""
    shown = [mark for mark in series.marks if mark.step < len(series.rows) + 1]
    stagger = 0.0
    for mark in shown[:8]:
        stops = mark.level.startswith("stop")
        axes.axvline(
            mark.step + 1, color=GREEN, linewidth=1.4, linestyle="-" if stops else (0, (4, 3))
        )
        axes.annotate(
            f"{mark.guard} {mark.level}",
            (mark.step + 1, 0.98 - stagger),
            xycoords=("data", "axes fraction"),
            xytext=(4, 0),
            textcoords="offset points",
            fontsize=8,
            va="top",
        )
        stagger = (stagger + 0.06) % 0.42
    if len(shown) > 8:
        axes.annotate(
            f"and {len(shown) - 8} more", (0.99, 0.02), xycoords="axes fraction", ha="right"
        )


def _finish(drawn: Figure, axes: Axes, series: RunSeries) -> None:
    from matplotlib.ticker import MaxNLocator

    last = max((row["step"] for row in series.rows), default=1)
    axes.set_xlim(0.4, last + 0.6)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("step")
    legend(drawn, axes)
