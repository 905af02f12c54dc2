"""`loopaudit tune` through the real program, on corpora whose right answer is known."""

from __future__ import annotations

import csv
import io
import json
import tomllib
from pathlib import Path
from typing import Any

import polars
import pytest
from planted import best_is, no_good, run, write
from program import run as program


def tuned(folder: Path, *arguments: str, code: int = 0) -> dict[str, Any]:
    made = program("tune", str(folder), "--format", "json", "-q", *arguments)
    assert made.code == code, made.err
    found: dict[str, Any] = json.loads(made.out)
    return found


def of(document: dict[str, Any], guard: str, task_type: str = "planted") -> dict[str, Any]:
    return next(
        one for one in document["advice"] if one["guard"] == guard and one["task_type"] == task_type
    )


def stop_of(advice: dict[str, Any], signal: str) -> dict[str, Any]:
    return next(one for one in advice["stops"] if one["signal"] == signal and not one["waits"])


@pytest.mark.parametrize("best", [3, 4, 6, 9])
def test_a_planted_threshold_is_found(tmp_path: Path, best: int) -> None:
    log = write(best_is(best), tmp_path / "runs.jsonl")
    advice = of(tuned(log, "-g", "loopaudit"), "loopaudit")
    trade = stop_of(advice, "same_call_same_result")
    assert trade["recommended"] == {"threshold": best}
    together = advice["together"]
    assert together["pays"]
    assert together["held_out"] == "confirmed"
    best_all = together["best"]["all"]
    assert best_all["healthy_interrupted"] == 0
    assert best_all["stuck_stopped"] == 80
    # stopped at the result of call number `best` of 15: the rest is saved, a call each
    assert best_all["saved_at_most"] == 80 * (15 - best)
    assert advice["unit"] == "calls"


def test_every_value_stands_with_its_own_figures(tmp_path: Path) -> None:
    log = write(best_is(4), tmp_path / "runs.jsonl")
    trade = stop_of(of(tuned(log, "-g", "loopaudit"), "loopaudit"), "same_call_same_result")
    rows = {row["threshold"]: row for row in trade["rows"]}
    assert set(rows) >= set(range(2, 16))
    for number in range(2, 16):
        row = rows[number]
        assert row["stuck_stopped"] == 80
        assert row["saved_at_most"] == 80 * (15 - number)
        hit = number <= 3
        assert row["healthy_interrupted"] == (80 if hit else 0)
        # 3, 4, 5 or 6 useful calls, then `number` repeats, all to be made again
        assert row["spent_again"] == (sum(3 + n % 4 + number for n in range(80)) if hit else 0)
        assert row["false_stops_between"][1] == pytest.approx(1.0 if hit else 0.0451, abs=2e-4)
    assert [row["recommended"] for row in trade["rows"]].count(True) == 1
    assert rows[4]["recommended"]
    assert rows[3]["now"]
    # all runs still going at that step are stuck ones only where healthy ones have ended
    assert rows[4]["right"] == 1
    assert rows[4]["by_length"] > 0.5


def test_no_threshold_pays_is_said_with_figures(tmp_path: Path) -> None:
    log = write(no_good(), tmp_path / "runs.jsonl")
    advice = of(tuned(log, "-g", "loopaudit"), "loopaudit")
    assert not advice["together"]["pays"]
    said = program("tune", str(log), "-g", "loopaudit", "-q").out
    text = " ".join(said.split())
    assert "no threshold pays here: the best that was found saves" in text
    assert "on the training runs, net" in text
    assert "-> " not in text.partition("Below")[0]


def test_too_few_runs_are_a_reason_not_a_number(tmp_path: Path) -> None:
    log = write(best_is(4, each=7), tmp_path / "runs.jsonl")
    document = tuned(log, code=3)
    assert {one["refused"] for one in document["advice"]} == {"too few healthy runs (7 < 20)"}
    assert all(one["together"] is None for one in document["advice"])
    told = program("tune", str(log), "-q")
    assert told.code == 3
    assert "too few healthy runs (7 < 20)" in told.out


def test_types_without_successes_are_named_and_left_out(tmp_path: Path) -> None:
    failed = [run(f"f{n}", False, 9, 3, task="lost") for n in range(40)]
    log = write(best_is(4) + failed, tmp_path / "runs.jsonl")
    document = tuned(log, "-g", "loopaudit")
    assert of(document, "loopaudit", "lost")["refused"] == "too few healthy runs (0 < 20)"
    assert of(document, "loopaudit")["together"]["pays"]


