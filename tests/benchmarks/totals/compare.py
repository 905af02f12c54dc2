"""Sets loopaudit's totals beside those of ccusage on Claude Code logs and explains each difference.

    npm install --prefix PEERS ccusage@20.0.24
    python tests/benchmarks/totals/compare.py FOLDER... --ccusage PEERS/node_modules/.bin/ccusage

A FOLDER holds session files, or a `projects` folder as `~/.claude` does. Nothing is installed or
fetched here (`--offline`). Exit code 0: equal, or every difference explained; 1: not; 2: no peer.

What is known to differ: ccusage leaves out responses of sub-agents that a session keeps only in its
`agent_progress` lines. Those are counted here once more, from the raw lines, and must be exactly
what is left.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from loopaudit.model import Usage
from loopaudit.money import PriceBook, usd

BUCKETS = {
    "fresh_input": "inputTokens",
    "cache_read": "cacheReadTokens",
    "cache_write": "cacheCreationTokens",
    "output": "outputTokens",
}
FIELDS = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")
MILLIONTH = Decimal("0.000001")  # ccusage sums money in floats


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--ccusage", default=shutil.which("ccusage"), help="the program to run")
    options = parser.parse_args()
    if not options.ccusage or not shutil.which(options.ccusage):
        print("no ccusage: npm install --prefix PEERS ccusage@20.0.24, then --ccusage …")
        return 2
    results = [compare(folder, options.ccusage) for folder in options.folders]
    return 0 if all(results) else 1


def compare(folder: Path, program: str) -> bool:
    """Print both totals; whether each difference is explained."""
    with tempfile.TemporaryDirectory() as made:
        home = Path(made)
        logs = folder / "projects"
        if logs.is_dir():
            shutil.copytree(logs, home / "projects")
        else:
            shutil.copytree(folder, home / "projects" / "p")
        mine, peer = ours(home / "projects"), theirs(home, program)
        extra, money, places = only_in_progress(home / "projects")
    print(f"\n{folder}\n{'':12}{'loopaudit':>18}{'ccusage':>18}{'difference':>16}")
    fine = True
    for name in BUCKETS:
        difference = mine[name] - peer[name]
        print(f"{name:12}{mine[name]:18,}{peer[name]:18,}{difference:16,}", end="  ")
        fine &= explain(difference, extra[name])
    difference = (mine["usd"] - peer["usd"]).quantize(MILLIONTH) + 0  # no -0
    print(f"{'usd':12}{mine['usd']:18.6f}{peer['usd']:18.6f}{difference:16.6f}", end="  ")
    fine &= explain(difference, money.quantize(MILLIONTH))
    for place in places[:5]:
        print(f"  only in agent_progress: {place}")
    if len(places) > 5:
        print(f"  … and {len(places) - 5} more")
    return fine


def explain(difference: Decimal | int, known: Decimal | int) -> bool:
    if not difference:
        print("equal")
    elif difference == known:
        print("responses that exist only in agent_progress lines")
    else:
        print(f"UNEXPLAINED: {difference - known} beyond agent_progress lines")
    return not difference or difference == known


def ours(logs: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "loopaudit", "report", str(logs), "--format", "json"]
    totals = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["totals"]
    return {**{n: totals["tokens"][n] or 0 for n in BUCKETS}, "usd": Decimal(totals["usd"] or 0)}


def theirs(home: Path, program: str) -> dict[str, Any]:
    command = [program, "claude", "session", "--json", "--offline", "--mode", "calculate"]
    environment = {**os.environ, "CLAUDE_CONFIG_DIR": str(home), "LOG_LEVEL": "0"}
    found = subprocess.run(command, check=True, capture_output=True, env=environment).stdout
    totals = json.loads(found, parse_float=Decimal)["totals"]
    return {**{n: totals[key] for n, key in BUCKETS.items()}, "usd": Decimal(totals["totalCost"])}


def only_in_progress(logs: Path) -> tuple[dict[str, int], Decimal, list[str]]:
    """Tokens, money and places of responses that no line of their own records."""
    own: set[object] = set()
    progress: dict[str, tuple[str, dict[str, Any], str, float]] = {}
    for place, record in records(logs):
        message = record.get("message")
        if record.get("type") == "assistant" and isinstance(message, dict):
            own.add(message.get("id"))
        data = record.get("data")
        inner = data.get("message") if isinstance(data, dict) else None
        if isinstance(inner, dict) and inner.get("type") == "assistant":
            message = inner["message"]
            at = datetime.fromisoformat(record["timestamp"].replace("Z", "+00:00")).timestamp()
            _, usage, _, first = progress.get(message["id"], (place, {}, "", at))
            largest = larger(usage, message.get("usage") or {})
            progress[message["id"]] = (place, largest, message.get("model"), first)
    book = PriceBook()
    tokens = dict.fromkeys(BUCKETS, 0)
    money, places = 0, []
    for ident, (place, usage, model, at) in progress.items():
        if ident in own:
            continue
        places.append(place)
        for name, field in zip(BUCKETS, FIELDS, strict=True):
            tokens[name] += usage.get(field, 0)
        money += book.cost(buckets(usage), model, at) or 0
    return tokens, usd(money), places


def larger(a: dict[str, Any], b: dict[str, Any]) -> dict[str, Any]:
    """Field by field the larger number: usage is written again and again while a reply grows."""
    split = larger(a.get("cache_creation") or {}, b.get("cache_creation") or {}) if a or b else {}
    numbers = {k for k in (*a, *b) if type(a.get(k, b.get(k))) is int}
    return {**{k: max(a.get(k, 0), b.get(k, 0)) for k in numbers}, "cache_creation": split}


def buckets(usage: dict[str, Any]) -> Usage:
    fresh, read, written, output = (usage.get(field, 0) for field in FIELDS)
    split = usage.get("cache_creation") or {}
    short = split.get("ephemeral_5m_input_tokens", 0)
    long = split.get("ephemeral_1h_input_tokens", 0)
    return Usage(fresh, read, short, long, written - short - long, output)


def records(logs: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for path in sorted(logs.rglob("*.jsonl")):
        with path.open(encoding="utf-8", errors="replace") as lines:
            for number, line in enumerate(lines, 1):
                try:
                    record = json.loads(line)
                except ValueError:
                    continue
                if isinstance(record, dict):
                    yield f"{path.relative_to(logs)}:{number}", record


if __name__ == "__main__":
    sys.exit(main())
