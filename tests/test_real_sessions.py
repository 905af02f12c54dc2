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


@pytest.mark.parametrize("folder", ["claude_code", "codex"])
def test_healthy_coding_sessions_are_left_alone(shared: Path, folder: str) -> None:
    # 20 real Claude Code sessions with their sub-agents, none a runaway: test runs after edits,
    # files read in pages or again after a user's message. No finding, no stop in 1,188 calls.
    calls, near = 0, Counter[str]()
    for source in discover([str(shared / "corpus" / folder)]).sources:
        for run in read_sources([source], RunAssembler).runs:
            found = judge_run(run)
            calls += len(run.calls)
            near.update(n.kind for n in found.not_loops)
            assert found.findings == [], run.path
            assert not any(trip.level.stops for trip in found.trips), run.path
    assert calls
    if folder == "claude_code":
        # the same command 3, 4, 4 and 6 times, edits between, some described in other words
        assert near["test-after-edit"] == 4


def test_findings_in_the_other_logs_are_the_planted_ones(shared: Path) -> None:
    # three logs made by asking an agent for the weather of a city that its tool does not know; it
    # asks three times in the same words, is answered by the same error, and gives up
    found = []
    for source in discover([str(shared / "corpus")]).sources:
        for run in read_sources([source], RunAssembler).runs:
            found += [(Path(run.path).name, f.tool, f.onset.step) for f in judge_run(run).findings]
    assert sorted(found) == [
        ("agents_to_input_list.json", "get_weather", 1),
        ("one_conversation_messages.json", "get_weather", 1),
        ("trace_export.jsonl", "get_weather", 1),
    ]


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
        ("hotpotqa_react", 0.09),
        ("intercode_bash", 0.55),
        ("intercode_ctf", 0.43),
        ("intercode_python", 0.61),
        ("tau_airline", 0.03),
        ("tau_retail", 0.0),
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
