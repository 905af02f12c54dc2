"""Find inputs: files, folders, globs and standard input become a list of sources and skips."""

from __future__ import annotations

import errno
import glob
import os
import re
import secrets
import stat
import sys
import tempfile
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from loopaudit import files
from loopaudit.errors import InputError
from loopaudit.model import Skip

if TYPE_CHECKING:
    from loopaudit.files.objects import Object

#: names taken from a folder; a file named by the user is read whatever its name
LOG_SUFFIXES = (".jsonl", ".ndjson", ".json", ".yaml", ".yml", ".eval", ".traj", ".parquet")
PACKED_SUFFIXES = (".gz", ".bz2", ".xz", ".zst")
DATABASE_SUFFIXES = (".db", ".sqlite", ".sqlite3")
_WITH_DATABASE = tuple(
    f"{s}-{kind}" for s in DATABASE_SUFFIXES for kind in ("wal", "shm", "journal")
)
#: rotated and put away: `x.jsonl.1`, `x.jsonl.deleted.<time>` and `x.jsonl.reset.<time>` (OpenClaw)
_ROTATED = re.compile(r"\.(?:jsonl|ndjson)\.(?:\d{1,4}|bak|old|(?:deleted|reset)\.[\w.:-]+)$")
#: folders of a store: its sessions, and what tells nothing of them
_OF_STORE = frozenset(
    ("session", "message", "part", "info", "project", "todo", "session_diff", "session_share")
)
_DATABASE = b"SQLite format 3\x00"


@dataclass(frozen=True, slots=True)
class Source:
    path: str  # as shown to the user
    size: int
    named: bool  # given by the user, not found in a folder
    file: str = ""  # where to read it from, if that is another file (standard input)
    mtime: float = 0.0
    store: str = ""  # of a session that is kept in many files: the folder of all sessions
    folder: str | None = None  # and its own folder of messages
    etag: str | None = None  # of an object in a store

    @property
    def real(self) -> str:
        return self.file or self.path


@dataclass(slots=True)
class Found:
    sources: list[Source] = field(default_factory=list)
    skips: list[Skip] = field(default_factory=list)
    other_files: int = 0  # files in folders whose name is no log's


def is_log_name(name: str) -> bool:
    lower = name.lower()
    for suffix in PACKED_SUFFIXES:
        if lower.endswith(suffix):
            lower = lower[: -len(suffix)]
            break
    return lower.endswith(LOG_SUFFIXES) or _ROTATED.search(lower) is not None


def is_database(path: str) -> bool:
    """Whether the file at `path` begins as SQLite databases do; False where it cannot be read."""
    return files.begins_with(path, _DATABASE)


def discover(paths: list[str]) -> Found:
    """All inputs behind `paths`, each file once however often it is named or linked.

    Raises `InputError` when a named path does not exist or cannot be opened and nothing else can.
    """
    found = Found()
    seen: set[tuple[int, int]] = set()
    urls: set[str] = set()
    problems: list[str] = []
    for named in paths:
        path = files.local(named)
        if path == "-":
            if all(source.path != "-" for source in found.sources):
                found.sources.append(_spool("-"))
            continue
        if files.is_remote(path):
            try:
                _take_remote(path, found, urls)
            except OSError as error:
                problems.append(f"{path}: {files.reason(error)}")
            continue
        names = [path]
        if not os.path.lexists(path) and glob.has_magic(path):
            names = sorted(glob.glob(path, recursive=True))
            if not names:
                problems.append(f"{path}: nothing matches")
                continue
        for name in names:
            try:
                info = os.stat(name)
            except OSError as error:
                problems.append(f"{name}: {_reason(error)}")
                continue
            if _part_of_store(name, found, seen):
                continue
            if stat.S_ISDIR(info.st_mode):
                try:
                    _walk(name, found, seen)
                except OSError as error:
                    problems.append(f"{name}: {_reason(error)}")
            else:
                _take(name, info, found, seen, named=True)
    if problems and not found.sources and not found.skips:
        raise InputError(problems[0], "name a log file, a folder of logs, or - for standard input")
    found.skips += [Skip(p.partition(": ")[0], None, p.partition(": ")[2]) for p in problems]
    found.sources.sort(key=lambda s: s.path)
    return found


def _walk(root: str, found: Found, seen: set[tuple[int, int]]) -> None:
    info = os.stat(root)
    folders = {(info.st_dev, info.st_ino)}
    os.scandir(root).close()  # an unreadable root is the caller's problem, not a skip
    stack = [root]
    while stack:
        folder = stack.pop()
        try:
            with os.scandir(folder) as entries:
                ordered = sorted(entries, key=lambda e: e.name)
        except OSError as error:
            found.skips.append(Skip(folder, None, _reason(error)))
            continue
        names = [entry.name for entry in ordered]
        if "message" in names and _take_store(folder, names, found, seen):
            ordered = [entry for entry in ordered if entry.name not in _OF_STORE]
        for entry in ordered:
            try:
                info = entry.stat()
            except OSError as error:
                if is_log_name(entry.name):
                    found.skips.append(Skip(entry.path, None, _reason(error)))
                continue
            if stat.S_ISDIR(info.st_mode):
                identity = (info.st_dev, info.st_ino)
                if identity not in folders:  # a link back up would never end
                    folders.add(identity)
                    stack.append(entry.path)
                if is_log_name(entry.name):
                    found.skips.append(Skip(entry.path, None, "a folder, not a file"))
            elif is_log_name(entry.name) or (
                entry.name.lower().endswith(DATABASE_SUFFIXES) and is_database(entry.path)
            ):
                _take(entry.path, info, found, seen, named=False)
            elif not entry.name.endswith(_WITH_DATABASE):  # they are read with it
                found.other_files += 1


