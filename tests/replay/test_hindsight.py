"""Hindsight: what belongs to one finding, where it began and ended, what it wasted."""

from __future__ import annotations

import pytest
from transcripts import (
    Record,
    boundary,
    call,
    failing,
    judge_run,
    judged,
    run_of,
    shape,
    step,
    user,
)

from loopaudit.findings import EndedBy
from loopaudit.model import UsageMark

TEST = step(100, call("test", {}, "same"))


def look(name: str) -> Record:
    return step(100, call("look", {"at": name}, f"saw {name}"))


# -- what belongs together ------------------------------------------------------------------------


def test_two_loops_apart_are_two_findings_in_order() -> None:
    found = judged(*[look("a")] * 3, *map(look, "bcdefg"), *[look("h")] * 3)
    assert [(f.first_seen.step, f.onset.step) for f in found.findings] == [(0, 1), (9, 10)]
    assert sum(f.waste.tokens or 0 for f in found.findings) == 400


def test_chains_that_take_turns_are_one_finding() -> None:
    # no cycle: each round has something new; no step in common
    rounds = [[look("a"), look(f"new {n}"), look("b")] for n in range(4)]
    found = judged(*[s for r in rounds for s in r])
    assert found.only.rule == "same-call-same-result"
    assert shape(found.only) == (1, 4, [4, 6, 7, 9, 10, 12], 600, "n/a")
    assert len(found.only.reasons) == 2


def test_a_short_loop_inside_a_long_one_that_it_shares_no_step_with_stays_apart() -> None:
    polls = [step(100, call("task_output", {"id": 7}, "12%")) for _ in range(12)]
    inner = [look("a")] * 3
    records = [r for n, p in enumerate(polls) for r in ([p, look(f"n{n}")] if n else [p])]
    found = judged(*records[:4], *inner, *records[4:])
    assert [f.tool for f in found.findings] == ["task_output", "look"]


def test_waste_of_a_run_is_never_counted_twice() -> None:
    down = step(100, failing("fetch", {"u": "x"}, "Not Found", http_status=404))
    found = judged(*[s for _ in range(5) for s in (down, look("a"))])
    steps = [w.step for f in found.findings for w in f.waste.steps]
    assert len(steps) == len(set(steps)) == 8


# -- places ---------------------------------------------------------------------------------------


def test_places_point_into_the_log() -> None:
    found = judged(user(), look("b"), TEST, look("c"), TEST, TEST, path="dir/log.jsonl")
    finding = found.only
    assert [
        (p.step, p.call, p.line) for p in (finding.first_seen, finding.onset, finding.last)
    ] == [
        (1, 1, 3),
        (3, 3, 5),
        (4, 4, 6),
    ]
    assert finding.onset.path == "dir/log.jsonl"


def test_times_of_places_are_those_of_the_calls() -> None:
    at = [1_777_000_000.0 + 10 * n for n in range(3)]
    found = judged(*(step(100, call("test", {}, "x", at=t + 1), at=t) for t in at))
    assert (found.only.onset.at, found.only.last.at) == (at[1] + 1, at[2] + 1)


# -- how it ended ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("after", "end"),
    [
        ([], EndedBy.END_OF_LOG),
        ([look("new")], EndedBy.RECOVERED),
        ([step(100, text="I give up.")], EndedBy.RECOVERED),
        ([boundary("guard", "you repeat yourself"), look("new")], EndedBy.RECOVERED),
        ([boundary("hook", "go on"), look("new")], EndedBy.RECOVERED),
        ([boundary("guard_stop")], EndedBy.GUARD),
        ([boundary("limit")], EndedBy.LIMIT),
        ([boundary("interrupt")], EndedBy.USER),
        ([user("stop that"), look("new")], EndedBy.USER),
        ([boundary("interrupt"), user("stop that"), look("new")], EndedBy.USER),
        ([step(100, call("test", {}, "refused", status="blocked"))], EndedBy.GUARD),
    ],
)
def test_how_a_loop_ended(after: list[Record], end: EndedBy) -> None:
    assert judged(*[TEST] * 4, *after).only.ended_by is end


def test_an_interrupted_last_call_is_the_users_doing() -> None:
    tests = [TEST] * 4 + [step(100, call("test", {}, "interrupted", status="interrupted"))]
    assert judged(*tests, boundary("interrupt")).only.ended_by is EndedBy.USER


def test_a_long_stretch_of_other_work_inside_a_loop_says_nothing_of_its_end() -> None:
    looped = [look("a")] * 4
    found = judged(*looped, *map(look, "bcdefg"), *looped, look("h"))  # the next one was due
    assert found.only.occurrences == 8
    assert found.only.interruptions == [(4, 9)]
    assert found.only.ended_by is EndedBy.RECOVERED


