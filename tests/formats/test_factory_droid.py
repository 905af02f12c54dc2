"""Factory Droid: stored sessions with their settings, streams, totals spread."""

import json

from coding_files import attempts, ingest, kinds, run_of, runs_of, statuses, tokens, write_lines

from loopaudit.formats.base import Sample
from loopaudit.formats.coding import claude_code, factory_droid
from loopaudit.model import UsageMark

HEAD = {"type": "session_start", "id": "8e4b6a90-2c1d-4f7e-9a35-b0c8d2e4f617", "cwd": "/w"}


def message(number, role, *content):
    return {
        "type": "message",
        "id": f"m{number}",
        "parentId": f"m{number - 1}",
        "timestamp": f"2026-01-09T10:00:{number:02}Z",
        "message": {"role": role, "content": list(content)},
    }


def call(key, tool="Execute", **given):
    return {"type": "tool_use", "id": key, "name": tool, "input": given}


def result(key, content, **more):
    return {"type": "tool_result", "tool_use_id": key, "content": content, **more}


def text(words):
    return {"type": "text", "text": words}


RECORDS = [
    HEAD,
    message(1, "user", text("Go.")),
    message(2, "assistant", call("c1")),
    message(3, "user", result("c1", "ok")),
    message(4, "assistant", text("Done.")),
]


def test_the_settings_beside_a_session_hold_its_total(tmp_path):
    path = write_lines(tmp_path / f"{HEAD['id']}.jsonl", RECORDS)
    used = {
        "inputTokens": 11,
        "outputTokens": 40,
        "cacheCreationTokens": 100,
        "cacheReadTokens": 7,
        "thinkingTokens": 9,
    }
    settings = {"model": "claude-sonnet-4-5", "tokenUsage": used}
    path.with_suffix(".settings.json").write_text(json.dumps(settings))
    _, (log, beside) = ingest(tmp_path)
    (run,) = log.runs
    assert tokens(run) == {
        "fresh_input": 11,
        "cache_read": 7,
        "cache_write_unsplit": 100,
        "output": 40,
        "reasoning": 9,
    }
    assert {step.usage.mark for step in run.steps} == {UsageMark.ESTIMATED}
    assert {step.model for step in run.steps} == {"claude-sonnet-4-5"}
    assert beside.inputs[0].records_ignored == {"settings of a session (read with it)": 1}


def test_without_settings_usage_is_missing():
    reader, runs = runs_of("factory_droid", RECORDS)
    (run,) = runs.values()
    assert "usage" in reader.missing
    assert statuses(run) == ["ok"]


def test_how_calls_end():
    run = run_of(
        "factory_droid",
        [
            HEAD,
            message(1, "assistant", *(call(str(n)) for n in range(1, 6))),
            message(
                2,
                "user",
                result("1", "fine", is_error=False),
                result("2", "Error: Command failed (exit code: 1)\nls: /nope: No such file"),
                result("3", "boom", is_error=True),
                result("4", "Error: Tool execution rejected by user", is_error=True),
            ),
        ],
    )
    assert statuses(run) == ["ok", "error", "error", "rejected", "unanswered"]
    assert run.calls[1].exit_code == 1


def test_reminders_are_not_the_users_words():
    reminder = text("<system-reminder>\nBe brief.\n</system-reminder>")
    run = run_of(
        "factory_droid",
        [HEAD, message(1, "user", reminder, text("Go.")), message(2, "user", reminder)],
    )
    assert kinds(run) == ["user", "reminder"]
    assert run.prompt == "Go."


def event(kind, second=0, **more):
    return {
        "type": kind,
        "session_id": "sess-stream-00000001",
        "timestamp": 1_767_900_000_000 + second * 1000,
        **more,
    }


def test_a_stream_and_its_responses():
    """What comes before a result is one response; the completion is the last one."""
    run = run_of(
        "factory_droid",
        [
            event("system", model="gpt-5", cwd="/w"),
            event("message", 1, role="user", text="Go."),
            event("message", 2, role="assistant", text="I look."),
            event("tool_call", 3, toolCallId="a", toolName="LS", parameters={"p": 1}),
            event("tool_call", 3, toolCallId="b", toolName="LS", parameters={"p": 2}),
            event("tool_result", 4, toolCallId="b", value={"stdout": "x", "exitCode": 1}),
            event("tool_result", 4, toolCallId="a", isError=True, value="no folder"),
            event(
                "completion",
                6,
                finalText="Done.",
                usage={"input_tokens": 100, "output_tokens": 11, "cache_read_input_tokens": 50},
            ),
        ],
    )
    assert [len(step.calls) for step in run.steps] == [2, 0]
    assert statuses(run) == ["error", "error"]
    assert [c.exit_code for c in run.calls] == [None, 1]
    assert tokens(run) == {"fresh_input": 100, "cache_read": 50, "output": 11}
    assert (run.outcome, run.project) == ("completion", "/w")


def test_an_error_of_the_stream_is_an_attempt():
    run = run_of("factory_droid", [event("error", message="Authentication failed. Set a key.")])
    assert [a.gave_up for a in attempts(run)] == [True]


def test_a_stream_with_camel_case_ids_is_not_taken_for_claude_code():
    records = [
        {"type": "system", "subtype": "init", "sessionId": "s", "tools": []},
        {"type": "message", "sessionId": "s", "role": "user", "text": "hi", "id": "1"},
        {"type": "tool_call", "sessionId": "s", "id": "c", "toolName": "LS", "parameters": {}},
    ]
    sample = Sample("x", records)
    assert factory_droid.sniff(sample) > 0.9 > claude_code.sniff(sample)
