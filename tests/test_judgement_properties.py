"""What must hold for every run: properties of the default guard set and of hindsight."""

from __future__ import annotations

import json
from dataclasses import astuple
from pathlib import Path
from tempfile import TemporaryDirectory
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
from loopaudit.guards import presets
from loopaudit.guards.session import GuardSession
from loopaudit.model import StepKind
from loopaudit.replay.audit import AuditOptions, audit
from loopaudit.replay.chains import Chains
from loopaudit.replay.hindsight import judge

TOOLS = ["read", "test", "edit", "send", "task_output", "bash", "fetch", "ask", "transfer_to_b"]
STATUSES = ["ok", "ok", "ok", "error", "rejected", "blocked", "sibling_error", "interrupted"]


def make_call(tool: str, arg: int, answer: int, status: str, nothing: bool) -> Record:
    args: Any = {"path": f"f{arg}", "n": {"b": arg, "a": 1.0}}
    if tool == "bash":
        args = {"command": ["ls", "ls src", "ls src | sort", "mv a b", "pytest -q"][arg]}
    if tool == "ask":
        return call(tool, {"question": arg}, "That is not part of this collection.", status=status)
    if nothing:
        return {"tool": tool, "args": args}
    return call(tool, args, f"answer {'abc'[answer]}", status=status)


calls = st.builds(
    make_call,
    st.sampled_from(TOOLS),
    st.integers(0, 4),
    st.integers(0, 1),
    st.sampled_from(STATUSES),
    st.integers(0, 9).map(lambda n: n == 0),
)
steps = st.builds(
    lambda tokens, made, text: step(tokens, *made, text=text),
    st.one_of(st.none(), st.integers(0, 5_000)),
    st.lists(calls, min_size=0, max_size=3),
    st.sampled_from([None, "hm", "done", "so " * 200, "It is so. " + "once more " * 60]),
)
attempts = st.builds(
    lambda status: {"type": "attempt", "http_status": status}, st.sampled_from([401, 429, 503, 529])
)
others = st.one_of(
    st.builds(boundary, st.sampled_from(["hook", "reminder", "guard"]), st.just("go on")),
    st.builds(boundary, st.sampled_from(["compaction", "interrupt", "limit", "resume"])),
    st.builds(user),
    st.builds(compaction, st.integers(1, 900)),
    attempts,
)
# a stretch that is repeated makes loops likely
stretches = st.builds(
    lambda part, times: part * times,
    st.lists(st.one_of(steps, steps, steps, others), min_size=1, max_size=4),
    st.integers(1, 6),
)
# six times the same batch in one response
batches = st.builds(
    lambda part, times: step(500, *part * times),
    st.lists(calls, min_size=1, max_size=3),
    st.integers(2, 6),
)
transcripts = st.lists(
    st.one_of(stretches, stretches, st.lists(batches, min_size=1, max_size=2)),
    min_size=1,
    max_size=4,
).map(lambda parts: [record for part in parts for record in part])


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
        # only text is first seen and redundant in one response
        assert f.first_seen.step not in [w.step for w in f.waste.steps if w.part == 1]
        assert (f.first_seen.step, f.first_seen.line) <= (f.onset.step, f.onset.line)
        assert all(0 < w.part <= 1 for w in f.waste.steps)
        assert all(f.onset.step <= w.step <= f.last.step for w in f.waste.steps)
        assert f.waste.share is None or 0 <= f.waste.share <= 1
        assert 0 < f.confidence < 1
        assert f.occurrences >= 3
        assert f.id
        assert f.reasons
        assert f.advice
        assert f.advice_parts is not None
        assert all(astuple(f.advice_parts))
        assert sum(f.redundant.values()) <= len(found.run.calls)
        assert bool(f.waste.unknown) == (f.call is not None and f.call.startswith("model API"))
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
    texts = [s.get("text") or "" for s in part]
    # without a loop within one request, by calls or by words
    if len(distinct) == sum(len(s["calls"]) for s in part) and len(set(texts)) == len(texts):
        records = [r for _ in range(times) for r in (user(), *part)]
        rules = {finding.rule for finding in judged(*records).findings}
        assert rules <= {"text-repeats-itself"}  # that needs no second response


