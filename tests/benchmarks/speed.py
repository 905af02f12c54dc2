"""Times `loopaudit report` and `ccusage` in turn, whole processes, on one generated corpus.

speed.py GEN CORPUS CCUSAGE [--size 1G] [--runs 5]: GEN writes CORPUS where it is absent.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median


def run(command: list[str], **more: str) -> tuple[float, float, float]:
    """Wall seconds, CPU seconds, and peak MB of the largest process."""
    start = time.perf_counter()
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, **more}
    )
    _, status, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    if os.waitstatus_to_exitcode(status):
        sys.exit(f"failed: {' '.join(command)}")
    return wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("gen", type=Path)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("ccusage")
    parser.add_argument("--size", default="1G")
    parser.add_argument("--runs", type=int, default=5)
    given = parser.parse_args()
    if not given.corpus.exists():
        command = [sys.executable, str(given.gen), str(given.corpus), "--size", given.size]
        subprocess.run(command, check=True)
    ours = [sys.executable, "-m", "loopaudit", "report", str(given.corpus)]
    theirs = [given.ccusage, "daily", "--offline", "--json"]
    pairs = [
        (run(ours), run(theirs, CLAUDE_CONFIG_DIR=str(given.corpus))) for _ in range(given.runs)
    ]
    for name, rows in zip(("loopaudit", "ccusage"), zip(*pairs, strict=True), strict=True):
        wall, cpu, peak = (median(column) for column in zip(*rows, strict=True))
        print(f"{name:10} {wall:6.2f} s wall {cpu:6.2f} s CPU {peak:6.0f} MB")
    print(f"ratio of wall times: {median(a[0] / b[0] for a, b in pairs):.2f}")


if __name__ == "__main__":
    main()
