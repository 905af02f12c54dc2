"""The chosen limits in the terms of an agent or framework: flags, arguments, settings.

Only plain limits have a counterpart there: steps, time, tokens, money. What an agent counts as a
step is said beside it where it differs from one model response.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import ceil

from loopaudit.errors import UsageError
from loopaudit.settings.values import closest
from loopaudit.tune.advice import Advice
from loopaudit.tune.dimensions import LIMITS, USD_LIMIT
from loopaudit.tune.tune import Tuning


@dataclass(slots=True)
class Limits:
    """Per run; None where none is advised."""

    steps: int | None = None
    seconds: float | None = None
    tokens: int | None = None
    usd: float | None = None

    def of(self, kind: str) -> float | None:
        found: float | None = getattr(self, kind)
        return found

    @property
    def any(self) -> bool:
        return any(self.of(kind) is not None for kind in _KINDS)


@dataclass(frozen=True, slots=True)
class Agent:
    """How limits are set there.

    `line` holds `{}` where the settings of `sets` go, in their order, parted by `between`; a
    setting is left out where its limit is not advised. Kinds that `sets` does not name have no
    limit for a run there. `note` says what is counted otherwise than here.
    """

    line: str
    sets: dict[str, Callable[[Limits], str]]
    between: str = ", "
    note: str = ""
    source: str = ""  # product, version, where it is written

    def tell(self, name: str, limits: Limits) -> Iterator[str]:
        parts = [tell(limits) for kind, tell in self.sets.items() if limits.of(kind) is not None]
        if parts:
            yield self.line.replace("{}", self.between.join(parts))
            if self.note:
                yield f"# {self.note}"
        for kind, unit in _KINDS.items():
            if kind not in self.sets and (value := limits.of(kind)) is not None:
                yield f"# {name} has no limit of {unit} for a run; advised: {value:,.10g}"


_KINDS = {"steps": "steps", "seconds": "seconds", "tokens": "tokens", "usd": "dollars"}

#: each looked up in the product's own documentation or source; those marked "run" were tried with
#: the installed package as well (tests/tune/test_emit.py imports what is there)
AGENTS: dict[str, Agent] = {
    "autogen": Agent(
        "{}",
        {
            "steps": lambda x: f"AssistantAgent(…, max_tool_iterations={x.steps})",
            "tokens": lambda x: f"TokenUsageTermination(max_total_token={x.tokens})",
            "seconds": lambda x: f"TimeoutTermination(timeout_seconds={x.seconds:g})",
        },
        between="\n",
        note="join conditions with | as termination_condition of the team",
        source="autogen-agentchat 0.7.5: agents.AssistantAgent, conditions; run",
    ),
    "claude-code": Agent(
        "claude -p {} …",
        {
            "steps": lambda x: f"--max-turns {x.steps}",
            "usd": lambda x: f"--max-budget-usd {x.usd:g}",
        },
        between=" ",
        note="in print mode (-p) only",
        source="Claude Code, CLI reference: --max-turns, --max-budget-usd",
    ),
    "codex": Agent("", {}, source="Codex CLI: asked for, not there (openai/codex #33294, 2026-07)"),
    "crewai": Agent(
        "Agent(…, {})",
        {
            "steps": lambda x: f"max_iter={x.steps}",
            "seconds": lambda x: f"max_execution_time={ceil(x.seconds or 0)}",
        },
        note="one more response follows: the answer is forced",
        source="CrewAI, docs.crewai.com/concepts/agents: max_iter, max_execution_time (seconds)",
    ),
    "gemini-cli": Agent(
        '{"model": {{}}}',
        {"steps": lambda x: f'"maxSessionTurns": {x.steps}'},
        note="in .gemini/settings.json; counts the whole session, not one request",
        source="Gemini CLI, docs/reference/configuration.md; core/client.ts: count > limit",
    ),
    "langchain": Agent(
        "create_agent(…, middleware=[ModelCallLimitMiddleware({})])",
        {"steps": lambda x: f"run_limit={x.steps}"},
        source="langchain 1.5.2: agents.middleware.ModelCallLimitMiddleware; run",
    ),
    "langgraph": Agent(
        "graph.invoke(inputs, {{}})",
        {"steps": lambda x: f'"recursion_limit": {2 * (x.steps or 0)}'},
        note="a response and its tools are two super-steps of an agent with tools",
        source="langgraph 1.2.24: RunnableConfig; step_timeout is that of one super-step; run",
    ),
    "openai-agents": Agent(
        "Runner.run(agent, input, {})",
        {"steps": lambda x: f"max_turns={x.steps}"},
        source="openai-agents 0.24.0: Runner.run; run",
    ),
    "opencode": Agent(
        '{"agent": {"build": {{}}}}',
        {"steps": lambda x: f'"steps": {x.steps}'},
        note="in opencode.json (maxSteps before 2026); the last of them answers in text",
        source="opencode, opencode.ai/docs/agents; anomalyco/opencode #4062",
    ),
    "openhands": Agent(
        "Conversation(agent=agent, {})",
        {
            "steps": lambda x: f"max_iteration_per_run={x.steps}",
            "usd": lambda x: f"max_budget_per_run={x.usd:g}",
        },
        note="before V1: max_iterations and max_budget_per_task in [core] of config.toml",
        source="OpenHands SDK V1: Conversation; V0: docs.openhands.dev, configuration options",
    ),
    "pydantic-ai": Agent(
        "agent.run(prompt, usage_limits=UsageLimits({}))",
        {
            "steps": lambda x: f"request_limit={x.steps}",
            "tokens": lambda x: f"total_tokens_limit={x.tokens}",
            "usd": lambda x: f"cost_limit=Decimal('{x.usd:g}')",
        },
        source="pydantic-ai 2.68.0: usage.UsageLimits; run",
    ),
    "smolagents": Agent(
        "agent.run(task, {})",
        {"steps": lambda x: f"max_steps={x.steps}"},
        note="one more response follows: the final answer",
        source="smolagents 1.26.0: MultiStepAgent.run; run",
    ),
    "vercel-ai": Agent(
        "generateText({ …, {} })",
        {
            "steps": lambda x: f"stopWhen: stepCountIs({x.steps})",
            "seconds": lambda x: f"timeout: {{ totalMs: {round(1000 * (x.seconds or 0))} }}",
        },
        note="from AI SDK 7 on stepCountIs is named isStepCount; timeout needs 6 or later",
        source="AI SDK 5 to 7, ai-sdk.dev: step-count-is, is-step-count; ai 6.0: call settings",
    ),
}


def known(agent: str) -> str:
    """The agent's name. Raises `UsageError`."""
    if agent not in AGENTS:
        raise UsageError(f"--emit {agent}: unknown", closest(agent, AGENTS, ", ".join(AGENTS)))
    return agent


def limits_of(advice: Advice) -> Limits:
    """The best value of each limit by itself, where it held: an agent has few of them, and any may
    be missing."""
    found = Limits()
    for trade in advice.trades:
        if trade.alone is None or trade.alone.threshold is None or trade.kept:
            continue
        value = trade.alone.threshold
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
    told = AGENTS[known(agent)]
    said = False
    for advice in tuning.advice:
        if advice.guard != LIMITS:
            continue
        said = True
        yield f"# {_plain(advice.task_type)}: {_why(advice)}"
        if advice.together is not None:
            for line in told.tell(agent, limits_of(advice)):
                yield from line.split("\n")
    if not said:
        yield "# only plain limits have a counterpart in an agent: add --guard limits"


def _why(advice: Advice) -> str:
    if advice.together is None:
        return f"no advice, {advice.refused}"
    if not limits_of(advice).any:
        return "no limit pays here, or none held on the other half of the runs"
    runs = advice.healthy + advice.stuck
    return f"each limit chosen by itself on half of {runs:,} runs, confirmed on the other half"


def _plain(text: str) -> str:
    """A name from a log as a comment of one line."""
    return " ".join(text.split())
