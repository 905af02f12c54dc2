"""LangSmith: one run of an agent, written by hand in each of its spellings."""

import copy
import json

import pytest
from api_files import feed, form
from span_logs import runs_of, told

from loopaudit.formats.base import Sample

ROOT = "0199b000-0000-7000-8000-000000000001"


def key(number):
    return ROOT[:-1] + str(number)


def message(kind, **fields):
    return {"lc": 1, "type": "constructor", "id": ["langchain", "schema", kind], "kwargs": fields}


HUMAN = message("HumanMessage", content="How deep?", type="human")


def ai(content, call, sent, said, read):
    return message(
        "AIMessage",
        content=content,
        type="ai",
        tool_calls=[] if call is None else [{"name": "depth", "args": call[1], "id": call[0]}],
        usage_metadata={
            "input_tokens": sent,
            "output_tokens": said,
            "total_tokens": sent + said,
            "input_token_details": {"cache_read": read},
            "output_token_details": {"reasoning": 2},
        },
        response_metadata={"model_name": "gpt-4o-mini-2024-07-18", "finish_reason": "stop"},
    )


FIRST = ai("", ("call_1", {"of": "lac"}), 100, 20, 0)
RESULT = message("ToolMessage", content="Error: no such lake", tool_call_id="call_1", type="tool")
LAST = ai("None.", None, 160, 8, 64)


def generation(said):
    return {"generations": [[{"text": "", "message": said}]]}


def run(number, parent, kind, name, begin, end, inputs, outputs, **more):
    path = [f"20260921T1413{n:02d}000000Z{key(n)}" for n in dict.fromkeys((1, number))]
    return {
        "id": key(number),
        "trace_id": ROOT,
        "parent_run_id": parent,
        "dotted_order": ".".join(path),
        "name": name,
        "run_type": kind,
        "start_time": f"2026-09-21T14:13:{begin:02d}.000000",
        "end_time": f"2026-09-21T14:13:{end:02d}.000000",
        "inputs": inputs,
        "outputs": outputs,
        "extra": {"metadata": {"thread_id": "desk-9", "ls_model_name": "gpt-4o-mini"}},
        **more,
    }


def runs():
    tool = {"metadata": {"thread_id": "desk-9"}, "tool_call_id": "call_1"}
    error = "ValueError('no such lake')Traceback (most recent call last):\n  File …"
    sums = {"prompt_tokens": 260, "completion_tokens": 28, "total_tokens": 288}
    return [
        run(
            1,
            None,
            "chain",
            "diver",
            0,
            9,
            {"messages": [{"role": "user", "content": "How deep?"}]},
            {},
            **sums,
        ),
        run(2, key(1), "llm", "ChatOpenAI", 1, 2, {"messages": [[HUMAN]]}, generation(FIRST)),
        run(3, key(1), "tool", "depth", 3, 4, {"of": "lac"}, {}, error=error, extra=tool),
        run(
            4,
            key(1),
            "llm",
            "ChatOpenAI",
            5,
            6,
            {"messages": [[HUMAN, FIRST, RESULT]]},
            generation(LAST),
        ),
    ]


EXPECTED = [((100, 20), [("depth", '{"of":"lac"}', "error")]), ((160, 8), [])]


def test_sums_on_chains_do_not_count():
    reader, (found,) = runs_of(runs(), "langsmith")
    assert told(found) == EXPECTED
    usage = found.steps[1].usage
    assert (usage.fresh_input, usage.cache_read, usage.output, usage.reasoning) == (96, 64, 8, 2)
    assert (found.session, found.prompt, found.id) == ("desk-9", "How deep?", ROOT)
    assert found.calls[0].code == "ValueError"
    assert (reader.used, dict(reader.ignored)) == (3, {"chain span": 1})


def batch():
    """As the SDK sends it: posted at the start, patched at the end."""
    posts, patches = [], []
    for one in runs():
        posts.append({**one, "outputs": {}, "end_time": None, "error": None})
        keep = ("id", "trace_id", "parent_run_id", "dotted_order", "end_time", "outputs", "error")
        patches.append({k: one.get(k) for k in keep})
    return {"post": posts, "patch": patches}


@pytest.mark.parametrize(
    "records",
    [
        list(reversed(runs())),
        [runs()],
        [{"runs": runs()}],
        [batch()],
        [{"post": batch()["post"]}, {"patch": batch()["patch"]}],
        [
            {k: json.dumps(v) if isinstance(v, dict) else v for k, v in one.items()}
            for one in runs()
        ],
    ],
    ids=["reversed", "list", "envelope", "batch", "two batches", "bulk export"],
)
def test_every_container_tells_the_same(records):
    reader, (found,) = runs_of(records, "langsmith")
    assert told(found) == EXPECTED
    assert reader.rejected == []
    assert form("langsmith").sniff(Sample("x", records, len(records) == 1)) >= 0.9


