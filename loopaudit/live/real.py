"""A real model at the user messages and mock tools of a scenario, in real time, at list prices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import IO

from loopaudit.guards.preset import Preset
from loopaudit.live.agent import Event, Outcome, run_agent
from loopaudit.live.clock import RealClock
from loopaudit.live.guarded import Guarded
from loopaudit.live.mock import tools_of
from loopaudit.live.model import Model
from loopaudit.live.play import Ways, meters
from loopaudit.live.scenario import Scenario, spoken
from loopaudit.model import Usage
from loopaudit.money import PriceBook, usd


@dataclass(slots=True)
class Real:
    """A run under way: iterate `events`; `outcome` is complete after the last one."""

    events: Iterator[Event]
    outcome: Outcome


def run_real(
    model: Model,
    scenario: Scenario,
    guards: Sequence[Preset],
    ways: Ways,
    book: PriceBook,
    prompt: str | None = None,
    record: IO[bytes] | None = None,
) -> Real:
    """Starts a run; `prompt` stands for the scenario's own user messages."""
    clock = RealClock()
    outcome = Outcome()

    def price(usage: Usage) -> Decimal | None:
        picodollars = book.cost(usage, model.name, clock.now())
        return None if picodollars is None else usd(picodollars)

    guard = Guarded(
        *guards,
        task_type=scenario.task_type,
        service=meters(guards),
        record=record,
        tools=ways.tools,
        mask=ways.mask,
        clock=clock.now,
        language=ways.language,
    )
    texts = [spoken(text, ways.language) or "" for text in scenario.requests]
    events = run_agent(
        guard,
        model,
        tools_of(scenario, clock, ways.seed, ways.language),
        texts if prompt is None else [prompt],
        clock,
        cap=scenario.cap,
        price=price,
        seed=ways.seed,
        outcome=outcome,
    )
    return Real(events, outcome)
