"""OpenTelemetry: the spellings of each convention and container, on spans written by hand."""

import base64
import json

import pytest
from api_files import feed, form
from span_logs import (
    START,
    TRACE,
    agent,
    answers,
    calls,
    chat,
    line,
    lines,
    pairs,
    runs_of,
    says,
    span,
    told,
    tool,
    user,
)
from test_api_hostile import HOSTILE, nodes, replaced

from loopaudit.formats.base import Sample
from loopaudit.model import CallStatus, UsageMark

ASK = user("How deep?")
CALL = calls(("call_1", "depth", {"of": "lake"}))


def usage_of(attributes):
    """The usage of a model span with these attributes."""
    record = line(span("m1", "r", "chat", 1, 2, {"gen_ai.operation.name": "chat", **attributes}))
    _, (run,) = runs_of([record])
    return run.steps[0].usage


def buckets(usage):
    return (usage.fresh_input, usage.cache_read, usage.cache_write, usage.output, usage.reasoning)


# -- usage ----------------------------------------------------------------------------------------

G = "gen_ai.usage."
L = "llm.token_count."
V = "ai.usage."


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        # GenAI: details are parts of the totals
        ({G + "input_tokens": 100, G + "output_tokens": 20}, (100, None, None, 20, None)),
        ({G + "prompt_tokens": 100, G + "completion_tokens": 20}, (100, None, None, 20, None)),
        (
            {
                G + "input_tokens": 100,
                G + "output_tokens": 20,
                G + "cache_read.input_tokens": 64,
                G + "cache_write.input_tokens": 6,
                G + "reasoning.output_tokens": 4,
            },
            (30, 64, 6, 20, 4),
        ),
        (
            {
                G + "input_tokens": 100,
                G + "output_tokens": 20,
                G + "cache_creation.input_tokens": 10,
            },
            (90, None, 10, 20, None),
        ),
        # handed on from a provider that counts caches beside the input
        (
            {
                G + "input_tokens": 3,
                G + "output_tokens": 20,
                G + "cache_read.input_tokens": 11_000,
                G + "cache_creation.input_tokens": 932,
            },
            (3, 11_000, 932, 20, None),
        ),
        # the total decides where it is told
        (
            {
                G + "input_tokens": 500,
                G + "output_tokens": 20,
                G + "cache_read.input_tokens": 64,
                G + "total_tokens": 584,
            },
            (500, 64, None, 20, None),
        ),
        (
            {
                G + "input_tokens": 500,
                G + "output_tokens": 20,
                G + "cache_read.input_tokens": 64,
                G + "total_tokens": 520,
            },
            (436, 64, None, 20, None),
        ),
        # reasoning beside the output, as its total says
        (
            {
                G + "input_tokens": 91,
                G + "output_tokens": 16,
                G + "reasoning_tokens": 48,
                G + "total_tokens": 155,
            },
            (91, None, None, 64, 48),
        ),
        # OpenInference
        (
            {
                L + "prompt": 100,
                L + "completion": 20,
                L + "total": 120,
                L + "prompt_details.cache_read": 64,
                L + "completion_details.reasoning": 4,
            },
            (36, 64, None, 20, 4),
        ),
        # Vercel AI SDK 6, and 4
        (
            {
                V + "inputTokens": 100,
                V + "outputTokens": 20,
                V + "inputTokenDetails.cacheReadTokens": 64,
                V + "outputTokenDetails.reasoningTokens": 4,
                V + "totalTokens": 120,
                G + "input_tokens": 100,
                G + "output_tokens": 20,
            },
            (36, 64, None, 20, 4),
        ),
        ({V + "promptTokens": 62, V + "completionTokens": 85}, (62, None, None, 85, None)),
        # OpenLLMetry before 0.50
        (
            {"llm.usage.prompt_tokens": 100, "llm.usage.completion_tokens": 20},
            (100, None, None, 20, None),
        ),
        # whole numbers as floating point, as some exporters write them
        ({G + "input_tokens": 100.0, G + "output_tokens": 20.0}, (100, None, None, 20, None)),
        # and as text
        ({G + "input_tokens": "100", G + "output_tokens": "20"}, (100, None, None, 20, None)),
        ({G + "total_tokens": 120, G + "output_tokens": 20}, (100, None, None, 20, None)),
    ],
)
def test_usage_in_disjoint_buckets(attributes, expected):
    assert buckets(usage_of(attributes)) == expected


