"""Finds the combination of thresholds that saves most: by trying all, or by steps from known ones.

Thresholds interact (a stop hides what comes after it, a warning is worth what comes before its
stop), so stops and warnings are searched together. Where there are too many combinations for that,
one or two thresholds are turned at a time until no such turn is better, from three starting points:
what is set now, nothing, and each rule's own best.

The best of many looks better than it is. Two things hold that down, both on the runs to choose by
alone: no rate may break its cap within its interval, and the search is repeated with a fifth of the
runs left out at a time. If on those fifths it breaks the cap, the search is made more cautious:
fewer thresholds may be lowered, or the cap must hold with all of them lower still. Of the levels
that keep the cap on the fifths left out, the one that saves most there is taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from math import floor, inf, prod, sqrt
from typing import TYPE_CHECKING

from loopaudit.tune.corpus import NEVER, Runs
from loopaudit.tune.dimensions import Dimension
from loopaudit.tune.score import Score, from_row, tally
from loopaudit.tune.statistics import clopper_pearson
from loopaudit.tune.sweep import Pick, Sweep

if TYPE_CHECKING:
    from numpy import int64
    from numpy.typing import NDArray

#: up to so many combinations all are tried
EXHAUSTIVE = 5_000
#: and so many where each is a replay
EXHAUSTIVE_REPLAYS = 200
#: parts of which each is left out once
FOLDS = 5
#: levels of caution: how many thresholds may be lowered (None: any number), and with each stop by
#: how many values lower the rate must keep the cap
CAUTION: tuple[tuple[int | None, int], ...] = tuple(
    (lowered, margin) for margin in (0, 1, 2) for lowered in (None, 2, 1, 0)
)
#: places in a row of `tally`
HEALTHY, WARNED = 0, 5
_ROUNDS = 40  # of turning; it ends long before
_MOST_PAIRS = 400  # values of two dimensions turned at once


@dataclass(frozen=True, slots=True)
class Aim:
    """What is sought: most saved, less `factor` times the work killed, plus what warnings are
    worth, while no more than `cap` of the healthy runs are interrupted and `warn_cap` warned.

    A warning is worth the share `heeded` of what a stuck run spends between it and the stop, less
    `price` times one mean step of each healthy run that has to read it.
    """

    factor: float = 1.0
    cap: float = 0.02
    warn_cap: float = 0.10
    heeded: float = 0.1
    price: float = 1.0

    def allowed(self, healthy: int, *, warn: bool = False, chosen: bool = True) -> int:
        """How many of so many healthy runs may be interrupted (or warned), by what is chosen on
        these runs or set already.

        What is chosen must keep the cap with the upper end of the interval that is printed; where
        even 0 of so many runs do not, none may be met. What is set was not chosen on these runs:
        for it the rate itself counts.
        """
        cap = self.warn_cap if warn else self.cap
        found = floor(cap * healthy + 1e-9)
        if not chosen:
            return found
        while found > 0 and clopper_pearson(found, healthy)[1] > cap:
            found -= 1
        return found

    def kept(self, interrupted: int, healthy: int) -> bool:
        """Is the cap kept on runs that were left out? By the rate and one standard error, as is
        the custom in cross-validation (Breiman and others 1984): it is an estimate itself."""
        if not healthy:
            return True
        rate = interrupted / healthy
        return rate + sqrt(rate * (1 - rate) / healthy) <= self.cap + 1e-12

    def of(self, row: Sequence[float]) -> float:
        """What is sought, of one row of `tally`."""
        _, _, _, saved, spent, *_, more, told = row
        return saved - self.factor * spent + self.heeded * more - self.price * told


@dataclass(slots=True)
class Searched:
    """All combinations that were tried, and the best one."""

    best: Pick
    tried: dict[Pick, Score]
    allowed: list[Pick]  # of these, those from which it was chosen
    everything: bool  # no combination was left out
    lowered: int | None = None  # so many thresholds could be lowered, None: any number
    margin: int = 0  # the cap holds with each stop so many values lower, too
    left_out: tuple[int, int] = (0, 0)  # healthy runs interrupted, of those left out in turn

    @property
    def score(self) -> Score:
        return self.tried[self.best]


def search(
    sweep: Sweep,
    runs: Runs,
    aim: Aim,
    fixed: frozenset[int] = frozenset(),
    fold: NDArray[int64] | None = None,
    *,
    stays: bool = True,
) -> Searched:
    """The best combination on `runs`. Dimensions in `fixed` stay as they are set now.

    `fold`: the part of each run, 0 to `FOLDS` - 1; without it no part is left out. `stays`: what is
    set keeps the cap; its stops stay then, unless others are better. Of combinations
    that save equally much the one that changes least is taken: fewest warnings that no run would
    see, fewest stops turned, fewest of them given up altogether, each as near as can be to what is
    set now; then the same of warnings.
    """
    table = _Table(sweep, runs, fold)
    caution, left_out = CAUTION[0], (0, 0)
    if fold is not None:
        caution, left_out = _cautious(table, aim, fixed)
    chosen = _Search(table, aim, fixed, None, caution)
    best, whole = chosen.best(), chosen
    if stays:
        as_set = _Search(table, aim, fixed | table.stops, as_set=True)
        kept = as_set.best()
        if table.total(kept, aim) >= table.total(best, aim) - 1e-9:
            best, whole, caution, left_out = kept, as_set, CAUTION[0], (0, 0)
    made = {pick: from_row(rows[-1]) for pick, (rows, _) in table.tried.items()}
    return Searched(best, made, list(whole.allowed_picks()), chosen.few, *caution, left_out)


def _cautious(
    table: _Table, aim: Aim, fixed: frozenset[int]
) -> tuple[tuple[int | None, int], tuple[int, int]]:
    """The level of caution, and the healthy runs that it interrupts of all that are left out in
    turn: the first level if that keeps the cap on them, else of those that do the one that saves
    most on them; the last one where none does."""
    found, left_out, most = CAUTION[-1], (0, 0), -inf
    kept: set[int] = set()  # margins with which the cap is kept: less freedom saves less
    for caution in CAUTION:
        if caution[1] in kept:
            continue
        interrupted, gained = 0, 0.0
        for part in range(FOLDS):
            rows, _ = table.row(_Search(table, aim, fixed, part, caution).best())
            interrupted += int(rows[-1][HEALTHY] - rows[part][HEALTHY])
            gained += aim.of(rows[-1]) - aim.of(rows[part])
        if aim.kept(interrupted, table.runs.healthy):
            kept.add(caution[1])
            if gained > most + 1e-9:
                found, left_out, most = caution, (interrupted, table.runs.healthy), gained
            if caution == CAUTION[0]:
                break
        elif most == -inf:
            left_out = (interrupted, table.runs.healthy)
    return found, left_out


def alone(
    sweep: Sweep, number: int, runs: Runs, aim: Aim, fold: NDArray[int64]
) -> tuple[int, bool]:
    """The best choice of one stop where all other thresholds are "never" (the last one where none
    pays), and whether it kept the cap on the parts left out in turn."""
    last = len(sweep.dimensions[number].choices) - 1
    rows = [tally(runs, sweep.alone(number, v), None, fold, FOLDS) for v in range(last)]
    parts = [int((fold[: runs.healthy] == part).sum()) for part in range(FOLDS)]

    def best(without: int | None) -> int:
        allowed = aim.allowed(runs.healthy - (0 if without is None else parts[without]))
        found, most = last, 0.0
        for value, parted in enumerate(rows):
            row = parted.sum(axis=0)
            if without is not None:
                row = row - parted[without]
            if row[HEALTHY] <= allowed and aim.of(row) > most:
                found, most = value, aim.of(row)
        return found

    chosen = [best(part) for part in range(FOLDS)]
    interrupted = sum(int(rows[v][part, HEALTHY]) for part, v in enumerate(chosen) if v < last)
    return best(None), aim.kept(interrupted, runs.healthy)


class _Search:
    """One search: on all runs, or on all but those of one part."""

    def __init__(
        self,
        table: _Table,
        aim: Aim,
        fixed: frozenset[int],
        without: int | None = None,
        caution: tuple[int | None, int] = CAUTION[0],
        *,
        as_set: bool = False,
    ) -> None:
        self.table, self.aim = table, aim
        self.row = -1 if without is None else without
        lowered, self.margin = caution
        self.lowered = inf if lowered is None else lowered
        self.sizes = {n: s for n, s in enumerate(table.sizes) if n not in fixed}
        healthy = table.runs.healthy - (0 if without is None else table.healthy[without])
        self.stops = aim.allowed(healthy, chosen=not as_set)
        self.rate = aim.allowed(healthy, chosen=False)
        #: warned: as they are set, and where one is turned
        self.warns = [aim.allowed(healthy, warn=True, chosen=turned) for turned in (False, True)]

    def best(self) -> Pick:
        table = self.table
        table.row(table.now)
        if self.few:
            return min(self._all(), key=self.rank)
        never = tuple(
            size - 1 if n in self.sizes else at
            for n, (at, size) in enumerate(zip(table.now, table.sizes, strict=True))
        )
        starts = dict.fromkeys((table.now, never, self._own_best(never)))
        best = min([self._turn(start) for start in starts], key=self.rank)
        if table.sweep.replayed or self.row >= 0:  # two at a time: the last search alone
            return best
        while (turned := self._turn(self._turn_two(best))) != best:
            best = turned
        return best

    @property
    def few(self) -> bool:
        """Can all combinations be tried?"""
        most = EXHAUSTIVE_REPLAYS if self.table.sweep.replayed else EXHAUSTIVE
        return prod(self.sizes.values()) <= most

    def rank(self, pick: Pick) -> tuple[float, ...]:
        """Less is better."""
        rows, own = self.table.row(pick)
        row = rows[self.row]
        return (
            max(0, row[HEALTHY] - self.stops),
            max(0, row[WARNED] - self.warns[own.turned]),
            self._too_near(pick),
            max(0, own.lowered - self.lowered),
            -round(self.aim.of(row), 9),
            own.hidden,
            *own.changed,
            *own.order,
        )

    def _too_near(self, pick: Pick) -> float:
        """By how many healthy runs the cap is broken with each stop lower as caution demands."""
        if not self.margin:
            return 0
        lower = self.table.lower(pick, self.margin)
        if lower is None:
            return inf
        return max(0, self.table.row(lower)[0][self.row][HEALTHY] - self.rate)

    def allowed_picks(self) -> Iterator[Pick]:
        """Of what was tried, all that breaks no limit."""
        for pick, (rows, own) in list(self.table.tried.items()):
            row = rows[self.row]
            broken = row[HEALTHY] > self.stops or row[WARNED] > self.warns[own.turned]
            if not broken and not self._too_near(pick) and own.lowered <= self.lowered:
                yield pick

    def _all(self) -> Iterator[Pick]:
        for values in product(*(range(size) for size in self.sizes.values())):
            yield _with(self.table.now, dict(zip(self.sizes, values, strict=True)))

    def _own_best(self, never: Pick) -> Pick:
        """Each dimension as is best where all others do nothing."""
        chosen = {n: self._best_of(never, n)[n] for n in self.sizes}
        return _with(never, chosen)

    def _best_of(self, pick: Pick, n: int) -> Pick:
        """`pick` with the best choice of one dimension."""
        before, after = pick[:n], pick[n + 1 :]
        return min(((*before, v, *after) for v in range(self.sizes[n])), key=self.rank)

    def _turn(self, best: Pick) -> Pick:
        """One at a time, until no turn is better."""
        for _ in range(_ROUNDS):
            before = best
            for n in self.sizes:
                best = self._best_of(best, n)
            if best == before:
                break
        return best

    def _turn_two(self, best: Pick) -> Pick:
        """Two stops at a time, or a warning and the stop that waits for the same count."""
        for n, m in combinations(self.sizes, 2):
            size, other = self.sizes[n], self.sizes[m]
            stops = n in self.table.stops and m in self.table.stops
            if size * other <= _MOST_PAIRS and (stops or (m, n) in self.table.hidden):
                both = (_with(best, {n: v, m: w}) for v in range(size) for w in range(other))
                best = min((best, min(both, key=self.rank)), key=self.rank)
        return best


def _with(pick: Pick, changes: dict[int, int]) -> Pick:
    found = list(pick)
    for n, value in changes.items():
        found[n] = value
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Own:
    """What is told of a combination without looking at runs."""

    lowered: int  # stops that may come earlier than as they are set now
    hidden: int  # warnings set where the stop has come already
    turned: bool  # a warning is
    #: how many are turned, given up, and how far they are from what is set: stops, then warnings
    changed: tuple[int, ...]
    order: tuple[int, ...]


class _Table:
    """Every combination that was tried, with its scores: without each part, and of all runs."""

    def __init__(self, sweep: Sweep, runs: Runs, fold: NDArray[int64] | None) -> None:
        self.sweep, self.runs, self.fold = sweep, runs, fold
        self.tried: dict[Pick, tuple[list[list[float]], _Own]] = {}
        dimensions = sweep.dimensions
        self.healthy = [
            runs.healthy if fold is None else int((fold[: runs.healthy] == part).sum())
            for part in range(FOLDS)
        ]
        self.now = tuple(d.now for d in dimensions)
        self.sizes = tuple(len(d.choices) for d in dimensions)
        self.stops = frozenset(n for n, d in enumerate(dimensions) if d.level.stops)
        self.earlier = [
            [d.level.stops and d.earlier(v) for v in range(len(d.choices))] for d in dimensions
        ]
        self.hidden = _hidden(dimensions)
        #: stops that meet a healthy run at their lowest -> for each choice the one a value lower
        self.below = {
            n: _below(dimensions[n])
            for n in sorted(self.stops)
            if (sweep.alone(n, 0)[: runs.healthy] < NEVER).any()
        }

    def row(self, pick: Pick) -> tuple[list[list[float]], _Own]:
        known = self.tried.get(pick)
        if known is None:
            first, warned = self.sweep.first(pick), self.sweep.warned(pick)
            parts = 1 if self.fold is None else FOLDS
            rows = tally(self.runs, first, warned, self.fold, parts)
            total = rows.sum(axis=0)
            known = self.tried[pick] = ([*(total - rows).tolist(), total.tolist()], self._own(pick))
        return known

    def total(self, pick: Pick, aim: Aim) -> float:
        return aim.of(self.row(pick)[0][-1])

    def lower(self, pick: Pick, margin: int) -> Pick | None:
        """`pick` with each stop so many values lower; None where one is too low for that."""
        found = list(pick)
        for n, below in self.below.items():
            for _ in range(margin):
                at = below[found[n]]
                if at is None:
                    return None
                found[n] = at
        return tuple(found)

    def _own(self, pick: Pick) -> _Own:
        lowered, changed = 0, [0] * 6
        for n, (a, b) in enumerate(zip(pick, self.now, strict=True)):
            if a != b:
                at = 0 if n in self.stops else 3
                changed[at] += 1
                changed[at + 1] += a == self.sizes[n] - 1
                changed[at + 2] += abs(a - b)
                lowered += self.earlier[n][a]
        hidden = sum((pick[n], pick[m]) in both for (n, m), both in self.hidden.items())
        order = tuple(-n for n in pick)
        return _Own(lowered, hidden, changed[3] > 0, tuple(changed), order)


def _below(dimension: Dimension) -> list[int | None]:
    """For each choice the one with the next lower threshold and the same option; "never" stays."""
    last: dict[float | None, int] = {}
    found: list[int | None] = []
    for n, choice in enumerate(dimension.choices):
        if choice.threshold is None:
            found.append(n)
        else:
            found.append(last.get(choice.option))
            last[choice.option] = n
    return found


def _hidden(
    dimensions: Sequence[Dimension],
) -> dict[tuple[int, int], frozenset[tuple[int, int]]]:
    """Numbers of a warning and a stop that wait for the same count -> the choices of both with
    which the stop comes no later."""
    stops = {(d.signal, d.poll): n for n, d in enumerate(dimensions) if d.level.stops}
    found = {}
    for n, warn in enumerate(dimensions):
        m = stops.get((warn.signal, warn.poll))
        if warn.level.stops or m is None:
            continue
        found[n, m] = frozenset(
            (v, w)
            for v, mild in enumerate(warn.choices)
            for w, hard in enumerate(dimensions[m].choices)
            if mild.threshold is not None
            and hard.threshold is not None
            and mild.threshold >= hard.threshold
        )
    return found


def front(found: Searched, aim: Aim) -> list[Pick]:
    """The Pareto front of what was tried: no other interrupts and warns as few healthy runs and
    saves as much (by stops, and by warnings as far as they are heeded).

    From the fewest interrupted on; among equals the one that kills least work.
    """

    def gain(made: Score) -> float:
        return made.saved + aim.heeded * made.more

    ordered = sorted(
        found.tried.items(),
        key=lambda p: (p[1].healthy, p[1].warned_healthy, -gain(p[1]), p[1].spent, p[0]),
    )
    kept: list[Pick] = []
    steps: list[tuple[int, float]] = []  # warned and gained, of those kept
    for pick, one in ordered:
        own = gain(one)
        if all(warned > one.warned_healthy or most < own for warned, most in steps):
            kept.append(pick)
            steps = [s for s in steps if s[0] < one.warned_healthy or s[1] > own]
            steps.append((one.warned_healthy, own))
    return kept


def holds_between(found: Searched, aim: Aim) -> tuple[float, float] | None:
    """The factors on killed work between which the best stays the best of those allowed.

    None where it is not the best by this measure at all (it was taken for breaking the cap least).
    """
    own, low, high = found.score, 0.0, inf
    for pick in found.allowed:
        made = found.tried[pick]
        gain = made.saved - own.saved + made.worth(aim.heeded, aim.price)
        gain -= own.worth(aim.heeded, aim.price)
        price = made.spent - own.spent
        if price > 0:
            low = max(low, gain / price)
        elif price < 0:
            high = min(high, gain / price)
        elif gain > 1e-9:
            return None
    return (low, high) if low <= high else None
