"""`Guarded` around a user's own loop: order, refusals, run ids, threads and tasks, one meter."""

from __future__ import annotations

import asyncio
import io
import logging
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from playing import replayed, sets

from loopaudit import Guarded
from loopaudit.findings import Level, Reading
from loopaudit.guards.service import ServiceSession
from loopaudit.live.guarded import RunIds, run_id
from loopaudit.model import BoundaryKind, CallStatus, Usage


@dataclass
class Call:
    id: str
    name: str
    arguments: dict[str, Any]


def ticking(step: float = 1.0) -> Iterator[float]:
    now = 1_767_000_000.0
    while True:
        now += step
        yield now


def clock() -> Any:
    ticks = ticking()
    return lambda: next(ticks)


def test_ten_lines_around_a_loop_that_repeats() -> None:
    ran = []
    with Guarded("loopaudit", clock=clock()) as guard:
        guard.user("what is the weather?")
        for number in range(50):
            if not guard.proceed():
                break
            allowed = guard.response(None, [Call(f"t{number}", "weather", {"city": "Rome"})])
            for call in allowed:
                ran.append(call.id)
                guard.result(call.id, "14 C")
    assert ran == ["t0", "t1", "t2"]  # warned at the second, stopped at the third
    assert [a.trip.level for a in guard.actions if a.trip.detector == "same_call_same_result"] == [
        Level.WARN,
        Level.STOP,
    ]
    assert guard.stopped is not None
    assert guard.run.after[-1].kind is BoundaryKind.GUARD_STOP


def test_healthy_loops_are_left_alone() -> None:
    with Guarded("loopaudit", "fuses:demo", "watchdog:production", clock=clock()) as guard:
        guard.user("read the file and fix it")
        for number in range(4):
            assert guard.proceed()
            for call in guard.response(None, [(f"r{number}", "read_file", {"path": "a.py"})]):
                guard.result(call[0], f"version {number}")
            assert guard.proceed()
            edit = (f"e{number}", "edit_file", {"path": "a.py", "new": str(number)})
            for call in guard.response(None, [edit]):
                guard.result(call[0], "edited")
    assert not guard.actions
    assert not guard.notes()


def test_notes_are_given_once() -> None:
    guard = Guarded("loopaudit", clock=clock())
    guard.user("go")
    for number in range(2):
        assert guard.proceed()
        for call in guard.response(None, [(str(number), "grep", {"pattern": "x"})]):
            guard.result(call[0], "a.py:1: x")
    assert guard.proceed()
    [note] = guard.notes()
    assert "grep" in note
    assert guard.notes() == []


def test_a_stop_ends_the_request_and_a_user_message_opens_the_next() -> None:
    guard = Guarded("fuses:demo", clock=clock())
    guard.user("go")
    number = 0
    while guard.proceed():
        number += 1
        for call in guard.response(None, [(str(number), "grep", {"pattern": "x"})]):
            guard.result(call[0], "a.py:1: x")
    assert number == 9
    assert [text for _, text in guard.refused]
    guard.user("again, please")
    assert guard.stopped is None
    assert guard.proceed()


def test_calls_without_ids_and_unknown_usage() -> None:
    with Guarded("loopaudit", "fuses:demo", clock=clock()) as guard:
        guard.user("go")
        assert guard.proceed()
        assert len(guard.response("two at once", [(None, "a", {}), (None, "b", {})])) == 2
        guard.result(None, "of a")
        guard.result(None, "of b")
        assert not guard.response("done")
    first = guard.run.steps[0]
    assert [call.status for call in first.calls] == [CallStatus.OK, CallStatus.OK]
    assert first.usage is None  # not known is not zero
    assert guard.run.steps[1].calls == []


