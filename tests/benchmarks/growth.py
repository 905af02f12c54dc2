"""Whether the cost of a call grows with their number: `loopaudit report` on ever larger logs.

    python tests/benchmarks/growth.py [--calls 100000 1000000 10000000] [--one] [--folder DIR]

Writes logs in our own format (sessions of 44 calls, a thousand to a file; every 25th session holds
a loop of 12 equal calls; `--one`: all calls in one session of one file) and runs the whole report
on each, without the cache, the sizes in turn. Prints CPU time (of all processes) and wall time, the
peak memory of all processes together, and the ratio of CPU per call to that of the
smallest size. The number of loops found is checked against the number written.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

PER_SESSION, PER_FILE, EVERY, REPEATS = 44, 1_000, 25, 12
_START = 1_760_000_000


def session(number: int, calls: int) -> Iterator[str]:
    """The lines of one session: a working agent, now and then stuck on one call."""
    name = f"growth-{number:07d}"
    yield f'{{"type":"run","run":"{name}","agent":"coder"}}'
    yield f'{{"type":"boundary","kind":"user","at":{_START},"text":"Go through the archive."}}'
    stuck = range(20, 20 + REPEATS) if number % EVERY == 0 else range(0)
    for step in range(calls):
        at = _START + 7 * step
        # a fixed spread of names and sizes; nothing repeats but where the session is stuck
        which = 20 if step in stuck else step
        tool = ("read_file", "search", "run")[which % 3]
        mark = (number * 7_919 + which * 104_729) % 1_000_003
        result = f"entry {mark} of part {which}: " + "lorem ipsum " * (mark % 9)
        yield (
            f'{{"type":"response","id":"msg-{name}-{step:07d}","at":{at},"model":"gpt-5-mini",'
            f'"usage":{{"fresh_input":{100 + mark % 400},"cache_read":{50 * (step % 400)},'
            f'"output":{20 + mark % 80}}},"calls":[{{"id":"c-{name}-{step:07d}","tool":"{tool}",'
            f'"args":{{"path":"archive/{number}/{which}-{mark}.txt"}},"result":"{result}",'
            f'"ended":{at + 1}}}]}}'
        )


def write(folder: Path, calls: int, one: bool) -> int:
    """Logs of `calls` calls in `folder`; returns the number of loops in them."""
    folder.mkdir(parents=True)
    each = calls if one else PER_SESSION
    sessions = calls // each
    for first in range(0, sessions, PER_FILE):
        with open(folder / f"{first // PER_FILE:05d}.jsonl", "w", encoding="utf-8") as file:
            file.write('{"loopaudit":1}\n')
            for number in range(first, min(first + PER_FILE, sessions)):
                file.writelines(f"{line}\n" for line in session(number, each))
    return len(range(0, sessions, EVERY))


def measure(folder: Path) -> tuple[float, float, float, int]:
    """CPU and wall seconds, peak MB of all processes together, loops found."""
    command = [sys.executable, "-m", "loopaudit", "report", str(folder), "--top", "1", "--no-cache"]
    with tempfile.TemporaryFile() as out:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=out)
        peak = [0.0]
        done = threading.Event()
        watch = threading.Thread(target=_watch, args=(process.pid, peak, done))
        watch.start()
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        done.set()
        watch.join()
        if os.waitstatus_to_exitcode(status):
            sys.exit(f"failed: {' '.join(command)}")
        out.seek(0)
        text = out.read().decode()
    found = re.search(r"^([\d,]+) loops? wasted", text, re.MULTILINE)
    loops = int(found.group(1).replace(",", "")) if found else 0
    return used.ru_utime + used.ru_stime, wall, peak[0], loops


def _watch(parent: int, peak: list[float], done: threading.Event) -> None:
    """Proportional set size: memory that processes share is counted once."""
    while not done.wait(0.2):
        total = sum(_pss(pid) for pid in (parent, *_children(parent)))
        peak[0] = max(peak[0], total / 1024)


def _children(parent: int) -> list[int]:
    try:
        return [
            int(pid) for pid in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
        ]
    except OSError:
        return []


def _pss(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, nargs="+", default=[100_000, 1_000_000, 10_000_000])
    parser.add_argument("--one", action="store_true")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--folder", type=Path)
    args = parser.parse_args()
    base = Path(tempfile.mkdtemp(prefix="growth-", dir=args.folder))
    try:
        rows: dict[int, list[tuple[float, float, float]]] = {}
        planted = {n: write(base / str(n), n, args.one) for n in args.calls}
        for _ in range(args.rounds):
            for n in args.calls:
                cpu, wall, peak, found = measure(base / str(n))
                if found != planted[n]:
                    sys.exit(f"{n:,} calls: {found} loops found, {planted[n]} written")
                rows.setdefault(n, []).append((cpu, wall, peak))
        print("| calls | loops | CPU µs a call | to the first | wall s | MB |")
        print("|---|---|---|---|---|---|")
        first = median(row[0] for row in rows[args.calls[0]]) / args.calls[0]
        for n, measured in rows.items():
            cpu, wall, peak = (median(row[i] for row in measured) for i in range(3))
            print(
                f"| {n:,} | {planted[n]:,} | {cpu / n * 1e6:.1f} | {cpu / n / first:.2f} "
                f"| {wall:.1f} | {peak:.0f} |"
            )
    finally:
        shutil.rmtree(base)


if __name__ == "__main__":
    main()
