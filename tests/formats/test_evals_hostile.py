"""Readers of frameworks and evaluations survive any value in any place of their own samples."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopaudit.ingest.runs import RunAssembler
from loopaudit.model import AttemptPiece, BoundaryPiece, ResponsePiece, ResultPiece, RunPiece
from loopaudit.plugins import FORMATS, load

ROOT = Path(__file__).resolve().parents[2] / "sample_logs"
NAMES = sorted(
    name
    for name, reference in FORMATS.items()
    if ".formats.evals." in reference or ".formats.frameworks." in reference
)
HOSTILE = [None, True, -1, 10**40, float("nan"), "x", "", [], {}, [[[]]], {"a": {"b": []}}, ["x"]]
HOSTILE_IDS = [f"{n}" for n in range(len(HOSTILE))]
MOST_PLACES = 400  # of one file


def records_of(path: Path) -> list[Any]:
    text = path.read_text(encoding="utf-8")
    try:
        return [json.loads(text)]
    except ValueError:
        return [json.loads(line) for line in text.splitlines()]


def places(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    if isinstance(node, dict):
        for key, item in node.items():
            yield from places(item, (*path, key))
    elif isinstance(node, list):
        for index, item in enumerate(node):
            yield from places(item, (*path, index))


def put(record: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return copy.deepcopy(value)
    damaged = copy.deepcopy(record)
    node = damaged
    for key in path[:-1]:
        node = node[key]
    node[path[-1]] = copy.deepcopy(value)
    return damaged


def sound(piece: Any) -> bool:
    """What `ingest` takes for granted of every piece."""
    if not isinstance(piece.run, str) or not piece.run or not isinstance(piece.line, int):
        return False
    if isinstance(piece, ResponsePiece):
        calls = all(isinstance(call.tool, str) and call.tool for call in piece.calls)
        return calls and isinstance(piece.text, str | None) and isinstance(piece.id, str | None)
    if isinstance(piece, ResultPiece):
        return isinstance(piece.call_id, str | None) and isinstance(piece.exit_code, int | None)
    if isinstance(piece, BoundaryPiece | AttemptPiece | RunPiece):
        text = getattr(piece, "text", getattr(piece, "message", getattr(piece, "outcome", None)))
        return isinstance(text, str | None)
    return False


@pytest.mark.parametrize("value", HOSTILE, ids=HOSTILE_IDS)
@pytest.mark.parametrize("name", NAMES)
def test_any_value_in_any_place_is_survived(name: str, value: Any) -> None:
    form = load(FORMATS[name], name)
    files = sorted(path for path in (ROOT / name).rglob("*") if path.is_file())
    assert files
    for path in files:
        records = records_of(path)
        for number, record in enumerate(records):
            found = list(places(record))
            stride = max(1, len(found) // MOST_PLACES)
            for place in found[::stride]:
                reader = form.reader(str(path))
                fed = [*records[:number], put(record, place, value), *records[number + 1 :]]
                pieces = [p for line, r in enumerate(fed, 1) for p in reader.feed(line, r)]
                pieces += reader.end()
                assert all(map(sound, pieces)), place
                assert reader.used + reader.ignored.total() + len(reader.rejected) > 0, place


@pytest.mark.parametrize("name", NAMES)
def test_a_missing_key_anywhere_is_survived(name: str) -> None:
    form = load(FORMATS[name], name)
    for path in sorted(path for path in (ROOT / name).rglob("*") if path.is_file()):
        for record in records_of(path):
            for place in places(record):
                if place and isinstance(place[-1], str):
                    damaged = copy.deepcopy(record)
                    node = damaged
                    for key in place[:-1]:
                        node = node[key]
                    del node[place[-1]]
                    reader = form.reader(str(path))
                    assert all(map(sound, [*reader.feed(1, damaged), *reader.end()])), place


@pytest.mark.parametrize("name", NAMES)
def test_no_value_breaks_a_sniffer(name: str) -> None:
    from loopaudit.formats.base import Sample

    form = load(FORMATS[name], name)
    for path in sorted(path for path in (ROOT / name).rglob("*") if path.is_file()):
        for record in records_of(path):
            found = list(places(record))
            for place in found[:: max(1, len(found) // 60)]:
                for value in HOSTILE:
                    damaged = put(record, place, value)
                    for document in (True, False):
                        score = form.sniff(Sample(str(path), [damaged], document))
                        assert 0.0 <= score <= 1.0, place


@pytest.mark.parametrize("name", NAMES)
def test_depth_and_length_anywhere_are_survived_down_to_the_run(name: str) -> None:
    form = load(FORMATS[name], name)
    nested: Any = []
    for _ in range(3_000):
        nested = [nested]
    for path in sorted(path for path in (ROOT / name).rglob("*") if path.is_file()):
        for record in records_of(path):
            found = list(places(record))
            for place in found[:: max(1, len(found) // 25)]:
                for value in (nested, "x" * 300_000, "\ud800", "Action: " * 2_000):
                    fed = value if not place else _with(record, place, value)
                    reader = form.reader(str(path))
                    build = RunAssembler(str(path), name)
                    build.start_file(str(path), name, reader)
                    for piece in [*reader.feed(1, fed), *reader.end()]:
                        build.add(piece)
                    build.finish()


def _with(record: Any, path: tuple[Any, ...], value: Any) -> Any:
    """Like `put`, for values too deep to be copied."""
    damaged = copy.deepcopy(record)
    node = damaged
    for key in path[:-1]:
        node = node[key]
    node[path[-1]] = value
    return damaged


#: keys by which these formats are told, and which their readers look at first
KEYS = (
    *("messages", "history", "steps", "traj", "trajectory", "simulations", "samples", "events"),
    *("calls", "values", "info", "eval", "member", "value", "kind", "type", "content", "role"),
    *("tasks_output", "chat_history", "agent_states", "turn_history", "task", "items", "data"),
    *("source", "action", "args", "observation", "model_output", "result", "step_usage", "agent"),
)
PLAIN = st.none() | st.booleans() | st.integers(-5, 10**20) | st.text(max_size=6)
VALUES = st.recursive(
    PLAIN,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5)
    ),
    max_leaves=14,
)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=200, deadline=None, derandomize=True)
@given(record=VALUES)
def test_rubbish_is_accounted_for(name: str, record: Any) -> None:
    reader = load(FORMATS[name], name).reader("night.jsonl")
    pieces = [*reader.feed(1, record), *reader.end()]
    assert all(map(sound, pieces))
    assert reader.used + reader.ignored.total() + len(reader.rejected) > 0
