"""pi and OpenClaw sessions: one JSONL file a session, usage and cost with every response.

A branched session begins with a copy of its parent; a tree keeps its dead branches in the file.
Both are known again by their responses. Messages that were stopped cost what their usage tells.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from loopaudit.formats.base import Format, Sample
from loopaudit.formats.coding.pi_messages import message_pieces
from loopaudit.formats.coding.sessions import SessionReader
from loopaudit.formats.shapes import Json, name, seconds, shown, text_of
from loopaudit.model import BoundaryKind, BoundaryPiece, Piece

#: entries that hold nothing that a guard or a bill could use
_MINOR = frozenset(
    (
        *("model_change", "thinking_level_change", "custom", "label", "session_info"),
        *("branch_summary", "leaf", "active_tools_change", "usage"),
    )
)
_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


class PiReader(SessionReader):
    flags_failures = True

    def __init__(self, path: str) -> None:
        super().__init__(path)
        found = _ID.search(self.stem)
        self._run = found.group() if found else self.stem

    def read(self, line: int, record: Any) -> Iterable[Piece]:
        if not isinstance(record, dict):
            return self.reject(line, "not a JSON object")
        kind = record.get("type")
        if kind == "message":
            return self._message(line, record)
        at = seconds(record.get("timestamp"))
        if kind == "session":
            self.used += 1
            return self.emit(self._session(line, record))
        if kind == "compaction":
            self.used += 1
            return self.emit([BoundaryPiece(self._run, line, BoundaryKind.COMPACTION, at)])
        if kind == "custom_message":  # put into the context by an extension
            self.used += 1
            text = text_of(record.get("content"))
            return self.emit([self.said(self._run, line, at, text, inserted=True)])
        if "traceSchema" in record:
            return self.ignore("trajectory (told by the session)")
        if kind is None and _index(record):
            return self.ignore("index of sessions")
        if isinstance(kind, str):
            return self.ignore(kind if kind in _MINOR else f"unknown type {kind}")
        return self.reject(line, "no entry type")

    def _session(self, line: int, record: Json) -> list[Piece]:
        self._run = name(record.get("id")) or self._run
        origin = name(record.get("branchedFrom", record.get("parentSession")))
        found = _ID.findall(origin) if origin else None
        return [
            self.begun(
                self._run,
                line,
                project=name(record.get("cwd")),
                forked_from=found[-1] if found else origin,
                at=seconds(record.get("timestamp")),
            )
        ]

    def _message(self, line: int, record: Json) -> Iterable[Piece]:
        message = record.get("message")
        if not isinstance(message, dict):
            return self.reject(line, "an entry without message")
        at = seconds(record.get("timestamp"))
        pieces = message_pieces(self._run, line, at, message, name(record.get("id")))
        if pieces is None:
            return self.ignore(f"message of role {shown(message.get('role'))}")
        self.used += 1
        return self.emit(pieces)


def _index(record: Any) -> bool:
    """Whether a document is OpenClaw's `sessions.json`: session keys, and where each is kept."""
    if not isinstance(record, dict) or not record:
        return False
    return all(
        isinstance(key, str) and isinstance(value, dict) and "sessionId" in value
        for key, value in list(record.items())[:16]
    )


def sniff(sample: Sample) -> float:
    if len(sample.records) == 1 and _index(sample.records[0]):
        return 0.9
    header = entries = 0
    for record in sample.records:
        if not isinstance(record, dict):
            return 0.0
        if str(record.get("traceSchema")).startswith("openclaw"):
            return 0.9
        kind, message = record.get("type"), record.get("message")
        header += kind == "session" and "id" in record and ("cwd" in record or "version" in record)
        if kind == "message" and isinstance(message, dict) and "timestamp" in record:
            role, content = message.get("role"), message.get("content")
            entries += role in ("toolResult", "bashExecution")
            if role == "assistant" and isinstance(content, list):
                entries += "stopReason" in message or any(
                    isinstance(block, dict) and block.get("type") == "toolCall" for block in content
                )
    if header:
        return 0.97
    return 0.85 if entries else 0.0


FORMAT = Format(
    name="pi",
    title="pi and OpenClaw sessions",
    sniff=sniff,
    reader=PiReader,
    describes=(
        "pi: ~/.pi/agent/sessions/--<folder>--/<time>_<id>.jsonl; OpenClaw: "
        "~/.openclaw/agents/<agent>/sessions/<id>.jsonl and its archives. Usage and cost stand "
        "with each response; a cost of 0 stands for a model without a price and counts as unknown. "
        "API retries are not recorded, only the error that ended a response."
    ),
)