def _take(
    path: str, info: os.stat_result, found: Found, seen: set[tuple[int, int]], *, named: bool
) -> None:
    if not stat.S_ISREG(info.st_mode):
        if named and stat.S_ISFIFO(info.st_mode):
            found.sources.append(_spool(path))
        else:
            found.skips.append(Skip(path, None, "not a regular file"))
        return
    identity = (info.st_dev, info.st_ino)
    if identity in seen:
        return
    seen.add(identity)
    if info.st_size == 0:
        found.skips.append(Skip(path, None, "empty"))
        return
    found.sources.append(Source(path, info.st_size, named, mtime=info.st_mtime))


def _take_store(
    folder: str, names: list[str], found: Found, seen: set[tuple[int, int]], only: str = ""
) -> bool:
    """Take the sessions of a store (or `only` one of them), each as one input."""
    from loopaudit.ingest import stores

    taken = False
    for path, messages, size in stores.sessions(folder) if stores.is_store(names) else ():
        info = os.stat(path)
        if only and os.path.abspath(only) not in (os.path.abspath(path), messages):
            continue
        taken = True
        if (info.st_dev, info.st_ino) not in seen:
            seen.add((info.st_dev, info.st_ino))
            mtime = max(info.st_mtime, os.stat(messages or path).st_mtime)
            found.sources.append(Source(path, size, bool(only), "", mtime, folder, messages))
    return taken


def _part_of_store(path: str, found: Found, seen: set[tuple[int, int]]) -> bool:
    """Take the whole session whose file or folder the user named."""
    if not {"session", "info", "message"}.intersection(os.path.abspath(path).split(os.sep)[:-1]):
        return False
    from loopaudit.ingest import stores

    folder = stores.home(path)
    return folder is not None and _take_store(folder, os.listdir(folder), found, seen, path)


def _take_remote(url: str, found: Found, seen: set[str]) -> None:
    """Add what lies in an object store. Raises `OSError`."""
    from loopaudit.ingest import remote

    named, listed = remote.behind(url)
    for one in named:
        _take_object(one, found, seen, named=True)
    for home in remote.store_folders(listed):
        mine = [
            one
            for one in listed
            if one.url.startswith(f"{home}/")
            and one.url[len(home) + 1 :].partition("/")[0] in _OF_STORE
        ]
        if _take_copied_store(home, remote.copied_store(home, mine), found, seen):
            gone = {one.url for one in mine}
            listed = [one for one in listed if one.url not in gone]
    for one in listed:
        name = one.url.rpartition("/")[2]
        if not name:  # what marks an empty folder
            continue
        if is_log_name(name) or (name.lower().endswith(DATABASE_SUFFIXES) and _holds(one.url)):
            _take_object(one, found, seen, named=False)
        elif not name.endswith(_WITH_DATABASE):
            found.other_files += 1


def _take_object(one: Object, found: Found, seen: set[str], *, named: bool) -> None:
    from loopaudit.ingest import remote

    if one.url in seen:
        return
    seen.add(one.url)
    if one.size == 0:
        found.skips.append(Skip(one.url, None, "empty"))
        return
    may_be = named or one.url.lower().endswith(DATABASE_SUFFIXES)
    copy = remote.copied_database(one) if may_be and _holds(one.url) else ""
    found.sources.append(Source(one.url, one.size, named, copy, one.mtime, etag=one.etag))


def _holds(url: str) -> bool:
    """Whether the object is a database; False where it cannot be read: that is told later."""
    try:
        return files.whole(url, len(_DATABASE)) == _DATABASE
    except OSError:
        return False


def _take_copied_store(home: str, copy: str, found: Found, seen: set[str]) -> bool:
    from loopaudit.ingest import stores

    sessions = stores.sessions(copy)
    for path, messages, size in sessions:
        shown = f"{home}/{os.path.relpath(path, copy).replace(os.sep, '/')}"
        if shown not in seen:
            seen.add(shown)
            mtime = max(os.stat(kept).st_mtime for kept in (path, messages or path))
            found.sources.append(Source(shown, size, False, path, mtime, copy, messages))
    return bool(sessions)


def _spool(path: str) -> Source:
    """Copy a stream to a file, so that it can be read twice. The file goes with the process."""
    import atexit

    if path == "-" and sys.stdin is None:
        raise InputError("-: standard input is closed", "name a log file")
    name = os.path.join(tempfile.gettempdir(), f"loopaudit-stdin-{secrets.token_hex(8)}")
    atexit.register(_remove, name)  # before there is a file: a signal may come at any time
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(name, flags, 0o600), "wb") as spool:
        try:
            stream = sys.stdin.buffer if path == "-" else open(path, "rb")  # noqa: SIM115
            while block := stream.read(1 << 20):
                spool.write(block)
            spool.flush()
        except OSError as error:
            where = f", while it was copied to {os.path.dirname(name)}"
            where = where if error.errno in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT) else ""
            raise InputError(f"{path}: {_reason(error)}{where}") from error
        size = spool.tell()
    return Source(path, size, True, file=name)


def _remove(name: str) -> None:
    if os.path.exists(name):
        os.remove(name)


def _reason(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()
