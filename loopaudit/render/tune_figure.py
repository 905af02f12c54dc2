"""Draws the trade of `tune --figure`: the same picture as `chart --kind thresholds`."""

from __future__ import annotations

from pathlib import Path

from loopaudit.errors import UsageError
from loopaudit.tune.tune import Tuning


def draw(tuning: Tuning, path: str) -> None:
    """A picture by the ending of `path`. Raises `UsageError`."""
    from loopaudit.render.charts import trade
    from loopaudit.render.charts.style import looks, save

    suffix = Path(path).suffix.lower().lstrip(".")
    if suffix not in ("svg", "png", "pdf"):
        raise UsageError(f"--figure {path}: draws svg, png or pdf", "name it so, e.g. tune.svg")
    data = trade.trades(tuning)
    if not data.panels:
        raise UsageError("--figure: there is no advice to draw", "see the reasons given")
    with looks():
        try:
            save(trade.draw(data), path, suffix)
        except OSError as error:
            raise UsageError(f"--figure {path}: {error.strerror}") from None
