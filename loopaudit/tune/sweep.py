"""Where each combination of thresholds stops each run, looked up in the crossing tables.

Exact, and equal to a replay with those thresholds: `tests/tune/test_exact.py` compares them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from loopaudit.findings import Level
from loopaudit.guards.preset import Preset
from loopaudit.replay.crossing import Crossings, first_acts, with_thresholds
from loopaudit.tune.corpus import NEVER
from loopaudit.tune.dimensions import Choice, Dimension

if TYPE_CHECKING:
    from numpy import bool_, float64, int32, int64
    from numpy.typing import NDArray

Pick = tuple[int, ...]  # one number of a choice for each dimension


class Sweep(Protocol):
    """Answers where a combination stops each run."""

    dimensions: tuple[Dimension, ...]
    replayed: bool  # by the policy itself, not looked up

    def first(self, pick: Pick) -> NDArray[int32]:
        """First step that the earliest stop saves, one entry a run; `NEVER` where none comes."""
        ...

    def warned(self, pick: Pick) -> NDArray[int32] | None:
        """The same for the earliest milder act, which counts where it is before the stop; None
        where no such threshold is turned."""
        ...

    def alone(self, dimension: int, choice: int) -> NDArray[int32]:
        """The first step that this act saves with all other dimensions at "never"."""
        ...

    def part(self, chosen: NDArray[int64]) -> Sweep: ...


@dataclass(slots=True)
class Flat:
    """Series of many runs end to end: `run` and `value` rise together."""

    run: NDArray[int32]
    value: NDArray[float64]
    step: NDArray[int32]


def flat(crossings: Sequence[Crossings], signal: str, poll: bool) -> Flat:
    import numpy

    key = (signal, poll)
    found = [
        (number, series)
        for number, one in enumerate(crossings)
        if (series := one.series.get(key)) is not None
    ]
    if not found:
        none = numpy.zeros(0, dtype=numpy.int32)
        return Flat(none, numpy.zeros(0), none)
    lengths = [len(series.values) for _, series in found]
    return Flat(
        numpy.repeat(numpy.array([n for n, _ in found], dtype=numpy.int32), lengths),
        numpy.frombuffer(b"".join([s.values for _, s in found]), dtype=numpy.float64),
        numpy.frombuffer(b"".join([s.saves_from for _, s in found]), dtype=numpy.int32),
    )


def first_steps(
    table: Flat, runs: int, thresholds: Sequence[float], over: bool
) -> Iterator[NDArray[int32]]:
    """For each threshold, which rise, the first step of each run that a stop there saves."""
    import numpy

    run, value, step = table.run, table.value, table.step
    for threshold in thresholds:
        # values rise within a run: of those that are left the first one meets the threshold
        met = value > threshold if over else value >= threshold
        run, value, step = run[met], value[met], step[met]
        first = numpy.full(runs, NEVER, dtype=numpy.int32)
        if len(run):
            begins = numpy.flatnonzero(numpy.diff(run, prepend=-1))
            first[run[begins]] = step[begins]
        yield first


@dataclass(slots=True)
class LookUp:
    """Sets of rules that judge each event by itself."""

    dimensions: tuple[Dimension, ...]
    table: list[NDArray[int32]]  # a dimension: choices x runs
    mixed: Mixed | None = None
    replayed: bool = False

    def first(self, pick: Pick) -> NDArray[int32]:
        return self._earliest(pick, stops=True)

    def warned(self, pick: Pick) -> NDArray[int32] | None:
        if all(d.level.stops for d in self.dimensions):
            return None
        return self._earliest(pick, stops=False)

    def _earliest(self, pick: Pick, *, stops: bool) -> NDArray[int32]:
        import numpy

        found: NDArray[int32] = numpy.full(self.table[0].shape[1], NEVER, dtype=numpy.int32)
        for dimension, table, choice in zip(self.dimensions, self.table, pick, strict=True):
            if dimension.level.stops == stops and choice < len(table) - 1:
                numpy.minimum(found, table[choice], out=found)
        if self.mixed is not None:
            choices = [d.choices[n] for d, n in zip(self.dimensions, pick, strict=True)]
            found = self.mixed.lower(found, self.dimensions, choices, stops=stops)
        return found

    def alone(self, dimension: int, choice: int) -> NDArray[int32]:
        stops = self.dimensions[dimension].level.stops
        return self._earliest(_alone(self.dimensions, dimension, choice), stops=stops)

    def part(self, chosen: NDArray[int64]) -> LookUp:
        mixed = None if self.mixed is None else self.mixed.part(chosen)
        return LookUp(self.dimensions, [t[:, chosen] for t in self.table], mixed)


def _alone(dimensions: Sequence[Dimension], dimension: int, choice: int) -> Pick:
    return tuple(choice if n == dimension else len(d.choices) - 1 for n, d in enumerate(dimensions))


@dataclass(slots=True)
class Mixed:
    """Events with several readings, of which the first rule that holds gives the verdict."""

    run: NDArray[int32]
    step: NDArray[int32]
    rule: NDArray[int32]  # events x readings: number of the rule, -1 where there is none
    count: NDArray[float64]
    keys: tuple[tuple[str, bool], ...]  # rule number -> signal and poll
    over: NDArray[bool_]
    mild: NDArray[float64]  # lowest threshold of each rule that is no stop and is not turned
    runs: int

    def lower(
        self,
        first: NDArray[int32],
        dimensions: Sequence[Dimension],
        choices: Sequence[Choice],
        *,
        stops: bool,
    ) -> NDArray[int32]:
        """`first` with the stops of these events in it, or with their milder acts."""
        import numpy

        stop, mild = numpy.full(len(self.mild), numpy.inf), self.mild.copy()
        for dimension, choice in zip(dimensions, choices, strict=True):
            if choice.threshold is not None:
                levels = stop if dimension.level.stops else mild
                rule = self.keys.index((dimension.signal, dimension.poll))
                levels[rule] = min(levels[rule], choice.threshold)
        over = self.over[self.rule]
        hard = numpy.where(over, self.count > stop[self.rule], self.count >= stop[self.rule])
        bound = numpy.minimum(mild, stop)[self.rule]
        holds = numpy.where(over, self.count > bound, self.count >= bound)
        winner = holds.argmax(axis=1)
        hit = holds.any(axis=1) & (hard[numpy.arange(len(winner)), winner] == stops)
        found = first.copy()
        numpy.minimum.at(found, self.run[hit], self.step[hit])
        return found

    def part(self, chosen: NDArray[int64]) -> Mixed:
        import numpy

        number = numpy.full(self.runs, -1, dtype=numpy.int32)
        number[chosen] = numpy.arange(len(chosen), dtype=numpy.int32)
        kept = number[self.run] >= 0
        return replace(
            self, run=number[self.run[kept]], step=self.step[kept], rule=self.rule[kept],
            count=self.count[kept], runs=len(chosen),
        )  # fmt: skip


def mixed_of(crossings: Sequence[Crossings], preset: Preset) -> Mixed | None:
    """All such events of the runs; None where there are none."""
    import numpy

    keys = [(rule.signal, poll) for rule in preset.rules for poll in (False, True)]
    rank = {key: number for number, key in enumerate(keys)}
    rows = [
        (number, step, sorted(event, key=lambda part: rank[part[0], False]))
        for number, one in enumerate(crossings)
        for event, step in one.mixed.items()
    ]
    if not rows:
        return None
    width = max(len(event) for _, _, event in rows)
    rule = numpy.full((len(rows), width), len(keys), dtype=numpy.int32)
    count = numpy.zeros((len(rows), width))
    for place, (_, _, event) in enumerate(rows):
        for column, (signal, value, poll) in enumerate(event):
            rule[place, column] = rank[signal, poll]
            count[place, column] = value
    by_signal = {r.signal: r for r in preset.rules}
    mild = []
    for signal, poll in keys:
        own = by_signal[signal].poll if poll else by_signal[signal].thresholds
        numbers = sorted(n for level, n in own.levels if not level.stops) if own is not None else []
        mild.append(float(numbers[1]) if len(numbers) > 1 else numpy.inf)  # the least is turned
    return Mixed(
        numpy.array([n for n, _, _ in rows], dtype=numpy.int32),
        numpy.array([s for _, s, _ in rows], dtype=numpy.int32),
        rule,
        count,
        tuple(keys),
        numpy.array([*(by_signal[signal].over for signal, _ in keys), False]),
        numpy.array([*mild, numpy.inf]),
        len(crossings),
    )


@dataclass(slots=True)
class Replayed:
    """Sets whose state depends on the thresholds: the policy runs again over what was counted."""

    dimensions: tuple[Dimension, ...]
    preset: Preset
    crossings: list[Crossings]
    replayed: bool = True
    last: tuple[Pick, tuple[NDArray[int32], NDArray[int32]]] | None = None

    def first(self, pick: Pick) -> NDArray[int32]:
        return self._acts(pick)[0]

    def warned(self, pick: Pick) -> NDArray[int32] | None:
        if all(d.level.stops for d in self.dimensions):
            return None
        return self._acts(pick)[1]

    def _acts(self, pick: Pick) -> tuple[NDArray[int32], NDArray[int32]]:
        """The first stop of each run, and the first milder act before it."""
        import numpy

        if self.last is not None and self.last[0] == pick:
            return self.last[1]
        chosen = {
            (d.signal, d.level, d.poll): d.choices[n].threshold
            for d, n in zip(self.dimensions, pick, strict=True)
        }
        preset = with_thresholds(self.preset, chosen)
        base = next((v for (s, _, _), v in chosen.items() if s == BASE_STEPS), None)
        if any(d.signal == BASE_STEPS for d in self.dimensions):
            most = self.preset.limits.get("hard_max_steps")
            limits = {**preset.limits, BASE_STEPS: _ENDLESS if base is None else base}
            if most is not None:
                limits["hard_max_steps"] = max(most, limits[BASE_STEPS])
            preset = replace(preset, limits=limits)
        acts = [first_acts(one.events, preset) for one in self.crossings]
        stops, mild = (
            numpy.array([NEVER if pair[n] is None else pair[n] for pair in acts], dtype=numpy.int32)
            for n in (0, 1)
        )
        found = (stops, mild)
        self.last = (pick, found)
        return found

    def alone(self, dimension: int, choice: int) -> NDArray[int32]:
        stops = self.dimensions[dimension].level.stops
        return self._acts(_alone(self.dimensions, dimension, choice))[0 if stops else 1]

    def part(self, chosen: NDArray[int64]) -> Replayed:
        return Replayed(self.dimensions, self.preset, [self.crossings[i] for i in chosen])


#: the watchdog's base, which is turned like a threshold
BASE_STEPS = "base_steps"
_ENDLESS = 2**40

__all__ = [
    "BASE_STEPS",
    "Level",
    "LookUp",
    "Pick",
    "Replayed",
    "Sweep",
    "first_steps",
    "flat",
]
