"""Our own event lines: read by hand-written examples, written and read again, schema checked."""

import io
import json
from dataclasses import fields, replace
from decimal import Decimal

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loopaudit.formats.base import Sample
from loopaudit.formats.native.events import FORMAT, pieces_of, schema, write
from loopaudit.model import (
    Attempt,
    AttemptPiece,
    Boundary,
    BoundaryKind,
    BoundaryPiece,
    Call,
    CallPiece,
    CallStatus,
    ResponsePiece,
    ResultPiece,
    Run,
    RunPiece,
    Step,
    StepKind,
    Usage,
    UsageMark,
)

VALIDATOR = jsonschema.Draft202012Validator(schema())


def repr_of(value):
    return "huge" if isinstance(value, int) and value > 9 else repr(value)


def read(*records, path="some/where/log.jsonl.gz"):
    reader = FORMAT.reader(path)
    pieces = [p for line, r in enumerate(records, 1) for p in reader.feed(line, r)]
    return reader, pieces + list(reader.end())


def test_a_log_written_by_hand():
    reader, pieces = read(
        {"loopaudit": 1},
        {"type": "run", "run": "r1", "agent": "main", "task_type": "research"},
        {"type": "boundary", "kind": "user", "text": "weather?"},
        {
            "type": "response",
            "id": "m1",
            "at": "2026-11-30T19:12:01Z",
            "usage": {"fresh_input": 90, "output": 20},
            "calls": [
                {"id": "t1", "tool": "weather", "args": {"city": "Rome"}, "result": "14 C"},
                {"id": "t2", "tool": "weather", "args": {"city": "Atlantis"}, "error": "no city"},
                {"id": "t3", "tool": "weather", "args": {"city": "Oslo"}},
            ],
        },
        {"type": "attempt", "http_status": 429, "retry_after": 2},
        {"type": "result", "call": "t3", "result": {"c": 3}, "at": 1796066000},
    )
    calls = (
        CallPiece("t1", "weather", {"city": "Rome"}),
        CallPiece("t2", "weather", {"city": "Atlantis"}),
        CallPiece("t3", "weather", {"city": "Oslo"}),
    )
    usage = Usage(fresh_input=90, output=20)
    assert pieces == [
        RunPiece("r1", 2, agent="main", task_type="research"),
        BoundaryPiece("r1", 3, BoundaryKind.USER, text="weather?"),
        ResponsePiece("r1", 4, id="m1", at=1796065921.0, calls=calls, usage=usage),
        ResultPiece("r1", 4, "t1", "14 C"),
        ResultPiece("r1", 4, "t2", "no city", status=CallStatus.ERROR),
        AttemptPiece("r1", 5, http_status=429, retry_after=2.0),
        ResultPiece("r1", 6, "t3", {"c": 3}, at=1796066000.0),
    ]
    assert reader.used == 5
    assert reader.ignored == {"header": 1}
    assert reader.rejected == []
    assert reader.missing == set()


def test_run_is_the_file_name_until_a_line_names_one():
    _, pieces = read(
        {"type": "response", "text": "a"},
        {"type": "response", "text": "b", "run": "x"},
        {"type": "response", "text": "c"},
        path="/a/b/night run.v2.jsonl",
    )
    assert [p.run for p in pieces] == ["night run.v2", "x", "x"]


@pytest.mark.parametrize("value", [2000, {"total": 2000}])
def test_a_bare_total_keeps_the_sum_and_says_that_it_is_an_estimate(value):
    _, (piece,) = read({"type": "response", "usage": value})
    assert piece.usage.total == 2000
    assert piece.usage.mark is UsageMark.ESTIMATED
    assert "total" in piece.usage.note


def test_a_total_beside_buckets_is_not_added():  # S13
    _, (piece,) = read({"type": "response", "usage": {"input": 700, "output": 300, "total": 1000}})
    assert piece.usage == Usage(fresh_input=700, output=300)


@pytest.mark.parametrize(
    "bad", [float("nan"), float("inf"), -5, True, "12", 10**4999, [], {}], ids=repr_of
)
def test_a_bad_count_is_missing_not_zero(bad):
    usage = {"fresh_input": 10, "output": bad}
    _, (piece,) = read({"type": "response", "usage": usage})
    assert piece.usage.output is None
    assert piece.usage.total == 10
    assert piece.usage.mark is UsageMark.LOWER_BOUND
    assert "output" in piece.usage.note
    _, (piece,) = read({"type": "response", "usage": {"output": bad}})
    assert piece.usage.total is None
    assert piece.usage.mark is UsageMark.ABSENT


