"""Finds the combination of thresholds that saves most: by trying all, or by steps from known ones.

Thresholds interact (a stop of one rule hides the others), so they are searched together. Where
there are too many combinations for that, one or two thresholds are turned at a time until no such
turn is better, from three starting points: what is set now, nothing, and each rule's own best.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import combinations, product
from math import floor, inf, prod

from loopaudit.tune.corpus import Runs
from loopaudit.tune.score import Score, score
from loopaudit.tune.statistics import clopper_pearson
from loopaudit.tune.sweep import Pick, Sweep

#: certainty of the upper bound that must keep the cap
CAUTION = 0.8
#: up to so many combinations all are tried
EXHAUSTIVE = 5_000
#: and so many where each is a replay
EXHAUSTIVE_REPLAYS = 200
_ROUNDS = 40  # of turning; it ends long before
_MOST_PAIRS = 400  # values of two dimensions turned at once

_Rank = Callable[[Pick], tuple[float, ...]]


@dataclass(frozen=True, slots=True)
class Aim:
    """What is sought: most saved, less `factor` times the work killed, while no more than `cap` of
    the healthy runs are interrupted.

    The best of many combinations looks better than it is, so the cap must hold with some certainty:
    the one-sided upper bound (`CAUTION`) of the rate must not lie above it. Where even 0 of so many
    runs do not prove that, none may be interrupted. What is set now was not chosen on these runs:
    for it the rate itself counts.
    """

    factor: float = 1.0
    cap: float = 0.02

    def allowed(self, healthy: int, *, chosen: bool = True) -> int:
        """How many of so many healthy runs may be interrupted, by what is chosen or set now."""
        found = floor(self.cap * healthy + 1e-9)
        if not chosen:
            return found
        while found > 0 and clopper_pearson(found, healthy, 2 * CAUTION - 1)[1] > self.cap:
            found -= 1
        return found


@dataclass(slots=True)
class Searched:
    """All combinations that were tried, and the best one."""

    best: Pick
    tried: dict[Pick, Score] = field(default_factory=dict)
    everything: bool = False  # no combination was left out

    @property
    def score(self) -> Score:
        return self.tried[self.best]


def search(sweep: Sweep, runs: Runs, aim: Aim, fixed: frozenset[int] = frozenset()) -> Searched:
    """The best combination on `runs`. Dimensions in `fixed` stay as they are set now.

    Of combinations that save equally much the one that changes least is taken: fewest thresholds,
    fewest of them given up altogether, each as near as can be to what is set now.
    """
    dimensions = sweep.dimensions
    now = tuple(d.now for d in dimensions)
    last = tuple(len(d.choices) - 1 for d in dimensions)
    free = [n for n in range(len(dimensions)) if n not in fixed]
    found = Searched(now)
    allowed, allowed_now = aim.allowed(runs.healthy), aim.allowed(runs.healthy, chosen=False)

    def tried(pick: Pick) -> Score:
        known = found.tried.get(pick)
        if known is None:
            known = found.tried[pick] = score(runs, sweep.first(pick))
        return known

    def rank(pick: Pick) -> tuple[float, ...]:
        made = tried(pick)
        turned = [(a, b, end) for a, b, end in zip(pick, now, last, strict=True) if a != b]
        given_up = sum(a == end for a, _, end in turned)
        far = sum(abs(a - b) for a, b, _ in turned)
        over = max(0, made.healthy - (allowed if turned else allowed_now))
        net = -round(made.net(aim.factor), 9)
        return (over, net, len(turned), given_up, far, *(-n for n in pick))

    sizes = [len(dimensions[n].choices) for n in free]
    most = EXHAUSTIVE_REPLAYS if sweep.replayed else EXHAUSTIVE
    if prod(sizes) <= most:
        found.everything = True
        found.best = min(_all(now, free, sizes), key=rank)
        tried(now)
        return found
    never = tuple(d.now if n in fixed else len(d.choices) - 1 for n, d in enumerate(dimensions))
    own = _own_best(never, free, sizes, rank)
    starts = dict.fromkeys((now, never, own))
    ends = [_turn(start, free, sizes, rank, pairs=not sweep.replayed) for start in starts]
    found.best = min(ends, key=rank)
    return found


def _all(now: Pick, free: list[int], sizes: list[int]) -> Iterator[Pick]:
    for values in product(*(range(size) for size in sizes)):
        yield _with(now, dict(zip(free, values, strict=True)))


def _with(pick: Pick, changes: dict[int, int]) -> Pick:
    return tuple(changes.get(n, value) for n, value in enumerate(pick))


def _own_best(never: Pick, free: list[int], sizes: list[int], rank: _Rank) -> Pick:
    """Each dimension as is best where all others do nothing."""
    chosen = {
        n: min(range(size), key=lambda v, n=n: rank(_with(never, {n: v})))  # type: ignore[misc]
        for n, size in zip(free, sizes, strict=True)
    }
    return _with(never, chosen)


def _turn(start: Pick, free: list[int], sizes: list[int], rank: _Rank, *, pairs: bool) -> Pick:
    best = start
    for _ in range(_ROUNDS):
        before = best
        for n, size in zip(free, sizes, strict=True):
            best = min((_with(best, {n: v}) for v in range(size)), key=rank)
        if best == before and pairs:
            for (n, size), (m, other) in combinations(list(zip(free, sizes, strict=True)), 2):
                if size * other <= _MOST_PAIRS:
                    turned = (_with(best, {n: v, m: w}) for v in range(size) for w in range(other))
                    best = min((best, min(turned, key=rank)), key=rank)
        if best == before:
            break
    return best


def front(found: Searched) -> list[Pick]:
    """The Pareto front of what was tried: no other interrupts fewer healthy runs and saves more.

    From the fewest interrupted on; among equals the one that kills least work.
    """
    ordered = sorted(
        found.tried.items(), key=lambda p: (p[1].healthy, -p[1].saved, p[1].spent, p[0])
    )
    kept: list[Pick] = []
    best = -inf
    for pick, made in ordered:
        if made.saved > best:
            best = made.saved
            kept.append(pick)
    return kept


def holds_between(found: Searched, runs: Runs, aim: Aim) -> tuple[float, float] | None:
    """The factors on killed work between which the best stays the best of those tried.

    None where it is not the best by this measure at all (it was taken for breaking the cap least).
    """
    own, low, high = found.score, 0.0, inf
    allowed = aim.allowed(runs.healthy)
    if own.healthy > aim.allowed(runs.healthy, chosen=False):
        return None
    for pick, made in found.tried.items():
        if made.healthy > allowed and pick != found.best:
            continue
        gain, price = made.saved - own.saved, made.spent - own.spent
        if price > 0:
            low = max(low, gain / price)
        elif price < 0:
            high = min(high, gain / price)
        elif gain > 1e-9:
            return None
    return (low, high) if low <= high else None
