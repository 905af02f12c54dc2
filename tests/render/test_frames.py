"""Tables for notebooks: they add up to the report; exact money; unknown is null; SQL over them."""

from __future__ import annotations

import json
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest

from loopaudit.cli.tables import answer
from loopaudit.render import frames
from loopaudit.replay.audit import AuditOptions, analyse

SAMPLES = Path(__file__).resolve().parents[2] / "sample_logs"


@pytest.fixture(scope="module")
def audited() -> tuple[object, dict[str, pl.DataFrame]]:
    report, items = analyse(AuditOptions([str(SAMPLES)], processes=1, now=2e9))
    return report, {
        "runs": frames.runs(report),
        "steps": frames.steps(items),
        "findings": frames.findings(report),
    }


def test_they_add_up_to_the_report(audited: tuple[object, dict[str, pl.DataFrame]]) -> None:
    report, tables = audited
    totals = report.totals  # type: ignore[attr-defined]
    runs, steps, findings = tables["runs"], tables["steps"], tables["findings"]
    assert runs.height == totals.runs
    assert runs["tokens"].sum() == steps["tokens"].sum() == totals.tokens.total
    assert runs["usd"].sum() == steps["usd"].sum() == totals.usd
    assert runs["waste_usd"].sum() == totals.waste.usd
    assert runs["calls"].sum() == steps["calls"].sum() == totals.calls
    assert findings.height == len(report.findings)  # type: ignore[attr-defined]
    assert runs["loops"].sum() == findings.height
    assert steps.filter(~pl.col("compaction")).height == totals.responses


def test_types_and_nulls(audited: tuple[object, dict[str, pl.DataFrame]]) -> None:
    _, tables = audited
    assert dict(tables["runs"].schema) == frames.RUNS
    assert dict(tables["steps"].schema) == frames.STEPS
    assert dict(tables["findings"].schema) == frames.FINDINGS
    steps = tables["steps"]
    absent = steps.filter(pl.col("usage") == "absent")
    assert absent.height
    assert absent["tokens"].null_count() == absent.height
    assert absent["usd"].null_count() == absent.height
    assert not (steps["tokens"] < 0).any()
    assert not (steps["usd"] < 0).any()


def test_an_empty_report_has_the_columns(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text('{"loopaudit": 1}\n', encoding="utf-8")
    report, items = analyse(AuditOptions([str(tmp_path)], processes=1, now=2e9))
    assert dict(frames.steps(items).schema) == frames.STEPS
    assert dict(frames.runs(report).schema) == frames.RUNS


def test_money_to_the_last_digit(tmp_path: Path) -> None:
    # claude-haiku-4-5: $1 a million in, $5 out; 1 in and 1 out cost $0.000006
    log = tmp_path / "x.jsonl"
    line = {
        "type": "response",
        "id": "a",
        "model": "claude-haiku-4-5",
        "at": "2026-01-05T00:00:00Z",
    }
    log.write_text(
        json.dumps(line | {"usage": {"fresh_input": 1, "output": 1}}) + "\n", encoding="utf-8"
    )
    _, items = analyse(AuditOptions([str(log)], processes=1, now=2e9))
    frame = frames.steps(items)
    assert frame["usd"].to_list() == [Decimal("0.000006")]
    assert str(frame["at"][0]) == "2026-01-05 00:00:00+00:00"


def test_sql(audited: tuple[object, dict[str, pl.DataFrame]]) -> None:
    _, tables = audited
    got = answer("SELECT rule, waste_tokens FROM findings WHERE waste_tokens > 1000000", tables)
    assert got.rows() == [("cycle", 5_745_072)]
    joined = answer(
        "SELECT COUNT(*) AS n FROM steps s JOIN runs r ON r.run = s.run AND r.loops > 0", tables
    )
    assert joined["n"][0] > 100


def loopaudit(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "loopaudit", *arguments], capture_output=True, text=True, timeout=120
    )


def test_export_and_query_as_commands(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    runaway = str(SAMPLES / "runaway.jsonl")
    for kind in ("csv", "parquet"):
        done = loopaudit("export", runaway, "-o", str(folder), "-f", kind)
        assert done.returncode == 0
        assert "wrote 1 runs, 97 steps, 1 findings" in done.stderr
    again = pl.read_parquet(folder / "steps.parquet")
    assert str(again["usd"].sum()).startswith("11.2")
    head = (folder / "runs.csv").read_text(encoding="utf-8").splitlines()[0]
    assert head == ",".join(frames.RUNS)
    done = loopaudit("query", "SELECT SUM(tokens) AS t FROM steps", runaway, "-f", "csv")
    assert done.stdout == "t\n6680561\n"
    done = loopaudit("query", "SELECT SUM(tokens) AS t FROM steps", runaway, "-f", "json")
    assert json.loads(done.stdout) == [{"t": 6_680_561}]
    done = loopaudit("query", "DROP TABLE runs; SELECT", runaway)
    assert done.returncode == 2
    assert done.stderr.startswith("loopaudit: query: ")
    assert "Traceback" not in done.stderr
