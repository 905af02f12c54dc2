"""Cursor agent transcripts: roles and content blocks, without ids, times or usage.

Calls have no ids even where results name some, so results pair in order. Many versions write no
results at all.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from loopaudit.formats.base import Format, Sample
from loopaudit.formats.coding.blocks import read_blocks
from loopaudit.formats.coding.sessions import SessionReader
from loopaudit.formats.shapes import Json, name, rows, seconds, shown
from loopaudit.model import BoundaryKind, BoundaryPiece, Piece, ResponsePiece

_ROLES = ("user", "assistant")
_BLOCKS = ("tool_use", "tool_call", "tool_result", "tool-result", "thinking", "text")


class CursorReader(SessionReader):
    unnamed_calls = True

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._run = self.stem
        self._tools: dict[str, str] = {}  # of calls, by id
        folders = os.path.abspath(path).split(os.sep)[:-1]
        sub = bool(folders) and folders[-1] == "subagents"
        #: `<session>/subagents/<id>.jsonl`
        self._parent = folders[-2] if sub and len(folders) > 1 else None
        self._begun = False

    def read(self, line: int, record: Any) -> Iterable[Piece]:
        if not isinstance(record, dict):
            return self.reject(line, "not a JSON object")
        message = record.get("message")
        if record.get("role") in _ROLES and isinstance(message, dict):
            self.used += 1
            return self.emit(self._message(line, record, message))
        kind = record.get("type")
        if kind == "turn_ended":
            if record.get("status") in ("aborted", "cancelled", "interrupted"):
                self.used += 1
                at = seconds(record.get("timestamp"))
                return self.emit([BoundaryPiece(self._run, line, BoundaryKind.INTERRUPT, at)])
            return self.ignore("turn_ended")
        if isinstance(kind, str):
            return self.ignore(f"unknown type {kind}")
        return self.reject(line, f"no message: role {shown(record.get('role'))}")

    def _message(self, line: int, record: Json, message: Json) -> list[Piece]:
        run, at = self._run, seconds(record.get("timestamp"))
        pieces: list[Piece] = []
        if not self._begun:
            self._begun = True
            if self._parent is not None:
                pieces.append(
                    self.begun(run, line, session=None, parent=self._parent, agent="subagent")
                )
        found = read_blocks(run, line, at, message.get("content"), self._tools)
        if record["role"] == "assistant":
            pieces.append(
                ResponsePiece(
                    run,
                    line,
                    at=at,
                    model=name(record.get("model")) or name(message.get("model")),
                    text=found.text,
                    thinking_chars=found.thinking,
                    calls=tuple(found.calls),
                )
            )
        for result in found.results:
            if result.call_id not in self._tools:
                result.call_id = None
            pieces.append(result)
        if record["role"] == "user" and (found.texts or not found.results):
            kind = self.said(run, line, at, found.text, inserted=False)
            if self._parent is not None and kind.kind is BoundaryKind.USER:
                kind.kind = BoundaryKind.REMINDER  # its parent speaks
            pieces.append(kind)
        return pieces


def sniff(sample: Sample) -> float:
    found = 0
    for record in sample.records:
        if not isinstance(record, dict):
            return 0.0
        message = record.get("message")
        if record.get("role") in _ROLES and isinstance(message, dict):
            if record.keys() & {"sessionId", "uuid", "session_id"} or "role" in message:
                return 0.0
            found += any(block.get("type") in _BLOCKS for block in rows(message.get("content")))
        elif record.get("type") != "turn_ended":
            return 0.0
    return 0.93 if found else 0.0


FORMAT = Format(
    name="cursor",
    title="Cursor agent transcripts",
    sniff=sniff,
    reader=CursorReader,
    describes=(
        "~/.cursor/projects/<project>/agent-transcripts/<id>/<id>.jsonl, sub-agents in subagents/ "
        "beside. No usage, no times and, in many versions, no results."
    ),
    lacks=frozenset(("usage",)),
)
