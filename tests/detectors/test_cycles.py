"""Cycles: rounds of equal steps, the shortest true period, and what breaks a round."""

from __future__ import annotations

import pytest
from transcripts import (
    Record,
    boundary,
    call,
    compaction,
    failing,
    judged,
    run_of,
    step,
    unanswered,
    user,
)

from loopaudit.detectors.cycles import Cycles


def look(name: str, result: str | None = None) -> Record:
    return step(100, call("look", {"at": name}, result or f"saw {name}"))


def cycle(names: str) -> list[tuple[int, int]]:
    """(period, rounds) of each reading, for steps named by letters."""
    found = judged(*map(look, names))
    return [(r.period or 0, int(r.count)) for r in found.readings if r.signal == "cycle"]


@pytest.mark.parametrize(
    ("names", "last"),
    [
        ("abab", (2, 2)),
        ("ababab", (2, 3)),
        ("abcabcabc", (3, 3)),
        ("abacabac", (4, 2)),
        ("aabaabaab", (3, 3)),  # a call twice in a round
        ("abcdeabcdeabcde", (5, 3)),
        ("abcdefabcdefabcdef", (6, 3)),
        ("xyzabababab", (2, 4)),  # after other work
        ("abababababab", (2, 6)),  # not period 4 or 6
        ("abababc", (2, 3)),
    ],
)
def test_shortest_true_period_and_full_rounds(names: str, last: tuple[int, int]) -> None:
    assert cycle(names)[-1] == last
    assert {period for period, _ in cycle(names)} == {last[0]}


@pytest.mark.parametrize(
    "names",
    ["a", "abc", "aaaaaa", "abcd" * 1 + "bcda"[:0], "abcdefgabcdefg", "abxabyabz", "abcacbabc"],
)
def test_no_cycle(names: str) -> None:
    assert cycle(names) == []


def test_one_call_with_answers_in_turns_is_no_cycle() -> None:
    found = judged(*(look("a", answer) for answer in ["on", "off"] * 5))
    assert found.readings == []


def test_two_rounds_are_not_reported_three_are() -> None:
    assert judged(*map(look, "abcdabcd")).findings == []
    found = judged(*map(look, "abcdabcdabcd")).only
    assert (found.rule, found.period, found.occurrences) == ("cycle", 4, 3)
    assert (found.first_seen.step, found.onset.step, found.last.step) == (0, 4, 11)


def test_a_started_round_is_charged_too() -> None:
    assert [w.step for w in judged(*map(look, "abababa")).only.waste.steps] == [2, 3, 4, 5, 6]


def test_first_seen_lies_at_the_first_round_not_before() -> None:
    found = judged(*map(look, "xyzabcabcabc")).only
    assert (found.first_seen.step, found.onset.step) == (3, 6)


@pytest.mark.parametrize("breaker", [user(), look("new"), step(100, unanswered("look"))])
def test_what_breaks_a_cycle(breaker: Record) -> None:
    a, b = look("a"), look("b")
    found = judged(a, b, a, b, breaker, a, b, a, b)
    assert max(r.count for r in found.readings if r.signal == "cycle") == 2


def test_a_changed_result_breaks_a_cycle() -> None:
    steps = [look(n, f"{n} {i // 4}") for i, n in enumerate("abababab")]
    found = judged(*steps)
    assert max(r.count for r in found.readings if r.signal == "cycle") == 2


@pytest.mark.parametrize(
    "aside", [boundary("hook", "go on"), boundary("reminder", "go on"), step(100, text="Hm.")]
)
def test_what_does_not_break_a_cycle(aside: Record) -> None:
    a, b = look("a"), look("b")
    found = judged(a, b, a, b, aside, a, b)
    assert max(r.count for r in found.readings if r.signal == "cycle") == 3


def test_parallel_calls_are_one_step_in_any_order() -> None:
    x, y = call("look", {"at": "x"}, "saw x"), call("look", {"at": "y"}, "saw y")
    rounds = [step(100, *pair) for pair in ([x, y], [y, x], [x, y])]
    found = judged(*[s for both in rounds for s in (both, look("z"))])
    assert (found.only.rule, found.only.period, found.only.occurrences) == ("cycle", 2, 3)


def test_a_known_wait_in_the_round_needs_ten_rounds() -> None:
    wait, ask = step(100, call("sleep", {"s": 9}, "")), look("a", "building")
    assert judged(*[wait, ask] * 9).findings == []
    found = judged(*[wait, ask] * 10).only
    assert found.retryable.value == "yes"
    assert found.occurrences == 10


def test_the_round_after_one_loss_of_memory_is_excused() -> None:
    a, b = look("a"), look("b")
    found = judged(a, b, compaction(50), a, b, a, b)
    assert [w.step for w in found.only.waste.steps] == [5, 6]
    assert found.only.onset.step == 5


def test_failing_edits_of_one_file_are_one_step_whatever_they_try() -> None:
    def round_(n: int) -> list[Record]:
        args = {"path": "a.py", "old": f"x{n}"}
        return [look("a"), step(100, failing("edit", args, "old text not found"))]

    found = judged(*[s for n in range(3) for s in round_(n)])
    assert (found.only.rule, found.only.period) == ("cycle", 2)
    assert found.only.retryable.value == "no"


def test_longer_rounds_by_an_option() -> None:
    detector, most = Cycles(longest=8), 0
    for s in run_of(*map(look, "abcdefgh" * 3)).steps:
        for reading in detector.step_ended(s):
            assert reading.period == 8
            most = max(most, int(reading.count))
    assert most == 3
