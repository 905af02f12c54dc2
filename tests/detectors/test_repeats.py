"""Equal call and result: what is progress between two of them, and what is none."""

from __future__ import annotations

from typing import Any

import pytest
from transcripts import (
    Judged,
    Record,
    boundary,
    call,
    compaction,
    failing,
    judged,
    step,
    unanswered,
    user,
)

SAME = "same_call_same_result"
TEST = step(100, call("test", {}, "2 failed"))


def read(path: str = "a.py", text: str = "x = 0", **more: Any) -> Record:
    return step(100, call("read", {"path": path}, text, **more))


def edit(path: str = "a.py", new: str = "x = 1", *, ok: bool = True) -> Record:
    make = call if ok else failing
    return step(100, make("edit", {"path": path, "new": new}, "ok" if ok else "no such text"))


def between(repeated: Record, *others: list[Record], times: int = 4) -> Judged:
    """`repeated`, with the n-th of `others` before its n-th repeat (the last one for the rest)."""
    records = [repeated]
    for n in range(times - 1):
        records += [*others[min(n, len(others) - 1)], repeated] if others else [repeated]
    return judged(*records)


def counts(found: Judged, signal: str = SAME) -> list[int]:
    return [int(r.count) for r in found.readings if r.signal == signal]


# -- counting -------------------------------------------------------------------------------------


def test_counts_from_the_second_occurrence_on() -> None:
    assert counts(between(read())) == [2, 3, 4]


def test_order_of_argument_keys_and_kind_of_number_do_not_matter() -> None:
    args: list[Any] = [{"path": "a", "n": 1}, {"n": 1.0, "path": "a"}, '{"n": 1, "path": "a"}']
    assert counts(judged(*(step(100, call("query", a, "same")) for a in args))) == [2, 3]


def test_order_of_an_array_matters() -> None:
    args = [{"ids": [1, 2]}, {"ids": [2, 1]}]
    assert counts(judged(*(step(100, call("query", a, "same")) for a in args * 2))) == [2, 2]


def test_two_calls_repeated_at_once_are_one_finding() -> None:
    found = judged(*[s for _ in range(3) for s in (read("a"), step(100, call("grep")), read("b"))])
    assert len(found.findings) == 1


def test_unanswered_calls_match_nothing() -> None:
    found = judged(*[step(100, unanswered("read", {"path": "a"}))] * 5, read("b"))
    assert found.readings == []


def test_an_unanswered_call_between_changes_nothing() -> None:
    pending = step(100, unanswered("read", {"path": "a.py"}))
    assert counts(judged(read(), pending, read(), pending, read())) == [2, 3]


@pytest.mark.parametrize("status", ["sibling_error", "interrupted"])
def test_calls_that_were_not_run_match_nothing(status: str) -> None:
    found = judged(*[step(100, call("read", {"path": "a"}, "not run", status=status))] * 4)
    assert found.readings == []


@pytest.mark.parametrize("status", ["blocked", "rejected"])
def test_a_refused_call_made_again_is_a_repeat(status: str) -> None:
    found = judged(*[step(100, call("deploy", {"to": "x"}, "not allowed", status=status))] * 4)
    assert counts(found) == [2, 3, 4]


# -- what changed in between ----------------------------------------------------------------------


def test_another_result_starts_again() -> None:
    answers = ["1", "1", "2", "2", "2", "1"]
    assert counts(judged(*(read(text=a) for a in answers))) == [2, 2, 3]


def test_masked_parts_are_no_other_result() -> None:
    answers = [f"took {n}.{n}2 s at 2026-05-01T10:0{n}:00Z, pid {4000 + n}" for n in range(3)]
    assert counts(judged(*(step(100, call("test", {}, a)) for a in answers))) == [2, 3]


def test_a_percentage_is_content() -> None:
    answers = ["12 % done", "13 % done", "14 % done"]
    assert counts(judged(*(step(100, call("build", {}, a)) for a in answers))) == []


def test_a_user_message_starts_again() -> None:
    assert counts(between(read(), [user()])) == []


@pytest.mark.parametrize("kind", ["hook", "reminder", "guard", "resume"])
def test_injected_text_does_not(kind: str) -> None:
    assert counts(between(read(), [boundary(kind, "please go on")])) == [2, 3, 4]


