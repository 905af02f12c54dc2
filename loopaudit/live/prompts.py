"""Prompts of a user, one after another: trigger words choose the scenario, one budget for all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import IO

from loopaudit.guards.preset import Preset
from loopaudit.live.agent import Conversation, Event, Outcome
from loopaudit.live.guarded import Guarded
from loopaudit.live.mock import MockModel, tools_of
from loopaudit.live.play import Ways, cost, meters
from loopaudit.live.scenario import Scenario
from loopaudit.live.scenario_file import find, triggered

#: what is played where no trigger word is said
_ELSE = "normal"


class Prompted:
    """One run of several requests; each plays the scenario that its words trigger."""

    def __init__(
        self, guards: Sequence[Preset], ways: Ways, record: IO[bytes] | None = None
    ) -> None:
        self._ways = ways
        self._clock = ways.clock()
        self._scenario = find(_ELSE)
        self._guard = Guarded(
            *guards,
            id="prompts",
            service=meters(guards),
            record=record,
            tools=ways.tools,
            mask=ways.mask,
            clock=self._clock.now,
            language=ways.language,
        )
        self._talk = Conversation(
            self._guard,
            MockModel(self._scenario, self._clock, ways.seed, ways.language),
            [],
            self._clock,
            lambda usage: cost(usage, self._scenario.price),
            Random(ways.seed),
            Outcome(),
        )

    @property
    def over(self) -> bool:
        """Whether no further prompt is taken: a spent budget, or an error."""
        return self._talk.over

    def ask(self, text: str) -> Iterator[Event]:
        """What follows from one prompt."""
        self._choose(triggered(text) or find(_ELSE))
        yield from self._talk.request(text, self._scenario.cap)

    def _choose(self, scenario: Scenario) -> None:
        self._scenario, ways = scenario, self._ways
        self._talk.model = MockModel(scenario, self._clock, ways.seed, ways.language)
        self._talk.tools = list(tools_of(scenario, self._clock, ways.seed, ways.language))

    def close(self) -> Outcome:
        """Ends the run."""
        self._talk.finish()
        return self._talk.outcome
