"""`loopaudit live` and `drill` as a user runs them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest

from loopaudit.findings import Level
from loopaudit.replay.audit import AuditOptions, audit


def loopaudit(
    *arguments: str, given: str | None = None, folder: Path | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "loopaudit", *arguments],
        input=given,
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=120,
        env={**os.environ, "COLUMNS": "80", "NO_COLOR": "1"},
    )


# Tokens of `dead-loop-deaf`: the first step sends 900 and 16 for the user's 48 letters, each later
# one 28 more: 11 for the call, 17 for its answer (a Chinese character is a token, four letters are
# one, and 4 a message). 9 * 916 + 28 * 36 = 9,252 in, 9 * 60 = 540 out.


def test_the_narration() -> None:
    done = loopaudit("live", "--scenario", "dead-loop-deaf", "--guard", "fuses:demo")
    assert done.returncode == 0
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert lines[0].startswith("user: What is the weather in Beijing?")
    assert "fuses:demo warns: generic_repeat 5 (limit 5)" in done.stdout
    assert "fuses:demo stops: generic_repeat 8 (limit 8)" in done.stdout
    assert "budget 9,792 of 15,000, 65 %" in done.stdout.replace("\n        ", " ")
    assert lines[-1] == "9 steps, 9,792 tokens, $0.05, 11 s"
    assert all(len(line.encode("utf-16-le")) // 2 <= 80 for line in lines)


def test_a_prompt_and_its_trigger_word() -> None:
    done = loopaudit("live", "--prompt", "测试死循环", "--lang", "zh", "--guard", "fuses:demo")
    assert done.returncode == 0
    assert done.stdout.startswith("user: 测试死循环")
    assert "提醒" in done.stdout
    assert "北京今天晴" in done.stdout


def test_prompts_share_one_budget() -> None:
    done = loopaudit("live", "-g", "fuses:demo", "--lang", "zh", given="测试预算\n" * 6)
    assert done.returncode == 0
    parts = ("30 %", "60 %", "90 %", "120 %")
    assert [part for part in parts if f", {part}]" in done.stdout] == list(parts)
    assert done.stdout.count("user: ") == 4  # the fourth passes the budget, no fifth is taken
    assert "4 steps, 18,000 tokens" in done.stdout


def test_what_is_recorded_is_read_by_report(tmp_path: Path) -> None:
    record = tmp_path / "run.jsonl"
    done = loopaudit("live", "-s", "dead-loop-deaf", "-g", "fuses:demo", "--record", str(record))
    assert done.returncode == 0
    report = audit(AuditOptions([str(record)], guards=("fuses:demo",), processes=1, now=2e9))
    assert report.inputs[0].format == "loopaudit"
    assert report.totals.tokens.total == 9_792
    # 9,252 at $0.005 and 540 at $0.015 a thousand
    assert report.totals.recorded_usd == Decimal("0.04626") + Decimal("0.0081")
    levels = [verdict.trip.level for verdict in report.guards[0].verdicts]
    assert levels == [Level.WARN] * 3 + [Level.STOP]
    [finding] = report.findings
    assert finding.ended_by == "guard"


def test_no_guard(tmp_path: Path) -> None:
    done = loopaudit("live", "-s", "dead-loop", "--no-guard")
    assert done.returncode == 0
    assert "40 steps" in done.stdout
    assert "warns" not in done.stdout


def test_compare_as_text_and_as_json() -> None:
    arguments = ("live", "--compare", "-s", "repeater", "-s", "normal", "-g", "watchdog:demo")
    text = loopaudit(*arguments)
    assert text.returncode == 0
    assert "71,575 to 73,260" in text.stdout
    assert all(len(line) <= 80 for line in text.stdout.splitlines())
    done = loopaudit(*arguments, "--format", "json")
    rows = {row["scenario"]: row for row in json.loads(done.stdout)["scenarios"]}
    guarded = rows["repeater"]["guarded"][0]
    assert (guarded["predicted_at_least"], guarded["predicted_at_most"]) == (71_575, 73_260)
    assert guarded["saved_tokens"] == guarded["predicted_at_least"]
    assert guarded["within"] is True
    assert rows["normal"]["guarded"][0]["saved_tokens"] == 0


def test_the_list() -> None:
    done = loopaudit("live", "--list")
    assert done.returncode == 0
    assert "dead-loop-deaf" in done.stdout
    assert "测试死循环" in done.stdout
    names = [
        row["scenario"] for row in json.loads(loopaudit("live", "--list", "-f", "json").stdout)
    ]
    assert "edit-and-test" in names


@pytest.mark.parametrize(
    "arguments",
    [
        ("--scenario", "nothing"),
        ("--guard", "nothing", "-s", "normal"),
        ("--guard", "fuses", "--no-guard"),
        ("--compare", "--record", "x"),
        ("--compare", "--no-guard"),
        ("--prompt", "hello", "--scenario", "normal"),
        ("--lang", "xx", "-s", "normal"),
        ("--record", "/no/such/folder/x", "-s", "normal"),
        ("--base-url", "http://127.0.0.1:1", "-s", "normal"),
        ("--model", "nobody:x", "-s", "normal"),
    ],
)
def test_wrong_use(arguments: tuple[str, ...]) -> None:
    done = loopaudit("live", *arguments)
    assert done.returncode == 2
    assert done.stderr.startswith("loopaudit: ")
    assert "Traceback" not in done.stderr


def test_drill_by_default(tmp_path: Path) -> None:
    done = loopaudit("drill", folder=tmp_path)
    assert done.returncode in (0, 1)
    assert "Guards: loopaudit" in done.stdout
    assert done.returncode == ("RAN AWAY" in done.stdout or "WRONGLY" in done.stdout)


def test_drill_finds_a_guard_that_stops_healthy_work(tmp_path: Path) -> None:
    done = loopaudit("drill", "--guard", "watchdog:demo", "-s", "poll-ends-well", folder=tmp_path)
    assert done.returncode == 1
    assert "poll-ends-well: WRONGLY STOPPED" in done.stdout


def test_drill_finds_what_runs_away(tmp_path: Path) -> None:
    # results are ignored by none of its rules, but nothing is ever wrong with `retries`
    done = loopaudit("drill", "-g", "retries", "-s", "dead-loop", "-f", "json", folder=tmp_path)
    assert done.returncode == 1
    out = json.loads(done.stdout)
    assert out["faults"] == 1
    assert out["scenarios"][0]["fault"] == "ran-away"


def test_drill_uses_the_settings(tmp_path: Path) -> None:
    (tmp_path / "loopaudit.toml").write_text(
        '[report]\nguards = ["fuses:demo"]\n', encoding="utf-8"
    )
    done = loopaudit("drill", "-s", "dead-loop", "-s", "normal", folder=tmp_path)
    assert done.returncode == 0
    assert "Guards: fuses:demo" in done.stdout
    assert "All 2 scenarios as they should be." in done.stdout


def test_hostile_scenario_text_is_inert(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(
        'name = "x"\nrequests = ["\\u001b[31mred\\n::error::x"]\n'
        '[[turn]]\nsay = "\\u001b]0;title\\u0007 ::warning::y"\n',
        encoding="utf-8",
    )
    done = loopaudit("live", "-s", str(tmp_path / "x.toml"))
    assert done.returncode == 0
    assert "\x1b" not in done.stdout
    assert "\x07" not in done.stdout
    assert not any(line.lstrip().startswith("::") for line in done.stdout.splitlines())
