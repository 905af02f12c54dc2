"""What `[tune]` of the settings says.

[tune]
guards = ["loopaudit", "limits"]   # sets to tune; limits: steps, time, tokens and money of a run
max_false_stops = 0.02             # share of healthy runs that may be interrupted
max_false_warns = 0.10             # share of healthy runs that may be warned
false_stop_cost = 1.0              # times what an interrupted healthy run had spent
warnings_heeded = 0.1              # share of the warnings that end a loop at once
false_warn_cost = 1.0              # mean steps of a healthy run that a warning costs it
min_runs = 20                      # healthy and stuck runs of a type, below which none is advised
hold_out = "time"                  # or "project", "session"; default: what the runs allow
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from loopaudit.settings import Settings
from loopaudit.tune.dimensions import LIMITS
from loopaudit.tune.split import WAYS

KEYS = (
    "guards",
    "max_false_stops",
    "max_false_warns",
    "false_stop_cost",
    "warnings_heeded",
    "false_warn_cost",
    "min_runs",
    "hold_out",
)


@dataclass(frozen=True, slots=True)
class TuneOptions:
    guards: tuple[str, ...] = ("loopaudit", LIMITS)
    max_false_stops: float = 0.02
    max_false_warns: float = 0.10
    false_stop_cost: float = 1.0
    warnings_heeded: float = 0.1
    false_warn_cost: float = 1.0
    min_runs: int = 20
    hold_out: str | None = None


def read(settings: Settings) -> TuneOptions:
    """Raises `ConfigError` with file and line."""
    table, default = settings.reader("tune"), TuneOptions()
    table.only(KEYS)
    least = table.integer("min_runs", default.min_runs, least=1)

    def number(key: str, most: float = inf) -> float:
        standard: float = getattr(default, key)
        found = table.number(key, standard, 0, most)
        return standard if found is None else found

    return TuneOptions(
        guards=table.texts("guards", default.guards),
        max_false_stops=number("max_false_stops", 1),
        max_false_warns=number("max_false_warns", 1),
        false_stop_cost=number("false_stop_cost"),
        warnings_heeded=number("warnings_heeded", 1),
        false_warn_cost=number("false_warn_cost"),
        min_runs=default.min_runs if least is None else least,
        hold_out=table.text("hold_out", None, WAYS),
    )
