"""The README's examples of guards on a running agent, run as they stand."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from chat_server import USAGE, Handler, serving

from loopaudit import Guarded

README = Path(__file__).resolve().parents[2] / "README.md"


def example(name: str) -> dict[str, Any]:
    """The names that an example of the README defines."""
    text = README.read_text(encoding="utf-8")
    [code] = re.findall(rf"<!-- example: {name} -->\n```python\n(.*?)```", text, re.DOTALL)
    scope: dict[str, Any] = {}
    exec(compile(code, f"README.md, example {name}", "exec"), scope)
    return scope


def reply(text: str | None, *calls: SimpleNamespace) -> SimpleNamespace:
    return SimpleNamespace(text=text, calls=list(calls), tokens=(100, 10))


def test_the_loop_stops_a_model_that_repeats_itself() -> None:
    asked: list[list[dict[str, Any]]] = []

    def ask(messages: list[dict[str, Any]]) -> SimpleNamespace:
        asked.append(list(messages))
        call = SimpleNamespace(id=f"t{len(asked)}", name="weather", arguments={"city": "Rome"})
        return reply(None, call)

    ran: list[str] = []
    tools = {"weather": lambda city: ran.append(city) or "14 C"}
    text = example("loop")["answer"]("What is the weather?", ask, tools)
    assert "same call same result" in text
    assert len(asked) == 3
    assert ran == ["Rome"] * 3
    assert asked[2][-1]["role"] == "user"  # the reminder
    assert "weather" in asked[2][-1]["content"]


def test_the_loop_lets_a_model_answer() -> None:
    replies = [
        reply(None, SimpleNamespace(id="a", name="weather", arguments={"city": "Rome"})),
        reply(None, SimpleNamespace(id="b", name="weather", arguments={"city": "Oslo"})),
        reply("Rome is warmer."),
    ]
    tools = {"weather": lambda city: {"Rome": "14 C", "Oslo": "3 C"}[city]}
    text = example("loop")["answer"]("Which is warmer?", lambda _: replies.pop(0), tools)
    assert text == "Rome is warmer."


def always(name: str, arguments: str) -> Any:
    def answer(handler: Handler) -> None:
        number = len(handler.server.requests)
        function = {"name": name, "arguments": arguments}
        call = {"id": f"t{number}", "type": "function", "function": function}
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
        choice = {"index": 0, "finish_reason": "tool_calls", "message": message}
        body = {"id": "c", "object": "chat.completion", "created": 1, "model": "m"}
        handler.whole({**body, "choices": [choice], "usage": USAGE})

    return answer


def test_the_agents_sdk_is_stopped_by_its_hooks(monkeypatch: pytest.MonkeyPatch) -> None:
    agents = pytest.importorskip("agents", reason="needs openai-agents")
    from openai import AsyncOpenAI

    monkeypatch.setenv("OPENAI_API_KEY", "any")
    agents.set_tracing_disabled(True)
    scope = example("openai-agents")

    def get_weather(city: str) -> str:
        """Weather of a city."""
        return "sunny"

    async def main(url: str) -> tuple[str, Guarded]:
        client = AsyncOpenAI(base_url=url, max_retries=0)
        model = agents.OpenAIChatCompletionsModel(model="m", openai_client=client)
        tool = agents.function_tool(get_weather)
        agent = agents.Agent(name="a", tools=[tool], model=model)
        with Guarded("loopaudit") as guard:
            guard.user("weather?")
            with pytest.raises(scope["Stopped"]) as stopped:
                await agents.Runner.run(agent, "weather?", hooks=scope["Guards"](guard))
        return str(stopped.value), guard

    with serving(always("get_weather", json.dumps({"city": "Oslo"}))) as server:
        text, guard = asyncio.run(main(server.url))
    assert "same call same result" in text
    assert len(server.requests) == 3  # warned at the second, stopped at the third
    assert [message["role"] for message in server.requests[2]["messages"]] == [
        *("user", "assistant", "tool", "assistant", "tool"),
        "user",  # the reminder
    ]
    assert [call.size for call in guard.run.calls[:2]] == [5, 5]
    assert guard.run.steps[0].usage is not None
    assert guard.run.steps[0].usage.total == 120
