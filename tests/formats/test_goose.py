"""goose: blocks of calls and results, usage by message or by session, both ways of keeping."""

import json
import sqlite3

from coding_files import attempts, ingest, kinds, run_of, runs_of, statuses, tokens

from loopaudit.model import UsageMark

HEAD = {"working_dir": "/w", "description": "d", "message_count": 2, "total_tokens": 40}


def message(role, *blocks, key="m", created=1_759_395_600, **more):
    return {"id": key, "role": role, "created": created, "content": list(blocks), **more}


def ask(key, name="developer__shell", **arguments):
    value = {"name": name, "arguments": arguments}
    return {"type": "toolRequest", "id": key, "toolCall": {"status": "success", "value": value}}


def answer(key, text="ok", **value):
    inner = {"content": [{"type": "text", "text": text}], **value}
    return {"type": "toolResponse", "id": key, "toolResult": {"status": "success", "value": inner}}


def text(words):
    return {"type": "text", "text": words}


def test_the_accumulated_total_is_spread_and_the_last_calls_total_is_not_used():
    head = {
        **HEAD,
        "accumulated_input_tokens": 101,
        "accumulated_output_tokens": 10,
        "accumulated_total_tokens": 111,
    }
    records = [
        head,
        message("assistant", text("a"), key="1"),
        message("assistant", text("b"), key="2"),
    ]
    run = run_of("goose", records)
    assert tokens(run) == {"fresh_input": 101, "output": 10}
    assert [step.usage.fresh_input for step in run.steps] == [51, 50]
    assert {step.usage.mark for step in run.steps} == {UsageMark.ESTIMATED}


def test_usage_of_messages_counts_instead_where_it_is_there():
    head = {**HEAD, "accumulated_input_tokens": 999, "accumulated_output_tokens": 99}
    usage = {"inputTokens": 70, "outputTokens": 5, "totalTokens": 75, "cacheReadInputTokens": 30}
    run = run_of("goose", [head, message("assistant", text("a"), metadata={"usage": usage})])
    assert tokens(run) == {"fresh_input": 40, "cache_read": 30, "output": 5}


def test_without_totals_usage_is_missing():
    reader, _ = runs_of("goose", [HEAD, message("assistant", text("a"))])
    assert "usage" in reader.missing


def test_how_calls_end():
    lost = {
        "type": "toolResponse",
        "id": "4",
        "toolResult": {"status": "error", "error": "timed out"},
    }
    old = {
        "type": "toolResponse",
        "id": "5",
        "toolResult": {"Ok": {"content": [text("x")], "isError": False}},
    }
    run = run_of(
        "goose",
        [
            HEAD,
            message("assistant", *(ask(str(n)) for n in range(1, 7))),
            message(
                "user",
                answer("1"),
                answer("2", "denied", isError=True, structuredContent={"exit_code": 13}),
                answer("3", "The user has declined to run this tool.", isError=True),
                lost,
                old,
            ),
        ],
    )
    assert statuses(run) == ["ok", "error", "rejected", "error", "ok", "unanswered"]
    assert run.calls[1].exit_code == 13
    assert kinds(run) == []


def test_a_call_that_could_not_be_read_is_a_failed_call():
    """goose hides it: the request itself has the error, and no tool runs."""
    broken = {
        "type": "toolRequest",
        "id": "1",
        "toolCall": {"status": "error", "error": "invalid JSON"},
    }
    run = run_of("goose", [HEAD, message("assistant", broken)])
    assert statuses(run) == ["error"]


def test_parts_for_the_user_only_are_left_out():
    shown = {"type": "text", "text": "pretty", "annotations": {"audience": ["user"]}}
    meant = {"type": "text", "text": "plain", "annotations": {"audience": ["assistant"]}}
    value = {"content": [shown, meant]}
    block = {"type": "toolResponse", "id": "1", "toolResult": {"status": "success", "value": value}}
    run = run_of("goose", [HEAD, message("assistant", ask("1")), message("user", block)])
    assert run.calls[0].size == len("plain")


def test_hidden_messages_compactions_and_errors():
    note = {"type": "systemNotification", "msg": "The conversation has been compacted"}
    run = run_of(
        "goose",
        [
            HEAD,
            message("user", text("Go.")),
            message("user", text("context"), metadata={"userVisible": False}),
            message("assistant", note, {"type": "error", "message": "429 from the provider"}),
        ],
    )
    assert kinds(run) == ["user", "reminder", "compaction"]
    assert [a.message for a in attempts(run)] == ["429 from the provider"]


