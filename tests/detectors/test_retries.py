"""Retries: of errors that last, too many, at the wrong time, inside other retries."""

from __future__ import annotations

from typing import Any

import pytest
from driven import bound, counts, readings, run_of, stepped, tried
from transcripts import (
    Record,
    boundary,
    call,
    compaction,
    failing,
    step,
    unanswered,
    user,
)
from transcripts import run_of as records

from loopaudit.detectors.retries import Retries
from loopaudit.findings import Reading
from loopaudit.model import Attempt, BoundaryKind, ErrorClass

PERMANENT, OVER = "permanent_retried", "retries_over_policy"
WAIT, NESTED = "wait_outside_interval", "nested_retries"

MISSING = failing("read", {"path": "a.py"}, "no such file: a.py")
EDIT = failing("edit", {"path": "a.py", "old": "x"}, "old text not found")


def told(*items: Record, signal: str = PERMANENT) -> list[Reading]:
    """Readings on steps of one call, or records that are no calls."""
    steps = [step(100, item) if "tool" in item else item for item in items]
    return [r for r in readings(Retries(), records(*steps)) if r.signal == signal]


def permanent(*items: Record) -> list[int | float]:
    return [reading.count for reading in told(*items)]


# -- permanent errors -----------------------------------------------------------------------------


def test_the_second_failure_is_the_first_that_is_told() -> None:
    found = told(MISSING, MISSING, MISSING)
    assert [(r.count, r.step, r.call, r.redundant) for r in found] == [
        (2, 1, 1, (1,)),
        (3, 2, 2, (2,)),
    ]
    assert {(r.group, r.first_step, r.first_call, r.retryable) for r in found} == {
        (found[0].group, 0, 0, False)
    }


@pytest.mark.parametrize(
    "item",
    [
        failing("fetch", {"u": 1}, "404", http_status=404),
        failing("fetch", {"u": 1}, "denied", http_status=403),
        failing("fetch", {"u": 1}, "insufficient_quota", http_status=429),
        failing("ask", {}, "prompt is too long"),
        failing("nope", {}, "No such tool available: nope"),
        failing("bash", {"command": "frob"}, "frob: command not found", exit_code=127),
    ],
)
def test_errors_that_last(item: Record) -> None:
    assert permanent(item, item, item) == [2, 3]


@pytest.mark.parametrize(
    "items",
    [
        [MISSING],
        # passing and unknown faults belong to other rules
        [failing("fetch", {}, "HTTP 503", http_status=503)] * 5,
        [failing("fetch", {}, "Too many requests", http_status=429)] * 5,
        [failing("test", {}, "2 failed: t_a,t_b")] * 5,
        [failing("bash", {"command": "make"}, "Exit code 2", exit_code=2)] * 5,
        [call("read", {"path": "a"}, "no such file")] * 5,  # not a failure
        # other arguments, another tool
        [failing("read", {"path": f"{n}.py"}, "no such file") for n in range(5)],
        [MISSING, EDIT, failing("write", {"path": "a.py"}, "permission denied")],
        # what is no failure of the tool's own
        [call("edit", {"path": "a"}, "not found", status="rejected")] * 4,
        [call("edit", {"path": "a"}, "not found", status="sibling_error")] * 4,
        [call("edit", {"path": "a"}, "not found", status="blocked")] * 4,
        [unanswered("edit", {"path": "a"})] * 4,
        # something moved on in between
        [MISSING, user(), MISSING, user(), MISSING],
        [EDIT, call("write_file", {"path": "a.py", "content": "x"}), EDIT],
        [MISSING, call("Bash", {"command": "git checkout main"}), MISSING],
        [MISSING, call("read", {"path": "a.py"}, "text"), MISSING],
        [MISSING, failing("read", {"path": "a.py"}, "permission denied: a.py"), MISSING],
        [MISSING, failing("read", {"path": "a.py"}, "request timed out"), MISSING],
    ],
)
def test_nothing_to_tell(items: list[Record]) -> None:
    assert permanent(*items) == []


@pytest.mark.parametrize(
    "between",
    [
        [call("read", {"path": "b.py"}, "text")],
        [failing("write_file", {"path": "a.py", "content": "x"}, "disk is full")],
        [call("write_file", {"path": "b.py", "content": "x"})],  # another file
        [boundary("hook", "formatted")],
        [boundary("reminder", "use the tools")],
        [step(100, text="Hmm.")],
    ],
)
def test_what_is_no_progress(between: list[Record]) -> None:
    assert permanent(EDIT, *between, EDIT) == [2]


