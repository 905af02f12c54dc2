"""The older Kimi CLI wire: `{timestamp, message: {type, payload}}`, with sub-agents inside.

A step is put together from its parts until its usage comes, or the next step begins; results that
come before that wait for it, because call ids begin anew with every turn.
"""

from __future__ import annotations

from typing import Any

from loopaudit.formats.coding.outputs import ended
from loopaudit.formats.coding.spoken import spoken
from loopaudit.formats.shapes import Json, arguments, name, output_of, table, text_of, words
from loopaudit.formats.usages import named_usage
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


class Wire:
    """One agent; those that it starts are wires of their own."""

    def __init__(self, run: str) -> None:
        self.run = run
        self._answer: ResponsePiece | None = None
        self._texts: list[str] = []
        self._calls: list[CallPiece] = []
        self._waiting: list[Piece] = []
        self._agents: dict[str, Wire] = {}

    def read(self, line: int, at: float | None, message: Json) -> list[Piece] | None:
        """Pieces of an event; None where it tells nothing that matters."""
        kind, payload = message["type"], table(message, "payload")
        if kind in ("TurnBegin", "SteerInput"):
            given = payload.get("user_input")
            said, text = spoken(text_of(given))
            return [*self.close(), BoundaryPiece(self.run, line, said, at, text)]
        if kind == "StepBegin":
            pieces = self.close()
            self._answer = ResponsePiece(self.run, line, at=at)
            return pieces
        if kind == "ContentPart":
            answer = self._open(line, at)
            if isinstance(payload.get("text"), str):
                self._texts.append(payload["text"])
            answer.thinking_chars += len(words(payload.get("think")) or "")
            return []
        if kind == "ToolCall":
            body = table(payload, "function")
            self._open(line, at)
            tool = name(body.get("name")) or "unknown"
            self._calls.append(
                CallPiece(name(payload.get("id")), tool, body.get("arguments"), at, line)
            )
            return []
        if kind == "ToolCallPart":
            last = self._calls[-1] if self._calls else None
            more = words(payload.get("arguments_part"))
            if last is not None and more:
                last.args = (last.args if isinstance(last.args, str) else "") + more
            return []
        if kind == "ToolResult":
            result = self._result(line, at, payload)
            if self._answer is None:
                return [result]
            self._waiting.append(result)
            return []
        if kind == "StatusUpdate":
            return self._status(line, at, payload)
        if kind == "StepInterrupted":
            return [*self.close(), BoundaryPiece(self.run, line, BoundaryKind.INTERRUPT, at)]
        if kind == "CompactionBegin":
            return [*self.close(), BoundaryPiece(self.run, line, BoundaryKind.COMPACTION, at)]
        if kind == "TurnEnd":
            return self.close()
        if kind == "SubagentEvent":
            return self._agent(line, at, payload)
        return None

    def close(self) -> list[Piece]:
        """The open step with its results, and those of the agents."""
        pieces: list[Piece] = []
        for agent in self._agents.values():
            pieces += agent.close()
        answer, self._answer = self._answer, None
        if answer is not None and (self._texts or self._calls or answer.usage is not None):
            answer.text = "".join(self._texts) or None
            for call in self._calls:
                call.args = arguments(call.args)
            answer.calls = tuple(self._calls)
            pieces.append(answer)
        pieces += self._waiting
        self._texts, self._calls, self._waiting = [], [], []
        return pieces

    def _open(self, line: int, at: float | None) -> ResponsePiece:
        if self._answer is None:
            self._answer = ResponsePiece(self.run, line, at=at)
        return self._answer

    def _status(self, line: int, at: float | None, payload: Json) -> list[Piece]:
        usage = named_usage(
            payload.get("token_usage"),
            fresh="input_other",
            read="input_cache_read",
            write="input_cache_creation",
            output="output",
        )
        if usage is None:
            return []
        answer = self._open(line, at)
        answer.usage, answer.ended = usage, at
        answer.id = name(payload.get("message_id"))
        return self.close()

    def _result(self, line: int, at: float | None, payload: Json) -> ResultPiece:
        value = table(payload, "return_value") or table(payload, "result")
        text: Any = output_of(value.get("output"))
        said = words(value.get("message"))
        if said and (text in (None, "", []) or value.get("is_error") is True):
            text = f"{text}\n{said}".strip() if isinstance(text, str) else said
        failed = value.get("is_error") is True
        status, code = ended(text, True) if failed else (CallStatus.OK, None)
        if value.get("is_error") is True and said and "rejected by the user" in said:
            status = CallStatus.REJECTED
        own = name(payload.get("tool_call_id"))
        return ResultPiece(self.run, line, own, text, at, status, exit_code=code)

    def _agent(self, line: int, at: float | None, payload: Json) -> list[Piece] | None:
        call = name(payload.get("parent_tool_call_id")) or name(payload.get("task_tool_call_id"))
        key = name(payload.get("agent_id")) or call
        event = payload.get("event")
        if key is None or not isinstance(event, dict) or not isinstance(event.get("type"), str):
            return None
        pieces: list[Piece] = []
        agent = self._agents.get(key)
        if agent is None:
            agent = self._agents[key] = Wire(f"{self.run.partition('/')[0]}/{key}")
            kind = name(payload.get("subagent_type")) or "subagent"
            pieces.append(
                RunPiece(
                    agent.run,
                    line,
                    session=self.run.partition("/")[0],
                    parent=self.run,
                    parent_call=call,
                    agent=kind,
                )
            )
        for piece in agent.read(line, at, event) or ():
            if isinstance(piece, BoundaryPiece) and piece.kind is BoundaryKind.USER:
                piece.kind = BoundaryKind.REMINDER  # its parent speaks
            pieces.append(piece)
        return pieces
