"""Records with their length before them: written here as the Collector writes them."""

import json
import sys
from importlib import import_module
from pathlib import Path

import pytest

from loopaudit.replay.audit import AuditOptions, audit

SAMPLE = Path(__file__).resolve().parents[2] / "sample_logs/otel/agent.otlp.jsonl"
ZSTD = import_module("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")


def framed(records: list[bytes]) -> bytes:
    packed = [ZSTD.compress(record) for record in records]
    return b"".join(len(body).to_bytes(4, "big") + body for body in packed)


def report(path: Path):
    return audit(AuditOptions([str(path)], processes=1, now=2e9))


@pytest.fixture
def records() -> list[bytes]:
    return SAMPLE.read_bytes().splitlines()


def test_frames_are_read_as_lines(tmp_path: Path, records: list[bytes]) -> None:
    path = tmp_path / "traces.json"
    pretty = [json.dumps(json.loads(record), indent=2).encode() for record in records]
    for body in (records, pretty):
        path.write_bytes(framed(body))
        found = report(path)
        assert (found.totals.responses, found.totals.tokens.total) == (3, 745)
        assert found.inputs[0].format == "otel"
        assert found.skips == []


def test_a_file_that_breaks_off_keeps_what_is_whole(tmp_path: Path, records: list[bytes]) -> None:
    path = tmp_path / "traces.json"
    whole = framed(records[:4])
    path.write_bytes(whole + framed(records[4:])[:-9])
    found = report(path)
    assert (found.totals.responses, found.totals.calls) == (3, 2)
    assert ["cut short" in skip.reason for skip in found.skips] == [True]


def test_a_damaged_record_is_said(tmp_path: Path, records: list[bytes]) -> None:
    path = tmp_path / "traces.json"
    data = bytearray(framed(records))
    start = len(framed(records[:3])) + 12
    data[start : start + 40] = b"\xff" * 40
    path.write_bytes(bytes(data))
    found = report(path)
    assert found.totals.responses >= 1
    assert any("damaged" in skip.reason for skip in found.skips)


def test_protobuf_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "traces.json"
    path.write_bytes(framed([b"\x0a\x10protobuf bytes here" * 9]))
    (skip,) = report(path).skips
    assert "protobuf" in skip.reason
