"""Qwen Code sessions: lines in Claude Code's envelope with the content parts of Gemini.

One response may stand in several lines of one `uuid` (a thought, then the call with the usage).
Telemetry lines repeat the usage and are left out, but for failed requests, which stand nowhere
else. After a rewind the dead branch stays in the file: its tokens were spent.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from loopaudit.formats.apis.gemini_generate import content_pieces
from loopaudit.formats.base import Format, Sample
from loopaudit.formats.coding.outputs import ended
from loopaudit.formats.coding.sessions import SessionReader
from loopaudit.formats.shapes import Json, name, rows, seconds, table, whole, words
from loopaudit.formats.usages import gemini_usage
from loopaudit.model import (
    AttemptPiece,
    BoundaryKind,
    BoundaryPiece,
    CallStatus,
    Piece,
    ResponsePiece,
    ResultPiece,
    RunPiece,
    StepKind,
)

_KINDS = ("user", "assistant", "tool_result", "system")
#: user lines that no person wrote
_INSERTED = frozenset(
    (
        *("notification", "background_task_completed", "cron", "goal_runtime", "goal_turn_end"),
        *("agent_bootstrap", "agent_launch_prompt", "agent_retry", "at_command"),
    )
)
_MACHINES = ("goal_control", "goal_runtime", "system")  # `provenance` of what no person wrote
_ENDED = {
    "success": CallStatus.OK,
    "error": CallStatus.ERROR,
    "cancelled": CallStatus.REJECTED,
    "canceled": CallStatus.REJECTED,
}


class QwenCodeReader(SessionReader):
    def read(self, line: int, record: Any) -> Iterable[Piece]:
        if not isinstance(record, dict):
            return self.reject(line, "not a JSON object")
        kind = record.get("type")
        if kind not in _KINDS:
            return self.ignore(f"unknown type {name(kind) or '?'}")
        run = self._thread(record)
        at = seconds(record.get("timestamp"))
        if kind == "system":
            return self._system(run, line, at, record)
        message = record.get("message")
        if not isinstance(message, dict) or not isinstance(message.get("parts"), list):
            return self.reject(line, "a message without parts")
        self.used += 1
        pieces: list[Piece] = []
        if run not in self._told:
            session = name(record.get("sessionId")) or self.stem
            pieces.append(
                self.begun(
                    run,
                    line,
                    parent=session if run != session else None,
                    agent=name(record.get("agentName")) if run != session else None,
                    project=name(record.get("cwd")),
                    version=name(record.get("version")),
                    forked_from=name(table(record, "forkedFrom").get("sessionId")),
                )
            )
        if kind == "assistant":
            pieces += self._answer(run, line, at, record, message)
        elif kind == "tool_result":
            pieces += self._results(run, line, at, record, message)
        else:
            pieces.append(self._user(run, line, at, record, message))
        return self.emit(pieces)

    def _thread(self, record: Json) -> str:
        """The session, or the sub-agent that wrote the line."""
        session = name(record.get("sessionId")) or self.stem
        agent = name(record.get("agentId"))
        return session if agent is None else f"{session}/{agent}"

    def _answer(
        self, run: str, line: int, at: float | None, record: Json, message: Json
    ) -> list[Piece]:
        pieces = content_pieces({**message, "role": "model"})
        for piece in pieces:
            piece.run, piece.line, piece.at = run, line, at
            if isinstance(piece, ResponsePiece):
                piece.id = name(record.get("uuid"))
                piece.model = name(record.get("model"))
                usage = gemini_usage(record.get("usageMetadata"))
                piece.usage = usage if usage is not None and usage.total else None
        return pieces

    def _results(
        self, run: str, line: int, at: float | None, record: Json, message: Json
    ) -> list[Piece]:
        facts = table(record, "toolCallResult")
        pieces: list[Piece] = []
        parts = [p for p in rows(message["parts"]) if table(p, "functionResponse")]
        for part in parts:
            answer = table(part, "functionResponse")
            said = answer.get("response")
            failed: bool | None = None
            if isinstance(said, dict):
                failed = "error" in said and "output" not in said
                said = said.get("error" if failed else "output", said)
            key = name(answer.get("id")) or name(facts.get("callId"))
            flag = facts.get("status") if len(parts) == 1 else None
            status = _ENDED.get(flag) if isinstance(flag, str) else None
            code = None
            if status is not CallStatus.REJECTED:
                wrong = status is CallStatus.ERROR or failed
                flag = True if wrong else None if status is None else False
                status, code = ended(said, flag, name(answer.get("name")))
            kind = name(facts.get("errorType")) if status is CallStatus.ERROR else None
            tool = name(answer.get("name"))
            pieces.append(
                ResultPiece(run, line, key, said, at, status, tool, code=kind, exit_code=code)
            )
        if not pieces:
            self.used -= 1
            self.reject(line, "a tool result without a function response")
        return pieces

    def _user(
        self, run: str, line: int, at: float | None, record: Json, message: Json
    ) -> BoundaryPiece:
        own = [
            text
            for part in rows(message["parts"])
            if (text := words(part.get("text"))) is not None
            and not text.startswith("<qwen:user-prompt-submit-context>")
        ]
        subtype = record.get("subtype")
        inserted = isinstance(subtype, str) and subtype in _INSERTED
        inserted |= record.get("provenance") in _MACHINES or record.get("isSidechain") is True
        return self.said(run, line, at, "\n".join(own) if own else None, inserted)

    def _system(self, run: str, line: int, at: float | None, record: Json) -> Iterable[Piece]:
        subtype = name(record.get("subtype")) or "?"
        facts = table(record, "systemPayload")
        if subtype == "chat_compression":
            self.used += 1
            return self.emit([BoundaryPiece(run, line, BoundaryKind.COMPACTION, at)])
        if subtype == "parent_session" and name(facts.get("parentSessionId")):
            self.used += 1
            return self.emit([RunPiece(run, line, parent=name(facts["parentSessionId"]))])
        event = table(facts, "uiEvent")
        if subtype == "ui_telemetry":
            kind = name(event.get("event.name")) or ""
            if kind.endswith("api_error") or "error_message" in event:
                self.used += 1
                return self.emit(
                    [
                        AttemptPiece(
                            run,
                            line,
                            seconds(event.get("event.timestamp")) or at,
                            http_status=whole(event.get("status_code")) or None,
                            code=name(event.get("error_type")),
                            message=words(event.get("error_message", event.get("error"))),
                        )
                    ]
                )
            if kind.endswith("chat_compression"):
                return self._compression(run, line, at, event)
        return self.ignore(f"system/{subtype}")

    def _compression(self, run: str, line: int, at: float | None, event: Json) -> Iterable[Piece]:
        """What a compaction itself used, where telemetry tells it."""
        usage = gemini_usage(
            {
                "promptTokenCount": event.get("compression_input_token_count"),
                "candidatesTokenCount": event.get("compression_output_token_count"),
            }
        )
        if usage is None or not usage.total:
            return self.ignore("system/ui_telemetry")
        self.used += 1
        step = ResponsePiece(run, line, at=at, usage=usage, kind=StepKind.COMPACTION)
        return self.emit([step])


def sniff(sample: Sample) -> float:
    sure = minor = 0
    for record in sample.records:
        if not isinstance(record, dict):
            return 0.0
        message = record.get("message")
        if record.get("type") in _KINDS and "sessionId" in record and "uuid" in record:
            sure += isinstance(message, dict) and isinstance(message.get("parts"), list)
            minor += "systemPayload" in record
    if sure:
        return 0.97
    return 0.7 if minor else 0.0


FORMAT = Format(
    name="qwen_code",
    title="Qwen Code sessions",
    sniff=sniff,
    reader=QwenCodeReader,
    describes=(
        "~/.qwen/projects/<project>/chats/<session>.jsonl (older: ~/.qwen/tmp/<hash>/chats). The "
        "prompt count includes cached tokens; thoughts lie beside the answer. Cost is not "
        "recorded; failed requests stand in telemetry lines only where those are written."
    ),
)
