"""A progress bar on stderr, for terminals and work that takes more than a moment only."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

PATIENCE = 0.7  # seconds before a bar appears


@contextmanager
def bar(wanted: bool) -> Iterator[Callable[[int, int], None] | None]:
    """A function of (bytes done, bytes in all) that draws, or None where nobody would look."""
    if not wanted or not sys.stderr.isatty() or os.environ.get("TERM", "dumb") == "dumb":
        yield None
        return
    started = time.monotonic()
    drawn: Progress | None = None
    task: TaskID | None = None

    def show(done: int, total: int) -> None:
        nonlocal drawn, task
        if drawn is None:
            if time.monotonic() - started < PATIENCE or done >= total:
                return
            drawn = _progress()
            drawn.start()
            task = drawn.add_task("reading", total=total)
        if task is not None:
            drawn.update(task, completed=done, total=total)

    try:
        yield show
    finally:
        if drawn is not None:
            drawn.stop()


def _progress() -> Progress:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(binary_units=True),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True, no_color=bool(os.environ.get("NO_COLOR"))),
        transient=True,
    )
