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
    paper,
    whole_steps,
)
from loopaudit.render.figures import count

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BUCKETS = {
    "cache_read": ("read from the cache", SKY),
    # the darkest between two light ones: they are told apart in grey too
    "cache_write": ("written to the cache", BLUE),
    "fresh_input": ("fresh", ORANGE),
}
#: beyond so many steps bars melt into one another, and areas are drawn
_MOST_BARS = 80
#: loops that get a number, and marks of guards that get words
_MOST_NUMBERED, _MOST_MARKS = 8, 8


def cost(series: RunSeries, when: str, price_date: str | None) -> Figure:
    """Money so far; without any price, tokens so far."""
    priced = series.unpriced < len(series.rows)
    unit = "running_usd" if priced else "running_tokens"
    what = "Cost so far, list price" if priced else "Tokens so far (no price known)"
    if priced and price_date:
        what += f" of {price_date}, not a bill"
    drawn, axes = figure(f"{what}: {series.run}", _subtitle(series, when))
    steps = [row["step"] for row in series.rows]
    values = [float(row[unit]) for row in series.rows]
    axes.step(
        [*steps, steps[-1] + 0.6],  # the last step has a width too
        [*values, values[-1]],
        where="post",
        color=main_colour(),
        linewidth=2,
        label="so far",
    )
    _shade(axes, series)
    _mark(axes, series)
    _finish(drawn, axes, series)
    axes.set_ylim(bottom=0, top=None if values[-1] else 1)
    (dollars if priced else counts)(axes)
    axes.set_ylabel("USD, list price" if priced else "tokens")
    return drawn


def snowball(series: RunSeries, when: str) -> Figure:
    """Input tokens of each step by bucket: how the context is sent again and again."""
    drawn, axes = figure(f"Input of each step: {series.run}", _subtitle(series, when))
    steps = [row["step"] for row in series.rows]
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
    _shade(axes, series)
    _mark(axes, series)
    _finish(drawn, axes, series)
    counts(axes)
    axes.set_ylabel("input tokens")
    unknown = sum(all(row[name] is None for name in INPUT) for row in series.rows)
    if unknown:
        note = f"{count(unknown, 'step')} without known input"
        axes.annotate(note, (0.01, 0.97), xycoords="axes fraction", fontsize=8.5, va="top")
    return drawn


def _subtitle(series: RunSeries, when: str) -> str:
    parts = [series.title, when]
    if series.unpriced and series.unpriced < len(series.rows):
        parts.append(f"lower bound: {count(series.unpriced, 'step')} without a price")
    silent = sum(row["tokens"] is None for row in series.rows)
    if silent:
        parts.append(f"{count(silent, 'step')} without usage")
    if series.inherited:
        parts.append(f"{count(series.inherited, 'step')} copied from another run left out")
    return " · ".join(part for part in parts if part)


def _shade(axes: Axes, series: RunSeries) -> None:
    """Loops from onset to last step, as shaded spans; few of them are numbered."""
    numbered = len(series.spans) <= _MOST_NUMBERED
    rules = dict.fromkeys(label(span.rule) for span in series.spans)
    for number, span in enumerate(series.spans, 1):
        name = f"loop {number}: {label(span.rule)}" if numbered else f"loops: {', '.join(rules)}"
        axes.axvspan(
            span.onset + 0.5,
            span.last + 1.5,
            facecolor=WASTE,
            alpha=0.18,
            hatch="//",
            edgecolor=WASTE,
            linewidth=0,
            zorder=0.5,  # behind bars, whose colours are not to be mixed
            label=name if numbered or number == 1 else None,
        )
        axes.plot(
            [span.onset + 0.5, span.last + 1.5],
            [1, 1],
            transform=axes.get_xaxis_transform(),
            color=WASTE,
            linewidth=5,
            solid_capstyle="butt",
        )
        axes.axvline(span.onset + 1, color=WASTE, linewidth=1.2)
        if numbered:
            _note(axes, f"loop {number}", span.onset + 1, 0.03, va="bottom")


def _mark(axes: Axes, series: RunSeries) -> None:
    """Where guards would have spoken: dashed for a warning, solid for a stop."""
    shown = [mark for mark in series.marks if mark.step < len(series.rows) + 1]
    shown.sort(key=lambda mark: mark.step)
    for number, mark in enumerate(shown[:_MOST_MARKS]):
        stops = mark.level.startswith("stop")
        axes.axvline(
            mark.step + 1, color=GREEN, linewidth=1.6, linestyle="-" if stops else (0, (4, 3))
        )
        text = f"{label(mark.guard)} {mark.level}, step {mark.step + 1:,}"
        _note(axes, text, mark.step + 1, 0.98 - 0.07 * number, va="top")
    if len(shown) > _MOST_MARKS:
        more = f"and {len(shown) - _MOST_MARKS} more marks of guards"
        axes.annotate(more, (0.99, 0.02), xycoords="axes fraction", ha="right", fontsize=8)


def _note(axes: Axes, text: str, step: float, height: float, va: str) -> None:
    """Words beside a line, on paper of their own: no other line runs through them."""
    right = step > 0.75 * axes.dataLim.x1 if axes.dataLim.x1 > 1 else False
    axes.annotate(
        text,
        (step, height),
        xycoords=("data", "axes fraction"),
        xytext=(-4 if right else 4, 0),
        textcoords="offset points",
        fontsize=8,
        ha="right" if right else "left",
        va=va,
        zorder=5,
        bbox={
            "facecolor": paper(),
            "edgecolor": "none",
            "alpha": 0.85,
            "pad": 1.2,
        },
    )


def _finish(drawn: Figure, axes: Axes, series: RunSeries) -> None:
    whole_steps(axes, 1, max((row["step"] for row in series.rows), default=1))
    axes.set_xlabel("step")
    legend(drawn, axes)
