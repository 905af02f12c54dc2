"""Inspect AI logs: samples as runs, events over messages, usage in its three readings."""

import copy

import pytest
from api_files import feed, form

from loopaudit.formats.base import Sample
from loopaudit.formats.evals.inspect_values import inspect_usage
from loopaudit.model import (
    AttemptPiece,
    BoundaryKind,
    BoundaryPiece,
    CallStatus,
    ResponsePiece,
    ResultPiece,
    RunPiece,
)


def at(second):
    return f"2026-05-04T10:00:{second:02d}+00:00"


T0 = 1777888800.0  # 2026-05-04T10:00:00Z, by `date -d`


def model(key, second, calls=(), span="ag", **more):
    message = {"id": f"m-{key}", "role": "assistant", "content": f"text {key}"}
    message["tool_calls"] = [{"id": i, "function": f, "arguments": a} for i, f, a in calls]
    output = {"model": "m-1", "choices": [{"message": message, "stop_reason": "stop"}]}
    output["usage"] = {"input_tokens": 100, "output_tokens": 10, "total_tokens": 110}
    event = {"event": "model", "uuid": key, "span_id": span, "timestamp": at(second)}
    return {**event, "model": "provider/m-1", "input": [], "output": output, **more}


def tool(key, second, span="ag", **more):
    event = {"event": "tool", "id": key, "function": "sql", "span_id": span, "result": "1"}
    return {**event, "timestamp": at(second), "completed": at(second + 1), **more}


def span(key, parent=None, kind="agent", name="react"):
    return {"event": "span_begin", "id": key, "parent_id": parent, "type": kind, "name": name}


def log(*events, **sample):
    body = {"id": "a", "epoch": 2, "uuid": "sample-0001", "events": list(events), **sample}
    told = {"run_id": "batch", "task": "sums", "model": "provider/m-1"}
    told["packages"] = {"inspect_ai": "0.3.285"}
    plan = {"steps": [{"solver": "react"}]}
    return {"version": 2, "status": "success", "eval": told, "plan": plan, "samples": [body]}


def read(*records):
    return feed("inspect", list(records))


def only(kind, pieces):
    return [piece for piece in pieces if isinstance(piece, kind)]


def test_a_sample_is_a_run_with_its_score_and_task():
    events = [span("ag"), model("e1", 1, [("c1", "sql", {"q": 1})]), tool("c1", 3), model("e2", 5)]
    reader, pieces = read(log(*events, scores={"match": {"value": "C"}}, started_at=at(0)))
    (run,) = only(RunPiece, pieces)
    assert (run.run, run.session, run.task_type, run.agent) == (
        "sample-0001",
        "batch",
        "sums",
        "react",
    )
    assert (run.outcome, run.outcome_source) == ("success", "score match")
    assert (run.version, run.model, run.at) == ("0.3.285", "provider/m-1", T0)
    first, second = only(ResponsePiece, pieces)
    assert (first.id, first.at, first.model, first.text) == ("e1", T0 + 1, "m-1", "text e1")
    assert [(c.id, c.tool, c.args) for c in first.calls] == [("c1", "sql", {"q": 1})]
    assert (first.usage.fresh_input, first.usage.output) == (100, 10)
    assert second.calls == ()
    (result,) = only(ResultPiece, pieces)
    assert (result.call_id, result.text, result.at, result.duration) == ("c1", "1", T0 + 4, 1.0)
    assert (reader.used, reader.rejected) == (1, [])


@pytest.mark.parametrize(
    ("error", "status"),
    [
        ({"type": "timeout", "message": "took too long"}, CallStatus.ERROR),
        ({"type": "approval", "message": "not allowed"}, CallStatus.REJECTED),
        ({"type": "cancelled", "message": "stopped"}, CallStatus.INTERRUPTED),
        ({"type": "of the future", "message": "broke"}, CallStatus.ERROR),
    ],
)
def test_errors_of_tools_are_told_by_their_type(error, status):
    events = model("e1", 1, [("c1", "sql", {})]), tool("c1", 2, result="", error=error)
    (result,) = only(ResultPiece, read(log(*events))[1])
    assert (result.status, result.text, result.code) == (status, error["message"], error["type"])


