"""Where agents keep their logs: folders made here, as the agents make them."""

import gzip
import os
from pathlib import Path

import pytest

from loopaudit import plugins
from loopaudit.places import agents, folders, places, survey

CLAUDE = "projects/-home-noor-tide"


def write(path: Path, text: str = "{}\n", at: float = 1_790_000_000) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.utime(path, (at, at))
    return path


def look(name: str, home: Path, **environment: str):
    return survey(agents("linux")[name], environment, home)


def test_nothing_is_there(tmp_path: Path) -> None:
    for agent in agents().values():
        found = survey(agent, {}, tmp_path)
        assert (found.places, found.size, found.first, found.last) == ([], 0, None, None)
        assert found.sessions == 0


def test_sessions_sizes_and_times(tmp_path: Path) -> None:
    """Two sessions, one of them with a sub-agent in a file of its own."""
    base = tmp_path / ".claude" / CLAUDE
    write(base / "aaaa.jsonl", "12345\n", at=1000.0)
    write(base / "bbbb.jsonl", "1\n", at=5000.0)
    write(base / "bbbb/subagents/agent-1.jsonl", "22\n", at=9000.0)
    found = look("claude-code", tmp_path)
    assert found.places == [str(tmp_path / ".claude/projects")]
    assert (found.sessions, found.size, found.first, found.last) == (2, 11, 1000.0, 5000.0)


def test_the_variable_of_the_agent_moves_its_folder(tmp_path: Path) -> None:
    write(tmp_path / ".claude" / CLAUDE / "a.jsonl")
    write(tmp_path / "one" / CLAUDE / "b.jsonl")
    write(tmp_path / "two" / CLAUDE / "c.jsonl")
    both = f"{tmp_path}/one, {tmp_path}/two"
    found = look("claude-code", tmp_path, CLAUDE_CONFIG_DIR=both)
    assert found.places == [f"{tmp_path}/one/projects", f"{tmp_path}/two/projects"]
    assert found.sessions == 2
    assert look("claude-code", tmp_path, CLAUDE_CONFIG_DIR="").sessions == 1


def test_two_usual_folders_are_both_read(tmp_path: Path) -> None:
    write(tmp_path / ".claude" / CLAUDE / "a.jsonl")
    write(tmp_path / ".config/claude" / CLAUDE / "b.jsonl")
    assert look("claude-code", tmp_path).sessions == 2


def test_archived_and_packed_copies_are_one_session(tmp_path: Path) -> None:
    name = "rollout-2026-09-22T14-05-00-019f3a6e.jsonl"
    write(tmp_path / ".codex/sessions/2026/09/22" / name)
    write(tmp_path / ".codex/archived_sessions" / name)
    packed = tmp_path / ".codex/sessions/2026/09/22" / f"{name}.gz"
    packed.write_bytes(gzip.compress(b"{}\n"))
    write(tmp_path / ".codex/archived_sessions/rollout-other.jsonl")
    assert look("codex", tmp_path).sessions == 2


def test_a_link_is_not_a_second_session(tmp_path: Path) -> None:
    one = write(tmp_path / ".codex/sessions/a.jsonl")
    (tmp_path / ".codex/sessions/b.jsonl").symlink_to(one)
    assert look("codex", tmp_path).sessions == 1


def test_a_folder_that_is_one_session_counts_once(tmp_path: Path) -> None:
    base = tmp_path / ".kimi/sessions/0f0f"
    for session in ("s1", "s2"):
        write(base / session / "wire.jsonl")
        write(base / session / "state.json")
        write(base / session / "subagents/x/wire.jsonl")
    assert look("kimi-cli", tmp_path).sessions == 2


def test_sessions_in_a_database_are_not_counted(tmp_path: Path) -> None:
    write(tmp_path / ".local/share/opencode/opencode.db", "SQLite format 3")
    found = look("opencode", tmp_path)
    assert (found.sessions, found.size) == (None, 15)
    assert found.places == [str(tmp_path / ".local/share/opencode/opencode.db")]


def test_folders_of_other_systems(tmp_path: Path) -> None:
    mac = folders(agents("darwin")["goose"], {}, tmp_path)
    assert mac[0] == f"{tmp_path}/Library/Application Support/Block/goose"
    windows = agents("win32")["roo-code"]
    assert folders(windows, {}, tmp_path) == []  # no such variable, no such folder
    found = folders(windows, {"APPDATA": "/data"}, tmp_path)
    assert found == ["/data/Code/User/globalStorage/rooveterinaryinc.roo-cline"]


def test_the_folder_of_the_system_moves_what_lies_in_it(tmp_path: Path) -> None:
    moved = {"XDG_DATA_HOME": str(tmp_path / "data")}
    assert folders(agents("linux")["amp"], moved, tmp_path) == [f"{tmp_path}/data/amp"]
    assert folders(agents("linux")["amp"], {}, tmp_path) == [f"{tmp_path}/.local/share/amp"]


def test_a_folder_with_signs_of_globs_in_its_name(tmp_path: Path) -> None:
    home = tmp_path / "h[1]*"
    write(home / ".codex/sessions/a.jsonl")
    assert look("codex", home).sessions == 1


def test_a_file_that_cannot_be_asked_is_passed_by(tmp_path: Path) -> None:
    (tmp_path / ".codex/sessions").mkdir(parents=True)
    (tmp_path / ".codex/sessions/gone.jsonl").symlink_to(tmp_path / "nowhere")
    assert look("codex", tmp_path).sessions == 0
    assert places(agents()["codex"], {}, tmp_path) == [str(tmp_path / ".codex/sessions")]


@pytest.mark.parametrize("name", agents())
def test_every_entry_is_whole(name: str) -> None:
    agent = agents()[name]
    assert agent.title
    assert agent.folders
    assert agent.places
    assert agent.sessions
    assert agent.each in ("file", "folder", "database")
    assert name == name.lower()
    for place in (*agent.places, *agent.sessions, agent.below):
        assert not place.startswith("/")
    assert plugins.FORMATS
