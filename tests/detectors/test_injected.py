"""Hook ping-pong: the same injected text, and answers that do nothing about it."""

from __future__ import annotations

import pytest
from transcripts import Judged, Record, boundary, call, judged, step, user

ASKS = boundary("hook", "cannot stop: tests were not run")


def says(text: str = "Acknowledged.") -> Record:
    return step(100, text=text)


def does(n: int, result: str = "ok") -> Record:
    return step(100, call("bash", {"command": f"make {n}"}, result))


def count(found: Judged) -> int:
    return int(found.count_of("hook_ping_pong"))


def test_one_answer_is_fair_the_third_is_reported() -> None:
    assert judged(says(), ASKS, says()).readings == []
    assert judged(*[ASKS, says()] * 2).findings == []
    found = judged(says("Done."), *[ASKS, says()] * 3).only
    assert (found.rule, found.first_seen.step, found.onset.step) == ("hook-ping-pong", 1, 2)
    assert [w.step for w in found.waste.steps] == [2, 3]


@pytest.mark.parametrize("kind", ["reminder", "guard"])
def test_other_injected_texts_are_the_same(kind: str) -> None:
    assert count(judged(*[boundary(kind, "use a tool"), says()] * 4)) == 4


def test_the_answers_may_differ() -> None:
    assert count(judged(*[r for n in range(4) for r in (ASKS, says(f"Answer {n}"))])) == 4


def test_times_in_the_text_are_masked() -> None:
    texts = [boundary("hook", f"12:0{n}:00 cannot stop") for n in range(4)]
    assert count(judged(*[r for t in texts for r in (t, says())])) == 4


def test_another_text_starts_again() -> None:
    other = boundary("hook", "cannot stop: no summary")
    assert count(judged(*[ASKS, says()] * 2, other, says(), ASKS, says())) == 2


def test_a_user_message_starts_again() -> None:
    assert count(judged(*[ASKS, says(), user()] * 4)) == 0


def test_new_calls_after_a_hook_are_work() -> None:
    assert count(judged(*[r for n in range(6) for r in (ASKS, does(n))])) == 0


def test_hooks_after_each_edit_of_a_healthy_run() -> None:
    steps = [r for n in range(9) for r in (does(n), boundary("hook", "formatted 1 file"))]
    assert judged(*steps, says()).findings == []


def test_calls_repeated_for_a_hook_are_no_work() -> None:
    found = judged(*[ASKS, does(1, "2 failed"), says()] * 4)
    assert count(found) == 3  # the first time the call was new
    assert [w.step for w in found.only.waste.steps] == [2, 4, 5, 6, 7]


def test_texts_of_several_hooks_at_once() -> None:
    other = boundary("hook", "no summary yet")
    assert count(judged(*[ASKS, other, says()] * 3)) == 3