def test_an_output_that_is_not_told_is_not_zero():
    usage = usage_of({G + "input_tokens": 1195, G + "total_tokens": 1195})
    assert buckets(usage) == (1195, None, None, None, None)


@pytest.mark.parametrize("bad", [-5, "many", 2.5, True])
def test_a_count_that_is_none_is_marked(bad):
    usage = usage_of({G + "input_tokens": bad, G + "output_tokens": 20})
    assert usage.fresh_input is None
    assert usage.mark is UsageMark.LOWER_BOUND


@pytest.mark.parametrize(
    ("attributes", "cost"),
    [
        ({"gen_ai.usage.cost": 0.25}, "0.25"),
        ({"operation.cost": 0.5}, "0.5"),
        ({"llm.cost.total": 0.125}, "0.125"),
        ({"gen_ai.usage.cost": 0.0}, "None"),
    ],
)
def test_a_recorded_cost_is_kept(attributes, cost):
    _, (run,) = runs_of(lines(chat("m1", "r", 1, 2, [ASK], says("x"), attributes=attributes)))
    assert str(run.steps[0].cost) == cost


# -- conventions ----------------------------------------------------------------------------------


def flattened(prefix, messages, wrap=""):
    out = {}
    for number, message in messages.items():
        for key, inner in message.items():
            out[f"{prefix}.{number}.{wrap}{key}"] = inner
    return out


def test_openinference_messages_are_flattened_and_numbered_with_gaps():
    """10 comes after 9, 4 to 8 are missing, and the attributes stand in no order."""
    asked = {
        10: {"role": "tool", "tool_call_id": "call_1", "content": "Error: sunk"},
        0: {"role": "system", "content": "Be brief."},
        9: {
            "role": "assistant",
            "tool_calls.0.tool_call.id": "call_1",
            "tool_calls.0.tool_call.function.name": "depth",
            "tool_calls.0.tool_call.function.arguments": '{"of": "lake"}',
        },
        2: {
            "role": "user",
            "contents.1.message_content.text": "deep?",
            "contents.0.message_content.text": "How",
            "contents.0.message_content.type": "text",
            "contents.1.message_content.type": "text",
        },
    }
    first = {k: v for k, v in asked.items() if k < 9}
    said = {0: dict(asked[9])}
    done = {0: {"role": "assistant", "content": "It sank."}}
    kind = {"openinference.span.kind": "LLM", "llm.model_name": "gpt-4o-mini"}
    spans = [
        span(
            f"m{n}",
            "r",
            "ChatCompletion",
            n,
            n + 0.5,
            {
                **flattened("llm.input_messages", before, "message."),
                **flattened("llm.output_messages", after, "message."),
                **kind,
                L + "prompt": 10,
                L + "completion": n,
            },
        )
        for n, before, after in ((1, first, said), (2, asked, done))
    ]
    _, (run,) = runs_of(lines(*spans))
    assert told(run) == [
        ((10, 1), [("depth", '{"of":"lake"}', "error")]),
        ((10, 2), []),
    ]
    assert run.prompt == "How\ndeep?"


def test_a_tool_span_without_a_call_id_is_tied_by_tool_and_arguments():
    """Two calls at once, answered in the other order; LangChain gives a bare text as input."""
    two = calls(("call_1", "depth", {"of": "a"}), ("call_2", "depth", {"of": "b"}))
    kind = {"openinference.span.kind": "TOOL", "tool.name": "depth"}
    spans = [
        chat("m1", "r", 1, 2, [ASK], two),
        span("t1", "r", "depth", 2, 3, {**kind, "input.value": '{"of":"b"}'}, error="sunk"),
        span("t2", "r", "depth", 2, 3, {**kind, "input.value": "a", "output.value": "40"}),
    ]
    _, (run,) = runs_of(lines(*spans))
    assert [(c.args, c.status.value) for c in run.calls] == [
        ('{"of":"a"}', "ok"),
        ('{"of":"b"}', "error"),
    ]


