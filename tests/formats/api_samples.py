"""One small log of each API format, all of one truth: a call that fails, one that works, an answer.

Written for these tests. Used where every reader must stand the same treatment.
"""

import json


def _chat(key, tool, args):
    return {
        "id": key,
        "type": "function",
        "function": {"name": tool, "arguments": json.dumps(args)},
    }


CHAT = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "How deep is the lake?"},
    {"role": "assistant", "content": None, "tool_calls": [_chat("c1", "depth", {"of": "lac"})]},
    {"role": "tool", "tool_call_id": "c1", "content": "Error: no such lake"},
    {
        "role": "assistant",
        "content": "once more",
        "tool_calls": [_chat("c2", "depth", {"of": "lake"})],
    },
    {"role": "tool", "tool_call_id": "c2", "content": "40 m"},
    {"role": "assistant", "content": "40 metres"},
]

ITEMS = [
    {"role": "user", "content": "How deep is the lake?"},
    {
        "type": "function_call",
        "call_id": "c1",
        "id": "fc_1",
        "name": "depth",
        "arguments": '{"of":"lac"}',
    },
    {"type": "function_call_output", "call_id": "c1", "output": "Error: no such lake"},
    {"type": "reasoning", "summary": [{"type": "summary_text", "text": "spelling"}]},
    {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "once more"}],
    },
    {
        "type": "function_call",
        "call_id": "c2",
        "id": "fc_2",
        "name": "depth",
        "arguments": '{"of":"lake"}',
    },
    {"type": "function_call_output", "call_id": "c2", "output": "40 m"},
    {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "40 metres"}],
    },
]

ANTHROPIC = [
    {"role": "user", "content": "How deep is the lake?"},
    {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "c1", "name": "depth", "input": {"of": "lac"}}],
    },
    {
        "role": "user",
        "content": [
            {
                "type": "tool_result",
                "tool_use_id": "c1",
                "content": "no such lake",
                "is_error": True,
            }
        ],
    },
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "spelling", "signature": "x"},
            {"type": "text", "text": "once more"},
            {"type": "tool_use", "id": "c2", "name": "depth", "input": {"of": "lake"}},
        ],
    },
    {
        "role": "user",
        "content": [
            {
                "type": "tool_result",
                "tool_use_id": "c2",
                "content": [{"type": "text", "text": "40 m"}],
            }
        ],
    },
    {"role": "assistant", "content": [{"type": "text", "text": "40 metres"}]},
]

GEMINI = [
    {"role": "user", "parts": [{"text": "How deep is the lake?"}]},
    {"role": "model", "parts": [{"functionCall": {"name": "depth", "args": {"of": "lac"}}}]},
    {
        "role": "user",
        "parts": [{"functionResponse": {"name": "depth", "response": {"error": "no such lake"}}}],
    },
    {
        "role": "model",
        "parts": [
            {"text": "once more"},
            {"functionCall": {"name": "depth", "args": {"of": "lake"}}},
        ],
    },
    {
        "role": "user",
        "parts": [{"functionResponse": {"name": "depth", "response": {"output": "40 m"}}}],
    },
    {"role": "model", "parts": [{"text": "40 metres"}]},
]


def _vercel(key, of):
    return {"type": "tool-call", "toolCallId": key, "toolName": "depth", "input": {"of": of}}


def _outcome(key, kind, value):
    output = {"type": kind, "value": value}
    part = {"type": "tool-result", "toolCallId": key, "toolName": "depth", "output": output}
    return {"role": "tool", "content": [part]}


VERCEL = [
    {"role": "user", "content": "How deep is the lake?"},
    {"role": "assistant", "content": [_vercel("c1", "lac")]},
    _outcome("c1", "error-text", "no such lake"),
    {
        "role": "assistant",
        "content": [{"type": "text", "text": "once more"}, _vercel("c2", "lake")],
    },
    _outcome("c2", "text", "40 m"),
    {"role": "assistant", "content": "40 metres"},
]

_USAGE = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}


def _request(upto, message):
    """A logged call: the history before message `upto`, and the answer."""
    body = {"id": f"chatcmpl-{upto}", "object": "chat.completion", "created": 1700000000 + upto}
    body |= {"model": "m-1", "usage": _USAGE, "choices": [{"index": 0, "message": message}]}
    request = {"model": "m", "messages": CHAT[:upto]}
    url = "https://api.example.com/v1/chat/completions"
    return {"url": url, "request": request, "status": 200, "response": body}


HTTP = [_request(upto, CHAT[upto]) for upto in (2, 4, 6)]


def _span(key, kind, **data):
    return {
        "object": "trace.span",
        "id": f"span_{key}",
        "trace_id": "trace_0123456789",
        "parent_id": "span_turn",
        "started_at": f"2026-01-01T00:00:0{key}+00:00",
        "ended_at": f"2026-01-01T00:00:0{key}.5+00:00",
        "span_data": {"type": kind, **data},
        "error": data.pop("error", None),
    }


def _generation(key, upto):
    usage = {"input_tokens": 100, "output_tokens": 20}
    given = {"input": CHAT[:upto], "output": [CHAT[upto]], "model": "m", "usage": usage}
    return _span(key, "generation", **given)


AGENTS = [
    {"object": "trace", "id": "trace_0123456789", "workflow_name": "lakes", "group_id": None},
    _generation(1, 2),
    {
        **_span(2, "function", name="depth", input='{"of": "lac"}', output="no such lake"),
        "error": {"message": "Error running tool (non-fatal)"},
    },
    _generation(3, 4),
    _span(4, "function", name="depth", input='{"of": "lake"}', output="40 m"),
    _generation(5, 6),
]

#: format -> records as lines of a log
SAMPLES = {
    "openai_chat": CHAT,
    "openai_responses": ITEMS,
    "anthropic_messages": ANTHROPIC,
    "gemini_generate": GEMINI,
    "vercel_ai": VERCEL,
    "http_log": HTTP,
    "openai_agents": AGENTS,
}
