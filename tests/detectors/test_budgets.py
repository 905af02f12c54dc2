"""Sums of tokens, money, steps and time; what is not known is never 0."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from driven import USER, bound, called, counts, readings, run_of, stepped

from loopaudit.detectors.base import Detector
from loopaudit.detectors.budgets import (
    Money,
    ServiceMoney,
    ServiceTokenBudget,
    StepCount,
    TokenBudget,
    WallTime,
)
from loopaudit.model import Boundary, BoundaryKind, Step, StepKind, Usage, UsageMark

LOWER = UsageMark.LOWER_BOUND


def of(detector: Detector, *items: Step | Boundary) -> list[int | float]:
    return [reading.count for reading in readings(detector, run_of(items))]


def test_tokens_of_all_kinds_over_all_requests() -> None:
    usage = Usage(fresh_input=10, cache_read=8_000, cache_write_5m=2_000, output=350, reasoning=200)
    steps: list[Step | Boundary] = [
        stepped(usage=usage),
        bound(),
        stepped(tokens=1_000),
        bound(),
        stepped(tokens=7),
    ]
    assert of(TokenBudget(), *steps) == [10_360, 11_360, 11_367]


def test_a_compaction_costs_tokens_and_is_no_step() -> None:
    steps = [
        stepped(tokens=100),
        stepped(tokens=5_000, kind=StepKind.COMPACTION),
        stepped(tokens=100),
    ]
    assert of(TokenBudget(), *steps) == [100, 5_100, 5_200]
    assert of(StepCount(), *steps) == [1, 2]


def test_the_mock_model_of_fuses() -> None:
    usage = Usage(fresh_input=3_000, output=1_500)
    assert of(TokenBudget(), *[stepped(usage=usage) for _ in range(4)]) == [
        4_500,
        9_000,
        13_500,
        18_000,
    ]


@pytest.mark.parametrize("usage", [None, Usage(), Usage(fresh_input=9, mark=UsageMark.ABSENT)])
def test_absent_usage_is_not_0(usage: Usage | None) -> None:
    assert of(TokenBudget(), stepped(usage=usage), stepped(usage=usage)) == []
    run = run_of([stepped(tokens=5), stepped(usage=usage), stepped(tokens=5)])
    found = readings(TokenBudget(), run)
    assert [(r.count, r.note) for r in found] == [
        (5, None),
        (10, "lower bound: usage of 1 responses missing"),
    ]


def test_usage_of_0_is_a_reading() -> None:
    assert of(TokenBudget(), stepped(tokens=0)) == [0]


def test_a_lower_bound_stays_one() -> None:
    run = run_of([stepped(usage=Usage(output=1, mark=LOWER)), stepped(tokens=5)])
    assert all(r.note and r.note.startswith("lower bound") for r in readings(TokenBudget(), run))


def test_inherited_responses_belong_to_another_run() -> None:
    steps = [stepped(tokens=9_000, inherited=True, cost=Decimal(9)), stepped(tokens=6_000)]
    assert of(TokenBudget(), *steps) == [6_000]
    assert of(Money(), *steps) == []
    assert of(StepCount(), *steps) == [1]


# -- money ----------------------------------------------------------------------------------------


def test_recorded_cost() -> None:
    steps = [stepped(cost=Decimal("0.0225")) for _ in range(100)]
    assert of(Money(), *steps)[-1] == 2.25


def test_a_price_where_no_cost_is_recorded() -> None:
    def price(step: Step) -> Decimal | None:
        return None if step.model is None else Decimal("0.10")

    steps = [stepped(model="m"), stepped(cost=Decimal("0.25")), stepped(), stepped(model="m")]
    found = readings(Money(price), run_of(steps))
    assert [(r.count, r.note) for r in found] == [
        (0.1, None),
        (0.35, None),
        (0.45, "lower bound: price of 1 responses missing"),
    ]


def test_unpriced_is_not_0() -> None:
    assert of(Money(), stepped(tokens=1_000), stepped(tokens=1_000)) == []
    assert of(Money(lambda step: None), stepped(tokens=1_000)) == []


def test_scopes() -> None:
    assert [d.scope for d in (TokenBudget, Money, ServiceTokenBudget, ServiceMoney)] == [
        "run",
        "run",
        "service",
        "service",
    ]
    # concurrent runs: one meter gets the steps of all
    meter = ServiceTokenBudget()
    found = [r.count for n in (3, 4, 5) for r in meter.step_ended(stepped(tokens=n))]
    assert found == [3, 7, 12]


# -- steps and wall time --------------------------------------------------------------------------


def test_steps_of_a_request() -> None:
    hook = bound(BoundaryKind.HOOK)
    items: list[Step | Boundary] = [bound(), stepped(), stepped(), hook, stepped(), bound()]
    items.append(stepped())
    found = readings(StepCount(), run_of(items))
    # the 0 takes back the old count from limits that are judged before the next step
    assert [(r.count, r.step) for r in found] == [(1, 0), (2, 1), (3, 2), (0, 2), (1, 3)]
    assert len({r.group for r in found}) == 2
    assert of(StepCount(per_request=False), *items) == [1, 2, 3, 4]


def test_user_messages_in_a_row() -> None:
    assert of(StepCount(), bound(), bound(), stepped(), bound(), bound()) == [1, 0]


def test_wall_time_runs_from_the_users_message() -> None:
    items: list[Step | Boundary] = [
        bound(USER, 100.0),
        stepped(105.0, called(105.0, 110.0)),
        stepped(120.0),
        bound(USER, 9_000.0),
        stepped(9_002.5),
    ]
    assert of(WallTime(), *items) == [10.0, 20.0, 2.5]
    assert of(WallTime(per_request=False), *items) == [10.0, 20.0, 8_902.5]


def test_wall_time_without_a_users_message_runs_from_the_first_event() -> None:
    assert of(WallTime(), stepped(50.0, called(50.0, 80.0)), stepped(90.0)) == [30.0, 40.0]


@pytest.mark.parametrize(
    "items",
    [
        [stepped(), stepped()],
        [bound(USER, 5.0), stepped()],
        [bound(USER, 100.0), stepped(50.0)],  # clock set back
        [bound(USER, 5.0), stepped(float("nan"))],
    ],
)
def test_no_times_no_reading(items: list[Any]) -> None:
    assert of(WallTime(), *items) == []


def test_a_user_message_without_time_starts_at_the_next_step() -> None:
    assert of(WallTime(), bound(USER, 1.0), stepped(5.0), bound(), stepped(900.0)) == [4.0, 0.0]


def test_needs() -> None:
    assert [d.needs for d in (TokenBudget, Money, WallTime, StepCount)] == [
        {"usage"},
        {"usage"},
        {"times"},
        set(),
    ]
    assert counts([], "steps") == []
