"""opencode sessions: database, storage folder, `opencode export`, and single files of these.

However they are kept, they are the same: a session, its messages, and the parts of each message. A
tool part holds call and result. Tokens stand on the message, on each `step-finish` part and on the
session; they are counted once, on the message, or on its steps where it has several. The session of
a sub-agent names its parent, and the part of the call that started it names the session.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from loopaudit.formats.base import Format, Sample, Table
from loopaudit.formats.coding.opencode_parts import message_pieces, part_pieces
from loopaudit.formats.coding.sessions import SessionReader, load
from loopaudit.formats.shapes import Json, name, rows, seconds, shown, table
from loopaudit.model import Piece

_ROLES = ("user", "assistant")


class OpencodeReader(SessionReader):
    def read(self, line: int, record: Any) -> Iterable[Piece]:
        if not isinstance(record, dict):
            return self.reject(line, "not a JSON object")
        row = record.get("row")
        if isinstance(row, dict):
            return self._row(line, record, row)
        info = record.get("info")
        if isinstance(info, dict):
            if isinstance(record.get("messages"), list):
                return self._export(line, record, info)
            if info.get("role") in _ROLES:
                return self._message(line, info, rows(record.get("parts")))
        if record.get("role") in _ROLES and "sessionID" in record:
            self._alone()
            return self._message(line, record, [])
        if "messageID" in record and isinstance(record.get("type"), str):
            self._alone()
            return self._part(line, record)
        if _is_session(record):
            return self._session(line, record)
        if record.keys() <= {"id", "type", "text", "time", "metadata"} and "text" in record:
            return self.ignore("a part that does not name its message")
        return self.reject(line, "neither a session, a message nor a part")

    def _alone(self) -> None:
        """Calls and results stand in files of their own."""
        self.missing |= {"results", "arguments"}

    def _row(self, line: int, record: Json, row: Json) -> Iterable[Piece]:
        data = load(row.get("data"))
        data = data if isinstance(data, dict) else {}
        if record.get("table") == "session":
            return self._session(line, {**row, **data})
        info = {**data, "id": row.get("id"), "sessionID": row.get("session_id")}
        parts = []
        for part in rows(record.get("part")):
            inner = load(part.get("data"))
            if isinstance(inner, dict):
                parts.append({**inner, "id": part.get("id")})
            else:
                self.reject(line, f"part {shown(part.get('id'))} is no JSON object")
        if info.get("role") not in _ROLES:
            return self.reject(line, f"a message of role {shown(info.get('role'))}")
        return self._message(line, info, parts)

    def _export(self, line: int, record: Json, info: Json) -> Iterable[Piece]:
        out = list(self._session(line, info))
        session = name(info.get("id"))
        for index, message in enumerate(record["messages"]):
            place = self.place(line, "messages", index)
            inner = table(message, "info")
            if inner.get("role") in _ROLES:
                inner = inner if "sessionID" in inner else {**inner, "sessionID": session}
                out += self._message(place, inner, rows(message.get("parts")))
                self.used -= 1
            else:
                self.reject(place, f"a message of role {shown(inner.get('role'))}")
        return out

    def _session(self, line: int, info: Json) -> Iterable[Piece]:
        run = name(info.get("id"))
        if run is None:
            return self.reject(line, "a session without id")
        self.used += 1
        created = table(info, "time").get("created", info.get("time_created"))
        return self.emit(
            [
                self.begun(
                    run,
                    line,
                    parent=name(info.get("parentID", info.get("parent_id"))),
                    agent=name(info.get("agent")),
                    project=name(info.get("directory")),
                    version=name(info.get("version")),
                    at=seconds(created),
                )
            ]
        )

    def _message(self, line: int, info: Json, parts: list[Json]) -> Iterable[Piece]:
        run = name(info.get("sessionID")) or self.stem
        self.used += 1
        pieces = message_pieces(run, line, info, parts)
        if run not in self._told:
            pieces.insert(0, self.begun(run, line))
        return self.emit(pieces)

    def _part(self, line: int, part: Json) -> Iterable[Piece]:
        """A part from a file of its own; of a text nobody knows who said it."""
        if part["type"] != "tool":
            return self.ignore(f"part of type {part['type']} without its message")
        self.used += 1
        run = name(part.get("sessionID"))
        if run is None:
            return self.emit(part_pieces(self.stem, line, part))
        return self.emit([self.begun(run, line), *part_pieces(run, line, part)])


def _is_session(record: Json) -> bool:
    return (
        "id" in record
        and bool(record.keys() & {"projectID", "directory", "project_id"})
        and bool(record.keys() & {"time", "title", "time_created", "version"})
        and "messages" not in record
    )


def sniff(sample: Sample) -> float:
    if sample.tables:
        wanted = {"id", "session_id", "data"} <= sample.tables.get("message", frozenset())
        return 0.98 if wanted and "data" in sample.tables.get("part", ()) else 0.0
    found = [_sure(record) for record in sample.records]
    return min(found) if found else 0.0


def _sure(record: Any) -> float:
    if not isinstance(record, dict):
        return 0.0
    info = record.get("info")
    if isinstance(info, dict):
        messages = record.get("messages")
        if isinstance(messages, list) and ("directory" in info or "projectID" in info):
            return 0.97
        inner = table(messages[0], "info") if isinstance(messages, list) and messages else info
        return 0.95 if "sessionID" in inner and inner.get("role") in _ROLES else 0.0
    if record.get("role") in _ROLES and "sessionID" in record and "time" in record:
        return 0.95
    if "messageID" in record and "id" in record and isinstance(record.get("type"), str):
        return 0.9
    if _is_session(record) and "projectID" in record:
        return 0.9
    if record.get("type") in ("text", "reasoning", "step-start") and "id" in record:
        start = table(record, "time").get("start")
        return 0.5 if isinstance(start, int) and "timestamp" not in record else 0.0
    return 0.0


FORMAT = Format(
    name="opencode",
    title="opencode sessions",
    sniff=sniff,
    reader=OpencodeReader,
    describes=(
        "~/.local/share/opencode/opencode.db, the older folder storage/ beside it (a session is "
        "one input, its lines are the numbers of its messages), and `opencode export`. Input "
        "excludes cached tokens; reasoning is counted on top of the output. The cost of models "
        "without a price is recorded as 0 and counts as unknown. In a database a line is a rowid."
    ),
    tables=(
        Table("session", ("time_created", "id")),
        Table("message", ("id",), child="part", child_key="message_id"),
    ),
)
