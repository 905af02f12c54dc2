"""Grok: history with a summary beside it, tools of the server, texts put in."""

import json

from coding_files import ingest, kinds, run_of, runs_of, statuses, write_lines


def call(key):
    return {"id": key, "name": "run_terminal_cmd", "arguments": '{"command": "ls"}'}


def answer(text="", *calls):
    return {"type": "assistant", "content": text, "tool_calls": list(calls), "model_id": "grok-4.5"}


def result(key, content):
    return {"type": "tool_result", "tool_call_id": key, "content": content}


def test_calls_and_results():
    run = run_of(
        "grok",
        [
            answer("", call("a"), call("b")),
            result("b", "bash: no: command not found"),
            result("a", "ok"),
        ],
    )
    assert statuses(run) == ["ok", "error"]
    assert run.steps[0].model == "grok-4.5"


def test_tools_of_the_server_belong_to_the_response_after_them():
    served = {
        "type": "backend_tool_call",
        "kind": {"tool_type": "web_search", "action": {"query": "x"}, "id": "ws_1"},
    }
    run = run_of("grok", [answer("one"), served, answer("two", call("a"))])
    assert [[c.tool for c in step.calls] for step in run.steps] == [
        [],
        ["web_search", "run_terminal_cmd"],
    ]
    assert statuses(run) == ["ok", "unanswered"]
    assert run.calls[0].result is None  # done, with no result on record
    assert [[c.tool for c in step.calls] for step in run_of("grok", [served]).steps] == [
        ["web_search"]
    ]


def test_what_was_put_in_and_what_was_stopped():
    env = {
        "type": "user",
        "content": [{"type": "text", "text": "<user_info>x</user_info>"}],
        "synthetic_reason": "environment_context",
    }
    ask = {
        "type": "user",
        "content": [{"type": "text", "text": "Go."}],
        "prior_turn_interrupt": "mid_turn_abort",
    }
    run = run_of("grok", [{"type": "system", "content": "s"}, env, ask])
    assert kinds(run) == ["reminder", "interrupt", "user"]


def test_the_summary_beside_names_the_session(tmp_path):
    write_lines(tmp_path / "chat_history.jsonl", [answer("x")])
    facts = {
        "info": {"id": "019f7000-0000-7000-8000-000000000001", "cwd": "/w"},
        "session_summary": "s",
        "chat_format_version": 1,
        "session_kind": "subagent",
        "agent_name": "explore",
        "created_at": "2026-08-01T09:00:00Z",
    }
    (tmp_path / "summary.json").write_text(json.dumps(facts))
    _, (log, summary) = ingest(tmp_path)
    (run,) = log.runs
    assert (run.id, run.agent, run.project) == (facts["info"]["id"], "explore", "/w")
    assert summary.runs == []


def test_unknown_lines_are_named():
    reader, _ = runs_of("grok", [{"type": "novelty"}, {"x": 1}, 3])
    assert reader.ignored == {"unknown type novelty": 1, "unknown type ?": 1}
    assert [line for line, _ in reader.rejected] == [3]
