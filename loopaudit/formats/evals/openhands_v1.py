"""OpenHands since late 2025 (V1, its agent SDK): events, one a line or one a file, and base states.

Calls made in parallel share the id of their response. What was used stands in base_state.json by
response; in streams of events it is a counter of the whole conversation, told just before the
action of the response that it counts. A condenser has a counter of its own; what it used is no step
of the agent. `action: null` is a call that was refused before it ran.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from loopaudit.formats.apis.openai_chat import call_id
from loopaudit.formats.base import Format, Sample
from loopaudit.formats.evals.openhands_metrics import Streamed, parts
from loopaudit.formats.logreader import LogReader
from loopaudit.formats.shapes import (
    Json,
    arguments,
    name,
    output_of,
    seconds,
    shown,
    table,
    text_of,
    user_kind,
    whole,
    words,
)
from loopaudit.model import (
    AttemptPiece,
    BoundaryKind,
    BoundaryPiece,
    CallPiece,
    CallStatus,
    Piece,
    ResponsePiece,
    ResultPiece,
    RunPiece,
    StepKind,
)

_FOLDER = re.compile(r"([^/\\]+)[/\\]events[/\\][^/\\]*\Z")
_HEX = re.compile(r"[0-9a-f]{32}\Z")
#: events that repeat others, or tell of the harness alone
_PASSED = frozenset(
    (
        *("SystemPromptEvent", "ConversationStateUpdateEvent", "LLMCompletionLogEvent"),
        *("StreamingDeltaEvent", "TokenEvent", "HookExecutionEvent", "CondensationRequest"),
        *("CondensationSummaryEvent", "ResumeEvent", "ServerErrorEvent"),
    )
)
_BOOKKEEPING = frozenset(("kind", "security_risk", "summary"))


class OpenHandsReader(LogReader):
    flags_failures = True

    def __init__(self, path: str) -> None:
        super().__init__(path)
        folder = _FOLDER.search(path)
        self._folder = _id(folder.group(1)) if folder else None
        self._run: str | None = None
        self._counted = Streamed()
        self._seen: set[str] = set()  # ids of responses
        self._kinds = {
            "MessageEvent": self._message,
            "ActionEvent": self._action,
            "ObservationEvent": self._observation,
            "AgentErrorEvent": self._agent_error,
            "UserRejectObservation": self._rejected,
            "ACPToolCallEvent": self._acp,
            "Condensation": self._condensed,
            "PauseEvent": self._interrupted,
            "InterruptEvent": self._interrupted,
            "ConversationErrorEvent": self._error,
            "ConversationStateUpdateEvent": self._state,
        }

    def read(self, line: int, record: Any) -> Iterable[Piece]:
        page = record.get("items") if isinstance(record, dict) else None
        if isinstance(record, list) or isinstance(page, list):
            events, keys = (record, ()) if isinstance(record, list) else (page, ("items",))
            for index, event in enumerate(events or ()):
                yield from self._event(self.place(line, *keys, index), event)
            if not events:
                self.ignored["page without events"] += 1
        elif isinstance(record, dict) and "kind" not in record and "stats" in record:
            yield from self._base_state(line, record)
        else:
            yield from self._event(line, record)

    def end(self) -> Iterable[Piece]:
        rest = self._counted.rest()
        return [*self.emit(self.emit_to(rest, 1)), *super().end()]

    def _of(self, line: int) -> Iterable[Piece]:
        """The run of the events; the first time also what is known of it."""
        if self._run is None:
            self._run = self._folder or self.new_run()
            if self._folder:
                yield RunPiece(self._run, line, session=self._folder)

    def _event(self, line: int, event: Any) -> Iterable[Piece]:
        kind = event.get("kind") if isinstance(event, dict) else None
        if not isinstance(kind, str):
            self.reject(line, f"no OpenHands event: {shown(kind)}")
            return
        read = self._kinds.get(kind)
        head = list(self._of(line))
        found = list(read(line, event)) if read is not None else []
        if not found and (read is None or kind in _PASSED):
            self.ignored[kind if kind in _PASSED else f"unknown event {kind[:40]}"] += 1
        else:
            self.used += 1
        yield from self.emit([*head, *self.emit_to(found, line)])

    def emit_to(self, pieces: list[Piece], line: int) -> list[Piece]:
        for piece in pieces:
            piece.run = piece.run or self._run or self.stem
            piece.line = piece.line or line
        return pieces

    # -- events -----------------------------------------------------------------------------------

    def _message(self, line: int, event: Json) -> Iterable[Piece]:
        at, message = seconds(event.get("timestamp")), table(event, "llm_message")
        text = text_of(message.get("content"))
        if event.get("source") == "agent":
            yield self._answer(event, at, text, ())
        elif event.get("source") == "user":
            yield BoundaryPiece("", 0, user_kind(text), at, text)
        else:
            yield BoundaryPiece("", 0, BoundaryKind.REMINDER, at, text)

    def _action(self, line: int, event: Json) -> Iterable[Piece]:
        at, call = seconds(event.get("timestamp")), table(event, "tool_call")
        given = event.get("action")
        if not isinstance(given, dict):
            given = arguments(call.get("arguments", table(call, "function").get("arguments")))
        if isinstance(given, dict):
            given = {k: v for k, v in given.items() if k not in _BOOKKEEPING and v is not None}
        tool = name(event.get("tool_name")) or name(call.get("name")) or "unknown"
        key = call_id(event.get("tool_call_id")) or call_id(call.get("id"))
        yield self._answer(
            event, at, text_of(event.get("thought")), (CallPiece(key, tool, given, at),)
        )

    def _answer(
        self, event: Json, at: float | None, text: str | None, calls: tuple[CallPiece, ...]
    ) -> ResponsePiece:
        key = call_id(event.get("llm_response_id"))
        usage = cost = None
        if key is None or key not in self._seen:
            usage, cost = self._counted.take()
        if key is not None:
            self._seen.add(key)
        thinking = words(event.get("reasoning_content"))
        return ResponsePiece(
            "",
            0,
            id=key,
            at=at,
            text=text,
            thinking_chars=len(thinking) if thinking else 0,
            calls=calls,
            usage=usage,
            cost=cost,
        )

    def _observation(self, line: int, event: Json) -> Iterable[Piece]:
        body = table(event, "observation")
        code = body.get("exit_code")
        code = whole(table(body, "metadata").get("exit_code")) if code is None else whole(code)
        text = output_of(body.get("content", body.get("output")))
        failed = body.get("is_error") is True or (code or 0) > 0 or bool(body.get("error"))
        if not text and isinstance(body.get("error"), str):
            text = body["error"]
        status = CallStatus.ERROR if failed else CallStatus.OK
        piece = _end_of(event, text, status)
        piece.exit_code = code
        yield piece

    def _agent_error(self, line: int, event: Json) -> Iterable[Piece]:
        yield _end_of(event, event.get("error"), CallStatus.ERROR)

    def _rejected(self, line: int, event: Json) -> Iterable[Piece]:
        yield _end_of(event, event.get("rejection_reason"), CallStatus.REJECTED)

    def _acp(self, line: int, event: Json) -> Iterable[Piece]:
        """A call made by an agent that OpenHands only hosts."""
        at, key = seconds(event.get("timestamp")), call_id(event.get("tool_call_id"))
        status = event.get("status")
        if key is not None and key not in self._seen:
            self._seen.add(key)
            tool = name(event.get("tool_kind")) or name(event.get("title")) or "unknown"
            call = CallPiece(key, tool, arguments(event.get("raw_input")), at)
            yield ResponsePiece("", 0, at=at, calls=(call,))
        if status in ("completed", "failed"):
            failed = status == "failed" or event.get("is_error") is True
            output = event.get("raw_output", event.get("content"))
            yield _end_of(event, output, CallStatus.ERROR if failed else CallStatus.OK)

    def _condensed(self, line: int, event: Json) -> Iterable[Piece]:
        yield BoundaryPiece("", 0, BoundaryKind.COMPACTION, seconds(event.get("timestamp")))

    def _interrupted(self, line: int, event: Json) -> Iterable[Piece]:
        yield BoundaryPiece("", 0, BoundaryKind.INTERRUPT, seconds(event.get("timestamp")))

    def _error(self, line: int, event: Json) -> Iterable[Piece]:
        at, code = seconds(event.get("timestamp")), name(event.get("code"))
        text = words(event.get("detail"))
        if code is not None and "Iteration" in code:
            yield BoundaryPiece("", 0, BoundaryKind.LIMIT, at, text)
        else:
            yield AttemptPiece("", 0, at, code=code, message=text, gave_up=True)

    def _state(self, line: int, event: Json) -> Iterable[Piece]:
        at, value = seconds(event.get("timestamp")), event.get("value")
        if event.get("key") == "execution_status" and value == "stuck":
            yield BoundaryPiece("", 0, BoundaryKind.GUARD_STOP, at, "stuck")
        if event.get("key") == "stats":
            yield from self._counted.told(table(value, "usage_to_metrics"), line, at)

    # -- base state -------------------------------------------------------------------------------

    def _base_state(self, line: int, record: Json) -> Iterable[Piece]:
        self.used += 1
        own = _id(name(record.get("id")))
        self._run = own or self.new_run()
        llm = table(table(record, "agent"), "llm")
        yield RunPiece(
            self._run,
            line,
            session=own,
            agent=name(table(record, "agent").get("kind")),
            project=name(table(record, "workspace").get("working_dir")),
            model=name(llm.get("model")),
        )
        told: list[Piece] = []
        for use, metrics in table(table(record, "stats"), "usage_to_metrics").items():
            for piece in parts(metrics if isinstance(metrics, dict) else {}):
                if "condenser" in str(use):
                    piece.kind = StepKind.COMPACTION
                told.append(piece)
        yield from self.emit(told, self._run, line)


def _end_of(event: Json, text: Any, status: CallStatus) -> ResultPiece:
    at = seconds(event.get("timestamp"))
    tool = name(event.get("tool_name"))
    return ResultPiece("", 0, call_id(event.get("tool_call_id")), text, at, status, tool)


def _id(value: str | None) -> str | None:
    """Folders are named by the id without its hyphens."""
    if value is None or not _HEX.match(value):
        return value
    return "-".join((value[:8], value[8:12], value[12:16], value[16:20], value[20:]))


def sniff(sample: Sample) -> float:
    records = sample.records
    if sample.document and records and isinstance(records[0], list):
        records = records[0][:64]
    elif records and isinstance(records[0], dict) and isinstance(records[0].get("items"), list):
        records = records[0]["items"][:64]
    if not records or not all(isinstance(record, dict) for record in records):
        return 0.0
    if all(_is_event(record) for record in records):
        return 0.97
    first = records[0]
    state = "usage_to_metrics" in table(first, "stats") and "workspace" in first
    return 0.95 if len(records) == 1 and state else 0.0


def _is_event(event: Json) -> bool:
    kind, source = event.get("kind"), event.get("source")
    return (
        isinstance(kind, str)
        and kind[:1].isupper()
        and source in ("agent", "user", "environment", "hook", "llm")
        and "timestamp" in event
    )


FORMAT = Format(
    name="openhands_v1",
    title="OpenHands conversations (V1)",
    sniff=sniff,
    reader=OpenHandsReader,
    describes=(
        "OpenHands V1: a conversation's folder with base_state.json and events/event-*.json, or "
        "its events, one a line. Usage stands in base_state.json, or in streamed counters. "
        "Whether the task was done is not recorded."
    ),
)
