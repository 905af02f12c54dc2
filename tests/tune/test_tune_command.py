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
from program import event_lines
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
    # 10 of each kind repeat a call 9 times: nothing is left to save, and 5 useful calls and 9
    # repeats of 10 healthy runs are lost
    assert "the best that stops anything, same_call_same_result at 9, saves 0 and costs 140" in text
    assert "healthy interrupted 12 % (6.2-22) of 80" in text
    assert " stop: 3 -> " not in text


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
    assert '"recursion_limit": 20' in emitted


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


# -- runs without an outcome, labels, money --------------------------------------------------------


def silent(
    repeats: int, number: int, *, usage: bool = False, model: str = "m1"
) -> list[dict[str, Any]]:
    """A session without outcome in our own lines: five useful calls, then one `repeats` times; made
    once, it is followed by an answer."""
    found: list[dict[str, Any]] = [{"type": "run", "run": f"r{number}", "task_type": "quiet"}]
    calls = [("look", {"n": n}, f"found {n}") for n in range(5)]
    calls += [("fetch", {"n": 0}, "the page")] * repeats
    for n, (tool, args, result) in enumerate(calls):
        call = {"id": f"c{number}.{n}", "tool": tool, "args": args, "result": result}
        one: dict[str, Any] = {"type": "response", "run": f"r{number}", "id": f"m{number}.{n}",
                               "calls": [call]}  # fmt: skip
        if usage:
            one |= {"usage": {"fresh_input": 1_000 * (n + 1), "output": 0}, "model": model}
        found.append(one)
    if repeats == 1:
        answer = {"type": "response", "run": f"r{number}", "id": f"m{number}.end", "text": "Done."}
        if usage:
            answer |= {"usage": {"fresh_input": 0, "output": 0}, "model": model}
        found.append(answer)
    return found


def quiet_log(path: Path, **more: Any) -> Path:
    records = [r for n in range(25) for r in silent(1, n, **more)]
    records += [r for n in range(25, 50) for r in silent(12, n, **more)]
    return event_lines(path, records)


def test_runs_without_outcome_stand_by_rule_and_are_said_to(tmp_path: Path) -> None:
    log = quiet_log(tmp_path / "runs.jsonl")
    advice = of(tuned(log, "-g", "loopaudit"), "loopaudit", "quiet")
    assert advice["runs"]["by"] == {"rule": 50}
    assert (advice["runs"]["healthy"], advice["runs"]["stuck"]) == (25, 25)
    text = " ".join(program("tune", str(log), "-q", "-g", "loopaudit").out.split())
    assert "50 by rule" in text
    assert "no outcome is recorded: taken for stuck with a loop it did not leave by itself" in text


def test_a_users_label_moves_a_run(tmp_path: Path) -> None:
    log = quiet_log(tmp_path / "runs.jsonl")
    report = program("report", str(log), "-f", "json", "-q").json
    name = report["findings"][0]["id"]
    done = program("label", name, "not-a-loop", "--reason", "a wait", cwd=tmp_path)
    assert done.code == 0, done.err
    made = program("tune", str(log), "-q", "-f", "json", "-g", "loopaudit", cwd=tmp_path)
    advice = of(made.json, "loopaudit", "quiet")
    assert advice["runs"]["by"] == {"label": 1, "rule": 49}
    assert (advice["runs"]["healthy"], advice["runs"]["stuck"]) == (26, 24)


def test_amounts_are_money_tokens_or_calls(tmp_path: Path) -> None:
    log = quiet_log(tmp_path / "runs.jsonl", usage=True)
    advice = of(tuned(log, "-g", "loopaudit"), "loopaudit", "quiet")
    assert advice["unit"] == "tokens"  # nobody knows what m1 costs
    rows = {r["threshold"]: r for r in stop_of(advice, "same_call_same_result")["rows"]}
    # stopped at repeat 3 of 12, in response 8 of 17: responses 9 to 17 of 9,000 … 17,000 tokens
    assert rows[3]["saved_at_most"] == 25 * sum(1_000 * n for n in range(9, 18))
    settings = tmp_path / "loopaudit.toml"
    settings.write_text("[[prices.model]]\nmodel = 'm1'\ninput = 2\noutput = 10\n")
    arguments = ("-g", "loopaudit", "-g", "limits", "--config", str(settings))
    document = tuned(log, *arguments)
    advice = of(document, "loopaudit", "quiet")
    assert advice["unit"] == "usd"
    rows = {r["threshold"]: r for r in stop_of(advice, "same_call_same_result")["rows"]}
    assert rows[3]["saved_at_most"] == pytest.approx(25 * 0.002 * sum(range(9, 18)))
    usd = stop_of(of(document, "limits", "quiet"), "usd")
    # healthy runs spend 2 × (1 + … + 6) × 0.001 = $0.042: the least round limit above is $0.05
    assert usd["best_alone"] == {"threshold": 0.05}


