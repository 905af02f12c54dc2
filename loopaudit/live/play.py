"""Plays a scenario with its mock model and tools: one agent, or several side by side."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from decimal import Decimal
from typing import IO

from loopaudit.effects import ToolTable
from loopaudit.guards.preset import Preset
from loopaudit.guards.service import ServiceSession
from loopaudit.live.agent import Event, Outcome, run_agent
from loopaudit.live.clock import Clock, ScriptedClock
from loopaudit.live.guarded import Guarded
from loopaudit.live.mock import MockModel, tools_of
from loopaudit.live.scenario import Price, Scenario, spoken
from loopaudit.masks import mask
from loopaudit.model import Usage

#: tells which agent (0-based) an event is of
Watch = Callable[[int, Event], object]


@dataclass(frozen=True, slots=True)
class Ways:
    """How scenarios are played; the same for all of a comparison."""

    language: str = "en"
    seed: int = 0
    tools: ToolTable = field(default_factory=ToolTable)
    mask: Callable[[str], str] = mask
    clock: Callable[[], Clock] = ScriptedClock


def play(
    scenario: Scenario,
    guards: Sequence[Preset],
    ways: Ways,
    *,
    record: IO[bytes] | None = None,
    header: bool = True,
    watch: Watch | None = None,
) -> list[Outcome]:
    """What each agent of the scenario came to. The same arguments give the same bytes.

    Several agents take turns in the order of their clocks, under one service meter.
    """
    service = meters(guards)
    outcomes = [Outcome() for _ in range(scenario.agents)]
    agents: list[tuple[Clock, Iterator[Event], Context]] = []
    for number, outcome in enumerate(outcomes):
        clock = ways.clock()
        seed = ways.seed * 1_000_003 + number
        guard = Guarded(
            *guards,
            task_type=scenario.task_type,
            id=scenario.name if scenario.agents == 1 else f"{scenario.name}-{number + 1}",
            service=service,
            record=record,
            header=header and number == 0,
            tools=ways.tools,
            mask=ways.mask,
            clock=clock.now,
            language=ways.language,
        )
        events = run_agent(
            guard,
            MockModel(scenario, clock, seed, ways.language),
            tools_of(scenario, clock, seed, ways.language),
            [spoken(text, ways.language) or "" for text in scenario.requests],
            clock,
            cap=scenario.cap,
            price=lambda usage: cost(usage, scenario.price),
            seed=seed,
            outcome=outcome,
        )
        agents.append((clock, events, copy_context()))  # each with a run id of its own
    waiting = [(clock.now(), number) for number, (clock, _, _) in enumerate(agents)]
    while waiting:
        _, number = heapq.heappop(waiting)
        clock, events, context = agents[number]
        event = context.run(next, events, None)
        if event is not None:
            if watch is not None:
                watch(number, event)
            heapq.heappush(waiting, (clock.now(), number))
    return outcomes


def meters(guards: Sequence[Preset]) -> list[ServiceSession]:
    """A meter over all agents for each set that has rules for the whole service."""
    return [
        ServiceSession(preset)
        for preset in guards
        if any(rule.detector_class.scope == "service" for rule in preset.rules)
    ]


def cost(usage: Usage, price: Price) -> Decimal:
    """USD of one response of the mock model."""
    return (
        (usage.fresh_input or 0) * price.input
        + (usage.cache_read or 0) * price.cache_read
        + (usage.output or 0) * price.output
    ) / 1000
