"""SQLite databases as records: a private copy is opened, with its write-ahead log.

The newest turns of an agent that runs (or crashed) stand in the `-wal` file only. Opening a
database, even for reading, can change both files, so both are copied first. The copy has no name
any more once it is open (where the system allows that), and goes with the process.
"""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from loopaudit.errors import InputError
from loopaudit.files import evidence
from loopaudit.formats.base import Table

_TRIES = 3  # copies made while the original is being written
_LOGS = ("-wal", "-journal")  # what was not yet taken in, and what is to be taken back
_AT_ONCE = 256  # rows fetched at once
NO_TABLES = (
    "an SQLite database without tables: its writer holds it locked and has committed nothing, or"
    " its -wal file is not beside it"
)
_LOCKED = "an SQLite database that another program holds locked"


class Database:
    """A private copy of the database at `path`. Raises `InputError`."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.tables: dict[str, frozenset[str]] = {}  # name -> columns
        self.lost: list[tuple[int, str]] = []  # rowid, and why reading stopped there
        self._folder = tempfile.mkdtemp(prefix="loopaudit-db-")
        try:
            self._connection = self._open(_copy(path, self._folder))
            self._look()
        except OSError as error:
            self._remove()
            reason = (error.strerror or str(error)).lower()
            reason = f"{_LOCKED} ({reason})" if _is_held(error) else reason
            raise InputError(f"{path}: {reason}, while it was copied to be read") from error
        except sqlite3.Error as error:
            self.close()
            what = "an SQLite database that cannot be read"
            what = _LOCKED if "locked" in str(error) else what
            raise InputError(f"{path}: {what} ({error})") from error
        except BaseException:
            self._remove()
            raise
        if os.name == "posix":
            self._remove()  # open files stay readable

    def _open(self, copy: str) -> sqlite3.Connection:
        connection = sqlite3.connect(copy, isolation_level=None, check_same_thread=False)
        connection.text_factory = _text
        return connection

    def _look(self) -> None:
        ask = self._connection.execute
        ask("PRAGMA trusted_schema = OFF")
        ask("PRAGMA journal_mode = MEMORY")  # takes in the write-ahead log, and needs no file more
        names = ask("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
        for (name,) in names.fetchall():
            if isinstance(name, str):
                columns = ask(f"PRAGMA table_info({_quoted(name)})").fetchall()
                self.tables[name] = frozenset(str(column[1]) for column in columns)
        if not self.tables:
            raise InputError(f"{self.path}: {NO_TABLES}")

    def close(self) -> None:
        connection = getattr(self, "_connection", None)
        if connection is not None:
            connection.close()
        self._remove()

    def _remove(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    def records(self, wanted: Iterable[Table]) -> Iterator[tuple[int, dict[str, Any]]]:
        """(rowid, {"table", "row", child}) of the tables that are there, in the order declared.

        A damaged page ends the reading: see `lost`.
        """
        line = 1
        for table in wanted:
            try:
                if table.name in self.tables:
                    for line, record in self._table(table):
                        yield line, record
            except sqlite3.Error as error:
                self.lost.append((line, f"table {table.name} is damaged behind this row ({error})"))

    def record(self, wanted: Sequence[Table], line: int) -> dict[str, Any] | None:
        """The record of one row of the last table, where results stand; None if it is not there."""
        table = wanted[-1]
        try:
            row = self._row(f"SELECT * FROM {_quoted(table.name)} WHERE rowid = ?", line)
            if row is None:
                return None
            record: dict[str, Any] = {"table": table.name, "row": row}
            if table.child is not None:
                key = _quoted(table.child_key)
                ask = f"SELECT * FROM {_quoted(table.child)} WHERE {key} = ? ORDER BY id"
                cursor = self._connection.execute(ask, (row.get(table.key),))
                columns = [column[0] for column in cursor.description]
                record[table.child] = [dict(zip(columns, r, strict=True)) for r in cursor]
        except sqlite3.Error:
            return None
        return record

    def _row(self, ask: str, line: int) -> dict[str, Any] | None:
        cursor = self._connection.execute(ask, (line,))
        values = cursor.fetchone()
        columns = [column[0] for column in cursor.description]
        return None if values is None else dict(zip(columns, values, strict=True))

    def _table(self, table: Table) -> Iterator[tuple[int, dict[str, Any]]]:
        child = None
        if table.child in self.tables and table.child_key in self.tables[table.child or ""]:
            order = (table.child_key, "id")
            child = _Children(self._select(table.child or "", order), table.child_key)
        for line, row in self._select(table.name, table.order):
            record: dict[str, Any] = {"table": table.name, "row": row}
            if table.child is not None:
                record[table.child] = child.of(row.get(table.key)) if child is not None else []
            yield line, record

    def _select(self, name: str, order: tuple[str, ...]) -> Iterator[tuple[int, dict[str, Any]]]:
        there = self.tables[name]
        # compared as bytes, as the merge with a child's rows needs it
        keys = [f"{_quoted(column)} COLLATE BINARY" for column in order if column in there]
        try:
            cursor = self._connection.execute(
                f"SELECT rowid, * FROM {_quoted(name)} ORDER BY {', '.join([*keys, 'rowid'])}"
            )
        except sqlite3.OperationalError:  # a table without rowids
            by = f" ORDER BY {', '.join(keys)}" if keys else ""
            cursor = self._connection.execute(f"SELECT 0, * FROM {_quoted(name)}{by}")
        columns = [column[0] for column in cursor.description][1:]
        number = 0
        while some := cursor.fetchmany(_AT_ONCE):
            for rowid, *values in some:
                number += 1
                line = rowid if isinstance(rowid, int) and 0 < rowid < 2**53 else number
                yield line, dict(zip(columns, values, strict=True))


class _Children:
    """The rows of a child table, handed out along with the sorted rows of the parent."""

    def __init__(self, rows: Iterator[tuple[int, dict[str, Any]]], key: str) -> None:
        self._rows = rows
        self._key = key
        self._next = next(rows, None)

    def of(self, parent: Any) -> list[dict[str, Any]]:
        found = []
        wanted = _rank(parent)
        while self._next is not None:
            rank = _rank(self._next[1].get(self._key))
            if rank > wanted:
                break
            if rank == wanted:
                found.append(self._next[1])
            self._next = next(self._rows, None)
        return found


def _rank(value: Any) -> tuple[int, Any]:
    """The order in which SQLite sorts values."""
    if value is None:
        return 0, 0
    if isinstance(value, int | float):
        return 1, value
    if isinstance(value, str):
        return 2, value.encode("utf-8", "surrogatepass")
    return 3, value


def _copy(path: str, folder: str) -> str:
    """Copies the database and its write-ahead log, as they were at one moment if that can be."""
    target = os.path.join(folder, "copy.db")
    for _ in range(_TRIES):
        for name in (path, *(path + log for log in _LOGS)):
            evidence.note(name)
        before = _state(path)
        shutil.copyfile(path, target)
        for log in _LOGS:
            if os.path.exists(path + log):
                shutil.copyfile(path + log, target + log)
            elif os.path.exists(target + log):
                os.remove(target + log)
        if _state(path) == before:
            break
    return target


def _state(path: str) -> list[tuple[int, int] | None]:
    found: list[tuple[int, int] | None] = []
    for name in (path, *(path + log for log in _LOGS)):
        try:
            info = os.stat(name)
            found.append((info.st_mtime_ns, info.st_size))
        except FileNotFoundError:
            found.append(None)
    return found


def _is_held(error: OSError) -> bool:
    """Whether another program holds the file: sharing and lock violations of Windows, and locks
    that a kernel enforces."""
    held = (errno.EAGAIN, errno.EBUSY, errno.EDEADLK)
    return getattr(error, "winerror", None) in (32, 33) or error.errno in held


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
