"""Vercel AI SDK: model messages, UI messages and `steps` of a result (versions 4 to 6).

In model messages a result stands in a message of role `tool`, in UI messages and steps beside its
call. A step's `tool-error` part loses its text when it is written as JSON; the text is then taken
from the step's response messages. Only steps hold usage and times; `totalUsage` is their sum.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from loopaudit.formats.apis.openai_chat import call_id
from loopaudit.formats.base import Format, Sample
from loopaudit.formats.logreader import LogReader
from loopaudit.formats.shapes import (
    Json,
    name,
    rows,
    seconds,
    shown,
    table,
    text_of,
    user_kind,
    words,
)
from loopaudit.formats.usages import vercel_usage
from loopaudit.model import (
    BoundaryPiece,
    CallPiece,
    CallStatus,
    Piece,
    ResponsePiece,
    ResultPiece,
)

_ROLES = ("system", "user", "assistant", "tool", "data")
_OUTCOMES = {
    "error-text": CallStatus.ERROR,
    "error-json": CallStatus.ERROR,
    "execution-denied": CallStatus.REJECTED,
}


def message_pieces(message: Json) -> list[Piece]:
    """Pieces of a model message (ModelMessage, CoreMessage), run and line still empty."""
    role, content = message.get("role"), message.get("content")
    if role == "assistant":
        answer = ResponsePiece("", 0, text=text_of(content))
        invoked = rows(message.get("toolInvocations"))  # versions 3 and 4
        if invoked:
            parts = [{"type": "tool-invocation", "toolInvocation": call} for call in invoked]
            return [answer, *_ui_calls(answer, parts)]
        results = _read_parts(answer, rows(content))
        return [answer, *results]
    if role == "tool":
        return [_result(part) for part in rows(content) if part.get("type") == "tool-result"]
    if role == "user":
        text = text_of(content)
        return [BoundaryPiece("", 0, user_kind(text), text=text)]
    return []


def _read_parts(answer: ResponsePiece, parts: list[Json]) -> list[Piece]:
    """Adds the calls among `parts` to the response; results that stand among them are returned."""
    calls: list[CallPiece] = []
    results: list[Piece] = []
    for part in parts:
        kind = part.get("type")
        if kind == "tool-call":
            tool = name(part.get("toolName")) or "unknown"
            calls.append(CallPiece(call_id(part.get("toolCallId")), tool, _input(part)))
        elif kind in ("tool-result", "tool-error"):
            results.append(_result(part))
        elif kind == "reasoning":
            answer.thinking_chars += len(words(part.get("text")) or "")
    answer.calls = tuple(calls)
    return results


def _input(part: Json) -> Any:
    return part.get("input", part.get("args"))  # `args` until version 4


def _result(part: Json) -> ResultPiece:
    piece = ResultPiece("", 0, call_id(part.get("toolCallId")), tool=name(part.get("toolName")))
    if part.get("type") == "tool-error":
        piece.status = CallStatus.ERROR
        error = part.get("error")
        piece.text = error if error != {} else None
        return piece
    piece.text = part.get("output", part.get("result"))  # `result` until version 4
    output = table(part, "output")
    kind = output.get("type")
    if isinstance(kind, str) and ("value" in output or kind == "execution-denied"):
        piece.status = _OUTCOMES.get(kind, CallStatus.OK)
        piece.text = output.get("value", output.get("reason"))
    if part.get("isError") is True:
        piece.status = CallStatus.ERROR
    return piece


def ui_pieces(message: Json) -> list[Piece]:
    """Pieces of a UI message: each `step-start` among its parts begins a response."""
    parts = rows(message.get("parts"))
    at = seconds(message.get("createdAt"))
    if message.get("role") == "user":
        text = text_of([part for part in parts if part.get("type") == "text"])
        return [BoundaryPiece("", 0, user_kind(text), at, text)]
    if message.get("role") != "assistant":
        return []
    steps: list[list[Json]] = [[]]
    for part in parts:
        if part.get("type") == "step-start":
            if steps[-1]:
                steps.append([])
        else:
            steps[-1].append(part)
    pieces: list[Piece] = []
    for step in steps:
        answer = ResponsePiece("", 0, at=at, text=text_of(step))
        at = None  # the message's time is that of its first response
        pieces += [answer, *_ui_calls(answer, step)]
    extra = table(message, "metadata")
    last = [piece for piece in pieces if isinstance(piece, ResponsePiece)][-1]
    last.usage = vercel_usage(extra.get("totalUsage", extra.get("usage")))
    last.model = name(extra.get("model"))
    return pieces


def _ui_calls(answer: ResponsePiece, parts: list[Json]) -> Iterable[Piece]:
    calls: list[CallPiece] = []
    results: list[Piece] = []
    for part in parts:
        kind = part.get("type")
        if kind == "reasoning":
            answer.thinking_chars += len(words(part.get("text")) or "")
        if kind == "tool-invocation":  # version 4
            part = table(part, "toolInvocation")
            tool = name(part.get("toolName"))
        elif kind == "dynamic-tool":
            tool = name(part.get("toolName"))
        elif isinstance(kind, str) and kind.startswith("tool-"):
            tool = kind[5:] or None
        else:
            continue
        tool = tool or "unknown"
        key, state = call_id(part.get("toolCallId")), part.get("state")
        calls.append(CallPiece(key, tool, _input(part)))
        output = part.get("output", part.get("result"))
        if state == "output-error":
            text = part.get("errorText")
            results.append(ResultPiece("", 0, key, text, status=CallStatus.ERROR, tool=tool))
        elif state == "output-denied":
            results.append(ResultPiece("", 0, key, status=CallStatus.REJECTED, tool=tool))
        elif state in ("output-available", "result"):
            results.append(ResultPiece("", 0, key, output, tool=tool))
    answer.calls = tuple(calls)
    return results


def step_pieces(step: Json) -> list[Piece]:
    """Pieces of one step of a result."""
    response = table(step, "response")
    model = table(step, "model")
    answer = ResponsePiece(
        "",
        0,
        id=call_id(response.get("id")),
        at=seconds(response.get("timestamp")),
        model=name(response.get("modelId")) or name(model.get("modelId")),
        usage=vercel_usage(step.get("usage")),
        finish=name(step.get("finishReason")),
    )
    content = rows(step.get("content"))
    if content:
        answer.text = text_of(content)
        results = _read_parts(answer, content)
    else:  # version 4 keeps them apart, without `type`
        answer.text = words(step.get("text"))
        calls = [{**part, "type": "tool-call"} for part in rows(step.get("toolCalls"))]
        ended = [{**part, "type": "tool-result"} for part in rows(step.get("toolResults"))]
        results = _read_parts(answer, [*calls, *ended])
    for piece in results:
        if isinstance(piece, ResultPiece) and piece.text is None:
            piece.text = _told(response, piece.call_id)
    return [answer, *results]


def _told(response: Json, key: str | None) -> Any:
    """What the response messages say of a result whose own text was lost: the last word of it."""
    for message in reversed(rows(response.get("messages"))):
        for part in reversed(rows(message.get("content"))):
            if part.get("type") == "tool-result" and part.get("toolCallId") == key:
                return _result(part).text
    return None


def steps_of(record: Any) -> list[Any] | None:
    """Steps of a result object, or of a bare list of steps."""
    steps = record.get("steps") if isinstance(record, dict) else record
    if isinstance(steps, list) and steps and all(_is_step(step) for step in steps):
        return steps
    return None


def _is_step(step: Any) -> bool:
    return (
        isinstance(step, dict)
        and "finishReason" in step
        and isinstance(step.get("usage"), dict)
        and ("response" in step or "content" in step or "text" in step)
    )


class VercelReader(LogReader):
    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._run: str | None = None  # of single messages and steps

    def read(self, line: int, record: Any) -> Iterable[Piece]:
        steps = steps_of(record)
        if steps is not None:
            keys = () if isinstance(record, list) else ("steps",)
            return self._all(line, steps, keys)
        if isinstance(record, list):
            return self._all(line, record, ())
        if isinstance(record, dict) and isinstance(record.get("messages"), list):
            if not record["messages"]:
                self.ignored["conversation without messages"] += 1
            return self._all(line, record["messages"], ("messages",), name(record.get("id")))
        self._run = self._run or self.new_run()
        return self._one(line, record, self._run)

    def _all(
        self, line: int, items: list[Any], keys: tuple[Any, ...], own: str | None = None
    ) -> list[Piece]:
        run = self.new_run(own)
        out: list[Piece] = []
        for index, item in enumerate(items):
            out += self._one(self.place(line, *keys, index), item, run)
        return out

    def _one(self, line: int, record: Any, run: str) -> Iterable[Piece]:
        if _is_step(record):
            pieces = step_pieces(record)
        elif isinstance(record, dict) and record.get("role") in _ROLES:
            read = ui_pieces if isinstance(record.get("parts"), list) else message_pieces
            pieces = read(record)
        else:
            return self.reject(line, f"neither a message nor a step: {shown(record)}")
        self.used += 1
        return self.emit(pieces, run, line)


# -- sniffing -------------------------------------------------------------------------------------

_PARTS = ("tool-call", "tool-result", "tool-approval-request", "tool-error")


def sniff(sample: Sample) -> float:
    records = sample.records
    if not records:
        return 0.0
    if all(steps_of(r) is not None or _is_step(r) for r in records):
        return 0.95
    messages: list[Any] = []
    for record in records:
        inner = record.get("messages") if isinstance(record, dict) else record
        messages += inner[:64] if isinstance(inner, list) else [record]
    if not all(isinstance(m, dict) and m.get("role") in _ROLES for m in messages):
        return 0.0
    return 0.95 if any(_telling(message) for message in messages) else 0.0


def _telling(message: Json) -> bool:
    content = message.get("content")
    if any(part.get("type") in _PARTS for part in rows(content)):
        return True
    parts = message.get("parts")
    return isinstance(parts, list) and any("type" in part for part in rows(parts))


FORMAT = Format(
    name="vercel_ai",
    title="Vercel AI SDK",
    sniff=sniff,
    reader=VercelReader,
    describes=(
        "Messages of the Vercel AI SDK (ModelMessage or UIMessage) and the steps of its results, "
        "as JSON. Only steps hold usage and times."
    ),
)
