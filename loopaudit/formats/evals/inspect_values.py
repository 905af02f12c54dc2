"""Values of an Inspect sample: pooled messages, attachments, calls, results, usage."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from loopaudit.formats.shapes import (
    Json,
    arguments,
    count,
    name,
    output_of,
    rows,
    seconds,
    table,
    text_of,
    words,
)
from loopaudit.formats.tool_messages import status_of
from loopaudit.model import CallPiece, CallStatus, ResultPiece, Usage, UsageMark

_ATTACHED = "attachment://"
_DEPTH = 6  # levels of a value in which attachments are looked for
#: types of tool errors that are no failure of the tool
_ENDS = {"approval": CallStatus.REJECTED, "cancelled": CallStatus.INTERRUPTED}


class Values:
    """What the events of one sample refer to instead of repeating it."""

    def __init__(self, sample: Json) -> None:
        self._attachments = table(sample, "attachments")
        pool = table(sample, "events_data").get("messages")
        if not isinstance(pool, list):
            pool = sample.get("message_pool")
        self._pool: list[Any] = pool if isinstance(pool, list) else []

    def whole(self, value: Any, depth: int = _DEPTH) -> Any:
        """The value with attachments put back in their place."""
        if isinstance(value, str):
            if not value.startswith(_ATTACHED):
                return value
            found = self._attachments.get(value[len(_ATTACHED) :])
            return found if isinstance(found, str) else value
        if not self._attachments or depth == 0:
            return value
        if isinstance(value, list):
            return [self.whole(item, depth - 1) for item in value]
        if isinstance(value, dict):
            return {key: self.whole(item, depth - 1) for key, item in value.items()}
        return value

    def inputs(self, event: Json) -> Iterable[Json]:
        """Messages sent to the model: written out, or ranges of (or places in) the pool."""
        refs = event.get("input_refs")
        if not isinstance(refs, list) or not self._pool:
            return rows(event.get("input"))
        found: list[Any] = []
        for ref in refs:
            if isinstance(ref, list) and len(ref) == 2 and all(type(n) is int for n in ref):
                found += self._pool[max(ref[0], 0) : max(ref[1], 0)]
            elif type(ref) is int and 0 <= ref < len(self._pool):
                found.append(self._pool[ref])
        return rows(found)


def message_text(message: Json, values: Values) -> str | None:
    return text_of(values.whole(message.get("content")))


def thinking_of(message: Json, values: Values) -> int:
    """Characters of reasoning, in parts or, in older logs, beside the content."""
    told = [words(part.get("reasoning")) for part in rows(message.get("content"))]
    told.append(words(message.get("reasoning")))
    return sum(len(values.whole(text)) for text in told if text)


def calls_of(message: Json, values: Values) -> tuple[CallPiece, ...]:
    calls = []
    for item in rows(message.get("tool_calls")):
        given = values.whole(arguments(item.get("arguments")))
        if item.get("parse_error") and not given:
            given = words(item.get("parse_error"))
        calls.append(
            CallPiece(name(item.get("id")), name(item.get("function")) or "unknown", given)
        )
    return tuple(calls)


def result_piece(run: str, line: int, item: Json, values: Values) -> ResultPiece:
    """The end of a call, from a tool event or a tool message.

    Errors are those that a tool raised; that a command failed is told in its words only.
    """
    error = table(item, "error")
    kind = name(error.get("type"))
    text = output_of(values.whole(item.get("result", item.get("content"))))
    status = CallStatus.OK
    if error:
        status = _ENDS.get(kind or "", CallStatus.ERROR)
        said = values.whole(words(error.get("message")))
        if not text or status is not CallStatus.OK:
            text = said or text
    elif item.get("failed") is True:
        status = CallStatus.ERROR
    else:
        status = status_of(text)
    started, ended = seconds(item.get("timestamp")), seconds(item.get("completed"))
    known = started is not None and ended is not None and ended >= started
    return ResultPiece(
        run,
        line,
        name(item.get("id") if "event" in item else item.get("tool_call_id")),
        text,
        ended,
        status,
        name(item.get("function")),
        code=kind,
        duration=ended - started if known and ended is not None and started is not None else None,
    )


def inspect_usage(value: Any, context: Any = None) -> Usage | None:
    """Usage of one call. `context`: `input_context_tokens`, all that was sent.

    The input is told without cached tokens; older logs of OpenAI and Gemini models have the
    provider's own counts, cached tokens inside and thoughts outside. The totals tell which.
    """
    if not isinstance(value, dict):
        return None
    keys = ("input_tokens", "output_tokens", "input_tokens_cache_read", "input_tokens_cache_write")
    fresh, output, read, written = (count(value.get(key)) for key in keys)
    total, reasoning = count(value.get("total_tokens")), count(value.get("reasoning_tokens"))
    if fresh is None and output is None and not total:
        return None
    cached = (read or 0) + (written or 0)
    if fresh is not None and output is not None:
        if total and reasoning and total == fresh + output + reasoning:
            output += reasoning
        inside = total == fresh + output and cached > 0 and context is None and cached <= fresh
        if inside:
            fresh -= cached
    usage = Usage(
        fresh_input=fresh,
        cache_read=read,
        cache_write_unsplit=written,
        output=output,
        reasoning=reasoning,
    )
    if fresh is None and output is None:
        usage.fresh_input, usage.mark = total, UsageMark.ESTIMATED
        usage.note = "only the total is known: counted as fresh input"
    return usage
