"""Crush: parts flat or in `data`, cost of the session, failed requests, sub-sessions."""

from coding_files import attempts, kinds, runs_of, statuses

SES = "4f6a1c2e-9b0d-4e57-a1f8-c3d5e7092b46"


def session(key=SES, **more):
    return {"table": "sessions", "row": {"id": key, "created_at": 1_760_000_000, **more}}


def message(key, role, *parts, at=1_760_000_001, session=SES, **more):
    import json

    row = {
        "id": key,
        "session_id": session,
        "role": role,
        "parts": json.dumps(parts),
        "created_at": at,
    }
    return {"table": "messages", "row": {**row, **more}}


def call(key, name="bash", given='{"command":"ls"}'):
    return {
        "type": "tool_call",
        "data": {"id": key, "name": name, "input": given, "finished": True},
    }


def result(key, content, error=False):
    return {
        "type": "tool_result",
        "data": {"tool_call_id": key, "content": content, "is_error": error},
    }


def finish(reason, **more):
    return {"type": "finish", "data": {"reason": reason, "time": 1_760_000_005, **more}}


def read(*records):
    return runs_of("crush", records)


def test_the_cost_of_the_session_is_spread_and_its_tokens_are_not_used():
    """15,361 prompt tokens of the last call say nothing of a session of $0.48."""
    _, runs = read(
        session(cost=0.48, prompt_tokens=15_361, completion_tokens=146),
        message("a", "assistant", {"type": "text", "data": {"text": "x"}}),
        message("b", "assistant", {"type": "text", "data": {"text": "y"}}),
    )
    steps = runs[SES].steps
    assert [float(step.cost) for step in steps] == [0.24, 0.24]
    assert [step.usage for step in steps] == [None, None]


def test_flat_parts_and_nested_ones_are_the_same():
    flat = {"type": "tool_call", "id": "c", "name": "bash", "input": '{"command":"ls"}'}
    for part in (call("c"), flat):
        _, runs = read(session(), message("a", "assistant", part))
        (found,) = runs[SES].calls
        assert (found.id, found.tool, found.args) == ("c", "bash", '{"command":"ls"}')


def test_how_calls_end():
    _, runs = read(
        session(),
        message("a", "assistant", *(call(str(n)) for n in range(5)), finish("tool_use")),
        message("b", "tool", result("0", "fine")),
        message("c", "tool", result("1", "no such file", error=True)),
        message("d", "tool", result("2", "out\nExit code 1")),
        message("e", "tool", result("3", "User denied permission", error=True)),
    )
    assert statuses(runs[SES]) == ["ok", "error", "error", "rejected", "unanswered"]
    assert runs[SES].calls[2].exit_code == 1


def test_a_failed_request_and_a_stopped_one():
    _, runs = read(
        session(),
        message("a", "assistant", finish("error", message="Unauthorized", details="bad key")),
        message("b", "assistant", {"type": "text", "data": {"text": "ha"}}, finish("canceled")),
    )
    run = runs[SES]
    assert len(run.steps) == 1
    assert [(a.message, a.gave_up) for a in attempts(run)] == [("Unauthorized\nbad key", True)]
    assert kinds(run) == ["interrupt"]


def test_times_are_seconds_whatever_the_definition_says():
    _, runs = read(
        session(), message("a", "assistant", {"type": "text", "text": "x"}, at=1_760_000_002)
    )
    assert runs[SES].steps[0].at == 1_760_000_002.0


def test_sub_sessions_name_their_parent():
    child = "0a1b2c3d-0000-4000-8000-000000000001$$toolu_9"
    _, runs = read(
        session(),
        message("a", "assistant", call("toolu_9", "agent")),
        session(child, parent_session_id=SES),
        message("b", "assistant", {"type": "text", "text": "x"}, session=child),
    )
    assert (runs[child].parent, runs[child].parent_call) == (SES, "toolu_9")


def test_a_summary_is_a_compaction():
    _, runs = read(
        session(), message("a", "assistant", {"type": "text", "text": "x"}, is_summary_message=1)
    )
    assert runs[SES].steps[0].kind.value == "compaction"
    assert kinds(runs[SES]) == ["compaction"]


def test_rows_that_tell_nothing_are_rejected_by_their_rowid():
    bad = {"table": "messages", "row": {"id": "x", "session_id": SES, "role": "user", "parts": "{"}}
    reader, _ = read(session(), bad, {"table": "messages", "row": 3})
    assert [line for line, _ in reader.rejected] == [2, 3]


def test_continuations_that_crush_made_are_not_the_users_words():
    shown = {"type": "text", "data": {"text": "Go."}}
    hidden = {"type": "text", "data": {"text": "continue", "hidden": True}}
    _, runs = read(session(), message("a", "user", shown), message("b", "user", hidden))
    assert kinds(runs[SES]) == ["user", "reminder"]