def test_results_in_any_order_are_judged_in_the_order_of_the_calls(tmp_path: Path) -> None:
    def run(order: list[int]) -> list[Any]:
        record = io.BytesIO()
        with Guarded("loopaudit", "backstop:demo", record=record, clock=clock()) as guard:
            guard.user("go")
            for step in range(4):
                if not guard.proceed():
                    break
                calls = [(f"{step}-{i}", "get", {"n": i}) for i in range(3)]
                allowed = guard.response(None, calls)
                for i in order[: len(allowed)]:
                    guard.result(allowed[i][0], f"answer {i}", at=1_767_000_000.0 + step)
        report = replayed(record.getvalue(), tmp_path / "x.jsonl", "loopaudit", "backstop:demo")
        live = [(a.guard, a.trip.detector, a.trip.count, a.trip.step) for a in guard.actions]
        seen = [
            (g.preset, v.trip.detector, v.trip.count, v.trip.step)
            for g in report.guards
            for v in g.verdicts
        ]
        assert sorted(seen) == sorted(live)
        return live

    assert run([0, 1, 2]) == run([2, 0, 1]) != []


def test_attempts_are_recorded_and_judged() -> None:
    guard = Guarded("retries:demo", clock=clock())
    guard.user("go")
    assert guard.proceed()
    for number in range(1, 6):
        guard.attempt(http_status=429, message="slow down", wait=0.5, number=number, limit=5)
    guard.response("at last", tokens=(100, 10))
    guard.finish_step()
    assert "retries_over_policy" in {action.trip.detector for action in guard.actions}


def test_an_error_in_the_users_loop_closes_the_record(tmp_path: Path) -> None:
    record = io.BytesIO()

    def loop() -> None:
        with Guarded(record=record, clock=clock()) as guard:
            guard.user("go")
            guard.proceed()
            guard.response("hm", tokens=(5, 5))
            raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        loop()
    report = replayed(record.getvalue(), tmp_path / "x.jsonl", "loopaudit")
    assert report.runs[0].outcome == "error"
    assert report.totals.tokens.total == 10


def test_ids_that_repeat_are_calls_of_their_own(tmp_path: Path) -> None:
    record = io.BytesIO()
    with Guarded("fuses:demo", record=record, clock=clock()) as guard:
        guard.user("go")
        for _ in range(2):
            assert guard.proceed()
            calls = [("c", "get", {"n": 1}), ("c", "get", {"n": 1}), ("c", "get", {"n": 2})]
            assert guard.response(None, calls) == calls
            for text in ("one", "two", "three"):
                guard.result("c", text)
    assert [call.size for call in guard.run.calls] == [3, 3, 5, 3, 3, 5]
    report = replayed(record.getvalue(), tmp_path / "x.jsonl")
    assert report.totals.calls == 6


def test_hostile_values_break_nothing() -> None:
    deep: Any = []
    for _ in range(3_000):
        deep = [deep]
    with Guarded("loopaudit", "fuses:demo", "backstop:demo", clock=clock()) as guard:
        guard.user("\ud83d half an emoji \x1b[31m")
        assert guard.proceed()
        calls = [
            ("1", "t", float("nan")),
            ("1", "t", deep),
            ("", "\ud83d", {"\ud83d": 10**400}),
        ]
        for call in guard.response("\ud83d", calls, tokens=Usage()):
            guard.result(call[0], deep, error=True, code="x" * 10_000)
        guard.result("never asked", "answer")
    assert len(guard.run.calls) == 3


# -- run ids --------------------------------------------------------------------------------------


def test_the_run_id_stands_in_every_log_line_of_its_task() -> None:
    lines: list[tuple[str, str]] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append((record.getMessage(), record.run))  # type: ignore[attr-defined]

    log = logging.getLogger("test.live")
    handler = Keep()
    handler.addFilter(RunIds())
    log.addHandler(handler)
    log.setLevel(logging.INFO)

    async def agent(name: str) -> None:
        with Guarded(id=name):
            for _ in range(3):
                await asyncio.sleep(0)
                log.info(name)
                await asyncio.create_task(inner(name))

    async def inner(name: str) -> None:
        log.info(name)

    async def main() -> None:
        await asyncio.gather(*(agent(f"run-{n}") for n in range(20)))
        log.info("outside")

    asyncio.run(main())
    log.removeHandler(handler)
    assert len(lines) == 121
    assert all(run == name for name, run in lines if name != "outside")
    assert lines[-1] == ("outside", "-")
    assert run_id.get() is None


