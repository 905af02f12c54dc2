"""A session that stands in two places counts once, whichever agent wrote it."""

import json
import shutil
from pathlib import Path

import pytest
from coding_files import write_lines
from test_kimi_cli import old_call, old_result, status, wire

from loopaudit.replay.audit import AuditOptions, audit

SAMPLES = Path(__file__).resolve().parents[2] / "sample_logs"


def totals(*paths):
    """Responses, calls, failed calls, tokens, and user messages that the runs hold."""
    report = audit(AuditOptions([str(path) for path in paths], processes=1, now=2e9))
    assert report.failures == []
    assert report.skips == []
    found = report.totals
    return found.responses, found.calls, found.calls_failed, found.tokens.total


@pytest.mark.parametrize(
    ("sample", "copy"),
    [
        ("gemini_cli/session-2026-03-04T09-10-5b2e7c11.json", "old.json"),
        ("gemini_cli/session-2026-04-02T16-20-91d0aa35.jsonl", "s.jsonl.bak"),
        ("qwen_code/e0c3b1f4-58d2-4b0c-9a6e-1f7d2c9b8a40.jsonl", "s.jsonl.1"),
        ("copilot_cli/d2b7f6c0-1e4a-4c55-8f0b-93a1c7e5d412/events.jsonl", "other/events.jsonl"),
        (
            "pi/2026-05-20T18-00-00-000Z_0199f0c2-5d7e-7a31-b8c4-6e2f1d0a9b57.jsonl",
            "s.jsonl.deleted.2026-05-21T10-00-00.000Z",
        ),
        ("openclaw_telemetry/telemetry.jsonl", "telemetry.jsonl.1"),
        ("opencode/export.json", "again.json"),
        ("goose/sessions.db", "backup/sessions.db"),
        ("crush/crush.db", "backup.sqlite"),
        ("factory_droid/stream.jsonl", "again.jsonl"),
        ("hermes/session_20260510.json", "again.json"),
        ("amp/T-5d8e1f20-7a4b-4c93-8e60-1b2c3d4e5f60.json", "again.json"),
    ],
)
def test_a_copy_beside_the_original(tmp_path, sample, copy):
    first, second = tmp_path / Path(sample).name, tmp_path / copy
    second.parent.mkdir(exist_ok=True)
    shutil.copy(SAMPLES / sample, first)
    alone = totals(first)
    shutil.copy(SAMPLES / sample, second)
    assert totals(tmp_path) == alone


def test_a_grok_session_in_two_folders(tmp_path):
    shutil.copytree(SAMPLES / "grok", tmp_path / "one")
    alone = totals(tmp_path)
    shutil.copytree(SAMPLES / "grok", tmp_path / "two")
    assert totals(tmp_path) == alone


def test_a_gemini_session_that_moved_from_one_document_to_lines(tmp_path):
    """The lines go on where the document ends: three responses, then one more."""
    sample = SAMPLES / "gemini_cli/session-2026-03-04T09-10-5b2e7c11.json"
    shutil.copy(sample, tmp_path)
    document = json.loads(sample.read_text("utf-8"))
    messages = document.pop("messages")
    more = {
        **messages[-1],
        "id": "a7c1e0d2-0b6f-4f0e-9d53-000000000009",
        "timestamp": "2026-03-04T09:12:00Z",
    }
    write_lines(tmp_path / "session.jsonl", [document, *messages, more])
    assert totals(tmp_path) == (4, 2, 1, 28_200 + 9_700)


def test_an_early_snapshot_of_a_session_adds_nothing(tmp_path):
    sample = SAMPLES / "pi/2026-05-20T18-00-00-000Z_0199f0c2-5d7e-7a31-b8c4-6e2f1d0a9b57.jsonl"
    shutil.copy(sample, tmp_path / "s.jsonl")
    lines = sample.read_text("utf-8").splitlines(keepends=True)
    (tmp_path / "early.jsonl").write_text("".join(lines[:5]), encoding="utf-8")
    assert totals(tmp_path) == (3, 2, 1, 9_460)


