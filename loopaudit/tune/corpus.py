"""The runs of one task type as arrays: what each spent step by step, and how it stands.

Healthy runs come first, then the stuck ones. Amounts are in one unit for the whole type.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from loopaudit.replay.crossing import Crossings
from loopaudit.replay.results import UNKNOWN
from loopaudit.replay.standing import Judged, KnownBy, Standing

if TYPE_CHECKING:
    from numpy import float64, int32, int64
    from numpy.typing import NDArray

    from loopaudit.replay.audit import AuditedRun

#: first step saved by a stop that never comes
NEVER = 2**31 - 1
#: share of a type's runs that must tell usage (or prices) for amounts to be tokens (or money)
MOST = 0.9
_PICO = 10**12


class Unit(StrEnum):
    USD = "usd"
    TOKENS = "tokens"
    CALLS = "calls"


@dataclass(slots=True)
class Sample:
    """One run as it is measured. `spent` holds one amount a step, `counted` what each guard set
    counted on it."""

    id: str
    path: str
    session: str  # with its sub-agents
    project: str | None
    started: float | None
    task_type: str
    standing: Standing
    by: KnownBy
    steps: int
    loop_end: int  # last redundant step of its loops, -1 where it has none
    loops: int
    calls: Sequence[int]
    tokens: Sequence[int] | None  # None: the log has no usage
    pico: Sequence[int] | None  # picodollars; None: not all of its tokens have a price
    counted: dict[str, Crossings]
    at: Sequence[float] | None = None  # when each step was made; NaN where the log does not tell


#: stands for a run whose type nothing tells
NO_TYPE = "(no type)"


def sample(item: AuditedRun, stands: Judged, root: str) -> Sample:
    """`root`: id of the session that the run belongs to."""
    found, priced, run = item.found, item.priced, item.found.run
    table = found.columns
    has_usage = any(total != UNKNOWN for total in table.total)
    unpriced = any(t > 0 and c == UNKNOWN for t, c in zip(table.total, priced.cost, strict=True))
    return Sample(
        id=run.id,
        path=run.path,
        session=root,
        project=run.project,
        started=run.started,
        task_type=run.task_type or NO_TYPE,
        standing=stands.standing,
        by=stands.by,
        steps=len(table),
        loop_end=max((f.last.step for f in stands.loops), default=-1),
        loops=len(stands.loops),
        calls=table.calls,
        tokens=table.total if has_usage else None,
        pico=priced.cost if has_usage and not unpriced else None,
        counted=found.crossings,
        at=table.at,
    )


def unit_of(samples: Sequence[Sample]) -> Unit:
    """Money where nearly all runs have prices, else tokens where they have usage, else calls."""
    least = MOST * len(samples)
    if sum(s.pico is not None for s in samples) >= least:
        return Unit.USD
    if sum(s.tokens is not None for s in samples) >= least:
        return Unit.TOKENS
    return Unit.CALLS


def tells(one: Sample, unit: Unit) -> bool:
    """Does the log of this run tell amounts in `unit`?"""
    if unit is Unit.USD:
        return one.pico is not None
    return unit is Unit.CALLS or one.tokens is not None


@dataclass(slots=True)
class Runs:
    """Runs of one type, healthy ones first. All arrays have one entry a run except `left`, in which
    `left[offset[r] + s]` is what run `r` spent from step `s` on."""

    samples: list[Sample]
    healthy: int
    left: NDArray[float64]
    offset: NDArray[int64]
    steps: NDArray[int32]
    total: NDArray[float64]
    loop_end: NDArray[int32]

    def __len__(self) -> int:
        return len(self.samples)

    @property
    def stuck(self) -> int:
        return len(self.samples) - self.healthy

    @property
    def with_loop(self) -> int:
        """Stuck runs in which a loop was found."""
        return int((self.loop_end[self.healthy :] >= 0).sum())

    def part(self, chosen: NDArray[int64]) -> Runs:
        """Some of the runs, by rising numbers; amounts are shared."""
        return Runs(
            [self.samples[i] for i in chosen],
            int((chosen < self.healthy).sum()),
            self.left,
            self.offset[chosen],
            self.steps[chosen],
            self.total[chosen],
            self.loop_end[chosen],
        )


def runs(samples: Iterable[Sample], unit: Unit) -> Runs:
    """Arrays of the runs that stand as healthy or stuck."""
    import numpy

    ordered = [s for s in samples if s.standing is Standing.HEALTHY]
    healthy = len(ordered)
    ordered += [s for s in samples if s.standing is Standing.STUCK]
    steps = numpy.array([s.steps for s in ordered], dtype=numpy.int32)
    offset = numpy.zeros(len(ordered) + 1, dtype=numpy.int64)
    numpy.cumsum(steps.astype(numpy.int64) + 1, out=offset[1:])
    left = _left(ordered, steps, unit)
    return Runs(
        ordered,
        healthy,
        left,
        offset[:-1],
        steps,
        left[offset[:-1]] if len(ordered) else numpy.zeros(0),
        numpy.array([s.loop_end for s in ordered], dtype=numpy.int32),
    )


def _left(ordered: Sequence[Sample], steps: NDArray[int32], unit: Unit) -> NDArray[float64]:
    """What each run spends from each of its steps on, and 0 after the last."""
    import numpy

    parts = [_amounts(one, unit) for one in ordered]
    kinds = {part.typecode if isinstance(part, array) else "" for part in parts}
    if len(kinds) == 1 and "" not in kinds:
        whole = numpy.frombuffer(b"".join(parts), dtype=kinds.pop()).astype(numpy.int64)
    else:
        whole = numpy.array([n for part in parts for n in part], dtype=numpy.int64)
    amounts = numpy.where(whole == UNKNOWN, 0, whole)
    # whole numbers: a sum over all runs may wrap around, its differences within one run are right
    before = numpy.concatenate([numpy.zeros(1, dtype=numpy.int64), amounts.cumsum()])
    ends = steps.astype(numpy.int64).cumsum()
    run = numpy.repeat(numpy.arange(len(ordered)), steps + 1)
    found: NDArray[float64] = numpy.asarray(
        before[ends[run]] - before[numpy.arange(len(run)) - run], dtype=numpy.float64
    )
    return found / _PICO if unit is Unit.USD else found


def _amounts(one: Sample, unit: Unit) -> Any:
    if unit is Unit.USD:
        return one.pico
    return one.calls if unit is Unit.CALLS else one.tokens
