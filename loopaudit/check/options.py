"""What `[check]` of the settings says.

    [check]
    paths = ["logs"]                      # where none are named
    guards = ["loopaudit"]                # judged
    baseline = ".loopaudit/baseline.json" # made by `loopaudit baseline update`
    min_runs = 20                         # below, shares are not judged: cannot say
    verdict_changes = "error"             # against the baseline; or "warn", "off"
    unreachable = "warn"                  # thresholds; or "error", "off"

    [check.limits]                        # of every task type by itself; equal to a limit passes
    false_stops = 0.02                    # a number is an error; or { warn = 0.01, error = 0.02 }

    [check.task_types.research]           # in place of [check.limits] for one type
    cost_usd = { warn = 50, error = 100 }

    [[check.suppress]]
    finding = "0123456789abcdef"          # fingerprint, as in the JSON report
    reason = "known, ticket 12"
    until = 2027-01-31                    # the last day; then the check fails

Limits: false_stops, loops_missed (shares); waste_usd, waste_tokens, cost_usd (a type's total);
waste_usd_per_run, waste_tokens_per_run, cost_usd_per_run, tokens_per_run, steps_per_run,
seconds_per_run (each run by itself).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path
from typing import Any

from loopaudit.check.codes import Level
from loopaudit.settings import Settings, Table

BASELINE = ".loopaudit/baseline.json"

#: name of a limit -> reason code
LIMITS = {
    "false_stops": "false-stops",
    "loops_missed": "loops-missed",
    "waste_usd": "waste",
    "waste_tokens": "waste",
    "cost_usd": "cost",
    "waste_usd_per_run": "waste-per-run",
    "waste_tokens_per_run": "waste-per-run",
    "cost_usd_per_run": "cost-per-run",
    "tokens_per_run": "tokens-per-run",
    "steps_per_run": "steps-per-run",
    "seconds_per_run": "seconds-per-run",
}
SHARES = ("false_stops", "loops_missed")
_ANSWERS = {"error": Level.ERROR, "warn": Level.WARN, "off": Level.OK}


@dataclass(frozen=True, slots=True)
class Limit:
    """Numbers above which it is warned, and above which the check fails."""

    warn: float | None = None
    error: float | None = None

    def level(self, measured: float) -> Level:
        if self.error is not None and measured > self.error:
            return Level.ERROR
        if self.warn is not None and measured > self.warn:
            return Level.WARN
        return Level.OK

    @property
    def lowest(self) -> float:
        return min(n for n in (self.warn, self.error) if n is not None)


@dataclass(frozen=True, slots=True)
class Suppression:
    """A finding that does not count until a day is over."""

    finding: str
    reason: str
    until: date | None
    path: str = ""
    line: int | None = None


@dataclass(frozen=True, slots=True)
class CheckOptions:
    paths: tuple[str, ...] = ()
    guards: tuple[str, ...] = ("loopaudit",)
    baseline: Path = Path(BASELINE)
    baseline_wanted: bool = False  # it is named: that it is missing is an error
    min_runs: int = 20
    verdict_changes: Level = Level.ERROR
    unreachable: Level = Level.WARN
    limits: Mapping[str, Limit] = field(default_factory=dict)
    task_types: Mapping[str, Mapping[str, Limit]] = field(default_factory=dict)
    suppressed: tuple[Suppression, ...] = ()

    def of(self, task_type: str) -> dict[str, Limit]:
        """The limits of a type: its own in place of those for all."""
        return {**self.limits, **self.task_types.get(task_type, {})}


def read(settings: Settings) -> CheckOptions:
    """Raises `ConfigError` with file and line."""
    table, default = settings.reader("check"), CheckOptions()
    table.only(
        ("paths", "guards", "baseline", "min_runs", "verdict_changes", "unreachable", "limits",
         "task_types", "suppress")
    )  # fmt: skip
    written = table.text("baseline")
    place, _ = settings.place("check", "baseline")
    folder = Path(place).parent if place and written is not None else Path()
    types = table.table("task_types")
    least = table.integer("min_runs", default.min_runs, least=1)
    return CheckOptions(
        paths=table.texts("paths"),
        guards=table.texts("guards", default.guards),
        baseline=folder / (written or BASELINE),
        baseline_wanted=written is not None,
        min_runs=default.min_runs if least is None else least,
        verdict_changes=_ANSWERS[table.text("verdict_changes", "error", _ANSWERS) or "error"],
        unreachable=_ANSWERS[table.text("unreachable", "warn", _ANSWERS) or "warn"],
        limits=_limits(table.table("limits")),
        task_types={name: _limits(types.table(name)) for name in types.values},
        suppressed=tuple(_suppression(row, settings, n) for n, row in enumerate(
            table.tables("suppress"))),
    )  # fmt: skip


def _limits(table: Table) -> dict[str, Limit]:
    table.only(LIMITS)
    found = {}
    for name in table.values:
        most = 1.0 if name in SHARES else float("inf")
        if isinstance(table.values[name], Mapping):
            both = table.table(name)
            both.only(("warn", "error"))
            limit = Limit(both.number("warn", None, 0, most), both.number("error", None, 0, most))
            if limit.warn is None and limit.error is None:
                raise table.wrong(name, f"{name} needs warn or error")
        else:
            limit = Limit(error=table.number(name, None, 0, most))
        found[name] = limit
    return found


def _suppression(row: Table, settings: Settings, number: int) -> Suppression:
    row.only(("finding", "reason", "until"))
    finding, reason = row.text("finding"), row.text("reason")
    if finding is None or reason is None:
        raise row.wrong(None, f"needs {'finding' if finding is None else 'reason'}")
    path, line = settings.place("check", "suppress", number)
    return Suppression(finding, reason, _day(row), path, line)


def _day(row: Table) -> date | None:
    value: Any = row.values.get("until")
    if value is None:
        return None
    if isinstance(value, str):
        try:
            return date.fromisoformat(value)
        except ValueError:
            raise row.wrong("until", "until must be a date, such as 2027-01-31") from None
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, date):
        return value
    raise row.wrong("until", "until must be a date, such as 2027-01-31")
