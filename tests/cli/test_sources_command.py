"""`loopaudit sources`, and reports that are told an agent instead of a path."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from program import run

OWN = ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_DATA_HOME", "GOOSE_PATH_ROOT", "HERMES_HOME")


@pytest.fixture
def home(tmp_path: Path, log: Path) -> Path:
    """A machine with one Codex session and two files of Claude Code."""
    base = tmp_path / "home"
    codex = base / ".codex/sessions/x.jsonl"
    codex.parent.mkdir(parents=True)
    log.rename(codex)
    os.utime(codex, (1_788_000_000, 1_788_000_000))  # 2026-08-29
    for number, name in enumerate(("a", "b")):
        path = base / ".claude/projects/-p" / f"{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}\n")
        at = 1_790_000_000 + 86_400 * number  # 2026-09-21 and the day after
        os.utime(path, (at, at))
    return base


def env(home: Path, **more: str) -> dict[str, str]:
    return {"HOME": str(home), **dict.fromkeys(OWN, ""), **more}


def test_what_is_there_is_told_the_newest_first(home: Path) -> None:
    ended = run("sources", env=env(home), cwd=home)
    rows = [line.split() for line in ended.out.splitlines()]
    assert ended.code == 0
    assert rows[0] == ["agent", "sessions", "size", "last", "written", "where"]
    assert rows[1] == [
        "claude-code",
        "2",
        "6",
        "B",
        "2026-09-21",
        "to",
        "2026-09-22",
        "~/.claude/projects",
    ]
    assert rows[2][:2] == ["codex", "1"]
    assert rows[2][-2:] == ["2026-08-29", "~/.codex/sessions"]
    assert "loopaudit report --agent claude-code --since 7d" in ended.out
    assert "gemini-cli" in ended.out.split("looked for, not here")[1]


def test_for_programs(home: Path) -> None:
    ended = run("sources", "--format", "json", env=env(home), cwd=home)
    first, second = ended.json["sources"]
    assert (first["agent"], first["sessions"], first["bytes"]) == ("claude-code", 2, 6)
    assert first["places"] == [str(home / ".claude/projects")]
    assert (first["first_written"], first["last_written"]) == (
        "2026-09-21T14:13:20Z",
        "2026-09-22T14:13:20Z",
    )
    assert second["agent"] == "codex"


def test_an_empty_machine(tmp_path: Path) -> None:
    ended = run("sources", env=env(tmp_path), cwd=tmp_path)
    assert ended.code == 0
    assert "No logs of a known agent" in ended.out


def test_a_report_of_an_agent_needs_no_path(home: Path) -> None:
    ended = run("report", "--agent", "codex", env=env(home), cwd=home)
    assert ended.code == 0
    assert "1 session, 8 responses, 7 calls" in ended.out
    assert ended.err == f"loopaudit: reading {home}/.codex/sessions\n"


@pytest.mark.parametrize("command", ["cost", "report"])
def test_the_variable_of_the_agent_is_honoured(home: Path, command: str) -> None:
    moved = {"CODEX_HOME": str(home / "elsewhere")}
    (home / ".codex").rename(home / "elsewhere")
    ended = run(command, "--agent", "codex", "--quiet", env=env(home, **moved), cwd=home)
    assert ended.code == 0
    assert {"report": "8 responses", "cost": "1 run;"}[command] in ended.out


def test_an_agent_that_is_not_known_and_one_that_left_nothing(home: Path) -> None:
    ended = run("report", "--agent", "clod-code", env=env(home), cwd=home)
    assert ended.code == 2
    assert "did you mean claude-code" in ended.err
    ended = run("report", "--agent", "amp", env=env(home), cwd=home)
    assert ended.code == 2
    assert "no logs of Amp on this machine" in ended.err
    assert f"{home}/.local/share/amp" in ended.err
