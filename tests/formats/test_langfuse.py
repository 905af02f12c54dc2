"""Langfuse: one trace written by hand, in each of its spellings, and its many countings."""

import json

import pytest
from api_files import feed, form
from span_logs import runs_of, told

from loopaudit.formats.base import Sample

ASK = {"role": "user", "content": "How deep?"}
TOOLS = [
    {"id": "call_1", "type": "function", "function": {"name": "depth", "arguments": '{"of":"lac"}'}}
]
CALL = {"role": "assistant", "content": "", "tool_calls": TOOLS}
RESULT = {"role": "tool", "tool_call_id": "call_1", "content": "Error: no such lake"}
TRACE = "lf-0000-lake"


def observation(own, parent, kind, name, begin, end, **more):
    row = {
        "id": own,
        "traceId": TRACE,
        "parentObservationId": parent,
        "type": kind,
        "name": name,
        "startTime": f"2026-09-21T14:13:{begin:02d}.000Z",
        "endTime": f"2026-09-21T14:13:{end:02d}.000Z",
        "level": "DEFAULT",
        "statusMessage": None,
        "usageDetails": {},
        "costDetails": {},
        "metadata": "{}",
        **more,
    }
    for key in ("input", "output"):
        if key in row and not isinstance(row[key], str):
            row[key] = json.dumps(row[key])
    return row


def observations():
    return [
        observation(
            "o4",
            "o1",
            "GENERATION",
            "chat",
            5,
            6,
            input=[ASK, CALL, RESULT],
            model="gpt-4o-mini",
            output={"role": "assistant", "content": "None."},
            usageDetails={
                "input": 96,
                "input_cache_read": 64,
                "output": 6,
                "output_reasoning": 2,
                "total": 168,
            },
            costDetails={"total": 0.25},
        ),
        observation(
            "o3",
            "o1",
            "TOOL",
            "depth",
            3,
            4,
            input={"of": "lac"},
            level="ERROR",
            statusMessage="no such lake",
        ),
        observation("o1", None, "AGENT", "diver", 0, 9, totalCost=0.75),
        observation(
            "o2",
            "o1",
            "GENERATION",
            "chat",
            1,
            2,
            input=[ASK],
            output=CALL,
            model="gpt-4o-mini",
            usageDetails={"input": 100, "output": 20, "total": 120},
            costDetails={"total": 0.5},
        ),
    ]


ABOUT = {
    "id": TRACE,
    "timestamp": "2026-09-21T14:13:00.000Z",
    "sessionId": "desk-9",
    "userId": "u1",
    "input": json.dumps(json.dumps("How deep?")),
    "bookmarked": False,
    "public": False,
    "scores": [
        {"name": "toxicity", "value": 1, "dataType": "NUMERIC"},
        {"name": "is_correct", "value": 0, "dataType": "BOOLEAN"},
    ],
}
WHOLE = {"trace": ABOUT, "observations": observations()}
EXPECTED = [((100, 20), [("depth", '{"of":"lac"}', "error")]), ((160, 8), [])]


def test_a_trace_of_the_interface():
    reader, (run,) = runs_of([WHOLE], "langfuse")
    assert told(run) == EXPECTED
    last = run.steps[1].usage
    assert (last.fresh_input, last.cache_read, last.output, last.reasoning) == (96, 64, 8, 2)
    assert [str(step.cost) for step in run.steps] == ["0.5", "0.25"]
    assert (run.id, run.session, run.user, run.agent) == (TRACE, "desk-9", "u1", "diver")
    assert (run.outcome, run.outcome_source) == ("failure", "is_correct")
    assert run.prompt == "How deep?"
    assert reader.used == 4


def snake(row):
    import re

    return {
        re.sub(r"(?<=[a-z])([A-Z])", lambda m: "_" + m[1].lower(), k): v for k, v in row.items()
    }


def exported(row):
    """A row of a blob export: snake case, times with a space."""
    row = snake(row)
    for key in ("start_time", "end_time"):
        row[key] = row[key].replace("T", " ").replace("Z", "")
    return row


