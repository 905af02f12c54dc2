"""Every record of a log of lines is used, ignored by name, or skipped with a reason: no fourth way.

Records are counted without any part of loopaudit: values that the parser of Python finds one after
the other in the file, glued lines too; of traces the spans and log records in them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from loopaudit.findings import InputSummary
from loopaudit.ingest.sources import discover
from loopaudit.replay.audit import AuditOptions, audit

SAMPLES = Path(__file__).parents[2] / "sample_logs"


def counted(path: Path, spans: bool) -> int:
    """Values in a file; what cannot be parsed up to the end of its line is one."""
    text, decoder, at, found = path.read_text("utf-8", "replace"), json.JSONDecoder(), 0, 0
    while True:
        at += len(text[at : at + 4096]) - len(text[at : at + 4096].lstrip())
        if at >= len(text):
            return found
        try:
            value, at = decoder.raw_decode(text, at)
        except ValueError:
            end = text.find("\n", at)
            value, at = None, len(text) if end < 0 else end + 1
        found += inside(value) if spans else 1


def inside(value: Any) -> int:
    """Spans and log records in a record of a trace; at least the record itself."""
    if not isinstance(value, dict):
        return 1
    parts = sum(
        len(scope.get(kind) or ())
        for above, below, kind in (
            ("resourceSpans", "scopeSpans", "spans"),
            ("resourceLogs", "scopeLogs", "logRecords"),
        )
        for resource in value.get(above) or ()
        for scope in resource.get(below) or ()
    )
    return parts or 1


def summary(path: str) -> InputSummary | None:
    inputs = audit(AuditOptions([path], processes=1)).inputs
    return inputs[0] if inputs else None


def unaccounted(root: Path) -> tuple[list[str], int]:
    wrong, files = [], 0
    for source in discover([str(root)]).sources:
        if not source.path.endswith((".jsonl", ".ndjson")) or "/rules/" in source.path:
            continue
        entry = summary(source.path)
        if entry is None:
            continue
        files += 1
        told = entry.records_used + sum(entry.records_ignored.values()) + entry.skips
        right = counted(Path(source.path), entry.format == "otel")
        if told != right:
            wrong.append(f"{source.path} ({entry.format}): {told} of {right}")
    return wrong, files


def test_every_record_of_the_samples_is_accounted_for() -> None:
    assert unaccounted(SAMPLES)[0] == []


@pytest.mark.corpus
def test_every_record_of_the_corpus_is_accounted_for(shared: Path) -> None:
    wrong, files = unaccounted(shared / "corpus")
    assert wrong == []
    assert files > 90