def test_an_opencode_session_in_the_database_and_in_the_folder_it_came_from(tmp_path):
    from test_opencode import MESSAGES, SES, database

    database(tmp_path / "opencode.db", *MESSAGES)
    alone = totals(tmp_path)
    for message in MESSAGES:
        info = message["info"]
        folder = tmp_path / "storage/message" / SES
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{info['id']}.json").write_text(json.dumps(info))
        for number, part in enumerate(message["parts"]):
            place = tmp_path / "storage/part" / info["id"]
            place.mkdir(parents=True, exist_ok=True)
            (place / f"prt_{number}.json").write_text(json.dumps({**part, "messageID": info["id"]}))
    head = tmp_path / "storage/session/p"
    head.mkdir(parents=True)
    (head / f"{SES}.json").write_text(json.dumps({"id": SES, "projectID": "p", "time": {}}))
    assert totals(tmp_path) == alone


def test_a_sub_agent_of_kimi_in_its_parents_file_and_in_its_own(tmp_path):
    session = tmp_path / "1bcbe023-4f7e-4971-9dc9-43b8756045b0"
    used = {"input_other": 9, "output": 1, "input_cache_read": 0, "input_cache_creation": 0}
    told = {"token_usage": used, "message_id": "chatcmpl-sub-000000001"}

    def inner(kind, payload):
        event = {"type": kind, "payload": payload}
        return wire("SubagentEvent", parent_tool_call_id="Agent_0", agent_id="a1", event=event)

    write_lines(
        session / "wire.jsonl",
        [
            wire("StepBegin", n=1),
            old_call("Agent_0"),
            status("chatcmpl-main-00000001"),
            inner("StepBegin", {"n": 1}),
            inner("StatusUpdate", told),
            old_result("Agent_0"),
        ],
    )
    alone = totals(tmp_path)
    assert alone == (2, 1, 0, 75 + 10)
    own = [
        wire("TurnBegin", user_input="Sub."),
        wire("StepBegin", n=1),
        wire("StatusUpdate", **told),
    ]
    write_lines(session / "subagents/a1/wire.jsonl", own)
    assert totals(tmp_path) == alone


@pytest.mark.parametrize(
    ("agent", "name", "content"),
    [
        (
            "gemini_cli",
            "logs.json",
            [{"sessionId": "s", "messageId": 0, "type": "user", "message": "Go."}],
        ),
        ("copilot_cli", "workspace.yaml", {"id": "s", "cwd": "/w", "branch": "main"}),
        ("pi", "sessions.json", {"agent:main:main": {"sessionId": "s", "updatedAt": 1}}),
        (
            "cline",
            "taskHistory.json",
            [{"id": "1", "ts": 1, "task": "Go.", "tokensIn": 5, "tokensOut": 6}],
        ),
        ("cline", "context_history.json", [[1, [0, []]]]),
        (
            "cline",
            "history_item.json",
            {"id": "1", "ts": 1, "task": "Go.", "tokensIn": 5, "tokensOut": 6},
        ),
        ("cline", "task_metadata.json", {"files_in_context": [], "model_usage": []}),
        (
            "factory_droid",
            "x.settings.json",
            {"tokenUsage": {"inputTokens": 1, "cacheCreationTokens": 2}},
        ),
        ("grok", "summary.json", {"session_summary": "s", "chat_format_version": 1}),
        ("kimi_cli", "state.json", {"agents": {}, "workDir": "/w"}),
    ],
)
def test_what_only_tells_of_sessions_is_known_and_counts_nothing(tmp_path, agent, name, content):
    (tmp_path / name).write_text(json.dumps(content), encoding="utf-8")
    report = audit(AuditOptions([str(tmp_path)], processes=1, now=2e9))
    assert (report.skips, report.runs) == ([], [])
    assert [entry.format for entry in report.inputs] == [agent]
    assert sum(report.inputs[0].records_ignored.values()) == 1
