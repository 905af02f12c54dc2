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
from loopaudit.tune.split import parts as split_parts
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
    net: float  # of the stops
    worth: float = 0.0  # of the warnings, as far as they are taken to be heeded
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
    def false_warns(self) -> float | None:
        return self.score.warned_healthy / self.healthy if self.healthy else None

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
    best: bool = False  # in the best combination, which may not have held


class Held(StrEnum):
    """What runs that had no part in the choice say of it."""

    CONFIRMED = "confirmed"  # it saves, and keeps the cap
    NOT_PROVEN = "not proven"  # it does not; chance may be why
    REFUTED = "refuted"


@dataclass(slots=True)
class Trade:
    """All values of one threshold on all runs of the type."""

    dimension: Dimension
    rows: list[Row]
    best: Choice  # in the best combination
    recommended: Choice  # the same where it held, else what is set now
    alone: Choice | None = None  # the best where no other rule is on and it held; None: none did
    kept: str = ""  # why the present value stays


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
    lowered: int | None  # so many thresholds could be lowered, None: any number
    margin: int  # with each stop so many values lower the cap holds on the training runs, too
    left_out: tuple[int, int]  # healthy runs interrupted, of those left out in turn

    @property
    def advised(self) -> bool:
        return self.pays and self.held is Held.CONFIRMED


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
    seed: int = 0,
) -> Advice:
    """Fills `into`, which holds what is known of the type already. `seed`: of the split."""
    import numpy

    whole = arrays(samples, unit)
    training_at, held_at = split(whole.samples, way, seed)
    into.needed = runs_to_prove(options.max_false_stops)
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
        into.refused = "it does nothing: no threshold to turn"
        return into
    fold = split_parts(training.samples, way, searching.FOLDS, seed)
    case = _Case(
        whole, parts, training, made, made.part(parts["training"]), aim_of(options),
        numpy.array(fold, dtype=numpy.int64),
    )  # fmt: skip
    fixed = frozenset(n for n, d in enumerate(made.dimensions) if d.reached < LEAST_REACHED)
    # what is set was not chosen on these runs: all of them tell its rate
    first = made.first(tuple(d.now for d in made.dimensions))
    set_now = score(whole, first).healthy
    found = searching.search(
        case.sweep, training, case.aim, fixed, case.fold,
        stays=set_now <= case.aim.allowed(whole.healthy, chosen=False),
    )  # fmt: skip
    into.together = _together(found, case)
    for n, dimension in enumerate(made.dimensions):
        trade = _trade(n, found.best[n], case, into.together.advised)
        if n in fixed:
            trade.kept = f"too few runs reach it ({dimension.reached} < {LEAST_REACHED})"
        (into.trades if dimension.level.stops else into.warns).append(trade)
    return into


def aim_of(options: TuneOptions) -> Aim:
    return Aim(
        options.false_stop_cost,
        options.max_false_stops,
        options.max_false_warns,
        options.warnings_heeded,
        options.false_warn_cost,
    )


@dataclass(frozen=True, slots=True)
class _Case:
    """One task type under one guard set, cut in two."""

    whole: Runs
    parts: dict[str, NDArray[int64]]
    training: Runs
    all: Sweep  # of the whole
    sweep: Sweep  # of the training runs
    aim: Aim
    fold: NDArray[int64]  # of the training runs


def _together(found: Searched, case: _Case) -> Together:
    dimensions = case.all.dimensions
    now = tuple(d.now for d in dimensions)
    figures: list[dict[str, Figures]] = []
    for pick in (now, found.best):
        first, warned = case.all.first(pick), case.all.warned(pick)
        per = {
            name: measure(
                case.whole.part(at), first[at], case.aim,
                None if warned is None else warned[at], interval=True,
            )
            for name, at in case.parts.items()
        }  # fmt: skip
        per["all"] = measure(case.whole, first, case.aim, warned, interval=True)
        figures.append(per)
    best = figures[1]
    kept = case.aim.kept(*found.left_out)
    return Together(
        now=figures[0],
        best=best,
        front=[
            (_named(dimensions, pick), found.tried[pick])
            for pick in searching.front(found, case.aim)
        ],
        tried=len(found.tried),
        everything=found.everything,
        holds=searching.holds_between(found, case.aim),
        pays=best["training"].net > 0 and (best["training"].net_between or (0.0, 0.0))[0] > 0,
        held=held(best["held out"], case.aim, kept=kept),
        lowered=found.lowered,
        margin=found.margin,
        left_out=found.left_out,
    )


def held(figures: Figures, aim: Aim, *, kept: bool) -> Held:
    """What the held-out runs say. `kept`: the parts left out of the training kept the cap."""
    rate = figures.false_stops or 0.0
    warned = figures.false_warns or 0.0
    if kept and figures.net > 0 and rate <= aim.cap and warned <= aim.warn_cap:
        return Held.CONFIRMED
    _, most = figures.net_between or (0.0, 0.0)
    beyond_chance = most < 0 or figures.false_stops_between[0] > aim.cap
    return Held.REFUTED if beyond_chance else Held.NOT_PROVEN


def _named(dimensions: Sequence[Dimension], pick: Pick) -> dict[str, Choice]:
    return {d.title: d.choices[n] for d, n in zip(dimensions, pick, strict=True)}


def measure(
    part: Runs,
    first: NDArray[int32],
    aim: Aim,
    warned: NDArray[int32] | None = None,
    *,
    interval: bool = False,
) -> Figures:
    """Figures of one choice on `part`; `interval`: with the bootstrap of the net saving."""
    import numpy

    made = score(part, first, warned)
    figures = Figures(
        made, part.healthy, part.stuck, part.with_loop, made.net(aim.factor),
        worth=made.worth(aim.heeded, aim.price), by_length=by_length(part, first),
    )  # fmt: skip
    if interval and len(part):
        names: dict[str, int] = {}
        groups = numpy.array([names.setdefault(s.session, len(names)) for s in part.samples])
        figures.net_between = bootstrap_sum(effects(part, first, aim.factor), groups)
    return figures


def _trade(n: int, best: int, case: _Case, advised: bool) -> Trade:
    """The trade of one dimension; that of a warning counts what it reaches, and no cost."""
    dimension = case.all.dimensions[n]
    aim = case.aim if dimension.level.stops else Aim(0.0)
    recommended = best if advised else dimension.now
    rows = [
        Row(
            choice,
            measure(case.whole, case.all.alone(n, v), aim),
            recommended=v == recommended,
            now=v == dimension.now,
            best=v == best,
        )
        for v, choice in enumerate(dimension.choices[:-1])
    ]
    choices = dimension.choices
    trade = Trade(dimension, rows, choices[best], choices[recommended])
    if dimension.level.stops:
        trade.alone = _alone(n, case)
    return trade


def _alone(n: int, case: _Case) -> Choice | None:
    """The best value of one threshold where all others are off, if it pays and held."""
    value, kept = searching.alone(case.sweep, n, case.training, case.aim, case.fold)
    choice = case.all.dimensions[n].choices[value]
    if choice.threshold is None:
        return None
    at = case.parts["held out"]
    figures = measure(case.whole.part(at), case.all.alone(n, value)[at], case.aim)
    return choice if held(figures, case.aim, kept=kept) is Held.CONFIRMED else None