def test_a_successful_edit_starts_again() -> None:
    found = between(TEST, [edit(new="1")], [edit(new="2")], [edit(new="3")])
    assert counts(found) == []
    assert found.kinds == {"test-after-edit"}


def test_a_failed_edit_is_no_progress() -> None:
    found = between(TEST, *[[edit(new=str(n), ok=False)] for n in range(3)])
    assert counts(found) == [2, 3, 4]


def test_any_edit_is_progress_for_a_call_without_a_file() -> None:
    found = between(TEST, [edit("a.py", "1")], [edit("b.py", "2")], [edit("c.py", "3")])
    assert counts(found) == []


def test_an_edit_of_another_file_is_no_progress_for_a_read() -> None:
    found = between(read("a.py"), [edit("b.py", "1")], [edit("c.py", "2")], [edit("d.py", "3")])
    assert counts(found) == [2, 3, 4]
    assert found.only.confidence < 0.8
    assert "other state changed" in found.only.confidence_reason


def test_an_edit_below_a_folder_is_progress_for_a_call_on_the_folder() -> None:
    def listing(where: str) -> Record:
        return step(100, call("read", {"path": where}, "a.py b.py"))

    for where in ("/w/src", "/w/src/"):
        edits = [[edit("/w/src/sub/a.py", str(n))] for n in range(3)]
        assert counts(between(listing(where), *edits)) == []
        elsewhere = [[edit("/w/other/a.py", str(n))] for n in range(3)]
        assert counts(between(listing(where), *elsewhere)) == [2, 3, 4]


def test_a_shell_command_that_changes_state_may_have_touched_any_file() -> None:
    moves = [[step(100, call("bash", {"command": f"mv x{n} y{n}"}, ""))] for n in range(3)]
    assert counts(between(read("a.py"), *moves)) == []


def test_a_sub_agent_may_have_touched_any_file() -> None:
    tasks = [[step(100, call("Task", {"prompt": f"fix {n}"}, f"fixed {n}"))] for n in range(3)]
    assert counts(between(TEST, *tasks)) == []


def test_the_same_change_again_is_no_progress() -> None:
    assert counts(between(TEST, [edit()]))[:2] == [2, 2]  # test, edit: from their second time on


def test_edits_that_undo_each_other_are_progress_only_once() -> None:
    there, back = edit(new="x = 1"), edit(new="x = 0")
    found = judged(*[there, TEST, back, TEST] * 4)
    assert found.only.rule == "cycle"
    assert (found.only.first_seen.step, found.only.onset.step) == (0, 4)


def test_sending_the_same_message_again_is_a_repeat_with_side_effects() -> None:
    answers = [{"ok": True, "id": f"m-10{n}"} for n in range(3)]
    found = judged(*(step(100, call("send", {"to": "a"}, a)) for a in answers))
    notes = [r.note for r in found.readings if r.signal == SAME]
    assert notes == ["1 repeated side effect", "2 repeated side effects"]


def test_a_change_that_is_seen_to_work_is_no_repeat() -> None:
    def look(answer: str) -> Record:
        return step(100, call("browser_snapshot", {}, answer))

    scroll = step(100, call("browser_press_key", {"key": "PageDown"}, "ok"))
    found = judged(*[s for n in range(5) for s in (scroll, look(f"page {'abcde'[n]}"))])
    assert found.findings == []
    assert {"changed-result", "effect-seen"} <= found.kinds
    assert judged(*[s for _ in range(5) for s in (scroll, look("the end"))]).only.rule == "cycle"


# -- loss of memory -------------------------------------------------------------------------------


def test_the_first_repeat_after_a_compaction_is_excused_and_counted() -> None:
    found = judged(read(), compaction(50), read(), read(), read())
    assert counts(found) == [3, 4]
    assert [w.step for w in found.only.waste.steps] == [3, 4]
    assert found.only.onset.step == 3


def test_only_one_loss_of_memory_is_excused() -> None:
    found = judged(read(), compaction(50), read(), compaction(50), read(), compaction(50), read())
    assert counts(found) == [3, 4]


