"""Cline, Roo and Kilo: requests, the conversation beside them, retries, calls as tags."""

import json

from coding_files import attempts, ingest, kinds, run_of, runs_of, statuses, tokens

from loopaudit.formats.base import Sample
from loopaudit.formats.coding.cline import sniff

TASK = 1_764_100_000_000


def said(second, kind, text="", how="say", **more):
    return {"ts": TASK + second * 1000, "type": how, how: kind, "text": text, **more}


def request(second, used=(10, 5, 20, 300), cost=0.01, **more):
    names = ("tokensIn", "tokensOut", "cacheWrites", "cacheReads")
    facts = dict(zip(names, used, strict=True)) if used else {}
    if cost is not None:
        facts["cost"] = cost
    info = {"providerId": "anthropic", "modelId": "claude-sonnet-4-5"}
    return said(
        second, "api_req_started", json.dumps({"request": "…", **facts, **more}), modelInfo=info
    )


def test_requests_have_usage_cost_and_time():
    run = run_of(
        "cline", [[said(0, "task", "Go."), request(1), said(3, "text", "hello"), request(5)]]
    )
    assert tokens(run) == {
        "fresh_input": 20,
        "output": 10,
        "cache_write_unsplit": 40,
        "cache_read": 600,
    }
    assert [float(step.cost) for step in run.steps] == [0.01, 0.01]
    assert [step.at for step in run.steps] == [TASK / 1000 + 1, TASK / 1000 + 5]
    assert (run.prompt, run.steps[0].model) == ("Go.", "claude-sonnet-4-5")


def test_a_request_without_figures_is_under_way_or_was_stopped():
    run = run_of("cline", [[request(1, None, None, cancelReason="user_cancelled")]])
    assert run.steps[0].usage is None
    assert kinds(run) == ["interrupt"]


def test_the_interface_alone_shows_calls_and_the_output_of_commands():
    tool = json.dumps({"tool": "readFile", "path": "a.py", "content": "/w/a.py"})
    reader, runs = runs_of(
        "cline",
        [
            [
                request(1),
                said(2, "tool", tool, "ask"),
                said(3, "tool", tool),
                request(4),
                said(5, "command", "make", "ask"),
                said(6, "command_output", "compiling"),
                said(7, "command_output", "make: *** Error 2\nExit code: 2"),
            ]
        ],
    )
    (run,) = runs.values()
    assert [[c.tool for c in step.calls] for step in run.steps] == [
        ["readFile"],
        ["execute_command"],
    ]
    assert statuses(run) == ["unanswered", "error"]
    assert run.calls[1].exit_code == 2
    assert "results" in reader.missing


def write(folder, name, value):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(json.dumps(value), encoding="utf-8")


def conversation(*calls):
    """One answer for each call, with its result."""
    messages = [{"role": "user", "content": [{"type": "text", "text": "<task>\nGo.\n</task>"}]}]
    for key, result in calls:
        block = {"type": "tool_use", "id": key, "name": "read_file", "input": {"path": key}}
        messages.append({"role": "assistant", "content": [block]})
        block = {"type": "tool_result", "tool_use_id": key, "content": result}
        messages.append({"role": "user", "content": [block]})
    return messages


def test_both_files_of_a_task_are_one_run(tmp_path):
    folder = tmp_path / str(TASK)
    write(folder, "ui_messages.json", [said(0, "task", "Go."), request(1), request(4)])
    write(
        folder,
        "api_conversation_history.json",
        conversation(("a", "text"), ("b", "Error: no file")),
    )
    write(
        folder,
        "history_item.json",
        {
            "parentTaskId": "1764000000000",
            "workspace": "/w",
            "tokensIn": 1,
            "tokensOut": 1,
            "ts": 1,
            "task": "Go.",
        },
    )
    found, results = ingest(tmp_path)
    assert len(found.sources) == 3
    runs = [run for result in results for run in result.runs]
    assert [result.skips + result.failures for result in results] == [[], [], []]
    (run,) = runs
    assert (run.id, run.parent, run.project) == (str(TASK), "1764000000000", "/w")
    assert statuses(run) == ["ok", "error"]
    assert tokens(run)["cache_read"] == 600
    assert kinds(run) == ["user"]


def test_a_request_without_an_answer_is_missing_in_the_conversation(tmp_path):
    folder = tmp_path / str(TASK)
    stopped = request(2, None, None, cancelReason="streaming_failed")
    write(folder, "ui_messages.json", [request(1), stopped, request(3)])
    write(folder, "api_conversation_history.json", conversation(("a", "x"), ("b", "y")))
    _, results = ingest(folder / "ui_messages.json")
    (run,) = results[0].runs
    assert [[c.id for c in step.calls] for step in run.steps] == [["a"], [], ["b"]]
    assert statuses(run) == ["ok", "ok"]


