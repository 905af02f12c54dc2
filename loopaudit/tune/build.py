"""Builds the sweep of one guard set over runs of one task type."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from loopaudit.findings import Level
from loopaudit.guards.preset import Preset, PresetRule, Thresholds
from loopaudit.replay.crossing import Crossings, Series, needs_replay
from loopaudit.replay.results import UNKNOWN
from loopaudit.tune.corpus import NEVER, Sample, unit_of
from loopaudit.tune.dimensions import (
    LIMITS,
    OPTIONS,
    SERVICE,
    USD_LIMIT,
    Choice,
    Dimension,
    greatest,
    values_of,
    variants,
)
from loopaudit.tune.sweep import (
    BASE_STEPS,
    Flat,
    LookUp,
    Replayed,
    Sweep,
    first_steps,
    flat,
)
from loopaudit.tune.sweep import mixed_of as _mixed_of

if TYPE_CHECKING:
    from numpy import int32
    from numpy.typing import NDArray

#: by signal and poll: its counts, and by option and values the steps at which they were met
_Seen = dict[tuple[str, bool], "tuple[Flat, dict[tuple[float | None, ...], list[NDArray[int32]]]]"]
_PICO = 10**12
_MOST = 20  # whole numbers up to here are tried where each combination is a replay


@dataclass(frozen=True, slots=True)
class Turned:
    """One threshold of a rule before values to try are found for it."""

    rule: PresetRule
    level: Level
    poll: bool
    now: float | None


def turned(preset: Preset, unit: str = "usd") -> Iterator[Turned]:
    """The thresholds that can be turned: of each rule that at which a run is stopped, and the
    mildest one of those at which it is not; the stops first."""
    if preset.set == SERVICE:
        yield Turned(preset.rules[0], Level.STOP_ALL, False, preset.limits.get(unit))
        return
    for stops in (True, False):
        for rule in preset.rules:
            if rule.detector_class.scope != "run":
                continue
            for poll in (False, True):
                own: Thresholds | None = rule.poll if poll else rule.thresholds
                if own is None:
                    continue
                levels = [(level, n) for level, n in own.levels if level.stops == stops]
                if levels:
                    level, now = min(levels, key=lambda pair: pair[1])
                    yield Turned(rule, level, poll, now)
        if stops and preset.set == LIMITS:
            yield _usd_rule(preset)


def sweep(preset: Preset, samples: Sequence[Sample], training: Sequence[int]) -> Sweep:
    """`preset` is that of the task type. Values to try come from the `training` runs alone."""
    unit = str(unit_of(samples))
    if preset.set == SERVICE:
        preset = replace(preset, rules=(replace(preset.rules[0], unit=unit),))
    crossings = [one.counted.get(preset.name, Crossings()) for one in samples]
    if preset.set == LIMITS:
        crossings = [_with_usd(c, s) for c, s in zip(crossings, samples, strict=True)]
    if needs_replay(preset):
        return Replayed(tuple(_replayed(preset, crossings, training)), preset, crossings)
    other = {
        (rule.signal, value): [one.counted.get(changed.name, Crossings()) for one in samples]
        for rule, _, value, changed in variants(preset)
    }
    dimensions: list[Dimension] = []
    tables: list[NDArray[int32]] = []
    mixed_events = any(c.mixed for c in crossings)
    seen: _Seen = {}  # a warning and a stop wait for the same counts
    for one in turned(preset, unit):
        dimension, table = _looked_up(one, crossings, other, training, mixed_events, seen)
        dimensions.append(dimension)
        tables.append(table)
    mixed = _mixed_of(crossings, preset) if preset.policy == "first" else None
    return LookUp(tuple(dimensions), tables, mixed)


def _looked_up(
    one: Turned,
    crossings: list[Crossings],
    other: dict[tuple[str, float], list[Crossings]],
    training: Sequence[int],
    mixed: bool,
    seen: _Seen,
) -> tuple[Dimension, NDArray[int32]]:
    import numpy

    rule = one.rule
    signal = rule.signal
    if (signal, one.poll) not in seen:
        seen[signal, one.poll] = flat(crossings, signal, one.poll), {}
    own, rows_of = seen[signal, one.poll]
    sources: dict[float | None, Flat] = {None: own}
    if one.level.stops or not any(level.stops for level, _ in rule.thresholds.levels):
        # an option is turned once, with the stop of its rule
        for (of, value), counted in other.items():
            if of == signal:
                sources[value] = flat(counted, signal, one.poll)
    if mixed:
        reached = numpy.array(greatest((crossings[i] for i in training), signal, one.poll))
    else:
        wanted = numpy.zeros(len(crossings), dtype=bool)
        wanted[list(training)] = True
        best = numpy.zeros(len(crossings))
        for source in sources.values():  # values rise within a run: its last is its greatest
            last = numpy.flatnonzero(numpy.diff(source.run, append=-1))
            runs = source.run[last]
            best[runs] = numpy.maximum(best[runs], source.value[last])
        reached = best[wanted & (best > 0)]
    values = values_of(rule, numpy.unique(reached).tolist(), one.now)
    for kind, source in sources.items():
        if (kind, *values) not in rows_of:
            rows_of[kind, *values] = list(first_steps(source, len(crossings), values, rule.over))
    choices = [Choice(v, option) for v in values for option in sources]
    rows = [rows_of[kind, *values][n] for n in range(len(values)) for kind in sources]
    rows.append(numpy.full(len(crossings), NEVER, dtype=numpy.int32))
    choices.append(Choice(None))
    now = choices.index(Choice(one.now))
    met = 0
    if values:
        met = int((reached > values[0] if rule.over else reached >= values[0]).sum())
    option = next((o for o in OPTIONS if len(sources) > 1 and o in rule.options), None)
    dimension = Dimension(
        signal, one.level, one.poll, rule.unit, rule.over, tuple(choices), now, option, met
    )
    return dimension, numpy.stack(rows)


def _replayed(
    preset: Preset, crossings: list[Crossings], training: Sequence[int]
) -> Iterator[Dimension]:
    own = [crossings[i] for i in training]
    for one in turned(preset):
        reached = greatest(own, one.rule.signal, one.poll)
        # each combination is a replay: fewer values
        values = [v for v in values_of(one.rule, reached, one.now) if v <= _MOST or v == one.now]
        choices = (*(Choice(v) for v in values), Choice(None))
        yield Dimension(
            one.rule.signal, one.level, one.poll, one.rule.unit, one.rule.over, choices,
            choices.index(Choice(one.now)), None, sum(n >= values[0] for n in reached),
        )  # fmt: skip
    if preset.policy == "watchdog":
        base = preset.limits[BASE_STEPS]
        values = sorted({*range(2, _MOST + 1), 25, 30, 40, 60, base})
        choices = (*(Choice(v) for v in values), Choice(None))
        yield Dimension(
            BASE_STEPS, Level.STOP, False, "steps", False, choices, choices.index(Choice(base)),
            None, len(own),
        )  # fmt: skip


def _usd_rule(preset: Preset) -> Turned:
    """A limit of money for a run has no detector: a worker knows no prices."""
    model = preset.rules[-1]
    limit = preset.limits.get(USD_LIMIT)
    rule = replace(
        model, signal=USD_LIMIT, unit="usd", over=False, options={}, reason="the run's budget"
    )
    return Turned(rule, Level.STOP, False, limit)


def _with_usd(crossings: Crossings, one: Sample) -> Crossings:
    """The table with what the run had cost after each step."""
    if one.pico is None:
        return crossings
    series, spent = Series(), 0
    for step, cost in enumerate(one.pico):
        if cost != UNKNOWN:
            spent += cost
            series.add(spent / _PICO, step + 1)
    return replace(crossings, series={**crossings.series, (USD_LIMIT, False): series})
