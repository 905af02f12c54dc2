"""Cursor: calls without ids pair in order; no usage, no times."""

from coding_files import kinds, run_of, runs_of, statuses


def line(role, *content, **more):
    return {"role": role, "message": {"content": list(content)}, **more}


def call(name="Bash", **given):
    return {"type": "tool_use", "name": name, "input": given}


def result(key, text):
    return {"type": "tool_result", "tool_use_id": key, "content": [{"type": "text", "text": text}]}


TEXT = {"type": "text", "text": "hello"}


def test_results_answer_calls_in_order_though_they_name_ids():
    run = run_of(
        "cursor",
        [
            line("assistant", call(command="a"), call(command="b")),
            line("user", result("t1", "x"), result("t2", "Error: file missing")),
        ],
    )
    assert [(c.args, c.status.value) for c in run.calls] == [
        ('{"command":"a"}', "ok"),
        ('{"command":"b"}', "error"),
    ]


def test_ids_are_used_where_calls_have_them():
    named = {**call(command="a"), "id": "t1"}, {**call(command="b"), "id": "t2"}
    run = run_of("cursor", [line("assistant", *named), line("user", result("t2", "x"))])
    assert statuses(run) == ["unanswered", "ok"]


def test_other_spellings_of_blocks():
    called = {"type": "tool_call", "name": "read_file", "input": {"path": "b.log"}}
    told = {
        "type": "tool-result",
        "name": "read_file",
        "content": [{"type": "text", "text": "fine"}],
    }
    run = run_of("cursor", [line("assistant", called), line("user", told)])
    assert statuses(run) == ["ok"]


def test_what_was_put_around_the_users_words():
    query = {
        "type": "text",
        "text": "<user_info>\nOS\n</user_info>\n<user_query>\nGo.\n</user_query>",
    }
    run = run_of("cursor", [line("user", query), line("assistant", TEXT)])
    assert kinds(run) == ["user"]
    assert run.prompt == "Go."


def test_a_turn_that_was_stopped():
    run = run_of("cursor", [line("assistant", TEXT), {"type": "turn_ended", "status": "aborted"}])
    assert kinds(run) == ["interrupt"]


def test_a_sub_agent_names_its_parent_by_its_folder():
    run = run_of(
        "cursor",
        [line("user", TEXT), line("assistant", TEXT)],
        "t/abc-session/subagents/child.jsonl",
    )
    assert (run.parent, run.agent) == ("abc-session", "subagent")
    assert kinds(run) == ["reminder"]


def test_usage_and_results_are_missing():
    reader, _ = runs_of("cursor", [line("assistant", call()), line("assistant", TEXT)])
    assert reader.missing == {"usage", "times", "results"}
