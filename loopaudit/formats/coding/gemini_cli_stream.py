"""`gemini -p --output-format stream-json`: messages, tool calls and results, one event a line.

Usage stands in the last event only, for the whole session; it is spread over the responses. What
comes before a result is taken as one response. Thoughts are what the total holds beside the rest.
"""

from __future__ import annotations

from typing import Any

from loopaudit.formats.coding.outputs import ended
from loopaudit.formats.coding.sessions import spread
from loopaudit.formats.shapes import Json, count, name, seconds, table, words
from loopaudit.formats.usages import named_usage
from loopaudit.model import (
    AttemptPiece,
    BoundaryKind,
    BoundaryPiece,
    CallPiece,
    Piece,
    ResponsePiece,
    ResultPiece,
    RunPiece,
    Usage,
)

KINDS = frozenset(("init", "message", "tool_use", "tool_result", "result", "error"))


class Stream:
    """One run of the program."""

    def __init__(self, run: str) -> None:
        self.run = run
        self._model: str | None = None
        self._ids: list[str] = []  # of responses
        self._open: ResponsePiece | None = None  # its text comes in pieces
        self._texts: list[str] = []
        self._tools: dict[str, str] = {}

    def read(self, line: int, kind: str, record: Json) -> list[Piece]:
        at = seconds(record.get("timestamp"))
        if kind == "init":
            self.run = name(record.get("session_id")) or self.run
            self._model = name(record.get("model"))
            return [RunPiece(self.run, line, session=self.run, at=at, model=self._model)]
        if kind == "message":
            text = words(record.get("content"))
            if record.get("role") == "user":
                return [*self.close(), BoundaryPiece(self.run, line, BoundaryKind.USER, at, text)]
            self._response(line, at)
            self._texts.append(text or "")
            return []
        if kind == "tool_use":
            own, tool = name(record.get("tool_id")), name(record.get("tool_name")) or "unknown"
            answer = self._response(line, at)
            answer.calls += (CallPiece(own, tool, record.get("parameters"), at, line),)
            self._tools[own or ""] = tool
            return []
        if kind == "tool_result":
            return [*self.close(), self._result(line, at, record)]
        if kind == "error":
            said = words(record.get("message"))
            gave_up = record.get("severity") != "warning"
            return [*self.close(), AttemptPiece(self.run, line, at, message=said, gave_up=gave_up)]
        status = name(record.get("status"))
        pieces = [*self.close(), *spread(self.run, line, self._ids, _total(record.get("stats")))]
        source = "result event"
        return [*pieces, RunPiece(self.run, line, outcome=status, outcome_source=source)]

    def close(self) -> list[Piece]:
        """The response whose text or calls still came."""
        answer, self._open = self._open, None
        if answer is None:
            return []
        answer.text, self._texts = "".join(self._texts) or None, []
        return [answer]

    def _response(self, line: int, at: float | None) -> ResponsePiece:
        if self._open is None:
            self._ids.append(f"{self.run}/response {len(self._ids) + 1}")
            self._open = ResponsePiece(self.run, line, id=self._ids[-1], at=at, model=self._model)
        return self._open

    def _result(self, line: int, at: float | None, record: Json) -> ResultPiece:
        own = name(record.get("tool_id"))
        failed = record.get("status") == "error"
        text: Any = words(table(record, "error").get("message")) if failed else None
        if text is None:
            text = words(record.get("output"))
        status, code = ended(text, failed, self._tools.get(own or ""))
        return ResultPiece(self.run, line, own, text, at, status, exit_code=code)


def _total(stats: Any) -> Usage | None:
    usage = named_usage(
        stats, whole="input_tokens", read="cached", output="output_tokens", total="total_tokens"
    )
    total = count(stats.get("total_tokens")) if isinstance(stats, dict) else None
    if usage is not None and total is not None and usage.total is not None and total > usage.total:
        usage.reasoning = total - usage.total
        usage.output = (usage.output or 0) + usage.reasoning
    return usage


def is_stream(record: Json) -> bool:
    """Whether an event could be no other program's."""
    kind = record.get("type")
    if kind == "tool_use":
        return "tool_name" in record and "tool_id" in record
    if kind == "result":
        return "stats" in record and "status" in record
    return kind == "init" and "session_id" in record and "model" in record and len(record) <= 6
