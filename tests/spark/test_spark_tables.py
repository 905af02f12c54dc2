"""The functions that the executors run, without Spark: whole sessions in, results out."""

from __future__ import annotations

import dataclasses
import random
from pathlib import Path
from typing import Any

import pytest
from logs import claude_lines, write

from loopaudit.errors import InputError, UsageError
from loopaudit.ingest.sources import discover
from loopaudit.replay.audit import AuditOptions, audit, make_plan
from loopaudit.replay.stored import made_with

pytestmark = pytest.mark.spark
NOW = 1_796_900_000.0


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    write(tmp_path / "logs" / "a.jsonl", claude_lines("aaaaaaaa-1111", 0, 8))
    copied = claude_lines("bbbbbbbb-2222", 0, 5, "aaaaaaaa-1111")
    write(tmp_path / "logs" / "b.jsonl", copied + claude_lines("bbbbbbbb-2222", 30, 32))
    return tmp_path / "logs"


def lines_of(logs: Path) -> Any:
    pa = pytest.importorskip("pyarrow")
    from loopaudit.spark.tables import LINES

    rows = [
        {"unit": unit, "part": 0, "path": str(path), "line": number, "text": text}
        for unit, path in enumerate(sorted(logs.iterdir()))
        for number, text in enumerate(path.read_bytes().splitlines(), 1)
    ]
    random.Random(3).shuffle(rows)
    return pa.Table.from_pylist(rows, schema=LINES)


def saved(table: Any, folder: Path) -> Path:
    from pyarrow import parquet

    folder.mkdir()
    parquet.write_table(table.drop_columns(["claims", "began", "ties"]), folder / "part.parquet")
    return folder


def test_shuffled_lines_give_the_report_of_the_logs(logs: Path, tmp_path: Path) -> None:
    from loopaudit.spark.tables import audit_lines

    plan = make_plan(AuditOptions([]))
    table = audit_lines(lines_of(logs), plan, made_with(plan, [], 0))
    there = audit(AuditOptions([str(saved(table, tmp_path / "out"))], now=NOW))
    here = audit(AuditOptions([str(logs)], now=NOW))
    assert (here.totals.responses, here.totals.duplicates_removed) == (8 + 2, 5)
    for field in dataclasses.fields(here):
        if field.name != "meta":
            assert getattr(there, field.name) == getattr(here, field.name), field.name


def test_inputs_are_read_from_where_they_lie(logs: Path) -> None:
    import pyarrow as pa

    from loopaudit.spark.tables import INPUTS, audit_inputs, audit_lines

    rows = [
        {"unit": n, "part": 0, "path": s.path, "size": s.size, "mtime": s.mtime, "named": False}
        for n, s in enumerate(discover([str(logs)]).sources)
    ]
    plan = make_plan(AuditOptions([]))
    found = audit_inputs(pa.Table.from_pylist(rows, schema=INPUTS), plan, "{}")
    scattered = audit_lines(lines_of(logs), plan, "{}")
    told = [name for name in found.column_names if name != "result"]
    assert found.select(told).to_pylist() == scattered.select(told).to_pylist()


def test_a_response_is_one_runs_own(logs: Path) -> None:
    from loopaudit.spark.tables import audit_lines, own

    plan = make_plan(AuditOptions([]))
    table = audit_lines(lines_of(logs), plan, "{}")
    before = {r["run"]: r["responses"] for r in table.to_pylist() if r["run"]}
    after = {r["run"]: (r["responses"], r["inherited"]) for r in own(table).to_pylist() if r["run"]}
    assert before == {"aaaaaaaa-1111": 8, "bbbbbbbb-2222": 7}
    assert after == {"aaaaaaaa-1111": (8, 0), "bbbbbbbb-2222": (2, 5)}
    ties = [set(r["ties"]) for r in table.to_pylist() if r["run"]]
    assert len(ties[0] & ties[1]) == 5  # by the five responses, and nothing else


def test_results_that_do_not_fit(logs: Path, tmp_path: Path) -> None:
    from loopaudit.spark.tables import audit_lines

    plan = make_plan(AuditOptions([]))
    table = audit_lines(lines_of(logs), plan, made_with(plan, [], 0))
    out = saved(table, tmp_path / "out")
    with pytest.raises(UsageError, match=r"made without watchdog.*--guard watchdog"):
        audit(AuditOptions([str(out)], guards=("watchdog",)))
    with pytest.raises(UsageError, match="made with or without --excerpts"):
        audit(AuditOptions([str(out)], excerpts=True))
    some = saved(table.filter(table["run"].is_valid()), tmp_path / "some")
    with pytest.raises(InputError, match="some results are missing"):
        audit(AuditOptions([str(some)]))


def test_bytes_of_another_make_run_nothing(logs: Path, tmp_path: Path) -> None:
    import pickle

    import pyarrow as pa

    from loopaudit.spark.tables import RESULTS, audit_lines

    class Bomb:
        def __reduce__(self) -> Any:
            return print, ("boom",)

    plan = make_plan(AuditOptions([]))
    rows = audit_lines(lines_of(logs), plan, made_with(plan, [], 0)).to_pylist()
    rows[1]["result"] = pickle.dumps(Bomb())
    out = saved(pa.Table.from_pylist(rows, schema=RESULTS), tmp_path / "out")
    with pytest.raises(InputError, match=r"part\.parquet: broken results"):
        audit(AuditOptions([str(out)]))
