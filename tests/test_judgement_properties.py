"""What must hold for every run: properties of the default guard set and of hindsight."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from transcripts import (
    Judged,
    Record,
    boundary,
    call,
    compaction,
    judge_run,
    judged,
    run_of,
    runs_of,
    step,
    user,
)

from loopaudit.detectors.cycles import Cycles
from loopaudit.detectors.failures import Failures
from loopaudit.detectors.injected import HookPingPong
from loopaudit.detectors.repeats import Repeats

TOOLS = ["read", "test", "edit", "send", "task_output", "bash", "fetch"]
STATUSES = ["ok", "ok", "ok", "error", "rejected", "blocked", "sibling_error", "interrupted"]


def make_call(tool: str, arg: int, answer: int, status: str, nothing: bool) -> Record:
    args: Any = {"path": f"f{arg}", "n": {"b": arg, "a": 1.0}}
    if tool == "bash":
        args = {"command": ["ls", "mv a b", "pytest -q", "sleep 5"][arg % 4]}
    if nothing:
        return {"tool": tool, "args": args}
    return call(tool, args, f"answer {'abc'[answer]}", status=status)


calls = st.builds(
    make_call,
    st.sampled_from(TOOLS),
    st.integers(0, 2),
    st.integers(0, 1),
    st.sampled_from(STATUSES),
    st.integers(0, 9).map(lambda n: n == 0),
)
steps = st.builds(
    lambda tokens, made, text: step(tokens, *made, text=text),
    st.one_of(st.none(), st.integers(0, 5_000)),
    st.lists(calls, min_size=0, max_size=3),
    st.sampled_from([None, "hm", "done"]),
)
others = st.one_of(
    st.builds(boundary, st.sampled_from(["hook", "reminder", "guard"]), st.just("go on")),
    st.builds(boundary, st.sampled_from(["compaction", "interrupt", "limit", "resume"])),
    st.builds(user),
    st.builds(compaction, st.integers(1, 900)),
)
# a stretch that is repeated makes loops likely
stretches = st.builds(
    lambda part, times: part * times,
    st.lists(st.one_of(steps, steps, steps, others), min_size=1, max_size=4),
    st.integers(1, 5),
)
transcripts = st.lists(stretches, min_size=1, max_size=4).map(
    lambda parts: [record for part in parts for record in part]
)


def outline(found: Judged) -> list[Any]:
    rows: list[Any] = [
        (f.rule, f.first_seen.step, f.onset.step, f.last.step, f.occurrences, f.period, f.ended_by)
        for f in found.findings
    ]
    rows += [([w.step for w in f.waste.steps], f.listed_steps, f.waste) for f in found.findings]
    return rows + [(n.kind, n.step, n.reason) for n in found.not_loops]


def check(found: Judged) -> None:
    charged = [w.step for f in found.findings for w in f.waste.steps]
    assert len(charged) == len(set(charged))
    total = sum(s.usage.total or 0 for s in found.run.steps if s.usage is not None)
    assert sum(f.waste.tokens or 0 for f in found.findings) <= total
    for f in found.findings:
        assert f.first_seen.step <= f.onset.step <= f.last.step
        assert f.first_seen.step not in [w.step for w in f.waste.steps]
        assert all(f.onset.step <= w.step <= f.last.step for w in f.waste.steps)
        assert f.waste.share is None or 0 <= f.waste.share <= 1
        assert 0 < f.confidence < 1
        assert f.occurrences >= 3
        assert f.id
        assert f.reasons
        assert f.advice
    for near in found.not_loops:
        assert near.step not in charged
        assert near.line > 0


@settings(max_examples=400, deadline=None)
@given(transcripts)
def test_every_finding_is_in_order_and_within_the_run(records: list[Record]) -> None:
    for run in runs_of(*records):
        check(judge_run(run))


@settings(deadline=None)
@given(transcripts)
def test_names_of_calls_and_responses_change_nothing(records: list[Record]) -> None:
    plain = [json.loads(json.dumps(r)) for r in records]
    for number, record in enumerate(records):
        if record["type"] == "response":
            named = [{**c, "id": f"call-{number}-{i}"} for i, c in enumerate(record["calls"])]
            plain[number] = {**plain[number], "id": f"other-{number}", "calls": named}
    assert list(map(outline, map(judge_run, runs_of(*records)))) == list(
        map(outline, map(judge_run, runs_of(*plain)))
    )


@settings(deadline=None)
@given(transcripts)
def test_order_of_argument_keys_changes_nothing(records: list[Record]) -> None:
    turned = json.loads(json.dumps(records))
    for record in turned:
        for made in record.get("calls", []):
            args = dict(reversed(made["args"].items()))
            made["args"] = {
                k: dict(reversed(v.items())) if k == "n" else v for k, v in args.items()
            }
    assert list(map(outline, map(judge_run, runs_of(*records)))) == list(
        map(outline, map(judge_run, runs_of(*turned)))
    )


@settings(deadline=None)
@given(st.lists(calls, min_size=1, max_size=3), st.integers(3, 12))
def test_a_successful_change_before_each_repeat_removes_the_finding(
    made: list[Record], times: int
) -> None:
    part = [step(100, c) for c in made]
    changed: list[Record] = []
    for n in range(times):
        for i, s in enumerate(part):
            move = {"command": f"mv before{n} after{i}"}
            changed += [step(100, call("bash", move, "")), s]
    assert judged(*changed).findings == []


@settings(deadline=None)
@given(st.lists(steps, min_size=1, max_size=4), st.integers(3, 12))
def test_a_user_message_before_each_repeat_removes_the_finding(
    part: list[Record], times: int
) -> None:
    distinct = {json.dumps([c["tool"], c["args"]]) for s in part for c in s["calls"]}
    if len(distinct) == sum(len(s["calls"]) for s in part):
        records = [r for _ in range(times) for r in (user(), *part)]
        assert judged(*records).findings == []


@settings(deadline=None)
@given(transcripts, transcripts)
def test_two_sessions_do_not_make_a_loop_together(one: list[Record], two: list[Record]) -> None:
    def named(records: list[Record], name: str) -> list[Record]:
        out = []
        for number, record in enumerate(records):
            record = {**record, "run": name}
            if record["type"] == "response":
                record["id"] = f"{name}-{number}"
                record["calls"] = [
                    {**c, "id": f"{name}-{number}-{i}"} for i, c in enumerate(record["calls"])
                ]
            out.append(record)
        return out

    a, b = named(one, "a"), named(two, "b")
    mixed = [r for pair in zip(a, b, strict=False) for r in pair]
    mixed += a[len(b) :] + b[len(a) :]
    apart = {run.id: outline(judge_run(run)) for rs in (a, b) for run in runs_of(*rs)}
    together = {run.id: outline(judge_run(run)) for run in runs_of(*mixed)}
    assert together == apart


def test_a_long_run_keeps_its_pace() -> None:
    # counts what is kept, not the clock: state is per distinct key and nothing scans the past
    records = [step(10, call("look", {"at": n % 50}, f"{n % 50}")) for n in range(3_000)]
    run = run_of(*records)
    repeats, cycles, failures, hooks = Repeats(), Cycles(), Failures(), HookPingPong()
    for s in run.steps:
        for c in s.calls:
            repeats.call_ended(c)
        for detector in (repeats, cycles, failures, hooks):
            detector.step_ended(s)
    assert len(repeats._seen) == len(repeats._chains) == 50
    assert len(cycles._past) == len(cycles._tokens) == 6
    assert all(len(row.pending) <= 6 for row in cycles._rows)
    assert not failures._errors
    assert not hooks._done