@pytest.mark.parametrize(
    ("words", "status"),
    [
        ("bash: line 1: foo: command not found", CallStatus.ERROR),  # nothing was raised
        ("Error: none", CallStatus.OK),
        ("The log holds the word Error: once.", CallStatus.OK),
    ],
)
def test_a_command_that_failed_is_told_by_its_words_alone(words, status):
    events = model("e1", 1, [("c1", "bash", {})]), tool("c1", 2, result=words)
    assert only(ResultPiece, read(log(*events))[1])[0].status is status


@pytest.mark.parametrize(
    ("usage", "context", "fresh", "read", "output"),
    [
        # the input without what was cached: totals add up only with it
        (
            {
                "input_tokens": 60,
                "output_tokens": 10,
                "total_tokens": 110,
                "input_tokens_cache_read": 40,
            },
            None,
            60,
            40,
            10,
        ),
        # the provider's own input: the total is input and output alone
        (
            {
                "input_tokens": 100,
                "output_tokens": 10,
                "total_tokens": 110,
                "input_tokens_cache_read": 40,
            },
            None,
            60,
            40,
            10,
        ),
        # the same numbers, where the log tells that 140 were sent
        (
            {
                "input_tokens": 100,
                "output_tokens": 10,
                "total_tokens": 110,
                "input_tokens_cache_read": 40,
            },
            140,
            100,
            40,
            10,
        ),
        # thoughts beside the output
        (
            {"input_tokens": 91, "output_tokens": 16, "total_tokens": 155, "reasoning_tokens": 48},
            None,
            91,
            None,
            64,
        ),
        # thoughts inside the output
        (
            {"input_tokens": 91, "output_tokens": 64, "total_tokens": 155, "reasoning_tokens": 48},
            None,
            91,
            None,
            64,
        ),
        # more cached than sent: beside it, whatever the total
        (
            {
                "input_tokens": 5,
                "output_tokens": 1,
                "total_tokens": 6,
                "input_tokens_cache_read": 40,
            },
            None,
            5,
            40,
            1,
        ),
    ],
)
def test_usage_in_each_of_its_readings(usage, context, fresh, read, output):
    found = inspect_usage(usage, context)
    assert (found.fresh_input, found.cache_read, found.output) == (fresh, read, output)


def test_what_scorers_ask_is_left_out_and_told():
    events = [span("ag"), model("e1", 1), span("s", None, "scorers"), span("x", "s", "scorer")]
    reader, pieces = read(log(*events, model("g", 9, span="x")))
    assert [p.id for p in only(ResponsePiece, pieces)] == ["e1"]
    assert reader.ignored == {"model event of a scorer": 1}
    graded = read(log(model("g", 9, role="grader")))[1]
    assert only(ResponsePiece, graded) == []
    begin = {"event": "step", "type": "scorer", "action": "begin", "name": "judge"}
    old = [begin, model("g", 2, span=None), {**begin, "action": "end"}, model("e", 3, span=None)]
    reader, pieces = read(log(*old))
    assert [p.id for p in only(ResponsePiece, pieces)] == ["e"]


def test_an_agent_within_an_agent_is_a_run_of_its_own():
    events = [
        span("ag"),
        model("e1", 1, [("c1", "research", {"q": "tides"})]),
        span("t", "ag", "tool", "research"),
        span("sub", "t", "agent", "researcher"),
        model("s1", 2, [("c1", "sql", {})], span="sub"),
        tool("c1", 3, span="sub", result="inner"),  # the id of the outer call comes again
        tool("c1", 5, span="ag", agent_span_id="sub", result="outer"),
    ]
    _, pieces = read(log(*events))
    child = only(RunPiece, pieces)[1]
    assert (child.run, child.parent) == ("sample-0001/sub", "sample-0001")
    assert (child.parent_call, child.agent) == ("c1", "researcher")
    assert [(p.run, p.id) for p in only(ResponsePiece, pieces)] == [
        ("sample-0001", "e1"),
        ("sample-0001/sub", "s1"),
    ]
    assert [(p.run, p.text) for p in only(ResultPiece, pieces)] == [
        ("sample-0001/sub", "inner"),
        ("sample-0001", "outer"),
    ]