def batched():
    about = {k: v for k, v in ABOUT.items() if k != "scores"}
    kinds = {"GENERATION": "generation-create", "TOOL": "tool-create", "AGENT": "agent-create"}
    events = [{"id": "e0", "type": "trace-create", "body": about}]
    for row in observations():
        body = {k: v for k, v in row.items() if k != "type"}
        events.append({"id": "e", "type": kinds[row["type"]], "body": body})
    return {"batch": events}


SPELLINGS = {
    "trace with observations": [{**ABOUT, "observations": observations()}],
    "rows": observations(),
    "a list of rows": [observations()],
    "blob export": [exported(row) for row in observations()],
    "page": [{"data": observations()}],
    "batch": [batched()],
    "inputs as values": [
        {**row, **{k: json.loads(row[k]) for k in ("input", "output") if k in row}}
        for row in observations()
    ],
}


@pytest.mark.parametrize("name", SPELLINGS)
def test_every_spelling_tells_the_same(name):
    records = SPELLINGS[name]
    reader, (run,) = runs_of(records, "langfuse")
    assert (told(run), run.id) == (EXPECTED, TRACE)
    assert reader.rejected == []
    names = ("langfuse", "otel", "openai_chat", "langsmith", "http_log")
    scores = {n: form(n).sniff(Sample("x", records, len(records) == 1)) for n in names}
    assert scores["langfuse"] >= 0.9
    assert sorted(scores.values())[-2] < 0.5, scores


@pytest.mark.parametrize(
    ("details", "expected"),
    [
        # its SDK splits the parts off; without a total the names tell it
        (
            {"input": 36, "input_cache_read": 64, "output": 16, "output_reasoning": 4},
            (36, 64, 20, 4),
        ),
        # an exporter of OpenInference leaves them inside
        (
            {"input": 100, "prompt_details.cache_read": 64, "output": 20, "total": 120},
            (36, 64, 20, None),
        ),
        # Anthropic's names
        ({"input": 3, "cache_read_input_tokens": 97, "output": 20}, (3, 97, 20, None)),
        ({"input": 100, "input_cache_read": 0, "output": 20, "total": 120}, (100, 0, 20, None)),
        ({"total": 120}, (120, None, None, None)),
    ],
)
def test_what_input_counts_is_told_by_names_and_total(details, expected):
    row = observation("o1", None, "GENERATION", "chat", 1, 2, usageDetails=details)
    _, (run,) = runs_of([{"trace": {"id": TRACE}, "observations": [row]}], "langfuse")
    found = run.steps[0].usage
    assert (found.fresh_input, found.cache_read, found.output, found.reasoning) == expected


def test_input_tokens_counted_by_langfuse_alone_leave_the_output_unknown():
    row = observation(
        "o1", None, "GENERATION", "chat", 1, 2, usageDetails={"input": 50, "total": 50}
    )
    _, (run,) = runs_of([row], "langfuse")
    assert (run.steps[0].usage.fresh_input, run.steps[0].usage.output) == (50, None)


def test_of_nested_generations_the_innermost_counts():
    rows = [
        observation(
            "o1",
            None,
            "GENERATION",
            "agent.invoke",
            0,
            3,
            output=CALL,
            usageDetails={"input": 900, "output": 90},
        ),
        observation(
            "o2",
            "o1",
            "GENERATION",
            "chat",
            1,
            2,
            output=None,
            usageDetails={"input": 100, "output": 20},
        ),
    ]
    _, (run,) = runs_of(rows, "langfuse")
    assert told(run) == [((100, 20), [("depth", '{"of":"lac"}', "unanswered")])]


