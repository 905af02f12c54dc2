"""Codex logs as they are: nothing lost, totals as a second program counts them."""

import json

import independent_codex
import pytest

from loopaudit.formats.base import Sample
from loopaudit.formats.coding.codex import FORMAT
from loopaudit.ingest.runs import RunAssembler

pytestmark = pytest.mark.corpus


def every(shared):
    files = sorted((shared / "corpus/codex").rglob("*.jsonl"))
    assert len(files) == 8
    return files


def read(path):
    """(reader, runs, records)."""
    reader = FORMAT.reader(str(path))
    build = RunAssembler(str(path), FORMAT.name)
    records = list(independent_codex.lines(path))
    for number, record in enumerate(records, 1):
        for piece in reader.feed(number, record):
            build.add(piece)
    for piece in reader.end():
        build.add(piece)
    return reader, build.finish(), records


def test_every_line_is_used_ignored_by_name_or_rejected_with_a_reason(shared):
    for path in every(shared):
        reader, _, records = read(path)
        counted = reader.used + sum(reader.ignored.values()) + len(reader.rejected)
        assert counted == len(records), path
        assert not [name for name in reader.ignored if "unknown" in name], path
        assert (reader.rejected == []) is (path.name != "schema_drift.jsonl"), path


def test_rollouts_are_known_by_their_content(shared):
    for path in every(shared):
        records = [json.loads(row) for row in path.read_text().splitlines() if row.strip()]
        sure = FORMAT.sniff(Sample("x", records[:64]))
        assert (sure > 0.9) is (path.name != "schema_drift.jsonl"), path


def test_totals_and_calls_equal_the_independent_count(shared):
    for path in every(shared):
        _, runs, _ = read(path)
        steps = [step for run in runs for step in run.steps]
        usages = [step.usage for step in steps if step.usage is not None]
        names = ("fresh_input", "cache_read", "output", "reasoning")
        ours = tuple(sum(getattr(u, name) or 0 for u in usages) for name in names)
        assert ours == independent_codex.tokens(path), path
        if path.name != "small.jsonl":  # a harvest of single lines: all ids are one
            assert sum(len(s.calls) for s in steps) == independent_codex.calls(path), path
