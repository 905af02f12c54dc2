"""Tells a live run as it goes: calls, answers, what guards say, retries and waits, the budget."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import TextIO

from loopaudit.findings import Level
from loopaudit.guards.preset import Preset
from loopaudit.keys import canonical
from loopaudit.live.agent import (
    Acted,
    Called,
    Ended,
    Event,
    Failed,
    Outcome,
    Requested,
    Responded,
)
from loopaudit.render.figures import count, duration, full, money
from loopaudit.render.screen import Screen, put
from loopaudit.render.text import cut, inert

_ACTION = {
    Level.WARN: "warns",
    Level.REPAIR: "repairs",
    Level.CONVERGE: "asks to converge",
    Level.ALERT: "alerts",
    Level.WITHDRAW: "withdraws a tool",
    Level.STOP: "stops",
    Level.STOP_ALL: "stops all",
}
_HOW = {
    "answered": "answered",
    "stopped": "stopped by a guard",
    "limit": "cut at the agent's own bound",
    "error": "given up after an error",
}
_LONGEST = 400  # characters of a text or an answer


class Narrator:
    """Writes events to `stream`; each line names its agent where there are several."""

    def __init__(
        self, stream: TextIO, screen: Screen, guards: Sequence[Preset], *, agents: int = 1
    ) -> None:
        self._stream = stream
        self._screen = screen
        self._agents = agents
        self._limit = budget_of(guards)
        self._used: dict[int, int] = {}

    def tell(self, agent: int, event: Event) -> None:
        put(self._lines(agent, event), self._stream)

    def _lines(self, agent: int, event: Event) -> Iterator[str]:
        name = f"agent {agent + 1}: " if self._agents > 1 else ""
        screen = self._screen
        if isinstance(event, Requested):
            yield from screen.row(_short(event.text), "bold", label=f"{name}user: ")
        elif isinstance(event, Failed):
            wait = "given up" if event.wait is None else f"retry in {_seconds(event.wait)}"
            tries = f"attempt {event.number} of {event.limit + 1}"
            text = f"{tries} failed: {_short(event.error.message)}; {wait}"
            yield from screen.row(text, "yellow", label=f"{name}step {event.step + 1}: ")
        elif isinstance(event, Responded):
            yield from self._response(agent, name, event)
        elif isinstance(event, Called):
            args = inert(canonical(event.call.args).decode("utf-8", "replace"))
            call = f"{inert(event.call.tool)} {cut(args, 60)}"
            if event.answer is None:
                yield from screen.row(f"{call} refused", "red", indent=2)
            else:
                mark = "failed: " if event.answer.error else ""
                answer = f"{call} -> {mark}{_short(event.answer.text)}"
                yield from screen.row(answer, indent=2)
        elif isinstance(event, Acted):
            trip = event.action.trip
            style = "red" if trip.level.stops else "yellow"
            what = f"{event.action.guard} {_ACTION[trip.level]}: {trip.detector} {trip.count:,g}"
            limit = f" (limit {trip.threshold:,g})"
            yield from screen.row(what + limit, style, indent=2)
            yield from screen.row(_short(event.action.message), "dim", indent=4)
        elif isinstance(event, Ended):
            yield from screen.row(
                f"{_HOW[event.how]}: {_short(event.text or '')}", "bold", label=name
            )

    def _response(self, agent: int, name: str, event: Responded) -> Iterator[str]:
        usage = event.reply.usage
        tokens = None if usage is None else usage.total
        spent = "tokens unknown" if tokens is None else f"{full(tokens)} tokens"
        cost = "" if event.cost is None else f", {money(event.cost)}"
        said = _short(event.reply.text or "") or count(len(event.reply.calls), "call")
        yield from self._screen.row(
            f"{said} [{spent}{cost}{self._budget(agent, tokens)}]",
            label=f"{name}step {event.step + 1}: ",
        )

    def _budget(self, agent: int, tokens: int | None) -> str:
        """Used of the token budget, where a guard set has one."""
        if self._limit is None or tokens is None:
            return ""
        used = self._used[agent] = self._used.get(agent, 0) + tokens
        part = f"{100 * used / self._limit:.0f} %"
        return f"; budget {full(used)} of {full(self._limit)}, {part}"


def budget_of(guards: Sequence[Preset]) -> int | None:
    """The smallest token budget among guard sets."""
    limits = [
        number
        for preset in guards
        for rule in preset.rules
        if rule.signal == "token_budget"
        for level, number in rule.thresholds.levels
        if level.stops
    ]
    return int(min(limits)) if limits else None


def closing(outcomes: Sequence[Outcome]) -> str:
    """What a run came to, in one line."""
    steps = sum(outcome.steps for outcome in outcomes)
    tokens = sum(outcome.tokens for outcome in outcomes)
    usd = sum((outcome.usd for outcome in outcomes), Decimal(0))
    unpriced = sum(outcome.unpriced for outcome in outcomes)
    seconds = max(outcome.seconds for outcome in outcomes)
    text = f"{count(steps, 'step')}, {full(tokens)} tokens, {money(usd)}, {_seconds(seconds)}"
    return text + (f" ({count(unpriced, 'response')} without a price)" if unpriced else "")


def _short(text: object) -> str:
    if not isinstance(text, str):
        text = canonical(text).decode("utf-8", "replace")
    return cut(inert(text[: 4 * _LONGEST]), _LONGEST)


def _seconds(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 2 else duration(seconds)
