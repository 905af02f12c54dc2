"""What to set for one task type and guard set: the whole trade, the best, and whether it holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from loopaudit.guards.preset import Preset
from loopaudit.tune import search as searching
from loopaudit.tune.build import sweep as build_sweep
from loopaudit.tune.corpus import Runs, Sample, Unit
from loopaudit.tune.corpus import runs as arrays
from loopaudit.tune.dimensions import Choice, Dimension
from loopaudit.tune.options import TuneOptions
from loopaudit.tune.score import Score, by_length, effects, score
from loopaudit.tune.search import Aim, Searched
from loopaudit.tune.split import split
from loopaudit.tune.statistics import bootstrap_sum, clopper_pearson, runs_to_prove
from loopaudit.tune.sweep import Pick, Sweep

if TYPE_CHECKING:
    from numpy import int32, int64
    from numpy.typing import NDArray

#: a threshold that fewer training runs reach even at its lowest value is left as it is
LEAST_REACHED = 5


@dataclass(slots=True)
class Figures:
    """What one choice does to one part of the runs; rates with exact intervals."""

    score: Score
    healthy: int  # healthy runs in all
    stuck: int
    with_loop: int  # stuck runs with a loop
    net: float
    net_between: tuple[float, float] | None = None  # bootstrap over sessions
    by_length: float | None = None

    @property
    def false_stops(self) -> float | None:
        return self.score.healthy / self.healthy if self.healthy else None

    @property
    def false_stops_between(self) -> tuple[float, float]:
        return clopper_pearson(self.score.healthy, self.healthy)

    @property
    def caught(self) -> float | None:
        return self.score.caught / self.with_loop if self.with_loop else None

    @property
    def caught_between(self) -> tuple[float, float]:
        return clopper_pearson(self.score.caught, self.with_loop)

    @property
    def right(self) -> float | None:
        """The share of stuck runs among the stopped ones."""
        return self.score.stuck / self.score.stopped if self.score.stopped else None


@dataclass(slots=True)
class Row:
    """One value of one threshold, all others at "never"."""

    choice: Choice
    figures: Figures
    recommended: bool = False
    now: bool = False


@dataclass(slots=True)
class Trade:
    """All values of one threshold on all runs of the type."""

    dimension: Dimension
    rows: list[Row]
    recommended: Choice
    alone: Choice  # the best where no other rule is on
    kept: str = ""  # why the present value stays


class Held(StrEnum):
    """What the runs held out say of the choice."""

    CONFIRMED = "confirmed"  # it saves, and keeps the cap
    NOT_REFUTED = "not refuted"  # chance explains why it does not
    REFUTED = "refuted"


@dataclass(slots=True)
class Together:
    """The best combination, and what is set now, on both halves."""

    now: dict[str, Figures]  # "training", "held out", "all"
    best: dict[str, Figures]
    front: list[tuple[dict[str, Choice], Score]]  # on the training runs
    tried: int
    everything: bool
    holds: tuple[float, float] | None
    pays: bool  # it saves more than it costs on the training runs, beyond chance
    held: Held


@dataclass(slots=True)
class Advice:
    """All about one task type under one guard set."""

    guard: str
    task_type: str
    unit: Unit
    way: str  # how the runs were cut
    by: dict[str, int]  # who said how the runs stand -> runs
    left_out: dict[str, int]  # reason -> runs
    healthy: int
    stuck: int
    with_loop: int
    refused: str = ""  # why there is no advice
    trades: list[Trade] = field(default_factory=list)
    warns: list[Trade] = field(default_factory=list)
    together: Together | None = None
    replayed: bool = False
    undecidable: dict[str, int] = field(default_factory=dict)  # signal: what lacks -> runs
    needed: int = 0  # healthy runs that could prove the cap


def advise(
    preset: Preset,
    samples: Sequence[Sample],
    unit: Unit,
    way: str,
    options: TuneOptions,
    into: Advice,
) -> Advice:
    """Fills `into`, which holds what is known of the type already."""
    import numpy

    whole = arrays(samples, unit)
    training_at, held_at = split(whole.samples, way)
    into.needed = runs_to_prove(options.max_false_stops)
    aim = Aim(options.false_stop_cost, options.max_false_stops)
    made = build_sweep(preset, whole.samples, training_at)
    into.replayed = made.replayed
    parts = {
        "training": numpy.array(training_at, dtype=numpy.int64),
        "held out": numpy.array(held_at, dtype=numpy.int64),
    }
    training = whole.part(parts["training"])
    if training.healthy < options.min_runs // 2 or training.stuck < options.min_runs // 2:
        into.refused = (
            f"too few runs for training ({training.healthy} healthy, {training.stuck} stuck)"
        )
        return into
    if not made.dimensions:
        into.refused = "it stops nothing: no threshold to turn"
        return into
    sweep = made.part(parts["training"])
    fixed = frozenset(n for n, d in enumerate(made.dimensions) if d.reached < LEAST_REACHED)
    found = searching.search(sweep, training, aim, fixed)
    into.together = _together(found, made, whole, parts, aim)
    into.trades = _trades(made, sweep, whole, training, found, aim, fixed)
    into.warns = _warns(preset, whole, training_at, options, into.trades)
    return into


def _together(
    found: Searched,
    sweep: Sweep,
    whole: Runs,
    parts: dict[str, NDArray[int64]],
    aim: Aim,
) -> Together:
    dimensions = sweep.dimensions
    now = tuple(d.now for d in dimensions)
    figures: list[dict[str, Figures]] = []
    for pick in (now, found.best):
        first = sweep.first(pick)
        per = {
            name: measure(whole.part(at), first[at], aim.factor, interval=True)
            for name, at in parts.items()
        }
        per["all"] = measure(whole, first, aim.factor, interval=True)
        figures.append(per)
    best = figures[1]
    between = best["training"].net_between or (0.0, 0.0)
    shown = searching.front(found)
    return Together(
        now=figures[0],
        best=best,
        front=[(_named(dimensions, pick), found.tried[pick]) for pick in shown],
        tried=len(found.tried),
        everything=found.everything,
        holds=searching.holds_between(found, whole.part(parts["training"]), aim),
        pays=best["training"].net > 0 and between[0] > 0,
        held=_held(best["held out"], aim.cap),
    )


def _held(figures: Figures, cap: float) -> Held:
    if figures.net > 0 and (figures.false_stops or 0.0) <= cap:
        return Held.CONFIRMED
    _, most = figures.net_between or (0.0, 0.0)
    return Held.NOT_REFUTED if most >= 0 and figures.false_stops_between[0] <= cap else Held.REFUTED


def _named(dimensions: Sequence[Dimension], pick: Pick) -> dict[str, Choice]:
    return {d.name: d.choices[n] for d, n in zip(dimensions, pick, strict=True)}


def measure(part: Runs, first: NDArray[int32], factor: float, *, interval: bool = False) -> Figures:
    """Figures of one choice on `part`; `interval`: with the bootstrap of the net saving."""
    import numpy

    made = score(part, first)
    figures = Figures(
        made, part.healthy, part.stuck, part.with_loop, made.net(factor),
        by_length=by_length(part, first),
    )  # fmt: skip
    if interval and len(part):
        names: dict[str, int] = {}
        groups = numpy.array([names.setdefault(s.session, len(names)) for s in part.samples])
        figures.net_between = bootstrap_sum(effects(part, first, factor), groups)
    return figures


def _trades(
    whole_sweep: Sweep,
    sweep: Sweep,
    whole: Runs,
    training: Runs,
    found: Searched,
    aim: Aim,
    fixed: frozenset[int],
) -> list[Trade]:
    trades = []
    for n, dimension in enumerate(whole_sweep.dimensions):
        rows = []
        for v, choice in enumerate(dimension.choices[:-1]):
            figures = measure(whole, whole_sweep.alone(n, v), aim.factor)
            rows.append(Row(choice, figures, v == found.best[n], v == dimension.now))
        own = _best_alone(sweep, training, n, aim)
        trade = Trade(dimension, rows, dimension.choices[found.best[n]], dimension.choices[own])
        if n in fixed:
            trade.kept = f"too few runs reach it ({dimension.reached} < {LEAST_REACHED})"
        trades.append(trade)
    return trades


def _best_alone(sweep: Sweep, training: Runs, number: int, aim: Aim) -> int:
    """The best value of one threshold where all others are off; the last one if none pays."""
    dimension = sweep.dimensions[number]
    allowed = aim.allowed(training.healthy)
    best, most = len(dimension.choices) - 1, 0.0
    for value in range(len(dimension.choices) - 1):
        made = score(training, sweep.alone(number, value))
        if made.healthy <= allowed and made.net(aim.factor) > most:
            best, most = value, made.net(aim.factor)
    return best


def _warns(
    preset: Preset,
    whole: Runs,
    training_at: Sequence[int],
    options: TuneOptions,
    stops: Sequence[Trade],
) -> list[Trade]:
    """Warnings kill no work: each is set as low as the share of healthy runs that it reaches
    allows, and not above the stop."""
    import numpy

    made = build_sweep(preset, whole.samples, training_at, stops=False)
    # under this policy a warning takes the verdict from the rules after it: stops would move
    bound_to = preset.policy == "first"
    at = numpy.array(training_at, dtype=numpy.int64)
    training, sweep = whole.part(at), made.part(at)
    stop_at = {(t.dimension.signal, t.dimension.poll): t.recommended.threshold for t in stops}
    trades = []
    for n, dimension in enumerate(made.dimensions):
        last = len(dimension.choices) - 1
        bound = stop_at.get((dimension.signal, dimension.poll))
        allowed = int(options.max_false_warns * training.healthy + 1e-9)
        best, most = last, 0.0
        rows = []
        for value, choice in enumerate(dimension.choices[:-1]):
            rows.append(
                Row(choice, measure(whole, made.alone(n, value), 0.0), now=value == dimension.now)
            )
            if bound is not None and choice.threshold is not None and choice.threshold > bound:
                continue
            reached = score(training, sweep.alone(n, value))
            if reached.healthy <= allowed and reached.saved > most:
                best, most = value, reached.saved
        trade = Trade(dimension, rows, dimension.choices[best], dimension.choices[best])
        if bound_to:
            trade.recommended = dimension.choices[dimension.now]
            trade.kept = "it takes the verdict from later rules"
        elif dimension.reached < LEAST_REACHED:
            trade.recommended = dimension.choices[dimension.now]
            trade.kept = f"too few runs reach it ({dimension.reached} < {LEAST_REACHED})"
        for row in rows:
            row.recommended = row.choice == trade.recommended
        trades.append(trade)
    return trades
