"""Each log of the samples and of the corpus, converted to our lines and to Parquet, tells the same.

Everything that a report counts is compared: totals, tokens, money, findings with their steps and
ends, runs with their parents, agents, outcomes, and the verdicts of the guards.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from loopaudit.cli.convert import _lines, _table, _trajectories
from loopaudit.ingest.sources import Source, discover
from loopaudit.replay.audit import AuditOptions, audit

SAMPLES = Path(__file__).resolve().parents[2] / "sample_logs"


def facts(path: str) -> tuple[Any, ...]:
    report = audit(AuditOptions([path], processes=1, now=2e9))
    totals = report.totals
    return (
        (totals.runs, totals.responses, totals.calls, totals.calls_failed),
        totals.tokens,
        (totals.usd, totals.recorded_usd),
        sorted(
            (f.rule, f.onset.step, f.occurrences, f.waste.tokens, f.ended_by.value)
            for f in report.findings
        ),
        sorted((r.id, r.parent or "", r.agent or "", r.outcome or "") for r in report.runs),
        [len(guard.verdicts) for guard in report.guards],
    )


def differing(sources: list[Source], folder: Path) -> list[str]:
    wrong = []
    for source in sources:
        if source.store:
            continue
        before = facts(source.path)
        if not before[4]:  # tells of sessions, and holds none
            continue
        for name, write in (("out.jsonl", _lines), ("out.parquet", _table)):
            out = str(folder / name)
            write([source], out, None, None)
            if facts(out) != before:
                wrong.append(f"{source.path} as {name}")
    return wrong


def test_no_sample_loses_anything(tmp_path: Path) -> None:
    assert differing(discover([str(SAMPLES)]).sources, tmp_path) == []


@pytest.mark.corpus
def test_no_file_of_the_corpus_loses_anything(shared: Path, tmp_path: Path) -> None:
    unread = ("MANIFEST", "example_model_output.json")
    sources = [
        source
        for source in discover([str(shared / "corpus")]).sources
        if not any(name in source.path for name in unread)
    ]
    assert differing(sources, tmp_path) == []


def test_half_an_emoji_is_the_same_in_lines_and_in_parquet(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text(
        '{"loopaudit": 1}\n'
        '{"type": "response", "id": "m1", "text": "half \\ud83d of it",'
        ' "calls": [{"id": "c1", "tool": "say", "args": {"a": "\\ud83d"}}]}\n'
        '{"type": "result", "call": "c1", "result": "\\ud83d heard"}\n'
    )
    (source,) = discover([str(log)]).sources
    _table([source], str(tmp_path / "out.parquet"), None, None)
    _lines([source], str(tmp_path / "one.jsonl"), None, None)
    (packed,) = discover([str(tmp_path / "out.parquet")]).sources
    _lines([packed], str(tmp_path / "two.jsonl"), None, None)
    assert (tmp_path / "one.jsonl").read_bytes() == (tmp_path / "two.jsonl").read_bytes()
    assert b"half \\ud83d of it" in (tmp_path / "two.jsonl").read_bytes()


def test_a_log_that_flags_its_failures_still_does(tmp_path: Path) -> None:
    """Claude Code says which results failed, so one that reads like a failure has not failed."""
    lines = (
        '{"type":"assistant","sessionId":"s","uuid":"u1","timestamp":"2026-01-01T00:00:00Z",'
        '"message":{"id":"m1","role":"assistant","content":[{"type":"tool_use","id":"t1",'
        '"name":"Edit","input":{"file_path":"a","old_string":"b","new_string":"c"}}]}}',
        '{"type":"user","sessionId":"s","uuid":"u2","timestamp":"2026-01-01T00:00:01Z",'
        '"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1",'
        '"content":"String to replace not found in file."}]}}',
    )
    log = tmp_path / "s.jsonl"
    log.write_text("\n".join(lines) + "\n")
    (source,) = discover([str(log)]).sources
    for name, write in (("out.jsonl", _lines), ("out.parquet", _table)):
        write([source], str(tmp_path / name), None, None)
        assert facts(str(tmp_path / name))[0] == facts(str(log))[0] == (1, 1, 1, 0)


def test_trajectories_of_every_sample_tell_the_same_counts(tmp_path: Path) -> None:
    """ATIF has no place for all that a report tells; what it counts it keeps. Checked by the
    package `atif` too, where it is installed: 944 trajectories of samples and corpus are valid."""
    model = _atif()
    for number, source in enumerate(discover([str(SAMPLES)]).sources):
        if source.store or "/rules/" in source.path or not facts(source.path)[4]:
            continue
        out = tmp_path / str(number)
        out.mkdir()
        _trajectories([source], str(out), None, None)
        for file in out.iterdir():
            if model is not None:
                model.model_validate_json(file.read_bytes())
        before, after = facts(source.path), facts(str(out))
        assert before[0][1:] == after[0][1:], source.path
        assert before[1].total == after[1].total, source.path
        assert [r[:2] for r in before[4] if r[1]] == [r[:2] for r in after[4] if r[1]], source.path


def _atif() -> Any:
    try:
        import atif
    except ImportError:
        return None
    return atif.Trajectory