def test_the_same_change_again_is_none() -> None:
    write = call("write_file", {"path": "a.py", "content": "x"})
    assert permanent(EDIT, write, EDIT, write, EDIT) == [2]


def test_numbers_in_the_error_do_not_matter_where_the_status_is_known() -> None:
    items = [failing("fetch", {}, f"gone, ticket {n}x{n}", http_status=404) for n in range(3)]
    assert permanent(*items) == [2, 3]


@pytest.mark.parametrize("mark", [boundary("compaction"), compaction(50)])
def test_the_first_try_after_a_compaction_is_excused_once(mark: Record) -> None:
    found = told(MISSING, mark, MISSING, MISSING)
    assert [reading.count for reading in found] == [3]
    assert permanent(MISSING, mark, MISSING, mark, MISSING) == [3]


def test_side_by_side_is_one_try() -> None:
    assert told(step(100, MISSING, MISSING, MISSING)) == []
    found = told(MISSING, step(100, MISSING, MISSING))
    assert [(r.count, r.redundant) for r in found] == [(2, (1,)), (2, (2,))]


# -- attempts at the model's API ------------------------------------------------------------------


def api(*attempts: Attempt, answered_at: float | None = None) -> list[Reading]:
    return readings(Retries(), run_of([stepped(answered_at, attempts=list(attempts))]))


def waits(*waited: float, **more: Any) -> list[Reading]:
    found = api(*(tried(wait=w, number=n, **more) for n, w in enumerate(waited, 1)))
    return [r for r in found if r.signal == WAIT]


def test_retries_of_one_step() -> None:
    assert counts(api(), OVER) == []
    assert counts(api(tried()), OVER) == [1]
    assert counts(api(*[tried()] * 4), OVER) == [4]
    # the last number tells of attempts that the log lacks
    assert counts(api(tried(number=7)), OVER) == [7]


def test_the_last_attempt_without_an_answer_was_not_retried() -> None:
    run = run_of([stepped()], [tried(number=n) for n in (1, 2, 3)] + [tried(gave_up=True)])
    found = readings(Retries(), run)
    assert counts(found, OVER) == [3]
    assert {reading.step for reading in found} == {0}
    alone = readings(Retries(), run_of([], [tried()] * 5))  # a log of failures and nothing else
    assert (counts(alone, OVER), alone[-1].step) == ([4], 0)


def test_a_user_message_is_no_retry() -> None:
    attempts = [tried(line=n) for n in (1, 2, 5, 6)]
    run = run_of([bound(line=4), stepped(attempts=attempts)])
    assert counts(readings(Retries(), run), OVER) == [1, 2]
    again = run_of([bound(line=9), stepped(2.0, attempts=[tried(1.9, line=8, gave_up=True)])])
    assert readings(Retries(), again) == []
    hook = run_of([bound(BoundaryKind.HOOK, line=4), stepped(attempts=attempts)])
    assert counts(readings(Retries(), hook), OVER) == [4]


def test_lasting_errors_of_the_api() -> None:
    quota = tried(error=ErrorClass.QUOTA, http_status=429)
    assert counts(api(quota), PERMANENT) == []
    found = [r for r in api(quota, quota, quota) if r.signal == PERMANENT]
    assert [(r.count, r.call, r.redundant, r.retryable) for r in found] == [(3, None, (), False)]
    assert counts(api(*[tried()] * 9), PERMANENT) == []


@pytest.mark.parametrize(
    "waited",
    [
        (0.5, 1.0, 2.0),
        (0.375, 0.75, 1.5),
        (0.625, 1.25, 2.5),
        (0.3745, 1.2508),  # logs round to milliseconds
        (0.5, 1, 2, 4, 8, 16, 30, 30, 37.5, 22.5),
    ],
)
def test_waits_inside_the_interval(waited: tuple[float, ...]) -> None:
    assert waits(*waited) == []


def test_waits_outside_the_interval() -> None:
    found = waits(0.1, 1.0, 60.0)
    assert [reading.count for reading in found] == [1, 2]
    assert found[0].note == "waited 0.1 s, retry 1 allows 0.375-0.625 s"
    assert found[1].note == "waited 60 s, retry 3 allows 1.5-2.5 s"
    assert [r.count for r in waits(0.5, 0.5, 0.5)] == [1, 2]