def test_a_log_that_ends_between_two_occurrences_ends_with_the_loop() -> None:
    steps = [r for n in range(4) for r in (TEST, look(f"a{n}"), look(f"b{n}"))]
    assert judged(*steps[:-1]).only.ended_by is EndedBy.END_OF_LOG
    assert judged(*steps, *map(look, "xyz")).only.ended_by is EndedBy.RECOVERED


# -- waste ----------------------------------------------------------------------------------------


def test_without_usage_the_waste_is_unknown_not_zero() -> None:
    found = judged(*[step(None, call("test", {}, "same"))] * 3).only
    assert (found.waste.tokens, found.waste.cache_read, found.waste.share) == (None, None, None)
    assert [w.step for w in found.waste.steps] == [1, 2]


def test_cache_reads_and_share() -> None:
    usage = {"fresh_input": 10, "cache_read": 80, "output": 10}
    found = judged(*[step(None, call("test", {}, "same"), usage=usage)] * 4).only
    assert (found.waste.tokens, found.waste.cache_read, found.waste.share) == (300, 240, 0.75)
    assert not found.waste.estimated


def test_a_bound_stays_a_bound() -> None:
    run = run_of(*[TEST] * 3)
    usage = run.steps[2].usage
    assert usage is not None
    usage.mark = UsageMark.LOWER_BOUND
    assert judge_run(run).only.waste.estimated


def test_a_missing_usage_among_known_ones_is_marked() -> None:
    found = judged(*[TEST] * 3, step(None, call("test", {}, "same"))).only
    assert (found.waste.tokens, found.waste.estimated) == (200, True)


def test_inherited_steps_are_context_and_never_charged() -> None:
    run = run_of(*[TEST] * 5)
    for copied in run.steps[:3]:
        copied.inherited = True
    found = judge_run(run).only
    assert (found.first_seen.step, found.onset.step) == (0, 3)
    assert found.waste.tokens == 200


def test_a_finding_that_is_all_inherited_is_dropped() -> None:
    run = run_of(*[TEST] * 3, look("new"))
    for copied in run.steps[:3]:
        copied.inherited = True
    assert judge_run(run).findings == []


# -- words ----------------------------------------------------------------------------------------


def test_the_fingerprint_is_stable() -> None:
    def finding_id(*records: Record, path: str = "a.jsonl") -> str:
        session: Record = {"type": "run", "run": "r1", "session": "s1"}
        return judged(session, *records, path=path).only.id

    tests = [step(100, call("test", {}, "same"), id=f"m{n}") for n in range(4)]
    first = finding_id(*tests)
    assert len(first) == 16
    assert finding_id(*tests, path="b/c.jsonl") == first
    assert finding_id(*tests, look("new")) == first  # the log has grown
    others = [step(100, call("look", {}, "same"), id=f"m{n}") for n in range(4)]
    assert finding_id(*others) != first


def test_thresholds_are_those_of_the_task_type() -> None:
    guards = {"loopaudit": {"task_types": {"research": {"same_call_same_result": {"report": 5}}}}}
    research: Record = {"type": "run", "run": "r1", "task_type": "research"}
    assert judge_run(run_of(research, *[TEST] * 4), guards).findings == []
    assert judge_run(run_of(research, *[TEST] * 5), guards).only.occurrences == 5
    assert judge_run(run_of(*[TEST] * 4), guards).only.occurrences == 4


def test_near_misses_have_a_place_and_a_reason() -> None:
    edits = [step(100, call("edit", {"path": "a", "new": str(n)}, "ok")) for n in range(3)]
    found = judged(*[s for e in edits for s in (TEST, e)], TEST)
    (near,) = found.not_loops
    assert (near.kind, near.step, near.line) == ("test-after-edit", 6, 7)
    assert (
        near.reason == "test called 4 times with equal arguments, 3 of them after a change of state"
    )


def test_every_finding_says_why_and_what_to_do() -> None:
    finding = judged(*[TEST] * 6).only
    assert finding.reasons == ["same-call-same-result: test 6 times"]
    assert finding.advice.startswith("test: ")
    assert finding.confidence >= 0.9
    assert finding.confidence_reason


def test_interruptions_are_the_other_steps_inside() -> None:
    test = step(100, call("test", {}, "2 failed"))
    other = [step(100, call("read", {"path": f"f{n}"}, f"text {n}")) for n in range(6)]
    rows = [test, other[0], test, test, other[1], other[2], test, other[3]]
    found = judged(*rows).only
    assert [entry.step for entry in found.waste.steps] == [2, 3, 6]
    assert found.interruptions == [(4, 5)]
