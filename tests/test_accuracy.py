"""How well the guards judge runs whose outcome is known, and that what is said of it is true.

The figures are kept in `benchmarks/accuracy/figures.json`; `python -m tests.benchmarks.accuracy
--commit` makes them and the table of the README anew.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from benchmarks.accuracy import __main__ as command
from benchmarks.accuracy import figures, ledger, sets
from benchmarks.accuracy.sets import Judged
from typer.testing import CliRunner

from loopaudit.cli.app import app

FOUND: figures.Figures = json.loads(command.FIGURES.read_text(encoding="utf-8"))
SCORED = figures.scored(FOUND)
DEFAULT = "loopaudit"


def rivals(entry: Any) -> list[str]:
    """Guard sets and naive rules; a mere limit of length is no judgement."""
    return [r for r in entry["rules"] if r != DEFAULT and not r.startswith("length")]


# -- what is claimed, on the figures as committed --------------------------------------------------


def test_the_readme_has_these_figures() -> None:
    text = command.README.read_text(encoding="utf-8")
    assert command.renewed(text, FOUND) == text, "run: python -m tests.benchmarks.accuracy --commit"


def test_sets_without_a_success_are_named_and_not_scored() -> None:
    assert len(FOUND) == 9
    assert set(FOUND) - set(SCORED) == {"captainagent", "magentic_one"}


@pytest.mark.parametrize("name", SCORED)
def test_no_rival_kills_no_more_and_catches_more(name: str) -> None:
    entry = FOUND[name]
    own = entry["rules"][DEFAULT]
    for rule in rivals(entry):
        counts = entry["rules"][rule]
        assert counts["killed"] > own["killed"] or counts["caught"] <= own["caught"], rule


def test_over_all_sets_the_default_guards_catch_more_than_any_that_spare_the_successes() -> None:
    killed, caught = figures.overall(FOUND, DEFAULT)
    assert killed <= 2
    for rule in rivals(FOUND[SCORED[0]]):
        other_killed, other_caught = figures.overall(FOUND, rule)
        assert other_caught < caught or other_killed > 5, rule
    assert caught > max(figures.overall(FOUND, f"{k} equal calls")[1] for k in sets.REPEATS)


# -- the counting itself --------------------------------------------------------------------------


def judged(success: bool, steps: int, stop: int | None) -> Judged:
    return Judged("r", success, steps, (1,) * steps, {DEFAULT: stop})


def test_counts_of_a_set_worked_out_by_hand() -> None:
    runs = [
        judged(True, 4, None),
        judged(True, 5, 3),  # killed, 2 calls saved
        judged(False, 6, 2),  # caught, 4 calls saved
        judged(False, 9, None),
    ]
    found = figures.figures([sets.Set("s", runs, 1.0)])["s"]
    assert (found["successes"], found["failures"], found["calls"]) == (2, 2, 24)
    rule = found["rules"][DEFAULT]
    assert (rule["killed"], rule["caught"], rule["calls_saved"]) == (1, 1, 6)
    assert rule["halves"] == [[0, 1], [1, 0]]
    assert figures.rates(found, DEFAULT) == (50.0, 50.0)


@pytest.mark.parametrize(
    ("count", "of", "low", "high"),
    [
        (0, 40, 0.0, 1 - 0.025 ** (1 / 40)),  # none of n: the rule of three, exactly
        (40, 40, 0.025 ** (1 / 40), 1.0),
        (1, 2, 0.012579, 0.987421),  # roots of (1-p)^2 = 0.975 and p^2 = 0.975
        (5, 10, 0.187086, 0.812914),  # tables of Clopper and Pearson
    ],
)
def test_intervals_are_exact(count: int, of: int, low: float, high: float) -> None:
    found = figures.interval(count, of)
    assert found == pytest.approx((low, high), abs=1e-6)


def test_agreement_with_a_ledger_by_hand() -> None:
    # the ledger says loop from turn 1 on, the rule from call 2 on
    found = ledger.agreement({"a": [False, True, True]}, [_run("f:a", 3, 2)], DEFAULT)
    assert (found.both, found.rule, found.ledger, found.neither) == (1, 0, 1, 1)
    assert found.lead == [1]
    assert math.isclose(found.kappa, 0.4)  # seen 2/3; by chance 1/3·2/3 + 2/3·1/3 = 4/9


def _run(name: str, steps: int, stop: int) -> Judged:
    return Judged(name, False, steps, (1,) * steps, {DEFAULT: stop})


# -- beside the labelled runs ---------------------------------------------------------------------


def test_the_figures_are_what_the_runs_give(shared: Path) -> None:
    found = figures.figures(sets.read(shared / "labelled"))
    assert found == FOUND, "run: python -m tests.benchmarks.accuracy --commit"


@pytest.mark.parametrize("name", ["intercode_python", "tau_retail"])
def test_the_report_says_the_same(shared: Path, name: str) -> None:
    """First stops as `report --format json` tells them: the same runs, the same steps."""
    path = shared / "labelled" / f"{name}.jsonl.gz"
    guards = [guard.name for guard in sets.guard_sets()]
    asked = [part for guard in guards for part in ("--guard", guard)]
    done = CliRunner().invoke(app, ["report", str(path), *asked, "--format", "json"])
    assert done.exit_code == 0, done.output
    report = json.loads(done.stdout)
    told: dict[str, dict[str, int]] = {}
    for guard in report["guards"]:
        first = told.setdefault(guard["preset"], {})
        for verdict in guard["verdicts"]:
            if verdict["level"] in ("stop", "stop_all"):
                first.setdefault(verdict["run"], verdict["step"])
    (read,) = sets.read(shared / "labelled", name)
    assert {run.id for run in read.runs} == {run["id"] for run in report["runs"]}
    outcomes = {run["id"]: run["outcome"]["label"] == "success" for run in report["runs"]}
    for run in read.runs:
        assert run.success is outcomes[run.id]
        for guard in guards:
            step = told[guard].get(run.id)
            stop = run.stops[guard]
            if stop is None:
                assert step is None or step >= run.steps - 1, (run.id, guard)
            else:  # a stop in a step saves the next ones, one before a step saves that too
                assert step in (stop - 1, stop), (run.id, guard)
