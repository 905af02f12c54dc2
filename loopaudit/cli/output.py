"""Where a report goes: stdout or a file that is replaced only once it is whole."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from loopaudit.errors import UsageError

FEWEST_COLUMNS, MOST_COLUMNS = 72, 120  # below, tables break; beyond, lines are hard to read


@contextmanager
def opened(target: str | None) -> Iterator[TextIO]:
    """A text stream in UTF-8: stdout for None or `-`, else the file named."""
    if target is None or target == "-":
        yield sys.stdout
        return
    path = Path(os.path.realpath(target))
    try:
        if path.exists() and not path.is_file():  # a pipe or a device is written as it stands
            with path.open("w", encoding="utf-8", errors="backslashreplace") as stream:
                yield stream
            return
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise UsageError(f"-o {target}: {error.strerror}") from None
    try:
        with open(handle, "w", encoding="utf-8", errors="backslashreplace") as stream:
            yield stream
        mode = path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_umask()
        os.chmod(name, mode)
        os.replace(name, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise


def check(target: str | None) -> None:
    """Finds a folder that does not exist before the long work, not after it."""
    if target is not None and target != "-":
        path = Path(os.path.realpath(target))
        if path.is_dir() or not path.parent.is_dir():
            what = "is a folder" if path.is_dir() else f"no folder {path.parent}"
            raise UsageError(f"-o {target}: {what}")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def width(stream: TextIO) -> int:
    """Columns to fill: those of the terminal, 80 where there is none."""
    columns = shutil.get_terminal_size((80, 24)).columns if stream.isatty() else _columns()
    return max(FEWEST_COLUMNS, min(columns, MOST_COLUMNS))


def _columns() -> int:
    text = os.environ.get("COLUMNS", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 6 else 80


def coloured(stream: TextIO) -> bool:
    return (
        stream.isatty()
        and not os.environ.get("NO_COLOR")
        and os.environ.get("TERM", "dumb") != "dumb"
    )


def plain(stream: TextIO) -> bool:
    """ASCII only: a terminal with LANG=C or TERM=dumb, an encoding that has no more."""
    if not (stream.encoding or "utf-8").lower().replace("-", "").startswith("utf"):
        return True
    if not stream.isatty():
        return False
    everything, letters, rest = (os.environ.get(name) for name in ("LC_ALL", "LC_CTYPE", "LANG"))
    # Python itself sets LC_CTYPE=C.UTF-8 where the locale is C
    told = everything or (rest if letters in (None, "", "C.UTF-8") else letters)
    return told in ("C", "POSIX") or os.environ.get("TERM") == "dumb"
