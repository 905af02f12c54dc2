"""What `[tune]` of the settings says.

[tune]
guards = ["loopaudit", "limits"]   # sets to tune; limits: steps, time, tokens and money of a run
max_false_stops = 0.02             # share of healthy runs that may be interrupted
max_false_warns = 0.10             # share of healthy runs that may be warned
false_stop_cost = 1.0              # times what an interrupted healthy run had spent
min_runs = 20                      # healthy and stuck runs of a type, below which none is advised
hold_out = "time"                  # or "project", "session"; default: what the runs allow
"""

from __future__ import annotations

from dataclasses import dataclass

from loopaudit.settings import Settings
from loopaudit.tune.dimensions import LIMITS
from loopaudit.tune.split import WAYS

KEYS = (
    "guards",
    "max_false_stops",
    "max_false_warns",
    "false_stop_cost",
    "min_runs",
    "hold_out",
)


@dataclass(frozen=True, slots=True)
class TuneOptions:
    guards: tuple[str, ...] = ("loopaudit", LIMITS)
    max_false_stops: float = 0.02
    max_false_warns: float = 0.10
    false_stop_cost: float = 1.0
    min_runs: int = 20
    hold_out: str | None = None


def read(settings: Settings) -> TuneOptions:
    """Raises `ConfigError` with file and line."""
    table, default = settings.reader("tune"), TuneOptions()
    table.only(KEYS)
    stops = table.number("max_false_stops", default.max_false_stops, 0, 1)
    warns = table.number("max_false_warns", default.max_false_warns, 0, 1)
    cost = table.number("false_stop_cost", default.false_stop_cost, 0)
    least = table.integer("min_runs", default.min_runs, least=1)
    return TuneOptions(
        guards=table.texts("guards", default.guards),
        max_false_stops=default.max_false_stops if stops is None else stops,
        max_false_warns=default.max_false_warns if warns is None else warns,
        false_stop_cost=default.false_stop_cost if cost is None else cost,
        min_runs=default.min_runs if least is None else least,
        hold_out=table.text("hold_out", None, WAYS),
    )