def test_openllmetry_before_its_messages_were_json():
    kind = {"llm.request.type": "chat", "gen_ai.system": "openai"}
    said = {
        0: {
            "role": "assistant",
            "finish_reason": "tool_calls",
            "tool_calls.0.id": "call_1",
            "tool_calls.0.name": "depth",
            "tool_calls.0.arguments": '{"of": "lake"}',
        }
    }
    asked = {0: {"role": "system", "content": "x"}, 1: {"role": "user", "content": "How deep?"}}
    later = {
        **asked,
        2: {k: v for k, v in said[0].items() if k != "finish_reason"},
        3: {"role": "tool", "tool_call_id": "call_1", "content": "40 m"},
    }
    usage = {"gen_ai.usage.prompt_tokens": 9, "gen_ai.usage.completion_tokens": 3}
    done = {0: {"role": "assistant", "content": "40 m", "finish_reason": "stop"}}
    spans = [
        span(
            own,
            "r",
            "openai.chat",
            at,
            at + 0.5,
            {
                **kind,
                **usage,
                **flattened("gen_ai.prompt", before),
                **flattened("gen_ai.completion", after),
            },
        )
        for own, at, before, after in (("m1", 1, asked, said), ("m2", 2, later, done))
    ]
    _, (run,) = runs_of(lines(*spans))
    assert told(run) == [((9, 3), [("depth", '{"of":"lake"}', "ok")]), ((9, 3), [])]
    assert [step.finish for step in run.steps] == ["tool_calls", "stop"]


def test_arguments_of_openllmetrys_langchain_tools_are_unwrapped():
    spans = [
        chat("m1", "r", 1, 2, [ASK], CALL),
        tool("t1", "r", 2, 3, "depth", None, {"input_str": "{'of': 'lake'}", "tags": []}, "40"),
    ]
    _, (run,) = runs_of(lines(*spans))
    assert [(c.args, c.status.value) for c in run.calls] == [('{"of":"lake"}', "ok")]


def vercel(own, parent, operation, begin, end, attributes, **more):
    return span(
        own, parent, operation, begin, end, {"ai.operationId": operation, **attributes}, **more
    )


def test_vercel_telemetry_counts_the_inner_calls():
    prompt = [{"role": "user", "content": [{"type": "text", "text": "How deep?"}]}]
    said = [{"toolCallId": "call_1", "toolName": "depth", "input": '{"of":"lake"}'}]
    sums = {V + "inputTokens": 90, V + "outputTokens": 9}
    spans = [
        vercel("a1", None, "ai.streamText", 0, 5, {"ai.telemetry.functionId": "diver", **sums}),
        vercel(
            "m1",
            "a1",
            "ai.streamText.doStream",
            1,
            2,
            {
                "ai.prompt.messages": json.dumps(prompt),
                "ai.response.toolCalls": json.dumps(said),
                "ai.response.finishReason": "tool-calls",
                V + "inputTokens": 40,
                V + "outputTokens": 4,
            },
        ),
        vercel(
            "t1",
            "a1",
            "ai.toolCall",
            2,
            3,
            {
                "ai.toolCall.name": "depth",
                "ai.toolCall.id": "call_1",
                "ai.toolCall.args": '{"of":"lake"}',
            },
            error="sunk",
        ),
        vercel(
            "m2",
            "a1",
            "ai.streamText.doStream",
            3,
            4,
            {"ai.response.text": "It sank.", V + "inputTokens": 50, V + "outputTokens": 5},
        ),
    ]
    _, (run,) = runs_of(lines(*spans))
    assert told(run) == [((40, 4), [("depth", '{"of":"lake"}', "error")]), ((50, 5), [])]
    assert (run.agent, run.prompt) == ("diver", "How deep?")


