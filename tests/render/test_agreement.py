"""Every output tells the same numbers, over each of the sample logs and over all of them."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import polars
import pytest

from loopaudit.cli import pages
from loopaudit.cli.catalog import titles
from loopaudit.cli.drawing import Asked, By, Kind, drawn
from loopaudit.cli.options import audit_options
from loopaudit.cost.attribution import attribute
from loopaudit.errors import NothingMeasured
from loopaudit.findings import Report
from loopaudit.money import PriceBook
from loopaudit.render import figures as f
from loopaudit.render import frames, json_report, markdown, terminal
from loopaudit.render.charts.style import looks
from loopaudit.render.screen import Screen
from loopaudit.replay.audit import AuditedRun, Everything, conclude_all, read_all
from loopaudit.settings import Settings

SAMPLES = Path(__file__).resolve().parents[2] / "sample_logs"
LOGS = [SAMPLES, *sorted(SAMPLES.iterdir())]


@dataclass
class Seen:
    """One input as analysed, with its JSON."""

    everything: Everything
    report: Report
    audited: list[AuditedRun]
    asked: Asked
    found: dict[str, Any]

    def text(self) -> str:
        stream = io.StringIO()
        terminal.write(self.report, stream, Screen(width=400, top=0, titles=titles()))
        return stream.getvalue()


@cache
def seen(path: Path) -> Seen:
    options = audit_options([str(path)], Settings(), processes=1, quiet=True, no_cache=True)
    everything = read_all(options)
    report, audited = conclude_all(everything, options)
    stream = io.StringIO()
    json_report.write(report, stream)
    asked = Asked(options, "UTC", 2e9)
    return Seen(everything, report, audited, asked, json.loads(stream.getvalue()))


def usd(text: str | None) -> Decimal | None:
    return None if text is None else Decimal(text)


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.name)
def test_tables(path: Path) -> None:
    one = seen(path)
    totals = one.found["totals"]
    runs, steps = frames.runs(one.report), frames.steps(one.audited)
    loops = frames.findings(one.report)
    assert runs.height == totals["runs"]
    assert runs["calls"].sum() == totals["calls"]
    assert runs["loops"].sum() == len(one.found["findings"]) == loops.height
    for frame in (runs, steps):
        assert frame["tokens"].sum() == (totals["tokens"]["total"] or 0)
        assert (frame["usd"].sum() or 0) == (usd(totals["usd"]) or 0)
    assert runs["waste_tokens"].sum() == (totals["waste"]["tokens"] or 0)
    assert (runs["waste_usd"].sum() or 0) == (usd(totals["waste"]["usd"]) or 0)
    for row, finding in zip(loops.to_dicts(), one.found["findings"], strict=True):
        assert row["finding"] == finding["id"]
        assert row["onset_step"] == finding["onset"]["step"] + 1
        assert row["waste_tokens"] == finding["waste"]["tokens"]
        assert row["waste_usd"] == usd(finding["waste"]["usd"])
    for row, run in zip(runs.to_dicts(), one.found["runs"], strict=True):
        assert (row["run"], row["steps"]) == (run["id"], run["steps"])
        assert row["tokens"] == run["tokens"]["total"]
        assert row["usd"] == usd(run["usd"])
        assert row["waste_tokens"] == run["waste"]["tokens"]
        assert row["waste_usd"] == usd(run["waste"]["usd"])


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.name)
def test_costs_and_bars(path: Path) -> None:
    one = seen(path)
    totals = one.found["totals"]
    for by in ("day", "model", "tool"):
        costs = attribute(one.audited, (by,), Screen().zone, PriceBook(), one.report)
        assert costs.total.usd == usd(totals["usd"])
        assert costs.total.tokens == totals["tokens"]["total"]
        assert sum(row.amounts.pico or 0 for row in costs.rows) == (costs.total.pico or 0)
    with looks():
        try:
            _, rows = drawn(Kind.COST, one.asked, one.everything, one.report, one.audited)
        except NothingMeasured:
            assert totals["tokens"]["total"] is None
            return
    unit = "usd" if "useful_usd" in rows[0] else "tokens"
    drawn_sum = sum((row[f"useful_{unit}"] or 0) + (row[f"waste_{unit}"] or 0) for row in rows)
    whole = usd(totals["usd"]) if unit == "usd" else totals["tokens"]["total"]
    assert drawn_sum == (whole or 0)
    assert {row["day"] if "day" in row else row["month"] for row in rows}


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.name)
def test_screen(path: Path) -> None:
    one = seen(path)
    totals, text = one.found["totals"], one.text()
    if totals["tokens"]["total"] is not None:
        [tokens] = re.findall(r"^(?:~|at least )?([\d,]+) tokens(?::|$)", text, re.M)
        assert int(tokens.replace(",", "")) == totals["tokens"]["total"]
    if totals["usd"] is not None:
        [cost] = re.findall(r"^(?:~|at least )?(\S+) at list prices", text, re.M)
        assert cost == f.money(Decimal(totals["usd"]))
    blocks = re.split(r"^LOOP \d+  ", text, flags=re.M)[1:]
    assert len(blocks) == len(one.found["findings"])
    for block, finding in zip(blocks, one.found["findings"], strict=True):
        assert block.startswith(finding["rule"])
        assert re.search(rf"^  id     {finding['id']}$", block, re.M)
        began = re.search(r"^  began  step ([\d,]+)", block, re.M)
        assert began is not None
        assert int(began[1].replace(",", "")) == finding["onset"]["step"] + 1
        assert f"{finding['onset']['path']}:{finding['onset']['line']}" in block
        waste = finding["waste"]
        if waste["tokens"] is not None and not waste["unknown"]:
            assert f"{waste['tokens']:,} tokens" in block
            if waste["usd"] is not None:
                assert f.money(Decimal(waste["usd"])) in block


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.name)
def test_markdown_and_incident(path: Path) -> None:
    one = seen(path)
    totals = one.found["totals"]
    stream = io.StringIO()
    markdown.write(one.report, stream)
    short = stream.getvalue()
    if totals["tokens"]["total"] is not None:
        assert f"{totals['tokens']['total']:,} tokens" in short
    if totals["usd"] is not None:
        assert f.money(Decimal(totals["usd"])) in short
    for run in one.found["runs"]:
        stream = io.StringIO()
        pages.write_incident(one.report, one.audited, one.everything, run["id"], stream, False)
        text = stream.getvalue()
        assert text.count("\n") < 40
        assert f"{run['steps']:,} step" in text
        if run["tokens"]["total"] is not None:
            assert f"{run['tokens']['total']:,} tokens" in text
        assert f.money(usd(run["usd"])) in text


def test_page() -> None:
    one = seen(SAMPLES)
    stream = io.StringIO()
    screen = Screen(titles=titles())
    pages.write_page(one.report, one.audited, one.everything, stream, screen, False)
    text = stream.getvalue()
    rows = re.findall(r'<tr id="row-(\w+)" data-rule="([^"]+)".*?</tr>', text, re.S)
    assert rows == [(item["id"], item["rule"]) for item in one.found["findings"]]
    amounts = re.findall(
        r'data-value="(-?[\d.]+)">[^<]*</td><td class="n" data-value="(-?[\d.]+)">', text
    )
    told = [(item["waste"]["tokens"], item["waste"]["usd"]) for item in one.found["findings"]]
    pairs = [
        (-1 if tokens is None else tokens, Decimal(-1) if cost is None else Decimal(cost))
        for tokens, cost in told
    ]
    assert [(int(a), Decimal(b)) for a, b in amounts[1::2]] == pairs


def test_every_way_to_part_the_cost_adds_up() -> None:
    one = seen(SAMPLES)
    for by in By:
        asked = Asked(one.asked.options, "UTC", 2e9, by=by)
        with looks():
            _, rows = drawn(Kind.COST, asked, one.everything, one.report, one.audited)
        whole = sum((row["useful_usd"] or 0) + (row["waste_usd"] or 0) for row in rows)
        assert whole == usd(one.found["totals"]["usd"])


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_files_as_written(kind: str, tmp_path: Path) -> None:
    one = seen(SAMPLES)
    totals = one.found["totals"]
    told = ran("export", str(SAMPLES), "-o", str(tmp_path), "--format", kind, "--no-cache").stderr
    read = polars.read_csv if kind == "csv" else polars.read_parquet
    money = {"usd": polars.String, "waste_usd": polars.String}
    more: dict[str, Any] = {"schema_overrides": money, "infer_schema_length": None}
    tables = {
        name: read(tmp_path / f"{name}.{kind}", **(more if kind == "csv" else {}))
        for name in ("runs", "steps", "findings")
    }
    for name, table in tables.items():
        assert f"{table.height:,} {name}" in told

    def dollars(table: str, column: str) -> Decimal:
        return sum((Decimal(v) for v in tables[table][column] if v is not None), Decimal(0))

    assert tables["runs"].height == totals["runs"]
    assert dollars("runs", "usd") == dollars("steps", "usd") == usd(totals["usd"])
    assert dollars("runs", "waste_usd") == usd(totals["waste"]["usd"])
    for name in ("runs", "steps"):
        assert tables[name]["tokens"].sum() == totals["tokens"]["total"]
    assert tables["findings"]["finding"].to_list() == [item["id"] for item in one.found["findings"]]


def test_query() -> None:
    one = seen(SAMPLES)
    totals = one.found["totals"]
    sql = "SELECT COUNT(*) AS runs, SUM(tokens) AS tokens, SUM(usd) AS usd FROM runs"
    out = ran("query", sql, str(SAMPLES), "--format", "csv", "--no-cache").stdout
    runs, tokens, cost = out.splitlines()[1].split(",")
    assert (int(runs), int(tokens)) == (totals["runs"], totals["tokens"]["total"])
    assert Decimal(cost) == usd(totals["usd"])


def test_show_tells_each_loop_as_the_report_does() -> None:
    log = SAMPLES / "runaway.jsonl"
    one = seen(log)
    [run], [finding] = one.found["runs"], one.found["findings"]
    text = ran("show", run["id"], str(log), "--no-cache").stdout
    assert f"{run['steps']:,} steps, {run['calls']:,} calls" in text
    assert re.findall(r"^LOOP \d+  ([\w-]+)", text, re.M) == [finding["rule"]]
    assert re.findall(r"^  id +(\w+)$", text, re.M) == [finding["id"]]
    onset = finding["onset"]
    assert re.search(rf"^step {onset['step'] + 1}  .*:{onset['line']}  ", text, re.M)
    # each step once, and their tokens add up to the report's
    whole = ran("show", run["id"], str(log), "--steps", f"1-{run['steps']}", "--no-cache").stdout
    told = re.findall(r"^step (\d+)  .*  ([\d,]+) tokens$", whole, re.M)
    assert [int(number) for number, _ in told] == list(range(1, run["steps"] + 1))
    assert sum(int(n.replace(",", "")) for _, n in told) == run["tokens"]["total"]


def ran(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "loopaudit", *arguments]
    return subprocess.run(command, cwd=SAMPLES.parent, capture_output=True, text=True, check=True)
