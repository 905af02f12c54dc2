"""Runs a program and tells what it took: time, processor time, memory of all its processes."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

_EVERY = 0.05  # seconds between two looks at the memory


class Took(NamedTuple):
    wall: float  # seconds
    cpu: float  # seconds, of the program and all that it started


def timed(command: Sequence[str], more: Mapping[str, str] | None = None) -> Took:
    """Run `command` to its end; its output is thrown away. Exits where it fails."""
    start = time.perf_counter()
    process = _started(command, more)
    _, status, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    _check(status, command)
    return Took(wall, used.ru_utime + used.ru_stime)


def peak(command: Sequence[str], more: Mapping[str, str] | None = None) -> float:
    """Most MB that `command` and all its processes held together, shared memory counted once.

    The looking takes time of its own, so this is no run to be timed.
    """
    process = _started(command, more)
    most = [0.0]
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(_EVERY):
            most[0] = max(most[0], sum(map(_held, _family(process.pid))) / 1000)

    thread = threading.Thread(target=watch)
    thread.start()
    _, status, _ = os.wait4(process.pid, 0)
    ended.set()
    thread.join()
    _check(status, command)
    return most[0]


def _started(command: Sequence[str], more: Mapping[str, str] | None) -> subprocess.Popen[bytes]:
    null = subprocess.DEVNULL
    return subprocess.Popen(command, stdout=null, stderr=null, env={**os.environ, **(more or {})})


def _check(status: int, command: Sequence[str]) -> None:
    if os.waitstatus_to_exitcode(status):
        sys.exit(f"failed: {' '.join(command)}")


def _family(pid: int) -> Iterator[int]:
    yield pid
    for tasks in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = tasks.read_text().split()
        except OSError:
            continue
        for child in children:
            yield from _family(int(child))


def _held(pid: int) -> float:
    """kB of a process: its own, and its share of what it shares (the `Pss` of Linux)."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) * 1.024 for line in lines if line.startswith("Pss:"))
