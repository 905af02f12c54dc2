"""Hermes sessions: one JSON document with chat messages and facts of the session around them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from loopaudit.formats.apis.openai_chat import assistant_piece
from loopaudit.formats.base import Format, Sample
from loopaudit.formats.coding.outputs import ended
from loopaudit.formats.coding.sessions import SessionReader
from loopaudit.formats.shapes import Json, name, output_of, seconds, shown, table, text_of
from loopaudit.model import Piece, ResponsePiece, ResultPiece

_FACTS = ("session_start", "platform", "last_updated", "message_count")


class HermesReader(SessionReader):
    def read(self, line: int, record: Any) -> Iterable[Piece]:
        if not isinstance(record, dict) or not isinstance(record.get("messages"), list):
            return self.reject(line, "no session with messages")
        self.used += 1
        run = name(record.get("session_id")) or self.new_run()
        project = name(record.get("cwd")) or name(table(record, "model_config").get("cwd"))
        pieces: list[Piece] = [
            self.begun(
                run,
                line,
                parent=name(record.get("parent_session_id")),
                project=project,
                model=name(record.get("model")),
                at=seconds(record.get("session_start")),
            )
        ]
        for index, message in enumerate(record["messages"]):
            place = self.place(line, "messages", index)
            if not isinstance(message, dict):
                self.reject(place, f"no message: {shown(message)}")
                continue
            for piece in self._message(run, place, message):
                if isinstance(piece, ResponsePiece):
                    piece.id = f"{run}/{index}"  # a copy of the session counts once
                pieces.append(piece)
        return self.emit(pieces)

    def _message(self, run: str, line: int, message: Json) -> list[Piece]:
        role = message.get("role")
        at = seconds(message.get("timestamp"))
        if role == "assistant":
            answer = assistant_piece(message, at)
            answer.run, answer.line = run, line
            return [answer]
        if role == "tool":
            text = output_of(message.get("content"))
            tool = name(message.get("tool_name")) or name(message.get("name"))
            flag = True if message.get("finish_reason") == "error" else None
            status, code = ended(text, flag, tool)
            own = name(message.get("tool_call_id"))
            return [ResultPiece(run, line, own, text, at, status, tool, exit_code=code)]
        if role == "user":
            return [self.said(run, line, at, text_of(message.get("content")))]
        self.ignore(f"message of role {shown(role)}")
        return []


def sniff(sample: Sample) -> float:
    for record in sample.records[:1]:
        if isinstance(record, dict) and isinstance(record.get("messages"), list):
            facts = sum(key in record for key in _FACTS)
            return 0.95 if "session_id" in record and facts >= 2 else 0.0
    return 0.0


FORMAT = Format(
    name="hermes",
    title="Hermes sessions",
    sniff=sniff,
    reader=HermesReader,
    describes=(
        "Session files of the Hermes agent, one JSON document each. Usage is not recorded, nor are "
        "times of messages; a tool message may carry the flag of a failure."
    ),
    lacks=frozenset(("usage",)),
)