def test_work_and_a_loss_of_memory_start_again() -> None:
    work = [[edit("b.py", str(n)), compaction(50)] for n in range(3)]
    found = between(read("a.py"), *work)
    assert counts(found) == []
    assert found.kinds == {"re-read-after-memory-loss"}


def test_a_compaction_known_only_as_a_boundary_counts_too() -> None:
    assert counts(judged(read(), boundary("compaction"), read(), read())) == [3]


# -- waits ----------------------------------------------------------------------------------------


def polls(*answers: str, gap: float = 5.0) -> Judged:
    start = 1_777_000_000.0
    return judged(
        *(
            step(100, call("check", {}, a, at=start + gap * n), at=start + gap * n)
            for n, a in enumerate(answers)
        )
    )


@pytest.mark.parametrize(("gap", "poll"), [(59.0, False), (60.0, True), (600.0, True)])
def test_calls_a_minute_apart_are_polls(gap: float, poll: bool) -> None:
    found = polls(*["same"] * 3, gap=gap)
    assert [r.poll for r in found.readings if r.signal == SAME] == [poll, poll]
    assert bool(found.findings) is not poll


def test_slow_calls_are_reported_from_ten_on() -> None:
    assert polls(*["same"] * 9, gap=60.0).findings == []
    assert polls(*["same"] * 10, gap=60.0).only.occurrences == 10


def at_minutes(*steps: Record) -> list[Record]:
    """One step every two minutes."""
    start = 1_777_000_000.0
    return [{**s, "at": start + 120 * n} for n, s in enumerate(steps)]


def test_time_spent_on_other_calls_is_no_wait() -> None:
    steps = [s for n in range(4) for s in (TEST, read(f"f{n}"))]
    assert judged(*at_minutes(*steps)).only.occurrences == 4


def test_changes_and_lasting_failures_are_no_waits() -> None:
    send = step(100, call("send", {"to": "a"}, "sent"))
    broken = step(100, failing("fetch", {"u": "x"}, "Not Found", http_status=404))
    assert judged(*at_minutes(*[send] * 3)).only.occurrences == 3
    assert judged(*at_minutes(*[broken] * 3)).only.occurrences == 3


def test_calls_without_times_are_not_slow() -> None:
    assert counts(between(read())) == [2, 3, 4]
    assert not any(r.poll for r in between(read()).readings)


def test_a_wait_between_two_calls_makes_them_a_poll() -> None:
    sleep = step(100, call("sleep", {"seconds": 30}, ""))
    found = between(step(100, call("fetch", {"u": "x"}, "building")), [sleep])
    assert found.findings == []
    assert all(r.poll for r in found.readings if r.signal in (SAME, "cycle"))


# -- passing faults -------------------------------------------------------------------------------


def test_a_passing_fault_is_reported_beyond_any_retry_policy() -> None:
    down = step(100, failing("fetch", {"u": "x"}, "Service Unavailable", http_status=503))
    assert judged(*[down] * 4, step(100, call("fetch", {"u": "x"}, "page"))).findings == []
    found = judged(*[down] * 6)
    assert found.only.rule == "transient-error-retried"
    assert found.only.retryable.value == "yes"


# -- parallel calls -------------------------------------------------------------------------------


def test_equal_calls_of_one_response_are_one_occurrence() -> None:
    twins = step(100, call("read", {"path": "a"}, "x"), call("read", {"path": "a"}, "x"))
    found = judged(twins, twins, twins)
    assert max(counts(found)) == 3
    assert [w.step for w in found.only.waste.steps] == [1, 2]


def test_a_repeat_beside_a_useful_call_is_listed_not_charged() -> None:
    steps = [
        step(100, call("test", {}, "2 failed"), call("read", {"path": f"f{n}"}, f"text {n}"))
        for n in range(4)
    ]
    found = judged(*steps)
    assert found.only.waste.steps == []
    assert found.only.listed_steps == [1, 2, 3]
    assert found.only.waste.tokens == 0
    assert found.only.confidence < 0.8


def test_redundant_steps_in_a_row_are_counted_across_calls() -> None:
    a, b, c = read("a"), read("b"), read("c")
    found = judged(a, b, c, a, b, read("d"), c)
    assert counts(found, "nothing_new") == [1, 2, 1]
    assert found.findings == []
