"""Runs with a known outcome, and the step from which each rule would have stopped each of them.

The runs go the way of the product: found, opened and read as `report` does it, then replayed
through guard sessions. Beside the guard sets stand rules that anybody could write.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from loopaudit import task_types
from loopaudit.findings import Trip
from loopaudit.guards import presets
from loopaudit.guards.preset import Preset
from loopaudit.guards.session import GuardSession
from loopaudit.ingest.results import Keep
from loopaudit.ingest.sources import discover
from loopaudit.model import Run
from loopaudit.replay.replay import replay_run
from loopaudit.replay.worker import Plan, ingest

DEFAULT = "loopaudit"
#: guard sets with limits per task type, once more with the type inferred from the tools: these
#: logs name types of their own, for which no set has limits
INFERRED = " (type inferred)"
REPEATS = range(2, 11)
LENGTHS = (3, 5, 8, 10, 15, 20, 30)

Stop = int | None  # first step that would not have been made; None: never stopped


@dataclass(frozen=True, slots=True)
class Judged:
    """One run and what the rules would have done to it."""

    id: str
    success: bool
    steps: int
    calls: tuple[int, ...]  # per step
    stops: dict[str, Stop]  # by rule; a stop at or after the end changes nothing and is None


@dataclass(slots=True)
class Set:
    """One set of runs, with the time that the default guards took."""

    name: str
    runs: list[Judged]
    seconds: float

    @property
    def calls(self) -> int:
        return sum(sum(run.calls) for run in self.runs)


def guard_sets() -> list[Preset]:
    """All shipped guard sets that can stop a run by its calls alone."""
    return [presets.load(name) for name in presets.names() if not name.startswith("retries")]


def read(folder: Path, only: str = "*") -> Iterator[Set]:
    """The sets of a folder (`*.jsonl.gz`), one after the other, judged by every rule."""
    guards = guard_sets()
    plan = Plan(
        guards=tuple(guards),
        default=presets.load(DEFAULT),
        keep=Keep(vectors=any(guard.needs_text for guard in guards)),
    )
    for path in sorted(folder.glob(f"{only}.jsonl.gz")):
        runs = ingest(discover([str(path)]).sources, plan).runs
        began = time.process_time()
        for run in runs:
            first_stop(run, plan.default, run.task_type)
        seconds = time.process_time() - began
        name = path.name.partition(".")[0]
        yield Set(name, [judged(run, guards) for run in runs], seconds)


def judged(run: Run, guards: list[Preset]) -> Judged:
    stops: dict[str, Stop] = {}
    for guard in guards:
        stops[guard.name] = first_stop(run, guard, run.task_type)
    written, run.task_type = run.task_type, None
    inferred = task_types.infer(run)
    run.task_type = written
    for guard in guards:
        if any("steps" in own.rules for own in guard.task_types.values()):
            stops[guard.name + INFERRED] = first_stop(run, guard, inferred)
    for name, rule in RULES.items():
        stops[name] = rule(run)
    steps = len(run.steps)
    return Judged(
        run.id,
        run.outcome == "success",
        steps,
        tuple(len(step.calls) for step in run.steps),
        {name: at if at is not None and at < steps else None for name, at in stops.items()},
    )


def first_stop(run: Run, guard: Preset, task_type: str | None) -> Stop:
    (trips,) = replay_run(run, [GuardSession(guard, task_type=task_type, missing=run.missing)])
    return stopped(trips)


def stopped(trips: list[Trip]) -> Stop:
    return next((trip.saves_from for trip in trips if trip.level.stops), None)


# -- rules that anybody could write ----------------------------------------------------------------


def equal_calls(times: int, *, in_a_row: bool) -> Callable[[Run], Stop]:
    """Stop once a call with equal arguments and an equal result was made so often."""

    def rule(run: Run) -> Stop:
        seen: dict[tuple[int, int], int] = {}
        last, row = None, 0
        for step in run.steps:
            for call in step.calls:
                if call.result is None:
                    continue
                key = (call.key, call.result)
                row = row + 1 if key == last else 1
                last = key
                seen[key] = seen.get(key, 0) + 1
                if (row if in_a_row else seen[key]) >= times:
                    return step.index + 1
        return None

    return rule


def length(steps: int) -> Callable[[Run], Stop]:
    """Stop whatever takes longer."""
    return lambda run: steps


RULES: dict[str, Callable[[Run], Stop]] = {
    **{f"{k} equal calls": equal_calls(k, in_a_row=False) for k in REPEATS},
    **{f"{k} equal calls in a row": equal_calls(k, in_a_row=True) for k in REPEATS},
    **{f"length over {k}": length(k) for k in LENGTHS},
}
