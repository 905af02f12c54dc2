"""opencode: tokens counted once, calls in parts, sub-agents, retries, the ways it is kept."""

import json
import sqlite3

import pytest
from coding_files import attempts, ingest, kinds, run_of, runs_of, statuses, tokens

from loopaudit.formats.base import Sample
from loopaudit.formats.coding.opencode import sniff

SES = "ses_7d41c0de9ffeKPMQRSTVWXYZ"
INFO = {
    "id": SES,
    "projectID": "p",
    "directory": "/w",
    "version": "1.0",
    "time": {"created": 1_775_000_000_000},
}
USED = {"input": 10, "output": 20, "reasoning": 5, "cache": {"read": 300, "write": 40}}


def message(number, *parts, role="assistant", **info):
    created = 1_775_000_000_000 + number * 1000
    time = {"created": created, **({"completed": created + 900} if role == "assistant" else {})}
    return {
        "info": {"id": f"msg_{number}", "sessionID": SES, "role": role, "time": time, **info},
        "parts": list(parts),
    }


def tool(key, output="ok", status="completed", name="bash", given=None, **state):
    inner = {
        "status": status,
        "input": given or {"command": key},
        "output": output,
        "time": {"start": 1},
        **state,
    }
    return {
        "id": f"prt_{key}",
        "type": "tool",
        "tool": name,
        "callID": key,
        "messageID": "?",
        "state": inner,
    }


def export(*messages, **info):
    return {"info": {**INFO, **info}, "messages": list(messages)}


def finish(**more):
    return {"type": "step-finish", "reason": "tool-calls", "tokens": USED, "cost": 0.01, **more}


def test_tokens_on_message_step_and_session_count_once():
    """10 + 300 + 40 input and 20 + 5 output; the session says the same again."""
    one = message(
        1,
        {"type": "step-start"},
        tool("a"),
        finish(),
        tokens=USED,
        cost=0.01,
        modelID="m",
        providerID="p",
    )
    run = run_of("opencode", [export(one, tokens=USED, cost=0.01)])
    assert tokens(run) == {
        "fresh_input": 10,
        "cache_read": 300,
        "cache_write_unsplit": 40,
        "output": 25,
        "reasoning": 5,
    }
    assert [float(step.cost) for step in run.steps] == [0.01]


def test_a_message_of_several_steps_is_several_responses():
    """Early versions keep a turn in one message, whose own tokens are those of its last step."""
    parts = [
        {"type": "step-start"},
        tool("a"),
        finish(),
        {"type": "step-start"},
        tool("b"),
        finish(cost=0.02),
    ]
    run = run_of("opencode", [export(message(1, *parts, tokens=USED, cost=0.03))])
    assert [[c.id for c in step.calls] for step in run.steps] == [["a"], ["b"]]
    assert [float(step.cost) for step in run.steps] == [0.01, 0.02]
    assert sum(step.usage.total for step in run.steps) == 2 * 375


def test_a_cost_of_zero_is_unknown():
    assert (
        run_of("opencode", [export(message(1, finish(), tokens=USED, cost=0))]).steps[0].cost
        is None
    )


def test_how_calls_end():
    parts = [
        tool("1"),
        tool("2", "cat: x: No such file", metadata={"exit": 1}),
        tool("3", status="error", error="File not found"),
        tool("4", status="error", error="The user rejected permission to use this tool call."),
        tool("5", status="error", error="Tool execution aborted"),
        tool("6", status="running"),
        tool("7", "fine", metadata={"exit": 0}),
    ]
    run = run_of("opencode", [export(message(1, *parts))])
    ends = ["ok", "error", "error", "rejected", "interrupted", "unanswered", "ok"]
    assert statuses(run) == ends
    assert [c.exit_code for c in run.calls] == [None, 1, None, None, None, None, 0]


def test_the_session_of_a_sub_agent_is_linked_by_the_call():
    task = tool(
        "t", name="task", given={"subagent_type": "explore"}, metadata={"sessionId": "ses_child"}
    )
    _, runs = runs_of("opencode", [export(message(1, task))])
    child = runs["ses_child"]
    assert (child.parent, child.parent_call, child.agent) == (SES, "t", "explore")
    _, runs = runs_of("opencode", [export(message(1, tool("x")), parentID="ses_parent")])
    assert runs[SES].parent == "ses_parent"


