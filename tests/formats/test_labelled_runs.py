"""Labelled runs: one run a line, each call a step, the outcome and the type of task as written."""

import gzip
import json

import pytest
from api_files import feed, form

from loopaudit.formats.base import Sample
from loopaudit.model import (
    BoundaryKind,
    BoundaryPiece,
    CallStatus,
    ResponsePiece,
    ResultPiece,
    RunPiece,
)


def run(*calls, **more):
    return {"id": "harbour/41", "group": "g", "task": "t", "success": True, "calls": calls, **more}


def call(tool="sql", args="select 1", result="1", error=False):
    return {"tool": tool, "args": args, "result": result, "error": error}


def read(*records):
    return feed("labelled_runs", json.loads(json.dumps(records)))


def test_a_run_is_its_calls_with_their_results_in_order():
    reader, pieces = read(run(call(), call(args="select 2", result="no such table", error=True)))
    kinds = [type(piece) for piece in pieces]
    assert kinds == [RunPiece, ResponsePiece, ResultPiece, ResponsePiece, ResultPiece]
    head, first, _, second, failed = pieces
    assert (head.run, head.agent, head.task_type) == ("harbour/41", "g", "t")
    assert (head.outcome, head.outcome_source) == ("success", "success")
    assert [c.args for p in (first, second) for c in p.calls] == ["select 1", "select 2"]
    assert (failed.status, failed.text, failed.call_id) == (CallStatus.ERROR, "no such table", None)
    assert reader.missing == {"usage", "times"}
    assert (reader.used, reader.rejected) == (1, [])


def test_arguments_in_json_text_are_parsed_and_others_stay():
    _, pieces = read(run(call(args='{"a": 1}'), call(args="ls {a,b}"), call(args=None)))
    found = [c.args for p in pieces if isinstance(p, ResponsePiece) for c in p.calls]
    assert found == [{"a": 1}, "ls {a,b}", None]


def test_the_flag_of_a_failure_counts_and_not_the_words():
    words = call(result="Error: it says so")
    _, pieces = read(run(words, call(result="all well", error=True), {**words, "error": None}))
    found = [p.status for p in pieces if isinstance(p, ResultPiece)]
    assert found == [CallStatus.OK, CallStatus.ERROR, CallStatus.ERROR]


def test_an_error_in_words_is_the_result_where_there_is_none():
    _, pieces = read(run({"tool": "sql", "args": "x", "result": None, "error": "no such column"}))
    assert (pieces[2].text, pieces[2].status) == ("no such column", CallStatus.ERROR)


@pytest.mark.parametrize(("success", "outcome"), [(True, "success"), (False, "failure"), (2, None)])
def test_the_outcome_is_the_logs_own(success, outcome):
    _, pieces = read(run(call(), success=success))
    assert pieces[0].outcome == outcome


def test_a_halted_run_ended_at_a_limit_and_others_did_not():
    _, pieces = read(run(call(), halted=True), run(call(), halted=False))
    limits = [p for p in pieces if isinstance(p, BoundaryPiece)]
    assert [(p.kind, p.line) for p in limits] == [(BoundaryKind.LIMIT, 1)]


def test_ids_that_repeat_are_runs_of_their_own_and_short_ones_carry_the_files_name():
    _, pieces = read(run(call()), run(call()), {**run(call()), "id": "7"})
    heads = [p.run for p in pieces if isinstance(p, RunPiece)]
    assert heads == ["harbour/41", "harbour/41#2", "night:7"]


def test_a_run_without_calls_is_no_run_and_told():
    reader, pieces = read(run())
    assert pieces == []
    assert reader.ignored == {"run without calls": 1}


@pytest.mark.parametrize(
    "record",
    [
        [],
        7,
        {"calls": {}},
        {"id": 1, "calls": [1, None, {"tool": 7.5}, {"tool": ["x"], "args": 1}]},
        run(
            {"tool": "x"}, {"tool": "x", "args": {"a": [[]]}, "result": {"b": None}, "error": 1e999}
        ),
        run(call(), id=None, group=[], task={}, success="maybe", halted="yes"),
    ],
)
def test_damaged_records_do_not_raise(record):
    reader = form("labelled_runs").reader("x.jsonl")
    list(reader.feed(1, record))
    list(reader.end())


def test_other_logs_with_calls_are_not_claimed():
    sniff = form("labelled_runs").sniff
    others = [
        {"id": "r", "calls": [{"tool": "x", "args": 1}]},  # no outcome
        {"type": "response", "id": "r", "success": True, "calls": [{"tool": "x", "args": 1}]},
        {"id": "r", "success": True, "calls": [{"name": "x"}]},
    ]
    assert [sniff(Sample("x", [other])) for other in others] == [0.0, 0.0, 0.0]
    assert sniff(Sample("x", [json.loads(json.dumps(run(call())))])) == 0.95


#: runs with calls, calls, failed calls, successes: counted by a line of jq for each
CORPUS = {
    "captainagent": (126, 1099),
    "hotpotqa_react": (1603, 6069),
    "intercode_bash": (1542, 9777),
    "intercode_ctf": (97, 669),
    "intercode_python": (236, 861),
    "intercode_sql": (11372, 75981),
    "magentic_one": (58, 689),
    "tau_airline": (200, 1164),
    "tau_retail": (100, 793),
}


@pytest.mark.parametrize("name", CORPUS)
def test_the_labelled_sets_are_read_whole(shared, name):
    with gzip.open(shared / "labelled" / f"{name}.jsonl.gz") as stream:
        records = [json.loads(line) for line in stream]
    assert form("labelled_runs").sniff(Sample("x", records[:6])) >= 0.9
    reader, pieces = feed("labelled_runs", records, f"{name}.jsonl.gz")
    assert reader.rejected == []
    assert (reader.used + reader.ignored["run without calls"], len(records)) == (
        CORPUS[name][0],
    ) * 2
    answers = [p for p in pieces if isinstance(p, ResultPiece)]
    assert len(answers) == CORPUS[name][1]
    failed = sum(p.status is CallStatus.ERROR for p in answers)
    assert failed == sum(c["error"] for record in records for c in record["calls"])
    good = sum(p.outcome == "success" for p in pieces if isinstance(p, RunPiece))
    assert good == sum(record["success"] for record in records if record["calls"])
