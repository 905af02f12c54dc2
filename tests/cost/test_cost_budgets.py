"""Budgets: the step that reached 60 % and 100 %, what came after, and what cannot be said."""

from __future__ import annotations

from datetime import UTC
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from billing import Record, audited, book, log, run, said, settings

from loopaudit.cost.budgets import Budget, Scope, Spending, Unit, Verdict, read, spend, with_flags
from loopaudit.errors import ConfigError
from loopaudit.money import pico
from loopaudit.settings import load

DOLLAR = 1_000_000  # tokens of fresh input at $1 a million


def spent(folder: Path, records: list[Record], *budgets: Budget, **more: Any) -> list[Spending]:
    _, runs = audited(log(folder, "log", records))
    return spend(runs, budgets, more.get("zone", UTC), book())


def usd(amount: str, scope: Scope = Scope.SERVICE, task_type: str | None = None) -> Budget:
    return Budget(scope, Unit.USD, pico(Decimal(amount)), task_type)


def tokens(limit: int, scope: Scope = Scope.SERVICE, task_type: str | None = None) -> Budget:
    return Budget(scope, Unit.TOKENS, limit, task_type)


def steady(steps: int, start: int = 0, name: str = "r", **more: Any) -> list[Record]:
    """Steps of one dollar, a minute apart."""
    return [
        run(name, **more),
        *(
            said(f"{name}{n}", DOLLAR, at=f"2026-05-01T10:{start + n:02d}:00Z")
            for n in range(steps)
        ),
    ]


def places(spending: Spending) -> list[tuple[str, int] | None]:
    """Run and step (from 1) of both crossings."""
    crossings = (spending.warned, spending.reached)
    return [None if c is None else (c.run, c.step + 1) for c in crossings]


def test_the_steps_that_reached_sixty_and_a_hundred_percent(tmp_path: Path) -> None:
    (found,) = spent(tmp_path, steady(8), usd("5.00"))
    assert places(found) == [("r", 3), ("r", 5)]  # $3.00 is 60 %, $5.00 is all of it
    assert found.verdict is Verdict.REACHED
    assert found.warned
    assert found.reached
    assert (found.reached.spent, found.reached.after) == (pico(Decimal(5)), pico(Decimal(3)))
    assert found.reached.steps_after == 3
    assert (found.reached.line, found.reached.at) == (7, 1_777_629_840.0)
    assert found.reached.path.endswith("log.jsonl")
    assert (found.warned.spent, found.warned.steps_after) == (pico(Decimal(3)), 5)


@pytest.mark.parametrize(
    ("limit", "verdict", "crossed"),
    [
        ("1.99", Verdict.REACHED, [("r", 2), ("r", 2)]),  # $1 is 50 %, $2 are more than all
        ("2.00", Verdict.REACHED, [("r", 2), ("r", 2)]),
        ("2.000001", Verdict.WARNED, [("r", 2), None]),
        ("3.33", Verdict.WARNED, [("r", 2), None]),  # 60 % of it is $1.998
        ("3.34", Verdict.WITHIN, [None, None]),  # 60 % of it is $2.004
    ],
)
def test_just_below_and_just_at_a_share(
    tmp_path: Path, limit: str, verdict: Verdict, crossed: list[Any]
) -> None:
    (found,) = spent(tmp_path, steady(2), usd(limit))
    assert (found.verdict, places(found)) == (verdict, crossed)


def test_tokens_of_all_kinds_count(tmp_path: Path) -> None:
    records = [run("r"), said("a", 100, 50, read=850), said("b", 1_000)]
    (found,) = spent(tmp_path, records, tokens(2_000))
    assert places(found) == [("r", 2), ("r", 2)]
    assert (found.spent, found.verdict) == (2_000, Verdict.REACHED)


def test_runs_share_a_service_budget_in_the_order_of_time(tmp_path: Path) -> None:
    # a: 10:00, 10:02, 10:04; b: 10:01, 10:03
    a = [said(f"a{n}", DOLLAR, at=f"2026-05-01T10:0{2 * n}:00Z") for n in range(3)]
    b = [said(f"b{n}", DOLLAR, at=f"2026-05-01T10:0{2 * n + 1}:00Z") for n in range(2)]
    records = [run("a"), *a, run("b"), *b]
    (found,) = spent(tmp_path, records, usd("4.00"))
    assert places(found) == [("a", 2), ("b", 2)]  # $2.40 with the third, $4 with the fourth
    assert found.reached
    assert found.reached.after == pico(Decimal(1))


def test_each_run_has_a_budget_of_its_own(tmp_path: Path) -> None:
    records = [*steady(2, name="a"), *steady(3, name="b")]
    found = spent(tmp_path, records, usd("3.00", Scope.RUN))
    assert [(s.key, s.verdict) for s in found] == [("b", Verdict.REACHED), ("a", Verdict.WARNED)]


def test_a_type_of_task_may_have_another_budget(tmp_path: Path) -> None:
    records = [
        *steady(2, name="a", task_type="research"),
        *steady(2, name="b", task_type="research"),
        *steady(2, name="c", task_type="chat"),
    ]
    found = spent(tmp_path, records, usd("2", Scope.RUN), usd("9", Scope.RUN, "research"))
    assert {(s.key, s.budget.limit, s.verdict) for s in found} == {
        ("a", pico(Decimal(9)), Verdict.WITHIN),
        ("b", pico(Decimal(9)), Verdict.WITHIN),
        ("c", pico(Decimal(2)), Verdict.REACHED),
    }
    found = spent(tmp_path, records, usd("4", Scope.TASK_TYPE))
    assert {(s.key, s.spent, s.verdict) for s in found} == {
        ("research", pico(Decimal(4)), Verdict.REACHED),
        ("chat", pico(Decimal(2)), Verdict.WITHIN),
    }


