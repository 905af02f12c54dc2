"""LangChain messages in each of their dumps, to pieces.

The same message is written as `messages_to_dict` ({"type", "data"}), `model_dump` (flat), `dumpd`
({"lc", "type": "constructor", "id", "kwargs"}), or inside a graph's state. Usage stands up to three
times: `usage_metadata` (cached tokens inside the input, reasoning inside the output, whatever the
provider) goes before the provider's own in `response_metadata`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

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
from loopaudit.formats.usages import anthropic_usage, gemini_usage, openai_usage
from loopaudit.model import (
    BoundaryPiece,
    CallPiece,
    CallStatus,
    Piece,
    ResponsePiece,
    ResultPiece,
    Usage,
)

_TYPES = {
    "HumanMessage": "human",
    "HumanMessageChunk": "human",
    "AIMessage": "ai",
    "AIMessageChunk": "ai",
    "SystemMessage": "system",
    "SystemMessageChunk": "system",
    "ToolMessage": "tool",
    "ToolMessageChunk": "tool",
    "FunctionMessage": "function",
    "FunctionMessageChunk": "function",
    "ChatMessage": "chat",
    "ChatMessageChunk": "chat",
    "RemoveMessage": "remove",
}
_ROLES = {"user": "human", "assistant": "ai", "human": "human", "ai": "ai", "tool": "tool"}
#: kinds of messages that are met
KINDS = frozenset(_TYPES.values())


def unwrap(value: Any) -> tuple[str, Json] | None:
    """Kind and fields of a message in any of its dumps, or None where it is none."""
    if not isinstance(value, dict):
        return None
    kind, body = value.get("type"), value
    if kind == "constructor" and isinstance(value.get("kwargs"), dict):
        body = value["kwargs"]
        place = value.get("id")
        kind = place[-1] if isinstance(place, list) and place else body.get("type")
    elif isinstance(value.get("data"), dict) and "content" not in value:
        body = value["data"]
    if not isinstance(kind, str):
        return None
    kind = _TYPES.get(kind, kind)
    if kind == "chat":
        kind = _ROLES.get(str(body.get("role")), "system")
    known = kind in KINDS and ("content" in body or kind == "remove")
    return (kind, body) if known else None


def message_pieces(kind: str, body: Json) -> list[Piece]:
    """Pieces of one message, run and line still empty. System messages give none."""
    if kind == "human":
        text = text_of(body.get("content"))
        return [BoundaryPiece("", 0, user_kind(text), None, text)]
    if kind == "ai":
        return [answer(body)]
    if kind in ("tool", "function"):
        return [_result(kind, body)]
    return []


def answer(body: Json) -> ResponsePiece:
    told = table(body, "response_metadata")
    return ResponsePiece(
        "",
        0,
        id=name(body.get("id")) or name(told.get("id")),
        model=name(told.get("model_name")) or name(told.get("model")),
        text=text_of(body.get("content")),
        thinking_chars=_thinking(body),
        calls=tuple(_calls(body)),
        usage=usage_of(body),
        finish=name(told.get("finish_reason")) or name(told.get("stop_reason")),
        service=name(told.get("model_provider")),
    )


def usage_of(body: Json) -> Usage | None:
    """The first that tells something of: `usage_metadata`, and what the provider told."""
    found = langchain_usage(body.get("usage_metadata"))
    told = table(body, "response_metadata")
    return (
        found
        or openai_usage(told.get("token_usage"))
        or _provider_usage(told.get("usage"))
        or gemini_usage(told.get("usage_metadata"))
    )


def _provider_usage(value: Any) -> Usage | None:
    if isinstance(value, dict) and "prompt_tokens" not in value:
        return anthropic_usage(value)
    return openai_usage(value)


def _thinking(body: Json) -> int:
    beside = words(table(body, "additional_kwargs").get("reasoning_content"))
    parts = [words(p.get("thinking", p.get("reasoning"))) for p in rows(body.get("content"))]
    return sum(len(text) for text in (beside, *parts) if text)


def _calls(body: Json) -> Iterable[CallPiece]:
    """Parsed calls, those whose arguments could not be parsed, else what the provider sent."""
    any_told = False
    for key in ("tool_calls", "invalid_tool_calls"):
        for item in rows(body.get(key)):
            any_told = True
            given = arguments(item.get("args"))
            yield CallPiece(name(item.get("id")), name(item.get("name")) or "unknown", given)
    if any_told:
        return
    beside = table(body, "additional_kwargs")
    for item in rows(beside.get("tool_calls")):
        function = table(item, "function")
        given = arguments(function.get("arguments"))
        yield CallPiece(name(item.get("id")), name(function.get("name")) or "unknown", given)
    legacy = table(beside, "function_call")
    if legacy:
        yield CallPiece(
            None, name(legacy.get("name")) or "unknown", arguments(legacy.get("arguments"))
        )


def _result(kind: str, body: Json) -> ResultPiece:
    output, flag = output_of(body.get("content")), body.get("status")
    # "success" is what is written where nothing was said
    status = CallStatus.ERROR if flag == "error" else status_of(output)
    key = name(body.get("tool_call_id")) if kind == "tool" else None
    return ResultPiece("", 0, key, output, None, status, name(body.get("name")))
