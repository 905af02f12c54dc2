"""Each scenario without guard and under each guard set, beside what the replay had predicted.

The prediction is made from the unguarded recording alone: at least what lies behind the first stop
(warnings ignored), at most what lies behind the first intervention (obeyed at once).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from loopaudit.findings import Level, Trip
from loopaudit.guards.preset import Preset
from loopaudit.guards.session import GuardSession
from loopaudit.live.agent import Outcome
from loopaudit.live.play import Ways, meters, play
from loopaudit.live.scenario import Scenario
from loopaudit.model import Run
from loopaudit.replay.replay import replay_run, replay_service


@dataclass(slots=True)
class Sum:
    """What the agents of one scenario used together."""

    steps: int = 0
    tokens: int = 0
    usd: Decimal = Decimal(0)
    seconds: float = 0.0  # of the longest


@dataclass(slots=True)
class UnderGuard:
    """One scenario under one guard set. Savings are tokens."""

    guard: str
    sum: Sum
    how: str
    by: str | None  # signal of the verdict that ended it
    step: int | None  # 0-based; of the first intervention
    saved: int = 0
    least: int = 0  # predicted: warnings ignored
    most: int = 0  # predicted: obeyed at once
    note: str = ""  # why `saved` lies outside

    @property
    def within(self) -> bool:
        return self.least <= self.saved <= self.most


@dataclass(slots=True)
class Compared:
    scenario: Scenario
    bare: Sum
    how: str
    guarded: list[UnderGuard] = field(default_factory=list)


def compare(
    scenarios: Iterable[Scenario], guards: Sequence[Preset], ways: Ways
) -> Iterator[Compared]:
    """One row a scenario, as each is done."""
    for scenario in scenarios:
        bare = play(scenario, (), ways)
        row = Compared(scenario, _sum(bare), bare[0].how)
        for guard in guards:
            row.guarded.append(_under(scenario, guard, bare, row.bare, ways))
        yield row


def _under(
    scenario: Scenario, guard: Preset, bare: Sequence[Outcome], alone: Sum, ways: Ways
) -> UnderGuard:
    outcomes = play(scenario, (guard,), ways)
    used = _sum(outcomes)
    ended = next((outcome for outcome in outcomes if outcome.stopped is not None), outcomes[0])
    first = [o.actions[0].trip.step for o in outcomes if o.actions]
    result = UnderGuard(
        guard=guard.name,
        sum=used,
        how=ended.how,
        by=ended.stopped.trip.detector if ended.stopped is not None else None,
        step=min(first, default=None),
        saved=alone.tokens - used.tokens,
    )
    result.least, result.most = predicted([o.run for o in bare if o.run], guard, scenario.task_type)
    if not result.within:
        result.note = _why(result, guard, outcomes)
    return result


def predicted(runs: Sequence[Run], guard: Preset, task_type: str | None) -> tuple[int, int]:
    """Tokens that `guard` would have saved on unguarded recordings: at least, at most."""
    service: dict[str, list[Trip]] = {}
    for meter in meters((guard,)):
        for verdict in replay_service(((run.id, run.steps) for run in runs), meter):
            service.setdefault(verdict.run, []).append(verdict.trip)
    least = most = 0
    for run in runs:
        session = GuardSession(guard, task_type=task_type, missing=run.missing)
        trips = [*replay_run(run, [session])[0], *service.get(run.id, [])]
        stops = [trip.saves_from for trip in trips if trip.level.stops]
        least += _behind(run, min(stops, default=None))
        most += _behind(run, min((trip.saves_from for trip in trips), default=None))
    return least, most


def _behind(run: Run, step: int | None) -> int:
    if step is None:
        return 0
    usages = (one.usage for one in run.steps[step:])
    return sum(usage.total or 0 for usage in usages if usage is not None)


def _sum(outcomes: Sequence[Outcome]) -> Sum:
    return Sum(
        sum(outcome.steps for outcome in outcomes),
        sum(outcome.tokens for outcome in outcomes),
        sum((outcome.usd for outcome in outcomes), Decimal(0)),
        max(outcome.seconds for outcome in outcomes),
    )


def _why(result: UnderGuard, guard: Preset, outcomes: Sequence[Outcome]) -> str:
    """Why the truth lies outside the prediction."""
    bound = guard.limits.get("max_steps_per_request")
    if result.saved > result.most and result.how == "limit" and bound is not None:
        return f"the agent's own bound of {bound} steps a request ended it, which no replay judges"
    if result.saved > result.most:
        return "the model gave up earlier than the intervention alone would have saved"
    if any(action.trip.level is Level.WITHDRAW for o in outcomes for action in o.actions):
        return "calls of a withdrawn tool were refused, with other answers than recorded"
    if result.how == "answered":
        return "the model heard the guard, and its way out took more than the rest of the loop"
    return "under guard the run went another way than recorded"
