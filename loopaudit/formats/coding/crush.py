"""Crush sessions: the tables `sessions` and `messages` of `.crush/crush.db`.

The newest messages stand in the `-wal` file. Tokens of a session are those of its last call only,
so they are of no use; its cost is that of the whole session and is spread over its responses.
Times are seconds, whatever the table's definition says. A part is flat or holds its fields in
`data`.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from loopaudit.formats.base import Format, Sample, Table
from loopaudit.formats.coding.outputs import ended
from loopaudit.formats.coding.sessions import SessionReader, load, spread
from loopaudit.formats.shapes import Json, arguments, dollars, name, rows, seconds, shown, words
from loopaudit.model import (
    AttemptPiece,
    BoundaryKind,
    BoundaryPiece,
    CallPiece,
    Piece,
    ResponsePiece,
    ResultPiece,
    StepKind,
)


class CrushReader(SessionReader):
    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._costs: dict[str, tuple[int, Decimal]] = {}  # session -> row, cost
        self._responses: dict[str, list[str]] = {}  # session -> ids of its responses
        self._tools: dict[str, str] = {}  # of calls, by id

    def read(self, line: int, record: Any) -> Iterable[Piece]:
        row = record.get("row") if isinstance(record, dict) else None
        if not isinstance(row, dict):
            return self.reject(line, "no row of a table")
        if record.get("table") == "sessions":
            return self._session(line, row)
        return self._message(line, row)

    def end(self) -> Iterable[Piece]:
        pieces: list[Piece] = []
        for run, (line, cost) in self._costs.items():
            pieces += spread(run, line, self._responses.get(run, []), None, cost)
        super().end()
        return pieces

    def _session(self, line: int, row: Json) -> Iterable[Piece]:
        run = name(row.get("id"))
        if run is None:
            return self.reject(line, "a session without id")
        self.used += 1
        cost = dollars(row.get("cost"))
        if cost:
            self._costs[run] = (line, cost)
        parent = name(row.get("parent_session_id"))
        # the session of a sub-agent is named after the message and the call that started it
        call = run.partition("$$")[2] or None if parent is not None else None
        agent = "title" if run.startswith("title-") else None
        at = seconds(row.get("created_at"))
        return self.emit(
            [self.begun(run, line, parent=parent, parent_call=call, agent=agent, at=at)]
        )

    def _message(self, line: int, row: Json) -> Iterable[Piece]:
        run, role = name(row.get("session_id")), row.get("role")
        parts = load(row.get("parts"))
        if run is None or not isinstance(parts, list):
            return self.reject(line, "a message without session or parts")
        if role not in ("user", "assistant", "tool"):
            return self.ignore(f"message of role {shown(role)}")
        self.used += 1
        at = seconds(row.get("created_at"))
        flat = [_flat(part) for part in rows(parts)]
        if role == "user":
            spoken = [part for part in flat if isinstance(part.get("text"), str)]
            text = "\n".join(part["text"] for part in spoken) if spoken else None
            hidden = bool(spoken) and all(part.get("hidden") is True for part in spoken)
            return self.emit([self.said(run, line, at, text, inserted=hidden)])
        if role == "tool":
            return self.emit([self._result(run, line, at, part) for part in flat])
        return self.emit(self._answer(run, line, at, row, flat))

    def _result(self, run: str, line: int, at: float | None, part: Json) -> ResultPiece:
        text: Any = part.get("content")
        flag = part.get("is_error")
        own = name(part.get("tool_call_id"))
        tool = name(part.get("name")) or self._tools.get(own or "")
        status, code = ended(text, True if flag is True else False if flag is False else None, tool)
        return ResultPiece(run, line, own, text, at, status, name(part.get("name")), exit_code=code)

    def _answer(
        self, run: str, line: int, at: float | None, row: Json, parts: list[Json]
    ) -> list[Piece]:
        key = name(row.get("id")) or f"row {line}"
        answer = ResponsePiece(
            run,
            line,
            id=key,
            at=at,
            model=name(row.get("model")),
            service=name(row.get("provider")),
        )
        after: list[Piece] = []
        texts: list[str] = []
        finished = seconds(row.get("finished_at"))
        calls: list[CallPiece] = []
        for part in parts:
            kind = part.get("type")
            if kind == "tool_call":
                tool = name(part.get("name")) or "unknown"
                self._tools[name(part.get("id")) or ""] = tool
                calls.append(
                    CallPiece(name(part.get("id")), tool, arguments(part.get("input")), finished)
                )
            elif kind == "reasoning":
                answer.thinking_chars += len(words(part.get("thinking", part.get("text"))) or "")
            elif kind == "finish":
                answer.finish = name(part.get("reason"))
                finished = seconds(part.get("time")) or finished
                after += _finish(run, line, finished or at, part)
            elif isinstance(part.get("text"), str):
                texts.append(part["text"])
        answer.calls, answer.text = tuple(calls), "\n".join(texts) or None
        answer.ended = finished if at is None or finished is None or finished >= at else None
        if row.get("is_summary_message") in (1, True):
            answer.kind = StepKind.COMPACTION
            after.append(BoundaryPiece(run, line, BoundaryKind.COMPACTION, at))
        if not calls and not answer.text and any(isinstance(p, AttemptPiece) for p in after):
            return after
        self._responses.setdefault(run, []).append(key)
        return [answer, *after]


def _flat(part: Json) -> Json:
    data = part.get("data")
    return {**data, "type": part.get("type")} if isinstance(data, dict) else part


def _finish(run: str, line: int, at: float | None, part: Json) -> list[Piece]:
    reason, said = part.get("reason"), words(part.get("message"))
    if reason == "error":
        detail = words(part.get("details"))
        text = "\n".join(t for t in (said, detail) if t) or None
        return [AttemptPiece(run, line, at, message=text, gave_up=True)]
    if reason in ("canceled", "cancelled"):
        return [BoundaryPiece(run, line, BoundaryKind.INTERRUPT, at, said)]
    return []


def sniff(sample: Sample) -> float:
    messages = sample.tables.get("messages", frozenset())
    sessions = sample.tables.get("sessions", frozenset())
    if {"session_id", "role", "parts"} <= messages and "id" in sessions:
        return 0.98 if "parent_session_id" in sessions else 0.8
    return 0.0


FORMAT = Format(
    name="crush",
    title="Crush sessions",
    sniff=sniff,
    reader=CrushReader,
    describes=(
        "<project>/.crush/crush.db with crush.db-wal beside it. Tokens are recorded for the last "
        "call of a session only and so are not known; the cost of a session is spread evenly over "
        "its responses. A line is the rowid of the table `messages`."
    ),
    lacks=frozenset(("usage",)),
    tables=(Table("sessions", ("created_at",)), Table("messages", ("created_at",))),
)
