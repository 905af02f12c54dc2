"""Times `loopaudit report` side by side with its peers, whole processes, on one generated corpus.

speed.py GEN CORPUS CCUSAGE [--size 1G] [--pairs 5] [--agentwaste PROGRAM]: GEN writes CORPUS where
it is absent. Every round runs all of them in turn; the table gives medians over the rounds, and
the median of the ratios of each round, as the speed of a shared machine swings. CPU time is that
of all processes together; MB is the largest of them. The last row is the floor: `orjson.loads` of
every line, in one process.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

_FLOOR = """
import pathlib, sys, orjson
for path in pathlib.Path(sys.argv[1]).rglob("*.jsonl"):
    with open(path, "rb", 1 << 20) as lines:
        for line in lines:
            orjson.loads(line)
"""


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


def table(rounds: list[dict[str, tuple[float, float, float]]], size: int) -> list[str]:
    """Markdown rows; ratios are loopaudit's time over the other's."""
    lines = [
        "| program | wall s | CPU s | MB | MB/s | loopaudit's wall | loopaudit's CPU |",
        "|---|---|---|---|---|---|---|",
    ]
    for name in rounds[0]:
        wall, cpu, peak = (median(each[name][i] for each in rounds) for i in range(3))
        ratios = [median(each["loopaudit"][i] / each[name][i] for each in rounds) for i in range(2)]
        lines.append(
            f"| {name} | {wall:.2f} | {cpu:.2f} | {peak:.0f} | {size / wall / 1e6:.0f} "
            f"| {ratios[0]:.2f} x | {ratios[1]:.2f} x |"
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("gen", type=Path)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("ccusage")
    parser.add_argument("--size", default="1G")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--agentwaste")
    given = parser.parse_args()
    corpus = str(given.corpus)
    if not given.corpus.exists():
        command = [sys.executable, str(given.gen), corpus, "--size", given.size]
        subprocess.run(command, check=True)
    ours = [sys.executable, "-m", "loopaudit", "report", corpus]
    commands: dict[str, list[str]] = {
        "loopaudit": ours,
        "loopaudit, one process": [*ours, "--processes", "1"],
        "ccusage": [given.ccusage, "daily", "--offline", "--json"],
    }
    if given.agentwaste:
        commands["agentwaste"] = [given.agentwaste, corpus]
    commands["orjson.loads, one process"] = [sys.executable, "-c", _FLOOR, corpus]
    rounds = [
        {name: run(command, CLAUDE_CONFIG_DIR=corpus) for name, command in commands.items()}
        for _ in range(given.pairs)
    ]
    size = sum(path.stat().st_size for path in given.corpus.rglob("*.jsonl"))
    print("\n".join(table(rounds, size)))


if __name__ == "__main__":
    main()
