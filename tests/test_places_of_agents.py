"""Each agent of `places.toml` on a machine made for it: its usual folder, its own variable, its
sessions with their number, size and dates, and what is packed, archived or linked counted once."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from loopaudit.places import Agent, agents, folders, survey

FIRST, LAST = 1_788_000_000.0, 1_790_000_000.0


def session(folder: Path, pattern: str, name: str) -> Path:
    """A path that fits a pattern of sessions; `name` fills its last open part."""
    parts = pattern.split("/")
    open_parts = [n for n, part in enumerate(parts) if "*" in part]
    last = open_parts[-1] if open_parts else -1
    filled = [
        part.replace("**", "deep").replace("*", name if n == last else "one")
        for n, part in enumerate(parts)
    ]
    return folder.joinpath(*filled)


def leave(folder: Path, agent: Agent) -> int:
    """Two sessions of the agent, or its database; the bytes written."""
    pattern = agent.sessions[0]
    size = 0
    names = ("aaaa", "bbbb") if "*" in pattern and agent.each != "database" else ("",)
    for number, name in enumerate(names):
        path = session(folder, pattern, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}\n" * (number + 1))
        at = FIRST if number == 0 else LAST
        os.utime(path, (at, at))
        size += path.stat().st_size
    return size


def check(agent: Agent, folder: Path, home: Path, **environment: str) -> None:
    size = leave(folder, agent)
    found = survey(agent, environment, home)
    assert found.places, f"{agent.name}: no place below {folder}"
    assert found.size == size
    if agent.each == "database":
        assert found.sessions is None
        assert (found.first, found.last) == (FIRST, FIRST)
    else:
        assert found.sessions == 2
        assert (found.first, found.last) == (FIRST, LAST)


@pytest.mark.parametrize("name", agents("linux"))
def test_its_usual_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)  # Crush keeps its database where one works
    agent = agents("linux")[name]
    usual = Path(folders(agent, {}, tmp_path)[0])
    check(agent, tmp_path / usual, tmp_path)


@pytest.mark.parametrize(
    ("name", "variable"),
    [(agent.name, v) for agent in agents("linux").values() for v in agent.variables],
)
def test_its_own_variable(tmp_path: Path, name: str, variable: str) -> None:
    agent = agents("linux")[name]
    moved = tmp_path / "moved"
    check(agent, moved / agent.below, tmp_path / "home", **{variable: str(moved)})


@pytest.mark.parametrize("system", ["darwin", "win32"])
@pytest.mark.parametrize("name", agents("linux"))
def test_on_other_systems(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, system: str
) -> None:
    monkeypatch.chdir(tmp_path)
    agent = agents(system)[name]
    environment = {"APPDATA": str(tmp_path / "AppData/Roaming")}
    usual = Path(folders(agent, environment, tmp_path)[0])
    if system == "win32" and agent.folders[0].startswith("${APPDATA}"):
        assert usual.is_relative_to(tmp_path / "AppData/Roaming")
    if system == "darwin" and "globalStorage" in agent.folders[0]:
        assert "Library/Application Support" in str(usual)
    check(agent, tmp_path / usual, tmp_path, **environment)


@pytest.mark.parametrize(
    "name", [agent.name for agent in agents("linux").values() if agent.each == "file"]
)
def test_a_packed_copy_and_a_link_are_no_second_session(tmp_path: Path, name: str) -> None:
    agent = agents("linux")[name]
    folder = tmp_path / folders(agent, {}, tmp_path)[0]
    leave(folder, agent)
    one = session(folder, agent.sessions[0], "aaaa")
    Path(f"{one}.gz").write_bytes(gzip.compress(one.read_bytes()))
    one.with_name(one.name.replace("aaaa", "cccc")).symlink_to(one)
    assert survey(agent, {}, tmp_path).sessions == 2