def test_aborts_errors_and_retries():
    error = {
        "name": "APIError",
        "data": {"message": "overloaded", "statusCode": 529, "isRetryable": True},
    }
    retry = {"type": "retry", "attempt": 2, "error": error, "time": {"created": 1_775_000_000_500}}
    aborted = {"name": "MessageAbortedError", "data": {"message": "stopped"}}
    denied = {"name": "APIError", "data": {"message": "no key", "statusCode": 401}}
    run = run_of(
        "opencode",
        [
            export(
                message(1, retry, {"type": "text", "text": "hi"}, tokens=USED),
                message(2, {"type": "text", "text": "half"}, error=aborted),
                message(3, error=denied),
            )
        ],
    )
    assert len(run.steps) == 2
    assert [(a.number, a.http_status, a.code) for a in run.steps[0].attempts] == [
        (2, 529, "APIError")
    ]
    assert kinds(run) == ["interrupt"]
    assert [(a.http_status, a.gave_up) for a in run.attempts_after] == [(401, True)]
    assert len(attempts(run)) == 2


def test_compactions_and_what_no_person_wrote():
    synthetic = {"type": "text", "text": "Continue.", "synthetic": True}
    run = run_of(
        "opencode",
        [
            export(
                message(1, {"type": "text", "text": "Go."}, role="user"),
                message(2, {"type": "compaction", "auto": True}, role="user"),
                message(3, {"type": "text", "text": "Summary"}, summary=True, tokens=USED),
                message(4, synthetic, role="user"),
                message(5, {"type": "text", "text": "on"}),
            )
        ],
    )
    assert [step.kind.value for step in run.steps] == ["compaction", "model"]
    assert kinds(run) == ["user", "compaction", "compaction", "reminder"]
    assert run.prompt == "Go."


def database(path, *messages):
    connection = sqlite3.connect(path)
    connection.executescript(
        "CREATE TABLE session (id text PRIMARY KEY, project_id text, parent_id text,"
        " directory text, version text, time_created integer);"
        "CREATE TABLE message (id text PRIMARY KEY, session_id text, time_created integer,"
        " data text);"
        "CREATE TABLE part (id text PRIMARY KEY, message_id text, session_id text, data text);"
    )
    connection.execute(
        "INSERT INTO session VALUES (?, 'p', NULL, '/w', '1.2', 1775000000000)", (SES,)
    )
    for entry in messages:
        info = {k: v for k, v in entry["info"].items() if k not in ("id", "sessionID")}
        own = entry["info"]["id"]
        connection.execute("INSERT INTO message VALUES (?, ?, 0, ?)", (own, SES, json.dumps(info)))
        for number, part in enumerate(entry["parts"]):
            inner = json.dumps({k: v for k, v in part.items() if k != "id"})
            connection.execute(
                "INSERT INTO part VALUES (?, ?, ?, ?)", (f"{own}_{number}", own, SES, inner)
            )
    connection.commit()
    connection.close()
    return path


MESSAGES = (
    message(1, {"type": "text", "text": "Go."}, role="user"),
    message(
        2, tool("a"), tool("b", status="error", error="no"), tokens=USED, cost=0.5, modelID="m"
    ),
    message(3, {"type": "text", "text": "done"}, tokens=USED, cost=0.25, modelID="m"),
)


def told(run):
    costs = [None if step.cost is None else float(step.cost) for step in run.steps]
    return run.id, run.project, tokens(run), statuses(run), costs, kinds(run), run.prompt


def test_database_and_export_tell_the_same(tmp_path):
    path = database(tmp_path / "opencode.db", *MESSAGES)
    _, (result,) = ingest(path)
    assert (result.skips, result.failures) == ([], [])
    (run,) = result.runs
    assert told(run) == told(run_of("opencode", [export(*MESSAGES)]))
    assert result.inputs[0].format == "opencode"
    assert result.inputs[0].confidence > 0.9


def test_a_message_file_alone_says_that_calls_are_missing():
    reader, runs = runs_of("opencode", [MESSAGES[1]["info"]])
    assert tokens(runs[SES])["fresh_input"] == 10
    assert reader.missing >= {"results", "arguments"}


@pytest.mark.parametrize(
    "other",
    [
        {"info": {"id": "x"}, "messages": []},
        {"id": "x", "role": "user", "content": "hi"},
        {"id": "x", "type": "message", "timestamp": "2026-01-01", "message": {}},
        {"role": "assistant", "id": "x", "parts": []},
    ],
)
def test_neighbours_are_not_claimed(other):
    assert sniff(Sample("x", [other], True)) == 0.0
