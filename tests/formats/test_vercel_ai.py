"""Vercel AI SDK: each trap of the format with a twin that must not be caught."""

from api_files import feed, form
from api_samples import VERCEL

from loopaudit.formats.base import Sample
from loopaudit.model import (
    BoundaryPiece,
    CallPiece,
    CallStatus,
    ResponsePiece,
    ResultPiece,
    Usage,
)


def read(*records):
    return feed("vercel_ai", records)


def of(kind, pieces):
    return [piece for piece in pieces if isinstance(piece, kind)]


def call(key="c1", **given):
    return {"type": "tool-call", "toolCallId": key, "toolName": "f", "input": {}, **given}


def tool(output, **extra):
    part = {"type": "tool-result", "toolCallId": "c1", "toolName": "f", "output": output, **extra}
    return {"role": "tool", "content": [part]}


def test_outcomes_of_results():
    for output, status, text in (
        ({"type": "text", "value": "Error: x"}, CallStatus.OK, "Error: x"),
        ({"type": "json", "value": {"error": 1}}, CallStatus.OK, {"error": 1}),
        ({"type": "error-text", "value": "no"}, CallStatus.ERROR, "no"),
        ({"type": "error-json", "value": {"e": 1}}, CallStatus.ERROR, {"e": 1}),
        (
            {"type": "execution-denied", "reason": "user said no"},
            CallStatus.REJECTED,
            "user said no",
        ),
        ({"type": "execution-denied"}, CallStatus.REJECTED, None),
        ({"type": "rain"}, CallStatus.OK, {"type": "rain"}),  # a tool's own object
        ("plain", CallStatus.OK, "plain"),
    ):
        _, (piece,) = read(tool(output))
        assert (piece.status, piece.text) == (status, text)
    _, (piece,) = read(tool("x", isError=True))
    assert piece.status is CallStatus.ERROR


def test_version_4_wrote_args_and_result():
    old = {"type": "tool-call", "toolCallId": "c1", "toolName": "f", "args": {"a": 1}}
    _, pieces = read({"role": "assistant", "content": [old]})
    assert pieces[0].calls == (CallPiece("c1", "f", {"a": 1}),)
    part = {"type": "tool-result", "toolCallId": "c1", "toolName": "f", "result": {"r": 1}}
    _, pieces = read({"role": "tool", "content": [part]})
    assert pieces[0].text == {"r": 1}
    done = {"state": "result", "toolCallId": "c1", "toolName": "f", "args": {}, "result": "x"}
    _, pieces = read({"role": "assistant", "content": "", "toolInvocations": [done]})
    assert [type(p) for p in pieces] == [ResponsePiece, ResultPiece]


def test_reasoning_is_not_visible_and_approval_requests_are_no_calls():
    parts = [
        {"type": "reasoning", "text": "hmm"},
        {"type": "text", "text": "a"},
        call(),
        {"type": "tool-approval-request", "approvalId": "x", "toolCallId": "c1"},
    ]
    _, (piece,) = read({"role": "assistant", "content": parts})
    assert (piece.text, piece.thinking_chars, len(piece.calls)) == ("a", 3, 1)


def ui(*parts, **extra):
    return {"id": "m1", "role": "assistant", "parts": list(parts), **extra}


def test_ui_messages_hold_call_and_result_in_one_part_and_several_steps():
    done = {
        "type": "tool-weather",
        "toolCallId": "c1",
        "state": "output-available",
        "input": {"city": "Rome"},
        "output": {"c": 14},
    }
    failed = {
        **done,
        "toolCallId": "c2",
        "state": "output-error",
        "errorText": "no city",
        "output": None,
    }
    dynamic = {**done, "type": "dynamic-tool", "toolName": "mcp_x", "toolCallId": "c3"}
    waiting = {**done, "toolCallId": "c4", "state": "input-available"}
    start, end = {"type": "step-start"}, {"type": "text", "text": "14 degrees"}
    said = {"id": "m0", "role": "user", "parts": [{"type": "text", "text": "weather?"}]}
    _, pieces = read(said, ui(start, done, failed, start, dynamic, waiting, start, end))
    answers = of(ResponsePiece, pieces)
    assert [[c.tool for c in p.calls] for p in answers] == [
        ["weather", "weather"],
        ["mcp_x", "weather"],
        [],
    ]
    found = [(p.call_id, p.status.value, p.text) for p in of(ResultPiece, pieces)]
    assert found == [("c1", "ok", {"c": 14}), ("c2", "error", "no city"), ("c3", "ok", {"c": 14})]
    assert of(BoundaryPiece, pieces)[0].text == "weather?"


