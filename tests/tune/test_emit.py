"""Limits in the terms of each agent; where its package is installed, the names exist in it."""

from __future__ import annotations

import inspect
import json
import re
from importlib import import_module

import pytest

from loopaudit.tune.emit import AGENTS, Limits, known

ALL = Limits(steps=12, seconds=90.5, tokens=50_000, usd=0.5)

#: what each prints for all four limits, without the comments
TOLD = {
    "autogen": [
        "AssistantAgent(…, max_tool_iterations=12)",
        "TokenUsageTermination(max_total_token=50000)",
        "TimeoutTermination(timeout_seconds=90.5)",
    ],
    "claude-code": ["claude -p --max-turns 12 --max-budget-usd 0.5 …"],
    "codex": [],
    "crewai": ["Agent(…, max_iter=12, max_execution_time=91)"],
    "gemini-cli": ['{"model": {"maxSessionTurns": 12}}'],
    "langchain": ["create_agent(…, middleware=[ModelCallLimitMiddleware(run_limit=12)])"],
    "langgraph": ['graph.invoke(inputs, {"recursion_limit": 24})'],
    "openai-agents": ["Runner.run(agent, input, max_turns=12)"],
    "opencode": ['{"agent": {"build": {"steps": 12}}}'],
    "openhands": ["Conversation(agent=agent, max_iteration_per_run=12, max_budget_per_run=0.5)"],
    "pydantic-ai": [
        "agent.run(prompt, usage_limits=UsageLimits(request_limit=12, total_tokens_limit=50000,"
        " cost_limit=Decimal('0.5')))"
    ],
    "smolagents": ["agent.run(task, max_steps=12)"],
    "vercel-ai": ["generateText({ …, stopWhen: stepCountIs(12), timeout: { totalMs: 90500 } })"],
}
#: kinds that an agent has no limit for
WITHOUT = {
    "autogen": {"dollars"},
    "claude-code": {"seconds", "tokens"},
    "codex": {"steps", "seconds", "tokens", "dollars"},
    "crewai": {"tokens", "dollars"},
    "openhands": {"seconds", "tokens"},
    "pydantic-ai": {"seconds"},
    "vercel-ai": {"tokens", "dollars"},
}


@pytest.mark.parametrize("agent", AGENTS)
def test_all_limits_of_each_agent(agent: str) -> None:
    lines = "\n".join(AGENTS[agent].tell(agent, ALL)).split("\n")
    assert [line for line in lines if not line.startswith("#")] == TOLD[agent]
    lacking = {m[1] for line in lines if (m := re.search(r"has no limit of (\w+)", line))}
    assert lacking == WITHOUT.get(agent, {"seconds", "tokens", "dollars"})


@pytest.mark.parametrize("agent", AGENTS)
def test_nothing_advised_is_nothing_said(agent: str) -> None:
    assert list(AGENTS[agent].tell(agent, Limits())) == []


@pytest.mark.parametrize("agent", AGENTS)
def test_one_limit_alone_is_well_formed(agent: str) -> None:
    for line in AGENTS[agent].tell(agent, Limits(steps=3)):
        assert "None" not in line
        assert "{}" not in line
        if line.startswith('{"'):
            assert json.loads(line)


def test_each_names_its_source() -> None:
    assert all(agent.source for agent in AGENTS.values())
    assert [known(name) for name in AGENTS] == sorted(AGENTS)


@pytest.mark.parametrize(
    ("module", "owner", "names"),
    [
        ("agents", "Runner.run", {"max_turns"}),
        ("pydantic_ai.usage", "UsageLimits", {"request_limit", "total_tokens_limit", "cost_limit"}),
        ("pydantic_ai", "Agent.run", {"usage_limits"}),
        ("langchain.agents.middleware", "ModelCallLimitMiddleware", {"run_limit"}),
        ("langgraph.pregel", "Pregel.invoke", {"config"}),
        ("smolagents", "MultiStepAgent.run", {"max_steps"}),
        ("autogen_agentchat.agents", "AssistantAgent", {"max_tool_iterations"}),
        ("autogen_agentchat.conditions", "TokenUsageTermination", {"max_total_token"}),
        ("autogen_agentchat.conditions", "TimeoutTermination", {"timeout_seconds"}),
    ],
)
def test_the_names_exist_where_the_package_is_installed(
    module: str, owner: str, names: set[str]
) -> None:
    try:
        found = import_module(module)
    except ImportError:
        pytest.skip(f"{module} is not installed")
    for part in owner.split("."):
        found = getattr(found, part)
    assert names <= set(inspect.signature(found).parameters)  # type: ignore[arg-type]
