"""Runs read once more for pages and charts: each input once, for however many of its runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from loopaudit.replay import look
from loopaudit.replay.audit import AuditOptions, conclude_all, read_all


def log(folder: Path, name: str, runs: int) -> Path:
    lines = [{"loopaudit": 1}]
    for number in range(runs):
        step = {"type": "response", "run": f"{name}-{number}", "id": f"{name}{number}", "text": "x"}
        lines.append(step)  # type: ignore[arg-type]
    path = folder / f"{name}.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return path


def test_each_input_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log(tmp_path, "a", 5)
    log(tmp_path, "b", 3)
    options = AuditOptions([str(tmp_path)], processes=1, now=2e9)
    everything = read_all(options)
    _, audited = conclude_all(everything, options)
    read: list[str] = []
    ingest = look.ingest

    def noted(sources, plan):  # type: ignore[no-untyped-def]
        read.extend(Path(source.path).name for source in sources)
        return ingest(sources, plan)

    monkeypatch.setattr(look, "ingest", noted)
    wanted = [item.found.run for item in audited if item.summary.id != "a-2"]
    found = look.again_all(wanted, everything)
    assert sorted(read) == ["a.jsonl", "b.jsonl"]
    assert sorted(found) == ["a-0", "a-1", "a-3", "a-4", "b-0", "b-1", "b-2"]
    assert all(len(run.steps) == 1 for run in found.values())


def test_a_run_that_is_gone_is_missing(tmp_path: Path) -> None:
    path = log(tmp_path, "a", 2)
    options = AuditOptions([str(tmp_path)], processes=1, now=2e9)
    everything = read_all(options)
    _, audited = conclude_all(everything, options)
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join(lines[:2]), encoding="utf-8")
    found = look.again_all([item.found.run for item in audited], everything)
    assert list(found) == ["a-0"]
