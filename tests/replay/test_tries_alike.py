"""Two tries at one task that begin alike are two runs: neither is a checkpoint of the other."""

from __future__ import annotations

import json
from pathlib import Path

from loopaudit.replay.audit import AuditOptions, audit


def test_graded_runs_that_begin_alike_keep_all_their_steps(tmp_path: Path) -> None:
    calls = [{"tool": "look", "args": f"{n}", "result": f"found {n}"} for n in range(6)]
    runs = [
        {"id": "short", "group": "g", "task": "t", "success": True, "calls": calls[:4]},
        {"id": "long", "group": "g", "task": "t", "success": False, "calls": calls},
    ]
    path = tmp_path / "runs.jsonl"
    path.write_text("".join(json.dumps(run) + "\n" for run in runs), encoding="utf-8")
    report = audit(AuditOptions([str(path)]))
    assert sorted(run.steps for run in report.runs) == [4, 6]
    assert report.totals.duplicates_removed == 0