def test_a_step_limit_is_found_too(tmp_path: Path) -> None:
    healthy = [run(f"h{n}", True, 0, 6 + n % 5) for n in range(60)]  # 6 to 10 steps
    stuck = [run(f"s{n}", False, 0, 30) for n in range(60)]
    log = write(healthy + stuck, tmp_path / "runs.jsonl")
    trade = stop_of(of(tuned(log, "-g", "limits"), "limits"), "steps")
    # a limit of 10 is met before step 11, which no healthy run takes
    assert trade["recommended"] == {"threshold": 10}
    emitted = program("tune", str(log), "-q", "--emit", "claude-code").out
    assert "claude -p --max-turns 10 …" in emitted
    emitted = program("tune", str(log), "-q", "--emit", "langgraph").out
    assert '"recursion_limit": 21' in emitted


def test_two_runs_give_the_same_bytes(tmp_path: Path) -> None:
    log = write(best_is(4), tmp_path / "runs.jsonl")
    for kind in ("json", "text", "csv", "parquet"):
        results = []
        for number in range(2):
            target = tmp_path / f"out{number}"
            done = program("tune", str(log), "-q", "-f", kind, "-o", str(target),
                           "--processes", str(number + 1))  # fmt: skip
            assert done.code == 0, done.err
            results.append(target.read_bytes())
        assert results[0] == results[1], kind


def test_the_trade_as_csv_and_parquet(tmp_path: Path) -> None:
    log = write(best_is(4), tmp_path / "runs.jsonl")
    text = program("tune", str(log), "-q", "-f", "csv").out
    rows = list(csv.DictReader(io.StringIO(text)))
    target = tmp_path / "trade.parquet"
    program("tune", str(log), "-q", "-f", "parquet", "-o", str(target))
    frame = polars.read_parquet(target)
    assert frame.height == len(rows) > 20
    best = frame.filter(
        (polars.col("signal") == "same_call_same_result")
        & (polars.col("level") == "stop")
        & polars.col("recommended")
        & ~polars.col("waits")
    )
    assert best["threshold"].to_list() == [4.0]
    assert best["saved_at_most"].to_list() == [880.0]


def test_what_is_written_keeps_the_file_and_is_used(tmp_path: Path) -> None:
    log = write(best_is(4), tmp_path / "runs.jsonl")
    settings = tmp_path / "loopaudit.toml"
    before = (
        "# our settings\n[report]\ntop = 5   # five are enough\n\n[guards.loopaudit]\n\n"
        "[[guards.loopaudit.rule]] # ours\nsignal = \"failing_steps\"\nwarn   =  4\n"
    )  # fmt: skip
    settings.write_text(before, encoding="utf-8")
    arguments = (
        "tune", str(log), "-q", "-g", "loopaudit", "--write", "--config", str(settings), "--brief"
    )  # fmt: skip
    environment = {"SOURCE_DATE_EPOCH": "1764547200"}
    assert program(*arguments, env=environment).code == 0
    text = settings.read_text(encoding="utf-8")
    for line in before.splitlines():
        assert line in text
    data = tomllib.loads(text)
    planted = data["guards"]["loopaudit"]["task_types"]["planted"]
    assert planted["same_call_same_result"]["stop"] == 4
    assert "# loopaudit tune 2025-12-01: corpus " in text
    assert "healthy interrupted 0 of 160" not in text
    assert "healthy interrupted 0 of 80" in text
    # with what was written, tune finds nothing more to change, and the report obeys it
    again = tuned(log, "-g", "loopaudit", "--config", str(settings))
    trade = stop_of(of(again, "loopaudit"), "same_call_same_result")
    assert trade["now"] == trade["recommended"] == {"threshold": 4}
    assert program(*arguments, env=environment).code == 0
    assert settings.read_text(encoding="utf-8") == text


def test_the_reason_in_words(tmp_path: Path) -> None:
    log = write(best_is(4), tmp_path / "runs.jsonl")
    text = " ".join(program("tune", str(log), "-q", "--explain", "planted").out.split())
    assert "same_call_same_result: 4 instead of 3." in text
    assert "One step lower, at 3, it would interrupt 80 more healthy runs." in text
    assert "80 healthy runs cannot prove that at most 2.0 % are interrupted" in text
    wrong = program("tune", str(log), "-q", "--explain", "other")
    assert wrong.code == 2
    assert "types here: planted" in wrong.err


def test_an_agent_nobody_knows_is_refused(tmp_path: Path) -> None:
    log = write(best_is(4, each=2), tmp_path / "runs.jsonl")
    done = program("tune", str(log), "--emit", "langgraf")
    assert done.code == 2
    assert "langgraph" in done.err


def test_a_figure_is_drawn(tmp_path: Path) -> None:
    log = write(best_is(4), tmp_path / "runs.jsonl")
    target = tmp_path / "trade.svg"
    assert program("tune", str(log), "-q", "--brief", "--figure", str(target)).code == 0
    assert target.read_text(encoding="utf-8").startswith("<?xml")
    assert program("tune", str(log), "-q", "--figure", "trade.doc").code == 2
