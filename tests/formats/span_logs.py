"""Spans written by hand as OTLP/JSON lines, and what a reader makes of them."""

import json

from api_files import feed

from loopaudit.ingest.runs import RunAssembler

START = 1_790_000_000
TRACE = "9c0de7a41f5b4d6e8a72b1c3d4e5f607"


def value(given):
    if isinstance(given, bool):
        return {"boolValue": given}
    if isinstance(given, int):
        return {"intValue": str(given)}
    if isinstance(given, float):
        return {"doubleValue": given}
    if isinstance(given, list):
        return {"arrayValue": {"values": [value(item) for item in given]}}
    if isinstance(given, dict):
        return {"kvlistValue": {"values": pairs(given)}}
    return {} if given is None else {"stringValue": given}


def pairs(given):
    return [{"key": key, "value": value(inner)} for key, inner in given.items()]


def span(own, parent, name, begin, end, attributes, *, error=None, trace=TRACE, events=()):
    """One span; `begin` and `end` in seconds after `START`. `error`: the message of its failure."""
    record = {
        "traceId": trace,
        "spanId": own,
        "name": name,
        "startTimeUnixNano": str(int((START + begin) * 10**9)),
        "endTimeUnixNano": str(int((START + end) * 10**9)),
        "attributes": pairs(attributes),
        "events": [{"name": n, "attributes": pairs(a)} for n, a in events],
        "status": {} if error is None else {"code": 2, "message": error},
    }
    if parent is not None:
        record["parentSpanId"] = parent
    return record


def line(*spans):
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"spans": list(spans)}]}]}


def lines(*spans):
    return [line(one) for one in spans]


def user(text):
    return {"role": "user", "parts": [{"type": "text", "content": text}]}


def says(text):
    return {"role": "assistant", "parts": [{"type": "text", "content": text}]}


def calls(*told):
    parts = [{"type": "tool_call", "id": i, "name": n, "arguments": a} for i, n, a in told]
    return {"role": "assistant", "parts": parts}


def answers(*told):
    parts = [{"type": "tool_call_response", "id": i, "response": r} for i, r in told]
    return {"role": "tool", "parts": parts}


def chat(own, parent, begin, end, asked, said, usage=(100, 10), **more):
    """A model span of the current GenAI conventions."""
    attributes = {"gen_ai.operation.name": "chat", "gen_ai.response.model": "gpt-4o-mini"}
    if asked is not None:
        attributes["gen_ai.input.messages"] = json.dumps(asked)
    if said is not None:
        attributes["gen_ai.output.messages"] = json.dumps([said])
    if usage is not None:
        attributes["gen_ai.usage.input_tokens"] = usage[0]
        attributes["gen_ai.usage.output_tokens"] = usage[1]
    attributes |= more.pop("attributes", {})
    return span(own, parent, "chat gpt-4o-mini", begin, end, attributes, **more)


def tool(own, parent, begin, end, name, call=None, args=None, result=None, **more):
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name}
    if call is not None:
        attributes["gen_ai.tool.call.id"] = call
    if args is not None:
        attributes["gen_ai.tool.call.arguments"] = json.dumps(args)
    if result is not None:
        attributes["gen_ai.tool.call.result"] = result
    return span(own, parent, f"execute_tool {name}", begin, end, attributes, **more)


def agent(own, parent, begin, end, name, **more):
    attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name}
    attributes |= more.pop("attributes", {})
    return span(own, parent, f"invoke_agent {name}", begin, end, attributes, **more)


def runs_of(records, name="otel", path="logs/night.jsonl"):
    """(reader, runs) of records, one a line."""
    reader, pieces = feed(name, records, path)
    build = RunAssembler(path, name)
    for piece in pieces:
        build.add(piece)
    return reader, build.finish(reader.missing)


def told(run):
    """What a run holds, to compare: per step its tokens, and calls with status and result size."""
    return [
        (
            (step.usage.input, step.usage.output) if step.usage else None,
            [(call.tool, call.args, call.status.value) for call in step.calls],
        )
        for step in run.steps
    ]
