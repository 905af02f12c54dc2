"""Streams put together: each family's events give the body that a plain call would have given."""

import json

from loopaudit.formats.apis.anthropic_messages import message_pieces
from loopaudit.formats.apis.openai_chat import completion_pieces
from loopaudit.formats.apis.sse import (
    anthropic_body,
    chat_body,
    events,
    gemini_body,
    is_stream,
    responses_body,
)


def stream(*values):
    return "".join(f"data: {json.dumps(value)}\n\n" for value in values)


def test_events_survive_noise_and_cuts():
    text = (
        ": keep-alive\n\n"
        'event: ping\ndata: {"type": "ping"}\n\n'
        'data:{"a":1}\r\n\r\n'
        'data: {"b":\ndata: 2}\n\n'
        "data: [DONE]\n\n"
        'data: {"cut'
    )
    assert list(events(text)) == [{"type": "ping"}, {"a": 1}, {"b": 2}]
    assert is_stream(text)
    assert is_stream("\ufeffevent: x")
    for other in ('{"a": 1}', "", "database: x", "<html>", "Internal error"):
        assert not is_stream(other)


def chunk(delta=None, finish=None, index=0, **extra):
    choices = [] if delta is None else [{"index": index, "delta": delta, "finish_reason": finish}]
    return {"id": "chatcmpl-1", "created": 1700000000, "model": "m", "choices": choices, **extra}


def part(index, key=None, name=None, arguments=""):
    return {"index": index, "id": key, "function": {"name": name, "arguments": arguments}}


def test_chat_chunks():
    usage = {"prompt_tokens": 9, "completion_tokens": 4}
    body, whole = chat_body(
        [
            chunk({"role": "assistant", "content": ""}),
            chunk({"content": "two "}),
            chunk({"content": "calls"}),
            chunk({"tool_calls": [part(0, "c1", "f", '{"a"')]}),
            chunk({"tool_calls": [part(1, "c2", "g")]}),
            chunk({"tool_calls": [part(0, arguments=": 1}")]}),
            chunk({"tool_calls": [part(1, arguments="{}")]}),
            chunk({}, "tool_calls"),
            chunk(usage=usage),
        ]
    )
    assert whole
    (piece,) = completion_pieces(body)
    assert (piece.id, piece.text, piece.finish) == ("chatcmpl-1", "two calls", "tool_calls")
    assert [(c.id, c.tool, c.args) for c in piece.calls] == [("c1", "f", {"a": 1}), ("c2", "g", {})]
    assert piece.usage.total == 13


def test_shims_that_number_all_parallel_calls_0():
    body, _ = chat_body(
        [
            chunk({"tool_calls": [part(0, "c1", "f", '{"a": 1}')]}),
            chunk({"tool_calls": [part(0, "c2", "f", '{"a": 2}')]}),
        ]
    )
    (piece,) = completion_pieces(body)
    assert [(c.id, c.args) for c in piece.calls] == [("c1", {"a": 1}), ("c2", {"a": 2})]
    # twin: the same id again goes on with the same call
    body, _ = chat_body(
        [
            chunk({"tool_calls": [part(0, "c1", "f", '{"a"')]}),
            chunk({"tool_calls": [part(0, "c1", "f", ": 1}")]}),
        ]
    )
    (piece,) = completion_pieces(body)
    assert [(c.id, c.args) for c in piece.calls] == [("c1", {"a": 1})]


def test_choices_of_a_stream_are_kept_apart():
    body, _ = chat_body([chunk({"content": "a"}), chunk({"content": "b"}, "stop", index=1)])
    assert [c["message"]["content"] for c in body["choices"]] == ["a", "b"]


def test_a_chat_stream_cut_before_its_end():
    body, whole = chat_body([chunk({"content": "half"})])
    assert not whole
    assert completion_pieces(body)[0].text == "half"
    assert chat_body([])[0] == {"choices": []}


def test_responses_events():
    item = {"type": "message", "role": "assistant", "content": []}
    done = {"id": "resp_1", "object": "response", "output": [item], "usage": {"input_tokens": 1}}
    start = {"type": "response.created", "response": {"id": "resp_1", "output": [], "usage": None}}
    out = {"type": "response.output_item.done", "output_index": 0, "item": item}
    end = {"type": "response.completed", "response": done}
    assert responses_body([start, out, end]) == (done, True)
    body, whole = responses_body([start, out])
    assert (body["id"], body["output"], whole) == ("resp_1", [item], False)
    body, whole = responses_body([start, {"type": "error", "code": "server_error", "message": "x"}])
    assert (body["status"], body["error"]["code"]) == ("failed", "server_error")


def anthropic(*more):
    usage = {"input_tokens": 30, "cache_read_input_tokens": 5, "output_tokens": 1}
    message = {"id": "msg_1", "role": "assistant", "model": "m", "content": [], "usage": usage}
    return [{"type": "message_start", "message": message}, {"type": "ping"}, *more]


def block(index, **content):
    return {"type": "content_block_start", "index": index, "content_block": content}


def delta(index, **content):
    return {"type": "content_block_delta", "index": index, "delta": content}


def test_anthropic_events_usage_is_the_sum_so_far():
    body, whole = anthropic_body(
        anthropic(
            block(0, type="thinking", thinking=""),
            delta(0, type="thinking_delta", thinking="hmm"),
            block(1, type="text", text=""),
            delta(1, type="text_delta", text="one "),
            delta(1, type="text_delta", text="call"),
            block(2, type="tool_use", id="t1", name="f", input={}),
            delta(2, type="input_json_delta", partial_json='{"a"'),
            delta(2, type="input_json_delta", partial_json=": 1}"),
            {"type": "message_delta", "delta": {}, "usage": {"output_tokens": 20}},
            {
                "type": "message_delta",
                "delta": {"stop_reason": "tool_use"},
                "usage": {"output_tokens": 47},
            },
            {"type": "message_stop"},
        )
    )
    assert whole
    (piece,) = message_pieces(body)
    assert (piece.text, piece.thinking_chars, piece.finish) == ("one call", 3, "tool_use")
    assert [(c.id, c.tool, c.args) for c in piece.calls] == [("t1", "f", {"a": 1})]
    assert (piece.usage.output, piece.usage.total) == (47, 82)  # not 1 + 20 + 47


def test_an_anthropic_stream_cut_or_broken_off():
    body, whole = anthropic_body(anthropic(block(0, type="text", text="")))
    assert not whole
    assert body["usage"]["output_tokens"] == 1
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}
    body, whole = anthropic_body(anthropic(error))
    assert (body["error"]["type"], whole) == ("overloaded_error", False)
    cut = delta(0, type="input_json_delta", partial_json='{"a": ')
    body, _ = anthropic_body(anthropic(block(0, type="tool_use", id="t", name="f"), cut))
    assert message_pieces(body)[0].calls[0].args == '{"a": '


def test_gemini_chunks():
    def some(text, **extra):
        content = {"role": "model", "parts": [{"text": text}]}
        return {"candidates": [{"content": content, **extra}], "responseId": "r"}

    usage = {"promptTokenCount": 5, "candidatesTokenCount": 2}
    first = {**some("a"), "usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 1}}
    last = {**some("b", finishReason="STOP"), "usageMetadata": usage}
    body, whole = gemini_body([first, last])
    assert whole
    assert body["usageMetadata"] == usage
    assert [p["text"] for p in body["candidates"][0]["content"]["parts"]] == ["a", "b"]
    assert gemini_body([first])[1] is False
