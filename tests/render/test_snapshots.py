"""Markdown and JSON of three sample logs, whole, as a person read them.

Checked by hand against the logs, with the sums worked out from their own lines:

- `runaway.jsonl`: 97 message ids, 96 calls, 59 of them errors; 438 fresh, 6,648,264 cached, 20,429
  written and 11,430 output tokens, 6,680,561 in all, at 15, 1.50, 18.75 and 75 USD a million
  11.21925975 USD; prompt median 68,743, largest 77,738; the four repeated calls 31 (31 failed), 28,
  22 (22) and 6 (6) times; step 15 is line 36; 11:52:03 to 12:23:06.678.
- `codex`: the six `last_token_usage`, without the one told twice, are 6,328 + 6,497 + 6,600 + 6,930
  + 7,018 + 7,102 = 40,475 tokens: 4,506 fresh, 35,456 cached, 513 output, at 1.25, 0.125 and 10 USD
  0.0151945 USD; the older file has no usage, so all is a lower bound.
- `langgraph`: 300 + 20 and 360 + 12 tokens, 300 of them cached: 692; at 0.15, 0.075 and 0.60 USD a
  million 0.0000957 USD; one call, which failed.

The 82 responses from the 15th to the 96th of `runaway.jsonl` have 376 fresh, 5,719,771 cached,
15,154 written and 9,771 output tokens: 5,745,072, and 9.602259 USD. Lists of more than eight
entries are cut in the JSON; what is left out is counted.
"""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import Any

import pytest
from snapshot import check

from loopaudit.cli import pages
from loopaudit.cli.options import audit_options
from loopaudit.render import json_report, markdown
from loopaudit.replay.audit import conclude_all, read_all
from loopaudit.settings import Settings

SAMPLES = Path(__file__).resolve().parents[2] / "sample_logs"
LOGS = ("runaway.jsonl", "codex", "langgraph")


def made(name: str, kind: str) -> str:
    options = audit_options([name], Settings(), processes=1, quiet=True, no_cache=True)
    everything = read_all(options)
    report, audited = conclude_all(everything, options)
    stream = io.StringIO()
    if kind == "report":
        markdown.write(report, stream)
    elif kind == "incident":
        run = report.runs[-1].id
        pages.write_incident(report, audited, everything, run, stream, False)
    else:
        json_report.write(report, stream)
        found = json.loads(stream.getvalue())
        del found["tool_version"]
        return json.dumps(short(found), indent=1, ensure_ascii=False) + "\n"
    return stream.getvalue()


def short(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: short(item) for key, item in value.items()}
    if isinstance(value, list):
        kept = [short(item) for item in (value[:2] if len(value) > 8 else value)]
        return kept if len(value) <= 8 else [*kept, f"and {len(value) - 2} more"]
    return value


@pytest.mark.parametrize("name", LOGS)
@pytest.mark.parametrize("kind", ["report", "incident", "json"])
def test_as_read(name: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(SAMPLES)
    assert "LOOPAUDIT_CONFIG" not in os.environ
    ending = "json" if kind == "json" else "md"
    check(f"{name.partition('.')[0]}_{kind}.{ending}", made(name, kind))
