"""A summary of every Claude Code and Codex file of the corpus, as a report tells it.

Runs, responses, calls, failed calls, all tokens, and rule and line of each loop's onset, in
`tests/golden/sessions.json`; `python tests/formats/test_sessions_golden.py CORPUS` writes it anew.
Counts and tokens are held against other programs in `test_claude_code_corpus` and
`test_codex_corpus` (`independent_claude`, `independent_codex`, ccusage). By eye, in the files:

- `claude_code/ea_aad03dd419_0.jsonl`: 32 message ids, 67 `tool_use` blocks; two results of its own
  failed (lines 63 and 110), the other eight with `is_error` are siblings in their batches.
- `claude_code/4c_02af2759b6_0.jsonl`: one call without a result, so no failure and no loop.
- `codex/fixtures_ccusage/session-alpha.jsonl`: two responses; the last total says 3,500 + 425.
- No loop begins in any of them: ordinary sessions, with repeats of tests and edits between.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from loopaudit.replay.audit import AuditOptions, audit

GOLDEN = Path(__file__).parents[1] / "golden/sessions.json"
FOLDERS = ("claude_code", "codex")


def files(corpus: Path) -> list[Path]:
    return sorted(p for folder in FOLDERS for p in (corpus / folder).rglob("*.jsonl"))


def summary(path: Path) -> dict[str, Any]:
    report = audit(AuditOptions([str(path)], processes=1, now=2e9))
    totals = report.totals
    return {
        "runs": totals.runs,
        "responses": totals.responses,
        "calls": totals.calls,
        "failed": totals.calls_failed,
        "tokens": totals.tokens.total,
        "skips": sum(skip.count for skip in report.skips),
        "onsets": [f"{found.rule}:{found.onset.line}" for found in report.findings],
    }


@pytest.mark.corpus
def test_each_file_gives_its_golden_summary(shared: Path) -> None:
    golden = json.loads(GOLDEN.read_text())
    corpus = shared / "corpus"
    found = {path.relative_to(corpus).as_posix(): summary(path) for path in files(corpus)}
    assert found == golden


if __name__ == "__main__":
    root = Path(sys.argv[1])
    told = {path.relative_to(root).as_posix(): summary(path) for path in files(root)}
    GOLDEN.write_text(json.dumps(told, indent=1) + "\n")
