"""Spark says what one machine says, row by row, however the logs lie."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from logs import build

from loopaudit.errors import InputError, UsageError
from loopaudit.findings import Report
from loopaudit.replay.audit import AuditOptions, audit

pytestmark = pytest.mark.spark
NOW = 1_796_100_000.0


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("logs"))


@pytest.fixture(scope="module")
def results(cluster: Any, logs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What two executors made of all logs."""
    from loopaudit.spark import audit_paths

    out = tmp_path_factory.mktemp("out") / "results"
    guards = ("loopaudit", "fuses:demo", "backstop")
    audit_paths(cluster, [str(logs)], guards=guards).write.parquet(str(out))
    return out


def reported(*paths: Path, **more: Any) -> Report:
    return audit(AuditOptions([str(path) for path in paths], now=NOW, **more))


def same(one: Report, other: Report) -> None:
    """Equal in every field, but for the paths that were asked for."""
    for field in dataclasses.fields(Report):
        mine, theirs = getattr(one, field.name), getattr(other, field.name)
        if field.name == "meta":
            mine, theirs = ({**meta, "paths": None} for meta in (mine, theirs))
        assert mine == theirs, field.name


def test_the_report_is_the_local_one(logs: Path, results: Path) -> None:
    local = reported(logs)
    # by hand: a 20, b 2 of its own, c 15, d 10, e 1; the rest are the samples
    mine = [run for run in local.runs if run.path.split("/")[-2] in "pqrsu"]
    assert sum(run.steps for run in mine) == 20 + 2 + 15 + 10 + 1
    assert local.totals.duplicates_removed >= 10 + 10 + 10
    assert len(local.findings) > 3
    assert local.skips
    same(reported(results), local)


def test_other_guards_that_were_asked_for(logs: Path, results: Path) -> None:
    for guards in (("fuses:demo",), ("backstop", "loopaudit")):
        same(reported(results, guards=guards), reported(logs, guards=guards))


def test_a_window_of_time(logs: Path, results: Path) -> None:
    since = 1_795_169_100.0  # 2026-11-20 10:05
    local = reported(logs, since=since)
    assert local.totals.responses < reported(logs).totals.responses
    same(reported(results, since=since), local)


def test_rows_tell_what_is_each_runs_own(logs: Path, results: Path) -> None:
    import polars as pl

    table = pl.read_parquet(results / "*.parquet").filter(pl.col("run").is_not_null())
    totals = reported(logs).totals
    sums = table.select("responses", "calls", "tokens", "fresh_input", "output").sum().row(0)
    tokens = totals.tokens
    assert sums == (
        totals.responses,
        totals.calls,
        tokens.total,
        tokens.fresh_input,
        tokens.output,
    )
    fork = table.filter(pl.col("run") == "bbbbbbbb-2222").row(0, named=True)
    assert (fork["responses"], fork["inherited"], fork["tokens"]) == (2, 10, 2 * 1150)


def test_lines_scattered_over_many_files(cluster: Any, logs: Path, tmp_path: Path) -> None:
    """Every line by itself, shuffled, in files that have nothing to do with the logs."""
    import random

    import polars as pl

    from loopaudit.spark import audit_lines

    kept = [path for path in sorted(logs.rglob("*.jsonl")) if path.stat().st_size]
    rows = [
        (str(path), number, text)
        for path in kept
        for number, text in enumerate(path.read_bytes().split(b"\n"), 1)
        if text
    ]
    random.Random(7).shuffle(rows)
    (tmp_path / "in").mkdir()
    for part in range(7):
        frame = pl.DataFrame(rows[part::7], schema=["file", "nr", "raw"], orient="row")
        frame.write_parquet(tmp_path / "in" / f"{part}.parquet")
    scattered = cluster.read.parquet(str(tmp_path / "in"))
    found = audit_lines(scattered, path="file", line="nr", text="raw")
    out = tmp_path / "out"
    found.write.parquet(str(out))
    local, there = reported(*kept), reported(out)
    for one in (local, there):  # a table does not tell whether a last line had its end
        for summary in one.inputs:
            summary.bytes = None
    same(there, local)


def test_our_own_records_from_a_table(cluster: Any, logs: Path, tmp_path: Path) -> None:
    from loopaudit.spark import audit_records

    target = tmp_path / "records.parquet"
    source = logs / "rules" / "cycle.trips.jsonl"
    command = [sys.executable, "-m", "loopaudit", "convert", "--no-redact", "-q"]
    subprocess.run([*command, str(source), str(target)], check=True)
    out = tmp_path / "out"
    audit_records(cluster.read.parquet(str(target))).write.parquet(str(out))
    there, local = reported(out), reported(source)
    assert there.totals == local.totals
    assert _told(there) == _told(local)


def _told(report: Report) -> list[tuple[str, int, int]]:
    return [(f.rule, f.occurrences, f.onset.step) for f in report.findings]


COMMANDS = [
    ("tune", "--format", "json"),
    ("check", "--format", "json"),
    ("cost", "--format", "json"),
    ("chart", "-o", "chart.svg"),
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_commands_take_results_for_logs(
    logs: Path, results: Path, tmp_path: Path, command: tuple[str, ...]
) -> None:
    def ran(paths: Path) -> tuple[int, str, bytes]:
        name, *rest = command
        ended = subprocess.run(
            [sys.executable, "-m", "loopaudit", name, str(paths), *rest, "--no-cache"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        drawn = tmp_path / "chart.svg"
        picture = drawn.read_bytes() if drawn.exists() else b""
        return ended.returncode, ended.stdout.replace(str(paths), str(logs)), picture

    (tmp_path / "loopaudit.toml").write_text("[check.limits]\nsteps_per_run = 19\n")
    there, here = ran(results), ran(logs)
    assert here[1] or here[2]
    assert there == here


def test_results_and_logs_together(logs: Path, results: Path, tmp_path: Path) -> None:
    more = tmp_path / "more.jsonl"
    more.write_bytes((logs / "rules" / "cycle.trips.jsonl").read_bytes())
    both = reported(results, more)
    assert both.totals.runs == reported(logs).totals.runs + 1


def test_what_cannot_be_taken_is_said(results: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"made without watchdog.*--guard watchdog"):
        reported(results, guards=("watchdog",))
    with pytest.raises(UsageError, match="made with or without --excerpts"):
        reported(results, excerpts=True)
    with pytest.raises(UsageError, match=r"other settings \(count tokens\)"):
        reported(results, estimate=True)
    part = max(results.glob("*.parquet"), key=lambda path: path.stat().st_size)
    broken = tmp_path / "part-0.parquet"
    data = bytearray(part.read_bytes())
    data[len(data) // 2 : len(data) // 2 + 2000] = bytes(2000)
    broken.write_bytes(data)
    with pytest.raises(InputError, match=r"part-0\.parquet: (results that|broken results)"):
        reported(broken)


def test_the_command(logs: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = [sys.executable, "-m", "loopaudit", "spark", "--master", "local[2]"]
    command += ["--conf", "spark.sql.shuffle.partitions=2", "-o", str(out)]
    ended = subprocess.run(
        [*command, str(logs / "q")], capture_output=True, text=True, timeout=500, check=False
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr.splitlines()[-1] == f"loopaudit: wrote 1 runs to {out}"
    assert json.loads(json.dumps(reported(out).totals.runs)) == 1
    again = subprocess.run(
        [*command, str(logs / "q")], capture_output=True, text=True, timeout=60, check=False
    )
    assert (again.returncode, again.stderr.splitlines()[0]) == (
        2,
        f"loopaudit: -o {out}: is there already",
    )
