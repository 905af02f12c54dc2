"""`--follow`: shows the report again whenever a log has grown, until Ctrl-C."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from typing import NoReturn

from loopaudit import files
from loopaudit.errors import UsageError
from loopaudit.ingest.sources import discover

PAUSE = 1.0  # seconds between looks at the files
_CLEAR = "\x1b[H\x1b[2J\x1b[3J"


def watch(paths: Sequence[str], show: Callable[[], None]) -> NoReturn:
    """Calls `show` now and after each change. On a terminal the screen is cleared before."""
    if any(map(files.is_remote, paths)):
        raise UsageError("--follow watches local files only")
    seen = state(paths)
    while True:
        if sys.stdout.isatty():
            sys.stdout.write(_CLEAR)
        show()
        print("Watching for changes; Ctrl-C ends.", file=sys.stderr)
        sys.stdout.flush()
        while True:
            time.sleep(PAUSE)
            now = state(paths)
            if now != seen:
                seen = now
                break


def state(paths: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Size and last write of every log behind `paths`; a database counts with its `-wal`."""
    found: dict[str, tuple[int, int]] = {}
    for source in discover(list(paths)).sources:
        if source.store:  # kept in many files
            found[source.path] = (source.size, int(source.mtime * 1e9))
            continue
        for path in (source.real, f"{source.real}-wal"):
            try:
                info = os.stat(path)
            except OSError:
                continue
            size, written = found.get(source.path, (0, 0))
            found[source.path] = (size + info.st_size, max(written, info.st_mtime_ns))
    return found
