"""Gemini CLI: usage buckets, messages that grow, results, errors, sub-agents."""

from coding_files import attempts, kinds, run_of, runs_of, statuses, tokens

from loopaudit.formats.base import Sample
from loopaudit.formats.coding.gemini_cli import sniff
from loopaudit.model import CallStatus

HEAD = {
    "sessionId": "5f0c2d1e-1111-4222-8333-abcdefabcdef",
    "projectHash": "ab",
    "startTime": "2026-03-04T09:00:00Z",
}


def said(key, text="", tokens=None, calls=None, at="2026-03-04T09:00:05Z", **more):
    record = {
        "id": key,
        "timestamp": at,
        "type": "gemini",
        "content": text,
        "model": "gemini-2.5-pro",
    }
    if tokens:
        names = ("input", "output", "cached", "thoughts", "tool", "total")
        record["tokens"] = dict(zip(names, tokens, strict=True))
    if calls:
        record["toolCalls"] = calls
    return {**record, **more}


def call(key, response=None, status="success", tool="run_shell_command", **more):
    found = {"id": key, "name": tool, "args": {"command": "make"}, "status": status, **more}
    if response is not None:
        answer = {"functionResponse": {"id": key, "name": tool, "response": response}}
        found["result"] = [answer]
    return found


def test_cached_lies_inside_the_input_thoughts_and_tool_prompts_beside():
    run = run_of("gemini_cli", [HEAD, said("a", "x", (1000, 20, 700, 30, 5, 1055))])
    assert tokens(run) == {"fresh_input": 305, "cache_read": 700, "output": 50, "reasoning": 30}
    assert run.steps[0].usage.total == 1055


def test_a_message_of_zero_tokens_was_not_measured():
    run = run_of("gemini_cli", [HEAD, said("a", "x", (0, 0, 0, 0, 0, 0))])
    assert run.steps[0].usage is None


def test_the_last_line_of_a_message_counts_and_it_is_one_response():
    first = said("a", tokens=(100, 5, 0, 0, 0, 105))
    waiting = said("a", tokens=(100, 5, 0, 0, 0, 105), calls=[call("c1", status="executing")])
    done = said("a", tokens=(100, 9, 0, 0, 0, 109), calls=[call("c1", {"output": "ok"})])
    run = run_of("gemini_cli", [HEAD, first, waiting, done, said("b", "done")])
    assert [step.id for step in run.steps] == ["a", "b"]
    assert tokens(run) == {"fresh_input": 100, "cache_read": 0, "output": 9, "reasoning": 0}
    assert statuses(run) == ["ok"]
    assert run.duplicates == 0


def test_a_message_that_grows_after_a_newer_one_came_is_still_one():
    waiting = said("a", calls=[call("c1", status="executing")])
    done = said("a", calls=[call("c1", {"output": "ok"})])
    run = run_of("gemini_cli", [HEAD, waiting, said("b", "meanwhile"), done])
    assert [step.id for step in run.steps] == ["a", "b"]
    assert statuses(run) == ["ok"]


def test_set_may_bring_all_messages_again_and_rewind_takes_nothing_off_the_bill():
    one, two = said("a", "x", (10, 1, 0, 0, 0, 11)), said("b", "y", (20, 2, 0, 0, 0, 22))
    records = [HEAD, one, {"$set": {"messages": [one]}}, two, {"$rewindTo": "a"}, said("c", "z")]
    run = run_of("gemini_cli", records)
    assert [step.id for step in run.steps] == ["a", "b", "c"]
    assert sum(step.usage.total for step in run.steps if step.usage) == 33


def test_how_calls_end():
    ends = [
        (call("1", {"output": "fine"}), "ok"),
        (call("2", {"error": "No such file"}, "error"), "error"),
        (call("3", {"error": "[Operation Cancelled] by user"}, "cancelled"), "rejected"),
        (call("4", {"output": "Output: x\nExit Code: 2\nSignal: 0"}), "error"),
        (call("5", {"output": "Output: x\nExit Code: 0\nSignal: 0"}), "ok"),
        (call("6", status="executing"), "unanswered"),
    ]
    document = {**HEAD, "messages": [said("a", calls=[c for c, _ in ends])]}
    run = run_of("gemini_cli", [document])
    assert statuses(run) == [end for _, end in ends]
    assert [c.exit_code for c in run.calls] == [None, None, None, 2, 0, None]


