"""The meter over the whole service: sums over runs, alert once, all runs stopped, no lost count."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any

from loopaudit.findings import Reading
from loopaudit.guards import presets
from loopaudit.guards.service import ServiceSession
from loopaudit.model import Call, Step
from loopaudit.replay.replay import replay_service


def step(index: int, usd: str | None, at: float | None = None, **more: Any) -> Step:
    cost = None if usd is None else Decimal(usd)
    return Step(index, "p", index + 1, cost=cost, at=at, **more)


def meter(name: str = "backstop:demo", user: Any = None, **options: Any) -> ServiceSession:
    return ServiceSession(presets.load(name, user, env={}), **options)


def rows(runs: list[tuple[str, list[Step]]], session: ServiceSession) -> list[tuple[Any, ...]]:
    return [
        (v.run, v.trip.step, v.trip.level.value, round(v.trip.count, 6), v.trip.saves_from)
        for v in replay_service(runs, session)
    ]


def test_alert_at_sixty_percent_stop_of_all_at_a_hundred() -> None:
    a = [step(i, "0.2", at=10.0 * i) for i in range(4)]  # at 0, 10, 20, 30
    b = [step(i, "0.2", at=10.0 * i + 5) for i in range(4)]  # at 5, 15, 25, 35
    # sums: .2 .4 .6 .8 1.0 (a, at 20) 1.2 (b, at 25) …
    assert rows([("a", a), ("b", b)], meter()) == [
        ("a", 1, "alert", 0.6, 2),
        ("a", 2, "stop_all", 1.0, 3),
        ("b", 2, "stop_all", 1.0, 2),
    ]


def test_just_below_is_silent() -> None:
    assert rows([("a", [step(0, "0.59")])], meter()) == []
    assert rows([("a", [step(0, "0.30")]), ("b", [step(0, "0.29")])], meter()) == []


def test_a_run_that_had_ended_before_is_not_stopped() -> None:
    early = [step(0, "0.1", at=1.0)]
    late = [step(0, "0.95", at=2.0), step(1, "0.1", at=3.0)]
    assert rows([("early", early), ("late", late)], meter()) == [("late", 0, "stop_all", 1.05, 1)]


def test_no_budget_until_one_is_set() -> None:
    runs = [("a", [step(0, "900")])]
    assert rows(runs, meter("backstop")) == []
    assert presets.unreachable(presets.load("backstop")) == [
        "money: no limit is set, so it is not enforced"
    ]
    user = {"backstop": {"rule": [{"signal": "money", "stop_all": 50, "alert": "60%"}]}}
    assert rows(runs, meter("backstop", user)) == [("a", 0, "stop_all", 900, 1)]


def test_steps_without_cost_are_priced_where_a_price_is_known() -> None:
    runs = [("a", [step(0, None), step(1, None)])]
    assert rows(runs, meter()) == []
    assert rows(runs, meter(price=lambda _: Decimal("0.5"))) == [("a", 1, "stop_all", 1.0, 2)]


def test_each_reading_leaves_a_trail() -> None:
    seen: list[Reading] = []
    made = step(6, "0.1", text="Looking at the log " * 9)
    made.calls = [Call(0, 6, 0, None, "read", 1, 1), Call(1, 6, 1, None, "grep", 2, 1)]
    meter(observe=seen.append).step_ended("r1", made)
    assert seen[0].note is not None
    assert seen[0].note.startswith("run r1, step 7, last tool grep, Looking at the log")
    assert len(seen[0].note) < 140


def test_concurrent_agents_lose_no_count() -> None:
    seen: list[Reading] = []
    session = meter(observe=seen.append)

    def work(agent: int) -> None:
        for i in range(500):
            session.step_ended(f"agent {agent}", step(i, "0.001"))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert [r.count for r in seen] == [round(0.001 * (i + 1), 3) for i in range(4000)]


def test_steps_without_time_keep_their_place_in_the_run() -> None:
    a = [step(0, "0.5", at=1.0), step(1, "0.4"), step(2, "0.05", at=9.0)]
    b = [step(0, "0.3", at=5.0)]
    # 0.5 (a), 0.9 (a, no time), 1.2 (b), then a's third step is not made
    assert rows([("a", a), ("b", b)], meter()) == [
        ("a", 1, "alert", 0.9, 2),
        ("b", 0, "stop_all", 1.2, 1),
        ("a", 2, "stop_all", 1.2, 2),
    ]
