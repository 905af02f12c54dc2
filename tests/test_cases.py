"""The judged situations of shared/cases (A, B, S), both sides of each flip, from log lines up."""

from __future__ import annotations

from typing import Any

import pytest
from transcripts import (
    Record,
    boundary,
    call,
    compaction,
    failing,
    judge_run,
    judged,
    runs_of,
    shape,
    step,
    user,
)

from loopaudit.findings import EndedBy

# -- A: real loops --------------------------------------------------------------------------------


def test_a1_success_that_changes_only_its_id() -> None:
    sends = [
        step(
            1_000 + 100 * i,
            call("send", {"to": "ops", "text": "done"}, {"ok": True, "id": f"m-{101 + i}"}),
        )
        for i in range(5)
    ]
    found = judged(step(900, call("read_doc")), *sends, step(1_500, text="I have told ops."))
    assert shape(found.only) == (2, 3, [3, 4, 5, 6], 5_000, "n/a")
    assert "4 repeated side effects" in " ".join(found.only.reasons)
    assert (found.only.tool, found.only.occurrences) == ("send", 5)
    assert found.only.ended_by is EndedBy.RECOVERED
    assert found.total == 8_400


def a2_round() -> list[Record]:
    return [
        step(2_000, call("read", {"path": "a.py"}, "x = 0")),
        step(
            2_000,
            failing("edit", {"path": "a.py", "old": "x=1", "new": "x=2"}, "old text not found"),
        ),
        step(2_000, failing("test", {}, "1 failed: t_x")),
    ]


def test_a2_cycle_of_three_with_a_failing_edit() -> None:
    found = judged(*(s for _ in range(4) for s in a2_round()))
    assert shape(found.only) == (1, 4, list(range(4, 13)), 18_000, "no")
    assert (found.only.rule, found.only.period, found.only.occurrences) == ("cycle", 3, 4)
    assert found.only.ended_by is EndedBy.END_OF_LOG
    assert found.total == 24_000


def test_a2_two_rounds_are_silent() -> None:
    assert judged(*(s for _ in range(2) for s in a2_round())).findings == []


def a3(change: Record | None = None) -> list[Record]:
    tokens = iter(range(1_500, 2_400, 100))
    steps: list[Record] = []
    for i in range(1, 10):
        reads = call("read", {"path": f"f{i // 2}"}, f"text {i // 2}") if i % 2 == 0 else None
        test = call("test", {}, "2 failed: t_a,t_b", exit_code=1, error=True)
        steps.append(step(next(tokens), reads or test))
        if change is not None and i % 2 == 0:
            steps.append(change)
    return steps


def test_a3_one_repeated_call_between_different_calls() -> None:
    found = judged(*a3())
    assert shape(found.only) == (1, 3, [3, 5, 7, 9], 8_000, "no")
    assert found.only.tool == "test"
    assert found.total == 17_100


def test_a3_with_a_user_message_before_each_test_is_silent() -> None:
    assert judged(*a3(user())).findings == []


def a4(kind: str) -> list[Record]:
    asks = boundary(kind, "cannot stop: session not matched")
    return [
        user("do it"),
        *(step(4_000, call("read", {"path": f"f{i}"}, f"{i}")) for i in range(3)),
        step(4_200, text="Done."),
        asks,
        step(4_300, text="Acknowledged."),
        asks,
        step(4_400, text="Acknowledged."),
        asks,
        step(4_500, text="Acknowledged."),
        asks,
        step(4_600, text="Acknowledged."),
        asks,
        step(4_700, text="Acknowledged."),
        boundary("interrupt"),
    ]


def test_a4_stop_hook_ping_pong() -> None:
    found = judged(*a4("hook"))
    assert shape(found.only) == (5, 6, [6, 7, 8, 9], 18_200, "no")
    assert found.only.rule == "hook-ping-pong"
    assert found.only.ended_by is EndedBy.USER
    assert found.total == 38_700


def test_a4_the_same_words_from_a_real_user_are_no_loop() -> None:
    assert judged(*a4("user")).findings == []


def a5(rounds: int) -> list[Record]:
    return [
        record
        for _ in range(rounds)
        for record in (
            step(6_000, call("read", {"path": "spec.md"}, "the spec")),
            step(7_000, call("read", {"path": "a.py"}, "x = 0")),
            compaction(9_000),
        )
    ]


def test_a5_compact_forget_read_again() -> None:
    found = judged(*a5(4))
    assert shape(found.only) == (1, 7, [7, 8, 9, 10, 11, 12], 44_000, "n/a")
    assert found.only.rule == "compact-and-re-read"
    assert found.total == 88_000


def test_a5_one_memory_loss_is_excused() -> None:
    assert judged(*a5(2)).findings == []


# -- B: look like loops and are not ---------------------------------------------------------------


def polls(answers: list[str]) -> list[Record]:
    return [step(500, call("task_output", {"id": 7}, answer)) for answer in answers]


