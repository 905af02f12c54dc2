"""What lies in an object store behind a URL: objects, folders and globs, as on a disk.

What a library opens by itself (databases) and sessions that are kept in many files are copied to a
folder that goes with the process; all else is read from where it is.
"""

from __future__ import annotations

import errno
import fnmatch
import glob
import os
import tempfile
from collections.abc import Sequence

from loopaudit.files import objects
from loopaudit.files.objects import Object
from loopaudit.ingest import stores

_BLOCK = 16 << 20


def behind(url: str) -> tuple[list[Object], list[Object]]:
    """The objects that `url` names, and those in folders that it names. Raises `OSError`."""
    one = _named(url)
    if one is not None:
        return [one], []
    if glob.has_magic(url):
        return _matching(url)
    listed = list(objects.listing(url))
    if not listed:
        raise FileNotFoundError(errno.ENOENT, "no such object or folder")
    return [], listed


def _named(url: str) -> Object | None:
    """The object at `url`. Why there is none is told better by the listing that follows."""
    try:
        return None if url.endswith("/") else objects.head(url)
    except OSError as error:
        if error.errno == errno.EHOSTUNREACH or url.startswith("http"):
            raise
        return None


def _matching(url: str) -> tuple[list[Object], list[Object]]:
    root, key = objects.split(url)
    parts = key.split("/")
    fixed = next((i for i, part in enumerate(parts) if glob.has_magic(part)), len(parts))
    named: list[Object] = []
    inside: list[Object] = []
    for one in objects.listing("/".join((root, *parts[:fixed]))):
        path = objects.split(one.url)[1].split("/")
        if _matches(path, parts):
            named.append(one)
        elif any(_matches(path[:n], parts) for n in range(1, len(path))):
            inside.append(one)
    if not named and not inside:
        raise FileNotFoundError(errno.ENOENT, "nothing matches")
    return named, inside


def _matches(path: Sequence[str], parts: Sequence[str]) -> bool:
    """As `glob.glob(recursive=True)`: `*` stays in one folder and passes over hidden names."""
    if not parts or not path:
        return not path and all(part == "**" for part in parts)
    if parts[0] == "**" and _matches(path, parts[1:]):
        return True
    if path[0].startswith(".") and not parts[0].startswith("."):
        return False
    if parts[0] == "**":
        return _matches(path[1:], parts)
    return fnmatch.fnmatchcase(path[0], parts[0]) and _matches(path[1:], parts[1:])


def store_folders(listed: Sequence[Object]) -> list[str]:
    """URLs of folders that keep sessions in many files."""
    inside: dict[str, set[str]] = {}  # names by folder
    for one in listed:
        parts = one.url.split("/")
        for place in range(3, len(parts) - 1):
            inside.setdefault("/".join(parts[:place]), set()).add(parts[place])
    return sorted(home for home, names in inside.items() if stores.is_store(names))


def copied_store(home: str, of_store: Sequence[Object]) -> str:
    """A copy of a folder with its sessions."""
    folder = _folder()
    for one in of_store:
        name = one.url.removeprefix(f"{home}/")
        if name.partition("/")[0] in stores.FOLDERS:
            _copy(one, os.path.join(folder, *name.split("/")))
    return folder


def copied_database(one: Object) -> str:
    """A copy of a database and what was written to it last."""
    copy = os.path.join(_folder(), "copy.db")
    _copy(one, copy)
    log = objects.found(f"{one.url}-wal")
    if log is not None:
        _copy(log, f"{copy}-wal")
    return copy


def _folder() -> str:
    """A folder that goes with the process."""
    import atexit
    import shutil

    folder = tempfile.mkdtemp(prefix="loopaudit-copy-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _copy(one: Object, path: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        for start in range(0, one.size, _BLOCK):
            file.write(objects.fetch(one, start, min(start + _BLOCK, one.size)))
    os.utime(path, (one.mtime, one.mtime))
