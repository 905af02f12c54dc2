"""What the attributes of a span are called: GenAI (three generations), OpenInference, OpenLLMetry,
Vercel AI SDK, MLflow, Langfuse, LangSmith and Logfire.

One file may mix them, and one span may follow two. The names stand in `attribute_names`.
"""

from __future__ import annotations

import re
from typing import Any

from loopaudit.formats.shapes import Json, dollars, name, rows, table, whole, words
from loopaudit.formats.tracing.answers import answer_pieces
from loopaudit.formats.tracing.attribute_names import (
    AGENT,
    ARGUMENTS,
    CALL_ID,
    COST,
    FINISH,
    INPUT,
    INPUT_TOO,
    KINDS,
    MODEL,
    OUTPUT,
    OUTPUT_TOO,
    RESPONSE_ID,
    RESULT,
    SERVICE,
    SESSION,
    TOOL,
    USAGE,
    USER,
)
from loopaudit.formats.tracing.flattened import numbered
from loopaudit.formats.tracing.histories import Histories
from loopaudit.formats.tracing.messages import loaded, message_pieces, request_messages
from loopaudit.formats.tracing.spans import Kind, Span
from loopaudit.formats.tracing.usage import more, span_usage
from loopaudit.model import ResponsePiece, Usage

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}", re.IGNORECASE)
_TOOL_NAMES = re.compile(r"(?:execute_tool|running tool:|tool:|tools/call) +(\S.*)|tool\.(\S+)")


def first(attributes: Json, names: tuple[str, ...]) -> Any:
    for key in names:
        found = attributes.get(key)
        if found is not None and found != "":
            return found
    return None


def fill(span: Span, attributes: Json, histories: Histories) -> None:
    """Set kind and content of `span` by its attributes."""
    span.kind, span.what = kind_of(span.name, attributes)
    span.session = span.session or name(first(attributes, SESSION)) or _thread(attributes)
    span.user = span.user or name(first(attributes, USER))
    span.agent = span.agent or name(first(attributes, AGENT))
    if span.kind is Kind.MODEL:
        _model(span, attributes)
        messages, span.prompt = history_of(attributes)
        if messages is not None:
            span.history = histories.read(messages, message_pieces)
    elif span.kind is Kind.TOOL:
        _tool(span, attributes)
    elif span.kind is Kind.AGENT:
        span.usage = usage_of(attributes)
        span.model = name(first(attributes, MODEL))
        span.agent = agent_name(span.agent or span.name)
    if span.kind in (Kind.AGENT, Kind.OTHER) and span.prompt is None:
        span.prompt = _prompt(first(attributes, (*INPUT, *INPUT_TOO)))


def agent_name(text: str | None) -> str | None:
    """A name of an agent without what the conventions put before it; an id is no name."""
    text = (text or "").removeprefix("invoke_agent ").removeprefix("invoke_agent")
    return None if not text or _UUID.search(text) else text


def kind_of(span_name: str, attributes: Json) -> tuple[Kind, str]:
    """The kind of a span, and what to call it where it is ignored."""
    what = "other"
    for key, kinds in KINDS.items():
        value = attributes.get(key)
        if not isinstance(value, str):
            continue
        found = kinds.get(value)
        if found is not None:
            return found, found.value
        what = value[:40].lower()
    if "pydantic_ai.all_messages" in attributes or "all_messages_events" in attributes:
        return Kind.AGENT, "agent"
    if "gen_ai.tool.name" in attributes or "ai.toolCall.name" in attributes:
        return Kind.TOOL, "tool"
    if what != "other":
        return Kind.OTHER, what
    telling = (
        "gen_ai.usage.input_tokens",
        "gen_ai.usage.output_tokens",
        "gen_ai.completion.0.role",
    )
    asked = "gen_ai.request.model" in attributes or "gen_ai.response.model" in attributes
    if asked and (any(key in attributes for key in telling) or span_name.startswith("chat ")):
        return Kind.MODEL, "model"
    return Kind.OTHER, "other"


