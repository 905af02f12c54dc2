"""Time for a live run: scripted (takes none, the same each time) or real."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol

#: when scripted time begins
START = datetime(2026, 1, 5, 9, tzinfo=UTC).timestamp()


class Clock(Protocol):
    def now(self) -> float:
        """Seconds since the epoch."""

    def sleep(self, seconds: float) -> None:
        """Let `seconds` pass."""


class ScriptedClock:
    """Moves only when told to."""

    def __init__(self, start: float = START) -> None:
        self._now = start

    def now(self) -> float:
        return self._now

    def sleep(self, seconds: float) -> None:
        self._now = round(self._now + max(0.0, seconds), 3)


class RealClock:
    """The machine's own time. A scripted run under it really waits."""

    def now(self) -> float:
        return time.time()

    def sleep(self, seconds: float) -> None:
        time.sleep(max(0.0, seconds))
