"""Bytes by key, in one SQLite file that any number of processes may use at once.

SQLite brings what is hard: locks, all or nothing when a writer is killed or the disk is full. No
write waits for the disk: after a power cut the file may be damaged, and each row has a checksum
over its key and all it holds, so that damage is a miss. Nothing here raises: `trouble` says in one
line why nothing is kept.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from xxhash import xxh3_128

from loopaudit.store import place

if TYPE_CHECKING:
    import sqlite3

_T = TypeVar("_T")

#: changes with the shape of the table
FILE = "runs-1.db"
_BESIDE = ("", "-journal", "-wal", "-shm")
_MADE = """CREATE TABLE IF NOT EXISTS kept (
    id INTEGER PRIMARY KEY, key BLOB NOT NULL, used INTEGER NOT NULL, size INTEGER NOT NULL,
    about BLOB NOT NULL, data BLOB NOT NULL, sum BLOB NOT NULL)"""
_PAGE = 16_384
_WAIT = 2.0  # seconds for another process; then it is done without
_PAUSE = 0.01
_STALE = 3600  # seconds after which a use is written down again
_KEEP = 0.9  # of the most that may be kept stays when it is too much


@dataclass(frozen=True, slots=True)
class Use:
    """What the cache holds."""

    path: Path
    entries: int
    size: int  # bytes on disk
    oldest: float | None  # seconds since the epoch of its last use
    newest: float | None


class Shelf:
    """The rows in `folder`, at most `most` bytes of them."""

    def __init__(self, folder: Path, most: int) -> None:
        self.path = folder / FILE
        self.most = most
        self.trouble = ""
        self._connection: sqlite3.Connection | None = None
        self._writes = False
        self._used: list[int] = []  # ids whose last use is to be written down

    # -- reading ----------------------------------------------------------------------------------

    def get(self, keys: Sequence[bytes]) -> dict[bytes, tuple[bytes, bytes]]:
        """What is kept under `keys`: what it is about, and the data."""
        ask = "SELECT key, used, about, data, sum FROM kept WHERE id = ?"
        recent = time.time() - _STALE

        def read(connection: sqlite3.Connection) -> dict[bytes, tuple[bytes, bytes]]:
            found: dict[bytes, tuple[bytes, bytes]] = {}
            for key in keys:
                row = connection.execute(ask, (_id(key),)).fetchone()
                if row is None or row[0] != key:
                    continue
                _, used, about, data, total = row
                if _sum(key, about, data) == total:
                    found[key] = about, data
                    if used < recent:
                        self._used.append(_id(key))
            return found

        return self._do(read, writes=False) or {}

    def use(self) -> Use | None:
        """What is there; None: nothing."""
        ask = "SELECT COUNT(*), MIN(used), MAX(used) FROM kept"

        def count(connection: sqlite3.Connection) -> Use:
            number, oldest, newest = connection.execute(ask).fetchone()
            return Use(self.path, number, os.path.getsize(self.path), oldest, newest)

        return self._do(count, writes=False)

    # -- writing ----------------------------------------------------------------------------------

    def put(self, rows: Iterable[tuple[bytes, bytes, bytes]]) -> None:
        """Keep rows (key, what it is about, data), all or none, in the place of older ones."""
        now = int(time.time())
        made = [
            (_id(key), key, now, len(about) + len(data), about, data, _sum(key, about, data))
            for key, about, data in rows
        ]
        insert = "INSERT OR REPLACE INTO kept VALUES (?, ?, ?, ?, ?, ?, ?)"
        if made:
            self._do(lambda connection: _run(connection, insert, made), writes=True)

    def close(self) -> None:
        """Write down what was used, leave out what is too much, and let go of the file."""
        if self._used:
            now = int(time.time())
            rows = [(now, number) for number in self._used]
            update = "UPDATE kept SET used = ? WHERE id = ?"
            self._do(lambda connection: _run(connection, update, rows), writes=True)
        if self._writes:
            self._do(self._evict, writes=True)
        self._used.clear()
        self.release()

    def _evict(self, connection: sqlite3.Connection) -> None:
        if os.path.getsize(self.path) <= self.most:
            return
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            left = int(self.most * _KEEP) - 2 * _PAGE
            rows = connection.execute("SELECT id, size FROM kept ORDER BY used DESC, id")
            gone = []
            for number, size in rows:
                left -= size + _PAGE  # the last page of a row is half full, and has an index
                if left < 0:
                    gone.append((number,))
            connection.executemany("DELETE FROM kept WHERE id = ?", gone)
        connection.execute("PRAGMA incremental_vacuum").fetchall()

    # -- the file ---------------------------------------------------------------------------------

    def _do(self, work: Callable[[sqlite3.Connection], _T], *, writes: bool) -> _T | None:
        """The result of `work`; None where there is nothing to read, or it cannot be done."""
        until = time.monotonic() + _WAIT
        while not self.trouble:
            try:
                connection = self._open(writes=writes)
                return None if connection is None else work(connection)
            except Exception as error:
                # SQLite waits by itself, but not where it finds two that would wait for each other
                if not _is_busy(error) or time.monotonic() > until:
                    self._failed(error)
                self.release()
                time.sleep(_PAUSE)
        return None

    def _open(self, *, writes: bool) -> sqlite3.Connection | None:
        if self._connection is not None:
            if self._writes or not writes:
                return self._connection
            self.release()
        folder = self.path.parent
        if writes:
            place.made(folder)
            with suppress(FileExistsError):
                flags = os.O_CREAT | os.O_EXCL | os.O_RDWR
                os.close(os.open(self.path, flags, 0o600))
        elif not self.path.exists():
            return None
        place.check(folder)
        place.check(self.path)
        import sqlite3

        mode = "rw" if os.access(folder, os.W_OK) and os.access(self.path, os.W_OK) else "ro"
        if writes and mode == "ro":
            raise OSError(f"{folder} cannot be written")
        connection = sqlite3.connect(
            f"{self.path.as_uri()}?mode={mode}", timeout=_WAIT / 4, isolation_level=None, uri=True
        )
        self._connection, self._writes = connection, writes
        of_new = (f"page_size = {_PAGE}", "auto_vacuum = INCREMENTAL", "synchronous = OFF")
        for setting in (*(of_new if writes else ()), "trusted_schema = OFF"):
            connection.execute(f"PRAGMA {setting}")
        if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'kept'").fetchone():
            return connection
        if not writes:
            self.release()  # it is being made
            return None
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(_MADE)
        return connection

    def release(self) -> None:
        """Let go of the file for now; a connection must not be taken into another process."""
        connection, self._connection, self._writes = self._connection, None, False
        if connection is not None:
            with suppress(Exception):
                connection.close()

    def _failed(self, error: Exception) -> None:
        """Do without it from now on. A file that is no database any more is thrown away."""
        self.trouble = " ".join(str(error).split())[:200] or type(error).__name__
        self.release()
        if _is_damage(error):
            clear(self.path.parent)


def clear(folder: Path) -> int:
    """Delete what is kept in `folder`; the bytes that were freed. Raises `OSError`."""
    freed = 0
    for name in (FILE + ending for ending in _BESIDE):
        path = folder / name
        with suppress(FileNotFoundError):
            size = os.lstat(path).st_size
            os.remove(path)
            freed += size
    return freed


def _run(connection: sqlite3.Connection, statement: str, rows: Sequence[Any]) -> None:
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany(statement, rows)


def _is_busy(error: Exception) -> bool:
    code = getattr(error, "sqlite_errorname", None) or ""
    return str(code).startswith(("SQLITE_BUSY", "SQLITE_LOCKED"))


def _is_damage(error: Exception) -> bool:
    code: Any = getattr(error, "sqlite_errorname", None) or ""
    return str(code).startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB"))


def _id(key: bytes) -> int:
    return int.from_bytes(key[:8], "little", signed=True)


def _sum(key: bytes, about: bytes, data: bytes) -> bytes:
    found = xxh3_128(key)
    for part in (about, data):
        found.update(len(part).to_bytes(8, "little"))
        found.update(part)
    return found.digest()
