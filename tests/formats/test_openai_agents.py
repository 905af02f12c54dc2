"""OpenAI Agents SDK: each trap of the format with a twin that must not be caught."""

import copy
import random
from dataclasses import replace

import pytest
from api_files import feed, form
from api_samples import AGENTS

from loopaudit.formats.base import Sample
from loopaudit.model import (
    BoundaryPiece,
    CallStatus,
    ResponsePiece,
    ResultPiece,
    RunPiece,
    Usage,
)


def read(*records):
    return feed("openai_agents", records)


def of(kind, pieces):
    return [piece for piece in pieces if isinstance(piece, kind)]


def span(key, kind, parent="span_turn", error=None, trace="trace_0123456789", **data):
    return {
        "object": "trace.span",
        "id": key,
        "trace_id": trace,
        "parent_id": parent,
        "started_at": "2026-01-01T00:00:01+00:00",
        "ended_at": "2026-01-01T00:00:03+00:00",
        "span_data": {"type": kind, **data},
        "error": error,
    }


USAGE = {"input_tokens": 100, "output_tokens": 20, "input_tokens_details": {"cached_tokens": 60}}
TURN = {"sdk_span_type": "turn", "usage": {"input_tokens": 100, "output_tokens": 20}}


def test_one_trace_is_one_run_with_times():
    _, pieces = read(*AGENTS)
    assert pieces[0] == RunPiece("trace_0123456789", 1, agent="lakes")
    first = of(ResponsePiece, pieces)[0]
    assert (first.id, first.at, first.ended) == ("span_1", 1767225601.0, 1767225601.5)
    assert first.usage == Usage(fresh_input=100, output=20)
    result = of(ResultPiece, pieces)[0]
    assert (result.call_id, result.at, result.duration) == ("c1", 1767225602.5, 0.5)
    assert result.status is CallStatus.ERROR


def test_sums_of_turns_and_tasks_are_not_counted_again():
    turn = span("span_turn", "custom", parent="span_task", name="turn", data=TURN)
    task = span("span_task", "custom", parent=None, name="task", data=TURN)
    reader, pieces = read(*AGENTS[:2], turn, task)
    assert [p.usage.total for p in of(ResponsePiece, pieces)] == [120]
    assert reader.ignored == {"custom span": 2}


def test_the_sum_of_a_turn_counts_where_its_leaf_has_no_usage():
    leaf = span("span_1", "response", response_id="resp_1")
    turn = span("span_turn", "custom", parent="span_task", name="turn", data=TURN)
    task = span("span_task", "custom", parent=None, name="task", data=TURN)
    _, pieces = read(leaf, turn, task)
    assert [(p.id, p.usage and p.usage.total) for p in pieces] == [
        ("resp_1", None),
        ("resp_1", 120),
    ]
    # twin: with usage on the leaf the turn adds nothing
    leaf["span_data"]["usage"] = USAGE
    _, pieces = read(leaf, turn, task)
    assert [p.usage for p in pieces] == [Usage(fresh_input=40, cache_read=60, output=20)]


def test_response_spans_do_not_tell_calls_so_function_spans_are_the_calls():
    _, pieces = read(
        span("span_1", "response", response_id="resp_1", usage=USAGE),
        span("span_2", "function", name="f", input='{"a": 1}', output="x"),
        span("span_3", "function", name="f", input='{"a": 2}', output="y"),
    )
    calls = [(p.id, c.id, c.args) for p in of(ResponsePiece, pieces) for c in p.calls]
    assert calls == [("resp_1", "span_2", {"a": 1}), ("resp_1", "span_3", {"a": 2})]
    assert [p.call_id for p in of(ResultPiece, pieces)] == ["span_2", "span_3"]


