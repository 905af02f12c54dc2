"""Durations of calls and decisions, and silences; the user's time is nobody's fault."""

from __future__ import annotations

from typing import Any

import pytest
from driven import ERROR, USER, bound, called, readings, run_of, stepped, tried

from loopaudit.detectors.base import Detector
from loopaudit.detectors.timeouts import CallDuration, DecisionTime, Gap
from loopaudit.model import BoundaryKind, CallStatus, StepKind

HOOK, RESUME, INTERRUPT = BoundaryKind.HOOK, BoundaryKind.RESUME, BoundaryKind.INTERRUPT
UNANSWERED, REJECTED = CallStatus.UNANSWERED, CallStatus.REJECTED


def of(detector: Detector, *items: Any, after: Any = ()) -> list[tuple[str, float, int]]:
    """(signal, seconds, step) of each reading."""
    found = readings(detector, run_of(items, after))
    return [(r.signal, r.count, r.step) for r in found]


# -- calls ----------------------------------------------------------------------------------------


def test_queries_and_computations() -> None:
    items = [
        stepped(0.0, called(0.0, 12.5, tool="search"), called(0.0, 40.0)),
        stepped(50.0, called(50.0, 81.0, status=ERROR)),
    ]
    assert of(CallDuration(queries=["search"]), *items) == [
        ("query_duration", 12.5, 0),
        ("computation_duration", 40.0, 0),
        ("computation_duration", 31.0, 1),
    ]


@pytest.mark.parametrize(
    "call",
    [
        called(None, 50.0),
        called(0.0, None),
        called(50.0, 0.0),
        called(0.0, float("nan")),
        called(0.0, 0.9),
        called(0.0, 900.0, tool="Task", spawns=True),
        called(0.0, 900.0, tool="AskUserQuestion"),
        called(0.0, 900.0, status=REJECTED),
        called(0.0, 900.0, status=UNANSWERED),
    ],
)
def test_no_duration(call: Any) -> None:
    assert of(CallDuration(), stepped(0.0, call)) == []


def test_a_known_wait_is_marked() -> None:
    [reading] = readings(CallDuration(), run_of([stepped(0.0, called(0.0, 60.0, polls=True))]))
    assert reading.poll


# -- decisions ------------------------------------------------------------------------------------


def test_decisions_run_from_what_the_model_was_last_told() -> None:
    items = [
        bound(USER, 10.0),
        stepped(14.0, called(14.0, 20.0), called(14.0, 17.0)),
        stepped(65.0),
        bound(USER, 5_000.0),
        stepped(5_002.0),
    ]
    assert of(DecisionTime(), *items) == [
        ("decision_time", 4.0, 0),
        ("decision_time", 45.0, 1),
        ("decision_time", 2.0, 2),
    ]


@pytest.mark.parametrize(
    "items",
    [
        [stepped(9.0)],  # when it was asked is not known
        [bound(USER, None), stepped(9.0)],
        [stepped(0.0), stepped(900.0)],  # a finished answer: the user was away
        [stepped(0.0), bound(RESUME, 10.0), stepped(900.0)],
        [stepped(0.0), bound(USER, None), stepped(900.0)],
        [stepped(0.0, called(0.0, status=UNANSWERED)), stepped(900.0)],  # not the model's time
        [bound(USER, 1.0), stepped(None)],
        [bound(USER, 100.0), stepped(50.0)],
        [bound(USER, 1.0), stepped(900.0, inherited=True)],
    ],
)
def test_no_decision(items: list[Any]) -> None:
    assert of(DecisionTime(), *items) == []


def test_waits_between_retries_are_not_the_models() -> None:
    attempts = [tried(10.0, wait=30.0), tried(45.0, wait=60.0)]
    items = [bound(USER, 0.0), stepped(115.0, attempts=attempts)]
    assert of(DecisionTime(), *items) == [("decision_time", 10.0, 0)]


# -- silences -------------------------------------------------------------------------------------


