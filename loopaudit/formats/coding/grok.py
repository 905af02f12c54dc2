"""Grok CLI: `chat_history.jsonl`, with facts of the session in `summary.json` beside it.

Tools that the server runs (`backend_tool_call`) belong to the response that comes after them. No
usage and no times.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from loopaudit.formats.apis.openai_chat import call_id
from loopaudit.formats.base import Format, Sample
from loopaudit.formats.coding.outputs import ended
from loopaudit.formats.coding.sessions import SessionReader, beside
from loopaudit.formats.shapes import (
    Json,
    arguments,
    name,
    output_of,
    rows,
    seconds,
    table,
    text_of,
    words,
)
from loopaudit.model import (
    BoundaryKind,
    BoundaryPiece,
    CallPiece,
    CallStatus,
    Piece,
    ResponsePiece,
    ResultPiece,
)

_KINDS = frozenset(("system", "user", "assistant", "reasoning", "tool_result", "backend_tool_call"))


class GrokReader(SessionReader):
    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._run = self.stem
        self._begun = False
        self._thinking = 0
        self._tools: dict[str, str] = {}  # of calls, by id
        self._served: list[CallPiece] = []  # calls that the server made

    def read(self, line: int, record: Any) -> Iterable[Piece]:
        if not isinstance(record, dict):
            return self.reject(line, "not a JSON object")
        kind = record.get("type")
        if kind is None and "session_summary" in record:
            return self.ignore("summary of a session (read with its history)")
        if not isinstance(kind, str) or kind not in _KINDS:
            return self.ignore(f"unknown type {name(kind) or '?'}")
        if kind == "system":
            return self.ignore(kind)
        self.used += 1
        pieces = [] if self._begun else self._facts(line)
        at = seconds(record.get("timestamp"))
        if kind == "user":
            pieces += self._user(line, at, record)
        elif kind == "reasoning":
            self._thinking += sum(
                len(words(p.get("text")) or "") for p in rows(record.get("summary"))
            )
        elif kind == "backend_tool_call":
            facts = table(record, "kind")
            tool = name(facts.get("tool_type")) or "backend_tool"
            self._served.append(
                CallPiece(name(facts.get("id")), tool, facts.get("action"), at, line)
            )
        elif kind == "tool_result":
            text = output_of(record.get("content"))
            own = name(record.get("tool_call_id"))
            flag = True if record.get("is_error") is True else None
            status, code = ended(text, flag, self._tools.get(own or ""))
            pieces.append(ResultPiece(self._run, line, own, text, at, status, exit_code=code))
        else:
            pieces += self._answer(line, at, record)
        return self.emit(pieces)

    def end(self) -> Iterable[Piece]:
        pieces = self.emit(self._answer(0, None, {})) if self._served else []
        super().end()
        return pieces

    def _facts(self, line: int) -> list[Piece]:
        self._begun = True
        facts = beside(self.path, "summary.json")
        info = table(facts, "info")
        self._run = name(info.get("id")) or self._run
        sub = facts.get("session_kind") == "subagent"
        return [
            self.begun(
                self._run,
                line,
                parent=name(facts.get("parent_session_id")),
                agent=name(facts.get("agent_name")) if sub else None,
                project=name(info.get("cwd")),
                at=seconds(facts.get("created_at")),
            )
        ]

    def _user(self, line: int, at: float | None, record: Json) -> list[Piece]:
        pieces: list[Piece] = []
        if record.get("prior_turn_interrupt"):
            pieces.append(BoundaryPiece(self._run, line, BoundaryKind.INTERRUPT, at))
        inserted = bool(record.get("synthetic_reason"))
        text = text_of(record.get("content"))
        return [*pieces, self.said(self._run, line, at, text, inserted)]

    def _answer(self, line: int, at: float | None, record: Json) -> list[Piece]:
        calls, self._served = self._served, []
        line = line or (calls[0].line or 1)
        results: list[Piece] = [
            ResultPiece(self._run, call.line or line, call.id, None, at, CallStatus.OK, call.tool)
            for call in calls
        ]
        for item in rows(record.get("tool_calls")):
            body = table(item, "function") or item
            own, tool = call_id(item.get("id")), name(body.get("name")) or "unknown"
            self._tools[own or ""] = tool
            calls.append(CallPiece(own, tool, arguments(body.get("arguments")), at, line))
        answer = ResponsePiece(
            self._run,
            line,
            id=f"{self._run}/{line}",  # a copy of the session counts once
            at=at,
            model=name(record.get("model_id")),
            text=text_of(record.get("content")) or None,
            thinking_chars=self._thinking,
            calls=tuple(calls),
        )
        self._thinking = 0
        return [answer, *results]


def sniff(sample: Sample) -> float:
    sure = found = 0
    for record in sample.records:
        if not isinstance(record, dict):
            return 0.0
        kind = record.get("type")
        if "session_summary" in record and "chat_format_version" in record:
            return 0.95
        if not isinstance(kind, str) or kind not in _KINDS or "message" in record:
            return 0.0
        found += "content" in record
        sure += kind == "assistant" and "model_id" in record
        sure += kind == "user" and bool(record.keys() & {"prompt_index", "synthetic_reason"})
        sure += kind == "backend_tool_call" and isinstance(record.get("kind"), dict)
    return 0.95 if sure else 0.0


FORMAT = Format(
    name="grok",
    title="Grok CLI sessions",
    sniff=sniff,
    reader=GrokReader,
    describes=(
        "chat_history.jsonl of a session, with summary.json beside it. No usage and no times; "
        "results of tools that the server runs are not recorded."
    ),
    lacks=frozenset(("usage",)),
)