def test_pydantic_ai_of_the_first_version_keeps_messages_in_one_attribute():
    events = [
        {"event.name": "gen_ai.system.message", "content": "x", "role": "system"},
        {"event.name": "gen_ai.user.message", "content": "How deep?", "role": "user"},
        {
            "event.name": "gen_ai.choice",
            "index": 0,
            "message": {
                "role": "assistant",
                "tool_calls": [
                    {
                        "id": "call_1",
                        "type": "function",
                        "function": {"name": "depth", "arguments": "{}"},
                    }
                ],
            },
        },
    ]
    attributes = {"events": json.dumps(events), G + "input_tokens": 9, G + "output_tokens": 3}
    named = {"gen_ai.tool.name": "depth", "gen_ai.tool.call.id": "call_1", "tool_response": "40"}
    whole = {"agent_name": "diver", "all_messages_events": "[]", G + "input_tokens": 9}
    spans = [
        span("m1", "a1", "chat gpt-4o", 1, 2, {"gen_ai.operation.name": "chat", **attributes}),
        span("t1", "a1", "running tool: depth", 2, 3, {**named, "tool_arguments": "{}"}),
        span("a1", None, "diver run", 0, 4, whole),
    ]
    _, (run,) = runs_of(lines(*spans))
    assert told(run) == [((9, 3), [("depth", "{}", "ok")])]
    assert (run.agent, run.prompt) == ("diver", "How deep?")


def test_a_finish_reason_that_is_a_text_and_ids_that_are_lists():
    """As the Microsoft Agent Framework writes them."""
    said = calls((["run_1", "call_9"], "depth", {"of": "lake"}))
    reason = {"gen_ai.response.finish_reasons": '["tool_calls"]'}
    spans = [
        chat("m1", "r", 1, 2, [ASK], said, attributes=reason),
        chat("m2", "r", 3, 4, [said, answers((["run_1", "call_9"], "40 m"))], says("40 m")),
    ]
    _, (run,) = runs_of(lines(*spans))
    assert run.steps[0].finish == "tool_calls"
    assert [(c.id, c.status.value) for c in run.calls] == [("call_9", "ok")]


def test_a_compaction_in_a_history_is_told():
    compact = {"role": "assistant", "parts": [{"type": "compaction", "content": "short"}]}
    _, (run,) = runs_of(
        lines(
            chat("m1", "r", 1, 2, [ASK], says("a")),
            chat("m2", "r", 3, 4, [ASK, says("a"), {**compact, "role": "user"}], says("b")),
        )
    )
    assert [b.kind.value for b in run.steps[1].before] == ["compaction"]


def test_embeddings_and_retrieval_are_ignored_by_name():
    spans = [
        span("e1", "r", "embeddings", 1, 2, {"gen_ai.operation.name": "embeddings"}),
        span("e2", "r", "retrieve", 1, 2, {"openinference.span.kind": "RETRIEVER"}),
        span("e3", "r", "GET /", 1, 2, {"http.method": "GET"}),
        chat("m1", "r", 3, 4, [ASK], says("a")),
    ]
    reader, _ = runs_of(lines(*spans))
    assert dict(reader.ignored) == {"embeddings span": 1, "retriever span": 1, "other span": 1}


def test_a_grade_is_an_outcome_and_other_scores_are_not():
    grade = (
        "gen_ai.evaluation.result",
        {"gen_ai.evaluation.name": "Correctness", "gen_ai.evaluation.score.label": "pass"},
    )
    other = (
        "gen_ai.evaluation.result",
        {"gen_ai.evaluation.name": "Toxicity", "gen_ai.evaluation.score.value": 1.0},
    )
    _, (run,) = runs_of(lines(chat("m1", "r", 1, 2, [ASK], says("a"), events=[other, grade])))
    assert (run.outcome, run.outcome_source) == ("success", "Correctness")


# -- events of the older convention ---------------------------------------------------------------


