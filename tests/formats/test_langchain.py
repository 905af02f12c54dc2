"""LangChain messages in their four dumps, and LangGraph states: history once, forks, compaction."""

import pytest
from api_files import feed, form

from loopaudit.formats.base import Sample
from loopaudit.formats.langchain_shapes import unwrap, usage_of
from loopaudit.model import (
    AttemptPiece,
    BoundaryKind,
    BoundaryPiece,
    CallStatus,
    ResponsePiece,
    ResultPiece,
    RunPiece,
)


def only(kind, pieces):
    return [piece for piece in pieces if isinstance(piece, kind)]


def ai(key, text="", calls=(), **more):
    calls = [{"name": n, "args": a, "id": i, "type": "tool_call"} for i, n, a in calls]
    body = {"type": "ai", "id": key, "content": text, "tool_calls": calls}
    return {**body, "additional_kwargs": {}, "response_metadata": {}, **more}


def human(text, key="h"):
    return {"type": "human", "id": key, "content": text, "additional_kwargs": {}}


def tool(key, text, status="success", number="t"):
    body = {"type": "tool", "id": f"{number}{key}", "content": text, "tool_call_id": key}
    return {**body, "status": status, "additional_kwargs": {}}


CONVERSATION = [human("go"), ai("a1", calls=[("c1", "f", {"x": 1})]), tool("c1", "no", "error")]
NAMES = {"human": "HumanMessage", "ai": "AIMessage", "tool": "ToolMessage"}
DUMPS = {
    "flat": CONVERSATION,
    "to_dict": [{"type": m["type"], "data": m} for m in CONVERSATION],
    "dumpd": [
        {"lc": 1, "type": "constructor", "id": ["langchain", NAMES[m["type"]]], "kwargs": m}
        for m in CONVERSATION
    ],
}


@pytest.mark.parametrize("dump", DUMPS)
@pytest.mark.parametrize("shape", ["array", "lines", "state"])
def test_each_dump_in_each_shape_is_the_same_conversation(dump, shape):
    messages = DUMPS[dump]
    records = {"array": [messages], "lines": messages, "state": [{"messages": messages}]}[shape]
    assert form("langchain_messages").sniff(Sample("x", records, shape == "array")) >= 0.9
    reader, pieces = feed("langchain_messages", records)
    assert [b.text for b in only(BoundaryPiece, pieces)] == ["go"]
    (answer,) = only(ResponsePiece, pieces)
    assert [(c.id, c.tool, c.args) for c in answer.calls] == [("c1", "f", {"x": 1})]
    assert [r.status for r in only(ResultPiece, pieces)] == [CallStatus.ERROR]
    assert reader.rejected == []


def test_states_that_a_graph_streams_count_each_message_once():
    second = [*CONVERSATION, ai("a2", "done")]
    values = [{"messages": CONVERSATION[:1]}, {"messages": CONVERSATION}, {"messages": second}]
    _, pieces = feed("langchain_messages", values)
    assert [a.id for a in only(ResponsePiece, pieces)] == ["a1", "a2"]
    assert len({p.run for p in pieces}) == 1
    updates = [
        {"agent": {"messages": CONVERSATION[1:2]}},
        {"tools": {"messages": CONVERSATION[2:]}, "__interrupt__": []},
    ]
    assert form("langchain_messages").sniff(Sample("x", updates)) >= 0.9
    reader, pieces = feed("langchain_messages", updates)
    assert [a.id for a in only(ResponsePiece, pieces)] == ["a1"]
    assert [r.call_id for r in only(ResultPiece, pieces)] == ["c1"]
    assert (reader.used, reader.rejected) == (2, [])


def test_conversations_that_begin_alike_are_two():
    other = [CONVERSATION[0], ai("b1", "another answer")]
    _, pieces = feed("langchain_messages", [CONVERSATION, other])
    assert len({p.run for p in pieces}) == 2


def test_usage_is_inclusive_whatever_the_provider_and_counts_once():
    value = {"input_tokens": 350, "output_tokens": 24, "total_tokens": 374}
    value["input_token_details"] = {"cache_read": 100, "cache_creation": 200}
    value["output_token_details"] = {"reasoning": 8}
    usage = usage_of(ai("a", usage_metadata=value))
    assert (usage.fresh_input, usage.cache_read, usage.cache_write) == (50, 100, 200)
    assert (usage.output, usage.reasoning) == (24, 8)
    copies = {"token_usage": {"prompt_tokens": 350, "completion_tokens": 24}}
    assert usage_of(ai("a", usage_metadata=value, response_metadata=copies)).total == 374
    # without it the provider's own: of Anthropic the three inputs lie beside each other
    beside = {"input_tokens": 50, "cache_read_input_tokens": 100, "output_tokens": 5}
    assert usage_of(ai("a", response_metadata={"usage": beside})).input == 150