def test_a_plain_span_with_a_tool_message_is_a_tool():
    """LangGraph, of Python and of JavaScript."""
    plain = {"type": "tool", "content": "40 m", "tool_call_id": "call_1", "status": "success"}
    wrapped = {
        "lc": 1,
        "type": "constructor",
        "id": ["ToolMessage"],
        "kwargs": {"content": "sunk", "tool_call_id": "call_2", "status": "error"},
    }
    two = {**CALL, "tool_calls": [*TOOLS, {**TOOLS[0], "id": "call_2"}]}
    rows = [
        observation("o1", "x", "GENERATION", "chat", 1, 2, input=[ASK], output=two),
        observation("o2", "x", "SPAN", "depth", 3, 4, input="{'of': 'lac'}", output=plain),
        observation("o3", "x", "SPAN", "depth", 3, 4, input={"of": "lac"}, output=wrapped),
        observation("o4", "x", "SPAN", "ChannelWrite", 3, 4, level="DEBUG"),
    ]
    reader, (run,) = runs_of(rows, "langfuse")
    assert [(c.id, c.status.value, c.size) for c in run.calls] == [
        ("call_1", "ok", 4),
        ("call_2", "error", 4),
    ]
    assert dict(reader.ignored) == {"plain span": 1}


def test_calls_listed_beside_an_output_that_is_text():
    listed = [json.dumps({"id": "call_1", "name": "depth", "arguments": '{"of":"lac"}'})]
    row = observation(
        "o1", None, "GENERATION", "chat", 1, 2, output="let me look", toolCalls=listed
    )
    _, (run,) = runs_of([row], "langfuse")
    assert [(c.tool, c.args) for c in run.calls] == [("depth", '{"of":"lac"}')]


def test_phases_that_are_spans_of_their_own_are_one_operation():
    """BeeAI: a start holds the arguments, a success the result; the end times are the trace's."""

    def fields(**attributes):
        return json.dumps({"attributes": {"target": "x", **attributes}})

    kind = "openinference.span.kind"
    rows = [
        observation(
            "o1",
            "x",
            "GENERATION",
            "backend.openai.chat.start-4",
            1,
            9,
            input=[ASK],
            metadata=fields(),
        ),
        observation(
            "o2",
            "y",
            "GENERATION",
            "backend.openai.chat.success-4",
            2,
            9,
            output="40 m",
            metadata=fields(),
        ),
        observation(
            "o3",
            "y",
            "SPAN",
            "tool.depth.start-1",
            3,
            9,
            metadata=fields(
                **{kind: "TOOL", "tool.parameters": '{"of":"lac"}', "tool.name": "depth"}
            ),
        ),
        observation(
            "o4",
            "y",
            "SPAN",
            "tool.depth.success-1",
            4,
            9,
            output="40 m",
            metadata=fields(**{kind: "TOOL"}),
        ),
    ]
    _, (run,) = runs_of(rows, "langfuse")
    assert [(step.text_size, step.ended and step.ended - step.at) for step in run.steps] == [(4, 3)]
    assert [(c.tool, c.args, c.size, c.ended - c.started) for c in run.calls] == [
        ("depth", '{"of":"lac"}', 4, 1)
    ]


def test_normalised_messages_of_the_oracle():
    """By observation: no order, no times; answers told twice count once."""

    def side(*messages):
        return {"success": True, "data": list(messages)}

    failed = {"success": False, "error": {"name": "ZodError"}}
    record = {
        "b": {
            "input": side(ASK, CALL, RESULT),
            "output": side({"role": "assistant", "content": "None."}),
        },
        "a": {"input": side(ASK), "output": side(CALL)},
        "outer": {"input": failed, "output": side(CALL)},
        "tool": {"input": failed, "output": failed},
        "state": {"input": failed, "output": side(ASK, CALL)},
    }
    reader, (run,) = runs_of([record], "langfuse")
    assert told(run) == [(None, [("depth", '{"of":"lac"}', "error")]), (None, [])]
    assert reader.missing == {"usage", "times"}
    assert sum(reader.ignored.values()) == 3
    assert form("langfuse").sniff(Sample("x", [record], True)) >= 0.9


def test_what_is_no_observation_is_rejected():
    reader, pieces = feed("langfuse", [{"a": 1}, 7])
    assert pieces == []
    assert [where for where, _ in reader.rejected] == [1, 2]
