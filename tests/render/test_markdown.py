"""Markdown for incidents and pull requests: short, redacted, inert, the report's numbers."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from pathlib import Path

import pytest

from loopaudit.cli import pages
from loopaudit.formats.native.write import dump
from loopaudit.render.markdown import write
from loopaudit.replay.audit import AuditOptions, conclude_all, read_all

SAMPLES = Path(__file__).resolve().parents[2] / "sample_logs"
RUNAWAY = str(SAMPLES / "runaway.jsonl")


def incident(path: str, run: str = "worst", *, excerpts: bool = False) -> str:
    options = AuditOptions([path], processes=1, now=2e9, excerpts=excerpts)
    everything = read_all(options)
    report, audited = conclude_all(everything, options)
    stream = io.StringIO()
    pages.write_incident(report, audited, everything, run, stream, excerpts)
    return stream.getvalue()


def test_the_incident_of_the_runaway() -> None:
    text = incident(RUNAWAY)
    lines = text.splitlines()
    assert len(lines) < 40
    assert lines[0] == "## Incident: `cycle`, 5,745,072 tokens wasted, $9.60 (86 % of the run)"
    for row in (
        "| agent | `claude_code 2.0.22` |",
        "| model | `claude-opus-4-1-20250805` |",
        "| session | `b81f6d20-4c7e-4a95-8f13-d2e90c5a7b64` |",
        "| time | 2025-10-23 11:52:03 to 2025-10-23 12:23:06 UTC, 31 min |",
        "| run | 97 steps, 96 calls (59 failed), 6,680,561 tokens, $11.22 |",
        "| records removed as duplicates | 0 |",
    ):
        assert row in lines
    assert "`runaway.jsonl:36`" in text  # the first line of the loop
    assert re.search(r"^- 31 × `Bash #[0-9a-f]{6}`, 31 failed$", text, re.MULTILINE)
    assert "not a bill" in lines[-1]


def test_completeness_is_that_of_the_run_itself(tmp_path: Path) -> None:
    assert "| completeness | Complete |" in incident(RUNAWAY)
    # among others that lack usage, prices and records the run itself lacks nothing
    assert "| completeness | Complete |" in incident(str(SAMPLES))
    broken = tmp_path / "broken.jsonl"
    broken.write_bytes(
        Path(RUNAWAY).read_bytes() + b'{"type": "assistant", "uuid": 7, "mess\n{"a"\n'
    )
    assert re.search(r"^\| completeness \| Partial: .*unreadable", incident(str(broken)), re.M)


def test_nothing_of_the_log_is_shown_unless_asked_for() -> None:
    redacted, shown = incident(RUNAWAY), incident(RUNAWAY, excerpts=True)
    assert str(SAMPLES) not in redacted
    assert "pytest" not in redacted
    assert "pytest" in shown
    assert len(shown.splitlines()) < 40


def test_every_sample_stays_short() -> None:
    for path in sorted(SAMPLES.rglob("*.jsonl"))[:60]:
        text = incident(str(path))
        assert len(text.splitlines()) < 40
        assert text.startswith("## Incident: ")


def test_hostile_names_are_inert(tmp_path: Path) -> None:
    log = tmp_path / "a`|<img src=x>.jsonl"
    tool = "x`|</td><script>alert(1)</script>\n::error::@everyone"
    calls = [
        {
            "type": "response",
            "id": str(n),
            "model": "m`|<b>",
            "calls": [{"id": str(n), "tool": tool, "args": {}, "result": "same"}],
            "usage": {"fresh_input": 10, "output": 1},
        }
        for n in range(5)
    ]
    log.write_bytes(b"\n".join(map(dump, [{"loopaudit": 1}, *calls])))
    text = incident(str(log))
    assert "\n::" not in text
    for line in text.splitlines():
        outside = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", line)
        assert "<" not in outside
        assert "@everyone" not in outside
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert all(len(re.findall(r"(?<!\\)\|", row)) in (3, 8) for row in rows)


def test_the_summary_has_the_numbers_of_the_report() -> None:
    options = AuditOptions([str(SAMPLES)], processes=1, now=2e9)
    report, _ = conclude_all(read_all(options), options)
    stream = io.StringIO()
    write(report, stream)
    text = stream.getvalue()
    assert len(text.splitlines()) < 40
    assert f"at least {report.totals.tokens.total:,} tokens, at least $" in text  # a lower bound
    assert f": ~{report.totals.waste.tokens:,} tokens" in text
    assert f"## loopaudit: {len(report.findings)} loops" in text


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("--incident", "nothing"), 2, "no run matches 'nothing'"),
        (("--incident", "worst", "--format", "json"), 2, "--incident is written as Markdown"),
        (("--format", "html", "-o", "/no/folder/x.html"), 2, "no folder"),
    ],
)
def test_wrong_use(arguments: tuple[str, ...], code: int, words: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "loopaudit", "report", RUNAWAY, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == code
    assert words in done.stderr


def test_of_nothing_nothing_is_claimed(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "loopaudit", "report", str(tmp_path)]
    done = subprocess.run([*command, "--format", "markdown"], capture_output=True, text=True)
    assert done.returncode == 3
    assert "Nothing measured" in done.stdout
    assert "Complete" not in done.stdout
    done = subprocess.run([*command, "--incident", "worst"], capture_output=True, text=True)
    assert done.returncode == 3
    page = tmp_path / "page.html"
    done = subprocess.run([*command, "--format", "html", "-o", str(page)], capture_output=True)
    assert done.returncode == 3
    text = page.read_text(encoding="utf-8")
    assert "Nothing measured." in text
    assert "Complete." not in text