def test_b1_polling_a_build() -> None:
    found = judged(*polls(["12%", "31%", "58%", "83%", "97%", "exit 0"]))
    assert found.findings == []
    assert found.kinds == {"poll-with-progress"}
    assert found.total == 3_000


def test_b1_flip_poll_without_progress() -> None:
    found = judged(*polls(["12%"] * 12))
    assert shape(found.only) == (1, 2, list(range(2, 13)), 5_500, "yes")
    assert found.total == 6_000


def test_b1_nine_unchanged_polls_are_still_a_wait() -> None:
    found = judged(*polls(["12%"] * 9))
    assert found.findings == []
    assert found.kinds == {"unchanged-poll"}


def b3(edits: bool, answers: list[str], *, one_edit: bool = False) -> list[Record]:
    steps = []
    for i, answer in enumerate(answers):
        edit = call if edits else failing
        args = {"path": "a.py", "old": "x", "new": "y" if one_edit else f"y{i}"}
        steps.append(step(1_000, edit("edit", args, "ok" if edits else "old text not found")))
        steps.append(step(1_000, call("test", {}, answer)))
    return steps


def test_b3_test_after_each_edit() -> None:
    found = judged(*b3(True, ["3 failed", "2 failed", "2 failed", "0 failed"]))
    assert found.findings == []
    assert found.kinds == {"test-after-edit"}
    assert found.total == 8_000


@pytest.mark.parametrize("one_edit", [True, False])
def test_b3_flip_the_edits_fail(one_edit: bool) -> None:
    found = judged(*b3(False, ["2 failed"] * 4, one_edit=one_edit))
    assert shape(found.only) == (1, 3, [3, 4, 5, 6, 7, 8], 6_000, "no")
    assert (found.only.rule, found.only.period) == ("cycle", 2)


def pages(first: int, last: int) -> list[Record]:
    """Reads of 40 lines each from line `first` to `last`."""
    return [
        step(
            2_000,
            call(
                "read",
                {"path": "big.log", "start_line": start, "end_line": start + 39},
                f"lines {start} to {start + 39} of the log",
            ),
        )
        for start in range(first, last, 40)
    ]


def test_b4_paging_a_big_file() -> None:
    found = judged(*pages(1, 240))
    assert found.findings == []
    assert found.kinds == {"paging"}
    assert found.total == 12_000


def test_b4_flip_shifted_windows_over_known_lines() -> None:
    found = judged(*pages(1, 240), *pages(21, 220))
    assert shape(found.only) == (1, 7, [7, 8, 9, 10, 11], 10_000, "n/a")
    assert found.only.rule == "re-read-ranges"
    assert found.total == 22_000


def test_b5_same_tool_other_files() -> None:
    commands = ["mv a b", "grep a", "sed -i s/a/b/ x.ts", "mv c d", "grep c", "sed -i s/c/d/ y.ts"]
    found = judged(*(step(700, call("bash", {"command": c}, f"did {c}")) for c in commands))
    assert found.findings == []
    assert found.trips == []
    assert found.total == 4_200


def test_b5_flip_same_error_for_varied_targets() -> None:
    found = judged(
        *(
            step(
                700,
                failing(
                    "bash", {"command": f"ls {name}"}, f"ls: {name}: No such file or directory"
                ),
            )
            for name in ("src", "lib", "app", "core", "pkg", "code")
        )
    )
    assert ("same_error", "warn") in {(t.detector, t.level.value) for t in found.trips}
    assert not any(t.level.stops for t in found.trips)


def test_b7_one_call_streamed_in_pieces() -> None:
    text = "one two three"
    pieces = [
        {
            "type": "response",
            "id": "M1",
            "usage": {"fresh_input": 1_000, "output": 200},
            "calls": [{"id": "t1", "tool": "write", "args": {"path": "a", "text": text[:n]}}],
        }
        for n in (2, 4, 7, 9, 13)
    ]
    answer = {"type": "result", "call": "t1", "result": "ok"}
    (run,) = runs_of(*pieces, answer, ids=False)
    found = judge_run(run)
    assert found.findings == []
    assert (len(run.calls), found.total) == (1, 1_200)


def test_b8_replayed_history() -> None:
    total = 0
    for session in "abc":
        response = {
            "type": "response",
            "run": session,
            "id": f"m-{session}",
            "at": "2026-05-01T10:00:00Z",
            "usage": {"fresh_input": 900, "output": 100},
            "calls": [{"id": f"{session}1", "tool": "read", "args": {"path": "/w/notes"}}],
        }
        answer = {"type": "result", "run": session, "call": f"{session}1", "result": "the notes"}
        (run,) = runs_of(*[response, answer] * 3, ids=False)
        found = judge_run(run)
        assert found.findings == []
        assert len(run.calls) == 1
        total += found.total
    assert total == 3_000


