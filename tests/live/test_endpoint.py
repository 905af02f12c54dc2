"""The same loop against a real server on loopback: protocol, faults, the key."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from chat_server import (
    Answer,
    Server,
    calls,
    cut,
    failing_inside,
    fails,
    hangs,
    malformed,
    says,
    serving,
)

from loopaudit.errors import UsageError
from loopaudit.live.agent import Ended, Event, Failed, Outcome, Responded, run_agent
from loopaudit.live.clock import ScriptedClock
from loopaudit.live.guarded import Guarded
from loopaudit.live.model import Offered
from loopaudit.live.tools import Answered

pytest.importorskip("openai", reason="needs the extra `live`")
from loopaudit.live.endpoint import Endpoint

SECRET = "sk-test-very-secret-value"


class Weather:
    name = "get_weather"
    offer = Offered(
        "get_weather", "Weather", {"type": "object", "properties": {"city": {"type": "string"}}}
    )

    def __init__(self) -> None:
        self.asked: list[object] = []

    def run(self, args: object) -> Answered:
        self.asked.append(args)
        return Answered("sunny")


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)


def talk(
    *answers: Answer, guard: str = "loopaudit", timeout: float = 5.0
) -> tuple[Server, list[Event], Outcome, bytes]:
    record = io.BytesIO()
    clock = ScriptedClock()  # waits between attempts take no time
    outcome = Outcome()
    with serving(*answers) as server:
        model = Endpoint("m", server.url, timeout)
        guarded = Guarded(guard, record=record, clock=clock.now)
        events = list(
            run_agent(guarded, model, [Weather()], ["Weather?"], clock, cap=30, outcome=outcome)
        )
    return server, events, outcome, record.getvalue()


def waits(events: list[Event]) -> list[float | None]:
    return [event.wait for event in events if isinstance(event, Failed)]


def test_a_tool_call_and_an_answer() -> None:
    server, events, outcome, _ = talk(
        calls("get_weather", '{"city": "Oslo"}'), says("It is sunny.")
    )
    assert outcome.how == "answered"
    assert outcome.steps == 2
    first, second = (event.reply for event in events if isinstance(event, Responded))
    assert [(c.id, c.tool, c.args) for c in first.calls] == [
        ("t1", "get_weather", {"city": "Oslo"})
    ]
    assert second.text == "It is sunny."
    usage = second.usage
    assert usage is not None  # 100 sent, of which 40 from the cache
    assert (usage.fresh_input, usage.cache_read, usage.output, usage.reasoning) == (60, 40, 20, 5)
    assert outcome.tokens == 240
    sent = server.requests[1]["messages"]
    assert [m["role"] for m in sent] == ["user", "assistant", "tool"]
    assert sent[1]["tool_calls"][0]["function"] == {
        "name": "get_weather",
        "arguments": '{"city":"Oslo"}',
    }
    assert sent[2]["tool_call_id"] == "t1"
    assert server.requests[0]["tools"][0]["function"]["name"] == "get_weather"
    assert server.requests[0]["stream_options"] == {"include_usage": True}


def test_a_model_that_loops_is_stopped_and_told() -> None:
    server, _events, outcome, _ = talk(calls("get_weather", '{"city": "Oslo"}'), guard="fuses:demo")
    assert outcome.stopped is not None
    assert outcome.stopped.trip.detector == "generic_repeat"
    assert outcome.steps == 9
    assert len(server.requests) == 9
    reminders = [m for m in server.requests[-1]["messages"] if m["role"] == "user"][1:]
    assert len(reminders) == 3
    assert all("get_weather" in m["content"] for m in reminders)


def test_429_with_retry_after_then_success() -> None:
    busy = fails(429, "rate_limit_exceeded", "Rate limit reached for requests", Retry_After="7")
    server, events, outcome, _ = talk(busy, says("done"))
    assert waits(events) == [7.0]  # longer than the policy's own
    assert outcome.how == "answered"
    assert len(server.requests) == 2  # the SDK itself has not tried again


def test_529_is_retried_by_the_policy() -> None:
    _, events, outcome, _ = talk(fails(529, "overloaded_error", "Overloaded"), says("done"))
    [wait] = waits(events)
    assert wait is not None
    assert 0.375 <= wait <= 0.625
    assert outcome.how == "answered"


def test_insufficient_quota_is_final() -> None:
    spent = fails(429, "insufficient_quota", "You exceeded your current quota")
    server, events, outcome, _ = talk(spent)
    assert waits(events) == [None]
    assert outcome.how == "error"
    assert len(server.requests) == 1
    assert [type(e) for e in events][-1] is Ended


def test_a_bad_request_is_final() -> None:
    server, events, _outcome, _ = talk(fails(400, "invalid_request_error", "messages: bad role"))
    assert waits(events) == [None]
    assert len(server.requests) == 1


@pytest.mark.parametrize("broken", [cut, malformed, failing_inside])
def test_a_broken_stream_is_retried_and_counts_nothing_twice(broken: Answer) -> None:
    server, events, outcome, _ = talk(broken, says("done"))
    assert len(waits(events)) == 1
    assert waits(events)[0] is not None
    assert outcome.how == "answered"
    assert outcome.steps == 1
    assert outcome.tokens == 120
    assert len(server.requests) == 2


def test_a_server_that_hangs_times_out_and_is_retried() -> None:
    _, events, outcome, _ = talk(hangs, says("done"), timeout=0.4)
    [failed] = [event for event in events if isinstance(event, Failed)]
    assert failed.error.code == "timeout"
    assert outcome.how == "answered"


def test_no_server_at_all() -> None:
    clock = ScriptedClock()
    guard = Guarded("loopaudit", clock=clock.now)
    model = Endpoint("m", "http://127.0.0.1:9/v1", 2.0)
    outcome = Outcome()
    events = list(run_agent(guard, model, [], ["hello"], clock, outcome=outcome))
    assert outcome.how == "error"
    assert len(waits(events)) == 4  # one attempt and three retries


def test_the_key_is_sent_and_never_recorded_or_said() -> None:
    echo = fails(401, "invalid_api_key", f"Incorrect API key provided: {SECRET}")
    server, events, _, record = talk(echo)
    assert server.keys == [f"Bearer {SECRET}"]
    assert SECRET.encode() not in record
    assert SECRET not in repr(events)
    assert all(SECRET not in e.error.message for e in events if isinstance(e, Failed))


def test_without_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(UsageError, match="OPENAI_API_KEY is not set"):
        Endpoint("m")


def test_the_command(tmp_path: Path) -> None:
    record = tmp_path / "run.jsonl"
    with serving(calls("get_weather", '{"city": "北京"}')) as server:
        done = subprocess.run(
            [
                *(sys.executable, "-m", "loopaudit", "live", "--scenario", "dead-loop"),
                *("--model", "openai:m", "--base-url", server.url),
                *("--guard", "fuses:demo", "--record", str(record)),
            ],
            capture_output=True,
            text=True,
            timeout=60,
        )
    assert done.returncode == 0, done.stderr
    assert "fuses:demo stops: generic_repeat 8" in done.stdout
    assert SECRET not in done.stdout + done.stderr + record.read_text(encoding="utf-8")
    lines = [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]
    assert sum(line.get("type") == "response" for line in lines) == 9
