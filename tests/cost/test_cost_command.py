"""`loopaudit cost` through the real program: table, JSON, CSV, Parquet, budgets, reconciliation."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from datetime import UTC
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from billing import Record, audited, book, compacted, log, run, said, user

from loopaudit.cost.attribution import attribute
from loopaudit.cost.dimensions import NAMES
from loopaudit.render import cost_table
from loopaudit.render.screen import Screen

ROOT = Path(__file__).resolve().parents[2]
TOML = """
[[prices.model]]
model = "m1"
input = 1
output = 10
cache_read = 0.1
"""


def cost(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    wanted = {k: v for k, v in os.environ.items() if k not in ("TZ", "COLUMNS", "NO_COLOR")}
    return subprocess.run(
        [sys.executable, "-m", "loopaudit", "cost", *arguments],
        cwd=folder,
        env={**wanted, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        timeout=120,
        check=False,
    )


def text(folder: Path, *arguments: str, **environment: str) -> str:
    ended = cost(folder, *arguments, **environment)
    assert (ended.returncode, ended.stderr) == (0, b"")
    return ended.stdout.decode()


def document(folder: Path, *arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text(folder, *arguments, "-f", "json"))
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two sessions: one of $4.10, one of $0.001 and 5,000 tokens that have no price."""
    (tmp_path / "loopaudit.toml").write_text(TOML)
    log(
        tmp_path,
        "one",
        [
            run("one", session="one"),
            user("2026-03-28T23:00:00Z"),
            said("a", 1_000_000, 0, "read", "grep", at="2026-03-28T23:30:00Z"),
            said("b", 1_000_000, 200_000, read=1_000_000, at="2026-03-29T21:59:59Z"),
            compacted(),
            said("c", 0, at="2026-03-29T22:00:00Z"),
        ],
    )
    log(
        tmp_path,
        "two",
        [
            run("two", session="two"),
            said("d", 1_000, at="2026-03-29T12:00:00Z"),
            said("e", 5_000, model="nobody's", at="2026-03-29T12:00:01Z"),
        ],
    )
    return tmp_path


def test_the_table(folder: Path) -> None:
    shown = text(folder, "one.jsonl", "two.jsonl")
    assert "list prices of" in shown
    assert "not a bill" in shown
    assert shown.splitlines()[2:6] == [
        "           cost  resp.   fresh    read  output  unpriced",
        "one       $4.10      3  2.00 M  1.00 M   200 k",
        "two    ≥$0.0010      2   6,000               0     5,000",
        "total    ≥$4.10      5  2.01 M  1.00 M   200 k     5,000",
    ]
    assert "Lower bound: 5,000 tokens of 1 model not priced" in shown
    assert "In full: 3,206,000 tokens, $4.101\n" in shown


def test_rows_beyond_the_top_are_one_row(folder: Path) -> None:
    shown = text(folder, "one.jsonl", "two.jsonl", "--top", "1").splitlines()
    assert [line.split()[0] for line in shown[3:6]] == ["one", "1", "total"]
    assert shown[4].startswith("1 more  ≥$0.0010")
    assert shown[6] == "(--top 0 shows all)"


def test_the_zone_of_days_is_printed(folder: Path) -> None:
    berlin = text(folder, "one.jsonl", "--by", "day", "--tz", "Europe/Berlin")
    assert "in time zone Europe/Berlin" in berlin
    assert [line.split()[:2] for line in berlin.splitlines() if line.startswith("2026")] == [
        ["2026-03-29", "$4.10"],
        ["2026-03-30", "$0.00"],
    ]
    assert "in time zone UTC" in text(folder, "one.jsonl", "--by", "day", TZ="UTC")
    assert "in time zone UTC" in text(folder, "one.jsonl", "--by", "day", TZ="America/New_York")
    machine = text(folder, "one.jsonl", "--by", "day", "--tz", "local", TZ="America/New_York")
    assert "in time zone America/New_York" in machine
    assert [line.split()[:2] for line in machine.splitlines() if line.startswith("2026")] == [
        ["2026-03-29", "$3.10"],
        ["2026-03-28", "$1.00"],
    ]


def test_the_zone_of_the_settings_comes_before_the_machines(folder: Path) -> None:
    with (folder / "loopaudit.toml").open("a") as stream:
        stream.write('[report]\ntz = "Asia/Tokyo"\n')
    assert document(folder, "one.jsonl")["zone"] == "Asia/Tokyo"


