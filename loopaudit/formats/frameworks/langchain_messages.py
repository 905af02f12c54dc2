"""LangChain messages: a conversation as a JSON array or one message a line, in any of its dumps.

States that a graph streams are read too: with all messages at every step (`values`: what goes
beyond the state before is new), or with those of one node (`updates`). There are no times. Failed
calls carry `status: "error"`; older messages tell it in words only.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from loopaudit.formats.base import Format, Sample
from loopaudit.formats.conversations import Conversations
from loopaudit.formats.langchain_shapes import message_pieces, unwrap
from loopaudit.formats.logreader import LogReader
from loopaudit.formats.shapes import Json, name, shown, table
from loopaudit.model import Piece, RunPiece


class MessagesReader(LogReader):
    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._single: str | None = None  # run of single lines
        self._conversations = Conversations(self.new_run)

    def read(self, line: int, record: Any) -> Iterable[Piece]:
        if isinstance(record, dict) and isinstance(record.get("messages"), list):
            own = name(table(table(record, "config"), "configurable").get("thread_id"))
            own = own or name(record.get("thread_id")) or name(record.get("id"))
            return self._conversation(line, record["messages"], ("messages",), own)
        if isinstance(record, list):
            if record and all(isinstance(item, list) for item in record):
                return self._several(line, record)
            return self._conversation(line, record, (), None)
        if (updates := _updates(record)) is not None:
            return self._update(line, updates)
        return self._one(line, record)

    def _update(self, line: int, nodes: dict[str, list[Any]]) -> Iterable[Piece]:
        """What nodes of a graph have added."""
        self.used += 1
        if self._single is None:
            self._single = self.new_run()
        for node, messages in nodes.items():
            for index, message in enumerate(messages):
                place = self.place(line, node, "messages", index)
                told = unwrap(message)
                if told is None:
                    self.reject(place, f"no LangChain message: {_kind(message)}")
                else:
                    yield from self.emit(message_pieces(*told), self._single, place)

    def _several(self, line: int, record: list[Any]) -> Iterable[Piece]:
        for index, messages in enumerate(record):
            yield from self._conversation(line, messages, (index,), None)

    def _conversation(
        self, line: int, messages: list[Any], keys: tuple[Any, ...], own: str | None
    ) -> Iterable[Piece]:
        self.used += 1
        agent: str | None = None
        told_pieces: list[Piece] = []
        for index, message in enumerate(messages):
            place = self.place(line, *keys, index)
            told = unwrap(message)
            if told is None:
                self.reject(place, f"no LangChain message: {_kind(message)}")
                continue
            agent = agent or (name(told[1].get("name")) if told[0] == "ai" else None)
            for piece in message_pieces(*told):
                piece.line = place
                told_pieces.append(piece)
        match = self._conversations.match(told_pieces, own=own)
        for piece in match.new:
            piece.run = match.run
        if agent is not None:
            match.new.insert(0, RunPiece(match.run, line, agent=agent))
        return self.emit(match.new)

    def _one(self, line: int, record: Any) -> Iterable[Piece]:
        told = unwrap(record)
        if told is None:
            return self.reject(line, f"no LangChain message: {_kind(record)}")
        self.used += 1
        if self._single is None:
            self._single = self.new_run()
        pieces = message_pieces(*told)
        if told[0] == "ai" and (agent := name(told[1].get("name"))) is not None:
            pieces.insert(0, RunPiece("", 0, agent=agent))
        return self.emit(pieces, self._single, line)


def _updates(record: Any) -> dict[str, list[Any]] | None:
    """Messages by node of a streamed update, or None where a record is none."""
    if not isinstance(record, dict) or not record or "type" in record:
        return None
    nodes = {
        str(key): value["messages"]
        for key, value in record.items()
        if isinstance(value, dict) and isinstance(value.get("messages"), list)
    }
    rest = [key for key in record if key not in nodes and not key.startswith("__")]
    return nodes if nodes and not rest else None


def _kind(message: Any) -> str:
    return f"type {shown(message.get('type') if isinstance(message, dict) else message)}"


def sniff(sample: Sample) -> float:
    records = sample.records
    if sample.document and records and isinstance(records[0], list):
        records = records[0][:64]
        if records and all(isinstance(record, list) for record in records):
            records = records[0][:64]
    if records and isinstance(records[0], dict) and isinstance(records[0].get("messages"), list):
        if "values" in records[0]:
            return 0.0
        records = [m for r in records if isinstance(r, dict) for m in _few(r.get("messages"))]
    updates = [_updates(record) for record in records]
    if updates and all(found is not None for found in updates):
        records = [
            m for found in updates for listed in (found or {}).values() for m in _few(listed)
        ]
    if not records:
        return 0.0
    told = [unwrap(record) for record in records]
    if any(found is None for found in told):
        return 0.0
    kinds = {found[0] for found in told if found is not None}
    wrapped = any("lc" in r or "data" in r for r in records if isinstance(r, dict))
    named = any(_is_told(found[1]) for found in told if found is not None)
    return 0.95 if (wrapped or named) and kinds & {"ai", "human", "tool"} else 0.0


def _few(value: Any) -> list[Any]:
    return value[:64] if isinstance(value, list) else [None]


def _is_told(body: Json) -> bool:
    """Fields that LangChain writes with every message."""
    return "additional_kwargs" in body or "response_metadata" in body or "tool_call_id" in body


FORMAT = Format(
    name="langchain_messages",
    title="LangChain messages",
    sniff=sniff,
    reader=MessagesReader,
    describes=(
        "Conversations of LangChain messages, as messages_to_dict, model_dump or dumpd write them: "
        "a JSON array, or one message or conversation a line; and states of graphs, streamed as "
        "values or updates, one a line. There are no times."
    ),
    lacks=frozenset(("times",)),
)
