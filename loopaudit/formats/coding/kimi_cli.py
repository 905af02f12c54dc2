"""Kimi CLI and Kimi Code: `wire.jsonl`, the events between the agent and its surface.

Two protocols, told apart by each line: the older wraps an event in `message`, the newer names it in
`type`. Call ids begin anew with every turn. In the newer, `usage.record` repeats the usage of the
step that has just ended; one that does not is that of a compaction.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import Any

from loopaudit import files
from loopaudit.formats.apis.openai_chat import message_pieces
from loopaudit.formats.base import Format, Sample
from loopaudit.formats.coding.kimi_cli_wire import Wire
from loopaudit.formats.coding.outputs import ended
from loopaudit.formats.coding.sessions import SessionReader, beside
from loopaudit.formats.shapes import (
    Json,
    arguments,
    name,
    output_of,
    seconds,
    table,
    text_of,
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
    RunPiece,
    StepKind,
    Usage,
)

_ATTEMPT = re.compile(r"(\d{1,6})/(\d{1,6})")
_AGENT = re.compile(r"\s*agent_id: (\S{1,80})")


class KimiReader(SessionReader):
    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._run, self._facts = _thread(path, self.stem)
        self._begun = False
        self._model: str | None = None
        self._request = "loop"  # kind of the newest request
        self._step: str | None = None  # the step that is open
        self._known: Usage | None = None  # usage of the step that ended last
        self._denied: set[str] = set()
        self._wire = Wire(self._run)
        beside_wire = os.path.join(os.path.dirname(path), "wire.jsonl")
        self._wired = path not in ("", "-") and files.is_file(beside_wire)
        self._handlers = {
            "turn.prompt": self._prompt,
            "turn.steer": self._prompt,
            "turn.cancel": self._cancel,
            "turn.ended": self._ended,
            "llm.request": self._asked,
            "usage.record": self._usage,
            "context.append_message": self._injected,
            "context.apply_compaction": self._compaction,
            "micro_compaction.apply": self._compaction,
            "permission.record_approval_result": self._approval,
        }

    def read(self, line: int, record: Any) -> Iterable[Piece]:
        if not isinstance(record, dict):
            return self.reject(line, "not a JSON object")
        pieces: list[Piece] = []
        if not self._begun:
            self._begun = True
            pieces.append(self.begun(self._run, line, **self._facts))
        message = record.get("message")
        kind = record.get("type")
        if kind is None and isinstance(record.get("role"), str):
            return self._state(line, record, pieces)
        if isinstance(message, dict) and isinstance(message.get("type"), str):
            found = self._wire.read(line, seconds(record.get("timestamp")), message)
            if found is None:
                return self.ignore(message["type"])
            self.used += 1
            return self.emit([*pieces, *found])
        if not isinstance(kind, str):
            if "agents" in record and "workDir" in record:
                return self.ignore("session state (read with its transcripts)")
            return self.reject(line, "no event type")
        at = seconds(record.get("time"))
        if kind == "context.append_loop_event":
            event = table(record, "event")
            return self._event(line, at, event, pieces)
        handler = self._handlers.get(kind)
        if handler is None:
            return self.ignore(kind)
        self.used += 1
        return self.emit([*pieces, *handler(line, at, record)])

    def end(self) -> Iterable[Piece]:
        pieces = self.emit(self._wire.close())
        super().end()
        return pieces

    def _state(self, line: int, record: Json, pieces: list[Piece]) -> Iterable[Piece]:
        """A row of `context.jsonl`, the state of the prompt: all there is before the wire came."""
        if self._wired:
            return self.ignore("prompt state (read with wire.jsonl)")
        found = message_pieces(record)
        if not found:
            return self.ignore(f"row of role {record['role']}")
        for piece in found:
            piece.run, piece.line = self._run, line
        self.used += 1
        return self.emit([*pieces, *found])

    # -- turns ------------------------------------------------------------------------------------

    def _prompt(self, line: int, at: float | None, record: Json) -> list[Piece]:
        inserted = table(record, "origin").get("kind", "user") != "user"
        return [self.said(self._run, line, at, text_of(record.get("input")), inserted)]

    def _cancel(self, line: int, at: float | None, record: Json) -> list[Piece]:
        return [BoundaryPiece(self._run, line, BoundaryKind.INTERRUPT, at)]

    def _ended(self, line: int, at: float | None, record: Json) -> list[Piece]:
        if record.get("reason") not in ("failed", "error"):
            return []
        error = record.get("error")
        said = words(error) or words(table(record, "error").get("message"))
        code = name(table(record, "error").get("code"))
        return [AttemptPiece(self._run, line, at, code=code, message=said, gave_up=True)]

    def _injected(self, line: int, at: float | None, record: Json) -> list[Piece]:
        message = table(record, "message")
        kind = table(message, "origin").get("kind")
        text = text_of(message.get("content"))
        if kind == "user" or message.get("role") != "user":
            return []  # told by `turn.prompt`
        if kind == "system_trigger":
            return []
        return [self.said(self._run, line, at, text, inserted=True)]

    def _compaction(self, line: int, at: float | None, record: Json) -> list[Piece]:
        return [BoundaryPiece(self._run, line, BoundaryKind.COMPACTION, at)]

    def _approval(self, line: int, at: float | None, record: Json) -> list[Piece]:
        own = name(record.get("toolCallId"))
        if own is not None and table(record, "result").get("decision") in ("rejected", "cancelled"):
            self._denied.add(own)
        return []

    # -- requests and steps -----------------------------------------------------------------------

    def _asked(self, line: int, at: float | None, record: Json) -> list[Piece]:
        self._model = name(record.get("model")) or self._model
        self._request = words(record.get("kind")) or "loop"
        found = _ATTEMPT.fullmatch(words(record.get("attempt")) or "")
        if found is None or int(found.group(1)) < 2:
            return []
        number, limit = int(found.group(1)), int(found.group(2))
        return [  # the attempt before this one failed
            AttemptPiece(self._run, line, at, number=number - 1, limit=limit, layer="kimi")
        ]

    def _usage(self, line: int, at: float | None, record: Json) -> list[Piece]:
        usage = _figures(record.get("usage"))
        if usage is None or usage == self._known:
            self._known = None
            return []
        step = ResponsePiece(self._run, line, at=at, model=self._model, usage=usage)
        if self._request == "compaction":
            step.kind = StepKind.COMPACTION
        elif self._step is not None:
            step.id = self._step  # it was stopped before its end
        return [step]

    def _event(
        self, line: int, at: float | None, event: Json, pieces: list[Piece]
    ) -> Iterable[Piece]:
        kind = words(event.get("type")) or "?"
        step = name(event.get("stepUuid")) or self._step
        answer = ResponsePiece(self._run, line, id=step, at=at, model=self._model)
        if kind == "step.begin":
            self._step, self._known = name(event.get("uuid")), None
        elif kind == "content.part":
            part = table(event, "part")
            answer.text = words(part.get("text"))
            answer.thinking_chars = len(words(part.get("think")) or "")
            pieces.append(answer)
        elif kind == "tool.call":
            own = name(event.get("toolCallId"))
            tool = name(event.get("name")) or "unknown"
            answer.calls = (CallPiece(own, tool, arguments(event.get("args")), at),)
            pieces.append(answer)
        elif kind == "tool.result":
            pieces += self._result(line, at, event)
        elif kind == "step.end":
            answer.id = name(event.get("uuid")) or step
            answer.usage = self._known = _figures(event.get("usage"))
            answer.finish = name(event.get("finishReason"))
            pieces.append(answer)
            self._step = None
        else:
            return self.ignore(f"loop event {kind}")
        self.used += 1
        return self.emit(pieces)

    def _result(self, line: int, at: float | None, event: Json) -> list[Piece]:
        own = name(event.get("toolCallId"))
        result = table(event, "result")
        text = output_of(result.get("output"))
        flag = result.get("isError") is True
        status, code = ended(text, True) if flag else (CallStatus.OK, None)
        if own in self._denied and status is not CallStatus.OK:
            self._denied.discard(own or "")
            status = CallStatus.REJECTED
        pieces: list[Piece] = [ResultPiece(self._run, line, own, text, at, status, exit_code=code)]
        agent = _AGENT.match(text[:200]) if isinstance(text, str) else None
        if agent is not None:
            child = f"{self._run.partition('/')[0]}/{agent.group(1)}"
            pieces.append(RunPiece(child, line, parent=self._run, parent_call=own))
        return pieces


def _thread(path: str, stem: str) -> tuple[str, Json]:
    """Run id of a transcript, and what the state of its session tells of it."""
    parts = os.path.abspath(path).split(os.sep) if path not in ("", "-") else []
    if len(parts) < 3 or parts[-1] != "wire.jsonl":
        return stem, {}
    if len(parts) > 4 and parts[-3] in ("agents", "subagents"):
        session, agent = parts[-4], parts[-2]
    else:
        session, agent = parts[-2], "main"
    state = beside(path, "..", "..", "state.json") or beside(path, "state.json")
    facts: Json = {"project": name(state.get("workDir"))}
    if agent == "main":
        return session, facts
    parent = name(table(table(state, "agents"), agent).get("parentAgentId")) or "main"
    facts["parent"] = session if parent == "main" else f"{session}/{parent}"
    facts["agent"] = agent
    return f"{session}/{agent}", facts


def _figures(value: Any) -> Usage | None:
    return named_usage(
        value,
        fresh="inputOther",
        read="inputCacheRead",
        write="inputCacheCreation",
        output="output",
    )


_EVENTS = ("turn.", "context.", "llm.", "usage.record", "config.update", "tools.set_active_tools")
_STATE = ("_system_prompt", "_checkpoint", "_usage")  # roles of rows of `context.jsonl`
_WIRE = frozenset(
    (
        *("TurnBegin", "TurnEnd", "StepBegin", "ContentPart", "ToolCall", "ToolResult"),
        *("StatusUpdate", "SubagentEvent", "StepInterrupted", "CompactionBegin"),
    )
)


def sniff(sample: Sample) -> float:
    found = head = 0
    for record in sample.records:
        if not isinstance(record, dict):
            return 0.0
        kind, message = record.get("type"), record.get("message")
        if isinstance(message, dict) and "payload" in message and "timestamp" in record:
            found += words(message.get("type")) in _WIRE
        elif kind == "metadata" and "protocol_version" in record:
            head += 1
        elif kind is None and words(record.get("role")) in _STATE:
            return 0.95
        elif isinstance(kind, str):
            found += kind.startswith(_EVENTS) and seconds(record.get("time")) is not None
        elif "agents" in record and "workDir" in record and len(sample.records) == 1:
            return 0.9
    if found:
        return 0.97 if head or found >= len(sample.records) / 2 else 0.6
    return 0.8 if head else 0.0


FORMAT = Format(
    name="kimi_cli",
    title="Kimi CLI and Kimi Code sessions",
    sniff=sniff,
    reader=KimiReader,
    describes=(
        "wire.jsonl in ~/.kimi/sessions/<folder>/<session>/ and in "
        "~/.kimi-code/sessions/<folder>/<session>/agents/<agent>/; state.json there tells how "
        "agents hang together. Input excludes cached tokens. The older kind names no model; cost "
        "is not recorded."
    ),
)