def database(path, ledger=None):
    """A session of two responses; `ledger`: rows (model, input, output, read, cost, compaction)."""
    connection = sqlite3.connect(path)
    connection.executescript(
        "CREATE TABLE sessions (id TEXT, working_dir TEXT, created_at TIMESTAMP, session_type TEXT,"
        " accumulated_input_tokens INTEGER, accumulated_output_tokens INTEGER,"
        " accumulated_cost REAL, model_config_json TEXT, parent_session_id TEXT);"
        "CREATE TABLE messages (id INTEGER PRIMARY KEY, message_id TEXT, session_id TEXT,"
        " role TEXT, content_json TEXT, created_timestamp INTEGER, metadata_json TEXT);"
    )
    connection.execute(
        "INSERT INTO sessions VALUES ('20260816_4', '/w', '2026-08-16 04:20:00', 'sub_agent', 90,"
        " 10, 0.5, '{\"model_name\": \"qwen3\"}', '20260816_3')"
    )
    for number, (role, blocks) in enumerate(
        [
            ("user", [text("Go.")]),
            ("assistant", [ask("1")]),
            ("user", [answer("1")]),
            ("assistant", [text("ok")]),
        ]
    ):
        row = (f"msg_{number}", "20260816_4", role, json.dumps(blocks), 1_786_854_000 + number)
        connection.execute(
            "INSERT INTO messages (message_id, session_id, role, content_json, created_timestamp)"
            " VALUES (?, ?, ?, ?, ?)",
            row,
        )
    if ledger is not None:
        connection.execute(
            "CREATE TABLE usage_ledger (id INTEGER PRIMARY KEY, session_id TEXT,"
            " created_timestamp INTEGER, model TEXT, input_tokens INTEGER, output_tokens INTEGER,"
            " cache_read_tokens INTEGER, cost REAL, is_compaction INTEGER)"
        )
        for row in ledger:
            connection.execute(
                "INSERT INTO usage_ledger (session_id, created_timestamp, model, input_tokens,"
                " output_tokens, cache_read_tokens, cost, is_compaction)"
                " VALUES ('20260816_4', 1786854001, ?, ?, ?, ?, ?, ?)",
                row,
            )
    connection.commit()
    connection.close()
    _, (result,) = ingest(path)
    (run,) = result.runs
    return run


def test_the_database_tells_the_same(tmp_path):
    run = database(tmp_path / "sessions.db")
    assert (run.id, run.parent, run.agent, run.project) == (
        "20260816_4",
        "20260816_3",
        "sub_agent",
        "/w",
    )
    assert (statuses(run), tokens(run)) == (["ok"], {"fresh_input": 90, "output": 10})
    assert [float(step.cost) for step in run.steps] == [0.25, 0.25]
    assert {step.model for step in run.steps} == {"qwen3"}
    assert run.steps[0].at == 1_786_854_001.0


def test_files_of_two_machines_are_not_taken_for_one_session():
    """ "20260816_3" is given anew every day on every machine."""
    _, runs = runs_of("goose", [{**HEAD, "id": "20260816_3"}, message("assistant", text("a"))])
    assert runs["20260816_3"].session is None


def test_a_ledger_has_a_row_each_model_call(tmp_path):
    """What it sums to stands in the session again: 90 and 10 and 0.5, which do not count then."""
    rows = [("m1", 50, 4, 20, 0.3, 0), ("m2", 40, 6, 30, 0.2, 0)]
    run = database(tmp_path / "sessions.db", rows)
    found = [(s.model, s.usage.input, s.usage.cache_read, s.usage.output) for s in run.steps]
    assert found == [("m1", 50, 20, 4), ("m2", 40, 30, 6)]
    assert [float(step.cost) for step in run.steps] == [0.3, 0.2]
    assert {step.usage.mark for step in run.steps} == {UsageMark.REPORTED}
    assert run.steps[0].at == 1_786_854_001.0


def test_a_compaction_in_the_ledger_is_no_response_of_the_model(tmp_path):
    rows = [("m1", 50, 4, 0, 0.3, 0), ("m1", 500, 9, 0, 0.1, 1), ("m1", 40, 6, 0, 0.2, 0)]
    run = database(tmp_path / "sessions.db", rows)
    assert [(s.kind.value, s.usage.total) for s in run.steps] == [
        ("model", 54),
        ("model", 46),
        ("compaction", 509),
    ]


def test_a_ledger_of_more_calls_than_messages_is_spread(tmp_path):
    """A call that failed and was made again was billed twice, and left one message."""
    rows = [("m1", 50, 4, 0, 0.3, 0), ("m1", 50, 0, 0, 0.1, 0), ("m1", 40, 6, 0, 0.2, 0)]
    run = database(tmp_path / "sessions.db", rows)
    assert tokens(run) == {"fresh_input": 140, "cache_read": 0, "output": 10}
    assert [float(step.cost) for step in run.steps] == [0.3, 0.3]
    assert {step.usage.mark for step in run.steps} == {UsageMark.ESTIMATED}
