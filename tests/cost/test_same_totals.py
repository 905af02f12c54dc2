"""Totals depend on the logs alone: not on the order of files, the workers, or the JSON parser."""

from __future__ import annotations

import json
import random
import tempfile
from datetime import UTC
from pathlib import Path
from typing import Any

import orjson
import pytest
from billing import audited, book
from hypothesis import given
from hypothesis import settings as effort
from hypothesis import strategies as st
from test_cost_properties import _logs, written

from loopaudit.cost.attribution import attribute
from loopaudit.cost.dimensions import NAMES
from loopaudit.findings import Totals
from loopaudit.ingest import reading

#: lines that one parser takes and the other refuses, between good ones
ODD = [
    rb'{"type":"response","id":"odd-surrogate-000001","model":"m1","text":"\ud83d","usage":'
    rb'{"fresh_input":100,"output":7}}',
    b'{"type":"response","id":"odd-nan-00000000001","model":"m1","usage":{"fresh_input":100,'
    b'"output":NaN}}',
    b'{"type":"response","id":"odd-digits-00000001","model":"m1","usage":{"fresh_input":100,'
    b'"output":' + b"9" * 5_000 + b"}}",
    b'{"type":"response","id":"odd-huge-0000000001","model":"m1","usage":{"fresh_input":100,'
    b'"output":1e400}}',
    b'{"type":"response","id":"odd-byte-0000000001","model":"m1","text":"\xb2","usage":'
    b'{"fresh_input":100,"output":3}}',
    b'{"type":"response","id":"odd-deep-0000000001","model":"m1","usage":{"fresh_input":5},"x":'
    + b"[" * 100_000
    + b"]" * 100_000
    + b"}",
    b'{"type":"response","id":"odd-twice-000000001","model":"m1","usage":{"fresh_input":100},'
    b'"usage":{"fresh_input":40,"output":2}}',
    b'{"type":"response","id":"odd-welded-00000001","usage":{"fresh_input":1}}{"type":"response",'
    b'"id":"odd-welded-00000002","model":"m1","usage":{"fresh_input":2,"output":1}}',
    b'{"type":"response","id":"odd-float-000000001","model":"m1","usage":{"fresh_input":10.0,'
    b'"output":1}}',
    b'{"type":"response","id":"odd-cut-00000000001","usage":{"fresh_inp',
]


def standard(data: Any) -> Any:
    """The parser of the standard library in the place of orjson, with its own tolerance."""
    try:
        return json.loads(data)
    except RecursionError as error:
        raise ValueError("nested too deep") from error


@pytest.fixture
def standard_parser(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A switch: from its call on, lines are parsed by the standard library."""

    def switch() -> None:
        monkeypatch.setattr(orjson, "loads", standard)
        assert reading.orjson.loads is standard

    yield switch
    monkeypatch.undo()


def bill(*paths: Path, **more: Any) -> tuple[Totals, list[Any]]:
    """Totals, and the rows of some divisions."""
    report, runs = audited(*paths, **more)
    return report.totals, [attribute(runs, (by,), UTC, book(), report) for by in NAMES]


@effort(max_examples=6, deadline=None)
@given(_logs, st.randoms(use_true_random=False))
def test_workers_and_order(logs: list[Any], chance: random.Random) -> None:
    with tempfile.TemporaryDirectory() as folder:
        paths = written(Path(folder), logs)
        first = bill(*paths, processes=1)
        for processes in (2, 3):
            chance.shuffle(paths)
            assert bill(*paths, processes=processes) == first


@pytest.mark.parametrize("seed", range(4))
def test_odd_lines_count_the_same_by_both_parsers(
    tmp_path: Path, standard_parser: Any, seed: int
) -> None:
    chance = random.Random(seed)
    odd = ODD[:-1]
    chance.shuffle(odd)
    good = [
        b'{"type":"response","id":"good-%018d","model":"m1","usage":{"fresh_input":10,"output":1}}'
        % n
        for n in range(5)
    ]
    lines = [b'{"loopaudit":1}', *odd, *good, ODD[-1]]
    path = tmp_path / "odd.jsonl"
    path.write_bytes(b"\n".join(lines))
    told = bill(path, processes=1)
    totals = told[0]
    # 5 x 10 good, 100 of five odd ones, 5 deep, 40 of the twice told, 1 + 2 welded, 10 as float
    assert totals.tokens.fresh_input == 50 + 500 + 5 + 40 + 3 + 10
    assert totals.tokens.output == 5 + 7 + 3 + 2 + 1 + 1
    standard_parser()
    assert bill(path, processes=1) == told


@effort(max_examples=10, deadline=None)
@given(_logs)
def test_whatever_the_logs_both_parsers_agree(logs: list[Any]) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        paths = written(Path(folder), logs)
        told = bill(*paths, processes=1)
        patch.setattr(orjson, "loads", standard)
        assert bill(*paths, processes=1) == told


@pytest.mark.parametrize("kind", ["claude_code", "codex", "copilot_cli", "otel-genai"])
def test_real_files(shared: Path, standard_parser: Any, kind: str) -> None:
    paths = sorted(p for p in (shared / "corpus" / kind).rglob("*") if p.is_file())
    first = bill(*paths, processes=1)
    turned = list(paths)
    random.Random(7).shuffle(turned)
    assert bill(*turned, processes=2) == first
    standard_parser()
    assert bill(*paths, processes=1) == first