def test_calls_without_ids_keep_their_own_answers():
    _, pieces = read(
        {"type": "response", "calls": [{"tool": "a"}]},
        {"type": "response", "calls": [{"tool": "a", "result": "mine"}, {"tool": "a"}]},
    )
    first, second, answer = pieces
    assert first.calls[0].id is None
    assert second.calls[0].id is not None
    assert answer.call_id == second.calls[0].id
    assert second.calls[1].id is None


def test_a_result_of_null_is_an_answer_and_no_result_is_none():
    _, pieces = read({"type": "response", "calls": [{"id": "a", "tool": "t", "result": None}]})
    assert pieces[1:] == [ResultPiece("log", 1, "a", None)]
    _, pieces = read({"type": "response", "calls": [{"id": "a", "tool": "t", "error": False}]})
    assert pieces[1].status is CallStatus.OK
    _, pieces = read({"type": "response", "calls": [{"id": "a", "tool": "t"}]})
    assert len(pieces) == 1


def test_what_cannot_be_used_is_named():
    records = [
        3,
        {"type": "bogus"},
        {"type": {}},
        {},
        {"loopaudit": 10**4999},
        {"type": "boundary", "kind": "tea"},
        {"type": "response", "calls": {}},
        {"type": "response", "calls": [3, {"tool": ""}, {"tool": "ok"}]},
    ]
    reader, pieces = read(*records)
    assert [line for line, _ in reader.rejected] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert [len(p.calls) for p in pieces] == [0, 1]


def test_what_the_log_lacks():
    bare = {"type": "response", "calls": [{"tool": "t"}]}
    assert read(bare, bare)[0].missing == {"usage", "times", "arguments", "results"}
    # twins: one open call at the end is no lack of results; one of each is enough
    assert read(bare)[0].missing == {"usage", "times", "arguments"}
    full = {"type": "response", "at": 5, "usage": {"output": 1}}
    full["calls"] = [{"tool": "t", "args": {}, "result": ""}]
    assert read(full, bare, bare)[0].missing == set()
    assert read({"type": "boundary", "kind": "user"})[0].missing == set()


# -- written and read again -----------------------------------------------------------------------

texts = st.text(max_size=8)
names = st.none() | st.text(min_size=1, max_size=5)
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)
times = st.none() | st.floats(min_value=0, max_value=4e9) | st.integers(0, 4 * 10**9).map(float)
counts = st.none() | st.integers(0, 10**9)
lengths = st.none() | st.floats(min_value=0, max_value=1e6)
money = st.none() | st.decimals(min_value=0, max_value=1000, allow_nan=False, places=6)
wholes = st.none() | st.integers(-(2**31), 2**31)
runs = st.text(min_size=1, max_size=4)
usages = st.builds(
    Usage,
    *[counts] * 8,
    mark=st.sampled_from(UsageMark),
    note=names,
)
calls = st.builds(CallPiece, id=names, tool=runs, args=json_values, at=times, line=st.none())
LINE = st.just(1)
run_fields = {f.name: names for f in fields(RunPiece) if f.name not in ("run", "line")}
run_fields |= {
    "prompt": st.none() | texts,
    "at": times,
    "metadata": st.none() | st.dictionaries(texts, texts, min_size=1, max_size=2),
}
pieces = st.one_of(
    st.builds(RunPiece, runs, LINE, **run_fields),
    st.builds(
        ResponsePiece,
        runs,
        LINE,
        id=names,
        at=times,
        ended=times,
        model=names,
        text=st.none() | texts,
        thinking_chars=st.integers(0, 9),
        calls=st.lists(calls, max_size=2).map(tuple),
        usage=st.none() | usages,
        cost=money,
        finish=names,
        kind=st.sampled_from(StepKind),
        service=names,
        same_step_as=names,
        streamed=st.booleans(),
    ),
    st.builds(
        ResultPiece,
        runs,
        LINE,
        call_id=names,
        text=json_values,
        at=times,
        status=st.sampled_from(CallStatus),
        tool=names,
        http_status=wholes,
        code=names,
        exit_code=wholes,
        duration=lengths,
        flagged=st.booleans(),
    ).map(lambda piece: replace(piece, flagged=piece.flagged and piece.status is CallStatus.OK)),
    st.builds(
        AttemptPiece,
        runs,
        LINE,
        at=times,
        http_status=wholes,
        code=names,
        message=st.none() | texts,
        wait=lengths,
        retry_after=lengths,
        number=counts,
        limit=counts,
        gave_up=st.booleans(),
        layer=names,
    ),
    st.builds(
        BoundaryPiece, runs, LINE, st.sampled_from(BoundaryKind), at=times, text=st.none() | texts
    ),
)


