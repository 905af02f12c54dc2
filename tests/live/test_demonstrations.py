"""The original demonstrations, step by step, by the figures of guards.md (steps counted from 1)."""

from __future__ import annotations

from decimal import Decimal

import pytest
from playing import played

from loopaudit.findings import Level
from loopaudit.live.agent import Called, Failed, Outcome, Responded
from loopaudit.model import BoundaryKind, CallStatus


def actions(outcome: Outcome) -> list[tuple[str, str, int | float, int]]:
    """(signal, level, count, step counted from 1)."""
    return [(a.trip.detector, a.trip.level, a.trip.count, a.trip.step + 1) for a in outcome.actions]


def only(outcomes: list[Outcome]) -> Outcome:
    assert len(outcomes) == 1
    return outcomes[0]


# -- fuses ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", ["en", "zh"])
def test_dead_loop_is_warned_in_step_6_and_answers_in_step_7(language: str) -> None:
    outcomes, events, _ = played("dead-loop", "fuses:demo", language=language)
    outcome = only(outcomes)
    assert actions(outcome) == [("generic_repeat", "warn", 5, 6)]
    answers = [event for event in events if isinstance(event, Responded)]
    assert [len(a.reply.calls) for a in answers] == [1, 1, 1, 1, 1, 1, 0]
    assert answers[6].reply.text == (
        "北京今天晴，22 度。" if language == "zh" else "It is sunny in Beijing, 22 degrees."
    )
    assert outcome.how == "answered"
    assert outcome.run is not None
    # the reminder names the tool and the count, and went in before step 7
    note = outcome.run.steps[6].before[-1]
    assert note.kind is BoundaryKind.GUARD
    assert "get_weather" in str(note.text)
    assert "5" in str(note.text)


def test_the_deaf_model_is_stopped_at_count_8() -> None:
    outcome = only(played("dead-loop-deaf", "fuses:demo")[0])
    assert actions(outcome) == [
        ("generic_repeat", "warn", 5, 6),
        ("generic_repeat", "warn", 6, 7),
        ("generic_repeat", "warn", 7, 8),
        ("generic_repeat", "stop", 8, 9),
    ]
    assert outcome.how == "stopped"
    assert outcome.steps == 9
    assert outcome.run is not None
    assert [call.status for call in outcome.run.calls] == [CallStatus.OK] * 8 + [CallStatus.BLOCKED]
    assert [b.kind for b in outcome.run.after] == [BoundaryKind.GUARD_STOP]


@pytest.mark.parametrize("seed", range(20))
def test_two_429s_then_success_with_waits_in_their_intervals(seed: int) -> None:
    outcomes, events, _ = played("retry", "fuses:demo", seed=seed)
    failed = [event for event in events if isinstance(event, Failed)]
    assert [f.error.status for f in failed] == [429, 429]
    first, second = (f.wait for f in failed)
    assert first is not None
    assert 0.375 <= first <= 0.625
    assert second is not None
    assert 0.75 <= second <= 1.25
    outcome = only(outcomes)
    assert outcome.how == "answered"
    assert outcome.steps == 1
    assert outcome.run is not None
    attempts = outcome.run.steps[0].attempts
    assert [(a.http_status, a.number, a.limit, a.wait) for a in attempts] == [
        (429, 1, 3, first),
        (429, 2, 3, second),
    ]


def test_waits_differ_with_the_seed_and_only_with_it() -> None:
    def waits(seed: int) -> list[float | None]:
        return [e.wait for e in played("retry", seed=seed)[1] if isinstance(e, Failed)]

    assert waits(1) == waits(1)
    assert len({tuple(waits(seed)) for seed in range(10)}) == 10


def test_a_spent_quota_is_tried_4_times_by_fuses_and_once_by_the_default() -> None:
    for guard, attempts in (("fuses:demo", 4), ("loopaudit", 1), ("watchdog:demo", 1)):
        outcomes, events, _ = played("quota", guard)
        failed = [event for event in events if isinstance(event, Failed)]
        assert len(failed) == attempts
        assert failed[-1].wait is None
        assert only(outcomes).how == "error"


