"""Copilot CLI: split responses, calls told twice, totals at shutdown, sub-agents in one file."""

import sqlite3

from coding_files import attempts, kinds, run_of, runs_of, statuses, tokens, write_lines

from loopaudit.model import UsageMark
from loopaudit.replay.audit import AuditOptions, audit

SESSION = "0c6f2a1b-9999-4000-8000-000000000001"


class Log:
    """Events of a session, numbered as they are added."""

    def __init__(self):
        self.events = []
        self.add("session.start", sessionId=SESSION, context={"cwd": "/w"}, copilotVersion="1.0")

    def add(self, kind, **data):
        number = len(self.events)
        at = f"2026-06-01T12:{number // 60:02}:{number % 60:02}Z"
        self.events.append({"type": kind, "data": data, "id": f"e{number}", "timestamp": at})
        return self

    def answer(self, key, output=None, calls=(), model="gpt-5", **more):
        requests = [{"toolCallId": c, "name": "bash", "arguments": {"command": c}} for c in calls]
        data = {
            "apiCallId": key,
            "content": f"text of {key}",
            "toolRequests": requests,
            "model": model,
        }
        if output is not None:
            data["outputTokens"] = output
        return self.add("assistant.message", **data, **more)

    def done(self, call, text="ok", **more):
        return self.add(
            "tool.execution_complete",
            toolCallId=call,
            success=True,
            result={"content": text},
            **more,
        )

    def shutdown(self, **models):
        metrics = {}
        for model, (sent, read, output) in models.items():
            used = {"inputTokens": sent, "cacheReadTokens": read, "outputTokens": output}
            metrics[model] = {"requests": {"count": 1}, "usage": used}
        return self.add("session.shutdown", modelMetrics=metrics)


def test_events_of_one_api_call_are_one_response():
    log = Log().answer("call-a").answer("call-a", 30, ["c1", "c2"]).done("c2").done("c1")
    run = run_of("copilot_cli", log.events)
    assert len(run.steps) == 1
    assert statuses(run) == ["ok", "ok"]
    assert tokens(run) == {"output": 30}
    assert run.steps[0].usage.mark is UsageMark.REPORTED


def test_a_call_told_by_its_message_and_its_execution_is_one():
    log = Log().answer("a", 5, ["c1"])
    log.add(
        "tool.execution_start", toolCallId="c1", toolName="bash", arguments={"command": "c1"}
    ).done("c1")
    run = run_of("copilot_cli", log.events)
    assert statuses(run) == ["ok"]
    assert run.duplicates == 0


def test_an_execution_may_come_before_its_message_or_without_one():
    """Events out of order: the call is counted once, in the response that asked for it."""
    log = Log().add(
        "tool.execution_start", toolCallId="c1", toolName="bash", arguments={"command": "c1"}
    )
    log.answer("a", 5, ["c1"]).done("c1").add("assistant.turn_end")
    log.add("tool.execution_start", toolCallId="c9", toolName="bash", arguments={}).done(
        "c9", "late"
    )
    run = run_of("copilot_cli", log.events)
    assert [len(step.calls) for step in run.steps] == [1, 1]
    assert statuses(run) == ["ok", "ok"]
    assert run.orphan_results == 0


def test_the_totals_of_the_shutdown_are_spread_and_add_up():
    log = (
        Log().answer("a", 10).answer("b", 20).answer("c", 30).shutdown(**{"gpt-5": (1000, 400, 60)})
    )
    run = run_of("copilot_cli", log.events)
    assert tokens(run) == {"fresh_input": 600, "cache_read": 400, "output": 60}
    assert [step.usage.fresh_input for step in run.steps] == [200, 200, 200]
    assert [step.usage.cache_read for step in run.steps] == [134, 133, 133]
    assert {step.usage.mark for step in run.steps} == {UsageMark.ESTIMATED}