@settings(suppress_health_check=[HealthCheck.too_slow])  # of a loaded machine
@given(st.lists(pieces, max_size=4))
def test_written_pieces_are_read_back_the_same_and_follow_the_schema(written):
    stream = io.BytesIO()
    assert write(written, stream) == len(written)
    records = [json.loads(line) for line in stream.getvalue().splitlines()]
    for record in records:
        VALIDATOR.validate(record)
    reader, found = read(*records)
    for piece in found:
        piece.line = 1
    assert found == written
    assert reader.rejected == []


def test_the_writer_survives_what_json_cannot_say():
    deep = []
    for _ in range(50_000):
        deep = [deep]
    hostile = ["\ud83d", 10**400, float("nan"), [10**400, float("inf")], deep, {1: 2}, {3}, b"x"]
    stream = io.StringIO()
    write([ResultPiece("r", 1, "c", text=value) for value in hostile], stream)
    lines = stream.getvalue().splitlines()
    assert len(lines) == 9
    assert json.loads(lines[1])["result"] == "\ud83d"
    calls = (CallPiece(None, "t", [10**400, float("nan")]),)
    write([ResponsePiece("r", 1, calls=calls)], stream)
    for line in stream.getvalue().splitlines():
        json.loads(line, parse_constant=pytest.fail)


def test_schema_is_valid_and_refuses_what_the_reader_refuses():
    jsonschema.Draft202012Validator.check_schema(schema())
    for good in (
        {"loopaudit": 1},
        {"type": "response", "usage": {"total": 5}, "calls": [{"tool": "t", "error": True}]},
        {"type": "result", "call": "a", "result": [1], "at": 12.5, "anything": "else"},
        {"type": "attempt", "at": "2026-11-30T19:12:01Z"},
    ):
        VALIDATOR.validate(good)
    for bad in (
        {},
        {"loopaudit": 2},
        {"type": "boundary"},
        {"type": "response", "calls": [{"id": "no tool"}]},
        {"type": "response", "usage": {"output": -1}},
        {"type": "response", "cost": "NaN"},
        {"type": "run"},
    ):
        assert not VALIDATOR.is_valid(bad), bad


def test_a_run_is_written_as_far_as_it_is_still_held():
    ok = Call(0, 0, 0, "t1", "grep", 1, 4, args='{"q":"x"}', status=CallStatus.OK, text="hit")
    cut = Call(1, 0, 1, None, "sh", 1, 4, args='{"c":"ver', status=CallStatus.ERROR, exit_code=2)
    unanswered = Call(2, 1, 0, "t1", "grep", 1, 9)
    step = Step(0, "a.jsonl", 4, id="m1", at=10.0, usage=Usage(output=3), calls=[ok, cut])
    step.before = [Boundary(BoundaryKind.USER, 2, "a.jsonl", text="go")]
    step.attempts = [Attempt(3, 9.0, None, http_status=529, number=1)]
    last = Step(1, "a.jsonl", 9, calls=[unanswered], cost=Decimal("0.5"))
    run = Run("r", "a.jsonl", "codex", agent="main", steps=[step, last], started=1.0)
    run.after = [Boundary(BoundaryKind.INTERRUPT, 12, "a.jsonl")]
    found = list(pieces_of(run))
    assert found == [
        RunPiece("r", 1, agent="main", at=1.0),
        BoundaryPiece("r", 2, BoundaryKind.USER, text="go"),
        AttemptPiece("r", 3, at=9.0, http_status=529, number=1),
        ResponsePiece(
            "r",
            4,
            id="m1",
            at=10.0,
            calls=(
                CallPiece("t1", "grep", {"q": "x"}, line=4),
                CallPiece("0/1", "sh", '{"c":"ver', line=4),
            ),
            usage=Usage(output=3),
        ),
        ResultPiece("r", 4, "t1", "hit"),
        ResultPiece("r", 4, "0/1", status=CallStatus.ERROR, exit_code=2),
        ResponsePiece("r", 9, calls=(CallPiece("t1", "grep", line=9),), cost=Decimal("0.5")),
        BoundaryPiece("r", 12, BoundaryKind.INTERRUPT),
    ]


# -- sniffing -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("records", "confidence"),
    [
        ([{"loopaudit": 1}, {"anything": 1}], 1.0),
        ([{"type": "response", "calls": []}, {"type": "result", "call": "x"}], 0.9),
        ([{"type": "attempt", "http_status": 500}], 0.9),
        ([{"type": "result", "subtype": "success", "result": "", "session_id": "x"}], 0.0),
        ([{"type": "response", "message": {}}], 0.0),
        ([{"type": "response", "text": ""}, {"type": "message"}], 0.0),
        ([{"type": "response"}, 3], 0.0),
        ([{"type": []}], 0.0),
        ([], 0.0),
    ],
)
def test_sniff(records, confidence):
    assert FORMAT.sniff(Sample("x.jsonl", records)) == confidence