def test_parallel_results_are_paired_by_arguments():
    messages = copy.deepcopy(AGENTS[1])
    calls = [
        {"id": f"c{i}", "type": "function", "function": {"name": "f", "arguments": f'{{"a":{i}}}'}}
        for i in (1, 2)
    ]
    messages["span_data"]["output"] = [{"role": "assistant", "content": None, "tool_calls": calls}]
    _, pieces = read(
        messages,
        span("span_8", "function", name="f", input='{"a": 2}', output="second"),
        span("span_9", "function", name="f", input='{"a": 1}', output="first"),
    )
    found = [(p.call_id, p.text) for p in of(ResultPiece, pieces)]
    assert found == [("c2", "second"), ("c1", "first")]


def test_a_result_without_a_function_span_is_found_in_the_next_history():
    _, pieces = read(AGENTS[1], AGENTS[3])  # no function span between
    assert [(p.call_id, p.text) for p in of(ResultPiece, pieces)] == [("c1", "Error: no such lake")]
    _, pieces = read(*AGENTS[1:4])  # with it, the history tells nothing new
    assert len(of(ResultPiece, pieces)) == 1
    assert len(of(BoundaryPiece, pieces)) == 1


@pytest.mark.parametrize("seed", range(5))
def test_the_order_in_the_file_does_not_matter(seed):
    _, right = read(*AGENTS)
    mixed = AGENTS[1:]
    random.Random(seed).shuffle(mixed)
    _, pieces = read(AGENTS[0], *mixed)
    assert [replace(p, line=0) for p in pieces] == [replace(p, line=0) for p in right]


def test_a_turn_that_ends_with_its_leaf_comes_after_it():
    leaf = span("span_1", "response", response_id="resp_1")
    turn = span("span_turn", "custom", parent="span_task", name="turn", data=TURN)
    turn["started_at"] = "2026-01-01T00:00:00+00:00"
    _, pieces = read(turn, leaf)
    assert [(p.id, p.usage and p.usage.total) for p in pieces] == [
        ("resp_1", None),
        ("resp_1", 120),
    ]


def test_content_switched_off():
    bare = copy.deepcopy(AGENTS[1])
    bare["span_data"]["input"] = bare["span_data"]["output"] = None
    _, pieces = read(bare, span("span_2", "function", name="f", input=None, output=None))
    calls = [c for p in of(ResponsePiece, pieces) for c in p.calls]
    assert [(c.tool, c.args) for c in calls] == [("f", None)]
    assert [p.text for p in of(ResultPiece, pieces)] == [None]


def test_traces_in_one_file_are_runs_of_their_own():
    other = [{**r, **{k: "trace_other" for k in ("trace_id",) if k in r}} for r in AGENTS[1:]]
    _, pieces = read(*[record for pair in zip(AGENTS[1:], other, strict=True) for record in pair])
    assert sorted({p.run for p in pieces}) == ["trace_0123456789", "trace_other"]
    for run in ("trace_0123456789", "trace_other"):
        mine = [p for p in pieces if p.run == run]
        assert [len(of(kind, mine)) for kind in (ResponsePiece, ResultPiece)] == [3, 2]


def test_other_spans_are_ignored_by_name():
    kinds = ("agent", "handoff", "guardrail", "mcp_tools")
    reader, pieces = read(*[span(f"s{k}", k) for k in kinds], span("x", "custom", name="mine"))
    assert pieces == []
    assert reader.ignored == {f"{k} span": 1 for k in (*kinds, "custom")}


def test_raw_responses_lack_results():
    item = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}
    raw = {"usage": USAGE, "output": [item], "response_id": None}
    reader, pieces = read([raw, raw])
    assert [p.usage.total for p in pieces] == [120, 120]
    assert [p.id for p in pieces] == [None, None]
    assert reader.missing == {"results", "times"}


def test_sniff():
    sniff = form("openai_agents").sniff
    assert sniff(Sample("x", AGENTS)) == 0.98
    assert sniff(Sample("x", [[{"usage": {}, "output": [], "response_id": None}]], True)) == 0.95
    assert sniff(Sample("x", [*AGENTS, {"object": "response"}])) == 0
    assert sniff(Sample("x", [{"object": []}])) == 0
