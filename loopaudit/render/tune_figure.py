"""Draws the trade: for each threshold what it saves net, against the healthy runs it interrupts."""

from __future__ import annotations

from math import ceil
from pathlib import Path

from loopaudit.errors import UsageError
from loopaudit.render.text import inert
from loopaudit.render.tune_figures import threshold
from loopaudit.tune.advice import Advice
from loopaudit.tune.corpus import Unit
from loopaudit.tune.tune import Tuning

_COLUMNS = 2
_MOST_LINES = 6  # thresholds in one panel: those that save most


def draw(tuning: Tuning, path: str) -> None:
    """One panel for each task type and guard set that has advice. Raises `UsageError`."""
    shown = [a for a in tuning.advice if a.together is not None]
    suffix = Path(path).suffix.lower().lstrip(".")
    if suffix not in ("svg", "png", "pdf"):
        raise UsageError(f"--figure {path}: draws svg, png or pdf", "name it so, e.g. tune.svg")
    if not shown:
        raise UsageError("--figure: there is no advice to draw", "see the reasons given")
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "loopaudit"  # the same bytes each time
    from matplotlib.figure import Figure

    rows = ceil(len(shown) / _COLUMNS)
    figure = Figure(figsize=(6 * _COLUMNS, 4 * rows), layout="constrained")
    panels = figure.subplots(rows, _COLUMNS, squeeze=False)
    for number, panel in enumerate(panels.flat):
        if number < len(shown):
            _panel(panel, shown[number], tuning.options.max_false_stops)
        else:
            panel.set_axis_off()
    figure.suptitle("Net saving at most, by healthy runs interrupted; each threshold alone")
    metadata = {"Date": None} if suffix == "svg" else {}
    try:
        figure.savefig(path, metadata=metadata)
    except OSError as error:
        raise UsageError(f"--figure {path}: {error.strerror}") from None


def _panel(panel: object, advice: Advice, cap: float) -> None:
    from matplotlib.axes import Axes

    assert isinstance(panel, Axes)
    trades = [t for t in advice.trades if any(r.figures.score.stopped for r in t.rows)]
    trades.sort(key=lambda t: -max(r.figures.net for r in t.rows))
    for trade in trades[:_MOST_LINES]:
        rows = [r for r in trade.rows if r.figures.false_stops is not None]
        x = [100 * (r.figures.false_stops or 0.0) for r in rows]
        y = [r.figures.net for r in rows]
        (line,) = panel.plot(
            x, y, marker=".", label=inert(trade.dimension.name).replace("$", "\\$")
        )
        for row in rows:
            if row.recommended:
                at = (100 * (row.figures.false_stops or 0.0), row.figures.net)
                panel.plot(*at, marker="o", color=line.get_color(), markersize=8)
                panel.annotate(
                    threshold(row.choice, trade.dimension).replace("$", "\\$"), at,
                    textcoords="offset points", xytext=(5, 5),
                )  # fmt: skip
    panel.axvline(100 * cap, color="0.5", linestyle=":", linewidth=1)
    name = f"{inert(advice.task_type)}, {inert(advice.guard)}".replace("$", "\\$")
    panel.set_title(f"{name}: {advice.healthy:,} healthy, {advice.stuck:,} stuck", fontsize=10)
    panel.set_xlabel("healthy runs interrupted, % (dotted: the cap)")
    panel.set_ylabel("net, USD" if advice.unit is Unit.USD else f"net, {advice.unit}")
    if trades:
        panel.legend(fontsize=8)