def test_hostile_names_are_inert(tmp_path: Path) -> None:
    hostile = "=cmd|' /C calc'!A0 \x1b[31m::error::x\n| ` <b>"
    runs = [{**one, "task": hostile} for one in best_is(4)]
    log = write(runs, tmp_path / "runs.jsonl")
    for kind in ("text", "json", "csv"):
        done = program("tune", str(log), "-q", "-f", kind)
        assert done.code == 0, done.err
        assert "\x1b" not in done.out
        assert not any(line.lstrip().startswith("::") for line in done.out.splitlines())
        if kind == "csv":
            rows = list(csv.DictReader(io.StringIO(done.out)))
            assert all(row["task_type"].startswith("'=") for row in rows)
    emitted = program("tune", str(log), "-q", "--emit", "openai-agents").out
    assert all(line.startswith(("#", "Runner")) for line in emitted.splitlines())
    assert "\x1b" not in emitted
    target = tmp_path / "own.toml"
    target.touch()
    done = program("tune", str(log), "-q", "--brief", "--write", "--config", str(target))
    assert done.code == 0, done.err
    assert len(tomllib.loads(target.read_text(encoding="utf-8"))["guards"]) >= 1


@pytest.mark.parametrize("guard", ["fuses:demo", "watchdog:demo", "limits"])
def test_other_sets_are_written_where_they_read_it(tmp_path: Path, guard: str) -> None:
    healthy = [run(f"h{n}", True, 2, 5 + n % 3) for n in range(60)]
    stuck = [run(f"s{n}", False, 30, 5) for n in range(60)]
    log = write(healthy + stuck, tmp_path / "runs.jsonl")
    target = tmp_path / "own.toml"
    target.touch()
    arguments = ("tune", str(log), "-q", "-g", guard, "--config", str(target))
    first = program(*arguments, "-f", "json", "--write").json
    second = program(*arguments, "-f", "json").json
    written = of(first, guard)["stops"]
    assert any(t["now"] != t["recommended"] for t in written)
    for before, after in zip(written, of(second, guard)["stops"], strict=True):
        assert after["now"] == before["recommended"], before["signal"]


def test_what_is_set_keeps_its_place_unless_something_is_better(tmp_path: Path) -> None:
    """One healthy run of 60 is interrupted by what is set: within 2 % it may stay."""
    healthy = [run(f"h{n}", True, 5 if n == 0 else 1, 5) for n in range(60)]
    stuck = [run(f"s{n}", False, 4, 5) for n in range(60)]
    log = write(healthy + stuck, tmp_path / "runs.jsonl")
    advice = of(tuned(log, "-g", "loopaudit"), "loopaudit")
    assert advice["together"]["best"]["all"]["net"] >= advice["together"]["now"]["all"]["net"] or (
        advice["together"]["now"]["training"]["false_stops"] > 0.02
    )


@pytest.mark.parametrize(
    "arguments",
    [("--max-false-stops", "nan"), ("--max-false-stops", "2"), ("--false-stop-cost", "inf"),
     ("--guard", "nobody"), ("--figure", "nowhere/t.svg"), ("-o", "nowhere/t.txt")],
)  # fmt: skip
def test_what_cannot_be_used_is_said_in_a_line(tmp_path: Path, arguments: tuple[str, str]) -> None:
    log = write(best_is(4, each=2), tmp_path / "runs.jsonl")
    done = program("tune", str(log), *arguments, cwd=tmp_path)
    assert done.code == 2
    assert "Traceback" not in done.err
    assert done.err.startswith("loopaudit: ")


@pytest.mark.parametrize(
    "text",
    ["max_false_stops = 2", "max_false_stops = nan", "min_runs = 0", "hold_out = 'luck'",
     "guards = [1]", "unknown = 1", "false_stop_cost = true"],
)  # fmt: skip
def test_settings_that_cannot_be_used_name_their_line(tmp_path: Path, text: str) -> None:
    log = write(best_is(4, each=2), tmp_path / "runs.jsonl")
    (tmp_path / "loopaudit.toml").write_text(f"[tune]\n{text}\n", encoding="utf-8")
    done = program("tune", str(log), cwd=tmp_path)
    assert done.code == 2
    assert "loopaudit.toml:2" in done.err