def test_budget_of_15000_stops_at_the_fourth_request() -> None:
    outcomes, events, _ = played("budget", "fuses:demo")
    outcome = only(outcomes)
    assert actions(outcome) == [("token_budget", "stop", 18_000, 4)]
    assert outcome.tokens == 18_000
    assert outcome.how == "stopped"
    assert sum(isinstance(event, Responded) for event in events) == 4
    # 13,500 of 15,000 is 90 % and still fine; unguarded all six requests are answered
    assert only(played("budget")[0]).tokens == 27_000


def test_at_most_15_steps_a_request_under_fuses() -> None:
    outcome = only(played("slow-upstream", "fuses:production")[0])
    assert outcome.how == "limit"
    assert outcome.steps == 15
    assert outcome.run is not None
    assert [b.kind for b in outcome.run.after] == [BoundaryKind.LIMIT]


def test_a_normal_request_is_left_alone() -> None:
    for guard in ("fuses:demo", "watchdog:demo", "backstop:demo", "loopaudit"):
        outcome = only(played("normal", guard)[0])
        assert outcome.how == "answered"
        assert not outcome.actions
        assert outcome.steps == 2


# -- watchdog -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scenario", "reason", "step"),
    [
        ("repeater", "repeated_action", 4),
        ("error-chain", "consecutive_errors", 3),
        ("treading-water", "no_progress", 5),
    ],
)
def test_the_three_symptoms_first_repair_then_stop(scenario: str, reason: str, step: int) -> None:
    outcome = only(played(scenario, "watchdog:demo")[0])
    assert actions(outcome)[:2] == [
        (reason, "repair", step, step),
        (reason, "stop", step + 1, step + 1),
    ]
    assert outcome.steps == step + 1
    assert outcome.how == "stopped"
    assert outcome.run is not None
    repair = outcome.run.steps[step].before[-1]
    assert repair.kind is BoundaryKind.GUARD
    assert repair.text


def test_a_repair_that_is_heard_ends_well() -> None:
    outcome = only(played("repaired", "watchdog:demo")[0])
    assert actions(outcome) == [("repeated_action", "repair", 4, 4)]
    assert outcome.how == "answered"
    assert outcome.steps == 6


def test_the_diligent_editor_is_renewed_at_4_10_16_and_stopped_before_25() -> None:
    budgets: list[int | None] = []
    from loopaudit.live.clock import ScriptedClock
    from loopaudit.live.guarded import Guarded

    clock = ScriptedClock()
    guard = Guarded("watchdog:demo", clock=clock.now)
    guard.user("translate")
    for number in range(1, 40):
        if not guard.proceed():
            break
        for call in guard.response(None, [(str(number), "write_file", {"path": f"{number}.md"})]):
            guard.result(call[0], "written")
        guard.finish_step()
        budgets.append(guard.budget)
    assert [budgets.index(b) + 1 for b in (6, 12, 18, 24)] == [1, 4, 10, 16]
    assert len(budgets) == 24
    assert guard.stopped is not None
    assert guard.stopped.trip.detector == "hard_max_steps"
    outcome = only(played("diligent-editor", "watchdog:demo")[0])
    assert outcome.steps == 24
    assert outcome.how == "stopped"


# -- backstop -------------------------------------------------------------------------------------


def test_converge_at_70_percent_and_stop_at_100() -> None:
    # research, demo: 25 steps; ceil(0.7 * 25) = 18
    outcome = only(played("diligent-editor", "backstop:demo")[0])
    steps = [(a.trip.level, a.trip.count) for a in outcome.actions if a.trip.detector == "steps"]
    assert steps == [(Level.CONVERGE, 18), (Level.STOP, 25)]
    assert outcome.steps == 25
    assert outcome.run is not None
    assert outcome.run.steps[18].before[-1].kind is BoundaryKind.GUARD


def test_a_tool_is_withdrawn_after_a_permanent_error() -> None:
    outcome = only(played("permanent-404-heard", "backstop:demo")[0])
    assert actions(outcome) == [("permanent_errors", "withdraw", 1, 1)]
    assert outcome.how == "answered"
    assert outcome.steps == 2
    deaf = only(played("permanent-404", "backstop:demo")[0])
    assert deaf.run is not None
    statuses = [call.status for call in deaf.run.calls]
    assert statuses[0] is CallStatus.ERROR
    assert set(statuses[1:]) == {CallStatus.BLOCKED}  # never run again