def test_agents_that_take_turns_keep_their_run_ids() -> None:
    from playing import played

    before = run_id.get()
    played("service-budget", "backstop:demo")
    assert run_id.get() == before


# -- one meter, many agents -----------------------------------------------------------------------

_AGENTS = 1_000
_COST = Decimal("0.0225")  # 3,000 in and 500 out at $0.005 and $0.015 a thousand


def _meter(readings: list[Reading]) -> ServiceSession:
    [preset] = sets("backstop:demo")  # $1.00: alert at 60 %, stop all at 100 %
    return ServiceSession(preset, observe=readings.append)


def _step(guard: Guarded) -> None:
    guard.response("a step", tokens=(3_000, 500), cost=_COST)
    guard.finish_step()


def _checked(readings: list[Reading], guards: list[Guarded], steps: dict[str, int]) -> None:
    money = [reading for reading in readings if reading.signal == "money"]
    total = sum(steps.values())
    assert len(money) == total  # no count lost
    assert sorted(r.count for r in money) == pytest.approx(
        [float(_COST * n) for n in range(1, total + 1)]
    )
    assert all("run " in str(reading.note) for reading in money)
    # $1.00 is reached by the 45th step; whoever was under way ends that step, nobody begins another
    assert 45 <= total <= 45 + _AGENTS
    assert all(guard.stopped is not None for guard in guards)
    assert {g.stopped.trip.level for g in guards if g.stopped} == {Level.STOP_ALL}


def test_1000_agents_in_threads_share_one_meter() -> None:
    readings: list[Reading] = []
    meter = _meter(readings)
    guards = [Guarded(service=[meter], id=f"run-{n}") for n in range(_AGENTS)]
    steps = {guard.id: 0 for guard in guards}
    under_way = threading.Semaphore(64)

    def work(guard: Guarded) -> None:
        with guard, under_way:
            guard.user("go")
            while guard.proceed():
                steps[guard.id] += 1
                assert steps[guard.id] < 100
                _step(guard)

    threads = [threading.Thread(target=work, args=(guard,)) for guard in guards]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    _checked(readings, guards, steps)
    assert sum(steps.values()) <= 45 + 64  # at most one step more of those at work together


def test_1000_agents_as_tasks_share_one_meter() -> None:
    readings: list[Reading] = []
    meter = _meter(readings)
    guards = [Guarded(service=[meter], id=f"run-{n}") for n in range(_AGENTS)]
    steps = {guard.id: 0 for guard in guards}

    async def work(guard: Guarded) -> None:
        with guard:
            guard.user("go")
            await asyncio.sleep(0)
            while guard.proceed():
                steps[guard.id] += 1
                guard.response("a step", tokens=(3_000, 500), cost=_COST)
                await asyncio.sleep(0)  # the model takes its time
                assert run_id.get() == guard.id

    async def main() -> None:
        await asyncio.gather(*map(work, guards))

    asyncio.run(main())
    _checked(readings, guards, steps)


def test_1000_mock_agents_under_one_service_budget() -> None:
    from dataclasses import replace

    from playing import played

    from loopaudit.live.scenario_file import find

    scenario = replace(find("service-budget"), agents=_AGENTS)
    outcomes, _, _ = played(scenario, "backstop:demo")
    assert all(outcome.how == "stopped" for outcome in outcomes)
    total = sum(outcome.steps for outcome in outcomes)
    # all begin at once; the 45th first step to end reaches $1.00, when 44 have begun their second
    assert total == _AGENTS + 44
    assert sum(o.usd for o in outcomes) == _COST * total