def test_a_budget_a_day_begins_anew_at_midnight_of_the_zone(tmp_path: Path) -> None:
    records = [
        run("r"),
        said("a", DOLLAR, at="2026-05-01T21:00:00Z"),  # 23:00 in Berlin
        said("b", DOLLAR, at="2026-05-01T22:30:00Z"),  # 00:30 of the next day
        said("c", DOLLAR, at="2026-05-02T10:00:00Z"),
    ]
    day = usd("2", Scope.DAY)
    found = spent(tmp_path, records, day)
    assert {(s.key, s.verdict) for s in found} == {
        ("2026-05-01", Verdict.REACHED),
        ("2026-05-02", Verdict.WITHIN),
    }
    found = spent(tmp_path, records, day, zone=ZoneInfo("Europe/Berlin"))
    assert {(s.key, s.verdict) for s in found} == {
        ("2026-05-01", Verdict.WITHIN),
        ("2026-05-02", Verdict.REACHED),
    }


def test_without_a_time_the_day_is_not_known(tmp_path: Path) -> None:
    (found,) = spent(tmp_path, [run("r"), said("a", DOLLAR)], usd("9", Scope.DAY))
    assert (found.key, found.verdict) == (None, Verdict.CANNOT_SAY)


def test_unpriced_tokens_leave_a_money_budget_open(tmp_path: Path) -> None:
    records = [run("r"), said("a", DOLLAR), said("b", 5_000, model="unknown-model")]
    found = spent(tmp_path, records, usd("9"), tokens(9 * DOLLAR))
    assert [(s.budget.unit, s.verdict) for s in found] == [
        (Unit.USD, Verdict.CANNOT_SAY),
        (Unit.TOKENS, Verdict.WITHIN),
    ]
    assert found[0].unpriced_tokens == 5_000
    # but a budget that the priced part alone has spent is spent
    (found_spent,) = spent(tmp_path, records, usd("1"))
    assert found_spent.verdict is Verdict.REACHED


def test_responses_without_usage_leave_every_budget_open(tmp_path: Path) -> None:
    records = [run("r"), said("a", DOLLAR), said("b")]
    found = spent(tmp_path, records, usd("9"), tokens(9 * DOLLAR))
    assert [s.verdict for s in found] == [Verdict.CANNOT_SAY] * 2


def test_inherited_steps_are_not_spent_again(tmp_path: Path) -> None:
    first = said("response-number-one", DOLLAR, at="2026-05-01T10:00:00Z")
    one = log(tmp_path, "one", [run("A", session="A"), first])
    two = log(tmp_path, "two", [run("B", session="B"), first])
    _, runs = audited(one, two)
    (found,) = spend(runs, [usd("2")], UTC, book())
    assert (found.spent, found.steps) == (pico(Decimal(1)), 1)


def test_steps_out_of_order_stay_in_the_order_of_their_run(tmp_path: Path) -> None:
    records = [
        run("r"),
        said("a", DOLLAR, at="2026-05-01T10:05:00Z"),
        said("b", 2 * DOLLAR),
        said("c", 4 * DOLLAR, at="2026-05-01T10:00:00Z"),
    ]
    (found,) = spent(tmp_path, records, usd("3"))
    assert found.reached
    assert (found.reached.step, found.reached.spent) == (1, pico(Decimal(3)))


# -- settings -------------------------------------------------------------------------------------

TOML = """
[budgets]
warn_percent = 50
[budgets.run]
usd = 5.00
tokens = 2_000_000
[budgets.day]
usd = 50
[budgets.task_types.research]
usd = 100
[budgets.task_types.research.run]
usd = 0.1
"""


def test_budgets_of_the_settings(tmp_path: Path) -> None:
    (tmp_path / "loopaudit.toml").write_text(TOML)
    found = read(load(folder=tmp_path, environment={}))
    assert [(b.scope, b.unit, b.limit, b.task_type) for b in found] == [
        (Scope.RUN, Unit.USD, pico(Decimal(5)), None),
        (Scope.RUN, Unit.TOKENS, 2_000_000, None),
        (Scope.DAY, Unit.USD, pico(Decimal(50)), None),
        (Scope.TASK_TYPE, Unit.USD, pico(Decimal(100)), "research"),
        (Scope.RUN, Unit.USD, pico(Decimal("0.1")), "research"),
    ]
    assert {(b.warn_percent, b.stop_percent) for b in found} == {(Decimal(50), Decimal(100))}


def test_no_settings_no_budgets() -> None:
    assert read(settings()) == []


def test_a_flag_replaces_the_budget_for_the_same_thing(tmp_path: Path) -> None:
    (tmp_path / "loopaudit.toml").write_text(TOML)
    found = with_flags(read(load(folder=tmp_path, environment={})), [usd("7", Scope.RUN)])
    assert [b.limit for b in found if (b.scope, b.unit) == (Scope.RUN, Unit.USD)] == [
        pico(Decimal("0.1")),  # of a type: it stays
        pico(Decimal(7)),
    ]
    assert len(found) == 5


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[budgets]\nrun = 5\n", 2),
        ("[budgets.run]\nusd = -1\n", 2),
        ("[budgets.run]\nusd = 'five'\n", 2),
        ("[budgets.run]\neuro = 5\n", 2),
        ("[budgets.week]\nusd = 5\n", 1),
        ("[budgets]\nwarn_percent = 110\n", 2),
        ("[budgets.task_types.x]\ndollars = 5\n", 2),
    ],
)
def test_a_wrong_budget_names_its_line(tmp_path: Path, text: str, line: int) -> None:
    path = tmp_path / "loopaudit.toml"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        read(load(folder=tmp_path, environment={}))
    assert f"{path}:{line}:" in caught.value.message
