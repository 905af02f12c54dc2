"""Lines are read in lots: what comes out is what reading them one by one gives."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from loopaudit.ingest import reading
from loopaudit.ingest.reading import Ingested, read_sources
from loopaudit.ingest.runs import RunAssembler
from loopaudit.ingest.sources import discover

CALL = {
    "type": "assistant",
    "sessionId": "s",
    "timestamp": "2026-01-02T03:04:05Z",
    "message": {"role": "assistant", "model": "m", "usage": {"output_tokens": 5}},
}


def lines(count: int) -> list[bytes]:
    """One response a line, `count` of them."""
    rows: list[Any] = []
    for n in range(count):
        content = [{"type": "text", "text": f"text {n} " + "x" * (n % 50)}]
        rows.append({**CALL, "message": {**CALL["message"], "id": f"msg_{n}", "content": content}})
    return [json.dumps(row).encode() + b"\n" for row in rows]


def read(path: Path, data: bytes) -> Ingested:
    path.write_bytes(data)
    return read_sources(discover([str(path)]).sources, RunAssembler)


def seen(found: Ingested) -> tuple[Any, ...]:
    steps = [(s.line, s.id, s.text_key) for run in found.runs for s in run.steps]
    return steps, found.skips, found.inputs, found.repaired, found.cut_tails


DAMAGED = [
    lines(3_000),
    # a broken line first, last and in the middle of a lot; two values welded on one line
    [*lines(9), b'{"type": \n', *lines(3_000)[9:], b"\xff\xfe nothing\n", b'{"cut": '],
    [*lines(20), lines(21)[20].strip() + lines(22)[21], *lines(40)[22:]],
    [*lines(8), b"\n", b"   \n", b"null\n", b"[1, 2]\n", *lines(3_000)[8:]],
]


@pytest.mark.parametrize("rows", DAMAGED)
def test_lots_of_any_size_read_the_same(
    rows: list[bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "log.jsonl"
    whole = seen(read(path, b"".join(rows)))
    assert len(whole[0]) > 30
    for size in (1, 700, 10**9):
        monkeypatch.setattr(reading, "LOT_BYTES", size)
        assert seen(read(path, b"".join(rows))) == whole


def test_what_stands_before_a_break_in_packed_data_is_read(tmp_path: Path) -> None:
    packed = gzip.compress(b"".join(lines(3_000)))
    found = read(tmp_path / "log.jsonl.gz", packed[: len(packed) // 2])
    (run,) = found.runs
    assert [step.line for step in run.steps] == list(range(1, len(run.steps) + 1))
    assert len(run.steps) > 1_000
    assert found.skips[-1].line is not None
    assert found.skips[-1].line >= len(run.steps)


def test_a_reader_that_breaks_loses_its_line_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from loopaudit.formats.coding.claude_code import ClaudeCodeReader

    feed = ClaudeCodeReader.feed

    def broken(self: ClaudeCodeReader, line: int, record: Any) -> Any:
        if line == 100:
            raise RuntimeError("no")
        return feed(self, line, record)

    monkeypatch.setattr(ClaudeCodeReader, "feed", broken)
    found = read(tmp_path / "log.jsonl", b"".join(lines(300)))
    assert [step.line for step in found.runs[0].steps] == [n for n in range(1, 301) if n != 100]
    assert [skip.line for skip in found.skips] == [100]
    assert len(found.failures) == 1