def test_a_resumed_session_has_cumulative_totals_that_count_once():
    log = Log().answer("a", 10).shutdown(**{"gpt-5": (100, 0, 10)})
    log.add("session.resume", resumeTime="x").answer("b", 20).shutdown(**{"gpt-5": (300, 0, 30)})
    run = run_of("copilot_cli", log.events)
    assert tokens(run) == {"fresh_input": 300, "cache_read": 0, "output": 30}
    assert kinds(run) == ["resume"]


def test_the_counter_begins_anew_after_a_compaction():
    log = Log().answer("a", 10).shutdown(**{"gpt-5": (100, 0, 10)})
    log.add(
        "session.compaction_complete",
        success=True,
        compactionTokensUsed={"input": 50, "output": 5, "cachedInput": 20},
    )
    log.answer("b", 20).shutdown(**{"gpt-5": (70, 0, 20)})
    run = run_of("copilot_cli", log.events)
    assert [step.kind.value for step in run.steps] == ["model", "compaction", "model"]
    assert tokens(run) == {"fresh_input": 170 + 30, "cache_read": 20, "output": 30 + 5}
    assert kinds(run) == ["compaction"]


def test_each_model_has_its_own_total():
    log = Log().answer("a", 1, model="m1").answer("b", 2, model="m2")
    log.shutdown(m1=(100, 40, 1), m2=(7, 0, 2))
    run = run_of("copilot_cli", log.events)
    assert [step.usage.input for step in run.steps] == [100, 7]


def test_the_older_form_of_the_totals_is_disjoint():
    log = Log().answer("a", 15)
    kinds_of = {"input": 100, "output": 15, "cache_read": 5, "cache_write": 0}
    details = {kind: {"tokenCount": amount} for kind, amount in kinds_of.items()}
    log.add("session.shutdown", modelMetrics={"gpt-5": {"requests": 1}}, tokenDetails=details)
    run = run_of("copilot_cli", log.events)
    assert tokens(run) == {
        "fresh_input": 100,
        "cache_read": 5,
        "cache_write_unsplit": 0,
        "output": 15,
    }


def test_how_calls_end():
    log = Log().answer("a", 1, ["1", "2", "3", "4"])
    log.done("1").done("2", "boom\n<exited with exit code 1>")
    for call, code in (("3", "failure"), ("4", "denied")):
        log.add(
            "tool.execution_complete",
            toolCallId=call,
            success=False,
            error={"message": "no", "code": code},
        )
    run = run_of("copilot_cli", log.events)
    assert statuses(run) == ["ok", "error", "error", "rejected"]
    assert run.calls[1].exit_code == 1


def test_a_sub_agent_in_the_same_file_is_a_run_of_its_own():
    log = Log().answer("a", 10, ["spawn"])
    log.add("subagent.started", toolCallId="spawn", agentName="explore")
    log.answer("s1", 7, ["inner"], parentToolCallId="spawn").done(
        "inner", parentToolCallId="spawn"
    ).done("spawn")
    _, runs = runs_of("copilot_cli", log.events)
    child = runs[f"{SESSION}/spawn"]
    assert (child.parent, child.parent_call, child.agent) == (SESSION, "spawn", "explore")
    assert (tokens(child), statuses(child)) == ({"output": 7}, ["ok"])
    assert (tokens(runs[SESSION]), statuses(runs[SESSION])) == ({"output": 10}, ["ok"])


def test_errors_aborts_and_injected_messages():
    log = Log().add("user.message", content="Go.")
    log.add(
        "user.message",
        content="<system_reminder>x</system_reminder>",
        source="instruction-discovery",
    )
    log.add("session.error", errorType="rate_limit", message="slow", statusCode=429)
    log.answer("a", 1).add("abort", reason="user initiated").add("session.truncation", tokenLimit=1)
    run = run_of("copilot_cli", log.events)
    assert kinds(run) == ["user", "reminder", "interrupt", "compaction"]
    assert [(a.http_status, a.code, a.gave_up) for a in attempts(run)] == [
        (429, "rate_limit", True)
    ]
    assert run.prompt == "Go."


