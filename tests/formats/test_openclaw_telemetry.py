"""OpenClaw telemetry: the history sent again counts once; tool events alone."""

from coding_files import kinds, run_of, runs_of, statuses, tokens

KEY = "agent:main:subagent:3c1d9f70-8a25-4e6b-b7d1-0f5a2c4e6d88"


def event(kind, ts, key=KEY, **more):
    return {"type": kind, "sessionKey": key, "agentId": "main", "ts": ts, **more}


def message(at, *content, used=None, **more):
    found = {"role": "assistant", "content": list(content), "model": "m", "timestamp": at, **more}
    if used:
        found["usage"] = dict(
            zip(("input", "output", "cacheRead", "cacheWrite"), used, strict=True)
        )
    return found


ASK = {"role": "user", "content": [{"type": "text", "text": "Go."}], "timestamp": 1000_000_000_100}
CALL = message(
    1_000_000_000_200,
    {"type": "toolCall", "id": "toolu_1", "name": "exec", "arguments": {"command": "ls"}},
    used=(1, 2, 3, 4),
)
ANSWER = {
    "role": "toolResult",
    "toolCallId": "toolu_1",
    "toolName": "exec",
    "content": "a",
    "isError": False,
    "timestamp": 1_000_000_000_300,
}
LAST = message(1_000_000_000_400, {"type": "text", "text": "done"}, used=(5, 6, 7, 8))
MORE = message(1_000_000_000_900, {"type": "text", "text": "again"}, used=(10, 10, 10, 10))


def test_the_history_of_every_end_counts_once():
    """Two turns; the second `agent.end` sends the first turn again: 10 + 26 + 40 tokens."""
    again = {"role": "user", "content": "More.", "timestamp": 1_000_000_000_800}
    run = run_of(
        "openclaw_telemetry",
        [
            event("agent.start", 1_000_000_000_000, prompt="Go."),
            event("agent.start", 1_000_000_000_001, prompt="Go."),
            event("agent.end", 1_000_000_000_500, messages=[ASK, CALL, ANSWER, LAST], success=True),
            event("agent.start", 1_000_000_000_700, prompt="More."),
            event("agent.end", 1_000_000_001_000, messages=[ASK, CALL, ANSWER, LAST, again, MORE]),
        ],
    )
    assert len(run.steps) == 3
    assert sum(step.usage.total for step in run.steps) == 10 + 26 + 40
    assert statuses(run) == ["ok"]
    assert kinds(run) == ["user", "user"]


def test_tool_events_that_the_end_tells_again_are_left_out():
    reader, runs = runs_of(
        "openclaw_telemetry",
        [
            event("tool.start", 1, toolName="exec", params={"command": "ls"}),
            event("tool.end", 2, toolName="exec", success=True, durationMs=5),
            event("agent.end", 3, messages=[ASK, CALL, ANSWER, LAST]),
        ],
    )
    assert statuses(runs[KEY]) == ["ok"]
    assert reader.ignored == {"tool event told again by agent.end": 2}
    assert tokens(runs[KEY])["output"] == 8


def test_without_an_end_calls_are_told_by_tool_events_alone():
    reader, runs = runs_of(
        "openclaw_telemetry",
        [
            event("tool.start", 1_000_000_000_000, toolName="spawn", params={"task": "a"}),
            event("tool.start", 1_000_000_000_001, toolName="spawn", params={"task": "b"}),
            event("tool.end", 1_000_000_000_400, toolName="spawn", success=True, durationMs=300),
            event("tool.end", 1_000_000_000_500, toolName="spawn", success=False, error="no slot"),
            event("tool.start", 1_000_000_001_000, toolName="exec", params={"command": "ls"}),
        ],
    )
    run = runs[KEY]
    assert [len(step.calls) for step in run.steps] == [2, 1]
    assert statuses(run) == ["ok", "error", "unanswered"]
    assert run.calls[0].result is None
    assert reader.missing >= {"usage"}


def test_results_without_words_are_missing():
    reader, _ = runs_of(
        "openclaw_telemetry",
        [
            event("tool.start", 1_000_000_000_000, toolName="exec", params={}),
            event("tool.end", 1_000_000_000_400, toolName="exec", success=True, durationMs=1),
        ],
    )
    assert "results" in reader.missing


def test_usage_events_are_responses():
    run = run_of(
        "openclaw_telemetry",
        [event("llm.usage", 1, model="m", inputTokens=10, outputTokens=2, cacheTokens=5)],
    )
    assert tokens(run) == {"fresh_input": 10, "cache_read": 5, "output": 2}


def test_prompts_of_the_harness_are_reminders():
    run = run_of(
        "openclaw_telemetry",
        [event("agent.start", 1, prompt="[Inter-session message] sourceSession=x isUser=false")],
    )
    assert kinds(run) == ["reminder"]
