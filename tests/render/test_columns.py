"""Every column of the tables is told with what it holds; a query's faults are one clear line."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from loopaudit.cli.tables import checked
from loopaudit.errors import UsageError
from loopaudit.render import frames
from loopaudit.render.columns import COLUMNS, columns

ROOT = Path(__file__).resolve().parents[2]


def program(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "loopaudit", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def test_every_column_is_told_and_no_other() -> None:
    tables = {"runs": frames.RUNS, "steps": frames.STEPS, "findings": frames.FINDINGS}
    assert {name: list(told) for name, told in COLUMNS.items()} == {
        name: list(schema) for name, schema in tables.items()
    }


def test_money_times_and_shares_have_units() -> None:
    for rows in columns().values():
        for row in rows:
            if row["type"] == "exact decimal":
                assert "USD" in row["holds"] or row["column"] == "waste_usd"
            if row["type"] == "time":
                assert "UTC" in row["holds"]
            if row["type"] == "number":
                assert "0 to 1" in row["holds"]


def test_the_command_prints_them() -> None:
    ended = program("schema", "tables")
    assert (ended.returncode, ended.stderr) == (0, "")
    for table, told in COLUMNS.items():
        assert f"{table}\n" in ended.stdout
        for name, holds in told.items():
            assert re.search(rf"^  {name} .*{re.escape(holds)}$", ended.stdout, re.M)
    assert max(map(len, ended.stdout.splitlines())) <= 110


@pytest.mark.parametrize(
    ("sql", "says"),
    [
        ("SELEC 1", "sql parser error: Expected: an SQL statement"),
        ("", "it is empty"),
        ("SELECT * FROM nope", "relation 'nope' was not found"),
        ("SELECT nope FROM runs", 'unable to find column "nope"'),
        ("SELECT r.nope FROM runs r JOIN steps s ON r.run = s.run", "no column named 'nope'"),
        ("SELECT foo(run) FROM runs", "unsupported function 'foo'"),
        ("SELECT 1; SELECT 2", "one (and only one) statement"),
        ("DROP TABLE runs", "tables are read, not changed"),
    ],
)
def test_a_fault_is_one_line_before_any_log_is_read(sql: str, says: str) -> None:
    with pytest.raises(UsageError) as raised:
        checked(sql)
    told = str(raised.value)
    assert says in told
    assert len(told) < 160
    assert "\n" not in told
    assert "plan" not in told


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT rule, COUNT(*) AS n FROM findings GROUP BY rule",
        "WITH dear AS (SELECT * FROM runs WHERE usd > 1) SELECT COUNT(*) FROM dear",
        "SELECT r.agent, SUM(s.tokens) FROM runs r JOIN steps s ON r.run = s.run GROUP BY r.agent",
        "SELECT run FROM runs WHERE usd = (SELECT MAX(usd) FROM runs)",
        "SHOW TABLES",
        "EXPLAIN SELECT * FROM runs",
    ],
)
def test_right_queries_pass(sql: str) -> None:
    checked(sql)


def test_faults_and_missing_paths_through_the_program() -> None:
    for arguments, says in (
        (("SELECT nope FROM runs", "sample_logs"), 'unable to find column "nope"'),
        (("SELECT run FROM runs", "no-such-path"), "no-such-path: no such file or directory"),
    ):
        ended = program("query", *arguments)
        assert ended.returncode == 2
        assert ended.stdout == ""
        lines = ended.stderr.splitlines()
        assert len(lines) == 2
        assert says in lines[0]
        assert lines[1].startswith("hint: ")


def test_the_query_of_the_readme_runs() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    [command] = re.findall(r"^loopaudit (query .+ PATHS)$", text, re.M)
    arguments = shlex.split(command.replace("PATHS", "sample_logs/runaway.jsonl"))
    ended = program(*arguments, "--format", "csv", "--quiet")
    # the sample session holds one loop, a cycle: its first screen in the README says so
    assert (ended.returncode, ended.stdout) == (0, "rule,n\ncycle,1\n")
