"""Small data for charts, made by hand, and the figures drawn from it."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from loopaudit.render.charts import bars, retries, run, spins, timeline, trade
from loopaudit.render.charts.series import Mark, RunSeries, Span
from loopaudit.tune.corpus import Unit

WHEN = "2026-01-05 09:00:00 to 2026-01-05 09:20:00 UTC"


def series(steps: int = 24, *, priced: bool = True) -> RunSeries:
    """Each step sends 1,000 tokens more, nine tenths of them from the cache, and costs a cent."""
    rows: list[dict[str, Any]] = []
    for step in range(1, steps + 1):
        sent = 4_000 + 1_000 * step
        rows.append(
            {
                "run": "r1",
                "step": step,
                "line": step,
                "at": 1_767_603_600.0 + 50 * step,
                "model": "m",
                "calls": 1,
                "failed": 0,
                "fresh_input": sent // 20,
                "cache_read": sent - 2 * (sent // 20),
                "cache_write": sent // 20,
                "output": 100,
                "tokens": sent + 100,
                "usd": Decimal("0.01") if priced else None,
                "running_tokens": sum(4_100 + 1_000 * s for s in range(1, step + 1)),
                "running_usd": Decimal("0.01") * step if priced else Decimal(0),
                "wasted_part": 1.0 if 10 <= step <= 20 else 0.0,
            }
        )
    out = RunSeries("r1", "m", 1_767_603_600.0, 1_767_604_800.0, rows)
    out.spans = [Span("same-call-same-result", 9, 19)]
    out.marks = [
        Mark("fuses:demo", "warn", "generic_repeat", 13),
        Mark("fuses:demo", "stop", "generic_repeat", 16),
    ]
    out.unpriced = 0 if priced else steps
    return out


def some_bars(by: str = "model") -> bars.Bars:
    names = ["2026-01-05", "2026-01-06", "2026-01-07"] if by == "day" else ["a", "b", "c"]
    data = bars.Bars(by, True)
    for number, name in enumerate(names):
        last = by == "day" and number == 2
        data.bars.append(bars.Bar(name, Decimal(3 - number), Decimal("0.5") * number, last))
    return data


def some_calls() -> timeline.Timeline:
    data = timeline.Timeline("r1", ["read #0001  ×4", "bash #0002  ×4", "all other calls  ×2"])
    data.spans, data.steps = [Span("cycle", 3, 7)], 10
    data.boundaries = [(0, "user"), (6, "compaction")]
    for step in range(1, 11):
        row = 2 if step in (1, 10) else step % 2
        status = "error" if row == 1 else "interrupted" if step == 10 else "ok"
        data.points.append({"step": step, "row": row, "status": status})
    return data


def some_spins() -> spins.Spins:
    names = [(f"{n:016x}", "cycle") for n in range(4)]
    guarded = {"fuses:demo": [2, 4, 5, 5], "loopaudit": [1, 1, 1, 3]}
    return spins.Spins([2, 4, 8, 16], guarded, names)


def many_spins() -> spins.Spins:
    lengths = list(range(3, 43))
    names = [(f"{n:016x}", "cycle") for n in lengths]
    return spins.Spins(lengths, {"loopaudit": [min(n, 4) for n in lengths]}, names)


def some_retries() -> retries.Retries:
    waits = [0.5, 1.1, 2.4, 9.0, None]
    rows = [{"number": n, "wait": wait} for n, wait in enumerate(waits, 1)]
    return retries.Retries(rows)


def one_day() -> bars.Bars:
    return bars.Bars("day", True, [bars.Bar("2026-01-05", Decimal(3), Decimal(8))])


def days_half_known() -> bars.Bars:
    """A day without any price, one of nothing, one that is not over, and responses without time."""
    nothing = Decimal(0)
    return bars.Bars(
        "day",
        True,
        [
            bars.Bar("2026-01-05", Decimal(3), Decimal(1)),
            bars.Bar("2026-01-06", nothing, nothing, unpriced=26_700, known=False),
            bars.Bar("2026-01-07", nothing, nothing),
            bars.Bar("2026-01-08", Decimal(1), Decimal(1), partial=True),
            bars.Bar("(not told)", Decimal(2), nothing, absent=3),
        ],
    )


def some_trades() -> trade.Trades:
    """One panel: a threshold alone, a front, what is set now and what was chosen."""

    def row(what: str, part: str, share: float, net: float, **more: Any) -> dict[str, Any]:
        high = share + 0.01
        between = {"net_low": None, "net_high": None}
        if what in ("now", "chosen"):
            between = {"net_low": 0.8 * net, "net_high": 1.2 * net}
        return {
            "what": what,
            "part": part,
            "signal": "cycle",
            "recommended": False,
            "share": share,
            "share_low": max(share - 0.008, 0.0),
            "share_high": high,
            "runs": 100,
            "net": net,
            "net_per_run": net / 100,
            **between,
            **more,
        }

    rows = [row("alone", "all", n / 200, 30.0 * n, recommended=n == 2) for n in range(6)]
    rows += [row("front", "training", n / 100, 50.0 * n + 40) for n in range(4)]
    rows += [row("now", "all", 0.0, 30.0), row("chosen", "training", 0.01, 90.0)]
    rows += [row("chosen", "held out", 0.012, 70.0)]
    title = "research, loopaudit: 60 healthy runs, 40 stuck"
    panel = trade.Panel(title, Unit.USD, "chosen: confirmed", rows, [("cycle", "3")])
    return trade.Trades(0.02, [panel], 1)


FIGURES: dict[str, Callable[[], Any]] = {
    "run": lambda: run.cost(series(), WHEN, "2026-01-01"),
    "run_unpriced": lambda: run.cost(series(priced=False), WHEN, None),
    "snowball": lambda: run.snowball(series(), WHEN),
    "snowball_long": lambda: run.snowball(series(400), WHEN),
    "timeline": lambda: timeline.draw(some_calls(), WHEN),
    "cost_by_model": lambda: bars.draw(some_bars(), "UTC", "2026-01-01"),
    "cost_by_day": lambda: bars.draw(some_bars("day"), "UTC", "2026-01-01"),
    "cost_one_day": lambda: bars.draw(one_day(), "Europe/Berlin", "2026-01-01"),
    "cost_half_known": lambda: bars.draw(days_half_known(), "UTC", "2026-01-01"),
    "spins": lambda: spins.draw(some_spins()),
    "spins_many": lambda: spins.draw(many_spins()),
    "retries": lambda: retries.draw(some_retries(), "1 run"),
    "thresholds": lambda: trade.draw(some_trades()),
}