def fetches(*answers: tuple[str, int | None]) -> list[Record]:
    return [
        step(
            400,
            failing("fetch", {"u": "https://x.test"}, text, http_status=status)
            if status
            else call("fetch", {"u": "https://x.test"}, text),
        )
        for text, status in answers
    ]


def test_b10_retry_of_a_passing_fault() -> None:
    down = ("Service Unavailable", 503)
    attempts = [{"type": "attempt", "http_status": 529, "message": "overloaded"}] * 2
    found = judged(*attempts, *fetches(down, down, ("page", None)), step(500, text="Here it is."))
    assert found.findings == []
    assert found.kinds == {"retry-of-transient-error"}
    assert found.total == 1_700


def test_b10_flip_a_permanent_error_retried() -> None:
    found = judged(*fetches(*[("Not Found", 404)] * 5), step(500, text="There is no such page."))
    assert shape(found.only) == (1, 2, [2, 3, 4, 5], 1_600, "no")
    assert found.only.rule == "permanent-error-retried"
    assert any(r.startswith("same-call-same-result:") for r in found.only.reasons)
    assert found.total == 2_500


def test_b11_read_again_after_change_or_memory_loss() -> None:
    def read(version: str) -> Record:
        return step(1_000, call("read", {"path": "cfg"}, f"text {version}"))

    def edit(version: str) -> Record:
        return step(1_000, call("edit", {"path": "cfg", "new": version}, "ok"))

    found = judged(
        read("v1"), edit("v2"), read("v2"), compaction(2_000), read("v2"), edit("v3"), read("v3")
    )
    assert found.findings == []
    assert found.kinds == {"re-read-after-change", "re-read-after-memory-loss"}
    assert found.total == 8_000


# -- S: more --------------------------------------------------------------------------------------


def test_s4_one_finding_with_all_its_reasons() -> None:
    other = step(500, call("read", {"path": "a"}, "text a"))
    down = failing("fetch", {"u": "https://x.test"}, "Not Found", http_status=404)
    steps = [other, *(step(500, down) for _ in range(5)), step(500, text="no such page")]
    found = judged(*steps)
    assert shape(found.only) == (2, 3, [3, 4, 5, 6], 2_000, "no")
    assert len(found.only.reasons) == 3
    assert found.only.waste.share == pytest.approx(2_000 / 3_500)


def s5(warned: bool) -> list[Record]:
    grep = step(1_000, call("grep", {"pattern": "x"}, "a.py:1:x"))
    return [
        *[grep] * 3,
        *([boundary("guard", "you repeat yourself")] if warned else []),
        step(1_000, call("read", {"path": "a.py"}, "x = 0")),
        step(1_000, call("edit", {"path": "a.py", "new": "x = 1"}, "ok")),
        step(1_000, text="Done."),
    ]


@pytest.mark.parametrize("warned", [True, False])
def test_s5_a_loop_that_ended_well(warned: bool) -> None:
    found = judged(*s5(warned))
    assert shape(found.only) == (1, 2, [2, 3], 2_000, "n/a")
    assert found.only.ended_by is EndedBy.RECOVERED


def test_s5_the_log_ends_with_the_loop() -> None:
    assert judged(*s5(False)[:3]).only.ended_by is EndedBy.END_OF_LOG


def tries(number: int) -> list[Record]:
    return [
        step(300, failing("query", {"table": f"t{i}"}, f"no permission for table t{i}"))
        for i in range(number)
    ]


def test_s7_varied_tries_below_the_limit() -> None:
    found = judged(*tries(4), step(300, call("query", {"table": "t9"}, "7 rows")))
    assert found.findings == []
    assert not any(t.level.stops for t in found.trips)
    assert "varied-tries" in found.kinds


def test_s7_five_varied_tries_are_reported() -> None:
    found = judged(*tries(5), step(300, call("query", {"table": "t9"}, "7 rows")))
    assert shape(found.only)[:2] == (1, 2)


def test_s9_seven_questions_answered() -> None:
    names = ["alpha", "beta", "gamma", "delta", "eps", "zeta", "eta"]
    found = judged(*(step(200, call("grep", {"pattern": n}, "no matches")) for n in names))
    assert found.findings == []
    assert found.trips == []


def test_s14_a_parallel_fan_out_is_one_round() -> None:
    reads = [call("read", {"path": f"f{i}"}, "the same licence text") for i in range(5)]
    assert judged(step(1_000, *reads)).findings == []
    # and equal calls side by side in one response are one occurrence
    twins: list[Any] = [call("read", {"path": "f"}, "text")] * 4
    found = judged(step(1_000, *twins), step(1_000, *twins))
    assert found.findings == []
    assert found.count_of("same_call_same_result") == 2


def test_s14_a_fan_out_repeated_is_one_loop() -> None:
    reads = [call("read", {"path": f"f{i}"}, f"text {i}") for i in range(5)]
    found = judged(*(step(1_000, *reads[n:], *reads[:n]) for n in range(4)))
    assert shape(found.only) == (1, 2, [2, 3, 4], 3_000, "n/a")
