"""Bytes by key, in one SQLite file that any number of processes may use at once.

SQLite brings what is hard: locks, all or nothing when a writer is killed or the disk is full. No
write waits for the disk: after a power cut the file may be damaged, and each row has a checksum
over its key and all it holds, so that damage is a miss. Nothing here raises: `trouble` says in one
line why nothing is kept.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xxhash import xxh3_128

from loopaudit.store import place

if TYPE_CHECKING:
    import sqlite3

#: changes with the shape of the table
FILE = "runs-1.db"
_BESIDE = ("", "-journal", "-wal", "-shm")
_MADE = """CREATE TABLE IF NOT EXISTS kept (
    id INTEGER PRIMARY KEY, key BLOB NOT NULL, used INTEGER NOT NULL, size INTEGER NOT NULL,
    about BLOB NOT NULL, data BLOB NOT NULL, sum BLOB NOT NULL)"""
_PAGE = 16_384
_WAIT = 2.0  # seconds for another process; then it is done without
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
        found: dict[bytes, tuple[bytes, bytes]] = {}
        ask = "SELECT key, used, about, data, sum FROM kept WHERE id = ?"
        recent = time.time() - _STALE
        try:
            connection = self._open(writes=False)
            if connection is None:
                return {}
            for key in keys:
                row = connection.execute(ask, (_id(key),)).fetchone()
                if row is None or row[0] != key:
                    continue
                _, used, about, data, total = row
                if _sum(key, about, data) == total:
                    found[key] = about, data
                    if used < recent:
                        self._used.append(_id(key))
        except Exception as error:
            self._failed(error)
        return found

    def use(self) -> Use | None:
        """What is there; None: nothing."""
        ask = "SELECT COUNT(*), MIN(used), MAX(used) FROM kept"
        try:
            connection = self._open(writes=False)
            if connection is None:
                return None
            number, oldest, newest = connection.execute(ask).fetchone()
            return Use(self.path, number, os.path.getsize(self.path), oldest, newest)
        except Exception as error:
            self._failed(error)
            return None

    # -- writing ----------------------------------------------------------------------------------

    def put(self, rows: Iterable[tuple[bytes, bytes, bytes]]) -> None:
        """Keep rows (key, what it is about, data), all or none, in the place of older ones."""
        now = int(time.time())
        made = [
            (_id(key), key, now, len(about) + len(data), about, data, _sum(key, about, data))
            for key, about, data in rows
        ]
        insert = "INSERT OR REPLACE INTO kept VALUES (?, ?, ?, ?, ?, ?, ?)"
        try:
            connection = self._open(writes=True)
            if connection is not None and made:
                with connection:
                    connection.execute("BEGIN IMMEDIATE")
                    connection.executemany(insert, made)
        except Exception as error:
            self._failed(error)

    def close(self) -> None:
        """Write down what was used, leave out what is too much, and let go of the file."""
        try:
            if self._used and (connection := self._open(writes=True)) is not None:
                now = int(time.time())
                with connection:
                    connection.execute("BEGIN IMMEDIATE")
                    rows = [(now, number) for number in self._used]
                    connection.executemany("UPDATE kept SET used = ? WHERE id = ?", rows)
            if self._writes and self._connection is not None:
                self._evict(self._connection)
        except Exception as error:
            self._failed(error)
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

    def _open(self, *, writes: bool) -> sqlite3.Connection | None:
        if self.trouble:
            return None
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
            f"{self.path.as_uri()}?mode={mode}", timeout=_WAIT, isolation_level=None, uri=True
        )
        self._connection, self._writes = connection, writes
        for setting in (
            f"page_size = {_PAGE}",
            "auto_vacuum = INCREMENTAL",
            "synchronous = OFF",
            "trusted_schema = OFF",
            "temp_store = MEMORY",
        ):
            connection.execute(f"PRAGMA {setting}")
        if writes:
            connection.execute(_MADE)
        elif not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'kept'").fetchone():
            self.release()  # it is being made
            return None
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
