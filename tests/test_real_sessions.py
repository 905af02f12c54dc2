"""The default guard set on real logs: silent on healthy work, few false stops."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from transcripts import judge_run

from loopaudit.guards import presets
from loopaudit.guards.session import GuardSession
from loopaudit.ingest.reading import read_sources
from loopaudit.ingest.runs import RunAssembler
from loopaudit.ingest.sources import discover
from loopaudit.model import CallPiece, CallStatus, ResponsePiece, ResultPiece, Run
from loopaudit.replay.replay import replay_run

#: sessions of coding agents, some long, some made to show a feature; none of them a runaway
CODING = (
    "antigravity",
    "claude_code",
    "codex",
    "copilot_cli",
    "cursor",
    "factory_droid",
    "gemini_cli",
    "grok",
    "hermes",
    "kimi_cli",
    "openclaw",
    "opencode",
    "openhands-v0",
    "openhands-v1",
    "pi",
    "qwen_code",
    "swe-agent",
)


def runs_below(folder: Path) -> list[Run]:
    sources = discover([str(folder)]).sources
    return [run for source in sources for run in read_sources([source], RunAssembler).runs]


@pytest.mark.parametrize("folder", CODING)
def test_healthy_coding_sessions_are_left_alone(shared: Path, folder: str) -> None:
    # Test runs after edits, files read in pages or again after a user's message, agents side by
    # side, five retries of one request (Kimi). No finding, no stop in 2,000 calls.
    calls, near = 0, Counter[str]()
    for run in runs_below(shared / "corpus" / folder):
        found = judge_run(run)
        calls += len(run.calls)
        near.update(n.kind for n in found.not_loops)
        assert found.findings == [], run.path
        assert not any(trip.level.stops for trip in found.trips), run.path
    assert calls
    if folder == "claude_code":
        # the same command 3, 4, 4 and 6 times, edits between, some described in other words
        assert near["test-after-edit"] == 4


def test_findings_in_the_other_logs_are_read_one_by_one(shared: Path) -> None:
    # Most are logs of frameworks, made by asking an agent for the weather of a city that its tool
    # does not know: it asks three times (or eight) in the same words, is answered by the same
    # error, and gives up. The others:
    others = {
        # "It is 14C in Paris." is said three times over: the team goes on until a limit of messages
        ("autogen/task_result.json", "same-text", 5),
        ("autogen/team_state.json", "same-text", 5),
        # `cat nope.txt` three times, a run that was made to loop
        ("mini-swe-agent/loop_v2_format_1.1.traj.json", "permanent-error-retried", 1),
        # `ls` five times in a row with the same answer, a mock model
        ("inspect/log_message_deduplication.eval", "same-call-same-result", 1),
        # a booking, or a thought and a booking, with the same arguments and the same error three
        # times; the benchmark gave each of the three runs no reward
        ("tau-bench/gpt-4o-airline.json", "same-call-same-result", 16),
        ("tau-bench/gpt-4o-airline.json", "cycle", 25),
        ("tau-bench/gpt-4o-airline.json", "same-call-same-result", 8),
    }
    found = set()
    for folder in sorted((shared / "corpus").iterdir()):
        if folder.name in (*CODING, "intercode") or not folder.is_dir():
            continue  # intercode: weak models on puzzles, ten equal calls are usual; see below
        for run in runs_below(folder):
            for finding in judge_run(run).findings:
                if finding.tool != "get_weather":
                    name = Path(run.path).relative_to(shared / "corpus").as_posix()
                    found.add((name, finding.rule, finding.onset.step))
                else:
                    assert finding.rule in ("permanent-error-retried", "same-call-same-result")
                    assert finding.onset.step == 1
    assert found == others


def labelled_runs(path: Path) -> list[tuple[Run, bool]]:
    """(run, success) of a file of labelled runs: one call a step, no times, no user messages."""
    runs = []
    for line in gzip.decompress(path.read_bytes()).splitlines():
        record: dict[str, Any] = json.loads(line)
        assembler = RunAssembler(path.name, "labelled")
        for n, made in enumerate(record["calls"], 1):
            call = CallPiece(f"t{n}", made["tool"], made["args"])
            assembler.add(ResponsePiece("r", 2 * n, id=f"m{n}", calls=(call,)))
            status = CallStatus.ERROR if made["error"] else CallStatus.OK
            assembler.add(ResultPiece("r", 2 * n + 1, f"t{n}", made["result"], status=status))
        runs += [(run, bool(record["success"])) for run in assembler.finish()]
    return runs


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("hotpotqa_react", 0.15),
        ("intercode_bash", 0.66),
        ("intercode_ctf", 0.66),
        ("intercode_python", 0.98),
        ("tau_airline", 0.08),
        ("tau_retail", 0.03),
    ],
)
def test_stops_spare_the_successes(shared: Path, name: str, least: float) -> None:
    # a stop at the last call comes too late to change anything; measured shares, rounded down
    preset = presets.load("loopaudit")
    stopped, runs = Counter[bool](), Counter[bool]()
    for run, success in labelled_runs(shared / "labelled" / f"{name}.jsonl.gz"):
        (trips,) = replay_run(run, [GuardSession(preset)])
        runs[success] += 1
        stopped[success] += any(t.level.stops and t.step < len(run.steps) - 1 for t in trips)
    assert stopped[True] <= 0.02 * runs[True]
    assert stopped[False] >= least * runs[False]