def test_older_logs_hold_the_events_of_an_agent_inside_its_call():
    inner = [model("s1", 2, span=None)]
    events = [model("e1", 1, [("c1", "ask", {})]), tool("c1", 4, events=inner, agent="helper")]
    _, pieces = read(log(*events))
    child = only(RunPiece, pieces)[1]
    assert (child.parent, child.parent_call, child.agent) == ("sample-0001", "c1", "helper")
    assert [p.run for p in only(ResponsePiece, pieces)] == ["sample-0001", child.run]


def test_subtasks_of_older_logs_are_runs_of_their_own():
    inner = [model("s1", 2, span=None)]
    part = {"event": "subtask", "name": "summary", "timestamp": at(2), "events": inner}
    _, pieces = read(log(model("e1", 1, span=None), part))
    child = only(RunPiece, pieces)[1]
    assert (child.run, child.parent) == ("sample-0001/summary#1", "sample-0001")
    assert [p.run for p in only(ResponsePiece, pieces)] == ["sample-0001", child.run]


def test_an_end_that_stands_before_its_call_waits_for_it():
    events = [tool("c1", 3, result="x"), model("e1", 1, [("c1", "sql", {})])]
    _, pieces = read(log(*events))
    assert [len(p.calls) for p in only(ResponsePiece, pieces)] == [1]
    assert [p.call_id for p in only(ResultPiece, pieces)] == ["c1"]


def test_a_call_that_no_model_made_belongs_to_the_response_before():
    _, pieces = read(log(model("e1", 1), tool("h1", 3, arguments={"q": 2})))
    made = [p for p in only(ResponsePiece, pieces) if p.calls]
    assert [(p.id, p.calls[0].id, p.calls[0].args, p.usage) for p in made] == [
        ("e1", "h1", {"q": 2}, None)
    ]


def test_history_that_is_sent_again_counts_once():
    user = {"id": "u", "role": "user", "content": "go", "source": "input"}
    nudge = {"id": "n", "role": "user", "content": "Please go on."}
    answer = {"id": "m-e1", "role": "assistant", "content": "", "tool_calls": []}
    done = {"id": "t", "role": "tool", "tool_call_id": "c1", "content": "42"}
    events = [
        model("e1", 1, [("c1", "sql", {})], input_refs=[[0, 1]]),
        model("e2", 3, input_refs=[[0, 4]]),  # no tool event: the result stands here alone
        model("e3", 5, input_refs=[0, 1, 2, 3]),
    ]
    pool = {"messages": [user, answer, done, nudge]}
    _, pieces = read(log(*events, events_data=pool))
    assert [(p.kind, p.text) for p in only(BoundaryPiece, pieces)] == [
        (BoundaryKind.USER, "go"),
        (BoundaryKind.REMINDER, "Please go on."),
    ]
    assert [(p.call_id, p.text) for p in only(ResultPiece, pieces)] == [("c1", "42")]


def test_attachments_stand_where_they_are_referred_to():
    long = "attachment://ab12"
    events = [model("e1", 1, [("c1", "sql", {"q": long})]), tool("c1", 2, result=long)]
    _, pieces = read(log(*events, attachments={"ab12": "the whole text"}))
    assert only(ResponsePiece, pieces)[0].calls[0].args == {"q": "the whole text"}
    assert only(ResultPiece, pieces)[0].text == "the whole text"


def test_retries_errors_and_limits():
    failed = model("e2", 3, error="429 rate limit exceeded")
    failed["output"] = {"choices": []}
    stop = {"event": "sample_limit", "type": "token", "message": "Token limit", "timestamp": at(9)}
    _, pieces = read(log(model("e1", 1, retries=2), failed, stop, limit={"type": "token"}))
    tries = only(AttemptPiece, pieces)
    assert [(p.number, p.gave_up) for p in tries] == [(1, False), (2, False), (None, True)]
    assert tries[-1].message == "429 rate limit exceeded"
    assert len(only(ResponsePiece, pieces)) == 1
    ends = [p for p in only(BoundaryPiece, pieces) if p.kind is BoundaryKind.LIMIT]
    assert [(p.text, p.at) for p in ends] == [("Token limit", T0 + 9)]
    assert only(RunPiece, pieces)[0].outcome == "token limit"