def test_the_parent_is_told_by_the_dotted_order_alone():
    records = runs()
    for record in records:
        del record["parent_run_id"], record["trace_id"]
    _, (found,) = runs_of(records, "langsmith")
    assert (told(found), found.id) == (EXPECTED, ROOT)


def test_raw_completions_of_a_wrapped_client():
    said = {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "call_1", "type": "function", "function": {"name": "depth", "arguments": "{}"}}
        ],
    }
    usage = {"input_tokens": 9, "output_tokens": 3, "total_tokens": 12}
    outputs = {
        "choices": [{"index": 0, "finish_reason": "tool_calls", "message": said}],
        "model": "gpt-4o-mini-2024-07-18",
        "usage_metadata": usage,
    }
    inputs = {"messages": [{"role": "user", "content": "How deep?"}], "model": "gpt-4o-mini"}
    _, (found,) = runs_of([run(1, None, "llm", "ChatOpenAI", 1, 2, inputs, outputs)], "langsmith")
    assert told(found) == [((9, 3), [("depth", "{}", "unanswered")])]
    assert (found.steps[0].model, found.steps[0].finish) == ("gpt-4o-mini-2024-07-18", "tool_calls")


def test_an_anthropic_message_as_it_came():
    outputs = {
        "message": {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "claude-haiku-4-5",
            "content": [{"type": "tool_use", "id": "toolu_1", "name": "depth", "input": {"n": 1}}],
            "usage": {"input_tokens": 5, "cache_read_input_tokens": 90, "output_tokens": 7},
        }
    }
    inputs = {"messages": [{"role": "user", "content": "How deep?"}]}
    _, (found,) = runs_of(
        [run(1, None, "llm", "ChatAnthropic", 1, 2, inputs, outputs)], "langsmith"
    )
    assert told(found) == [((95, 7), [("depth", '{"n":1}', "unanswered")])]
    assert found.steps[0].usage.fresh_input == 5


def test_tokens_and_cost_of_the_server():
    record = run(1, None, "llm", "x", 1, 2, {"messages": []}, {"output": "40 m"})
    record |= {
        "prompt_tokens": 50,
        "completion_tokens": 6,
        "total_tokens": 56,
        "total_cost": "0.002",
    }
    _, (found,) = runs_of([record], "langsmith")
    assert [(s.usage.total, str(s.cost)) for s in found.steps] == [(56, "0.002")]


def test_a_model_that_failed_is_an_attempt_and_an_open_tool_is_unanswered():
    records = runs()
    records[3] = run(
        4,
        key(1),
        "llm",
        "ChatOpenAI",
        5,
        6,
        {"messages": [[HUMAN]]},
        None,
        error="RateLimitError('429')Traceback (most recent call last):…",
    )
    records[2] = {**records[2], "end_time": None, "error": None, "outputs": None}
    _, (found,) = runs_of(records, "langsmith")
    assert [call.status.value for call in found.calls] == ["unanswered"]
    assert [(a.code, a.message) for a in found.attempts_after] == [
        ("RateLimitError", "RateLimitError('429')")
    ]


def test_feedback_that_grades_is_an_outcome():
    records = runs()
    records[0]["feedback_stats"] = {"toxicity": {"n": 1, "avg": 1.0}, "correctness": {"avg": 0.0}}
    _, (found,) = runs_of(records, "langsmith")
    assert (found.outcome, found.outcome_source) == ("failure", "correctness")


def test_input_of_a_tool_as_a_text():
    records = runs()
    records[2]["inputs"] = {"input": "{'of': 'lac'}"}
    del records[2]["extra"]["tool_call_id"]
    _, (found,) = runs_of(records, "langsmith")
    assert told(found) == EXPECTED


def test_what_is_no_run_is_rejected():
    reader, pieces = feed("langsmith", [{"a": 1}, 7, {"post": [{"run_type": "llm"}]}])
    assert pieces == []
    assert [where for where, _ in reader.rejected] == [1, 2, 3]


def test_a_copy_of_the_records_is_left_as_it_was():
    records = runs()
    before = copy.deepcopy(records)
    runs_of(records, "langsmith")
    assert json.dumps(records) == json.dumps(before)
