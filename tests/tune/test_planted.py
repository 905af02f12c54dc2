"""For each kind of threshold a corpus whose best value is known by construction: it is recovered
exactly, and where healthy and stuck runs are alike nothing pays."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from planted import run, write
from program import event_lines
from program import run as program

from loopaudit.similarity import cosine, vector

Record = dict[str, Any]
EACH = 60  # runs of a kind


def tuned(folder: Path, guard: str, settings: str = "", code: int = 0) -> dict[str, Any]:
    """The advice on `planted` for a guard set, which `settings` may define."""
    (folder / "loopaudit.toml").write_text(settings, encoding="utf-8")
    made = program("tune", "runs.jsonl", "-q", "-f", "json", "-g", guard, cwd=folder)
    assert made.code == code, made.err
    found: dict[str, Any] = next(a for a in json.loads(made.out)["advice"] if a["guard"] == guard)
    return found


def only(signal: str, detector: str, levels: str, more: str = "") -> str:
    """Settings of a guard set `mine` of one rule."""
    return (
        f"[[guards.mine.rule]]\nsignal = '{signal}'\ndetector = 'loopaudit.detectors.{detector}'\n"
        f"{levels}\n{more}"
    )


def values(advice: dict[str, Any]) -> dict[tuple[str, str], Any]:
    return {
        (t["signal"], t["level"]): t["recommended"]["threshold"]
        for t in (*advice["stops"], *advice["warnings"])
    }


def session(
    name: str, outcome: str, steps: int, *, seconds: float = 0, tokens: int = 0, start: float = 1e9
) -> list[Record]:
    """A run of different calls in our own lines; each step takes so long and spends so much."""
    found: list[Record] = [
        {"type": "run", "run": name, "task_type": "planted", "outcome": outcome, "at": start}
    ]
    for n in range(steps):
        call = {"id": f"{name}.{n}", "tool": "look", "args": {"n": n}, "result": f"found {n}"}
        one: Record = {"type": "response", "run": name, "id": f"{name}-{n}", "calls": [call]}
        if seconds:
            one |= {"at": start + n * seconds, "ended": start + (n + 1) * seconds}
        if tokens:
            one |= {"usage": {"fresh_input": tokens, "output": 0}, "model": "m1"}
        found.append(one)
    return found


def sessions(folder: Path, healthy: Sequence[int], stuck: int, **more: float) -> None:
    """`EACH` runs of either kind; healthy ones have these numbers of steps in turn."""
    records: list[Record] = []
    for n in range(EACH):
        records += session(f"h{n}", "passed", healthy[n % len(healthy)], **more)  # type: ignore[arg-type]
        records += session(f"s{n}", "failed", stuck, **more)  # type: ignore[arg-type]
    event_lines(folder / "runs.jsonl", records)


# -- limits ---------------------------------------------------------------------------------------


def test_a_step_limit(tmp_path: Path) -> None:
    sessions(tmp_path, (5, 7, 8), 30)
    # judged before the next step: 8 steps may be made
    assert values(tuned(tmp_path, "limits"))["steps", "stop"] == 8


def test_a_time_limit(tmp_path: Path) -> None:
    sessions(tmp_path, (5, 7, 10), 60, seconds=20.0)
    advice = tuned(tmp_path, "limits")
    alone = {t["signal"]: t["best_alone"] for t in advice["stops"]}
    # the longest healthy run takes 200 s, a round number, and a limit must be exceeded
    assert alone["wall_time"] == {"threshold": 200}


def test_a_token_budget(tmp_path: Path) -> None:
    sessions(tmp_path, (10, 20, 30), 90, tokens=100)
    advice = tuned(tmp_path, "limits")
    alone = {t["signal"]: t["best_alone"] for t in advice["stops"]}
    assert advice["unit"] == "tokens"
    assert alone["token_budget"] == {"threshold": 3_000}
    assert alone["usd"] is None  # nobody knows what m1 costs


def test_a_money_budget(tmp_path: Path) -> None:
    sessions(tmp_path, (10, 20, 29), 90, tokens=1_000)
    prices = "[[prices.model]]\nmodel = 'm1'\ninput = 1\noutput = 1\n"
    advice = tuned(tmp_path, "limits", prices)
    alone = {t["signal"]: t["best_alone"] for t in advice["stops"]}
    # at most $0.029, and a budget is spent when it is reached: $0.03 is the least round one above
    assert advice["unit"] == "usd"
    assert alone["usd"] == {"threshold": 0.03}


# -- counts ---------------------------------------------------------------------------------------


def test_a_warning_and_its_stop_together(tmp_path: Path) -> None:
    """3 % of the healthy runs repeat six times, all others three times: only a warning from 4 and
    a stop from 7 on keep both caps; each lower saves more and breaks one, each higher saves less.
    """
    runs = [run(f"h{n}", True, 6 if n % 33 == 5 else 3, 4) for n in range(200)]
    runs += [run(f"s{n}", False, 15, 4) for n in range(200)]
    write(runs, tmp_path / "runs.jsonl")
    rule = only("same_call_same_result", "repeats:Repeats", "warn = 2\nstop = 20")
    advice = tuned(tmp_path, "mine", rule)
    assert values(advice) == {
        ("same_call_same_result", "stop"): 7,
        ("same_call_same_result", "warn"): 4,
    }
    best = advice["together"]["best"]["all"]
    assert best["healthy_interrupted"] == 0
    assert best["healthy_warned"] == 6
    assert best["saved_at_most"] == 200 * (15 - 7)
    assert best["saved_if_warnings_heeded"] == 200 * (7 - 4)


def test_a_warning_that_reaches_healthy_runs_only_is_not_advised(tmp_path: Path) -> None:
    runs = [run(f"h{n}", True, 5 if n % 50 == 7 else 1, 6) for n in range(200)]
    runs += [run(f"s{n}", False, 1, 12) for n in range(200)]
    write(runs, tmp_path / "runs.jsonl")
    rule = only("same_call_same_result", "repeats:Repeats", "warn = 3\nstop = 20")
    advice = tuned(tmp_path, "mine", rule)
    assert not advice["together"]["pays"]


def test_a_number_of_retries(tmp_path: Path) -> None:
    """Healthy runs get through at the fourth try, stuck ones never: after three retries no more."""

    def retried(name: str, success: bool, failures: int) -> Record:
        one = run(name, success, 0, 3)
        failed = {"tool": "fetch", "args": "page", "result": "503 Service Unavailable",
                  "error": True}  # fmt: skip
        one["calls"] += [failed] * failures
        if success:
            one["calls"].append({"tool": "fetch", "args": "page", "result": "it", "error": False})
        return one

    runs = [retried(f"h{n}", True, 1 + n % 3) for n in range(EACH)]
    runs += [retried(f"s{n}", False, 15) for n in range(EACH)]
    write(runs, tmp_path / "runs.jsonl")
    rule = only(
        "transient_retries", "backstop:ToolErrors", "withdraw = 9\nstop = 12", "over = true\n"
    )
    advice = tuned(tmp_path, "mine", rule)
    # told before a call, the times it failed before: the fourth try is made after 3 failures, which
    # a limit of 3 is not exceeded by; the fifth, after 4, is
    assert values(advice)["transient_retries", "stop"] == 3


WORDS = (
    "search service answered with a list of harbours on northern coast and their tide tables for"
    " coming week notes depth more wind wave pier"
)


def reordered(swaps: int, seed: int) -> str:
    """The same words with so many neighbours exchanged."""
    dice, found = random.Random(seed), WORDS.split()
    for _ in range(swaps):
        at = dice.randrange(len(found) - 1)
        found[at], found[at + 1] = found[at + 1], found[at]
    return " ".join(found)


def row_begins(texts: Sequence[str], similarity: float, row: int) -> int | None:
    """The text with which more than `row` in a row were like one of the ten before."""
    seen = [vector(text) for text in texts]
    count = 0
    for n, own in enumerate(seen):
        like = any(cosine(own, other) > similarity for other in seen[max(0, n - 10) : n])
        count = count + 1 if like else 0
        if count > row:
            return n
    return None


def test_a_threshold_of_similarity(tmp_path: Path) -> None:
    """Results of healthy runs hold the same words in any order, those of stuck ones in nearly the
    same: 0.88 takes healthy ones for alike, 0.92 finds stuck ones late or never."""
    texts = {
        f"{kind}{n}": [reordered(swaps, seed + 100 * n + step) for step in range(steps)]
        for kind, swaps, steps, seed in (("h", 2_000, 6, 1_000_000), ("s", 12, 30, 50_000))
        for n in range(EACH)
    }
    best, most = (0.0, 0), 0
    for value in (0.85, 0.88, 0.9, 0.92, 0.94, 0.96):
        for row in (1, 2, 3):
            met = {name: row_begins(said, value, row) for name, said in texts.items()}
            if all(at is None for name, at in met.items() if name[0] == "h"):
                saved = sum(
                    29 - at for name, at in met.items() if name[0] == "s" and at is not None
                )
                best, most = max(((value, row), saved), (best, most), key=lambda pair: pair[1])
    assert best[0] == 0.9
    runs = [
        {"id": name, "group": "g", "task": "planted", "success": name[0] == "h",
         "calls": [{"tool": "ask", "args": f"question {n}", "result": text, "error": False}
                   for n, text in enumerate(said)]}
        for name, said in texts.items()
    ]  # fmt: skip
    write(runs, tmp_path / "runs.jsonl")
    rule = only(
        "similar_result", "backstop:ResultMeanings", "stop = 3",
        "over = true\noptions = { look_back = 10, similarity = 0.96 }\n",
    )  # fmt: skip
    advice = tuned(tmp_path, "mine", rule)
    (trade,) = advice["stops"]
    found = trade["recommended"]
    assert (found["option_value"], found["threshold"]) == best
    figures = advice["together"]["best"]["all"]
    assert figures["healthy_interrupted"] == 0
    assert figures["saved_at_most"] == most


def test_the_base_of_the_watchdog(tmp_path: Path) -> None:
    """Reading the same place is no progress, so nothing renews the budget: healthy runs need 14
    steps, stuck ones go on to 40."""

    def reading(name: str, success: bool, steps: int) -> Record:
        calls = [{"tool": "look", "args": "here", "result": f"seen {n}", "error": False}
                 for n in range(steps)]  # fmt: skip
        return {"id": name, "group": "g", "task": "planted", "success": success, "calls": calls}

    runs = [reading(f"h{n}", True, 12 + n % 3) for n in range(EACH)]
    runs += [reading(f"s{n}", False, 40) for n in range(EACH)]
    write(runs, tmp_path / "runs.jsonl")
    off = "".join(
        f"[[guards.mine.rule]]\nsignal = '{signal}'\nstop = false\n"
        for signal in ("repeated_action", "consecutive_errors", "no_progress")
    )
    advice = tuned(tmp_path, "mine", f"[guards.mine]\nextends = 'watchdog:demo'\n{off}")
    assert advice["replayed"]
    assert values(advice)["base_steps", "stop"] == 14


@pytest.mark.parametrize("kind", ["steps", "repeats"])
def test_where_healthy_and_stuck_runs_are_alike_nothing_pays(tmp_path: Path, kind: str) -> None:
    if kind == "steps":
        records: list[Record] = []
        for n in range(EACH):
            records += session(f"h{n}", "passed", 5 + n % 20, tokens=100)
            records += session(f"s{n}", "failed", 5 + n % 20, tokens=100)
        event_lines(tmp_path / "runs.jsonl", records)
    else:
        write(
            [run(f"{'hs'[bad]}{n}", not bad, 2 + n % 8, 5) for n in range(EACH) for bad in (0, 1)],
            tmp_path / "runs.jsonl",
        )
    for guard in ("limits", "loopaudit"):
        together = tuned(tmp_path, guard)["together"]
        assert together is None or not together["pays"]
