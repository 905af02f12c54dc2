"""The budget of a day over all runs: as a meter over the service would act, and recovered."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

from program import event_lines
from program import run as program

from loopaudit.findings import Level
from loopaudit.guards.preset import Preset, PresetRule, Thresholds
from loopaudit.guards.service import ServiceSession
from loopaudit.model import Step
from loopaudit.replay.replay import replay_service
from loopaudit.replay.standing import KnownBy, Standing
from loopaudit.tune import service
from loopaudit.tune.build import sweep
from loopaudit.tune.corpus import NEVER, Sample
from loopaudit.tune.dimensions import service as preset

DAY = 86_400.0
PRICES = "[[prices.model]]\nmodel = 'm1'\ninput = 1\noutput = 1\n"


def sample(name: str, at: list[float], dollars: list[int]) -> Sample:
    return Sample(
        name, "p", name, None, at[0], "t", Standing.STUCK, KnownBy.OUTCOME, len(at), -1, 0,
        [1] * len(at), dollars, [d * 10**12 for d in dollars], {}, at,
    )  # fmt: skip


def test_each_budget_stops_where_the_meter_of_a_service_does() -> None:
    runs = [
        sample("a", [10.0, 30.0, 50.0, 70.0], [1, 2, 1, 4]),
        sample("b", [20.0, 40.0, 60.0], [3, 1, 1]),
        sample("c", [55.0, 80.0], [1, 1]),
    ]
    others = [sample(f"d{n}", [n * DAY + 5.0], [1]) for n in range(1, 9)]
    days, refused = service.by_day([*runs, *others])
    assert refused == ""
    made = sweep(preset(), days, range(len(days)))
    (dimension,) = made.dimensions
    for n, choice in enumerate(dimension.choices[:-1]):
        assert choice.threshold is not None
        rule = PresetRule(
            "money", "loopaudit.detectors.budgets:ServiceMoney", unit="usd",
            thresholds=Thresholds(levels=((Level.STOP_ALL, choice.threshold),)),
        )  # fmt: skip
        meter = ServiceSession(Preset("m", "default", "", "each", (rule,)))
        steps = [
            (r.id, [Step(i, "p", 1, at=at, cost=Decimal(spent))
                    for i, (at, spent) in enumerate(zip(r.at or [], r.tokens or [], strict=True))])
            for r in runs
        ]  # fmt: skip
        stops = {v.run: v.trip.saves_from for v in replay_service(steps, meter)}
        expected = [stops.get(r.id, NEVER) for r in runs]
        found = made.first((n,)).tolist()[:3]
        # a stop after the last step saves nothing; the meter tells a run only at a next step
        assert [f if f < r.steps else NEVER for f, r in zip(found, runs, strict=True)] == [
            e if e < r.steps else NEVER for e, r in zip(expected, runs, strict=True)
        ], choice


def days(folder: Path, count: int) -> None:
    """Each day eight healthy runs of $0.10 one after the other, then one that runs away to $5."""
    records: list[dict[str, Any]] = []
    for day in range(count):
        clock = day * DAY + 1_700_006_400.0
        for n in range(9):
            name, steps = f"d{day}r{n}", 50 if n == 8 else 10
            records.append({"type": "run", "run": name, "task_type": f"t{n % 2}", "at": clock,
                            "outcome": "failed" if n == 8 else "passed"})  # fmt: skip
            for step in range(steps):
                call = {"id": f"{name}.{step}", "tool": "look", "args": {"n": step}, "result": "x"}
                tokens = 100_000 if n == 8 else 10_000
                records.append(
                    {"type": "response", "run": name, "id": f"{name}-{step}", "at": clock,
                     "calls": [call], "model": "m1", "usage": {"fresh_input": tokens, "output": 0}}
                )  # fmt: skip
                clock += 10
    event_lines(folder / "runs.jsonl", records)


def test_the_budget_of_a_day_is_recovered(tmp_path: Path) -> None:
    days(tmp_path, 60)
    (tmp_path / "loopaudit.toml").write_text(PRICES, encoding="utf-8")
    made = program("tune", "runs.jsonl", "-q", "-f", "json", "-g", "service", cwd=tmp_path)
    assert made.code == 0, made.err
    (advice,) = json.loads(made.out)["advice"]
    (trade,) = advice["stops"]
    # the healthy runs of a day come to $0.80: the least round budget that they do not reach is $1
    assert trade["recommended"] == {"threshold": 1}
    best = advice["together"]["best"]["all"]
    assert best["healthy_interrupted"] == 0
    assert best["saved_at_most"] == 60 * (5.8 - 1)
    assert advice["hold_out"] == "time"
    program("tune", "runs.jsonl", "-q", "--brief", "-g", "service", "--write", cwd=tmp_path)
    assert "[budgets.day]\nusd = 1 " in (tmp_path / "loopaudit.toml").read_text(encoding="utf-8")


def test_what_it_cannot_be_made_of_is_said(tmp_path: Path) -> None:
    days(tmp_path, 3)
    (tmp_path / "loopaudit.toml").write_text(PRICES, encoding="utf-8")
    made = program("tune", "runs.jsonl", "-q", "-g", "service", cwd=tmp_path)
    assert made.code == 3
    assert "too few days (3 < 8)" in made.out
