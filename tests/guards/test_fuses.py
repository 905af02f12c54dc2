"""The fuses guard set: its own scenarios, what clears its history, and where it stays silent."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scripts import (
    COMPACTION,
    GUARD,
    HOOK,
    REMINDER,
    RESUME,
    USER,
    C,
    call_of,
    rows,
    run_of,
    session_of,
    trips_of,
)

from loopaudit.detectors.fuses import CallWindow
from loopaudit.findings import Reading
from loopaudit.guards import presets
from loopaudit.guards.session import GuardSession
from loopaudit.model import Boundary, BoundaryKind, Call
from loopaudit.replay.replay import replay_run

WEATHER = [C("get_weather", {"city": "北京"}, "sunny")]
A, B = [C("a", {}, "1")], [C("b", {}, "2")]
NO_USAGE = frozenset({"usage"})


def fuses(items: Iterable[Any], variant: str = "demo") -> list[tuple[Any, ...]]:
    return rows(trips_of(run_of(items), f"fuses:{variant}", missing=NO_USAGE))


# -- its scenarios


def test_dead_loop_is_warned_at_its_sixth_step() -> None:
    trips = trips_of(run_of([WEATHER] * 6 + [[]]), "fuses:demo", missing=NO_USAGE)
    assert rows(trips) == [(5, 0, "warn", "generic_repeat", 5)]
    assert (trips[0].threshold, trips[0].saves_from, trips[0].first_step) == (5, 6, 0)
    assert not trips[0].final


def test_deaf_dead_loop_is_stopped_at_eight_and_the_breaker_comes_at_ten() -> None:
    warns = [(s, 0, "warn", "generic_repeat", s) for s in (5, 6, 7)]
    stops = [(s, 0, "stop", "generic_repeat", s) for s in (8, 9)]
    assert fuses([WEATHER] * 11) == [*warns, *stops, (10, 0, "stop", "global_circuit_breaker", 10)]


def test_production_needs_ten_twenty_thirty() -> None:
    found = fuses([WEATHER] * 32, "production")
    assert found[0] == (10, 0, "warn", "generic_repeat", 10)
    assert (20, 0, "stop", "generic_repeat", 20) in found
    assert found[-2:] == [
        (30, 0, "stop", "global_circuit_breaker", 30),
        (31, 0, "stop", "global_circuit_breaker", 30),
    ]


def test_ping_pong_counts_the_current_call_too() -> None:
    # a b a b a: the fifth call continues a tail of four
    assert fuses([A, B, A, B, A]) == [(4, 0, "warn", "ping_pong", 5)]
    assert fuses([A, B] * 4)[-1] == (7, 0, "stop", "ping_pong", 8)


def test_breaker_skips_other_calls_and_calls_without_result() -> None:
    items: list[Any] = []
    for i in range(10):
        items += [A, [C("read", {"i": i}, f"text {i}")]]
    items[4] = [C("a", {}, None)]
    # nine answered calls of one result and one unanswered before the last
    assert fuses([*items, A])[-1] == (20, 0, "stop", "generic_repeat", 10)
    assert fuses([*items, A, A])[-1] == (21, 0, "stop", "global_circuit_breaker", 10)


def test_breaker_stops_at_the_first_other_result() -> None:
    other = [C("a", {}, "other")]
    found = fuses([*[A] * 5, other, *[A] * 9])
    assert not [row for row in found if row[3] == "global_circuit_breaker"]


def test_results_of_one_step_are_not_seen_before_it_ends() -> None:
    step = [C("a", {}, "1") for _ in range(12)]
    # twelve side by side: counted as repeats while they are proposed, without any result
    assert {row[3] for row in fuses([step])} == {"generic_repeat"}
    assert fuses([step])[0] == (0, 5, "warn", "generic_repeat", 5)


def test_an_integral_float_is_the_same_number() -> None:
    items = [[C("a", {"n": 1 if i % 2 else 1.0}, "x")] for i in range(6)]
    assert fuses(items) == [(5, 0, "warn", "generic_repeat", 5)]


def test_known_weakness_a_healthy_test_edit_test_run_is_warned() -> None:
    items: list[Any] = []
    for i in range(5):
        items += [[C("test", {}, f"{9 - i} failed")], [C("edit", {"i": i}, "ok")]]
    items.append([C("test", {}, "0 failed")])
    assert fuses(items) == [(10, 0, "warn", "generic_repeat", 5)]


def test_polls_without_progress_have_a_count_of_their_own() -> None:
    poll = [C("task_output", {"id": 7}, "12%", polls=True)]
    seen: list[Reading] = []
    session = session_of("fuses:demo", missing=NO_USAGE, observe=seen.append)
    trips = replay_run(run_of([poll] * 6), [session])[0]
    counts = [r.count for r in seen if r.signal == "poll_no_progress"]
    assert counts == [1, 2, 3, 4, 5]
    assert rows(trips) == [(5, 0, "warn", "generic_repeat", 5)]  # the original's verdict stands
    moving = [[C("task_output", {"id": 7}, f"{p}%", polls=True)] for p in range(6)]
    seen.clear()
    replay_run(run_of(moving), [session_of("fuses:demo", missing=NO_USAGE, observe=seen.append)])
    assert {r.count for r in seen if r.signal == "poll_no_progress"} == {1}


def test_a_poll_rule_put_first_is_the_verdict() -> None:
    user = {
        "mine": {
            "detector": {"w": {"class": "loopaudit.detectors.fuses:CallWindow"}},
            "rule": [
                {"signal": "poll_no_progress", "detector": "w", "warn": 3},
                {"signal": "generic_repeat", "detector": "w", "warn": 3},
            ],
        }
    }
    poll = [C("wait", {}, "running", polls=True)]
    assert rows(trips_of(run_of([poll] * 4), "mine", user=user)) == [
        (3, 0, "warn", "poll_no_progress", 3)
    ]


# -- requests and budget


def test_a_user_message_clears_the_history() -> None:
    assert fuses([USER, *[WEATHER] * 5, USER, *[WEATHER] * 5]) == []
    assert fuses([A, B, A, B, USER, A]) == []


@pytest.mark.parametrize("kind", [HOOK, REMINDER, GUARD, RESUME, BoundaryKind.COMPACTION])
def test_injected_text_clears_nothing(kind: BoundaryKind) -> None:
    assert fuses([*[WEATHER] * 5, kind, WEATHER]) == [(5, 0, "warn", "generic_repeat", 5)]


def budget(items: Iterable[Any], usage: list[int], variant: str = "demo", **options: Any) -> Any:
    return rows(trips_of(run_of(items, usage), f"fuses:{variant}", **options))


def test_the_budget_scenario_stops_at_the_fourth_request() -> None:
    items = [USER, [], USER, [], USER, [], USER, []]
    assert budget(items, [4500] * 4) == [(3, None, "stop", "token_budget", 18_000)]


def test_exactly_the_budget_is_fine() -> None:
    assert budget([[]] * 3, [5000] * 3) == []
    assert budget([[]] * 3, [5000, 5000, 5001]) == [(2, None, "stop", "token_budget", 15_001)]


def test_the_budget_outlives_the_request_and_counts_compactions() -> None:
    assert budget([[], USER, COMPACTION, USER, []], [8000, 6000, 1001]) == [
        (2, None, "stop", "token_budget", 15_001)
    ]


def test_coding_has_ten_times_the_budget() -> None:
    assert budget([[]], [50_001], "production") == [(0, None, "stop", "token_budget", 50_001)]
    assert budget([[]], [500_000], "production", task_type="coding") == []
    assert budget([[]], [500_001], "production", task_type="coding") != []


def test_what_the_log_lacks_is_undecidable() -> None:
    session = session_of("fuses:demo", missing=frozenset({"results", "usage"}))
    assert session.undecidable == [
        ("global_circuit_breaker", "results"),
        ("poll_no_progress", "results"),
        ("token_budget", "usage"),
    ]
    items = [[C("a", {}, None)]] * 12
    trips = replay_run(run_of(items, [9000] * 12), [session])[0]
    assert {trip.detector for trip in trips} == {"generic_repeat"}
    session = session_of("fuses:demo", missing=frozenset({"arguments"}))
    assert replay_run(run_of(items), [session]) == [[]]


# -- silence

SILENT: dict[str, list[Any]] = {
    "nothing": [],
    "text only": [[]] * 40,
    "five equal calls": [WEATHER] * 5,
    "one tool, other arguments": [[C("read", {"path": f"f{i}"}, "x")] for i in range(60)],
    "one result, other calls": [[C("grep", {"q": i}, "no matches")] for i in range(60)],
    "four alternating calls": [A, B, A, B],
    "alternation broken each time": [A, B, [C("c", {}, "3")]] * 5,
    "five files at once": [[C("read", {"path": f"f{i}"}, "x") for i in range(5)]],
    "a pair twice": [A, A, B, B] * 2,
    "repeats more than a window apart": [
        step
        for i in range(8)
        for step in (A, *[[C("x", {"n": 100 * i + j}, "y")] for j in range(8)])
    ],
    "another tool with the same arguments": [[C(f"t{i}", {"q": 1}, "x")] for i in range(12)],
    "compactions only": [COMPACTION] * 12,
}


@pytest.mark.parametrize("name", SILENT)
def test_silent(name: str) -> None:
    assert fuses(SILENT[name]) == []
    assert fuses(SILENT[name], "production") == []


# -- the counts, against the words of the specification


class Plain:
    """The counts as guards.md §1 words them, by walking the window."""

    def __init__(self, window: int) -> None:
        self.window = window
        self.entries: list[list[int | None]] = []  # key, result, index

    def counts(self, key: int) -> dict[str, int]:
        entries = self.entries
        answered = [r for k, r, _ in reversed(entries) if k == key and r is not None]
        breaker = 0
        for result in answered:
            if result != answered[0]:
                break
            breaker += 1
        found = {"global_circuit_breaker": breaker, "ping_pong": self.alternating(key)}
        found["generic_repeat"] = sum(k == key for k, _, _ in entries)
        return {signal: count for signal, count in found.items() if count}

    def alternating(self, key: int) -> int:
        keys = [k for k, _, _ in reversed(self.entries)]
        if len(keys) < 3:
            return 0
        newest = keys[0]
        other = next((k for k in keys if k != newest), None)
        tail = 0
        for i, k in enumerate(keys):
            if k != (newest if i % 2 == 0 else other):
                break
            tail += 1
        return tail + 1 if key == other and tail >= 2 else 0

    def append(self, key: int, index: int) -> None:
        self.entries.append([key, None, index])
        del self.entries[: -self.window]

    def answer(self, index: int, result: int) -> None:
        for entry in self.entries:
            if entry[2] == index:
                entry[1] = result


calls = st.tuples(st.integers(0, 3), st.integers(0, 1), st.booleans())
steps = st.lists(st.lists(calls, min_size=1, max_size=6), max_size=30)


@settings(max_examples=300, deadline=None)
@given(steps, st.sampled_from([1, 2, 3, 5, 8, 30]), st.randoms(), st.sets(st.integers(0, 30)))
def test_counts_equal_a_plain_walk(script: Any, window: int, random: Any, users: set[int]) -> None:
    detector, plain, index = CallWindow(window), Plain(window), 0
    for number, step in enumerate(script):
        if number in users:
            detector.boundary(Boundary(USER, 1, "p"))
            plain.entries.clear()
        made: list[Call] = []
        for position, (key, result, answered) in enumerate(step):
            call = Call(index, number, position, None, "t", key, 1, result=result)
            call.result = result if answered else None
            found = {r.signal: r.count for r in detector.call_proposed(call)}
            assert found == plain.counts(key)
            plain.append(key, index)
            made.append(call)
            index += 1
        random.shuffle(made)  # live, parallel calls end in any order
        for call in made:
            detector.call_ended(call)
            if call.result is not None:
                plain.answer(call.index, call.result)


@given(steps, st.data())
def test_generic_repeat_never_depends_on_results(script: Any, data: Any) -> None:
    def counts(results: list[int]) -> list[tuple[int, int | None, float]]:
        values, seen = iter(results), []
        run = run_of([[C("t", {"k": k}, str(next(values))) for k, _, _ in s] for s in script])
        session = session_of("fuses:demo", missing=NO_USAGE, observe=seen.append)
        replay_run(run, [session])
        return [(r.step, r.call, r.count) for r in seen if r.signal == "generic_repeat"]

    size = sum(map(len, script))
    drawn = data.draw(st.lists(st.integers(0, 2), min_size=size, max_size=size))
    assert counts(drawn) == counts([0] * size)


@given(steps, st.integers(1, 40), st.integers(0, 20))
def test_thresholds_never_change_counts(script: Any, warn: int, more: int) -> None:
    run = run_of([[C("t", {"k": k}, str(r)) for k, r, _ in s] for s in script])
    user = {"fuses": {"rule": [{"signal": "generic_repeat", "warn": warn, "stop": warn + more}]}}
    seen: list[list[Reading]] = []
    for preset in (presets.load("fuses:demo"), presets.load("fuses:demo", user)):
        seen.append([])
        replay_run(run, [GuardSession(preset, missing=NO_USAGE, observe=seen[-1].append)])
    assert seen[0] == seen[1]


def test_a_late_answer_of_a_forgotten_call_is_ignored() -> None:
    detector = CallWindow(3)
    calls = [call_of(C("a", {}, "1"), i, 0, i) for i in range(5)]
    for call in calls:
        detector.call_proposed(call)
    for call in calls:
        detector.call_ended(call)
    readings = detector.call_proposed(replace(calls[0], index=5, step=1))
    assert {r.signal: r.count for r in readings} == {
        "global_circuit_breaker": 3,
        "generic_repeat": 3,
    }
