"""Where coding agents keep their logs on this machine: the table `places.toml`, and what is there.

A session counts once: a packed or archived copy of a file, or the same file through a link, is the
same session. Nothing is opened; times are those at which files were last written.
"""

from __future__ import annotations

import glob
import os
import re
import stat
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path

_PACKED = (".gz", ".bz2", ".xz", ".zst")
_VARIABLE = re.compile(r"\$\{([A-Z_]+)\}")
_SYSTEMS = {"darwin": "macos", "win32": "windows"}


@dataclass(frozen=True, slots=True)
class Agent:
    """One agent of the table. Folders hold `~` and `${VARIABLE}` as written."""

    name: str
    title: str
    variables: tuple[str, ...]
    below: str  # what comes after the folder that a variable names
    folders: tuple[str, ...]
    places: tuple[str, ...]  # below the folders: what a report reads
    sessions: tuple[str, ...]  # below the folders: files of sessions
    each: str  # "file", "folder" or "database"


@dataclass(slots=True)
class Survey:
    """What an agent has left. `sessions` is None where they lie within a database."""

    agent: Agent
    places: list[str] = field(default_factory=list)
    sessions: int | None = 0
    size: int = 0  # bytes of all files in the places
    first: float | None = None  # when a session was last written, the longest ago
    last: float | None = None  # and the newest


@cache
def agents(system: str = sys.platform) -> dict[str, Agent]:
    """All known agents by name, with the folders of this system."""
    table = tomllib.loads((files("loopaudit") / "places.toml").read_text("utf-8"))
    kind = _SYSTEMS.get(system, "linux")
    return {
        entry["name"]: Agent(
            entry["name"],
            entry["title"],
            tuple(entry.get("variables", ())),
            entry.get("below", ""),
            tuple(entry.get(f"folders_{kind}", entry["folders"])),
            tuple(entry["places"]),
            tuple(entry["sessions"]),
            entry.get("each", "file"),
        )
        for entry in table["agent"]
    }


def folders(agent: Agent, environment: Mapping[str, str], home: Path) -> list[str]:
    """The folders of an agent, there or not, each once."""
    for variable in agent.variables:
        value = environment.get(variable)
        if value:
            parts = [part.strip() for part in value.split(",")]
            found = [os.path.join(_home(part, home), agent.below) for part in parts if part]
            return _once(found)
    out = []
    for folder in agent.folders:
        names = _VARIABLE.findall(folder)
        if all(environment.get(name) for name in names):
            filled = _VARIABLE.sub(lambda match: environment[match[1]], folder)
            out.append(_home(filled, home))
    return _once(out)


def places(agent: Agent, environment: Mapping[str, str], home: Path) -> list[str]:
    """The files and folders that hold the agent's logs, as far as they are there, sorted."""
    found: list[str] = []
    for folder in folders(agent, environment, home):
        for place in agent.places:
            found += sorted(glob.glob(os.path.join(glob.escape(folder), place)))
    return _once(found)


def survey(agent: Agent, environment: Mapping[str, str], home: Path) -> Survey:
    """What an agent has left on this machine."""
    found = Survey(agent, places(agent, environment, home))
    for place in found.places:
        found.size += sum(info.st_size for info in _files(place))
    seen: set[str] = set()
    inodes: set[tuple[int, int]] = set()
    for folder in folders(agent, environment, home):
        for path in _session_files(folder, agent):
            try:
                info = os.stat(path)
            except OSError:
                continue
            identity = (info.st_dev, info.st_ino)
            name = _session(path, folder, agent)
            if not stat.S_ISREG(info.st_mode) or identity in inodes:
                continue
            inodes.add(identity)
            found.first = info.st_mtime if found.first is None else min(found.first, info.st_mtime)
            found.last = info.st_mtime if found.last is None else max(found.last, info.st_mtime)
            seen.add(name)
    databases = agent.each == "database" and any(name.endswith(".db") for name in seen)
    found.sessions = None if databases else len(seen)
    return found


def _session_files(folder: str, agent: Agent) -> Iterator[str]:
    for pattern in agent.sessions:
        for suffix in ("", *_PACKED):
            yield from sorted(
                glob.glob(
                    os.path.join(glob.escape(folder), pattern + suffix),
                    recursive=True,
                    include_hidden=True,
                )
            )


def _session(path: str, folder: str, agent: Agent) -> str:
    """What makes two files one session: the name of the file, or the folder around it."""
    for suffix in _PACKED:
        path = path.removesuffix(suffix)
    if agent.each == "folder":
        inside = os.path.relpath(path, folder).split(os.sep)
        # the folder that the pattern leaves open, else the file itself
        deep = [part for part in inside[:-1] if part not in _fixed(agent)]
        return "/".join(deep) if deep else inside[-1]
    return os.path.basename(path)


@cache
def _fixed(agent: Agent) -> frozenset[str]:
    return frozenset(
        part for pattern in agent.sessions for part in pattern.split("/") if "*" not in part
    )


def _files(place: str) -> Iterator[os.stat_result]:
    """All regular files of a place."""
    try:
        info = os.stat(place)
    except OSError:
        return
    if not stat.S_ISDIR(info.st_mode):
        yield info
        return
    for folder, _, names in os.walk(place):
        for name in names:
            try:
                info = os.stat(os.path.join(folder, name))
            except OSError:
                continue
            if stat.S_ISREG(info.st_mode):
                yield info


def _home(path: str, home: Path) -> str:
    if path == "~" or path.startswith("~/"):
        path = str(home) + path[1:]
    return os.path.normpath(path)


def _once(paths: list[str]) -> list[str]:
    return list(dict.fromkeys(paths))
