"""Folders in which many small files are one session: opencode's storage, until it had a database.

`session/<project>/<session>.json` (early: `info/<session>.json`), `message/<session>/*.json` and
`part/<message>/*.json` (early: `part/<session>/<message>/*.json`). Each session is one input: its
records are the session, then each message with its parts. Their lines are numbers of messages.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any

import orjson

from loopaudit.ingest.salvage import parse

FOLDERS = frozenset(("session", "info", "message", "part"))
_PREFIX = "ses_"


def is_store(names: Iterable[str]) -> bool:
    """Whether a folder with sub-folders of these names is such a store."""
    found = FOLDERS.intersection(names)
    return "message" in found and bool(found & {"session", "info"})


def sessions(root: str) -> list[tuple[str, str | None, int]]:
    """(path to show, folder of messages, bytes) of the sessions of the store in `root`."""
    files: dict[str, str] = {}
    for top in ("session", "info"):
        for path in _json_files(os.path.join(root, top), deep=True):
            files.setdefault(_bare(os.path.basename(path)[:-5]), path)
    found: list[tuple[str, str | None, int]] = []
    messages = os.path.join(root, "message")
    if not _is_message(messages):
        return []
    for name in sorted(os.listdir(messages)):
        folder = os.path.join(messages, name)
        if os.path.isdir(folder):
            path = files.pop(_bare(name), folder)
            found.append((path, folder, _size(root, folder)))
    found += [(path, None, os.path.getsize(path)) for path in files.values()]
    return found


def _is_message(folder: str) -> bool:
    """Whether the first message that is found is one of opencode."""
    for path in _json_files(folder, deep=True)[:1]:
        try:
            with open(path, "rb") as file:
                value = orjson.loads(file.read(1 << 20))
        except (OSError, ValueError):
            return False
        return isinstance(value, dict) and "role" in value and "id" in value
    return False


def home(path: str) -> str | None:
    """The store that holds the session whose file or folder of messages is at `path`."""
    folder = os.path.dirname(os.path.abspath(path))
    for _ in range(2):
        folder, top = os.path.split(folder)
        if top in ("session", "info", "message") and os.path.isdir(os.path.join(folder, "message")):
            return folder if top != "message" or os.path.isdir(path) else None
    return None


class Store:
    """One session of a store. `lost`: number of the message and reason."""

    def __init__(self, root: str, path: str, folder: str | None) -> None:
        self.root, self.path, self.folder = root, path, folder
        self.lost: list[tuple[int, str]] = []
        self._messages: list[str] = []
        self._loose: dict[str, list[dict[str, Any] | None]] = {}

    def close(self) -> None:
        """Nothing is held open."""

    def records(self) -> Iterator[tuple[int, dict[str, Any]]]:
        if self.path.endswith(".json"):
            info = self._load(self.path, 1)
            if info is not None:
                yield 1, info
        if self.folder is None:
            return
        self._loose = self._loose_parts()
        self._messages = _json_files(self.folder)
        for number in range(1, len(self._messages) + 1):
            record = self.record(number)
            if record is not None:
                yield number, record

    def record(self, number: int) -> dict[str, Any] | None:
        """A message with its parts; None where it cannot be read."""
        path = self._messages[number - 1]
        info = self._load(path, number)
        if info is None:
            return None
        stem = os.path.basename(path)[:-5]
        own = str(info.get("id") or stem)
        info.setdefault("sessionID", os.path.basename(self.folder or ""))
        parts = [self._load(part, number) for part in self._parts(stem, own)]
        parts += self._loose.get(own, [])
        return {"info": info, "parts": [p for p in parts if p is not None]}

    def _parts(self, stem: str, own: str) -> list[str]:
        session = os.path.basename(self.folder or "")
        for name in dict.fromkeys((own, stem)):
            if os.sep in name or name in ("", ".", ".."):
                continue
            for folder in ((name,), (session, name)):
                paths = _json_files(os.path.join(self.root, "part", *folder))
                if paths:
                    return paths
        return []

    def _loose_parts(self) -> dict[str, list[dict[str, Any] | None]]:
        """Parts that lie in no folder of their message, by the message that they name."""
        found: dict[str, list[dict[str, Any] | None]] = {}
        for path in _json_files(os.path.join(self.root, "part")):
            part = self._load(path, 1)
            if part is not None and isinstance(part.get("messageID"), str):
                found.setdefault(part["messageID"], []).append(part)
        return found

    def _load(self, path: str, number: int) -> dict[str, Any] | None:
        name = os.path.relpath(path, self.root)
        try:
            with open(path, "rb") as file:
                data = file.read()
            value = orjson.loads(data)
        except OSError as error:
            self.lost.append((number, f"{name}: {(error.strerror or str(error)).lower()}"))
            return None
        except ValueError:
            found = parse(data, last=True)
            value = found.values[0] if len(found.values) == 1 else None
        if not isinstance(value, dict):
            self.lost.append((number, f"{name}: no JSON object"))
            return None
        return value


def _json_files(folder: str, deep: bool = False) -> list[str]:
    """The JSON files of a folder, sorted by name; with `deep` those of its sub-folders, too."""
    found: list[str] = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.endswith(".json") and entry.is_file():
                    found.append(entry.path)
                elif deep and entry.is_dir(follow_symlinks=False):
                    found += _json_files(entry.path)
    except OSError:
        return []
    return sorted(found)


def _size(root: str, folder: str) -> int:
    total = 0
    for path in _json_files(folder):
        parts = os.path.join(root, "part", os.path.basename(path)[:-5])
        total += sum(os.path.getsize(p) for p in (path, *_json_files(parts)))
    return total


def _bare(name: str) -> str:
    return name.removeprefix(_PREFIX)
