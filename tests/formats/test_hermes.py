"""Hermes: chat messages inside a session document."""

from coding_files import kinds, run_of, runs_of, statuses

from loopaudit.formats.base import Sample
from loopaudit.formats.coding.hermes import sniff


def session(*messages, **more):
    facts = {
        "session_id": "20260510_0700_harbour",
        "platform": "cli",
        "session_start": "2026-05-10T07:00:00Z",
    }
    return {**facts, "message_count": len(messages), "messages": list(messages), **more}


def call(key):
    function = {"name": "terminal", "arguments": '{"command": "ls"}'}
    return {"id": key, "type": "function", "function": function}


def test_calls_and_how_they_end():
    run = run_of(
        "hermes",
        [
            session(
                {"role": "user", "content": "Go."},
                {
                    "role": "assistant",
                    "content": "",
                    "tool_calls": [call("1"), call("2"), call("3")],
                },
                {"role": "tool", "tool_call_id": "1", "content": "fine"},
                {
                    "role": "tool",
                    "tool_call_id": "2",
                    "content": "No results.",
                    "finish_reason": "error",
                },
                {"role": "tool", "tool_call_id": "3", "content": "Error: timed out"},
                {"role": "session_meta"},
                model="m",
                cwd="/w",
            )
        ],
    )
    assert statuses(run) == ["ok", "error", "error"]
    assert kinds(run) == ["user"]
    assert (run.project, run.steps[0].model, run.prompt) == ("/w", "m", "Go.")
    assert run.calls[0].args == '{"command":"ls"}'


def test_usage_and_times_are_missing():
    reader, _ = runs_of("hermes", [session({"role": "assistant", "content": "x"})])
    assert reader.missing == {"usage", "times"}


def test_a_conversation_without_the_facts_of_a_session_is_not_claimed():
    assert sniff(Sample("x", [{"session_id": "1", "messages": []}], True)) == 0.0
    assert sniff(Sample("x", [session()], True)) > 0.9