def usage_of(attributes: Json) -> Usage | None:
    for names in USAGE:
        sent, output, read, written, reasoning, total = (first(attributes, n) for n in names)
        if sent is not None or output is not None:
            return span_usage(
                sent, output, read=read, written=written, reasoning=reasoning, total=total
            )
    told = loaded(attributes.get("mlflow.chat.tokenUsage"))
    if isinstance(told, dict):
        return span_usage(
            told.get("input_tokens"),
            told.get("output_tokens"),
            read=told.get("cache_read_input_tokens"),
            written=told.get("cache_creation_input_tokens"),
            total=told.get("total_tokens"),
        )
    told = loaded(attributes.get("langfuse.observation.usage_details"))
    return details_usage(told) if isinstance(told, dict) else None


def details_usage(details: Json) -> Usage | None:
    """Langfuse's `usageDetails`: free keys. `input_…` and `output_…` were split off by its SDK,
    `prompt_details.…` and `completion_details.…` stand inside."""

    def get(*keys: str) -> Any:
        return first(details, keys)

    apart = any(k.startswith(("input_", "output_")) for k in details)
    return span_usage(
        get("input", "prompt_tokens", "input_tokens"),
        get("output", "completion_tokens", "output_tokens"),
        read=get(
            *("input_cache_read", "input_cached_tokens", "prompt_details.cache_read"),
            *("cache_read_input_tokens", "input_cache_read_tokens", "cached_tokens"),
        ),
        written=get(
            *("input_cache_creation", "prompt_details.cache_write", "input_cache_write"),
            *("cache_creation_input_tokens", "input_cache_creation_tokens"),
        ),
        reasoning=get(
            *("output_reasoning", "completion_details.reasoning", "output_reasoning_tokens"),
            "reasoning_tokens",
        ),
        total=get("total", "total_tokens"),
        beside=apart or "cache_read_input_tokens" in details,
    )


# -- a model --------------------------------------------------------------------------------------


def _model(span: Span, attributes: Json) -> None:
    answer, span.results = _answer(attributes)
    answer = span.answer = answer or ResponsePiece("", 0)
    answer.model = name(first(attributes, MODEL)) or answer.model
    answer.cost = _cost(first(attributes, COST)) or answer.cost
    answer.service = name(first(attributes, SERVICE)) or answer.service
    finish = loaded(first(attributes, FINISH))
    finish = finish[0] if isinstance(finish, list) and finish else finish
    answer.finish = name(finish) or answer.finish
    span.request = name(first(attributes, RESPONSE_ID)) or answer.id
    span.usage = more(usage_of(attributes), answer.usage)
    span.agent = name(first(attributes, AGENT[:3]))


def _answer(attributes: Json) -> tuple[ResponsePiece | None, list[Any]]:
    flat = numbered(attributes, "llm.output_messages", "message")
    flat = flat or numbered(attributes, "gen_ai.completion")
    found = answer_pieces(first(attributes, OUTPUT) or flat)
    if found[0] is None and ("ai.response.text" in attributes or _has_calls(attributes)):
        message = {
            "role": "assistant",
            "content": attributes.get("ai.response.text"),
            "toolCalls": loaded(first(attributes, ("ai.response.toolCalls",))),
        }
        found = answer_pieces([message])
    if found[0] is None:
        said = attributes.get("ai.response.object")
        choices = [e for e in _events(attributes) if e.get("event.name") == "gen_ai.choice"]
        found = answer_pieces(choices or first(attributes, OUTPUT_TOO) or said)
    return found


def _has_calls(attributes: Json) -> bool:
    return attributes.get("ai.response.toolCalls") is not None


def history_of(attributes: Json) -> tuple[list[Any] | None, str | None]:
    """(messages of the history, prompt) that the attributes of a model span tell."""
    flat = numbered(attributes, "llm.input_messages", "message")
    flat = flat or numbered(attributes, "gen_ai.prompt")
    if not flat:
        flat = [e for e in _events(attributes) if e.get("event.name") != "gen_ai.choice"]
    if attributes.get("gen_ai.input.messages") is None and flat:
        return list(flat), None
    return request_messages(first(attributes, (*INPUT, *INPUT_TOO)))