def noted(*items: Any, after: Any = ()) -> list[tuple[float, int, str | None]]:
    found = readings(Gap(), run_of(items, after))
    return [(r.count, r.step, r.note) for r in found]


def test_a_tool_that_never_answers() -> None:
    hung = stepped(0.0, called(0.0, tool="fetch", status=UNANSWERED))
    for end in (bound(INTERRUPT, 2_400.0), bound(USER, 2_400.0), bound(RESUME, 2_400.0)):
        assert noted(hung, end) == [(2_400.0, 0, "no answer to fetch")]
    assert noted(hung, stepped(2_400.0)) == [(2_400.0, 0, "no answer to fetch")]
    assert noted(hung) == []  # when the log ends, the time is not known


def test_a_stream_that_died() -> None:
    asked = stepped(0.0, called(0.0, 5.0))
    assert noted(asked, bound(INTERRUPT, 605.0)) == [
        (5.0, 0, "during Bash"),
        (600.0, 0, "no response of the model"),
    ]
    assert noted(bound(USER, 0.0), stepped(900.0)) == [(900.0, 0, "before the model's response")]


def test_a_slow_tool_and_a_slow_model() -> None:
    assert noted(bound(USER, 0.0), stepped(40.0, called(40.0, 100.0)), stepped(130.0)) == [
        (40.0, 0, "before the model's response"),
        (60.0, 0, "during Bash"),
        (30.0, 1, "before the model's response"),
    ]


def test_parallel_calls_are_one_silence() -> None:
    items = [stepped(0.0, called(0.0, 50.0), called(0.0, 49.0), called(0.0, 50.5))]
    assert noted(*items) == [(50.0, 0, "during Bash")]


def test_attempts_end_a_silence() -> None:
    attempts = [tried(300.0, wait=30.0), tried(331.0)]
    items = [bound(USER, 0.0), stepped(335.0, attempts=attempts)]
    assert noted(*items) == [
        (300.0, 0, "before an attempt failed"),
        (4.0, 0, "before the model's response"),
    ]
    asked = stepped(0.0, called(0.0, 0.5))
    assert noted(asked, after=[tried(120.5, wait=9.0), tried(130.0)]) == [
        (120.0, 0, "before an attempt failed")
    ]


@pytest.mark.parametrize(
    "items",
    [
        [stepped(0.0), bound(USER, 9_000.0)],  # a finished answer: the user was away
        [stepped(0.0), bound(RESUME, 9_000.0), bound(USER, 9_001.0)],
        [stepped(0.0), stepped(9_000.0)],
        [stepped(0.0), bound(HOOK, 9_000.0)],
        [stepped(0.0, called(0.0, 0.5)), bound(RESUME, 9_000.0)],
        [stepped(0.0, called(0.0, 0.5)), bound(USER, None), stepped(9_000.0)],
        [stepped(0.0, called(0.0, 900.0, status=REJECTED))],
        [stepped(0.0, called(0.0, 900.0, tool="AskUserQuestion"))],
        [stepped(0.0, called(0.0, 0.5)), bound(INTERRUPT, 0.6), bound(USER, 9_000.0)],
        [stepped(None, called(None, None)), stepped(None)],
        [stepped(100.0, called(100.0, 50.0)), stepped(90.0)],
        [bound(INTERRUPT, 900.0)],
    ],
)
def test_silence_of_the_user_is_none(items: list[Any]) -> None:
    assert noted(*items) == []


def test_known_waits_are_marked() -> None:
    [reading] = readings(Gap(), run_of([stepped(0.0, called(0.0, 60.0, polls=True))]))
    assert reading.poll


def test_a_compaction_is_work() -> None:
    items = [
        stepped(0.0, called(0.0, 0.5)),
        stepped(0.9, kind=StepKind.COMPACTION),
        stepped(300.9),
    ]
    assert noted(*items) == [(300.0, 2, "before the model's response")]


def test_needs() -> None:
    assert CallDuration.needs == {"times", "results"}
    assert DecisionTime.needs == Gap.needs == {"times"}