def test_usage_that_an_app_keeps_in_the_metadata_is_counted_once():
    usage = {"inputTokens": 10, "outputTokens": 2}
    start, text = {"type": "step-start"}, {"type": "text", "text": "x"}
    _, pieces = read(ui(start, text, start, text, metadata={"totalUsage": usage, "usage": usage}))
    assert [p.usage for p in pieces] == [None, Usage(fresh_input=10, output=2)]


def step(number, *content, **extra):
    return {
        "stepNumber": number,
        "model": {"provider": "openai.chat", "modelId": "m"},
        "content": list(content),
        "finishReason": "tool-calls",
        "usage": {"inputTokens": 100, "outputTokens": 20, "totalTokens": 120},
        "response": {
            "id": f"resp_{number}",
            "timestamp": "2026-01-01T00:00:00Z",
            "modelId": "m-1",
            "messages": [],
        },
        **extra,
    }


def test_steps_hold_usage_time_and_model():
    error = {"type": "tool-error", "toolCallId": "c1", "toolName": "f", "error": {}}
    reader, pieces = read([step(0, call(), error), step(1, {"type": "text", "text": "x"})])
    assert pieces[0] == ResponsePiece(
        "night#1",
        1,
        id="resp_0",
        at=1767225600.0,
        model="m-1",
        calls=(CallPiece("c1", "f", {}),),
        usage=Usage(fresh_input=100, output=20),
        finish="tool-calls",
    )
    assert pieces[1] == ResultPiece("night#1", 1, "c1", None, status=CallStatus.ERROR, tool="f")
    assert reader.missing == set()


def test_the_sums_of_a_result_object_are_not_more_usage():
    total = {"inputTokens": 200, "outputTokens": 40}
    result = {"steps": [step(0), step(1)], "usage": total, "totalUsage": total, "text": "x"}
    _, pieces = read(result)
    assert sum(p.usage.total for p in pieces) == 240


def test_steps_of_version_4():
    old = {
        "stepType": "initial",
        "text": "x",
        "toolCalls": [{"toolCallId": "c1", "toolName": "f", "args": {"a": 1}}],
        "toolResults": [{"toolCallId": "c1", "toolName": "f", "result": "r"}],
        "finishReason": "tool-calls",
        "usage": {"promptTokens": 5, "completionTokens": 1, "totalTokens": 6},
        "response": {"id": "r1", "modelId": "m"},
    }
    _, pieces = read([old])
    assert (pieces[0].text, pieces[0].usage.total) == ("x", 6)
    assert pieces[0].calls == (CallPiece("c1", "f", {"a": 1}),)
    assert pieces[1].text == "r"


def test_messages_alone_lack_usage_and_times():
    reader, pieces = read(VERCEL)
    assert reader.missing == {"usage", "times"}
    assert {p.run for p in pieces} == {"night#1"}
    _, pieces = read(
        {"id": "chat-4711", "messages": VERCEL}, {"id": "chat-4712", "messages": VERCEL}
    )
    assert sorted({p.run for p in pieces}) == ["chat-4711", "chat-4712"]


def test_sniff_before_chat():
    sniff = form("vercel_ai").sniff
    assert sniff(Sample("x", [VERCEL], True)) == 0.95
    assert sniff(Sample("x", VERCEL)) == 0.95
    assert sniff(Sample("x", [[step(0)]], True)) == 0.95
    assert sniff(Sample("x", [{"steps": [step(0)]}], True)) == 0.95
    assert sniff(Sample("x", [ui({"type": "text", "text": "x"})])) == 0.95
    assert sniff(Sample("x", [{"role": "user", "content": "plain"}])) == 0
    assert sniff(Sample("x", [{"role": "user", "parts": [{"text": "gemini"}]}])) == 0
    assert sniff(Sample("x", [{"steps": []}])) == 0
