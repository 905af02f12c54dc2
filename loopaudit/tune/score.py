"""What a guard does to a set of runs, once it is known where it stops each of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from loopaudit.tune.corpus import NEVER, Runs

if TYPE_CHECKING:
    from numpy import float64, int32, int64
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Score:
    """Amounts are in the unit of the runs.

    `saved` is what stuck runs spent from the stop on: an upper bound, since what would have come
    instead is not known. `spent` is what interrupted healthy runs had spent: to be spent again.
    A warning counts where it comes before the stop: `more` is what stuck runs spent between the
    two (to their end where no stop came), `told` one mean step of each healthy run that was warned.
    """

    healthy: int  # healthy runs that were interrupted
    stuck: int  # stuck runs that were stopped
    caught: int  # of these, runs stopped before the end of their loop
    saved: float
    spent: float
    warned_healthy: int = 0
    warned_stuck: int = 0
    warned_caught: int = 0  # of these, runs warned before the end of their loop
    more: float = 0.0
    told: float = 0.0

    @property
    def stopped(self) -> int:
        return self.healthy + self.stuck

    @property
    def warned(self) -> int:
        return self.warned_healthy + self.warned_stuck

    def net(self, factor: float) -> float:
        """Saved, less the work that false stops killed, `factor` times."""
        return self.saved - factor * self.spent

    def worth(self, heeded: float, price: float) -> float:
        """What warnings save if that share of them is heeded, less `price` times the told."""
        return heeded * self.more - price * self.told


def score(runs: Runs, first: NDArray[int32], warned: NDArray[int32] | None = None) -> Score:
    """`first`: for each run the first step that a stop saves, `NEVER` where there is none;
    `warned`: the first one that a warning would."""
    return from_row(tally(runs, first, warned)[0])


def tally(
    runs: Runs,
    first: NDArray[int32],
    warned: NDArray[int32] | None = None,
    fold: NDArray[int64] | None = None,
    folds: int = 1,
) -> NDArray[float64]:
    """The scores of each fold as rows: the fields of `Score` in order. `fold`: number by run."""
    import numpy

    found = numpy.zeros((folds, len(_FIELDS)))

    def put(column: int, which: NDArray[int64], weights: NDArray[float64] | None = None) -> None:
        if fold is None:
            found[0, column] = len(which) if weights is None else weights.sum()
        else:
            found[:, column] = numpy.bincount(fold[which], weights, folds)

    split = runs.healthy
    stopped = numpy.flatnonzero(first < NEVER)
    rest = _left(runs, first, stopped)
    cut = int(numpy.searchsorted(stopped, split))
    good, bad = stopped[:cut], stopped[cut:]
    put(0, good)
    put(1, bad)
    put(2, bad[first[bad] <= runs.loop_end[bad]])
    put(3, bad, rest[cut:])
    put(4, good, runs.total[good] - rest[:cut])
    if warned is not None:
        told = numpy.flatnonzero(warned < first)
        cut = int(numpy.searchsorted(told, split))
        good, bad = told[:cut], told[cut:]
        put(5, good)
        put(6, bad)
        put(7, bad[warned[bad] <= runs.loop_end[bad]])
        put(8, bad, _left(runs, warned, bad) - _left(runs, first, bad))
        put(9, good, runs.total[good] / numpy.maximum(runs.steps[good], 1))
    return found


_FIELDS = tuple(Score.__dataclass_fields__)


def from_row(row: Iterable[float]) -> Score:
    """One row of `tally`."""
    kinds = (int, int, int, float, float, int, int, int, float, float)
    return Score(*(kind(value) for kind, value in zip(kinds, row, strict=True)))


def _left(runs: Runs, first: NDArray[int32], which: NDArray[int64]) -> NDArray[float64]:
    """What these runs spend from the step `first` on; nothing where it never comes."""
    import numpy

    found: NDArray[float64] = runs.left[
        runs.offset[which] + numpy.minimum(first[which], runs.steps[which])
    ]
    return found


def effects(
    runs: Runs,
    first: NDArray[int32],
    factor: float,
    warned: NDArray[int32] | None = None,
    heeded: float = 0.0,
    price: float = 0.0,
) -> NDArray[float64]:
    """The share of each run in the net saving, and in the worth of warnings if given."""
    import numpy

    every = numpy.arange(len(runs))
    rest = _left(runs, first, every)
    split = runs.healthy
    hit = first[:split] < NEVER
    found = rest.copy()
    found[:split] = numpy.where(hit, -factor * (runs.total[:split] - rest[:split]), 0.0)
    if warned is not None:
        told = warned < first
        step = runs.total[:split] / numpy.maximum(runs.steps[:split], 1)
        found[:split] -= numpy.where(told[:split], price * step, 0.0)
        more = _left(runs, warned, every) - rest
        found[split:] += numpy.where(told[split:], heeded * more[split:], 0.0)
    return found


def by_length(runs: Runs, first: NDArray[int32]) -> float | None:
    """The share of stuck runs that a stop by length alone would have met.

    At the step of each stop it is the share of stuck ones among all runs still going there; the
    mean over all stops. A rule that is no better than this only finds long runs.
    """
    import numpy

    stops = first[first < NEVER]
    if not len(stops):
        return None
    lengths = numpy.sort(runs.steps)
    stuck = numpy.sort(runs.steps[runs.healthy :])
    going = len(lengths) - numpy.searchsorted(lengths, stops, "left")
    stuck_going = len(stuck) - numpy.searchsorted(stuck, stops, "left")
    return float((stuck_going / numpy.maximum(going, 1)).mean())