def test_answers_from_the_cache_cost_nothing():
    _, pieces = read(log(model("e1", 1, cache="read")))
    usage = only(ResponsePiece, pieces)[0].usage
    assert (usage.total, usage.note) == (0, "from Inspect's cache")


def test_a_sample_without_events_is_read_from_its_messages():
    body = {
        "messages": [
            {"role": "user", "content": "go", "source": "input"},
            {
                "id": "a",
                "role": "assistant",
                "content": "",
                "tool_calls": [{"id": "c", "function": "f", "arguments": {}}],
            },
            {
                "role": "tool",
                "tool_call_id": "c",
                "content": "x",
                "error": {"type": "unknown", "message": "no"},
            },
            {"id": "b", "role": "assistant", "content": "done"},
        ]
    }
    totals = {"p/m": {"input_tokens": 101, "output_tokens": 9, "total_tokens": 110}}
    _, pieces = read(log(**body, model_usage=totals))
    answers = only(ResponsePiece, pieces)
    assert [(p.usage.fresh_input, p.usage.output) for p in answers] == [(51, 5), (50, 4)]
    assert {p.usage.mark.value for p in answers} == {"estimated"}
    assert only(ResultPiece, pieces)[0].text == "no"


@pytest.mark.parametrize(
    ("sample", "outcome"),
    [
        ({"scores": {"a": {"value": {"x": "unclear", "y": 0.25}}}}, ("partial", "score a 0.25")),
        ({"scores": {"a": {"value": "unclear"}, "b": {"value": "I"}}}, ("failure", "score b")),
        ({"score": {"value": True}}, ("success", "score score")),
        ({"error": {"message": "boom"}}, ("error", "sample error")),
        ({}, (None, None)),
    ],
)
def test_outcomes(sample, outcome):
    run = only(RunPiece, read(log(**sample))[1])[0]
    assert (run.outcome, run.outcome_source) == outcome


def test_an_archive_is_its_header_and_samples():
    document = log(model("e1", 1))
    samples = document.pop("samples")
    lines = [
        {"member": "header.json", "value": document},
        {"member": "_journal/start.json"},
        {"member": "samples/a_epoch_2.json", "value": samples[0]},
        {"member": "samples/b_epoch_2.json", "lost": "damaged (bad CRC)"},
        {"member": "summaries.json"},
    ]
    reader, pieces = read(*lines)
    assert form("inspect").sniff(Sample("x.eval", lines)) == 0.99
    assert only(RunPiece, pieces)[0].task_type == "sums"
    assert reader.ignored == {"journal": 1, "summary": 1}
    assert reader.rejected == [(4, "samples/b_epoch_2.json: 'damaged (bad CRC)'")]


HOSTILE = [None, True, -1, 1e999, "x", [], {}, [[]], {"a": {}}, 10**40]


@pytest.mark.parametrize("value", HOSTILE, ids=repr)
def test_wrong_types_anywhere_do_not_raise(value):
    whole = log(
        span("ag"),
        model("e1", 1, [("c1", "sql", {})], input_refs=[[0, 1]], retries=1),
        tool("c1", 2, events=[model("x", 2)]),
        {"event": "sample_limit", "type": "token"},
        scores={"m": {"value": 1}},
        error_retries=[{"message": "x"}],
        events_data={"messages": [{"role": "user", "content": "go"}]},
        attachments={"a": "b"},
        model_usage={"m": {}},
    )

    def paths(node, path=()):
        yield path
        items = (
            node.items()
            if isinstance(node, dict)
            else enumerate(node)
            if isinstance(node, list)
            else ()
        )
        for key, item in items:
            yield from paths(item, (*path, key))

    for path in list(paths(whole)):
        damaged = copy.deepcopy(whole)
        if path:
            node = damaged
            for key in path[:-1]:
                node = node[key]
            node[path[-1]] = value
        else:
            damaged = value
        reader = form("inspect").reader("x.json")
        list(reader.feed(1, damaged))
        list(reader.end())


def test_agents_nested_without_end_are_cut():
    event = tool("c", 1)
    for _ in range(3000):
        event = tool("c", 1, events=[event])
    reader, pieces = read(log(event))
    assert len(only(RunPiece, pieces)) == 21
    assert reader.ignored == {"events nested too deep": 1}