def test_other_numbers_of_the_policy() -> None:
    attempts = [tried(wait=w, number=n) for n, w in ((1, 5.0), (2, 10.0))]
    run = run_of([stepped(attempts=attempts)])
    assert counts(readings(Retries(), run), WAIT) == [1, 2]
    assert counts(readings(Retries(base=5, cap=30, jitter=0.3), run), WAIT) == []


def test_what_the_server_asked_for() -> None:
    assert waits(20.0, retry_after=20.0) == []
    assert waits(24.0, retry_after=20.0) == []
    assert [r.count for r in waits(0.5, retry_after=20.0)] == [1]  # not honoured
    assert [r.count for r in waits(90.0, retry_after=20.0)] == [1]


@pytest.mark.parametrize("wait", [None, float("nan"), -1.0])
def test_unknown_waits(wait: Any) -> None:
    assert counts(api(tried(wait=wait)), WAIT) == []
    assert counts(api(tried(wait=0.1, gave_up=True)), WAIT) == []


def test_waits_by_times_tell_only_what_came_too_soon() -> None:
    early = api(tried(100.0), tried(100.1), answered_at=103.0)
    assert counts(early, WAIT) == [1]
    assert counts(api(tried(100.0), tried(900.0), answered_at=5000.0), WAIT) == []
    assert counts(api(tried(100.0), tried(90.0), answered_at=91.0), WAIT) == []  # clock set back
    assert counts(api(tried(100.0), answered_at=100.2), WAIT) == [1]
    assert counts(api(tried(100.0), answered_at=None), WAIT) == []


# -- layers ---------------------------------------------------------------------------------------


def test_two_named_layers_multiply() -> None:
    sdk = [tried(layer="sdk", number=n) for n in (1, 2)] * 3
    outer = [tried(layer="framework", number=n) for n in (1, 2, 3)]
    found = [r for r in api(*sdk, *outer) if r.signal == NESTED]
    assert [(r.count, r.note) for r in found] == [(12, "layers sdk x framework")]
    assert counts(api(*sdk[:2]), NESTED) == []


def test_numbers_that_start_over() -> None:
    attempts = [tried(number=n) for n in (1, 2, 1, 2, 1, 2)]
    assert counts(api(*attempts), NESTED) == [6]
    assert counts(api(*[tried(number=n) for n in range(1, 11)]), NESTED) == []
    assert counts(api(*[tried(None) for _ in range(5)]), NESTED) == []
    twice = [tried(7.0, number=1), tried(7.0, number=1), tried(8.0, number=2)]
    assert counts(api(*twice), NESTED) == []  # a line recorded twice


def test_going_on_after_giving_up() -> None:
    once = [tried(), tried(), tried(gave_up=True)]
    assert counts(api(*once, *once), NESTED) == [6]
    assert counts(api(*once), NESTED) == []
    # by the user's wish it is a new request
    lines = [tried(line=n, gave_up=n in (3, 7)) for n in (1, 2, 3, 5, 6, 7)]
    run = run_of([bound(line=4), stepped(attempts=lines)])
    assert counts(readings(Retries(), run), NESTED) == []


@pytest.mark.parametrize(
    ("text", "told_at"),
    [
        ("503 after 3 attempts", [6, 9]),
        ("HTTP 503, failed after 2 retries", [6, 9]),
        ("timed out, retried 2 times", [6, 9]),
        ("请求超时，重试2次后失败", [6, 9]),
        ("HTTP 503", []),
        ("timed out after 30 seconds", []),
        ("HTTP 404 after 3 attempts", []),  # lasting: another signal
    ],
)
def test_a_call_repeated_around_retries_inside(text: str, told_at: list[int]) -> None:
    found = told(*[failing("fetch", {"u": 1}, text)] * 3, signal=NESTED)
    assert [reading.count for reading in found] == told_at
    assert all(reading.retryable for reading in found)


def test_a_success_or_a_user_message_ends_the_row_of_nested_retries() -> None:
    item = failing("fetch", {"u": 1}, "503 after 3 attempts")
    assert told(item, call("fetch", {"u": 1}), item, signal=NESTED) == []
    assert told(item, user(), item, signal=NESTED) == []
    other = failing("fetch", {"u": 2}, "503 after 3 attempts")
    assert told(item, other, signal=NESTED) == []


def test_needs() -> None:
    assert Retries.needs == frozenset()
    assert Retries.needs_more[PERMANENT] == {"results", "arguments"}
