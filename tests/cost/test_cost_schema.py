"""The published schema of `cost` holds for what the program writes; columns have stated types."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import jsonschema
import polars as pl
import pytest
from billing import log, run, said, user

from loopaudit.cost.dimensions import NAMES

ROOT = Path(__file__).resolve().parents[2]
MONEY = pl.Decimal(38, 12)


def ran(folder: Path, *arguments: str) -> bytes:
    command = [sys.executable, "-m", "loopaudit", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, check=True).stdout


@pytest.fixture(scope="module")
def schema(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """As published, with every object closed: no key may be written that it does not name."""
    found = json.loads(ran(tmp_path_factory.mktemp("s"), "schema", "cost"))
    jsonschema.Draft202012Validator.check_schema(found)
    return closed(found)


def closed(schema: Any) -> Any:
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: closed(part) for key, part in schema.items()}
    if "properties" in found and "required" in found:
        found.setdefault("additionalProperties", False)
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three responses, one without a price; a sub-agent; a budget a task type, day and run."""
    log(
        tmp_path,
        "one",
        [
            run("one", session="one", task_type="research", project="/p", user="ada", host="h"),
            user(1_774_740_000),
            said("a", 1_000, 10, "read", "grep", at=1_774_740_000, model="claude-opus-4-5"),
            said("b", 2_000, 20, read=500, at=1_774_740_100, model="claude-opus-4-5"),
            said("c", 5_000, 5, at=1_774_740_200, model="nobody's"),
        ],
    )
    log(
        tmp_path,
        "two",
        [
            run("two", session="one", parent="one", agent="scout"),
            said("d", 100, 1, at=1_774_740_150, model="claude-opus-4-5"),
            said("e"),
        ],
    )
    (tmp_path / "loopaudit.toml").write_text(
        "[budgets.run]\nusd = 0.012\n[budgets.day]\ntokens = 3_000\n"
        "[budgets.task_types.research]\nusd = 1\n"
    )
    (tmp_path / "export.csv").write_text(
        "date,model,cost\n2026-03-28,claude-opus-4-5,1.50\n2026-03-28,other,0.40\nx,y,z\n"
    )
    return tmp_path


@pytest.mark.parametrize("by", [*NAMES, "day,model", "agent,tool,request"])
def test_every_division_fulfils_it(folder: Path, schema: Any, by: str) -> None:
    found = json.loads(ran(folder, "cost", ".", "--by", by, "-f", "json", "--budget", "0.01"))
    jsonschema.validate(found, schema)
    assert found["budgets"]
    assert found["rows"]


def test_reconciliation_fulfils_it(folder: Path, schema: Any) -> None:
    found = json.loads(ran(folder, "cost", ".", "--reconcile", "export.csv", "-f", "json"))
    jsonschema.validate(found, schema)
    assert found["unreadable"]


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d["total"].update(usd=1.5),  # money is text
        lambda d: d["total"].update(tokens="8,636"),
        lambda d: d["total"].pop("completeness"),
        lambda d: d["rows"][0].update(completeness="fine"),
        lambda d: d["rows"][0].update(planet="Mars"),
        lambda d: d.update(schema_version="2"),
        lambda d: d["budgets"][0].update(verdict="perhaps"),
    ],
)
def test_what_is_wrong_does_not(folder: Path, schema: Any, change: Any) -> None:
    found = json.loads(ran(folder, "cost", ".", "-f", "json"))
    change(found)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(found, schema)


@pytest.mark.parametrize("by", ["session", "run", "tool", "day,task-type"])
def test_columns_are_the_rows_of_the_schema(folder: Path, schema: Any, by: str) -> None:
    """Parquet: labels are text, money a decimal of twelve places, all else 64-bit integers."""
    told = schema["oneOf"][0]["properties"]["rows"]["items"]["properties"]
    ran(folder, "cost", ".", "--by", by, "-f", "parquet", "-o", "out.parquet")
    frame = pl.read_parquet(folder / "out.parquet")
    header = ran(folder, "cost", ".", "--by", by, "-f", "csv").decode().splitlines()[0]
    assert frame.columns == header.split(",")
    for name, kind in frame.schema.items():
        about = told[name]
        if "pattern" in about:
            assert kind == MONEY, name
        elif "string" in about["type"]:
            assert kind == pl.String, name
        else:
            assert kind == pl.Int64, name


def test_sums_of_the_read_back_table(folder: Path) -> None:
    """100 + 1,000 + 2,000 fresh at $5, 500 cached at $0.50, 31 out at $25 a million."""
    ran(folder, "cost", ".", "--by", "run", "-f", "parquet", "-o", "out.parquet")
    frame = pl.read_parquet(folder / "out.parquet")
    assert frame["usd"].sum() == Decimal("0.016525")
    assert frame["tokens"].sum() == 8_636
    assert frame["unpriced_tokens"].sum() == 5_005
    assert frame["responses_without_usage"].sum() == 1
    flat = list(csv.DictReader(io.StringIO(ran(folder, "cost", ".", "-f", "csv").decode())))
    assert [row["usd"] for row in flat] == ["0.016525"]
    assert flat[0]["completeness"] == "lower_bound"
