"""Failing steps in a row, and one error for varied arguments."""

from __future__ import annotations

import pytest
from transcripts import Judged, Record, call, failing, judged, step, unanswered, user


def fail(n: int, text: str | None = None, tool: str = "bash") -> Record:
    return step(
        100, failing(tool, {"command": f"make part{n}"}, text or f"broken in way {'x' * n}")
    )


def works(n: int = 0, tool: str = "bash") -> Record:
    return step(100, call(tool, {"command": f"ls {n}"}, f"files {n}"))


def row(found: Judged) -> int:
    return int(found.count_of("failing_steps"))


def same(found: Judged) -> int:
    return int(found.count_of("same_error"))


# -- failing steps --------------------------------------------------------------------------------


def test_five_failing_steps_are_reported_four_are_not() -> None:
    assert judged(*map(fail, range(4))).findings == []
    found = judged(*map(fail, range(5))).only
    assert (found.rule, found.occurrences) == ("failing-steps", 5)
    assert (found.first_seen.step, found.onset.step) == (0, 1)
    assert found.confidence < 0.8


def test_a_success_starts_again() -> None:
    assert row(judged(fail(0), fail(1), works(), fail(2), fail(3), fail(4))) == 3


def test_a_user_message_starts_again() -> None:
    assert row(judged(fail(0), fail(1), user(), fail(2), fail(3))) == 2


def test_a_text_alone_does_not() -> None:
    assert row(judged(fail(0), step(100, text="Let me think."), fail(1))) == 2


def test_a_failing_batch_is_one_failure() -> None:
    calls = [failing("bash", {"command": f"make {n}"}, f"no way {'x' * n}") for n in range(6)]
    assert row(judged(step(100, *calls))) == 0
    assert row(judged(step(100, *calls), step(100, *calls))) == 2


def test_a_batch_with_one_success_is_no_failing_step() -> None:
    def mixed(n: int) -> Record:
        return step(100, *works(n)["calls"], *fail(n)["calls"])

    assert row(judged(*map(mixed, range(6)))) == 0


@pytest.mark.parametrize("status", ["sibling_error", "rejected", "blocked", "interrupted"])
def test_calls_that_were_not_run_are_no_failures(status: str) -> None:
    steps = [
        step(100, call("bash", {"command": f"make {n}"}, "was not run", status=status))
        for n in range(6)
    ]
    assert row(judged(*steps)) == 0


def test_siblings_of_a_failed_call_neither_add_nor_save() -> None:
    def batch(n: int) -> Record:
        aside = call("bash", {"command": f"ls {n}"}, "sibling failed", status="sibling_error")
        return step(100, *fail(n)["calls"], aside)

    found = judged(*map(batch, range(5)))
    assert found.only.occurrences == 5
    assert [w.step for w in found.only.waste.steps] == [1, 2, 3, 4]


def test_unanswered_calls_are_no_failures() -> None:
    assert row(judged(*[step(100, unanswered("bash", {"command": "make"}))] * 6)) == 0


@pytest.mark.parametrize(
    "text", ["Exit code 1", "(no output)\n\nCommand exited with code 1", "No matches found"]
)
def test_a_search_without_hits_is_an_answer(text: str) -> None:
    # seen in a real session: four greps in a row, each without a hit, each marked as an error
    greps = [
        step(100, failing("bash", {"command": f"grep -n {name} src"}, text))
        for name in ("alpha", "beta", "gamma", "delta", "eps", "zeta", "eta")
    ]
    found = judged(*greps)
    assert found.readings == []
    assert found.findings == []


@pytest.mark.parametrize("text", ["Exit code 2", "failed", "file not found", "Exit code 1\nboom"])
def test_what_is_still_a_failure(text: str) -> None:
    steps = [step(100, failing("bash", {"command": f"do {n}"}, text)) for n in range(6)]
    assert same(judged(*steps)) == 6


def test_one_error_for_varied_arguments_alone_is_no_row_of_failing_steps() -> None:
    tries = [fail(n, "no such table") for n in range(9)]
    assert row(judged(*tries)) == 0
    assert not any(t.level.stops for t in judged(*tries).trips)


def test_failing_changes_of_one_file_are_not_varied() -> None:
    def edit(path: str, n: int) -> Record:
        return step(100, failing("edit", {"path": path, "new": f"x{n}"}, "old text not found"))

    assert row(judged(*(edit("a.py", n) for n in range(5)))) == 5
    assert row(judged(*(edit(f"{'abcde'[n]}.py", n) for n in range(5)))) == 0


def test_it_becomes_one_when_a_call_or_another_error_comes_in() -> None:
    tries = [fail(n, "no such table") for n in range(4)]
    for last in (tries[0], fail(9, "access denied")):
        found = judged(*tries, last)
        assert row(found) == 5
        assert [w.step for w in found.only.waste.steps] == [1, 2, 3, 4]


# -- same error -----------------------------------------------------------------------------------


def ls(name: str, form: str) -> Record:
    return step(100, failing("bash", {"command": f"ls {name}"}, form.format(name)))


NAMES = ["src", "lib", "tests/unit", "a-b", "/opt/x.y"]


@pytest.mark.parametrize(
    "form",
    [
        "ls: {}: No such file or directory",
        "ls: cannot access '{}': No such file or directory",
        'Error: path "{}" does not exist',
        "{}: permission denied (line 12)",
    ],
)
def test_the_error_is_compared_without_words_of_the_arguments(form: str) -> None:
    found = judged(*(ls(name, form) for name in NAMES))
    assert same(found) == 5
    assert [t.level.value for t in found.trips if t.detector == "same_error"] == ["warn"]


def test_four_are_not_reported() -> None:
    found = judged(*(ls(name, "ls: {}: No such file") for name in NAMES[:4]))
    assert found.findings == []
    assert "varied-tries" in found.kinds


def test_equal_calls_are_not_varied() -> None:
    assert same(judged(*[ls("src", "ls: {}: No such file")] * 6)) == 0


def test_a_success_of_the_tool_starts_again() -> None:
    tries = [ls(name, "ls: {}: No such file") for name in NAMES]
    assert same(judged(*tries[:2], works(), *tries[2:])) == 3


def test_a_success_of_another_tool_does_not() -> None:
    tries = [ls(name, "ls: {}: No such file") for name in NAMES]
    found = judged(*[s for t in tries for s in (t, works(tool="read"))])
    assert same(found) == 5


def test_another_error_starts_again() -> None:
    tries = [ls(n, "ls: {}: No such file" if n != "a-b" else "{}: access denied") for n in NAMES]
    assert same(judged(*tries)) == 3


def test_tries_side_by_side_are_one_try() -> None:
    calls = [c for name in NAMES for c in ls(name, "ls: {}: No such file")["calls"]]
    assert same(judged(step(100, *calls))) == 0