def test_errors_interrupts_and_notices():
    records = [
        HEAD,
        {
            "id": "u",
            "timestamp": "2026-03-04T09:00:01Z",
            "type": "user",
            "content": [{"text": "go"}],
        },
        {
            "id": "e",
            "timestamp": "2026-03-04T09:00:02Z",
            "type": "error",
            "content": "429 quota exceeded",
        },
        {
            "id": "i",
            "timestamp": "2026-03-04T09:00:03Z",
            "type": "info",
            "content": "Request cancelled.",
        },
        {
            "id": "w",
            "timestamp": "2026-03-04T09:00:04Z",
            "type": "warning",
            "content": "hook failed",
        },
        {"id": "s", "timestamp": "2026-03-04T09:00:05Z", "type": "shiny", "content": "?"},
    ]
    reader, runs = runs_of("gemini_cli", records)
    (run,) = runs.values()
    assert kinds(run) == ["user", "interrupt"]
    assert [(a.message, a.gave_up) for a in attempts(run)] == [("429 quota exceeded", True)]
    assert reader.ignored == {"message of type warning": 1}
    assert [line for line, _ in reader.rejected] == [6]


def test_a_sub_agent_names_its_parent_by_its_folder():
    head = {**HEAD, "sessionId": "child-0000-1111-2222", "kind": "subagent"}
    path = "tmp/p/chats/5f0c2d1e-1111-4222-8333-abcdefabcdef/child.jsonl"
    run = run_of("gemini_cli", [head, said("a", "x")], path)
    assert (run.parent, run.agent) == (HEAD["sessionId"], "subagent")


def test_other_documents_with_messages_are_not_claimed():
    assert sniff(Sample("x", [{"messages": [{"role": "user", "content": "hi"}]}], True)) == 0.0
    assert sniff(Sample("x", [{"sessionId": "1", "type": "user", "message": {}}])) == 0.0


def test_a_result_that_the_client_sends_answers_its_call():
    user = {"functionResponse": {"id": "c1", "response": {"output": "late"}}}
    records = [
        HEAD,
        said("a", calls=[call("c1", status="executing")]),
        {"id": "u", "timestamp": "2026-03-04T09:00:09Z", "type": "user", "content": [user]},
    ]
    run = run_of("gemini_cli", records)
    assert run.calls[0].status is CallStatus.OK
    assert kinds(run) == []


def event(kind, second=0, **more):
    return {"type": kind, "timestamp": f"2026-06-01T10:00:{second:02}Z", **more}


def test_headless_output():
    """Text comes in pieces; the total of 1,000 in, 60 out and 40 of thoughts is spread."""
    stats = {
        "total_tokens": 1100,
        "input_tokens": 1000,
        "output_tokens": 60,
        "cached": 300,
        "tool_calls": 2,
    }
    records = [
        event("init", session_id="5f0c2d1e-1111-4222-8333-abcdefabcdef", model="gemini-2.5-pro"),
        event("message", 1, role="user", content="Go."),
        event("message", 2, role="assistant", content="I ", delta=True),
        event("message", 2, role="assistant", content="look.", delta=True),
        event(
            "tool_use", 3, tool_name="run_shell_command", tool_id="a", parameters={"command": "ls"}
        ),
        event("tool_use", 3, tool_name="read_file", tool_id="b", parameters={"path": "x"}),
        event("tool_result", 4, tool_id="a", status="success", output="x\nExit Code: 1"),
        event(
            "tool_result",
            4,
            tool_id="b",
            status="error",
            error={"type": "not_found", "message": "no file"},
        ),
        event("message", 5, role="assistant", content="Done.", delta=True),
        event("result", 6, status="success", stats=stats),
    ]
    run = run_of("gemini_cli", records)
    assert [(step.text_size, len(step.calls)) for step in run.steps] == [(7, 2), (5, 0)]
    assert statuses(run) == ["error", "error"]
    assert tokens(run) == {"fresh_input": 700, "cache_read": 300, "output": 100, "reasoning": 40}
    assert (run.outcome, run.prompt, run.steps[0].model) == ("success", "Go.", "gemini-2.5-pro")
    assert sniff(Sample("x", records)) > 0.8
