"""OpenAI Responses API: lists of items, one item a line, and response objects.

Items alone hold neither usage nor times; both belong to response objects, which in turn do not hold
the results of client-side calls.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from loopaudit.formats.apis.openai_chat import FOREIGN
from loopaudit.formats.apis.openai_items import (
    ITEM_TYPES,
    by_model,
    item_pieces,
    response_id,
    response_pieces,
)
from loopaudit.formats.base import Format, Sample
from loopaudit.formats.logreader import LogReader
from loopaudit.formats.shapes import (
    Json,
    name,
    rows,
    shown,
)
from loopaudit.model import (
    Piece,
)


def is_response(record: Any) -> bool:
    """Whether a record is a response object, or a ModelResponse of the Agents SDK."""
    return (
        isinstance(record, dict)
        and isinstance(record.get("output"), list)
        and (record.get("object") in ("response", "response.compaction") or "response_id" in record)
    )


class ResponsesReader(LogReader):
    """Responses chain by `previous_response_id` or `conversation`; without either, those of one
    file are taken for one run, until one that names no predecessor follows a chain."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._run: str | None = None
        self._of: dict[str, str] = {}  # response or conversation id -> run
        self._chained = False
        self._open: list[tuple[int, Json]] = []  # items of the response being read, line by line

    def read(self, line: int, record: Any) -> Iterable[Piece]:
        if isinstance(record, list):
            return self._array(line, record)
        if is_response(record):
            return [*self._close(), *self._response(line, record)]
        if isinstance(record, dict):
            if isinstance(record.get("items"), list):
                return [*self._close(), *self._array(line, record["items"], "items")]
            if _known(record):
                return self._item(line, record)
            kind = record.get("type", record.get("role"))
            return self.reject(line, f"unknown type of item: {shown(kind)}")
        return self.reject(line, "no item of the Responses API")

    def end(self) -> Iterable[Piece]:
        pieces = self._close()
        super().end()
        return pieces

    def _array(self, line: int, items: list[Any], *keys: str) -> list[Piece]:
        self._run = None
        out: list[Piece] = []
        known: list[tuple[int, Any]] = []
        for index, item in enumerate(items):
            place = self.place(line, *keys, index)
            if is_response(item):
                out += self._response(place, item)
            elif isinstance(item, dict) and _known(item):
                self.used += 1
                known.append((place, item))
            else:
                kind = item.get("type") if isinstance(item, dict) else item
                self.reject(place, f"unknown type of item: {shown(kind)}")
        return out + self._emit(item_pieces(known))

    def _emit(self, pieces: Iterable[Piece]) -> list[Piece]:
        found = list(pieces)
        if found and self._run is None:
            self._run = self.new_run()
        for piece in found:
            piece.run = self._run or ""
        return self.emit(found)

    def _item(self, line: int, item: Json) -> list[Piece]:
        """One item a line: a response is complete when an item that is not the model's follows."""
        self.used += 1
        first = self._open[0][1] if self._open else None
        ends = not by_model(item) or (first is not None and _part(first, item))
        out = self._close() if ends else []
        if by_model(item):
            self._open.append((line, item))
            return out
        return out + self._emit(item_pieces([(line, item)]))

    def _close(self) -> list[Piece]:
        items, self._open = self._open, []
        return self._emit(item_pieces(items))

    def _response(self, line: int, body: Json) -> list[Piece]:
        self.used += 1
        before = name(body.get("previous_response_id"))
        conversation = body.get("conversation")
        talk = name(conversation.get("id") if isinstance(conversation, dict) else conversation)
        run = self._of.get(talk or "") or self._of.get(before or "")
        if run is None and not (talk or before or self._chained):
            run = self._run
        if run is None:
            run = self.new_run(talk)
        self._chained |= before is not None
        self._run = run
        pieces = response_pieces(body, line)
        for key in (talk, name(body.get("id"))):
            if key is not None:
                self._of[key] = run
        for piece in pieces:
            piece.run = run
        return self.emit(pieces)


def _part(first: Json, item: Json) -> bool:
    """Whether the SDK noted different responses for two items."""
    a, b = response_id(first), response_id(item)
    return a is not None and b is not None and a != b


def _known(item: Json) -> bool:
    kind = item.get("type")
    if kind is None:
        return isinstance(item.get("role"), str) and "content" in item
    return isinstance(kind, str) and kind in ITEM_TYPES


# -- sniffing -------------------------------------------------------------------------------------


def sniff(sample: Sample) -> float:
    records = sample.records
    if sample.document and isinstance(records[0], list):
        records = records[0][:64]
    elif sample.document and isinstance(records[0], dict) and "items" in records[0]:
        records = rows(records[0]["items"])[:64]
    if not records or not all(isinstance(record, dict) for record in records):
        return 0.0
    if not all(map(FOREIGN.isdisjoint, records)):
        return 0.0
    if all(is_response(r) for r in records):
        return 0.95 if all("object" in r for r in records) else 0.4
    if not all(_known(record) for record in records):
        # Codex's older session files hold such items below a header and between state records
        return 0.2 if any(map(_known, records)) else 0.0
    return 0.9 if any(_telling(record) for record in records) else 0.0


def _telling(item: Json) -> bool:
    kind = item.get("type")
    if isinstance(kind, str) and kind != "message":
        return True
    parts = rows(item.get("content"))
    return any(part.get("type") in ("input_text", "output_text") for part in parts)


FORMAT = Format(
    name="openai_responses",
    title="OpenAI Responses API",
    sniff=sniff,
    reader=ResponsesReader,
    describes=(
        "Items of the Responses API (a JSON array such as the Agents SDK's to_input_list(), or one "
        "item a line) and response objects, chained by previous_response_id. Items hold no usage "
        "and no times; response objects hold no results of client-side tools."
    ),
)
