"""The writers: one situation as the lines of a log, in each format as its product writes it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from typing import Any

from dialects import Call

Line = dict[str, Any]
START = 1_777_629_600.0  # 2026-05-01T10:00:00Z


@dataclass(frozen=True)
class Step:
    tokens: int
    calls: tuple[Call, ...] = ()
    text: str | None = None
    seconds: float = 10.0  # since the step before
    model: str | None = None


@dataclass(frozen=True)
class Event:
    """What lies between steps: user, hook, reminder, compaction, interrupt, limit, attempt."""

    kind: str
    text: str = ""
    tokens: int = 0  # of a compaction
    status: int | None = None  # of a failed API attempt


Entry = Step | Event


def iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S.") + "000Z"


def split(tokens: int) -> tuple[int, int, int]:
    """(fresh, cached, output) of a response: a tenth output, half of the rest cached."""
    output = tokens // 10
    cached = (tokens - output) // 2
    return tokens - output - cached, cached, output


def _native(entries: Sequence[Entry], session: str) -> list[Line]:
    lines: list[Line] = [
        {"loopaudit": 1},
        {"type": "run", "run": session, "session": session, "at": iso(START)},
    ]
    at, numbers = START, count(1)
    for index, entry in enumerate(entries, 1):
        if isinstance(entry, Event) and entry.kind == "attempt":
            lines.append({"type": "attempt", "http_status": entry.status, "message": entry.text})
        elif isinstance(entry, Event) and entry.kind != "compaction":
            lines.append({"type": "boundary", "kind": entry.kind, "at": iso(at)})
            if entry.text:
                lines[-1]["text"] = entry.text
        else:
            at += entry.seconds if isinstance(entry, Step) else 10
            fresh, cached, output = split(entry.tokens)
            line: Line = {"type": "response", "id": f"m{index}", "at": iso(at), "model": "gpt-5"}
            line["usage"] = {"fresh_input": fresh, "cache_read": cached, "output": output}
            if entry.text:
                line["text"] = entry.text
            if isinstance(entry, Event):
                line["kind"] = "compaction"
            else:
                line["model"] = entry.model or "gpt-5"
                line["calls"] = [_native_call(c, f"t{next(numbers)}") for c in entry.calls]
            lines.append(line)
    return lines


def _native_call(call: Call, ident: str) -> Line:
    line: Line = {"id": call.id or ident, "tool": call.verb, "args": call.args}
    if call.result is not None:
        line["result"] = call.result
    for key, value in (
        ("error", call.error),
        ("http_status", call.status),
        ("exit_code", call.code),
        ("status", call.ended),
    ):
        if value:
            line[key] = value
    return line


def _claude(entries: Sequence[Entry], session: str) -> list[Line]:
    lines: list[Line] = []
    at, numbers = START, count(1)

    def put(kind: str, **more: Any) -> None:
        number = len(lines)
        lines.append(
            {
                "parentUuid": f"{session[:8]}-{number - 1}" if number else None,
                "isSidechain": False,
                "userType": "external",
                "cwd": "/home/noor/app",
                "sessionId": session,
                "version": "2.1.40",
                "gitBranch": "main",
                "type": kind,
                "uuid": f"{session[:8]}-{number}",
                "timestamp": iso(at),
                **more,
            }
        )

    def said(content: Any, **more: Any) -> None:
        put("user", message={"role": "user", "content": content}, **more)

    for index, entry in enumerate(entries, 1):
        if isinstance(entry, Step):
            at += entry.seconds
            fresh, cached, output = split(entry.tokens)
            usage = {
                "input_tokens": fresh,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": cached,
                "output_tokens": output,
            }
            blocks: list[Line] = [{"type": "text", "text": entry.text}] if entry.text else []
            calls = [(c.id or f"toolu_{session[:4]}{next(numbers):04d}", c) for c in entry.calls]
            for ident, call in calls:
                block = {"type": "tool_use", "id": ident, "name": call.verb, "input": call.args}
                blocks.append(block)
            for block in blocks:  # one line for each block, the usage on each
                message = {
                    "id": f"msg_{session[:4]}{index:04d}",
                    "type": "message",
                    "role": "assistant",
                    "model": entry.model or "claude-sonnet-4-5-20250929",
                    "content": [block],
                    "stop_reason": "tool_use" if calls else "end_turn",
                    "usage": usage,
                }
                put("assistant", message=message, requestId=f"req_{session[:4]}{index:04d}")
            for ident, call in calls:
                if call.result is None:
                    continue
                answer = {"tool_use_id": ident, "type": "tool_result", "content": call.result}
                if call.error or call.ended:
                    answer["is_error"] = True
                said([answer], toolUseResult=str(call.result))
        elif entry.kind == "user":
            said(entry.text)
        elif entry.kind == "hook":
            said(f"Stop hook feedback:\n[~/hooks/stop.sh]: {entry.text}", isMeta=True)
        elif entry.kind == "interrupt":
            said([{"type": "text", "text": "[Request interrupted by user]"}])
        elif entry.kind == "compaction":
            facts = {"trigger": "auto", "preTokens": 155_000}
            put("system", subtype="compact_boundary", content="Compacted", compactMetadata=facts)
            told = f"This session is being continued from a previous conversation. {entry.text}"
            said(told, isCompactSummary=True, isVisibleInTranscriptOnly=True)
        elif entry.kind == "attempt":
            error = {"status": entry.status, "error": {"type": "overloaded_error"}}
            put("system", subtype="api_error", error=error, retryInMs=500, retryAttempt=1)
    return lines


def _codex(entries: Sequence[Entry], session: str) -> list[Line]:
    lines: list[Line] = []
    at, numbers = START, count(1)
    total = [0, 0, 0]

    def put(line_type: str, **payload: Any) -> None:
        lines.append({"timestamp": iso(at), "type": line_type, "payload": payload})

    def spent(tokens: int) -> None:
        """The counter, told twice: after the response, and when rate limits are refreshed."""
        fresh, cached, output = split(tokens)
        last = (fresh + cached, cached, output)
        total[:] = [a + b for a, b in zip(total, last, strict=True)]
        info = {
            name: {
                "input_tokens": row[0],
                "cached_input_tokens": row[1],
                "output_tokens": row[2],
                "reasoning_output_tokens": 0,
                "total_tokens": row[0] + row[2],
            }
            for name, row in (("total_token_usage", total), ("last_token_usage", last))
        }
        for percent in (4.0, 4.1):
            limits = {"primary": {"used_percent": percent}}
            put("event_msg", type="token_count", info=info, rate_limits=limits)

    def said(text: str) -> None:
        part = {"type": "input_text", "text": text}
        put("response_item", type="message", role="user", content=[part])

    put(
        "session_meta",
        id=session,
        timestamp=iso(at),
        cwd="/home/noor/app",
        originator="codex_cli_rs",
        cli_version="0.148.0",
        source="cli",
        model_provider="openai",
    )
    put("turn_context", cwd="/home/noor/app", model="gpt-5-codex", approval_policy="never")
    said("<environment_context>\n<cwd>/home/noor/app</cwd>\n</environment_context>")
    for entry in entries:
        if isinstance(entry, Step):
            at += entry.seconds
            put("response_item", type="reasoning", summary=[], encrypted_content="gAAAAAB")
            if entry.text:
                part = {"type": "output_text", "text": entry.text}
                put("response_item", type="message", role="assistant", content=[part])
                put("event_msg", type="agent_message", message=entry.text)
            calls = [(c.id or f"call_{session[:4]}{next(numbers):04d}", c) for c in entry.calls]
            for ident, call in calls:
                if isinstance(call.args, str):
                    more = {"type": "custom_tool_call", "input": call.args, "status": "completed"}
                else:
                    more = {"type": "function_call", "arguments": json.dumps(call.args)}
                put("response_item", name=call.verb, call_id=ident, **more)
            spent(entry.tokens)
            for ident, call in calls:
                if call.result is not None:
                    custom = "custom_tool" if isinstance(call.args, str) else "function"
                    answer = {"type": f"{custom}_call_output", "call_id": ident}
                    put("response_item", output=call.result, **answer)
        elif entry.kind == "user":
            said(entry.text)
            put("event_msg", type="user_message", message=entry.text, kind="plain")
        elif entry.kind == "hook":
            said(f'<hook_prompt hook_run_id="h1">{entry.text}</hook_prompt>')
        elif entry.kind == "interrupt":
            put("event_msg", type="turn_aborted", reason="interrupted")
        elif entry.kind == "compaction":
            at += 10
            spent(entry.tokens)
            put("compacted", message=entry.text, replacement_history=[])
            put("event_msg", type="context_compacted")
        elif entry.kind == "attempt":
            message = f"Reconnecting... 1/5 (unexpected status {entry.status})"
            put("event_msg", type="stream_error", message=message)
    return lines


def _messages(entries: Sequence[Entry]) -> list[tuple[Line, Step | None]]:
    """Chat messages of the OpenAI kind, assistant messages with their step. Keys with _ tell
    what that format leaves out."""
    numbers = count(1)
    found: list[tuple[Line, Step | None]] = [
        ({"role": "system", "content": "You are a careful engineer."}, None)
    ]
    for entry in entries:
        if isinstance(entry, Event):
            if entry.kind == "user":
                found.append(({"role": "user", "content": entry.text}, None))
            continue
        message: Line = {"role": "assistant", "content": entry.text}
        calls = [(c.id or f"call_{next(numbers):04d}", c) for c in entry.calls]
        if calls:
            message["tool_calls"] = [
                {
                    "id": ident,
                    "type": "function",
                    "function": {"name": c.verb, "arguments": json.dumps(c.args)},
                }
                for ident, c in calls
            ]
        found.append((message, entry))
        for ident, call in calls:
            if call.result is not None:
                answer = {"role": "tool", "tool_call_id": ident, "content": _text(call.result)}
                answer |= {"_tool": call.verb, "_error": call.error or bool(call.ended)}
                found.append((answer, None))
    return found


def _text(result: Any) -> str:
    return result if isinstance(result, str) else json.dumps(result)


def _chat(entries: Sequence[Entry], session: str) -> list[Line]:
    return [_plain(message) for message, _ in _messages(entries)]


def _exchanges(
    entries: Sequence[Entry],
    url: str,
    request: Callable[[list[Line]], Line],
    response: Callable[[Line, Step, float, str], Line],
) -> list[Line]:
    """Requests with the whole history, and their responses."""
    lines: list[Line] = []
    history: list[Line] = []
    at = START

    def put(status: int, body: Line) -> None:
        lines.append(
            {
                "url": url,
                "method": "POST",
                "time": iso(at),
                "request": request(history),
                "status": status,
                "response": body,
            }
        )

    failures = [e for e in entries if isinstance(e, Event) and e.kind == "attempt"]
    for message, entry in _messages(entries):
        if entry is not None:
            for failure in failures:
                put(failure.status or 500, {"error": {"message": failure.text, "type": "x"}})
            failures = []
            at += entry.seconds
            put(200, response(message, entry, at, f"{len(lines):04d}"))
        history.append(message)
    if history[-1]["role"] == "tool":  # what the last calls brought stands in the next request
        put(500, {"error": {"message": "the agent was closed", "type": "server_error"}})
    return lines


def _plain(message: Line) -> Line:
    return {key: value for key, value in message.items() if key[0] != "_"}


def _http(entries: Sequence[Entry], session: str) -> list[Line]:
    def response(message: Line, entry: Step, at: float, key: str) -> Line:
        fresh, cached, output = split(entry.tokens)
        finish = "tool_calls" if entry.calls else "stop"
        return {
            "id": f"chatcmpl-{key}",
            "object": "chat.completion",
            "created": int(at),
            "model": entry.model or "gpt-5-mini-2025-08-07",
            "choices": [{"index": 0, "message": message, "finish_reason": finish}],
            "usage": {
                "prompt_tokens": fresh + cached,
                "prompt_tokens_details": {"cached_tokens": cached},
                "completion_tokens": output,
                "total_tokens": entry.tokens,
            },
        }

    return _exchanges(
        entries,
        "https://api.openai.com/v1/chat/completions",
        lambda history: {"model": "gpt-5-mini", "messages": [*map(_plain, history)]},
        response,
    )


def _items(message: Line) -> list[Line]:
    """A chat message as items of the Responses API."""
    if message["role"] == "tool":
        output = {"call_id": message["tool_call_id"], "output": message["content"]}
        return [{"type": "function_call_output", **output}]
    if message["role"] != "assistant":
        return [{"role": message["role"], "content": message["content"]}]
    items: list[Line] = []
    if message["content"]:
        part = {"type": "output_text", "text": message["content"], "annotations": []}
        items.append({"type": "message", "role": "assistant", "content": [part]})
    for call in message.get("tool_calls", []):
        items.append({"type": "function_call", "call_id": call["id"], **call["function"]})
    return items


def _responses(entries: Sequence[Entry], session: str) -> list[Line]:
    def response(message: Line, entry: Step, at: float, key: str) -> Line:
        fresh, cached, output = split(entry.tokens)
        return {
            "id": f"resp_{key}",
            "object": "response",
            "created_at": int(at),
            "status": "completed",
            "model": entry.model or "gpt-5-2025-08-07",
            "output": _items(message),
            "usage": {
                "input_tokens": fresh + cached,
                "input_tokens_details": {"cached_tokens": cached},
                "output_tokens": output,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": entry.tokens,
            },
        }

    return _exchanges(
        entries,
        "https://api.openai.com/v1/responses",
        lambda history: {"model": "gpt-5", "input": [i for m in history for i in _items(m)]},
        response,
    )


def _content(message: Line) -> Line:
    """A chat message as a content of the Gemini API."""
    if message["role"] == "tool":
        said = {"error" if message["_error"] else "output": message["content"]}
        answer = {"id": message["tool_call_id"], "name": message["_tool"], "response": said}
        return {"role": "user", "parts": [{"functionResponse": answer}]}
    parts: list[Line] = [{"text": message["content"]}] if message["content"] else []
    for call in message.get("tool_calls", []):
        args = json.loads(call["function"]["arguments"])
        called = {"id": call["id"], "name": call["function"]["name"], "args": args}
        parts.append({"functionCall": called})
    return {"role": "model" if message["role"] == "assistant" else "user", "parts": parts}


def _gemini(entries: Sequence[Entry], session: str) -> list[Line]:
    def response(message: Line, entry: Step, at: float, key: str) -> Line:
        fresh, cached, output = split(entry.tokens)
        return {
            "responseId": f"gem{key}",
            "createTime": iso(at),
            "modelVersion": entry.model or "gemini-2.5-pro",
            "candidates": [{"content": _content(message), "finishReason": "STOP"}],
            "usageMetadata": {
                "promptTokenCount": fresh + cached,
                "cachedContentTokenCount": cached,
                "candidatesTokenCount": output,
                "totalTokenCount": entry.tokens,
            },
        }

    return _exchanges(
        entries,
        "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-pro:generateContent",
        lambda history: {"contents": [_content(m) for m in history if m["role"] != "system"]},
        response,
    )


def _vercel(entries: Sequence[Entry], session: str) -> list[Line]:
    lines: list[Line] = []
    for message, _ in _messages(entries):
        if message["role"] == "tool":
            kind = "error-text" if message["_error"] else "text"
            part: Line = {
                "type": "tool-result",
                "toolCallId": message["tool_call_id"],
                "toolName": message["_tool"],
                "output": {"type": kind, "value": message["content"]},
            }
            lines.append({"role": "tool", "content": [part]})
        elif message["role"] == "assistant":
            parts: list[Line] = []
            if message["content"]:
                parts.append({"type": "text", "text": message["content"]})
            for call in message.get("tool_calls", []):
                given = json.loads(call["function"]["arguments"])
                ids = {"toolCallId": call["id"], "toolName": call["function"]["name"]}
                parts.append({"type": "tool-call", **ids, "input": given})
            lines.append({"role": "assistant", "content": parts})
        else:
            lines.append(message)
    return lines


def _anthropic(entries: Sequence[Entry], session: str) -> list[Line]:
    lines: list[Line] = []
    numbers = count(1)
    for index, entry in enumerate(entries, 1):
        if isinstance(entry, Event):
            if entry.kind == "user":
                lines.append({"role": "user", "content": entry.text})
            continue
        calls = [(c.id or f"toolu_{next(numbers):04d}", c) for c in entry.calls]
        content: list[Line] = [{"type": "text", "text": entry.text}] if entry.text else []
        for ident, c in calls:
            content.append({"type": "tool_use", "id": ident, "name": c.verb, "input": c.args})
        fresh, cached, output = split(entry.tokens)
        lines.append(
            {
                "id": f"msg_{index:04d}",
                "type": "message",
                "role": "assistant",
                "model": entry.model or "claude-sonnet-4-5-20250929",
                "content": content,
                "stop_reason": "tool_use" if calls else "end_turn",
                "usage": {
                    "input_tokens": fresh,
                    "cache_read_input_tokens": cached,
                    "cache_creation_input_tokens": 0,
                    "output_tokens": output,
                },
            }
        )
        results = [
            {
                "type": "tool_result",
                "tool_use_id": ident,
                "content": _text(c.result),
                **({"is_error": True} if c.error or c.ended else {}),
            }
            for ident, c in calls
            if c.result is not None
        ]
        if results:
            lines.append({"role": "user", "content": results})
    return lines


WRITERS: dict[str, Callable[[Sequence[Entry], str], list[Line]]] = {
    "loopaudit": _native,
    "claude_code": _claude,
    "codex": _codex,
    "codex shell": _codex,
    "openai_chat": _chat,
    "anthropic_messages": _anthropic,
    "http_log": _http,
    "http_log responses": _responses,
    "http_log gemini": _gemini,
    "vercel_ai": _vercel,
}
