"""`loopaudit convert` through the real program: what is written tells what was read."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "cli"))

from program import run

from loopaudit.findings import Report
from loopaudit.replay.audit import AuditOptions, audit

SAMPLES = Path(__file__).resolve().parents[2] / "sample_logs"
LOGS = (
    *("runaway.jsonl", "otel", "codex", "http_log/chat_requests.jsonl", "langfuse/trace.json"),
    *("openhands_v1/events.jsonl", "labelled_runs/runs.jsonl", "rules"),
)


def facts(path: Path) -> tuple:
    """Everything a report counts: totals and findings, but for paths and lines."""
    report: Report = audit(AuditOptions([str(path)], processes=1, now=2e9))
    totals = report.totals
    assert report.failures == []
    found = sorted((f.rule, f.onset.step, f.occurrences, f.waste.tokens) for f in report.findings)
    return (
        (totals.runs, totals.responses, totals.calls, totals.calls_failed),
        totals.tokens,
        totals.usd,
        totals.recorded_usd,
        found,
        sorted((run.id, run.parent or "", run.outcome or "") for run in report.runs),
    )


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
@pytest.mark.parametrize("log", LOGS)
def test_nothing_is_lost(tmp_path: Path, log: str, suffix: str) -> None:
    out = tmp_path / f"out.{suffix}"
    ended = run("convert", SAMPLES / log, out, "--no-redact")
    assert ended.code == 0, ended.err
    assert facts(out) == facts(SAMPLES / log)


def test_loops_stay_loops_when_it_is_redacted(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    ended = run("convert", SAMPLES / "runaway.jsonl", out)
    assert "replaced: 1 user" in ended.err
    assert facts(out)[:5] == facts(SAMPLES / "runaway.jsonl")[:5]
    assert "/home/<user-1>/" in out.read_text()


def test_what_is_written_twice_is_the_same(tmp_path: Path) -> None:
    one, two = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    run("convert", SAMPLES / "otel", one)
    run("convert", one, two)
    assert one.read_bytes() == two.read_bytes()


def test_atif_of_one_run_and_of_several(tmp_path: Path) -> None:
    one = tmp_path / "one.json"
    assert run("convert", SAMPLES / "otel/agent.otlp.jsonl", one).code == 0
    found = json.loads(one.read_text())
    assert found["schema_version"] == "ATIF-v1.7"
    assert [step["source"] for step in found["steps"]] == ["user", "agent", "agent", "agent"]
    first = found["steps"][1]
    assert first["tool_calls"] == [
        {
            "tool_call_id": "call_9f2e61aa",
            "function_name": "tide_table",
            "arguments": {"port": "Rilmouth"},
        }
    ]
    (result,) = first["observation"]["results"]
    assert result["content"] == "no port of that name: Rilmouth"
    assert result["extra"] == {"status": "error"}
    assert first["metrics"] == {"prompt_tokens": 180, "completion_tokens": 16}
    assert found["final_metrics"]["total_prompt_tokens"] == 700
    report = audit(AuditOptions([str(one)], processes=1, now=2e9))
    assert report.inputs[0].format == "atif"
    assert (report.totals.responses, report.totals.calls, report.totals.tokens.total) == (3, 2, 745)
    ended = run("convert", SAMPLES / "otel", tmp_path / "all.json")
    assert ended.code == 2
    assert "name a folder" in ended.err
    assert run("convert", SAMPLES / "otel", tmp_path / "all").code == 0
    assert len(list((tmp_path / "all").iterdir())) == 3


def test_to_stdout_and_what_cannot_be(tmp_path: Path) -> None:
    ended = run("convert", SAMPLES / "mlflow/trace.json", "-", "--quiet")
    assert ended.code == 0
    assert json.loads(ended.out.splitlines()[0]) == {"loopaudit": 1}
    assert run("convert", SAMPLES / "mlflow/trace.json", "-", "--to", "parquet").code == 2
    ended = run("convert", SAMPLES / "mlflow/trace.json", tmp_path / "no/where.jsonl")
    assert ended.code == 2
    (tmp_path / "x.jsonl").write_text('{"a": 1}\n')
    ended = run("convert", tmp_path / "x.jsonl", tmp_path / "y.jsonl")
    assert ended.code == 2
    assert "no reader knows this log" in ended.err


def test_a_damaged_parquet_file_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    path.write_bytes(b"PAR1" + b"\0" * 40)
    ended = run("report", path)
    assert ended.code == 2
    assert "a Parquet file that cannot be read" in ended.err
    assert "Traceback" not in ended.err


@pytest.mark.parametrize("link", [None, "symbolic", "hard"])
def test_a_log_is_never_written_over_by_itself(tmp_path: Path, link: str | None) -> None:
    log = tmp_path / "log.jsonl"
    log.write_bytes((SAMPLES / "runaway.jsonl").read_bytes())
    before, out = log.read_bytes(), log
    if link is not None:
        out = tmp_path / "link.jsonl"
        (os.symlink if link == "symbolic" else os.link)(log, out)
    ended = run("convert", log, out)
    assert ended.code == 2
    assert "written over" in ended.err
    assert log.read_bytes() == before


def test_nothing_read_leaves_what_stood_there(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").touch()
    out = tmp_path / "out.jsonl"
    out.write_text("kept", "utf-8")
    assert run("convert", tmp_path / "empty.jsonl", out).code == 2
    assert out.read_text("utf-8") == "kept"
