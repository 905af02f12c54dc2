"""Messages in any spelling that tracing systems carry: GenAI parts, OpenAI, LangChain, and others.

What stands in a span is what the instrumented library sent or got, as it spells it, often as JSON
text. Each spelling is told by its keys; the readers of the APIs do the rest.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import orjson

from loopaudit.formats.apis import anthropic_messages, gemini_generate, openai_chat, vercel_ai
from loopaudit.formats.apis.openai_items import ITEM_TYPES, item_pieces
from loopaudit.formats.shapes import (
    Json,
    arguments,
    name,
    output_of,
    rows,
    table,
    text_of,
    user_kind,
    words,
)
from loopaudit.formats.tool_messages import status_of
from loopaudit.formats.tracing.usage import langchain_usage
from loopaudit.model import (
    BoundaryKind,
    BoundaryPiece,
    CallPiece,
    CallStatus,
    Piece,
    ResponsePiece,
    ResultPiece,
)

#: roles as LangChain, Gemini and others write them
_ROLES = {
    **dict.fromkeys(("ai", "AIMessage", "AIMessageChunk", "model", "assistant"), "assistant"),
    **dict.fromkeys(("human", "HumanMessage", "HumanMessageChunk", "user"), "user"),
    **dict.fromkeys(("tool", "ToolMessage", "ToolMessageChunk", "function"), "tool"),
    **dict.fromkeys(("system", "developer", "SystemMessage", "SystemMessageChunk"), "system"),
}
_VERCEL = frozenset(("tool-call", "tool-result", "tool-error"))
_ANTHROPIC = frozenset(("tool_use", "tool_result", "server_tool_use", "mcp_tool_use"))
_WRAPPED = ("data", "kwargs", "message")
#: keys under which a request keeps its messages, and a result its answer
_LISTS = ("messages", "contents", "input", "prompt", "prompts", "chat_history")


def loaded(value: Any) -> Any:
    """JSON text as its value, other text and values as they stand."""
    if isinstance(value, str) and value[:1] in ("[", "{", '"') and value[-1:] in ("]", "}", '"'):
        try:
            return orjson.loads(value)
        except (ValueError, UnicodeEncodeError):
            return value
    return value


def request_messages(value: Any) -> tuple[list[Any] | None, str | None]:
    """(messages of the history, text of a prompt) of the input of a model; None where not told.

    A bare text is a prompt: it may be a question or a whole conversation printed out.
    """
    value = loaded(value)
    for _ in range(4):
        if isinstance(value, str):
            inner = loaded(value)
            if inner is value or inner == value:
                return None, value or None
            value = inner
            continue
        if isinstance(value, dict):
            inner = next((value[k] for k in _LISTS if isinstance(value.get(k), str | list)), None)
            if inner is None:
                inner = next((value[k] for k in _LISTS if isinstance(value.get(k), dict)), None)
            if inner is None:
                if role_of(value) is None and "inputs" in value:
                    value = value["inputs"]
                    continue
                return ([value] if role_of(value) else None), None
            value = loaded(inner)
        elif isinstance(value, list):
            if len(value) == 1 and isinstance(value[0], list):  # a batch of one, as LangChain has
                value = value[0]
                continue
            if any(isinstance(item, dict) for item in value):
                return value, None
            texts = [item for item in value if isinstance(item, str)]
            return None, "\n".join(texts) or None
        else:
            return None, None
    return None, None


def message_pieces(messages: Iterable[Any]) -> list[Piece]:
    """Pieces of a list of messages, run and line still empty."""
    out: list[Piece] = []
    items: list[Json] = []  # of the Responses API, of which several make one response
    for message in messages:
        message = loaded(message)
        if not isinstance(message, dict):
            continue
        if is_item(message):
            items.append(message)
            continue
        if items:
            out += item_pieces((0, item) for item in items)
            items = []
        out += message_of(message) or _by_tool(message, out)
    if items:
        out += item_pieces((0, item) for item in items)
    return out


def _by_tool(message: Json, before: list[Piece]) -> list[Piece]:
    """A result whose role is the name of its tool, as Langfuse rewrites LangGraph's."""
    role = message.get("role")
    last = next((p for p in reversed(before) if isinstance(p, ResponsePiece)), None)
    if last is None or not any(call.tool == role for call in last.calls):
        return []
    return [_tool({**message, "name": role})]


def is_item(message: Json) -> bool:
    kind = message.get("type")
    return isinstance(kind, str) and kind in ITEM_TYPES and "data" not in message


def role_of(message: Json) -> str | None:
    for key in ("role", "type"):
        found = message.get(key)
        if isinstance(found, str) and found in _ROLES:
            return _ROLES[found]
    kind = message.get("id")
    if isinstance(kind, list) and kind and isinstance(kind[-1], str):
        return _ROLES.get(kind[-1])
    return None


def _plain(message: Json) -> Json:
    """A message without the wrapping of LangChain's dumps, choices and events."""
    for key in _WRAPPED:
        inner = message.get(key)
        if isinstance(inner, dict) and ("content" in inner or "tool_calls" in inner):
            role = role_of(inner) or role_of(message)
            if role is None and ("finish_reason" in message or "index" in message):
                role = "assistant"
            return {**inner, "role": role or name(inner.get("role"))}
    return message


