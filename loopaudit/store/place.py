"""Where the cache lies, how large it may be, and whether its folder is safe to use."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from loopaudit.settings import Settings

#: so many MB at most, unless the settings say otherwise: results take some 1.5 % of the size of
#: their logs, so this holds those of 30 GB
MOST_MB = 512
#: reading less than so many MB of logs costs no more than the cache does
LEAST_MB = 2
_MB = 1_000_000
_KEYS = ("enabled", "dir", "max_mb", "min_mb")


@dataclass(frozen=True, slots=True)
class Place:
    """The cache as the settings want it. `folder` None: this user has no place for one."""

    folder: Path | None
    enabled: bool = True
    most: int = MOST_MB * _MB  # bytes
    least: int = LEAST_MB * _MB  # bytes of logs


def read(settings: Settings, environment: Mapping[str, str] | None = None) -> Place:
    """The table `[cache]`. `dir` counts from the folder of its settings. Raises `ConfigError`."""
    table = settings.reader("cache")
    table.only(_KEYS)
    enabled = table.flag("enabled", True)
    most = table.number("max_mb", MOST_MB, least=0) or 0
    least = table.number("min_mb", LEAST_MB, least=0) or 0
    written = table.text("dir")
    if written is None:
        folder = usual(os.environ if environment is None else environment)
    else:
        where, line = settings.place("cache", "dir")
        base = Path(where).parent if line is not None else Path()
        folder = _absolute(base / os.path.expanduser(written))
    return Place(folder, enabled and most > 0, int(most * _MB), int(least * _MB))


def usual(environment: Mapping[str, str]) -> Path | None:
    """The cache folder that this system has for a program; None where there is no home."""
    if sys.platform == "win32":
        local = environment.get("LOCALAPPDATA")
        return Path(local) / "loopaudit" / "Cache" if local else None
    named = environment.get("XDG_CACHE_HOME", "")
    if os.path.isabs(named):
        return Path(named) / "loopaudit"
    home = os.path.expanduser("~")
    if not os.path.isabs(home):
        return None
    below = ("Library", "Caches") if sys.platform == "darwin" else (".cache",)
    return Path(home).joinpath(*below, "loopaudit")


def _absolute(path: Path) -> Path | None:
    try:
        return path.absolute()
    except OSError:  # the working directory is gone
        return None


def made(folder: Path) -> None:
    """Make the folder, for this user alone. Raises `OSError`, also where others could write."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        folder.mkdir(0o700)
    check(folder)


def check(path: Path) -> None:
    """Raises `OSError` unless `path` is this user's own and no other's to write."""
    info = os.lstat(path)
    if stat.S_ISLNK(info.st_mode):
        raise OSError(f"{path} is a link")
    if os.name != "posix":  # a profile's folders are its user's own
        return
    if info.st_uid != os.geteuid():
        raise OSError(f"{path} belongs to another user")
    if info.st_mode & 0o022:
        raise OSError(f"{path} can be written by others")