def test_recorded_cost_beside_the_computed_one(folder: Path) -> None:
    """$0.10 and $0.0021 recorded, $0.11 and $0.002 computed; a third has no price, a fourth no
    recorded cost: $0.112 less $0.1021 where both are known."""
    log(
        folder,
        "both",
        [
            run("both"),
            said("a", 110_000, cost="0.10"),
            said("b", 2_000, cost="0.0021"),
            said("c", 7_000, model="nobody's", cost="0.5"),
            said("d", 1_000_000),
        ],
    )
    shown = " ".join(text(folder, "both.jsonl").split())
    assert (
        "In full: 1,119,000 tokens, $1.112, $0.6021 by the logs themselves,"
        " $0.0099 more than they record where they do"
    ) in shown
    row = document(folder, "both.jsonl")["total"]
    assert (row["recorded_usd"], row["listed_less_recorded_usd"]) == ("0.6021", "0.0099")
    assert document(folder, "one.jsonl")["total"]["listed_less_recorded_usd"] is None


@pytest.mark.parametrize("width", [72, 80, 120])
@pytest.mark.parametrize("by", [*NAMES, "day,model"])
def test_no_line_is_wider_than_the_screen(folder: Path, by: str, width: int) -> None:
    records: list[Record] = [
        run("three", project="/" + "deep/" * 30, agent="x" * 70),
        said("f", 1_000_000_000, 123_456_789, "t" * 60, read=999_999_999, cost="12345.678"),
    ]
    log(folder, "three", records)
    report, runs = audited(folder)
    found = attribute(runs, by.split(","), UTC, book(), report)
    shown = list(cost_table.lines(found, report.totals, Screen(width)))
    assert max(map(len, shown)) <= width
    assert "$12,345.68" in "".join(shown)


def test_text_of_a_log_is_inert(folder: Path) -> None:
    log(folder, "evil", [run("evil", project="::error::\x1b[2J\u202e\n"), said("g", 1_000)])
    shown = text(folder, "evil.jsonl", "--by", "project")
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert not any(line.lstrip().startswith("::") for line in shown.splitlines())


def test_what_is_nowhere_known_is_said(folder: Path) -> None:
    shown = text(folder, "one.jsonl", "--by", "host")
    assert "host: not in these logs" in shown
    assert document(folder, "one.jsonl", "--by", "host")["not_in_these_logs"] == ["host"]


# -- for machines ---------------------------------------------------------------------------------


def test_json_has_full_figures(folder: Path) -> None:
    found = document(folder, "one.jsonl", "two.jsonl", "--by", "model")
    assert (found["schema_version"], found["by"]) == ("1", ["model"])
    rows = {row["model"]: row for row in found["rows"]}
    assert rows["m1"]["usd"] == "4.101"
    assert (rows["m1"]["tokens"], rows["m1"]["cache_read_tokens"]) == (3_201_000, 1_000_000)
    assert (rows["nobody's"]["usd"], rows["nobody's"]["unpriced_tokens"]) == (None, 5_000)
    assert rows["nobody's"]["completeness"] == "lower_bound"
    assert found["total"]["tokens"] == 3_206_000


@pytest.mark.parametrize("by", ["model", "task-type", "tool", "agent", "host"])
def test_csv_and_parquet_say_what_json_says(folder: Path, by: str) -> None:
    arguments = ("one.jsonl", "two.jsonl", "--by", by)
    rows = document(folder, *arguments)["rows"]
    flat = list(csv.DictReader(io.StringIO(text(folder, *arguments, "-f", "csv"))))
    assert flat == [{k: "" if v is None else str(v) for k, v in row.items()} for row in rows]
    text(folder, *arguments, "-f", "parquet", "-o", "out.parquet")
    frame = pl.read_parquet(folder / "out.parquet")
    for row, other in zip(rows, frame.to_dicts(), strict=True):
        for name, value in row.items():
            if "usd" in name and value is not None:
                assert other[name] == Decimal(value)
            else:
                assert other[name] == value
    assert frame["usd"].sum() == Decimal("4.101")


def test_parquet_may_go_through_a_pipe(folder: Path) -> None:
    ended = cost(folder, "one.jsonl", "-f", "parquet")
    assert pl.read_parquet(io.BytesIO(ended.stdout))["tokens"].to_list() == [3_200_000]


def test_no_rows_still_have_columns(folder: Path) -> None:
    log(folder, "none", [run("none"), user()])
    for name in ("csv", "parquet"):
        ended = cost(folder, "none.jsonl", "--since", "2099-01-01", "-f", name, "-o", f"o.{name}")
        assert ended.returncode == 3  # nothing measured
    header = (folder / "o.csv").read_text().splitlines()
    assert header[0].startswith("session,responses,")
    assert pl.read_parquet(folder / "o.parquet").columns == header[0].split(",")


# -- budgets --------------------------------------------------------------------------------------