def log(own, at, event, body, *, newer=False):
    record = {
        "timeUnixNano": str(int((START + at) * 10**9)),
        "traceId": TRACE,
        "spanId": own,
        "attributes": [] if newer else pairs({"event.name": event}),
        "body": {"kvlistValue": {"values": pairs(body)}},
    }
    if newer:
        record["eventName"] = event
    return {"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]}


FUNCTION = {"id": "call_1", "type": "function", "function": {"name": "depth", "arguments": "{}"}}


def old_events(newer=False):
    return [
        log("m1", 1.1, "gen_ai.user.message", {"content": "How deep?"}, newer=newer),
        log(
            "m1",
            1.2,
            "gen_ai.choice",
            {"index": 0, "finish_reason": "tool_calls", "message": {"tool_calls": [FUNCTION]}},
            newer=newer,
        ),
        log("m2", 2.1, "gen_ai.user.message", {"content": "How deep?"}, newer=newer),
        log("m2", 2.2, "gen_ai.assistant.message", {"tool_calls": [FUNCTION]}, newer=newer),
        log(
            "m2",
            2.3,
            "gen_ai.tool.message",
            {"id": "call_1", "content": "Error: sunk"},
            newer=newer,
        ),
        log(
            "m2",
            2.4,
            "gen_ai.choice",
            {"index": 0, "finish_reason": "stop", "message": {"content": "It sank."}},
            newer=newer,
        ),
    ]


OLD = [((100, 10), [("depth", "{}", "error")]), ((120, 12), [])]


@pytest.mark.parametrize("newer", [False, True])
@pytest.mark.parametrize("order", ["spans first", "spans last", "between"])
def test_messages_in_log_records_are_joined_to_their_spans(order, newer):
    spans = lines(
        chat("m1", "r", 1, 2, None, None, (100, 10)), chat("m2", "r", 2, 3, None, None, (120, 12))
    )
    events = old_events(newer)
    records = {
        "spans first": spans + events,
        "spans last": events + spans,
        "between": [*events[:2], *spans, *events[2:]],
    }[order]
    reader, (run,) = runs_of(records)
    assert told(run) == OLD
    assert [step.finish for step in run.steps] == ["tool_calls", "stop"]
    assert reader.used == 8
    assert reader.missing == set()


def test_log_records_alone_are_a_run_without_usage():
    reader, (run,) = runs_of(old_events())
    assert told(run) == [(None, OLD[0][1]), (None, [])]
    assert reader.missing == {"usage"}
    assert run.steps[0].at == pytest.approx(START + 1.1)


def test_one_event_that_holds_everything():
    """`gen_ai.client.inference.operation.details`, messages as structures, not text."""
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": [ASK],
        "gen_ai.output.messages": [CALL],
        G + "input_tokens": 9,
        G + "output_tokens": 3,
    }
    record = log("m1", 1, "gen_ai.client.inference.operation.details", {}, newer=True)
    record["resourceLogs"][0]["scopeLogs"][0]["logRecords"][0]["attributes"] = pairs(attributes)
    _, (run,) = runs_of([record])
    assert told(run) == [((9, 3), [("depth", '{"of":"lake"}', "unanswered")])]


def test_messages_in_span_events():
    events = [
        ("gen_ai.user.message", {"content": "How deep?"}),
        ("gen_ai.choice", {"index": 0, "message": json.dumps({"tool_calls": [FUNCTION]})}),
    ]
    _, (run,) = runs_of(lines(chat("m1", "r", 1, 2, None, None, (9, 3), events=events)))
    assert told(run) == [((9, 3), [("depth", "{}", "unanswered")])]
    assert run.prompt == "How deep?"


def test_log_records_of_other_kinds_are_ignored_by_name():
    other = {"resourceLogs": [{"scopeLogs": [{"logRecords": [{"body": {"stringValue": "hi"}}]}]}]}
    reader, _ = runs_of([other, log("m1", 1, "app.started", {})])
    assert dict(reader.ignored) == {"log record": 1, "app.started event": 1}


def test_three_generations_in_one_file():
    flat = {
        **flattened("gen_ai.prompt", {0: {"role": "user", "content": "How wide?"}}),
        **flattened("gen_ai.completion", {0: {"role": "assistant", "content": "3 m"}}),
        "llm.request.type": "chat",
        "llm.usage.prompt_tokens": 7,
        "llm.usage.completion_tokens": 2,
    }
    records = [
        *old_events(),
        *lines(chat("m1", "r", 1, 2, None, None), chat("m2", "r", 2, 3, None, None)),
        *lines(chat("n1", "r", 4, 5, [ASK], says("a"), (50, 5), trace="2" * 32)),
        *lines(span("o1", "r", "openai.chat", 6, 7, flat, trace="3" * 32)),
    ]
    _, runs = runs_of(records)
    assert [told(run) for run in runs] == [
        [((100, 10), OLD[0][1]), ((100, 10), [])],
        [((50, 5), [])],
        [((7, 2), [])],
    ]


