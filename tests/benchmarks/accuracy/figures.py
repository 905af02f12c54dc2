"""What the rules did to the runs, in counts; shares and exact intervals from them.

A *killed* run is a success that the rule would have stopped before its last step; a *caught* one
a failure. Sets in which nothing succeeded are named, and not scored.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from .sets import DEFAULT, Judged, Set

Figures = dict[str, Any]

#: a set's runs are taken in turns for one half or the other
HALVES = ("one half", "the other")


def figures(sets: Iterable[Set]) -> Figures:
    """Counts of each set and rule: plain values, ready for JSON."""
    return {entry.name: _of_set(entry) for entry in sets}


def _of_set(entry: Set) -> Figures:
    rules = list(entry.runs[0].stops) if entry.runs else []
    halves = [entry.runs[0::2], entry.runs[1::2]]
    return {
        "successes": sum(run.success for run in entry.runs),
        "failures": sum(not run.success for run in entry.runs),
        "calls": entry.calls,
        "halves": [[sum(r.success for r in h), sum(not r.success for r in h)] for h in halves],
        "rules": {rule: _of_rule(rule, entry.runs, halves) for rule in rules},
    }


def _of_rule(rule: str, runs: Sequence[Judged], halves: list[list[Judged]]) -> Figures:
    def stopped(of: Sequence[Judged], success: bool) -> int:
        return sum(run.success is success and run.stops[rule] is not None for run in of)

    return {
        "killed": stopped(runs, True),
        "caught": stopped(runs, False),
        "calls_saved": sum(sum(run.calls[run.stops[rule] :]) for run in runs if _hit(run, rule)),
        "halves": [[stopped(half, True), stopped(half, False)] for half in halves],
    }


def _hit(run: Judged, rule: str) -> bool:
    return run.stops[rule] is not None


def scored(found: Figures) -> list[str]:
    """Names of the sets in which something succeeded."""
    return [name for name, entry in found.items() if entry["successes"]]


def rates(entry: Figures, rule: str, half: int | None = None) -> tuple[float, float]:
    """(killed, caught) in percent of the successes and of the failures."""
    counts = entry["rules"][rule]
    if half is not None:
        (killed, caught), (good, bad) = counts["halves"][half], entry["halves"][half]
    else:
        killed, caught = counts["killed"], counts["caught"]
        good, bad = entry["successes"], entry["failures"]
    return percent(killed, good), percent(caught, bad)


def overall(found: Figures, rule: str, half: int | None = None) -> tuple[float, float]:
    """The mean of `rates` over the scored sets, each weighing the same."""
    pairs = [rates(found[name], rule, half) for name in scored(found)]
    return sum(k for k, _ in pairs) / len(pairs), sum(c for _, c in pairs) / len(pairs)


def beaten(entry: Figures) -> list[str]:
    """Rules that kill no more than the default guards and catch more: there should be none."""
    own = entry["rules"][DEFAULT]
    return [
        rule
        for rule, counts in entry["rules"].items()
        if counts["killed"] <= own["killed"] and counts["caught"] > own["caught"]
    ]


def percent(count: int, of: int) -> float:
    return 100 * count / of if of else math.nan


def interval(count: int, of: int, level: float = 0.95) -> tuple[float, float]:
    """The exact interval of a share (Clopper and Pearson 1934), both ends in 0..1."""
    if not of:
        return 0.0, 1.0
    tail = (1 - level) / 2
    low = 0.0 if count == 0 else _where(lambda p: 1 - _at_most(count - 1, of, p), tail)
    high = 1.0 if count == of else 1 - _where(lambda p: _at_most(count, of, 1 - p), tail)
    return low, high


def _where(rising: Any, value: float) -> float:
    """The share at which a rising function reaches `value`."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if rising(middle) < value else (low, middle)
    return (low + high) / 2


def _at_most(count: int, of: int, share: float) -> float:
    """The chance of `count` or fewer out of `of`."""
    if share in (0.0, 1.0):
        return 1.0 if share == 0.0 else float(count >= of)
    yes, no = math.log(share), math.log1p(-share)
    all_ways = math.lgamma(of + 1)
    return math.fsum(
        math.exp(all_ways - math.lgamma(k + 1) - math.lgamma(of - k + 1) + k * yes + (of - k) * no)
        for k in range(count + 1)
    )
