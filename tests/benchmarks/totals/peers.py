"""How each peer is run, and what is known of how it counts.

Versions: ccusage 20.0.24, llm-usage-metrics 0.8.0. Their habits were found by giving them single
lines; each is stated where it is used.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path

import records
from records import Record
from stages import Price, Stage, Sums, all_writes_short, keyed, only, priced, standard


@dataclass(frozen=True, slots=True)
class Log:
    """A kind of log: the folder that a peer looks for, and a second reading of it."""

    name: str
    folder: str
    read: Callable[[Path], Iterator[Record]]


CLAUDE = Log("Claude Code", "projects", records.claude)
CODEX = Log("Codex", "sessions", records.codex)


@dataclass(frozen=True, slots=True)
class Peer:
    name: str
    package: str
    program: str
    run: Callable[[str, Path, Log], Sums]  # program, home of the logs, kind of log
    habits: dict[str, tuple[Stage, ...]]  # by kind of log


def ccusage(program: str, home: Path, log: Log) -> Sums:
    kind = "claude" if log is CLAUDE else "codex"
    mode = ["--mode", "calculate"] if log is CLAUDE else []
    command = [program, kind, "session", "--json", "--offline", *mode]
    places = {"CLAUDE_CONFIG_DIR": str(home), "CODEX_HOME": str(home), "LOG_LEVEL": "0"}
    totals = json.loads(_output(command, places), parse_float=Decimal).get("totals") or {}
    return {
        "fresh_input": Decimal(totals.get("inputTokens", 0)),
        "cache_read": Decimal(totals.get("cacheReadTokens", 0)),
        "cache_write": Decimal(totals.get("cacheCreationTokens", 0)),
        "output": Decimal(totals.get("outputTokens", 0)),
        "usd": Decimal(totals.get("totalCost", totals.get("costUSD", 0))),
    }


def llm_usage(program: str, home: Path, log: Log) -> Sums:
    kind = "claude" if log is CLAUDE else "codex"
    where = home if log is CLAUDE else home / log.folder
    command = [program, "events", "--format", "jsonl", "--quiet", "--pricing-offline"]
    command += ["--source", kind, "--source-dir", f"{kind}={where}"]
    found = _output(command, {"HOME": str(home)}).splitlines()
    events = [json.loads(line, parse_float=Decimal) for line in found if line.startswith("{")]

    def total(name: str) -> Decimal:
        return sum((Decimal(event.get(name) or 0) for event in events), Decimal(0))

    return {
        "fresh_input": total("inputTokens"),
        "cache_read": total("cacheReadTokens"),
        "cache_write": total("cacheWriteTokens"),
        "output": total("outputTokens"),
        "usd": total("costUsd"),
    }


def _output(command: list[str], places: dict[str, str]) -> str:
    environment = {**os.environ, **places}
    ended = subprocess.run(command, check=True, capture_output=True, env=environment)
    return ended.stdout.decode("utf-8", "replace")


def unlisted_free(price: Price) -> Price:
    """Nothing for models that the snapshot of prices in llm-usage-metrics does not know."""
    return lambda record: 0 if record.model in UNLISTED else price(record)


def _as_gpt_5(record: Record) -> Record:
    return replace(record, model=record.model or "gpt-5")


#: no price in llm-usage-metrics 0.8.0, whose list is of 2026-07-08; it shows no cost for them
UNLISTED = {None, "claude-opus-5", "claude-3-sonnet-20240229", "gpt-5.6-luna"}

NO_PROGRESS = Stage(
    "leaves out responses of sub-agents that stand only in `agent_progress` lines",
    only(lambda record: not record.progress),
)

PEERS = (
    Peer(
        "ccusage",
        "ccusage@20.0.24",
        "ccusage",
        ccusage,
        {
            CLAUDE.name: (
                NO_PROGRESS,
                Stage(
                    'reads only lines with `"usage":{`, not with a blank after the colon',
                    only(lambda record: not record.spaced),
                ),
                Stage(
                    "takes equal short ids in different files for one response",
                    keyed(lambda record: record.ident),
                ),
                Stage(
                    "takes the standard price for fast mode without one, for inference in the US"
                    " alone (1.1 times) and web searches",
                    priced(standard),
                ),
            ),
            CODEX.name: (
                Stage("web searches cost nothing", priced(standard)),
                Stage(
                    "takes gpt-5 where a log names no model",
                    priced(lambda record: standard(_as_gpt_5(record))),
                ),
            ),
        },
    ),
    Peer(
        "llm-usage-metrics",
        "llm-usage-metrics@0.8.0",
        "llm-usage",
        llm_usage,
        {
            CLAUDE.name: (
                NO_PROGRESS,
                Stage(
                    'reads only lines with `"type": "assistant"`',
                    only(lambda record: record.typed),
                ),
                Stage(
                    "counts a response again in each file that holds a copy of it",
                    keyed(lambda record: (record.path, record.key)),
                ),
                Stage(
                    "takes the standard price for all modes and regions, searches for nothing",
                    priced(standard),
                ),
                Stage("prices all cache writes as 5-minute ones", priced(all_writes_short)),
                Stage(
                    "has no price for claude-opus-5 and claude-3-sonnet",
                    priced(unlisted_free(all_writes_short)),
                ),
            ),
            CODEX.name: (
                Stage("web searches cost nothing", priced(standard)),
                Stage("has no price for gpt-5.6-luna", priced(unlisted_free(standard))),
            ),
        },
    ),
)


def found(peer: Peer, folders: list[Path]) -> str | None:
    """The program of a peer in one of the given folders, or on the path."""
    for folder in folders:
        place = shutil.which(str(folder / "node_modules" / ".bin" / peer.program))
        if place:
            return place
    return shutil.which(peer.program)