#: times, ids, pids and ports, two values each
VOLATILE = [
    ("at 10:00:01", "at 11:59:59"),
    (
        "request 7f3c1e0a-1b2c-4d5e-8f90-000000000001",
        "request 9d1b2c3a-5e6f-4a7b-8c9d-00000000ffff",
    ),
    ("pid 4312", "pid 997"),
    ("http://localhost:53121/", "http://localhost:8123/"),
    ("took 15 ms", "took 2.5 s"),
]


@settings(deadline=None)
@given(transcripts, st.sampled_from(VOLATILE), st.data())
def test_only_masked_parts_of_results_change_nothing(
    records: list[Record], parts: tuple[str, str], data: st.DataObject
) -> None:
    def with_parts(varied: bool) -> list[Record]:
        out = json.loads(json.dumps(records))
        for record in out:
            for made in record.get("calls", []):
                if "result" in made and made["tool"] != "ask":  # one answer to varied questions
                    which = data.draw(st.integers(0, 1)) if varied else 0
                    made["result"] = f"{made['result']} {parts[which]}"
        return out

    plain, other = with_parts(False), with_parts(True)
    assert list(map(outline, map(judge_run, runs_of(*plain)))) == list(
        map(outline, map(judge_run, runs_of(*other)))
    )


@settings(deadline=None, max_examples=40)
@given(st.lists(transcripts, min_size=2, max_size=3), st.permutations(range(3)))
def test_findings_do_not_depend_on_how_files_are_split_or_ordered(
    sessions: list[list[Record]], order: list[int]
) -> None:
    """Each session in a file of its own, or one after the other in one file, in any order."""
    named = []
    for number, records in enumerate(sessions):
        lines = [{"type": "run", "run": f"s{number}", "session": f"s{number}"}]
        for at, record in enumerate(records):
            made = [
                {**c, "id": f"s{number}-{at}-{i}"} for i, c in enumerate(record.get("calls", []))
            ]
            more = {"calls": made, "id": f"s{number}-m{at}"} if record["type"] == "response" else {}
            lines.append({**record, **more, "run": f"s{number}"})
        named.append(lines)
    order = [number for number in order if number < len(named)]
    with TemporaryDirectory() as folder:
        apart = [Path(folder) / f"{number}.jsonl" for number in range(len(named))]
        joined = Path(folder) / "joined.jsonl"
        for path, lines in zip(apart, named, strict=True):
            path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        joined.write_text("".join(apart[number].read_text() for number in order))
        seen = [
            told([str(path) for path in apart]),
            told([str(apart[number]) for number in order]),
            told([str(joined)]),
        ]
    assert seen[0] == seen[1] == seen[2]


def told(paths: list[str]) -> list[Any]:
    found = audit(AuditOptions(paths, processes=1, now=2e9))
    assert found.failures == []
    rows = [
        (f.run, f.rule, f.occurrences, f.first_seen.step, f.onset.step, f.last.step, f.waste.tokens)
        for f in found.findings
    ]
    return sorted(rows, key=str)


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


@settings(deadline=None)
@given(transcripts)
def test_a_recording_is_judged_as_its_events_are_one_by_one(records: list[Record]) -> None:
    """Replayed as a whole, readings are brought up to date in place and verdicts that repeat are
    kept in a row; a running agent's guard gets each event by itself."""
    for run in runs_of(*records):
        preset = presets.load("loopaudit")
        counted = Chains(preset)
        whole = GuardSession(preset, missing=run.missing, observe=counted.add)
        live = GuardSession(preset, missing=run.missing)
        trips = []
        for made in run.steps:
            for item in made.before:
                trips += live.boundary(item)
            if made.kind is StepKind.MODEL:
                trips += live.before_step(made.index, made.at)
            trips += live.step_started(made)
            for c in made.calls:
                trips += live.call_proposed(c)
            for c in made.calls:
                trips += live.call_ended(c)
            trips += live.step_ended(made)
        told = whole.replay(run.steps)
        assert list(told) == trips
        assert [told[i] for i in range(len(told))] == trips
        for item in run.after:
            whole.boundary(item)
        whole.run_ended(run)
        found, near = judge(run, counted, whole.dismissed())
        assert outline(Judged(run, found, near)) == outline(judge_run(run))


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
