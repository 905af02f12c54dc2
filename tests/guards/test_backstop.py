"""The backstop guard set: step limits per task type, convergence, errors, silence."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from scripts import COMPACTION, C, rows, run_of, session_of, trips_of

from loopaudit.detectors.backstop import ResultDigests, ResultMeanings, ToolErrors
from loopaudit.detectors.base import Detector
from loopaudit.findings import Trip
from loopaudit.model import Boundary, BoundaryKind, CallStatus, ErrorClass, Run
from loopaudit.replay.replay import replay_run

UNKNOWN = ErrorClass.UNKNOWN
NOT_LOGGED = frozenset({"usage", "times"})


def backstop(items: Iterable[Any], variant: str = "demo", **options: Any) -> list[Trip]:
    options.setdefault("missing", NOT_LOGGED)
    return trips_of(run_of(items), f"backstop:{variant}", **options)


def working(n: int) -> list[list[C]]:
    """`n` steps that each bring something new."""
    return [[C("read", {"n": i}, f"page {i} of the report")] for i in range(n)]


def counts(detector: Detector, calls: Iterable[C], signal: str) -> list[float]:
    """The count of `signal` told at each call, 0 where nothing is told."""
    told = []
    for step in run_of([[c] for c in calls]).steps:
        readings = [*detector.call_proposed(step.calls[0]), *detector.call_ended(step.calls[0])]
        told.append(next((r.count for r in readings if r.signal == signal), 0))
    return told


# -- line 1: steps

LIMITS = [
    # task type, variant, message before step, stop before step (0-based): ceil(0.7 x limit), limit
    ("single_tool_qa", "demo", 4, 5),
    ("multi_tool_chain", "demo", 11, 15),
    ("research", "demo", 18, 25),
    ("sub_agent", "demo", 7, 10),
    (None, "demo", 11, 15),
    ("poetry", "demo", 11, 15),
    ("single_tool_qa", "production", 6, 8),
    ("multi_tool_chain", "production", 14, 20),
    ("research", "production", 21, 30),
    ("sub_agent", "production", 11, 15),
    (None, "production", 21, 30),
]


@pytest.mark.parametrize(("task", "variant", "message", "limit"), LIMITS)
def test_steps(task: str | None, variant: str, message: int, limit: int) -> None:
    items = working(limit + 2)
    assert rows(backstop(items, variant, task_type=task)) == [
        (message, None, "converge", "steps", message),
        (limit, None, "stop", "steps", limit),  # told once
    ]
    assert rows(backstop(items[:limit], variant, task_type=task)) == [
        (message, None, "converge", "steps", message)
    ]
    assert backstop(items[:message], variant, task_type=task) == []


def test_a_step_limit_saves_the_step_it_stands_before() -> None:
    message, stop = backstop(working(16))
    assert (message.saves_from, message.threshold) == (11, 11)
    assert (stop.saves_from, stop.threshold, stop.final) == (15, 15, False)


def test_a_compaction_is_no_step() -> None:
    items: list[Any] = working(10)
    items[5:5] = [COMPACTION] * 9
    assert backstop(items) == []


# -- line 2: convergence


def test_more_than_three_repeats_in_a_row_spin() -> None:
    same = [[C("status", {"n": i}, "processing...")] for i in range(6)]
    assert backstop(same[:4]) == []
    found = backstop(same[:5])
    assert rows(found) == [
        (4, 0, "stop", "same_result", 4),
        (4, 0, "stop", "similar_result", 4),
    ]
    assert {trip.saves_from for trip in found} == {5}


def test_a_result_that_is_no_repeat_ends_the_row() -> None:
    a, b, new = (C("t", {}, text) for text in ("a", "b", "new"))
    assert counts(ResultDigests(), [a, a, a, a, new, a, a], "same_result") == [
        0, 1, 2, 3, 0, 1, 2,
    ]  # fmt: skip
    assert counts(ResultDigests(), [a, b, a, b], "same_result") == [0, 0, 1, 2]


def test_the_look_back_is_ten_results() -> None:
    a, others = C("t", {}, "a"), [C("t", {}, f"other {i}") for i in range(10)]
    assert counts(ResultDigests(10), [a, *others[:9], a], "same_result")[-1] == 1
    assert counts(ResultDigests(10), [a, *others, a], "same_result")[-1] == 0


def test_unanswered_calls_are_no_results() -> None:
    a, none = C("t", {}, "a"), C("t", {}, None)
    assert counts(ResultDigests(), [a, none, a, none, a], "same_result") == [0, 0, 1, 0, 2]
    assert counts(ResultMeanings(), [a, none, a, none, a], "similar_result") == [0, 0, 1, 0, 2]


def test_meaning_catches_the_same_content_in_other_words_and_lets_new_content_pass() -> None:
    words = [
        "The order 4711 was shipped on Monday and will arrive within three days.",
        "The order 4711 was shipped on Monday, and it will arrive within three days!",
        "The order 4711 was shipped on Monday and  will arrive within three days",
    ]
    calls = [C("t", {"n": i}, text) for i, text in enumerate(words)]
    assert counts(ResultDigests(), calls, "same_result") == [0, 0, 0]
    assert counts(ResultMeanings(), calls, "similar_result") == [0, 1, 2]
    other = ["Flights to Oslo leave at noon.", "def parse(x): return int(x)", "2 failed, 3 passed"]
    assert counts(ResultMeanings(), [C("t", {}, t) for t in other], "similar_result") == [0, 0, 0]


@pytest.mark.parametrize(
    "texts",
    [
        [f"processing, {p} % done" for p in range(10, 80, 10)],
        ["3 failed, 9 passed", "2 failed, 10 passed", "1 failed, 11 passed", "12 passed"],
        ["处理中，已完成 10%", "处理中，已完成 20%", "处理中，已完成 30%", "处理中，已完成 40%"],
    ],
)
def test_progress_in_numbers_is_no_repeat(texts: list[str]) -> None:
    calls = [C("t", {"n": i}, text) for i, text in enumerate(texts)]
    assert counts(ResultMeanings(), calls, "similar_result") == [0] * len(texts)


def test_equal_answers_in_chinese_spin_in_both_channels() -> None:
    same = [[C("status", {"n": i}, "处理中，请稍候")] for i in range(5)]
    assert {t.detector for t in backstop(same)} == {"same_result", "similar_result"}


def test_without_text_the_meaning_is_undecidable() -> None:
    items = [[C("t", {}, "same", text=None)] for _ in range(6)]
    session = session_of("backstop:demo", missing=NOT_LOGGED)
    trips = replay_run(run_of(items), [session])[0]
    assert {trip.detector for trip in trips} == {"same_result"}
    assert ("similar_result", "results") in session.undecidable


# -- line 3: errors


def error(kind: ErrorClass, tool: str = "fetch", n: int = 0) -> C:
    return C(tool, {"u": n}, f"{kind.value} error", error=kind)


PASSING, LASTING = error(ErrorClass.TRANSIENT), error(ErrorClass.PERMANENT)
OK = C("fetch", {"u": 0}, "body")


def test_a_passing_error_may_be_retried_twice() -> None:
    detector = ToolErrors()
    assert counts(detector, [PASSING] * 4, "transient_retries") == [0, 1, 2, 3]
    trips = backstop([[PASSING]] * 3, missing=NOT_LOGGED)
    assert [t for t in trips if t.detector == "transient_retries"] == []
    trips = backstop([[PASSING]] * 4)
    assert rows(t for t in trips if t.detector == "transient_retries") == [
        (3, 0, "withdraw", "transient_retries", 3)
    ]


def test_a_success_or_another_failure_ends_the_row_of_retries() -> None:
    throttled = error(ErrorClass.THROTTLED)
    for end in (OK, LASTING, error(UNKNOWN)):
        script = [PASSING, throttled, end, PASSING, PASSING]
        assert counts(ToolErrors(), script, "transient_retries") == [0, 1, 2, 0, 1]
    other = error(ErrorClass.TRANSIENT, n=1)
    assert counts(ToolErrors(), [PASSING, other] * 2, "transient_retries") == [0, 0, 1, 1]


def test_a_permanent_error_withdraws_its_tool_once() -> None:
    permanent = [
        [error(ErrorClass.PERMANENT, n=1)],
        [error(ErrorClass.PERMANENT, n=2)],
        [error(ErrorClass.PERMANENT, "other")],
        [error(ErrorClass.QUOTA, "third")],
    ]
    trips = [t for t in backstop(permanent) if t.detector == "permanent_errors"]
    assert rows(trips) == [
        (0, 0, "withdraw", "permanent_errors", 1),
        (2, 0, "withdraw", "permanent_errors", 1),
        (3, 0, "withdraw", "permanent_errors", 1),
    ]


@pytest.mark.parametrize(
    "call",
    [
        OK,
        error(UNKNOWN),
        error(ErrorClass.CONTEXT_OVERFLOW),
        C("fetch", {}, "no", status=CallStatus.REJECTED),
        C("fetch", {}, None),
    ],
)
def test_what_withdraws_nothing(call: C) -> None:
    assert counts(ToolErrors(), [call] * 3, "permanent_errors") == [0, 0, 0]
    assert counts(ToolErrors(), [call] * 3, "transient_retries") == [0, 0, 0]


# -- times


def timed(seconds: float, tool: str = "build", between: float = 1.0, n: int = 3) -> Run:
    """`n` steps of one call that takes `seconds`, the model deciding for `between` seconds."""
    run = run_of([BoundaryKind.USER, *[[C(tool, {"n": i}, f"part {i}")] for i in range(n)]])
    now = run.steps[0].before[0].at = 1000.0
    for step in run.steps:
        step.at = step.calls[0].started = now + between
        step.ended = step.calls[0].ended = now = step.at + seconds
    return run


def times(run: Run, variant: str = "demo") -> list[tuple[Any, ...]]:
    return rows(trips_of(run, f"backstop:{variant}", missing=frozenset({"usage"})))


def test_wall_time_stops_what_few_slow_calls_use_up() -> None:
    # 3 x (29 + 11) s is exactly the limit
    assert times(timed(29, between=11)) == []
    assert times(timed(29, between=11.5)) == [(2, None, "stop", "wall_time", 121.5)]
    assert times(timed(29, between=11, n=6)) == [(3, None, "stop", "wall_time", 160)]
    assert times(timed(29, between=11, n=6), "production") == []


def test_time_outs_of_calls_and_decisions() -> None:
    assert times(timed(30, n=1)) == []
    assert times(timed(30.5, n=1)) == [(0, 0, "warn", "computation_duration", 30.5)]
    assert times(timed(30.5, "deploy", n=1)) == [(0, 0, "warn", "computation_duration", 30.5)]
    assert times(timed(10, "read_file", n=1)) == []
    assert times(timed(10.5, "read_file", n=1)) == [(0, 0, "warn", "query_duration", 10.5)]
    assert times(timed(1, between=30, n=1)) == []
    assert times(timed(1, between=30.5, n=1)) == [(0, None, "warn", "decision_time", 30.5)]
    assert times(timed(1, between=100, n=1), "production") == []
    assert times(timed(1, between=121, n=1), "production") == [
        (0, None, "warn", "decision_time", 121)
    ]


def test_a_user_message_starts_the_clock_and_the_steps_again() -> None:
    run = timed(29, between=11, n=6)
    run.steps[3].before = [Boundary(BoundaryKind.USER, 1, "p", at=run.steps[2].ended)]
    assert times(run) == []
    items = [s for _ in range(3) for s in (BoundaryKind.USER, *working(10))]
    assert [t for t in backstop(items) if t.detector == "steps"] == []


# -- silence

SILENT: dict[str, list[Any]] = {
    "nothing": [],
    "text": [[]] * 10,
    "ten new results": working(10),
    "four equal results": [[C("t", {"n": i}, "done")] for i in range(4)],
    "the second retry works": [[PASSING], [PASSING], [OK]],
    "an error nobody knows": [[error(UNKNOWN, n=i)] for i in range(3)],
}


@pytest.mark.parametrize("name", SILENT)
def test_silent(name: str) -> None:
    assert backstop(SILENT[name]) == []
