"""Exact intervals of rates and bootstrap intervals of sums. Seeds are fixed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numpy import float64, int64
    from numpy.typing import NDArray

CONFIDENCE = 0.95
SEED = 20261201
RESAMPLES = 1_000
_HALVINGS = 60  # of [0, 1]: far below what is printed


def clopper_pearson(hits: int, of: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """The exact interval of a rate (Clopper and Pearson 1934); (0, 1) of nothing."""
    if of <= 0:
        return 0.0, 1.0
    tail = (1 - confidence) / 2
    low = 0.0 if hits <= 0 else _solve(hits, of, tail)
    # at most `hits` successes is at least of - hits failures, at the mirrored rate
    high = 1.0 if hits >= of else 1 - _solve(of - hits, of, tail)
    return low, high


def _solve(hits: int, of: int, tail: float) -> float:
    """The rate at which `hits` or more of `of` have the probability `tail`."""
    import numpy

    logs = numpy.concatenate(([0.0], numpy.cumsum(numpy.log(numpy.arange(1, of + 1)))))
    wanted = numpy.arange(hits, of + 1)
    ways = logs[of] - logs[wanted] - logs[of - wanted]
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        rate = (low + high) / 2
        if rate <= 0.0 or rate >= 1.0:
            break
        terms = ways + wanted * math.log(rate) + (of - wanted) * math.log1p(-rate)
        top = terms.max()
        chance = math.exp(top) * float(numpy.exp(terms - top).sum())
        low, high = (rate, high) if chance < tail else (low, rate)
    return (low + high) / 2


def runs_to_prove(cap: float, confidence: float = CONFIDENCE) -> int:
    """The least number of healthy runs, none of them interrupted, whose upper bound is the cap."""
    if not 0 < cap < 1:
        return 0
    return math.ceil(math.log((1 - confidence) / 2) / math.log1p(-cap))


def bootstrap_sum(
    values: NDArray[float64], groups: NDArray[int64], confidence: float = CONFIDENCE
) -> tuple[float, float]:
    """Percentile interval of the sum of `values`, whole groups drawn with replacement.

    `groups` numbers the group of each value: runs of one session stand or fall together.
    """
    import numpy

    if not len(values):
        return 0.0, 0.0
    sums = numpy.bincount(groups, weights=values)
    sums = sums[numpy.bincount(groups) > 0]
    random = numpy.random.Generator(numpy.random.PCG64(SEED))
    count = len(sums)
    # all groups without effect are alike: only how many of the others are drawn matters
    active = sums[sums != 0]
    if not len(active):
        return 0.0, 0.0
    shares = numpy.full(len(active) + 1, 1 / count)
    shares[-1] = max(0.0, 1 - len(active) / count)
    drawn = numpy.empty(RESAMPLES)
    for number in range(RESAMPLES):
        drawn[number] = random.multinomial(count, shares)[:-1] @ active
    tail = (1 - confidence) / 2
    low, high = numpy.quantile(drawn, [tail, 1 - tail])
    return float(low), float(high)
