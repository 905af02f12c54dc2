"""The meter over the whole service: what a budget of a day would have stopped, over all task types.

The steps of all runs are merged by time. Once the day's sum reaches the budget, every run is
stopped before its next step, and one that begins later that day does not start: its first step is
saved. So each step of a run has a count, the day's sum when it began, and any budget is looked up.
Days are those of UTC. Runs of one day stand or fall together: whole days are held out, resampled.
A sum that is never reset, as that of the `backstop` set, cannot be chosen on one half of the runs
and tried on the other; a day's sum can.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from math import floor

from loopaudit.replay.crossing import Crossings, Series
from loopaudit.replay.results import UNKNOWN
from loopaudit.tune.corpus import Sample, Unit, unit_of
from loopaudit.tune.dimensions import DAY_BUDGET, SERVICE

ALL_TYPES = "(all types)"
#: days with runs, below which a budget of a day is not advised
LEAST_DAYS = 8
_DAY = 86_400
_SCALE = {Unit.USD: 10**12, Unit.TOKENS: 1}


def by_day(samples: Sequence[Sample]) -> tuple[list[Sample], str]:
    """The runs with the sums of their days as counts, one session a day; or why that cannot be."""
    timed = [one for one in samples if one.at is not None and any(at == at for at in one.at)]
    if not timed:
        return [], "these logs tell no times"
    unit = unit_of(timed)
    if unit is Unit.CALLS:
        return [], "these logs tell no usage"
    days = [_day_of(one) for one in timed]
    if len(set(days)) < LEAST_DAYS:
        return [], f"too few days ({len(set(days))} < {LEAST_DAYS})"
    counts = _counts(timed, unit)
    return [
        replace(one, session=day, project=None, task_type=ALL_TYPES,
                counted={SERVICE: Crossings({(DAY_BUDGET, False): series})})
        for one, day, series in zip(timed, days, counts, strict=True)
    ], ""  # fmt: skip


def _day_of(one: Sample) -> str:
    assert one.at is not None
    return datetime.fromtimestamp(next(at for at in one.at if at == at), UTC).date().isoformat()


def _counts(samples: Sequence[Sample], unit: Unit) -> list[Series]:
    """For each run the day's sum before and after each of its steps; a step without a time stands
    with the one before it. A step without usage adds nothing: the sum is then a lower bound."""
    rows = []
    for number, one in enumerate(samples):
        now = next(at for at in one.at or () if at == at)
        for step, at in enumerate(one.at or ()):
            now = max(now, at) if at == at else now
            rows.append((now, number, step))
    found = [Series() for _ in samples]
    spent, today = 0, None
    for now, number, step in sorted(rows):
        if (day := floor(now / _DAY)) != today:
            spent, today = 0, day
        found[number].add(spent / _SCALE[unit], step)
        amounts = samples[number].pico if unit is Unit.USD else samples[number].tokens
        amount = UNKNOWN if amounts is None else amounts[step]
        if amount != UNKNOWN:
            spent += amount
            found[number].add(spent / _SCALE[unit], step + 1)
    return found
