"""Prediction beside truth: what the replay of the unguarded recording says a guard saves."""

from __future__ import annotations

from dataclasses import replace

import pytest
from playing import sets

from loopaudit.live.compare import Compared, UnderGuard, compare, predicted
from loopaudit.live.play import Ways, play
from loopaudit.live.scenario_file import built_in, find

DEMO = ("fuses:demo", "watchdog:demo", "backstop:demo", "loopaudit")

#: scenario and guard set whose truth lies outside, and a word of the stated reason
OUTSIDE = {
    # the way out of the repaired run is a call and an answer, longer than the steps it saved
    ("repaired", "watchdog:demo"): "way out",
    ("repaired", "loopaudit"): "way out",
    # a withdrawn tool is refused with another text than the recorded 404: the digests differ
    ("permanent-404", "backstop:demo"): "withdrawn",
    ("hung-tool", "backstop:demo"): "withdrawn",
    # 15 steps a request: a bound of the agent's loop that no replay judges
    ("slow-upstream", "fuses:demo"): "own bound",
}


def row(name: str, *guards: str) -> Compared:
    return next(compare([find(name)], sets(*guards), Ways()))


@pytest.mark.parametrize("name", sorted(built_in()))
def test_the_real_saving_lies_within_the_range(name: str) -> None:
    found = row(name, *DEMO)
    for one in found.guarded:
        if (name, one.guard) in OUTSIDE:
            assert not one.within
            assert OUTSIDE[name, one.guard] in one.note
        else:
            assert one.within, (one, found.bare)
            assert not one.note


def deaf_rows() -> list[tuple[str, UnderGuard]]:
    """Every built-in scenario with its ears closed, under every set that it does not leave."""
    out = []
    for scenario in built_in().values():
        for one in row_of(replace(scenario, heeds_after=None)).guarded:
            if one.how == "stopped" and (scenario.name, one.guard) not in OUTSIDE:
                out.append((scenario.name, one))
    return out


def row_of(scenario: object) -> Compared:
    return next(compare([scenario], sets(*DEMO), Ways()))  # type: ignore[list-item]


def test_a_deaf_model_saves_exactly_the_lower_end() -> None:
    rows = deaf_rows()
    assert len(rows) >= 50
    # a withdrawn tool changes what even a deaf model gets to see
    exceptions = {("error-chain", "backstop:demo"), ("permanent-404-heard", "backstop:demo")}
    for name, one in rows:
        if (name, one.guard) not in exceptions:
            assert one.saved == one.least, (name, one)


def test_obeyed_at_once_is_the_upper_end_less_the_answer() -> None:
    found = row("dead-loop", "fuses:demo").guarded[0]
    last = play(find("dead-loop"), sets("fuses:demo"), Ways())[0].run
    assert last is not None
    usage = last.steps[-1].usage
    assert usage is not None
    assert usage.total is not None
    assert found.saved == found.most - usage.total


def test_by_hand() -> None:
    # 4,500 tokens a request, six requests; the fourth passes 15,000: the last two are saved
    budget = row("budget", "fuses:demo")
    assert (budget.bare.tokens, budget.bare.steps) == (27_000, 6)
    [one] = budget.guarded
    assert (one.saved, one.least, one.most) == (9_000, 9_000, 9_000)
    assert (one.sum.steps, one.by, one.step) == (4, "token_budget", 3)


def test_nothing_is_predicted_where_nothing_is_wrong() -> None:
    for name in ("normal", "paging", "fan-out", "edit-and-test", "transient-once"):
        run = play(find(name), (), Ways())[0].run
        assert run is not None
        [guard] = sets("loopaudit")
        assert predicted([run], guard, find(name).task_type) == (0, 0)
