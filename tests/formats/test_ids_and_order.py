"""Traps that every format may have, tried on every sample: ids that repeat, spans in any order.

A log is written anew with one id for all its calls, or with its spans shuffled; what it tells must
stay what it was: runs, responses, calls, failed calls, tokens, nothing lost.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from loopaudit.ingest.head import Head
from loopaudit.ingest.sources import discover
from loopaudit.model import CallPiece, ResponsePiece
from loopaudit.replay.audit import AuditOptions, audit

SAMPLES = Path(__file__).parents[2] / "sample_logs"
#: their ids stand in no file, or a call told twice under one id is the same, still being written
_OWN_IDS = {"browser_use", "claude_code", "cline", "openhands_v0", "magentic_one", "who_and_when"}
_SPANS = ("spans", "observations", "scopeSpans", "resourceSpans", "logRecords")
_SPAN_LOGS = ("otel", "langsmith", "langfuse", "mlflow", "openai_agents")
_SPAN_CORPUS = (
    "otel-genai",
    "otel-genai-events-old",
    "openinference-otlp",
    "openllmetry-otlp",
    "otel-console",
    "otel-js-readable",
    "langsmith",
    "langfuse",
    "mlflow",
    "openai-agents",
)


def files(root: Path) -> list[Path]:
    return [
        path
        for path in sorted(root.rglob("*"))
        if path.suffix in (".json", ".jsonl", ".traj") and "rules" not in path.parts
    ]


def told(path: Path) -> tuple[int | None, ...]:
    report = audit(AuditOptions([str(path)], processes=1))
    totals = report.totals
    return (
        len(report.runs),
        totals.responses,
        totals.calls,
        totals.calls_failed,
        totals.tokens.total,
        len(report.skips),
    )


def values(data: bytes) -> list[Any]:
    """What stands in a log, one after the other."""
    decoder, text, at, found = json.JSONDecoder(), data.decode().strip(), 0, []
    while at < len(text):
        value, at = decoder.raw_decode(text, at)
        found.append(value)
        at += len(text[at:]) - len(text[at:].lstrip())
    return found


def calls_of(path: Path) -> tuple[str, list[CallPiece]]:
    head = Head(discover([str(path)]).sources[0], None)
    reader = head.format.reader(str(path))
    reader.locate = head.locate
    rows = head.values or enumerate(values(path.read_bytes()), 1)
    pieces = [piece for row in list(rows) for piece in reader.feed(*row)]
    pieces += reader.end()
    head.close()
    return head.format.name, [c for p in pieces if isinstance(p, ResponsePiece) for c in p.calls]


def of_one_id(path: Path) -> bytes | None:
    """The log with one id for all calls; None where they have none of their own."""
    name, calls = calls_of(path)
    ids = sorted({call.id for call in calls if call.id}, key=len, reverse=True)
    data = path.read_bytes()
    if len(ids) < 2 or name in _OWN_IDS or any(own.encode() not in data for own in ids):
        return None
    for own in ids:
        data = data.replace(own.encode(), b"call_0")
    return data


@pytest.mark.parametrize("path", files(SAMPLES), ids=lambda path: path.name)
def test_calls_may_all_have_one_id(path: Path, tmp_path: Path) -> None:
    try:
        data = of_one_id(path)
    except (ValueError, UnicodeDecodeError):
        data = None
    if data is None:
        return
    (tmp_path / path.name).write_bytes(data)
    assert told(tmp_path / path.name) == told(path)


@pytest.mark.corpus
@pytest.mark.parametrize(
    "name",
    [
        "pi/v1_before-compaction_2025-12.jsonl",  # up to 15 calls a response
        "copilot_cli/events_2026-07_45f1a36c.jsonl",  # told by message and by execution
        "kimi_cli/fixtures_agent-sessions/assistant_tools.jsonl",
        "tau-bench/gpt-4o-airline.json",
        "tau2-bench/airline_relaxed_grok-3-mini.json",
        "swe-agent/marshmallow_v1_function_calling.traj",
        "openinference-otlp/openinference_langchain_0.1.80.traces.otlp.jsonl",
        "otel-genai/genai_openai_1.3b0.traces.otlp.jsonl",
        "langsmith/langgraph_runs.jsonl",
        "openclaw-telemetry/crux1-sample-telemetry.jsonl",
    ],
)
def test_calls_of_a_real_log_may_all_have_one_id(shared: Path, tmp_path: Path, name: str) -> None:
    path = shared / "corpus" / name
    data = of_one_id(path)
    assert data is not None
    (tmp_path / path.name).write_bytes(data)
    assert told(tmp_path / path.name) == told(path)


def lists(value: Any) -> Iterator[list[Any]]:
    """The lists of spans in a record."""
    parts = value.items() if isinstance(value, dict) else ((None, part) for part in value)
    for key, part in parts:
        if isinstance(part, list) and key in _SPANS:
            yield part
        if isinstance(part, list | dict):
            yield from lists(part)


def shuffled(path: Path, seed: int) -> bytes:
    dice, found = random.Random(seed), values(path.read_bytes())
    one = len(found) == 1
    for value in found:
        if isinstance(value, list):
            dice.shuffle(value)
        for spans in list(lists(value)):
            dice.shuffle(spans)
    dice.shuffle(found)
    return orjson.dumps(found[0]) if one else b"\n".join(map(orjson.dumps, found)) + b"\n"


@pytest.mark.parametrize(
    "path", [p for name in _SPAN_LOGS for p in files(SAMPLES / name)], ids=lambda path: path.name
)
@pytest.mark.parametrize("seed", range(3))
def test_spans_may_come_in_any_order(path: Path, seed: int, tmp_path: Path) -> None:
    if path.name == "raw_responses.json":
        pytest.skip("responses, no spans: their order is all that is known of time")
    (tmp_path / path.name).write_bytes(shuffled(path, seed))
    assert told(tmp_path / path.name) == told(path)


@pytest.mark.corpus
@pytest.mark.parametrize("folder", _SPAN_CORPUS)
def test_spans_of_the_corpus_may_come_in_any_order(
    shared: Path, folder: str, tmp_path: Path
) -> None:
    for path in files(shared / "corpus" / folder):
        if path.name == "raw_responses.json":
            continue
        (tmp_path / path.name).write_bytes(shuffled(path, 1))
        assert told(tmp_path / path.name) == told(path), path.name
