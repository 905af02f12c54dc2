"""AutoGen (autogen-agentchat 0.4 and later): task results, streams of messages, saved team states.

Usage stands on the message of each model call (`models_usage`), without the model's name. A summary
of tool results and a hand-over are no calls of a model. A thought belongs to the answer after it.
A saved team state holds the talk of the team and each agent's own context; the talk has usage and
times and is read where it is there, else the contexts, a run each.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from loopaudit.formats.base import Format, Sample
from loopaudit.formats.logreader import LogReader
from loopaudit.formats.shapes import (
    Json,
    arguments,
    name,
    output_of,
    rows,
    seconds,
    shown,
    table,
    text_of,
    whole,
    words,
)
from loopaudit.formats.usages import openai_usage
from loopaudit.model import (
    BoundaryKind,
    BoundaryPiece,
    CallPiece,
    CallStatus,
    Piece,
    ResponsePiece,
    ResultPiece,
    RunPiece,
)

_SAID = frozenset(("TextMessage", "MultiModalMessage", "StopMessage", "StructuredMessage"))
_CONTEXT = frozenset(
    ("UserMessage", "AssistantMessage", "FunctionExecutionResultMessage", "SystemMessage")
)
#: messages that are no work of a model
_PASSED = frozenset(
    (
        *("ToolCallSummaryMessage", "HandoffMessage", "MemoryQueryEvent", "SelectSpeakerEvent"),
        *("ModelClientStreamingChunkEvent", "UserInputRequestedEvent", "SelectorEvent"),
        *("SystemMessage", "GroupChatStart", "GroupChatTermination"),
    )
)
_KNOWN = (
    _SAID
    | _PASSED
    | _CONTEXT
    | frozenset(
        (
            *("ToolCallRequestEvent", "ToolCallExecutionEvent", "ThoughtEvent"),
            *("CodeGenerationEvent", "CodeExecutionEvent"),
        )
    )
)
_USERS = frozenset(("user", "user_proxy", "UserProxy", "human"))


class AutoGenReader(LogReader):
    flags_failures = True

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._stream: _Talk | None = None  # one message a line
        self._stream_run = ""

    def read(self, line: int, record: Any) -> Iterable[Piece]:
        if isinstance(record, list):
            return self._talk(line, record, (), None)
        if not isinstance(record, dict):
            return self.reject(line, "no AutoGen message")
        if isinstance(record.get("messages"), list):
            return self._talk(line, record["messages"], ("messages",), record.get("stop_reason"))
        if isinstance(record.get("chat_message"), dict):  # a Response of one agent
            inner = record.get("inner_messages")
            before = inner if isinstance(inner, list) else []
            return self._talk(line, [*before, record["chat_message"]], (), None)
        if isinstance(record.get("agent_states"), dict):
            return self._team(line, record["agent_states"])
        if isinstance(record.get("llm_context"), dict):
            found = table(record, "llm_context").get("messages")
            keys = ("llm_context", "messages")
            return self._talk(line, found if isinstance(found, list) else [], keys, None)
        kind = record.get("type")
        if isinstance(kind, str) and kind in _KNOWN:
            return self._single(line, record)
        if "stop_reason" in record:
            self.ignored["stop"] += 1
            return ()
        return self.reject(line, f"no AutoGen message: type {shown(record.get('type'))}")

    def _single(self, line: int, record: Json) -> Iterable[Piece]:
        self.used += 1
        if self._stream is None:
            self._stream, self._stream_run = _Talk(self), self.new_run()
        return self.emit(list(self._stream.pieces(record)), self._stream_run, line)

    def _talk(
        self, line: int, messages: list[Any], keys: tuple[Any, ...], stop: Any
    ) -> list[Piece]:
        self.used += 1
        run = self.new_run()
        talk = _Talk(self)
        pieces: list[Piece] = []
        for index, message in enumerate(messages):
            place = self.place(line, *keys, index)
            if not isinstance(message, dict) or not isinstance(message.get("type"), str):
                self.reject(place, f"no AutoGen message: {shown(message)}")
                continue
            for piece in talk.pieces(message):
                piece.run, piece.line = run, place
                pieces.append(piece)
        agent = talk.speakers.pop() if len(talk.speakers) == 1 else None
        pieces.insert(0, RunPiece(run, line, agent=agent))
        if isinstance(stop, str) and stop.startswith(("Maximum number", "Token usage", "Timeout")):
            pieces.append(BoundaryPiece(run, line, BoundaryKind.LIMIT, text=stop))
        return self.emit(pieces)

    def _team(self, line: int, states: Json) -> Iterable[Piece]:
        talks = [
            (key, value["message_thread"])
            for key, value in states.items()
            if isinstance(value, dict) and isinstance(value.get("message_thread"), list)
        ]
        told = [(key, thread) for key, thread in talks if any(map(_is_answer, rows(thread)))]
        if told:
            for key, thread in told:
                yield from self._talk(line, thread, ("agent_states", key, "message_thread"), None)
            return
        if not states:
            self.ignored["state without agents"] += 1
        for key, value in states.items():
            inner = table(value, "agent_state")
            messages = table(inner, "llm_context").get("messages")
            if isinstance(messages, list) and messages:
                place = ("agent_states", key, "agent_state", "llm_context", "messages")
                yield from self._talk(line, messages, place, None)
            else:
                self.ignored["state without messages"] += 1


class _Talk:
    """Messages in order; keeps the thought that waits for its answer."""

    def __init__(self, reader: AutoGenReader) -> None:
        self.speakers: set[str] = set()
        self._reader = reader
        self._thought: str | None = None

    def pieces(self, message: Json) -> Iterable[Piece]:
        kind, content = message.get("type"), message.get("content")
        at = seconds(message.get("created_at"))
        source = name(message.get("source"))
        if kind == "ThoughtEvent":
            self._thought = words(content)
        elif kind in ("ToolCallRequestEvent", "CodeGenerationEvent"):
            yield self._answer(message, source, at)
        elif kind in ("ToolCallExecutionEvent", "FunctionExecutionResultMessage"):
            for item in rows(content):
                yield _result(item, at)
        elif kind == "CodeExecutionEvent":
            yield _code_result(table(message, "result"), at)
        elif kind == "UserMessage" or (kind in _SAID and source in _USERS):
            text = text_of(content)
            yield BoundaryPiece("", 0, BoundaryKind.USER, at, text)
        elif kind in _SAID or kind == "AssistantMessage":
            yield self._answer(message, source, at)
        else:
            known = kind in _PASSED
            self._reader.ignored[str(kind)[:40] if known else f"unknown {str(kind)[:40]}"] += 1

    def _answer(self, message: Json, source: str | None, at: float | None) -> ResponsePiece:
        if source is not None:
            self.speakers.add(source)
        content = message.get("content")
        thought = words(message.get("thought")) or self._thought
        self._thought = None
        calls = _calls(content)
        if message.get("type") == "CodeGenerationEvent":
            code = [words(block.get("code")) or "" for block in rows(message.get("code_blocks"))]
            calls = (CallPiece(None, "execute_code", {"code": "\n\n".join(code)}),) if code else ()
        text = text_of(content) if not calls or isinstance(content, str) else None
        if isinstance(content, dict) and text is None:
            text = thought
        return ResponsePiece(
            "",
            0,
            id=name(message.get("id")),
            at=at,
            text=thought if calls and not text else text,
            calls=calls,
            usage=openai_usage(message.get("models_usage")),
        )


def _calls(content: Any) -> tuple[CallPiece, ...]:
    return tuple(
        CallPiece(
            name(item.get("id")), name(item.get("name")) or "unknown", arguments(item["arguments"])
        )
        for item in rows(content)
        if "arguments" in item
    )


def _result(item: Json, at: float | None) -> ResultPiece:
    status = CallStatus.ERROR if item.get("is_error") is True else CallStatus.OK
    key, tool = name(item.get("call_id")), name(item.get("name"))
    return ResultPiece("", 0, key, output_of(item.get("content")), at, status, tool)


def _code_result(result: Json, at: float | None) -> ResultPiece:
    code = whole(result.get("exit_code"))
    status = CallStatus.ERROR if code else CallStatus.OK
    return ResultPiece("", 0, None, result.get("output"), at, status, exit_code=code)


def _is_answer(message: Json) -> bool:
    return message.get("type") == "ToolCallRequestEvent" or message.get("models_usage") is not None


def sniff(sample: Sample) -> float:
    records = sample.records
    if not records:
        return 0.0
    first = records[0]
    if isinstance(first, dict):
        if isinstance(first.get("agent_states"), dict) and str(first.get("type")).endswith("State"):
            return 0.97
        if isinstance(first.get("llm_context"), dict) and str(first.get("type")).endswith("State"):
            return 0.95
        if isinstance(first.get("chat_message"), dict):
            return 0.95 if _is_message(first["chat_message"]) else 0.0
        if isinstance(first.get("messages"), list) and first["messages"]:
            records = first["messages"][:32]
    elif isinstance(first, list) and sample.document:
        records = first[:32]
    told = [
        r for r in records if not (isinstance(r, dict) and set(r) <= {"messages", "stop_reason"})
    ]
    fits = [isinstance(r, dict) and _is_message(r) for r in told]
    return 0.96 if fits and all(fits) else 0.0


def _is_message(record: Json) -> bool:
    kind = record.get("type")
    if not isinstance(kind, str) or kind not in _KNOWN:
        return False
    return "models_usage" in record or (kind in _CONTEXT and "content" in record)


FORMAT = Format(
    name="autogen",
    title="AutoGen task results and team states",
    sniff=sniff,
    reader=AutoGenReader,
    describes=(
        "autogen-agentchat 0.4+: TaskResult as JSON, its messages one a line, and what "
        "save_state() gives of a team or an agent. Models are not named. Saved contexts of "
        "single agents have neither usage nor times."
    ),
)
