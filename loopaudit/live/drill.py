"""A fire drill: scenarios against one's own guards; what runs away, what is stopped wrongly."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from loopaudit.guards.preset import Preset
from loopaudit.live.agent import Outcome
from loopaudit.live.guarded import Action
from loopaudit.live.play import Ways, play
from loopaudit.live.scenario import Scenario

RAN_AWAY = "ran-away"  # nothing stopped what would go on for ever
KILLED = "healthy-stopped"  # a run that would have ended well was stopped


@dataclass(frozen=True, slots=True)
class Drilled:
    """One scenario. `fault`: "ran-away", "healthy-stopped" or None."""

    scenario: Scenario
    how: str
    steps: int
    tokens: int
    first: Action | None  # first intervention
    stop: Action | None
    fault: str | None


def drill(scenarios: Iterable[Scenario], guards: Sequence[Preset], ways: Ways) -> Iterator[Drilled]:
    """Plays each scenario under all `guards` at once."""
    for scenario in scenarios:
        outcomes = play(scenario, guards, ways)
        stopped = next((o.stopped for o in outcomes if o.stopped is not None), None)
        first = next((o.actions[0] for o in outcomes if o.actions), None)
        yield Drilled(
            scenario,
            next((o.how for o in outcomes if o.stopped is not None), outcomes[0].how),
            sum(outcome.steps for outcome in outcomes),
            sum(outcome.tokens for outcome in outcomes),
            first,
            stopped,
            _fault(scenario, outcomes),
        )


def _fault(scenario: Scenario, outcomes: Sequence[Outcome]) -> str | None:
    if scenario.ends == "well" and any(outcome.stopped is not None for outcome in outcomes):
        return KILLED
    if scenario.ends == "runaway" and any(outcome.how == "limit" for outcome in outcomes):
        bound = any(outcome.steps < scenario.cap for outcome in outcomes)
        return None if bound else RAN_AWAY
    return None
