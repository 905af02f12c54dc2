"""Reads the text of one result again from a plain log of lines.

A long session holds only the texts of its newest results. When a call is repeated much later and
its result differs, the first result must be masked too: it is read again from its line.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import orjson

from loopaudit import files
from loopaudit.formats.base import Reader
from loopaudit.ingest.salvage import parse
from loopaudit.model import ResultPiece

#: one offset is kept for so many lines
STRIDE = 64


class Again(Protocol):
    """Reads the text of one result again."""

    def result(self, line: int, call_id: str) -> Any:
        """The result of `call_id` that stands on `line`, as the reader gives it; None if not."""


class RecordRereader:
    """Reads again from what has records but no lines: `record` gives that of a line."""

    def __init__(self, record: Callable[[int], Any], reader: Callable[[], Reader]) -> None:
        self.record = record
        self.reader = reader

    def result(self, line: int, call_id: str) -> Any:
        value = self.record(line)
        return None if value is None else _result_in(self.reader(), line, [value], call_id)


class Rereader:
    """Knows where every `STRIDE`th line begins; `offsets[n]` is that of line n * STRIDE + 1."""

    def __init__(self, file: str, reader: Callable[[], Reader]) -> None:
        self.file = file
        self.reader = reader
        self.offsets: list[int] = [0]

    def result(self, line: int, call_id: str) -> Any:
        """The result of `call_id` that stands on `line`, as the reader gives it; None if not."""
        place = (line - 1) // STRIDE
        if place >= len(self.offsets):
            return None
        try:
            with files.opened_at(self.file, self.offsets[place]) as stream:
                for _ in range((line - 1) % STRIDE):
                    stream.readline()
                raw = stream.readline()
        except OSError:
            return None
        try:
            values = [orjson.loads(raw)]
        except ValueError:
            values = parse(raw).values
        return _result_in(self.reader(), line, values, call_id)


def _result_in(reader: Reader, line: int, values: list[Any], call_id: str) -> Any:
    found = None
    for value in values:
        # a reader may hold back what stands before the first response
        for piece in (*reader.feed(line, value), *reader.end()):
            if isinstance(piece, ResultPiece) and piece.call_id == call_id:
                found = piece.text
    vars(reader).clear()  # a reader that knows its own methods is a cycle: let it go now
    return found
