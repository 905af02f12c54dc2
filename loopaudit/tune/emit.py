"""The chosen limits in the terms of an agent or framework: flags, arguments, settings.

Only plain limits have a counterpart there: steps, time, tokens, money. What an agent counts as a
step is said beside it where it differs from one model response.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import ceil

from loopaudit.errors import UsageError
from loopaudit.settings.values import closest
from loopaudit.tune.advice import Advice, Held
from loopaudit.tune.dimensions import LIMITS, USD_LIMIT
from loopaudit.tune.tune import Tuning


@dataclass(slots=True)
class Limits:
    """Per run; None where none is advised."""

    steps: int | None = None
    seconds: float | None = None
    tokens: int | None = None
    usd: float | None = None

    @property
    def any(self) -> bool:
        return any(v is not None for v in (self.steps, self.seconds, self.tokens, self.usd))


def _claude_code(limits: Limits) -> Iterator[str]:
    parts = ["claude -p"]
    if limits.steps is not None:
        parts.append(f"--max-turns {limits.steps}")
    if limits.usd is not None:
        parts.append(f"--max-budget-usd {limits.usd:g}")
    if len(parts) > 1:
        yield f"{' '.join(parts)} …"
    yield from _without("claude-code", limits, tokens=True, seconds=True)


def _langgraph(limits: Limits) -> Iterator[str]:
    if limits.steps is not None:
        # a turn of a tool-calling agent is two super-steps, model and tools; the answer is one more
        yield f'graph.invoke(inputs, {{"recursion_limit": {2 * limits.steps + 1}}})'
    if limits.seconds is not None:
        yield f"graph.step_timeout = {limits.seconds:g}  # of one step; none of a whole run"
    yield from _without("langgraph", limits, tokens=True, usd=True)


def _langchain(limits: Limits) -> Iterator[str]:
    if limits.steps is not None:
        yield f'ModelCallLimitMiddleware(run_limit={limits.steps}, exit_behavior="end")'
    yield from _without("langchain", limits, tokens=True, usd=True, seconds=True)


def _openai_agents(limits: Limits) -> Iterator[str]:
    if limits.steps is not None:
        yield f"Runner.run(agent, input, max_turns={limits.steps})"
    yield from _without("openai-agents", limits, tokens=True, usd=True, seconds=True)


def _pydantic_ai(limits: Limits) -> Iterator[str]:
    parts = []
    if limits.steps is not None:
        parts.append(f"request_limit={limits.steps}")
    if limits.tokens is not None:
        parts.append(f"total_tokens_limit={limits.tokens}")
    if parts:
        yield f"agent.run(prompt, usage_limits=UsageLimits({', '.join(parts)}))"
    yield from _without("pydantic-ai", limits, usd=True, seconds=True)


def _crewai(limits: Limits) -> Iterator[str]:
    parts = []
    if limits.steps is not None:
        parts.append(f"max_iter={limits.steps}")
    if limits.seconds is not None:
        parts.append(f"max_execution_time={ceil(limits.seconds)}")
    if parts:
        yield f"Agent(…, {', '.join(parts)})"
    yield from _without("crewai", limits, tokens=True, usd=True)


def _autogen(limits: Limits) -> Iterator[str]:
    parts = []
    if limits.tokens is not None:
        parts.append(f"TokenUsageTermination(max_total_token={limits.tokens})")
    if limits.seconds is not None:
        parts.append(f"TimeoutTermination(timeout_seconds={limits.seconds:g})")
    if parts:
        yield f"termination_condition = {' | '.join(parts)}"
    if limits.steps is not None:
        yield f"AssistantAgent(…, max_tool_iterations={limits.steps})"
    yield from _without("autogen", limits, usd=True)


def _smolagents(limits: Limits) -> Iterator[str]:
    if limits.steps is not None:
        yield f"agent.run(task, max_steps={limits.steps})"
    yield from _without("smolagents", limits, tokens=True, usd=True, seconds=True)


def _vercel_ai(limits: Limits) -> Iterator[str]:
    if limits.steps is not None:
        yield f"generateText({{ …, stopWhen: stepCountIs({limits.steps}) }})"
    yield from _without("vercel-ai", limits, tokens=True, usd=True, seconds=True)


def _gemini_cli(limits: Limits) -> Iterator[str]:
    if limits.steps is not None:
        yield json.dumps({"model": {"maxSessionTurns": limits.steps}}) + "  in settings.json"
    yield from _without("gemini-cli", limits, tokens=True, usd=True, seconds=True)


def _openhands(limits: Limits) -> Iterator[str]:
    if limits.steps is not None:
        yield f"max_iterations = {limits.steps}  # [core] of config.toml"
    if limits.usd is not None:
        yield f"max_budget_per_task = {limits.usd:g}"
    yield from _without("openhands", limits, tokens=True, seconds=True)


AGENTS: dict[str, Callable[[Limits], Iterator[str]]] = {
    "autogen": _autogen,
    "claude-code": _claude_code,
    "crewai": _crewai,
    "gemini-cli": _gemini_cli,
    "langchain": _langchain,
    "langgraph": _langgraph,
    "openai-agents": _openai_agents,
    "openhands": _openhands,
    "pydantic-ai": _pydantic_ai,
    "smolagents": _smolagents,
    "vercel-ai": _vercel_ai,
}


def known(agent: str) -> str:
    """The agent's name. Raises `UsageError`."""
    if agent not in AGENTS:
        raise UsageError(f"--emit {agent}: unknown", closest(agent, AGENTS, ", ".join(AGENTS)))
    return agent


def limits_of(advice: Advice) -> Limits:
    """The best value of each limit by itself: an agent has few of them, and any may be missing."""
    found = Limits()
    for trade in advice.trades:
        value = trade.alone.threshold
        if value is None or trade.kept:
            continue
        match trade.dimension.signal:
            case "steps":
                found.steps = int(value)
            case "wall_time":
                found.seconds = float(value)
            case "token_budget":
                found.tokens = int(value)
            case name if name == USD_LIMIT:
                found.usd = float(value)
    return found


def lines(tuning: Tuning, agent: str) -> Iterator[str]:
    """Comment lines with the reason, and the limits, one task type after the other."""
    tell = AGENTS[known(agent)]
    said = False
    for advice in tuning.advice:
        if advice.guard != LIMITS:
            continue
        said = True
        yield f"# {_plain(advice.task_type)}: {_why(advice)}"
        if advice.together is None:
            continue
        limits = limits_of(advice)
        if limits.any:
            yield from tell(limits)
    if not said:
        yield "# only plain limits have a counterpart in an agent: add --guard limits"


def _why(advice: Advice) -> str:
    if advice.together is None:
        return f"no advice, {advice.refused}"
    if not limits_of(advice).any:
        return "no limit pays here"
    runs = advice.healthy + advice.stuck
    text = f"each limit chosen by itself on half of {runs:,} runs"
    return (
        text if advice.together.held is not Held.REFUTED else f"{text}; the other half refutes them"
    )


def _without(agent: str, limits: Limits, **kinds: bool) -> Iterator[str]:
    """Says which of the advised limits the agent has no setting for."""
    advised = [(kind, value) for kind in kinds if (value := getattr(limits, kind)) is not None]
    for kind, value in advised:
        yield f"# {agent} has no limit of {kind} for a run; advised: {value:g}"


def _plain(text: str) -> str:
    """A name from a log as a comment of one line."""
    return " ".join(text.split())
