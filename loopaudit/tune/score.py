"""What a guard does to a set of runs, once it is known where it stops each of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from loopaudit.tune.corpus import NEVER, Runs

if TYPE_CHECKING:
    from numpy import float64, int32
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Score:
    """Amounts are in the unit of the runs.

    `saved` is what stuck runs spent from the stop on: an upper bound, since what would have come
    instead is not known. `spent` is what interrupted healthy runs had spent: to be spent again.
    """

    healthy: int  # healthy runs that were interrupted
    stuck: int  # stuck runs that were stopped
    caught: int  # of these, runs stopped before the end of their loop
    saved: float
    spent: float

    @property
    def stopped(self) -> int:
        return self.healthy + self.stuck

    def net(self, factor: float) -> float:
        """Saved, less the work that false stops killed, `factor` times."""
        return self.saved - factor * self.spent


def score(runs: Runs, first: NDArray[int32]) -> Score:
    """`first`: for each run the first step that a stop saves, `NEVER` where there is none."""
    import numpy

    stopped = numpy.flatnonzero(first < NEVER)
    at = first[stopped]
    rest = runs.left[runs.offset[stopped] + numpy.minimum(at, runs.steps[stopped])]
    healthy = int(numpy.searchsorted(stopped, runs.healthy))
    return Score(
        healthy=healthy,
        stuck=len(stopped) - healthy,
        caught=int((at[healthy:] <= runs.loop_end[stopped[healthy:]]).sum()),
        saved=float(rest[healthy:].sum()),
        spent=float((runs.total[stopped[:healthy]] - rest[:healthy]).sum()),
    )


def effects(runs: Runs, first: NDArray[int32], factor: float) -> NDArray[float64]:
    """The share of each run in the net saving."""
    import numpy

    rest = runs.left[runs.offset + numpy.minimum(first, runs.steps)]
    found = rest.copy()
    split = runs.healthy
    hit = first[:split] < NEVER
    found[:split] = numpy.where(hit, -factor * (runs.total[:split] - rest[:split]), 0.0)
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