def test_a_budget_names_the_steps(folder: Path) -> None:
    shown = text(folder, "one.jsonl", "two.jsonl", "--budget", "$1.50", "--tz", "UTC")
    lines = [line.strip() for line in shown.split("BUDGET", 1)[1].splitlines()]
    assert lines == [
        "$1.50 of everything: REACHED; at least $4.10 spent, 273 %",
        "60 %  step 1 of one, 2026-03-28 23:30:00 UTC  one.jsonl:4",
        "$1.00 up to it, $3.10 after it, in 4 steps",
        "100 %  step 2 of one, 2026-03-29 21:59:59 UTC  one.jsonl:5",
        "$4.10 up to it, $0.00 after it, in 1 step",
    ]


def test_unpriced_tokens_and_a_money_budget(folder: Path) -> None:
    shown = text(folder, "one.jsonl", "two.jsonl", "--budget", "100")
    assert "BUDGET $100.00 of everything: CANNOT SAY; at least $4.10 spent, 4 %" in shown
    assert "cannot say: 5,000 tokens have no price" in shown
    assert "WITHIN" in text(folder, "one.jsonl", "--budget", "100")


def test_budgets_in_json(folder: Path) -> None:
    with (folder / "loopaudit.toml").open("a") as stream:
        stream.write("[budgets.run]\nusd = 4.10\n")
    arguments = ("one.jsonl", "--budget-tokens", "10_000_000".replace("_", ""))
    found = document(folder, *arguments)["budgets"]
    assert [(b["scope"], b["limit"], b["spent"], b["verdict"], b["over"]) for b in found] == [
        ("run", "4.1", "4.1", "reached", False),
        ("service", 10_000_000, 3_200_000, "within", False),
    ]
    assert (found[0]["reached"]["step"], found[0]["reached"]["line"]) == (1, 5)
    assert found[0]["reached"]["at"] == "2026-03-29T21:59:59Z"
    assert found[1]["reached"] is None


# -- reconciliation -------------------------------------------------------------------------------


def test_logs_beside_an_export(folder: Path) -> None:
    (folder / "export.csv").write_text(
        "date,model,cost\n2026-03-28,m1,1.50\n2026-03-29,m1,3.101\n2026-03-29,other,0.40\nx,m1,1\n"
    )
    arguments = ("one.jsonl", "two.jsonl", "--reconcile", "export.csv")
    shown = text(folder, *arguments)
    assert [line.split() for line in shown.splitlines() if line.startswith("  ")] == [
        ["day", "model", "logs", "export", "difference"],
        ["2026-03-28", "m1", "$1.00", "$1.50", "+$0.50"],
        ["2026-03-29", "other", "none", "$0.40", "+$0.40"],
        ["2026-03-29", "nobody's", "unknown", "none", "unknown"],
        ["2026-03-29", "m1", "$3.10", "$3.10", "$0.00"],
        ["total", "$4.10", "$5.00", "+$0.90"],
    ]
    assert "No log explains $0.90; of 1 day and model there is no log at all" in shown
    assert "1 row of the export could not be read: line 5" in shown
    found = document(folder, *arguments)
    assert found["unexplained"]["usd"] == "0.9"
    flat = list(csv.DictReader(io.StringIO(text(folder, *arguments, "-f", "csv"))))
    assert [row["difference_usd"] for row in flat] == ["0.5", "0", "", "0.4"]


# -- what is typed wrong --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--by", "modell"), "did you mean 'model'?"),
        (("--by", ""), "--by"),
        (("--budget", "much"), "no amount of money"),
        (("--budget", "-5"), "no amount of money"),
        (("--budget", "NaN"), "no amount of money"),
        (("--tz", "Mars/Base"), "unknown time zone"),
        (("--reconcile", "nothing.csv"), "No such file"),
        (("--reconcile", "one.jsonl"), "no column for the day"),
    ],
)
def test_usage_errors(folder: Path, arguments: tuple[str, ...], says: str) -> None:
    ended = cost(folder, "one.jsonl", *arguments)
    assert ended.returncode == 2
    assert ended.stdout == b""
    assert says in ended.stderr.decode()


def test_help_costs_no_heavy_import(folder: Path) -> None:
    code = (
        "import sys\nfrom loopaudit.cli.app import run\n"
        "try: run(['cost', '--help'])\nexcept SystemExit: pass\n"
        "heavy = {'polars', 'numpy', 'pydantic', 'genai_prices', 'matplotlib'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT, stdout=subprocess.DEVNULL)


def test_polars_only_for_parquet(folder: Path) -> None:
    code = (
        "import sys\nfrom loopaudit.cli.app import run\n"
        "run(['cost', 'one.jsonl', '-f', 'csv'])\nassert 'polars' not in sys.modules"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        cwd=folder,
        env=environment,
        stdout=subprocess.DEVNULL,
    )
