"""What a log format is: a sniffer and a reader that turns parsed records into neutral pieces.

A reader owns its format and nothing else: it does not merge pieces of one response, pair results
with calls, drop duplicates or compute digests. `ingest` does that, once, for all formats.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from loopaudit.model import Piece


@dataclass(slots=True)
class Sample:
    """The head of an input: what a sniffer may look at.

    `records` holds the first parsed values: up to 64 of a line-based log, or the single value of a
    document. `document` tells which. `path` is a hint only; content decides.
    """

    path: str
    records: list[Any]
    document: bool = False
    tables: dict[str, frozenset[str]] = field(default_factory=dict)  # of a database: its columns


@dataclass(frozen=True, slots=True)
class Table:
    """A table of an SQLite database that a format reads, row by row.

    A row is fed as `{"table": name, "row": {column: value}}`, its line is its rowid. With `child`
    the rows of another table that name the row's `key` in `child_key` are given along, as a list
    under the child's name.
    """

    name: str
    order: tuple[str, ...]  # columns to sort by; one that is not there is left out
    child: str | None = None
    child_key: str = ""
    key: str = "id"


#: lost records of one input that are listed one by one
MOST_LISTED = 10_000


class Rejected(list[tuple[int, str]]):
    """Line and reason of records that could not be used; past `MOST_LISTED` they are counted."""

    more = 0

    def append(self, item: tuple[int, str]) -> None:
        if len(self) < MOST_LISTED:
            super().append(item)
        else:
            self.more += 1


class Reader:
    """Reads one input. `feed` gets each parsed record with its 1-based line, then `end` is called.

    A document (one JSON or YAML value for the whole input) is fed as one record; `locate` then maps
    a path of keys to its line where the opener knows it.
    """

    #: the log flags every failed call, so words in a result tell nothing more
    flags_failures: ClassVar[bool] = False
    #: an output count may be a placeholder written before the stream ended
    placeholder_outputs: ClassVar[bool] = False
    #: a call is told while its arguments are still written, and again with more of them; in other
    #: logs a call of the same id with other arguments is another one
    streamed_calls: ClassVar[bool] = False
    #: calls have no ids, so that a result cannot be read again: more of them are held
    unnamed_calls: ClassVar[bool] = False
    #: pieces come at the end, so texts are in memory until then whatever is done with them
    holds_all: ClassVar[bool] = False

    def __init__(self, path: str) -> None:
        self.path = path
        self.used = 0  # records that became pieces
        self.ignored: Counter[str] = Counter()  # records ignored on purpose, by name
        self.missing: set[str] = set()  # of "results", "times", "usage", "arguments"
        self.rejected = Rejected()
        self.locate: Callable[..., int] | None = None  # documents: path of keys -> line, or None

    def feed(self, line: int, record: Any) -> Iterable[Piece]:
        raise NotImplementedError

    def end(self) -> Iterable[Piece]:
        return ()


@dataclass(frozen=True, slots=True)
class Format:
    name: str
    title: str
    sniff: Callable[[Sample], float]  # 0 (not mine) .. 1 (certain)
    reader: Callable[[str], Reader]  # path -> reader
    describes: str = ""  # one paragraph for `explain`: where such logs lie, what they lack
    lacks: frozenset[str] = field(default_factory=frozenset)  # what no log of this kind holds
    example: tuple[str, ...] = ()  # lines of a small log, where people write such logs by hand
    tables: tuple[Table, ...] = ()  # of a database, in the order in which they are read
