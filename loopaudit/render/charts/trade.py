"""The trade of thresholds: what stops save net, against the healthy runs they interrupt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from loopaudit.render.charts.style import (
    GREY,
    SERIES,
    WASTE,
    counts,
    dollars,
    label,
    main_colour,
    paper,
)
from loopaudit.render.figures import count
from loopaudit.render.tune_figures import threshold
from loopaudit.tune.advice import Advice, Figures, Together, Trade
from loopaudit.tune.corpus import Unit
from loopaudit.tune.statistics import clopper_pearson
from loopaudit.tune.tune import Tuning

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Row = dict[str, Any]

#: panels, and thresholds in one of them: those of most runs, and those that save most
MOST_PANELS, MOST_LINES = 12, 6
#: the axis ends at so many times the cap, or at what is marked
_BEYOND = 4.0
_MARKERS = ("o", "s", "^", "D", "v", "P")
_INCHES = (9.0, 3.6)
_ALONE, _FRONT, _NOW, _CHOSEN = "alone", "front", "now", "chosen"


@dataclass(slots=True)
class Panel:
    """One type of task under one guard set. `rows`: shares are parts of 1, amounts a run."""

    title: str
    unit: Unit
    verdict: str
    rows: list[Row] = field(default_factory=list)
    #: the thresholds drawn, with what is recommended
    lines: list[tuple[str, str]] = field(default_factory=list)


@dataclass(slots=True)
class Trades:
    """All panels, those of most runs first; `left_out`: panels too many, or without advice."""

    cap: float
    panels: list[Panel] = field(default_factory=list)
    left_out: int = 0

    def rows(self) -> list[Row]:
        """The numbers of all panels as a table."""
        return [row for panel in self.panels for row in panel.rows]


def trades(tuning: Tuning) -> Trades:
    """Amounts are those of the mean run, so that parts of unequal size lie on one axis."""
    out = Trades(tuning.options.max_false_stops)
    told = [one for one in tuning.advice if one.together is not None]
    ranked = sorted(told, key=lambda one: -(one.healthy + one.stuck))
    out.panels = [_of(one, tuning.options.false_stop_cost) for one in ranked[:MOST_PANELS]]
    out.left_out = len(tuning.advice) - len(out.panels)
    return out


def _of(advice: Advice, factor: float) -> Panel:
    together = advice.together
    assert together is not None
    verdict = f"chosen: {together.held}" if together.pays else "no threshold pays here"
    title = f"{advice.task_type}, {advice.guard}: "
    title += f"{count(advice.healthy, 'healthy run')}, {advice.stuck:,} stuck"
    panel = Panel(title, advice.unit, verdict)
    head = {"task_type": advice.task_type, "guard": advice.guard}
    useful = [trade for trade in advice.trades if any(r.figures.score.stopped for r in trade.rows)]
    useful.sort(key=lambda trade: -max(row.figures.net for row in trade.rows))
    for trade in useful:
        panel.rows += _alone(trade, head, advice.unit)
        chosen = threshold(trade.recommended, trade.dimension)
        panel.lines.append((trade.dimension.name, chosen))
    panel.rows += _front(together, head, advice.unit, factor)
    for what, parts in ((_NOW, together.now), (_CHOSEN, together.best)):
        for part, figures in parts.items():
            panel.rows.append(head | _row(what, part, figures, advice.unit))
    return panel


def _alone(trade: Trade, head: Row, unit: Unit) -> Iterator[Row]:
    for row in trade.rows:
        more = {"signal": trade.dimension.name, "threshold": threshold(row.choice, trade.dimension)}
        yield (
            head | _row(_ALONE, "all", row.figures, unit) | more | {"recommended": row.recommended}
        )


def _front(together: Together, head: Row, unit: Unit, factor: float) -> Iterator[Row]:
    """Combinations that no other beats in both, on the runs that were chosen by."""
    training = together.now["training"]
    most = None
    for score in sorted((one for _, one in together.front), key=lambda one: one.healthy):
        net = score.net(factor)
        if most is None or net > most:
            most = net
            figures = Figures(score, training.healthy, training.stuck, training.with_loop, net)
            yield head | _row(_FRONT, "training", figures, unit)


def _row(what: str, part: str, figures: Figures, unit: Unit) -> Row:
    low, high = clopper_pearson(figures.score.healthy, figures.healthy)
    runs = figures.healthy + figures.stuck
    between = figures.net_between
    return {
        "what": what,
        "part": part,
        "signal": None,
        "threshold": None,
        "recommended": False,
        "healthy": figures.healthy,
        "healthy_interrupted": figures.score.healthy,
        "share": figures.false_stops,
        "share_low": low if figures.healthy else None,
        "share_high": high if figures.healthy else None,
        "runs": runs,
        "unit": unit.value,
        "net": figures.net,
        "net_low": None if between is None else between[0],
        "net_high": None if between is None else between[1],
        "net_per_run": figures.net / runs if runs else None,
    }


def draw(data: Trades) -> Figure:
    """One panel below the other, each with its legend beside it."""
    from matplotlib.figure import Figure

    size = len(data.panels)
    drawn = Figure(figsize=(_INCHES[0], 0.9 + _INCHES[1] * size), layout="constrained")
    panels = drawn.subplots(size, 1, squeeze=False)
    for axes, panel in zip(panels.flat, data.panels, strict=True):
        _panel(axes, panel, data.cap)
    more = f"; {count(data.left_out, 'more panel')} without advice or of fewer runs"
    drawn.suptitle(
        "What thresholds save net (at most), against the healthy runs they interrupt\n"
        + "bars: 95 % intervals"
        + ("; dollars at list price, not a bill" if _any_money(data) else "")
        + (more if data.left_out else ""),
        fontsize=10.5,
        ha="left",
        x=0.01,
    )
    return drawn


def _any_money(data: Trades) -> bool:
    return any(panel.unit is Unit.USD for panel in data.panels)


def _panel(axes: Axes, panel: Panel, cap: float) -> None:
    for number, (name, chosen) in enumerate(panel.lines[:MOST_LINES]):
        points = [r for r in panel.rows if r["what"] == _ALONE and r["signal"] == name]
        colour = SERIES[number % len(SERIES)]
        marker = _MARKERS[number % len(_MARKERS)]
        x, y = _shares(points), [r["net_per_run"] for r in points]
        axes.plot(
            x, y, color=colour, linewidth=1, marker=marker, markersize=3.5, alpha=0.9,
            label=label(f"{name.replace('_', '-')}: {chosen}", 40),
        )  # fmt: skip
        kept = [r for r in points if r["recommended"]]
        axes.plot(
            _shares(kept), [r["net_per_run"] for r in kept],
            color=colour, marker=marker, markersize=9, linestyle="",
        )  # fmt: skip
    front = [r for r in panel.rows if r["what"] == _FRONT]
    axes.plot(
        _shares(front), [r["net_per_run"] for r in front],
        color=main_colour(), linewidth=2, linestyle=(0, (4, 1)), drawstyle="steps-post",
        label="combinations, half chosen by: Pareto",
    )  # fmt: skip
    marked = (
        (_NOW, "all", "s", GREY, "as set now, all runs"),
        (_CHOSEN, "training", "*", WASTE, "chosen, half chosen by"),
        (_CHOSEN, "held out", "o", WASTE, "chosen, half held out"),
    )
    for what, part, marker, colour, name in marked:
        row = next((r for r in panel.rows if r["what"] == what and r["part"] == part), None)
        if row is not None and row["share"] is not None and row["runs"]:
            _with_interval(axes, row, marker, colour, name)
    _limits(axes, panel, cap)
    axes.axvline(100 * cap, color=WASTE, linestyle=":", linewidth=1.2, label="cap")
    axes.axhline(0, color=GREY, linewidth=0.8)
    axes.set_title(f"{label(panel.title, 70)} ({panel.verdict})", fontsize=9.5, pad=6)
    axes.set_xlabel("healthy runs interrupted, %")
    money = panel.unit is Unit.USD
    axes.set_ylabel("USD a run, net" if money else f"{panel.unit} a run, net")
    (dollars if money else counts)(axes)
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.02), fontsize=7.5, borderaxespad=0)


def _shares(rows: Sequence[Row]) -> list[float]:
    return [100 * (row["share"] or 0.0) for row in rows]


def _with_interval(axes: Axes, row: Row, marker: str, colour: str, name: str) -> None:
    x, y = 100 * row["share"], row["net_per_run"]
    low, high = 100 * row["share_low"], 100 * row["share_high"]
    nets = [row[key] for key in ("net_low", "net_high")]
    tall = None
    if None not in nets:
        bottom, top = (value / row["runs"] for value in nets)
        tall = [[max(y - bottom, 0.0)], [max(top - y, 0.0)]]
    axes.errorbar(
        [x], [y], xerr=[[max(x - low, 0.0)], [max(high - x, 0.0)]], yerr=tall,
        color=colour, marker=marker, markersize=8, capsize=3, linewidth=1.2, label=name, zorder=5,
        markerfacecolor=paper() if row["part"] == "held out" else colour,
    )  # fmt: skip


def _limits(axes: Axes, panel: Panel, cap: float) -> None:
    """The part around the cap: a threshold that interrupts half of all runs is no choice."""
    marked = [r["share_high"] or 0.0 for r in panel.rows if r["what"] in (_NOW, _CHOSEN)]
    widest = max([r["share"] or 0.0 for r in panel.rows] + marked, default=0.0)
    end = 100 * min(widest, max([_BEYOND * cap, *(1.1 * one for one in marked)]))
    end = max(end, 120 * cap, 0.5)
    seen = [
        r["net_per_run"]
        for r in panel.rows
        if r["net_per_run"] is not None and 100 * (r["share"] or 0.0) <= end
    ]
    for row in panel.rows:
        if row["what"] in (_NOW, _CHOSEN) and row["net_low"] is not None and row["runs"]:
            seen += [row["net_low"] / row["runs"], row["net_high"] / row["runs"]]
    low, high = min([0.0, *seen]), max([0.0, *seen])
    room = 0.06 * (high - low or 1.0)
    axes.set_xlim(-0.02 * end, end)
    axes.set_ylim(low - room, high + room)
