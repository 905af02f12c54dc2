"""Intervals against values from tables and other programs; splits that keep sessions together."""

from __future__ import annotations

import numpy
import pytest

from loopaudit.replay.standing import KnownBy, Standing
from loopaudit.tune.corpus import Sample
from loopaudit.tune.search import Aim
from loopaudit.tune.split import PROJECT, SESSION, TIME, split, way_of
from loopaudit.tune.statistics import bootstrap_sum, clopper_pearson, runs_to_prove


@pytest.mark.parametrize(
    ("hits", "of", "low", "high"),
    [  # R: binom.test(hits, of)$conf.int
        (0, 10, 0.0, 0.3084971),
        (5, 10, 0.1870860, 0.8129140),
        (1, 100, 0.0002531460, 0.05445939),
        (10, 10, 0.6915029, 1.0),
    ],
)
def test_exact_intervals(hits: int, of: int, low: float, high: float) -> None:
    assert clopper_pearson(hits, of) == pytest.approx((low, high), abs=2e-6)


def test_nothing_known_is_the_whole_range() -> None:
    assert clopper_pearson(0, 0) == (0.0, 1.0)


def test_large_numbers_stay_finite() -> None:
    low, high = clopper_pearson(80, 4401)
    assert 0.014 < low < 80 / 4401 < high < 0.023


def test_how_many_runs_prove_a_cap() -> None:
    # 0 of n proves 2 % where 0.98^n <= 0.025 (two-sided 95 %): n >= 182.6
    assert runs_to_prove(0.02) == 183
    assert clopper_pearson(0, 183)[1] <= 0.02 < clopper_pearson(0, 182)[1]


def test_the_cap_is_kept_with_some_certainty() -> None:
    aim = Aim(cap=0.02)
    # R: binom.test(1, 277)$conf.int[2] is 0.01994, of 276 0.02001
    assert aim.allowed(277) == 1
    assert aim.allowed(276) == 0
    assert aim.allowed(241, chosen=False) == 4  # of what is set now the rate itself counts
    assert aim.allowed(20) == 0  # even 0 of 20 prove nothing: none may be interrupted
    assert aim.allowed(100, warn=True) == 4  # binom.test(4, 100): to 0.0993; 5: to 0.1128
    assert Aim(cap=1.0).allowed(20) == 20
    assert Aim(cap=0.0).allowed(1_000) == 0


def test_runs_left_out_keep_the_cap_with_a_standard_error() -> None:
    aim = Aim(cap=0.02)
    assert aim.kept(0, 20)
    assert not aim.kept(1, 20)
    assert aim.kept(2, 230)  # 0.0087 + 0.0061
    assert not aim.kept(3, 230)  # 0.0130 + 0.0075
    assert aim.kept(0, 0)  # what is set stays: nothing was chosen


def test_bootstrap_draws_whole_sessions() -> None:
    values = numpy.array([1.0, -1.0] * 50)
    together = numpy.repeat(numpy.arange(50), 2)
    assert bootstrap_sum(values, together) == (0.0, 0.0)  # each session sums to 0
    low, high = bootstrap_sum(values, numpy.arange(100))
    # a sum of 100 draws of +-1: standard deviation 10
    assert -23 < low < -16
    assert 16 < high < 23
    assert bootstrap_sum(values, numpy.arange(100)) == (low, high)


def test_bootstrap_of_one_value_each() -> None:
    low, high = bootstrap_sum(numpy.full(40, 2.5), numpy.arange(40))
    assert low == high == pytest.approx(100)


def sample(number: int, **changes: object) -> Sample:
    values: dict[str, object] = {
        "id": f"r{number}", "path": "p", "session": f"s{number}", "project": None, "started": None,
        "task_type": "t", "standing": Standing.HEALTHY, "by": KnownBy.OUTCOME, "steps": 1,
        "loop_end": -1, "loops": 0, "calls": [1], "tokens": None, "pico": None, "counted": {},
    }  # fmt: skip
    return Sample(**(values | changes))  # type: ignore[arg-type]


def test_the_later_half_is_held_out() -> None:
    runs = [sample(n, started=1e9 + 3_600.0 * n) for n in range(100)]
    assert way_of(runs) == TIME
    training, held = split(runs, TIME)
    assert training == list(range(50))
    assert held == list(range(50, 100))


def test_within_one_day_sessions_are_drawn() -> None:
    runs = [sample(n, started=1e9 + n) for n in range(100)]
    assert way_of(runs) == SESSION
    training, held = split(runs, SESSION)
    assert sorted(training + held) == list(range(100))
    assert 30 < len(training) < 70
    assert split(runs[::-1], SESSION)[0] == sorted(99 - n for n in training)


def test_projects_stay_together() -> None:
    runs = [sample(n, project=f"project{n % 10}") for n in range(200)]
    assert way_of(runs) == PROJECT
    training, held = split(runs, PROJECT)
    assert not {runs[n].project for n in training} & {runs[n].project for n in held}


def test_sub_agents_stay_with_their_session() -> None:
    runs = [sample(n, session=f"s{n // 5}") for n in range(200)]
    training, held = split(runs, SESSION)
    assert not {runs[n].session for n in training} & {runs[n].session for n in held}