def _events(attributes: Json) -> list[Json]:
    """Messages in an attribute `events`, as Logfire has them."""
    events = loaded(attributes.get("events"))
    return rows(events) if isinstance(events, list) else []


def _cost(value: Any) -> Any:
    value = loaded(value)
    if isinstance(value, dict):
        value = value.get("total_cost", value.get("total"))
    return dollars(value) or None


def _thread(attributes: Json) -> str | None:
    """Id of the thread in OpenInference's `metadata`."""
    return name(table({"m": loaded(attributes.get("metadata"))}, "m").get("thread_id"))


def _prompt(value: Any) -> str | None:
    """The first words of a user in the input of a whole run."""
    messages, text = request_messages(value)
    for piece in message_pieces(messages[:8]) if messages else ():
        said = getattr(piece, "text", None)
        if isinstance(said, str) and said and not isinstance(piece, ResponsePiece):
            return said
    value = loaded(value)
    if text is None and isinstance(value, dict):
        text = words(value.get("prompt", value.get("query", value.get("question"))))
    return text


# -- a tool ---------------------------------------------------------------------------------------


def _tool(span: Span, attributes: Json) -> None:
    told = name(first(attributes, TOOL))
    if told is None:
        match = _TOOL_NAMES.fullmatch(span.name)
        told = (match[1] or match[2]) if match else span.name
    span.tool = told or "unknown"
    key = loaded(first(attributes, CALL_ID))
    span.call_id = name(key[-1] if isinstance(key, list) and key else key)
    span.args = tool_arguments(first(attributes, ARGUMENTS))
    if span.args is None and "target" in attributes:  # BeeAI; elsewhere it is the schema
        span.args = tool_arguments(attributes.get("tool.parameters"))
    span.result = tool_result(first(attributes, RESULT))


def tool_arguments(value: Any) -> Any:
    """Arguments of an execution, without what a framework put around them."""
    value = loaded(value)
    if isinstance(value, dict):
        text = value.get("input_str")
        if isinstance(text, str) and ("tags" in value or "metadata" in value):
            return python_literal(text)
        inner = value.get("kwargs")
        if isinstance(inner, dict) and set(value) <= {"args", "kwargs"} and not value.get("args"):
            return inner
    return python_literal(value) if isinstance(value, str) else value


def python_literal(text: str) -> Any:
    """The value of a dict or list as Python prints it; else the text."""
    if text[:1] in ("{", "[") and len(text) < 1_000_000:
        import ast

        try:
            return ast.literal_eval(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return text
    return text


def tool_result(value: Any) -> Any:
    """The result of an execution; a tool message is taken by its content."""
    found = loaded(value)
    for _ in range(3):
        if isinstance(found, dict) and set(found) & {"output", "outputs"} and len(found) <= 3:
            inner = found.get("output", found.get("outputs"))
            if isinstance(inner, dict):
                found = inner
                continue
        if isinstance(found, dict):
            body = table(found, "kwargs") or table(found, "data") or found
            known = body.get("type") == "tool" or "tool_call_id" in body
            if known and "content" in body:
                return body["content"]
        break
    return value if isinstance(value, str) and not isinstance(found, dict) else found


def error_of(span: Span, attributes: Json, events: list[tuple[str, Json]]) -> None:
    """Type and message of a failure, from the attributes and the exception event."""
    thrown = next((a for event, a in events if event == "exception"), {})
    span.code = name(first(attributes, ("error.type", "exception.type"))) or name(
        thrown.get("exception.type")
    )
    message = words(thrown.get("exception.message")) or words(attributes.get("error.message"))
    span.error = message or words(attributes.get("exception.message")) or span.error
    status = first(
        attributes, ("http.response.status_code", "http.status_code", "gen_ai.response.status_code")
    )
    span.http_status = whole(status)
    if span.http_status is None and span.code and span.code.isascii() and span.code.isdigit():
        span.http_status = int(span.code) if len(span.code) == 3 else None
