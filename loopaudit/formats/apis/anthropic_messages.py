"""Anthropic Messages API: conversations, single messages, arrays, and response objects.

Results stand as blocks inside user messages; tools run by the server have call and result inside
the assistant message. Response objects hold usage, messages alone do not, nothing holds times.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from loopaudit.formats.apis.openai_chat import FOREIGN, call_id
from loopaudit.formats.base import Format, Sample
from loopaudit.formats.conversations import Conversations
from loopaudit.formats.logreader import LogReader
from loopaudit.formats.shapes import Json, name, output_of, rows, seconds, shown, table, user_kind
from loopaudit.formats.tool_messages import status_of
from loopaudit.formats.usages import anthropic_usage, beside
from loopaudit.model import (
    BoundaryKind,
    BoundaryPiece,
    CallPiece,
    CallStatus,
    Piece,
    ResponsePiece,
    ResultPiece,
)

_CALLS = frozenset(("tool_use", "server_tool_use", "mcp_tool_use"))
_ROLES = ("user", "assistant", "system")


def message_pieces(message: Json) -> list[Piece]:
    """Pieces of one message or response object, run and line still empty."""
    role, content = message.get("role"), message.get("content")
    if role == "assistant":
        return _assistant(message, content)
    if role != "user":
        return []
    pieces: list[Piece] = []
    texts: list[str] = [content] if isinstance(content, str) else []
    for block in rows(content):
        if block.get("type") == "tool_result":
            pieces.append(_result(block))
        elif block.get("type") == "compaction":
            pieces.append(BoundaryPiece("", 0, BoundaryKind.COMPACTION))
        elif isinstance(block.get("text"), str):
            texts.append(block["text"])
    at = seconds(message.get("timestamp", message.get("created_at")))
    reminders = [text for text in texts if user_kind(text) is BoundaryKind.REMINDER]
    said = [text for text in texts if user_kind(text) is BoundaryKind.USER]
    pieces += [BoundaryPiece("", 0, BoundaryKind.REMINDER, at, text) for text in reminders]
    if said or not pieces:
        text = "\n".join(said) if said else None
        pieces.append(BoundaryPiece("", 0, BoundaryKind.USER, at, text))
    for piece in pieces:
        piece.at = at
    return pieces


def _assistant(message: Json, content: Any) -> list[Piece]:
    texts: list[str] = [content] if isinstance(content, str) else []
    calls: list[CallPiece] = []
    results: list[Piece] = []
    thinking = 0
    for block in rows(content):
        kind = block.get("type")
        if kind == "text" and isinstance(block.get("text"), str):
            texts.append(block["text"])
        elif kind == "thinking" and isinstance(block.get("thinking"), str):
            thinking += len(block["thinking"])
        elif isinstance(kind, str) and kind in _CALLS:
            tool = name(block.get("name")) or "unknown"
            calls.append(CallPiece(call_id(block.get("id")), tool, block.get("input")))
        elif isinstance(kind, str) and kind.endswith("_tool_result"):
            results.append(_result(block))
    answer = ResponsePiece(
        "",
        0,
        id=call_id(message.get("id")),
        at=seconds(message.get("timestamp", message.get("created_at"))),
        model=name(message.get("model")),
        text="\n".join(texts) if texts else None,
        thinking_chars=thinking,
        calls=tuple(calls),
        usage=anthropic_usage(message.get("usage")),
        finish=name(message.get("stop_reason")),
        service=name(table(message, "usage").get("service_tier")),
    )
    return [*_beside(message, answer), answer, *results]


def _beside(message: Json, answer: ResponsePiece) -> Iterable[Piece]:
    """What the server ran within a response and bills beside it."""
    for entry in beside(message.get("usage")):
        usage = anthropic_usage(entry.usage)
        if usage is not None:
            yield ResponsePiece(
                "",
                0,
                id=f"{answer.id}/{entry.name}" if answer.id else None,
                at=answer.at,
                model=entry.model or answer.model,
                usage=usage,
                kind=entry.kind,
                service=answer.service,
            )


def _result(block: Json) -> ResultPiece:
    content = block.get("content")
    piece = ResultPiece("", 0, call_id(block.get("tool_use_id")), output_of(content))
    if block.get("is_error") is True:
        piece.status = CallStatus.ERROR
    elif isinstance(content, str | list) and "is_error" not in block:  # many agents leave it out
        piece.status = status_of(piece.text)
    elif isinstance(content, dict):
        if str(content.get("type")).endswith("_error"):
            piece.status = CallStatus.ERROR
            piece.code = name(content.get("error_code"))
        exit_code = content.get("return_code")
        if type(exit_code) is int:
            piece.exit_code = exit_code
            if exit_code:
                piece.status = CallStatus.ERROR
    return piece


class AnthropicReader(LogReader):
    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._conversations = Conversations(self.new_run)
        self._run: str | None = None  # of single messages

    def read(self, line: int, record: Any) -> Iterable[Piece]:
        if isinstance(record, list):
            if any(isinstance(item, dict) and "messages" in item for item in record):
                return self._several(line, record)
            return self._conversation(line, {"messages": record}, ())
        if not isinstance(record, dict):
            return self.reject(line, "not a message or conversation")
        if isinstance(record.get("messages"), list):
            return self._conversation(line, record, ("messages",))
        if record.get("role") in _ROLES:
            self.used += 1
            self._run = self._run or self.new_run()
            return self.emit(message_pieces(record), self._run, line)
        return self.reject(line, f"neither messages nor a role: type {shown(record.get('type'))}")

    def _several(self, line: int, records: list[Any]) -> list[Piece]:
        out: list[Piece] = []
        for index, record in enumerate(records):
            if isinstance(record, dict) and isinstance(record.get("messages"), list):
                out += self._conversation(line, record, (index, "messages"))
            else:
                self.reject(self.place(line, index), "not a conversation")
        return out

    def _conversation(self, line: int, record: Json, keys: tuple[Any, ...]) -> list[Piece]:
        """One conversation; where it only goes on with one seen before, its new end alone."""
        self.used += 1
        pieces = self.messages(line, record["messages"], keys, _ROLES, message_pieces)
        own = record.get("conversation_id", record.get("id"))
        match = self._conversations.match(pieces, own=own)
        for piece in match.new:
            piece.run = match.run
        return self.emit(match.new)


# -- sniffing -------------------------------------------------------------------------------------

_BLOCKS = frozenset(
    (*_CALLS, "tool_result", "thinking", "redacted_thinking", "web_search_tool_result")
)


def sniff(sample: Sample) -> float:
    records = sample.records
    if not all(isinstance(r, dict | list) for r in records):
        return 0.0
    if any(isinstance(r, dict) and not FOREIGN.isdisjoint(r) for r in records):
        return 0.0
    if sample.document and isinstance(records[0], list):
        records = records[0][:64]
    messages: list[Any] = []
    for record in records:
        inner = record.get("messages") if isinstance(record, dict) else record
        messages += inner[:64] if isinstance(inner, list) else [record]
    if not messages or not all(_is_message(message) for message in messages):
        return 0.0
    return 0.92 if any(_telling(message) for message in messages) else 0.0


def _is_message(message: Any) -> bool:
    return (
        isinstance(message, dict)
        and message.get("role") in _ROLES
        and isinstance(message.get("content"), str | list)
        and FOREIGN.isdisjoint(message)
        and "tool_calls" not in message
    )


def _telling(message: Json) -> bool:
    if message.get("type") == "message" and "stop_reason" in message and "usage" in message:
        return True
    kinds = [block.get("type") for block in rows(message.get("content"))]
    return any(isinstance(kind, str) and kind in _BLOCKS for kind in kinds)


FORMAT = Format(
    name="anthropic_messages",
    title="Anthropic Messages API",
    sniff=sniff,
    reader=AnthropicReader,
    describes=(
        "Messages in the Anthropic spelling (tool_use and tool_result blocks): a JSON array, one "
        "conversation or one message a line, and response objects. Only response objects hold "
        "usage; nothing holds times."
    ),
)