# -- containers -----------------------------------------------------------------------------------


def lake():
    return [
        agent("aaaa000000000001", None, 0, 9, "diver"),
        chat("bbbb000000000001", "aaaa000000000001", 1, 2, [ASK], CALL, (100, 10)),
        tool(
            "cccc000000000001",
            "aaaa000000000001",
            2,
            3,
            "depth",
            "call_1",
            {"of": "lake"},
            error="sunk",
        ),
    ]


LAKE = [((100, 10), [("depth", '{"of":"lake"}', "error")])]


def plain(one):
    """Attributes as plain values."""
    out = {}
    for pair in one["attributes"]:
        ((kind, inner),) = pair["value"].items()
        out[pair["key"]] = int(inner) if kind == "intValue" else inner
    return out


def iso(nanos):
    from datetime import UTC, datetime

    return datetime.fromtimestamp(int(nanos) / 1e9, UTC).isoformat().replace("+00:00", "Z")


def console(one):
    parent = one.get("parentSpanId")
    return {
        "name": one["name"],
        "context": {"trace_id": "0x" + one["traceId"], "span_id": "0x" + one["spanId"]},
        "parent_id": "0x" + parent if parent else None,
        "start_time": iso(one["startTimeUnixNano"]),
        "end_time": iso(one["endTimeUnixNano"]),
        "status": {"status_code": "ERROR" if one["status"] else "UNSET", "description": None},
        "attributes": plain(one),
        "events": [],
    }


def javascript(one):
    return {
        "name": one["name"],
        "spanContext": {"traceId": one["traceId"], "spanId": one["spanId"]},
        "parentSpanContext": {"spanId": one.get("parentSpanId")},
        "startTime": [START, 0],
        "endTime": [START + 1, 5],
        "status": one["status"] or {"code": 0},
        "attributes": plain(one),
    }


def phoenix(one, nested):
    attributes = plain(one)
    if nested:
        deep = {}
        for key, inner in attributes.items():
            here = deep
            *path, last = key.split(".")
            for part in path:
                here = here.setdefault(part, {})
            here[last] = inner
        attributes = deep
    return {
        **console(one),
        "id": "x",
        "status_code": "ERROR" if one["status"] else "OK",
        "status": None,
        "attributes": attributes,
    }


def snake(value):
    import re

    if isinstance(value, dict):
        return {
            re.sub(r"(?<=[a-z])([A-Z])", lambda m: "_" + m[1].lower(), k): snake(v)
            for k, v in value.items()
        }
    return [snake(item) for item in value] if isinstance(value, list) else value


def protobuf(one):
    """Ids in base64, names of enums, as a plain dump of the message has them."""

    def b64(hexa):
        return base64.b64encode(bytes.fromhex(hexa)).decode()

    out = {**one, "traceId": b64(one["traceId"]), "spanId": b64(one["spanId"])}
    if "parentSpanId" in one:
        out["parentSpanId"] = b64(one["parentSpanId"])
    out["status"] = {"code": "STATUS_CODE_ERROR"} if one["status"] else {}
    return out


def jaeger():
    spans = []
    for one in lake():
        parent = one.get("parentSpanId")
        tags = [{"key": k, "type": "string", "value": v} for k, v in plain(one).items()]
        if one["status"]:
            tags.append({"key": "otel.status_code", "type": "string", "value": "ERROR"})
        start = int(one["startTimeUnixNano"]) // 1000
        spans.append(
            {
                "traceID": one["traceId"],
                "spanID": one["spanId"],
                "operationName": one["name"],
                "references": [{"refType": "CHILD_OF", "spanID": parent}] if parent else [],
                "startTime": start,
                "duration": int(one["endTimeUnixNano"]) // 1000 - start,
                "tags": tags,
                "logs": [],
                "processID": "p1",
            }
        )
    processes = {"p1": {"serviceName": "pier", "tags": []}}
    return {"data": [{"traceID": TRACE, "spans": spans, "processes": processes}]}