def test_a_withdrawn_tool_is_no_longer_offered() -> None:
    from loopaudit.live.guarded import Guarded

    with Guarded("backstop:demo") as guard:
        guard.user("go")
        assert guard.proceed()
        [call] = guard.response(None, [("1", "fetch", {"url": "u"})])
        guard.result(call[0], "404 Not Found", error=True, http_status=404)
        assert guard.proceed()
        assert list(guard.withdrawn) == ["fetch"]
        assert any("fetch" in note for note in guard.notes())
        assert guard.response(None, [("2", "fetch", {"url": "u"})]) == []


def test_the_breaker_stops_all_agents() -> None:
    # 3,000 in + 500 out = $0.0225 a step; $1.00 is reached with step 45 of all, alert with 27
    outcomes, events, _ = played("service-budget", "backstop:demo")
    assert len(outcomes) == 4
    assert all(outcome.how == "stopped" for outcome in outcomes)
    assert {o.stopped.trip.level for o in outcomes if o.stopped} == {Level.STOP_ALL}
    money = [a for o in outcomes for a in o.actions if a.trip.detector == "money"]
    levels = [a.trip.level for a in money]
    assert levels.count(Level.ALERT) == 1
    assert levels.count(Level.STOP_ALL) == 4
    [alert] = [a for a in money if a.trip.level is Level.ALERT]
    assert alert.trip.count == pytest.approx(27 * 0.0225)
    stop = min((a for a in money if a.trip.level is Level.STOP_ALL), key=lambda a: a.trip.count)
    assert stop.trip.count == pytest.approx(45 * 0.0225)
    # steps under way when the limit was reached end, no other begins: 12 rounds of 4 at most
    assert 45 <= sum(outcome.steps for outcome in outcomes) <= 48
    cost = {event.cost for event in events if isinstance(event, Responded)}
    assert cost == {Decimal("0.0225")}


def test_wall_time_stops_slow_calls_that_no_step_limit_sees() -> None:
    outcome = only(played("slow-upstream", "backstop:demo")[0])
    assert outcome.stopped is not None
    assert outcome.stopped.trip.detector == "wall_time"
    assert outcome.steps == 4  # 4 x 31 s = 124 s > 120 s


def test_a_hung_tool_is_cut_at_its_time_out() -> None:
    _, events, _ = played("hung-tool", "loopaudit")
    answers = [e.answer for e in events if isinstance(e, Called) and e.answer is not None]
    assert answers
    assert all(a.error and a.code == "timeout" and a.seconds == 10 for a in answers)


# -- all ------------------------------------------------------------------------------------------


def test_healthy_scenarios_are_not_stopped_by_the_default_set() -> None:
    from loopaudit.live.scenario_file import built_in

    healthy = [s for s in built_in().values() if s.ends == "well"]
    assert len(healthy) >= 7
    for scenario in healthy:
        outcome = only(played(scenario, "loopaudit")[0])
        assert outcome.how == "answered", scenario.name
        assert not [a for a in outcome.actions if a.trip.level.stops]


def test_the_same_bytes_each_time() -> None:
    from loopaudit.live.scenario_file import built_in

    for name in built_in():
        assert played(name, "loopaudit")[2] == played(name, "loopaudit")[2]


def test_scripted_time_takes_no_time() -> None:
    import time

    began = time.monotonic()
    assert only(played("hung-tool")[0]).seconds == 40 * 11.0
    assert time.monotonic() - began < 20


def test_what_a_stopped_run_gives_back() -> None:
    from loopaudit.live.agent import Ended

    _, events, _ = played("dead-loop-deaf", "fuses:demo")
    ended = [event for event in events if isinstance(event, Ended)]
    assert len(ended) == 1
    assert ended[0].how == "stopped"
    assert "Stopped by fuses:demo" in str(ended[0].text)


def test_figures_of_the_spec_at_the_default_price() -> None:
    from loopaudit.live.play import cost
    from loopaudit.live.scenario import Price
    from loopaudit.model import Usage

    step = cost(Usage(fresh_input=3_000, output=500), Price())
    assert (step, 100 * step, 1000 * step) == (
        Decimal("0.0225"),
        Decimal("2.25"),
        Decimal("22.5"),
    )