def test_calls_that_could_not_be_parsed_are_calls():
    bad = {"name": "f", "args": "{'x': 1", "id": "c2", "error": "not JSON"}
    (answer,) = only(
        ResponsePiece, feed("langchain_messages", [[ai("a", invalid_tool_calls=[bad])]])[1]
    )
    assert [(c.id, c.args) for c in answer.calls] == [("c2", "{'x': 1")]


def test_older_messages_keep_the_providers_calls_beside():
    raw = {"id": "c3", "function": {"name": "g", "arguments": '{"y": 2}'}}
    message = ai("a", additional_kwargs={"tool_calls": [raw]})
    (answer,) = only(ResponsePiece, feed("langchain_messages", [[message]])[1])
    assert [(c.tool, c.args) for c in answer.calls] == [("g", {"y": 2})]


def test_a_failure_in_words_counts_where_the_status_is_the_default():
    _, pieces = feed("langchain_messages", [[human("x"), tool("c", "Error: ValueError('no')")]])
    assert only(ResultPiece, pieces)[0].status is CallStatus.ERROR


@pytest.mark.parametrize(
    "value", [None, [], {}, {"type": []}, {"type": "ai"}, {"type": "of mine", "content": 1}]
)
def test_what_is_no_message(value):
    assert unwrap(value) is None


# -- states of graphs -----------------------------------------------------------------------------


def state(number, messages, parent=None, space="", **more):
    def where(key):
        ids = {"thread_id": "thread-0001", "checkpoint_ns": space, "checkpoint_id": key}
        return {"configurable": ids}

    return {
        "values": {"messages": messages},
        "next": [],
        "config": where(f"{space}{number}"),
        "parent_config": where(f"{space}{parent}") if parent is not None else None,
        "metadata": {"step": 0},
        "created_at": f"2026-05-06T12:00:{number:02d}+00:00",
        **more,
    }


T0 = 1778068800.0  # 2026-05-06T12:00:00Z, by `date -d`
H, A1, R1 = human("go"), ai("a1", calls=[("c1", "f", {})]), tool("c1", "ok")


def graph(*states):
    return feed("langgraph", [list(states)])


def test_a_message_counts_once_at_the_time_of_its_first_checkpoint():
    _, pieces = graph(state(3, [H, A1, R1], 2), state(2, [H, A1], 1), state(1, [H]))
    told = [p for p in pieces if not isinstance(p, RunPiece)]
    assert [type(p) for p in told] == [BoundaryPiece, ResponsePiece, ResultPiece]
    assert [p.at - T0 for p in told] == [1, 2, 3]
    assert {p.run for p in told} == {"thread-0001"}


def test_a_parent_with_two_children_is_a_fork():
    other = ai("b1", "another way")
    _, pieces = graph(state(1, [H]), state(2, [H, A1], 1), state(9, [H, other], 1))
    runs = [p for p in only(RunPiece, pieces) if p.session]
    assert [(r.run, r.forked_from) for r in runs] == [
        ("thread-0001", None),
        ("thread-0001#2", "thread-0001"),
    ]
    assert [(a.run, a.id) for a in only(ResponsePiece, pieces)] == [
        ("thread-0001", "b1"),  # the branch that ends last
        ("thread-0001#2", "a1"),
    ]


def test_messages_that_vanish_were_summed_up():
    summary = human("so far: …", "s")
    _, pieces = graph(state(1, [H, A1]), state(2, [summary, ai("a2")], 1))
    kinds = [b.kind for b in only(BoundaryPiece, pieces)]
    assert kinds == [BoundaryKind.USER, BoundaryKind.COMPACTION, BoundaryKind.USER]
    assert [a.id for a in only(ResponsePiece, pieces)] == ["a1", "a2"]


def test_a_subgraph_is_a_run_of_its_own():
    _, pieces = graph(state(1, [H, A1]), state(2, [ai("s1")], space="researcher:77"))
    child = next(p for p in only(RunPiece, pieces) if p.parent)
    assert (child.run, child.parent, child.agent) == (
        "thread-0001/researcher:77",
        "thread-0001",
        "researcher",
    )


def test_a_task_that_failed_is_an_attempt():
    failed = [{"id": "x", "name": "model", "error": "RateLimitError('429')"}]
    _, pieces = graph(state(1, [H], tasks=failed))
    assert [a.message for a in only(AttemptPiece, pieces)] == ["RateLimitError('429')"]


def test_checkpoints_that_name_each_other_come_to_an_end():
    _, pieces = graph(state(1, [H], 2), state(2, [H, A1], 1))
    assert len(only(ResponsePiece, pieces)) == 1
