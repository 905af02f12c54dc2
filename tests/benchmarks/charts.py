"""What each chart takes beyond the analysis: 5 s and 1 GB are allowed for 100,000 sessions.

    python tests/benchmarks/charts.py [--sessions 100000] [--folder DIR] [--pictures DIR]

Writes tiny sessions in our own format (a thousand to a file; every tenth holds a loop, every
fiftieth failed attempts, each says how it ended), reads them once, and draws every chart in a
process of its own, forked from the one that holds the analysis. Prints a Markdown table: CPU
seconds of the chart, and how far it grew beyond the analysis. Ends with 1 where a limit is broken.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from loopaudit.cli.auditing import studied
from loopaudit.cli.drawing import Asked, By, Kind, drawn, prepared
from loopaudit.cli.options import audit_options
from loopaudit.cli.tuned import guards_to_tune
from loopaudit.formats.native.write import dump
from loopaudit.render.charts.style import looks, save
from loopaudit.settings import Settings

SECONDS, MEGABYTES = 5.0, 1_000.0
PER_FILE = 1_000
_START = 1_760_000_000
_MODELS = ("claude-sonnet-4-5", "gpt-5", "gemini-2.5-pro", "no-such-model")


def session(number: int) -> Iterator[dict[str, Any]]:
    """Three useful steps; where stuck, five equal ones more."""
    name, stuck = f"s{number:06d}", number % 10 == 0
    yield {
        "type": "run",
        "run": name,
        "agent": f"agent {number % 40}",
        "project": f"project-{number % 700}",
        "task_type": f"type-{number % 5}",
        "outcome": "failure" if stuck else "success",
    }
    for step in range(8 if stuck else 3):
        at = datetime.fromtimestamp(_START + 300 * number + 20 * step, UTC)
        what = {"n": 2 if step > 2 else step}
        if step == 1 and number % 50 == 0:
            for attempt in range(1, 4):
                yield {
                    "type": "attempt",
                    "run": name,
                    "at": at.isoformat(),
                    "http_status": 529,
                    "number": attempt,
                    "wait": 0.5 * 2**attempt,
                }
        yield {
            "type": "response",
            "run": name,
            "id": f"{name}-{step}",
            "at": at.isoformat(),
            "model": _MODELS[number % 4],
            "usage": {"fresh_input": 900 + 50 * step, "cache_read": 4_000, "output": 120},
            "calls": [
                {
                    "id": f"{name}-{step}",
                    "tool": f"tool{number % 30}",
                    "args": what,
                    "result": f"{what} of {name}",
                }
            ],
        }


def write(folder: Path, sessions: int) -> None:
    for first in range(0, sessions, PER_FILE):
        with (folder / f"{first:07d}.jsonl").open("wb") as stream:
            stream.write(dump({"loopaudit": 1}) + b"\n")
            for number in range(first, min(first + PER_FILE, sessions)):
                stream.writelines(dump(line) + b"\n" for line in session(number))


def measured(work: Callable[[], None]) -> tuple[float, float]:
    """CPU seconds and megabytes beyond those it began with, of `work` in a forked process."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            before = _resident()
            began = time.process_time()
            work()
            took = time.process_time() - began
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
            os.write(theirs, f"{took} {peak - before}".encode())
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    os.close(theirs)
    _, status = os.waitpid(child, 0)
    text = os.read(ours, 100).decode()
    os.close(ours)
    if status or not text:
        raise SystemExit("a chart failed")
    seconds, megabytes = text.split()
    return float(seconds), float(megabytes)


def _resident() -> float:
    """Megabytes of this process, from /proc; where there is none, what it had at most."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, ValueError):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    return pages * resource.getpagesize() / 1e6


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=100_000)
    parser.add_argument("--folder", type=Path, help="of logs; written if it is empty")
    parser.add_argument("--pictures", type=Path, help="keep what is drawn")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = given.folder or Path(scratch) / "logs"
        pictures = given.pictures or Path(scratch) / "pictures"
        for place in (folder, pictures):
            place.mkdir(parents=True, exist_ok=True)
        if not any(folder.iterdir()):
            write(folder, given.sessions)
        return report(folder, pictures)


def report(folder: Path, pictures: Path) -> int:
    settings = Settings()
    turned = guards_to_tune(("loopaudit", "limits"), settings)
    options = audit_options(
        [str(folder)], settings, guards=("loopaudit", "fuses:demo"), quiet=True, no_cache=True
    )
    prepared(Kind.RETRIES, options, ())
    guards = options.guards
    prepared(Kind.THRESHOLDS, options, turned)
    options.guards = guards
    began = time.process_time()
    everything, found, audited = studied(options, quiet=True)
    print(
        f"{len(audited):,} sessions, {found.totals.responses:,} responses,"
        f" {len(found.findings):,} loops; analysis {time.process_time() - began:.1f} s of CPU in"
        f" this process, {_resident():,.0f} MB\n"
    )
    print("| chart | CPU s | MB more |\n|---|--:|--:|")
    broken = False
    charts = [(kind, By.DAY) for kind in Kind if kind is not Kind.COST]
    for kind, by in [*charts, *((Kind.COST, by) for by in By)]:
        name = f"{kind}-{by}" if kind is Kind.COST else str(kind)
        asked = Asked(options, "UTC", 2e9, by=by, guards=turned)

        def work(kind: Kind = kind, asked: Asked = asked, name: str = name) -> None:
            with looks():
                figure, _ = drawn(kind, asked, everything, found, audited)
                save(figure, pictures / f"{name}.png", "png")

        took, grew = measured(work)
        broken |= took > SECONDS or grew > MEGABYTES
        print(f"| {name} | {took:.1f} | {grew:,.0f} |", flush=True)
    return int(broken)


if __name__ == "__main__":
    sys.exit(main())