def nested():
    """Child spans below their parents, as in the traces of TRAIL."""
    made = [
        {
            "span_id": one["spanId"],
            "parent_span_id": one.get("parentSpanId"),
            "span_name": one["name"],
            "timestamp": iso(one["startTimeUnixNano"]),
            "duration": "PT1S" if number else "PT0H0M9.0S",
            "span_attributes": plain(one),
            "status_code": "Error" if one["status"] else "Unset",
            "child_spans": [],
        }
        for number, one in enumerate(lake())
    ]
    made[0]["child_spans"] = made[1:]
    return {"trace_id": TRACE, "spans": made[:1]}


CONTAINERS = {
    "jaeger": [jaeger()],
    "nested": [nested()],
    "lines": lines(*lake()),
    "one line": [line(*lake())],
    "one document, a list": [lines(*lake())],
    "envelope": [{"trace": line(*lake())}],
    "batches": [{"batches": line(*lake())["resourceSpans"]}],
    "older libraries": [{"resourceSpans": [{"instrumentationLibrarySpans": [{"spans": lake()}]}]}],
    "snake case": snake(lines(*lake())),
    "protobuf dump": lines(*map(protobuf, lake())),
    "bare spans": lake(),
    "console": [console(one) for one in lake()],
    "javascript": [javascript(one) for one in lake()],
    "phoenix": [{"data": [phoenix(one, False) for one in lake()], "next_cursor": None}],
    "phoenix nested": [{"data": [phoenix(one, True) for one in lake()]}],
}


@pytest.mark.parametrize("name", CONTAINERS)
def test_every_container_tells_the_same(name):
    reader, (run,) = runs_of(CONTAINERS[name])
    assert told(run) == LAKE
    assert run.agent == "diver"
    assert reader.used == 3
    assert reader.rejected == []


@pytest.mark.parametrize("name", CONTAINERS)
def test_every_container_is_known_by_its_content(name):
    records = CONTAINERS[name]
    assert form("otel").sniff(Sample("x", records, len(records) == 1)) >= 0.9
    for other in ("openai_chat", "langfuse", "langsmith", "mlflow", "http_log", "openai_agents"):
        assert form(other).sniff(Sample("x", records, len(records) == 1)) < 0.5


def test_where_it_ran_is_taken_from_the_resource():
    record = line(chat("m1", "r", 1, 2, [ASK], says("a")))
    about = {"service.name": "pier", "host.name": "h1", "service.version": "2.1"}
    record["resourceSpans"][0]["resource"] = {"attributes": pairs(about)}
    _, (run,) = runs_of([record])
    assert (run.project, run.host, run.version) == ("pier", "h1", "2.1")


def test_metrics_are_ignored_and_what_is_no_span_is_rejected():
    reader, pieces = feed("otel", [{"resourceMetrics": []}, {"a": 1}, 5, {"resourceSpans": []}])
    assert pieces == []
    assert reader.ignored == {"metrics record": 1, "empty record": 1}
    assert [where for where, _ in reader.rejected] == [2, 3]


def test_a_failed_tool_call_keeps_the_type_of_its_exception():
    thrown = [("exception", {"exception.type": "KeyError", "exception.message": "'lake'"})]
    spans = [
        chat("m1", "r", 1, 2, [ASK], CALL),
        tool("t1", "r", 2, 3, "depth", "call_1", {"of": "lake"}, error="trace…", events=thrown),
    ]
    _, (run,) = runs_of(lines(*spans))
    (call,) = run.calls
    assert (call.status, call.code, call.size) == (CallStatus.ERROR, "KeyError", len("'lake'"))
    assert (call.started, call.ended) == (START + 2, START + 3)


def test_records_of_other_tools_that_are_damaged_are_survived():
    for record in (*CONTAINERS["jaeger"], *CONTAINERS["nested"]):
        for path in nodes(record):
            for bad in (None, -1, "x", [], {}, [[]], {"a": []}, HOSTILE[-1]):
                feed("otel", [replaced(record, path, bad)])