def test_files_that_do_not_fit_together_are_not_paired(tmp_path):
    """Roo deletes messages of the interface: three requests, one answer."""
    folder = tmp_path / str(TASK)
    write(folder, "ui_messages.json", [request(1), request(2), request(3)])
    write(folder, "api_conversation_history.json", conversation(("a", "text")))
    _, results = ingest(folder / "ui_messages.json")
    (run,) = results[0].runs
    assert (len(run.steps), run.calls) == (3, [])


def test_the_conversation_alone_is_read(tmp_path):
    write(
        tmp_path / "t", "api_conversation_history.json", conversation(("a", "text"), ("b", "more"))
    )
    _, (result,) = ingest(tmp_path)
    (run,) = result.runs
    assert statuses(run) == ["ok", "ok"]
    assert run.missing >= {"usage"}
    assert run.prompt == "Go."


def test_old_conversations_hold_calls_as_tags():
    answer = "I look.\n<read_file>\n<path>a.py</path>\n</read_file>"
    result = "[read_file for 'a.py'] Result:\n\nThe tool execution failed"
    task = [{"type": "text", "text": "<task>Go.</task>"}]
    rest = [
        {"type": "text", "text": result},
        {"type": "text", "text": "<environment_details>x</environment_details>"},
    ]
    run = run_of(
        "cline",
        [
            [
                {"role": "user", "content": task},
                {"role": "assistant", "content": answer},
                {"role": "user", "content": rest},
            ]
        ],
    )
    (call,) = run.calls
    assert (call.tool, call.args) == ("read_file", '{"path":"a.py"}')
    assert call.status.value == "ok"
    assert kinds(run) == ["user", "reminder"]


def test_retries_failures_and_limits():
    retry = {"attempt": 1, "maxAttempts": 3, "delaySeconds": 2, "errorMessage": "529 overloaded"}
    run = run_of(
        "cline",
        [
            [
                request(1),
                said(2, "error_retry", json.dumps(retry)),
                said(3, "api_req_failed", "401 unauthorized", "ask"),
                said(4, "mistake_limit_reached", "Three mistakes.", "ask"),
                said(5, "user_feedback", "Go on."),
                said(6, "resume_task", how="ask"),
                said(7, "condense_context", json.dumps({"cost": 0.02})),
            ]
        ],
    )
    found = [(a.number, a.limit, a.wait, a.http_status, a.gave_up) for a in attempts(run)]
    assert found == [(1, 3, 2.0, 529, False), (None, None, None, 401, True)]
    assert kinds(run) == ["guard", "user", "resume", "compaction"]
    assert [step.kind.value for step in run.steps] == ["model", "compaction"]


def test_a_completed_task_says_so():
    rows = [
        request(1),
        said(2, "completion_result", "Done."),
        said(2, "completion_result", "", "ask"),
    ]
    run = run_of("cline", [rows])
    assert run.outcome == "completion_result"


def test_other_lists_are_not_claimed():
    assert sniff(Sample("x", [[{"role": "user", "content": "hi"}]], True)) == 0.0
    assert sniff(Sample("x", [[{"ts": 1, "type": "x"}]], True)) == 0.0


def test_the_spend_of_deleted_messages_is_not_lost():
    gone = json.dumps(
        {"tokensIn": 1, "tokensOut": 2, "cacheWrites": 3, "cacheReads": 4, "cost": 0.5}
    )
    run = run_of("cline", [[said(0, "deleted_api_reqs", gone), request(1)]])
    assert tokens(run) == {
        "fresh_input": 11,
        "output": 7,
        "cache_write_unsplit": 23,
        "cache_read": 304,
    }
    assert [step.kind.value for step in run.steps] == ["compaction", "model"]


def test_the_output_of_the_command_line_is_read_line_by_line():
    """A request is printed when it begins and again, with its figures, when it has ended."""
    reader, runs = runs_of(
        "cline",
        [
            {"type": "task_started", "taskId": "1773780171429"},
            said(0, "task", "Go."),
            request(1, None, None),
            said(2, "text", "hel", partial=True),
            request(1),
            said(3, "text", "hello"),
            said(4, "tool", json.dumps({"tool": "readFile", "path": "a.py"})),
        ],
    )
    run = runs["1773780171429"]
    assert (len(run.steps), len(run.calls), run.prompt) == (1, 1, "Go.")
    assert tokens(run) == {
        "fresh_input": 10,
        "output": 5,
        "cache_write_unsplit": 20,
        "cache_read": 300,
    }
    assert reader.used == 7
    assert sniff(Sample("x", [said(0, "task", "Go.")])) > 0.9
