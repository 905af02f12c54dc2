"""MLflow: one trace written by hand, in each of its spellings."""

import json

import pytest
from api_files import feed, form
from span_logs import START, runs_of, told

from loopaudit.formats.base import Sample

TOOLS = [
    {"id": "call_1", "type": "function", "function": {"name": "depth", "arguments": '{"of":"lac"}'}}
]
ASK = {"role": "user", "content": "How deep?"}
CALL = {"role": "assistant", "content": None, "tool_calls": TOOLS}
RESULT = {"role": "tool", "tool_call_id": "call_1", "content": "Error: no such lake"}


def completion(said, sent, output, read, reasoning):
    usage = {
        "prompt_tokens": sent,
        "completion_tokens": output,
        "total_tokens": sent + output,
        "prompt_tokens_details": {"cached_tokens": read},
        "completion_tokens_details": {"reasoning_tokens": reasoning},
    }
    choice = {"index": 0, "finish_reason": "stop", "message": said}
    return {
        "id": "c",
        "object": "chat.completion",
        "model": "gpt-4o-mini",
        "choices": [choice],
        "usage": usage,
    }


def span(own, parent, kind, name, begin, end, inputs, outputs, usage=None, error=None):
    attributes = {
        "mlflow.traceRequestId": '"tr-77aa00ff"',
        "mlflow.spanType": json.dumps(kind),
        "mlflow.spanInputs": json.dumps(inputs),
        "mlflow.spanOutputs": json.dumps(outputs),
    }
    if usage:
        attributes["mlflow.chat.tokenUsage"] = json.dumps(usage)
    return {
        "trace_id": "d6osIg==",
        "span_id": own,
        "parent_span_id": parent,
        "name": name,
        "start_time_unix_nano": (START + begin) * 10**9,
        "end_time_unix_nano": (START + end) * 10**9,
        "status": {
            "code": "STATUS_CODE_ERROR" if error else "STATUS_CODE_OK",
            "message": error or "",
        },
        "attributes": attributes,
        "events": [],
    }


def usage(sent, output, read):
    return {
        "input_tokens": sent,
        "output_tokens": output,
        "total_tokens": sent + output,
        "cache_read_input_tokens": read,
    }


def spans():
    first, last = (
        completion(CALL, 100, 20, 0, 4),
        completion({"role": "assistant", "content": "None."}, 160, 8, 64, 2),
    )
    return [
        span(
            "BA==",
            "AQ==",
            "CHAT_MODEL",
            "Completions",
            5,
            6,
            {"messages": [ASK, CALL, RESULT]},
            last,
            usage(160, 8, 64),
        ),
        span("AQ==", None, "AGENT", "diver", 0, 9, {"q": "How deep?"}, "None."),
        span(
            "Ag==",
            "AQ==",
            "CHAT_MODEL",
            "Completions",
            1,
            2,
            {"messages": [ASK]},
            first,
            usage(100, 20, 0),
        ),
        span("Aw==", "AQ==", "TOOL", "depth", 3, 4, {"of": "lac"}, None, error="no such lake"),
    ]


def about():
    return {
        "trace_id": "tr-77aa00ff",
        "trace_location": {},
        "trace_metadata": {
            "mlflow.trace.session": "desk-9",
            "mlflow.trace.user": "u1",
            "mlflow.trace.tokenUsage": json.dumps(usage(260, 28, 64)),
        },
        "assessments": [{"name": "correctness", "feedback": {"value": "no"}}],
    }


WHOLE = {"info": about(), "data": {"spans": spans()}}
EXPECTED = [((100, 20), [("depth", '{"of":"lac"}', "error")]), ((160, 8), [])]


def test_the_sum_on_the_trace_does_not_count():
    reader, (run,) = runs_of([WHOLE], "mlflow")
    assert told(run) == EXPECTED
    last = run.steps[1].usage
    assert (last.fresh_input, last.cache_read, last.output, last.reasoning) == (96, 64, 8, 2)
    assert (run.id, run.session, run.user, run.agent) == ("tr-77aa00ff", "desk-9", "u1", "diver")
    assert (run.outcome, run.outcome_source) == ("failure", "correctness")
    assert (reader.used, reader.rejected) == (4, [])
    assert run.calls[0].size == len("Error: no such lake")


def version_2():
    out = []
    for one in spans():
        out.append(
            {
                "name": one["name"],
                "context": {"trace_id": "0x77", "span_id": one["span_id"]},
                "parent_id": one["parent_span_id"],
                "start_time": one["start_time_unix_nano"],
                "end_time": one["end_time_unix_nano"],
                "status_code": "ERROR" if one["status"]["message"] else "OK",
                "status_message": one["status"]["message"],
                "attributes": one["attributes"],
                "events": [],
            }
        )
    info = {"request_id": "tr-77aa00ff", "request_metadata": {}, "timestamp_ms": START * 1000}
    return {"info": info, "data": {"spans": out}}


SPELLINGS = {
    "artifact": [{"spans": spans()}],
    "rows with spans": [[{"trace_id": "tr-77aa00ff", "spans": spans(), "trace_metadata": {}}]],
    "rows with text": [[{"trace_id": "tr-77aa00ff", "trace": json.dumps(WHOLE)}]],
    "rows with both": [[{"trace": json.dumps(WHOLE), "spans": spans(), "trace_metadata": {}}]],
    "lines": [{"trace": json.dumps(WHOLE), "spans": spans(), "trace_metadata": {}}],
    "version 2": [version_2()],
}


@pytest.mark.parametrize("name", SPELLINGS)
def test_every_spelling_tells_the_same(name):
    records = SPELLINGS[name]
    reader, (run,) = runs_of(records, "mlflow")
    assert (told(run), run.id) == (EXPECTED, "tr-77aa00ff")
    assert reader.rejected == []
    scores = {n: form(n).sniff(Sample("x", records, True)) for n in ("mlflow", "otel", "langfuse")}
    assert scores["mlflow"] >= 0.9
    assert sorted(scores.values())[-2] < 0.5, scores


def test_what_is_no_trace_is_rejected():
    reader, pieces = feed("mlflow", [{"a": 1}, {"spans": [5, {"name": "x"}]}])
    assert pieces == []
    assert len(reader.rejected) == 3