# -- the store of sessions ------------------------------------------------------------------------


def store(folder, *rows):
    """`session-store.db` with rows of (input, cache read, output, call that started the agent)."""
    connection = sqlite3.connect(folder / "session-store.db")
    connection.executescript(
        "CREATE TABLE sessions (id TEXT, cwd TEXT, created_at TEXT);"
        "CREATE TABLE assistant_usage_events (id INTEGER PRIMARY KEY, session_id TEXT, model TEXT,"
        " input_tokens INTEGER, cache_read_tokens INTEGER, cache_write_tokens INTEGER,"
        " output_tokens INTEGER, parent_tool_call_id TEXT, created_at TEXT, finish_reason TEXT);"
    )
    connection.execute("INSERT INTO sessions VALUES (?, '/w', '2026-06-01T12:00:00Z')", (SESSION,))
    for sent, read, output, caller in rows:
        connection.execute(
            "INSERT INTO assistant_usage_events (session_id, model, input_tokens,"
            " cache_read_tokens, cache_write_tokens, output_tokens, parent_tool_call_id,"
            " created_at)"
            " VALUES (?, 'gpt-5', ?, ?, 0, ?, ?, '2026-06-01T12:00:05Z')",
            (SESSION, sent, read, output, caller),
        )
    connection.commit()
    connection.close()


def everything(folder):
    report = audit(AuditOptions([str(folder)], processes=1, now=2e9))
    assert (report.skips, report.failures) == ([], [])
    return report


def test_the_store_alone_tells_the_usage_of_every_request(tmp_path):
    store(tmp_path, (1000, 400, 10, None), (1200, 1000, 20, None), (50, 0, 5, "spawn"))
    report = everything(tmp_path)
    assert {run.id for run in report.runs} == {SESSION, f"{SESSION}/spawn"}
    found = report.totals.tokens
    assert (found.fresh_input, found.cache_read, found.output) == (850, 1400, 35)
    assert report.totals.responses == 3


def test_the_store_and_the_events_of_a_session_are_one(tmp_path):
    """Four rows: the two calls of the session, a title between them, and the sub-agent's call.
    The totals at shutdown are no longer needed."""
    store(
        tmp_path,
        (1000, 400, 10, None),
        (90, 0, 3, None),
        (1200, 1000, 20, None),
        (50, 0, 5, "spawn"),
    )
    log = Log().answer("api-call-0000000a", 10, ["spawn"])
    log.add("subagent.started", toolCallId="spawn", agentName="explore")
    log.answer("api-call-0000000s", 5, parentToolCallId="spawn").done("spawn")
    log.answer("api-call-0000000b", 20).shutdown(**{"gpt-5": (9999, 0, 35)})
    write_lines(tmp_path / "session-state" / SESSION / "events.jsonl", log.events)
    report = everything(tmp_path)
    found = report.totals.tokens
    assert (found.fresh_input, found.cache_read, found.output) == (600 + 90 + 200 + 50, 1400, 38)
    assert (report.totals.responses, report.totals.calls) == (3, 1)
    assert "estimated" not in " ".join(report.totals.reasons)
    parents = {run.id: run.parent for run in report.runs}
    assert parents == {SESSION: None, f"{SESSION}/spawn": SESSION}


def test_rows_that_do_not_fit_the_events_count_nothing_twice(tmp_path):
    store(tmp_path, (1000, 0, 7, None), (1000, 0, 8, None), (1000, 0, 9, None))
    log = Log().answer("api-call-0000000a", 10).answer("api-call-0000000b", 20)
    write_lines(tmp_path / "session-state" / SESSION / "events.jsonl", log.events)
    found = everything(tmp_path).totals
    assert (found.responses, found.tokens.output, found.tokens.fresh_input) == (2, 30, None)