def message_of(message: Json) -> list[Piece]:
    finish = name(message.get("finish_reason"))
    message = _plain(message)
    role = role_of(message)
    if isinstance(message.get("parts"), list):
        parts = rows(message["parts"])
        if any("type" in part or "kind" in part for part in parts):
            return _parts(role, parts, finish or name(message.get("finish_reason")))
        return gemini_generate.content_pieces(
            {**message, "role": "model" if role == "assistant" else "user"}
        )
    content = message.get("content")
    if role in ("assistant", "tool") and isinstance(content, str):
        calls = _printed_calls(content)
        if calls:
            return [ResponsePiece("", 0, calls=calls)]
    kinds = {k for part in rows(content) if isinstance(k := part.get("type"), str)}
    if not kinds.isdisjoint(_VERCEL):
        return vercel_ai.message_pieces({**message, "role": role})
    if not kinds.isdisjoint(_ANTHROPIC):
        return anthropic_messages.message_pieces({**message, "role": role})
    if role == "assistant":
        return [_assistant(message, finish)]
    if role == "tool":
        return [_tool(message)]
    if role == "user":
        text = text_of(content)
        return [BoundaryPiece("", 0, user_kind(text), text=text)]
    return []


def _assistant(message: Json, finish: str | None) -> ResponsePiece:
    piece = openai_chat.assistant_piece({**message, "tool_calls": None})
    calls = list(piece.calls)
    listed = rows(message.get("tool_calls")) or rows(message.get("toolCalls"))
    for item in [*listed, *rows(message.get("invalid_tool_calls"))]:
        body = item.get("function")
        body = body if isinstance(body, dict) else table(item, "custom") or item
        given = next((body[k] for k in ("arguments", "args", "input") if k in body), None)
        tool = name(body.get("name")) or name(item.get("toolName")) or "unknown"
        key = openai_chat.call_id(_flat(item.get("id", item.get("toolCallId"))))
        calls.append(CallPiece(key, tool, arguments(given) if given is not None else None))
    piece.calls = tuple(calls)
    meta = table(message, "response_metadata")
    piece.model = piece.model or name(meta.get("model_name")) or name(meta.get("model"))
    piece.finish = piece.finish or finish or name(meta.get("finish_reason"))
    piece.usage = langchain_usage(message.get("usage_metadata")) or piece.usage
    return piece


def _tool(message: Json) -> ResultPiece:
    output = output_of(message.get("content"))
    status = status_of(output)
    if message.get("status") == "error" or message.get("is_error") is True:
        status = CallStatus.ERROR
    key = message.get("tool_call_id", message.get("toolCallId"))
    if key is None and "content" in message:
        key = message.get("id") if message.get("event.name") or "name" not in message else None
    return ResultPiece(
        "",
        0,
        openai_chat.call_id(_flat(key)),
        output,
        status=status,
        tool=name(message.get("name")),
    )


def _parts(role: str | None, parts: list[Json], finish: str | None) -> list[Piece]:
    """Parts of the GenAI conventions; results may stand under any role."""
    texts: list[str] = []
    calls: list[CallPiece] = []
    out: list[Piece] = []
    thinking = 0
    for part in parts:
        kind = part.get("type")
        if kind in ("tool_call", "server_tool_call"):
            inner = table(part, "server_tool_call")
            given = part.get("arguments", inner.get("arguments"))
            calls.append(
                CallPiece(
                    openai_chat.call_id(_flat(part.get("id"))),
                    name(part.get("name")) or "unknown",
                    arguments(given) if given is not None else None,
                )
            )
        elif kind in ("tool_call_response", "server_tool_call_response"):
            given = part.get("response", part.get("result", part.get("content")))
            given = part.get("server_tool_call_response") if given is None else given
            output = output_of(given)
            out.append(
                ResultPiece(
                    "",
                    0,
                    openai_chat.call_id(_flat(part.get("id"))),
                    output,
                    status=CallStatus.ERROR if part.get("is_error") is True else status_of(output),
                    tool=name(part.get("name")),
                )
            )
        elif kind in ("reasoning", "thinking"):
            thinking += len(words(part.get("content")) or "")
        elif kind == "compaction":
            out.append(BoundaryPiece("", 0, BoundaryKind.COMPACTION))
        elif kind == "text":
            text = words(part.get("content", part.get("text")))
            texts += [text] if text is not None else []
    text = "\n".join(texts) if texts else None
    if role == "assistant" or calls:
        answer = ResponsePiece(
            "", 0, text=text, thinking_chars=thinking, calls=tuple(calls), finish=finish
        )
        return [answer, *out]
    if role == "user" and (texts or not out):
        out.append(BoundaryPiece("", 0, user_kind(text), text=text))
    return out


def _printed_calls(content: str) -> tuple[CallPiece, ...]:
    """Calls that a library wrote into the text of a message (Koog)."""
    if not content.startswith("[{") or '"function"' not in content or '"arguments"' not in content:
        return ()
    return openai_chat.assistant_piece({"tool_calls": loaded(content)}).calls


def _flat(key: Any) -> Any:
    """An id that is a list of ids, as the Microsoft Agent Framework writes it: the last is it."""
    key = loaded(key)
    return key[-1] if isinstance(key, list) and key else key
