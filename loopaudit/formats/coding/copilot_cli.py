"""GitHub Copilot CLI events: `session-state/<session>/events.jsonl`.

One response may stand in several `assistant.message` events of one `apiCallId`; each call stands in
`toolRequests` and again in `tool.execution_start`. Only output tokens are told of a response. The
shutdown event holds totals by model, cumulative over the legs of a resumed session and counted anew
after a compaction; where they are there, the inputs are estimated from them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from loopaudit.formats.base import Format, Sample, Table
from loopaudit.formats.coding.copilot_cli_store import Store, beside_store
from loopaudit.formats.coding.copilot_cli_usage import Spent
from loopaudit.formats.coding.outputs import ended
from loopaudit.formats.coding.sessions import SessionReader
from loopaudit.formats.shapes import (
    Json,
    arguments,
    name,
    rows,
    seconds,
    shown,
    table,
    text_of,
    whole,
    words,
)
from loopaudit.formats.usages import named_usage
from loopaudit.model import (
    AttemptPiece,
    BoundaryKind,
    BoundaryPiece,
    CallPiece,
    CallStatus,
    Piece,
    ResponsePiece,
    ResultPiece,
    StepKind,
)

_REFUSALS = ("denied", "rejected", "user_denied", "user-denied", "permission-denied")
_PEOPLE = (None, "", "user", "cli")  # `source` of a message that a person wrote


class CopilotCliReader(SessionReader):
    flags_failures = True

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._run = self.stem
        self._model: str | None = None
        self._callers: dict[str, str] = {}  # call -> its run
        self._tools: dict[str, str] = {}  # call -> its tool
        self._started: dict[str, tuple[str, int, CallPiece]] = {}  # executed, not yet requested
        self._spent = Spent()
        self._store = Store(path)
        self._stored = beside_store(path)  # exact figures are kept elsewhere
        self._handlers = {
            "session.start": self._start,
            "session.resume": self._resume,
            "session.model_change": self._switch,
            "session.auto_mode_resolved": self._switch,
            "session.shutdown": self._shutdown,
            "session.error": self._error,
            "session.truncation": self._compaction,
            "session.compaction_complete": self._compaction,
            "user.message": self._user,
            "system.notification": self._notice,
            "assistant.turn_start": self._turn,
            "assistant.turn_end": self._turn,
            "assistant.message": self._answer,
            "tool.execution_start": self._execution,
            "tool.execution_complete": self._result,
            "subagent.started": self._agent,
            "abort": self._abort,
        }

    def read(self, line: int, record: Any) -> Iterable[Piece]:
        if not isinstance(record, dict):
            return self.reject(line, "not a JSON object")
        row = record.get("row")
        if isinstance(row, dict):
            return self._row(line, record, row)
        if _workspace(self.path, record):
            return self.ignore("facts of a session (told by its events)")
        kind, data = record.get("type"), record.get("data")
        if not isinstance(kind, str) or not isinstance(data, dict):
            return self.reject(line, f"no event: type {shown(kind)}")
        handler = self._handlers.get(kind)
        if handler is None:
            return self.ignore(kind)
        self.used += 1
        pieces = handler(line, seconds(record.get("timestamp")), data, record)
        return self.emit(pieces)

    def end(self) -> Iterable[Piece]:
        pieces = self.emit(self._flush())
        pieces += self.emit(self._spent.told(estimate=not self._stored))
        pieces += self.emit(self._store.told())
        super().end()
        return pieces

    def _row(self, line: int, record: Json, row: Json) -> Iterable[Piece]:
        """A row of the store: a session, or the usage of a request."""
        run = name(row.get("id"))
        if record.get("table") == "sessions" and run is not None:
            self.used += 1
            return self.emit([self.begun(run, line, project=name(row.get("cwd")))])
        if not self._store.add(line, row):
            return self.reject(line, "usage that names no session")
        self.used += 1
        return ()

    def _thread(self, data: Json) -> str:
        """The run of an event: a sub-agent's own, or the session's."""
        caller = name(data.get("parentToolCallId"))
        return self._run if caller is None else f"{self._run}/{caller}"

    # -- the session ------------------------------------------------------------------------------

    def _start(self, line: int, at: float | None, data: Json, _: Json) -> list[Piece]:
        self._run = name(data.get("sessionId")) or self._run
        self._model = name(data.get("selectedModel")) or self._model
        context = table(data, "context")
        return [
            self.begun(
                self._run,
                line,
                project=name(context.get("cwd")),
                version=name(data.get("copilotVersion")),
                at=at,
            )
        ]

    def _resume(self, line: int, at: float | None, data: Json, _: Json) -> list[Piece]:
        return [BoundaryPiece(self._run, line, BoundaryKind.RESUME, at)]

    def _switch(self, line: int, at: float | None, data: Json, _: Json) -> list[Piece]:
        self._model = name(data.get("newModel", data.get("chosenModel"))) or self._model
        return []

    def _turn(self, line: int, at: float | None, data: Json, _: Json) -> list[Piece]:
        if data.get("parentToolCallId") is None:
            self._model = name(data.get("model")) or self._model
        return self._flush()

    def _shutdown(self, line: int, at: float | None, data: Json, _: Json) -> list[Piece]:
        self._spent.shutdown(line, data)
        return []

    def _compaction(self, line: int, at: float | None, data: Json, record: Json) -> list[Piece]:
        if data.get("success") is False:
            self.used -= 1
            return list(self.ignore("compaction that failed"))
        run = self._thread(data)
        pieces: list[Piece] = []
        if record.get("type") == "session.compaction_complete":
            self._spent.restart()
            used = data.get("compactionTokensUsed")
            usage = named_usage(used, whole="input", read="cachedInput", output="output")
            if usage is not None:
                kind = StepKind.COMPACTION
                pieces.append(ResponsePiece(run, line, at=at, usage=usage, kind=kind))
        return [*pieces, BoundaryPiece(run, line, BoundaryKind.COMPACTION, at)]

    def _error(self, line: int, at: float | None, data: Json, _: Json) -> list[Piece]:
        return [
            AttemptPiece(
                self._thread(data),
                line,
                at,
                http_status=whole(data.get("statusCode")),
                code=name(data.get("errorType")),
                message=words(data.get("message")),
                gave_up=True,
            )
        ]

    def _abort(self, line: int, at: float | None, data: Json, _: Json) -> list[Piece]:
        text = words(data.get("reason"))
        return [BoundaryPiece(self._thread(data), line, BoundaryKind.INTERRUPT, at, text)]

    def _agent(self, line: int, at: float | None, data: Json, _: Json) -> list[Piece]:
        call = name(data.get("toolCallId"))
        if call is None:
            return []
        parent = self._callers.get(call, self._run)
        return [
            self.begun(
                f"{self._run}/{call}",
                line,
                parent=parent,
                parent_call=call,
                agent=name(data.get("agentName")),
                model=name(data.get("model")),
            )
        ]

    # -- messages ---------------------------------------------------------------------------------

    def _user(self, line: int, at: float | None, data: Json, _: Json) -> list[Piece]:
        run = self._thread(data)
        text = text_of(data.get("content"))
        inserted = data.get("source") not in _PEOPLE or run != self._run
        return [*self._flush(), self.said(run, line, at, text, inserted)]

    def _notice(self, line: int, at: float | None, data: Json, _: Json) -> list[Piece]:
        text = text_of(data.get("content"))
        return [self.said(self._thread(data), line, at, text, inserted=True)]

    def _answer(self, line: int, at: float | None, data: Json, record: Json) -> list[Piece]:
        run = self._thread(data)
        key = (
            name(data.get("apiCallId")) or name(data.get("messageId")) or name(record.get("id"))
        ) or f"line {line}"
        calls = []
        for request in rows(data.get("toolRequests")):
            own = name(request.get("toolCallId"))
            tool = name(request.get("name")) or "unknown"
            calls.append(CallPiece(own, tool, arguments(request.get("arguments")), at))
            if own is not None:
                self._callers[own], self._tools[own] = run, tool
                self._started.pop(own, None)
        model = name(data.get("model")) or self._model
        self._spent.response(run, line, key, model, data.get("outputTokens"))
        thinking = words(data.get("reasoningText"))
        return [
            ResponsePiece(
                run,
                line,
                id=key,
                at=at,
                model=model,
                text=text_of(data.get("content")) or None,
                thinking_chars=len(thinking) if thinking else 0,
                calls=tuple(calls),
            )
        ]

    def _execution(self, line: int, at: float | None, data: Json, _: Json) -> list[Piece]:
        own = name(data.get("toolCallId"))
        if own is None or own in self._callers:
            return []  # told by the message that asked for it
        tool = name(data.get("toolName")) or "unknown"
        call = CallPiece(own, tool, arguments(data.get("arguments")), at)
        self._started[own] = (self._thread(data), line, call)
        return []

    def _flush(self) -> list[Piece]:
        """Calls that no message asks for, each a step of its own."""
        found, self._started = self._started, {}
        pieces: list[Piece] = []
        for own, (run, line, call) in found.items():
            self._callers[own], self._tools[own] = run, call.tool
            pieces.append(ResponsePiece(run, line, at=call.at, model=self._model, calls=(call,)))
        return pieces

    def _result(self, line: int, at: float | None, data: Json, _: Json) -> list[Piece]:
        own = name(data.get("toolCallId"))
        run = self._callers.get(own or "") or self._thread(data)
        error, result = table(data, "error"), table(data, "result")
        failed = data.get("success") is False
        text: Any = words(error.get("message")) if failed else None
        if text is None:
            text = words(result.get("content"))
        if text is None:
            text = words(result.get("detailedContent")) or data.get("result")
        code = name(error.get("code"))
        status, exit_code = ended(text, failed, self._tools.get(own or ""))
        if failed and code is not None and code.lower() in _REFUSALS:
            status = CallStatus.REJECTED
        return [ResultPiece(run, line, own, text, at, status, code=code, exit_code=exit_code)]


def _workspace(path: str, record: Any) -> bool:
    """Whether a document is the `workspace.yaml` that lies beside the events."""
    named = path.replace("\\", "/").rpartition("/")[2] == "workspace.yaml"
    return named and isinstance(record, dict) and {"id", "cwd"} <= record.keys()


_EVENTS = ("session.", "assistant.", "user.message", "tool.execution_", "hook.", "subagent.")


def sniff(sample: Sample) -> float:
    if sample.tables:
        columns = sample.tables.get("assistant_usage_events", frozenset())
        return 0.97 if {"session_id", "input_tokens", "output_tokens"} <= columns else 0.0
    sure = 0
    for record in sample.records:
        if not isinstance(record, dict):
            return 0.0
        if _workspace(sample.path, record):
            return 0.9
        kind = record.get("type")
        if isinstance(kind, str) and isinstance(record.get("data"), dict):
            if kind == "session.start" and "sessionId" in record["data"]:
                return 0.98
            sure += kind.startswith(_EVENTS) and "id" in record and "timestamp" in record
    return 0.95 if sure > len(sample.records) / 2 else 0.0


FORMAT = Format(
    name="copilot_cli",
    title="GitHub Copilot CLI sessions",
    sniff=sniff,
    reader=CopilotCliReader,
    describes=(
        "~/.copilot/session-state/<session>/events.jsonl. Of a response only the output tokens are "
        "recorded there; ~/.copilot/session-store.db has all figures and is read with the events "
        "where both are given. Without it the totals of the shutdown event, where the session came "
        "to its end, are spread evenly over the responses of their model as estimates. Cost is "
        "recorded in credits only."
    ),
    tables=(Table("sessions", ("created_at",)), Table("assistant_usage_events", ("id",))),
)
