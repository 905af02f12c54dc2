"""Sets loopaudit's totals beside those of its peers and explains each difference.

    npm install --prefix PEERS ccusage@20.0.24 llm-usage-metrics@0.8.0   # where npm leaves out
    npm install --prefix PEERS @ccusage/ccusage-linux-x64@20.0.24        # the optional binary
    python tests/benchmarks/totals/compare.py FOLDER... --peers PEERS

A FOLDER holds session files of Claude Code or Codex, or a `projects` or `sessions` folder as
`~/.claude` and `~/.codex` do. Nothing is installed or fetched here. For every folder and peer:

1. loopaudit must equal what `records.py` counts, a second reading that shares no line with it;
2. from there each stated habit of the peer (`peers.py`) is applied in turn, and what it changes is
   printed beside it, with the lines that it concerns;
3. what then is left of the difference is UNEXPLAINED.

Exit code 0: all is equal or explained; 1: it is not; 2: a peer is not installed.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from decimal import Decimal
from pathlib import Path

from peers import CLAUDE, CODEX, PEERS, Log, Peer, found
from stages import BUCKETS, Counted, Sums, differing

NAMES = (*BUCKETS, "usd")
MILLIONTH = Decimal("0.000001")  # peers sum money in floats
SHOWN = 5  # lines of a habit


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--peers", type=Path, default=[], nargs="*", help="where npm put them")
    options = parser.parse_args()
    programs = {peer.name: found(peer, options.peers) for peer in PEERS}
    absent = [peer.package for peer in PEERS if programs[peer.name] is None]
    if absent:
        print(f"not installed: npm install --prefix PEERS {' '.join(absent)}, then --peers PEERS")
        return 2
    results = []
    for folder in options.folders:
        with tempfile.TemporaryDirectory() as made:
            log, home = laid_out(folder, Path(made))
            results.append(compare(folder, log, home, programs))
    return 0 if all(results) else 1


def laid_out(folder: Path, home: Path) -> tuple[Log, Path]:
    """The logs of a folder where a peer looks for them."""
    for log in (CLAUDE, CODEX):
        if (folder / log.folder).is_dir():
            shutil.copytree(folder / log.folder, home / log.folder)
            return log, home
    log = CODEX if is_codex(folder) else CLAUDE
    inside = home / log.folder / ("p" if log is CLAUDE else "")
    shutil.copytree(folder, inside, dirs_exist_ok=True)
    return log, home


def is_codex(folder: Path) -> bool:
    first = next(iter(sorted(folder.rglob("*.jsonl"))), None)
    return first is not None and '"payload"' in first.read_text(encoding="utf-8")[:4_000]


def compare(folder: Path, log: Log, home: Path, programs: dict[str, str | None]) -> bool:
    right = Counted(list(log.read(home / log.folder)))
    mine, second = ours(home / log.folder), right.sums()
    print(f"\n{folder} ({log.name})\n{'':42}" + "".join(f"{name:>16}" for name in NAMES))
    show("loopaudit", mine)
    show("counted again from the lines", second)
    fine = settled("UNEXPLAINED between the two", minus(second, mine))
    for peer in PEERS:
        fine &= explained(peer, log, home, right, str(programs[peer.name]))
    return fine


def explained(peer: Peer, log: Log, home: Path, counted: Counted, program: str) -> bool:
    theirs = peer.run(program, home, log)
    show(peer.name, theirs)
    for stage in peer.habits[log.name]:
        changed = stage.change(counted)
        difference = minus(changed.sums(), counted.sums())
        if any(round_off(difference).values()):
            show(f"  {stage.habit}", difference, sign="+")
            places = differing(counted.records, changed.records)
            for place in places[:SHOWN]:
                print(f"      {place}")
            if len(places) > SHOWN:
                print(f"      … and {len(places) - SHOWN} more")
        counted = changed
    return settled("  UNEXPLAINED", minus(theirs, counted.sums()))


def ours(logs: Path) -> Sums:
    command = [sys.executable, "-m", "loopaudit", "report", str(logs), "--format", "json"]
    totals = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["totals"]
    tokens = {name: Decimal(totals["tokens"][name] or 0) for name in BUCKETS}
    return {**tokens, "usd": Decimal(totals["usd"] or 0)}


def minus(a: Sums, b: Sums) -> Sums:
    return {name: a[name] - b[name] for name in NAMES}


def round_off(sums: Sums) -> Sums:
    return {name: n.quantize(MILLIONTH) if name == "usd" else n for name, n in sums.items()}


def settled(title: str, difference: Sums) -> bool:
    left = round_off(difference)
    if any(left.values()):
        show(title, left, sign="+")
    return not any(left.values())


def show(title: str, sums: Sums, sign: str = "") -> None:
    wide = len(title) > 42
    cells = "".join(
        f"{sums[name]:{sign}16,.6f}" if name == "usd" else f"{int(sums[name]):{sign}16,}"
        for name in NAMES
    )
    print(f"{title}\n{'':42}{cells}" if wide else f"{title:42}{cells}")


if __name__ == "__main__":
    sys.exit(main())
