"""Where the cache lies: what the settings say, else what the system has for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from loopaudit import settings
from loopaudit.errors import ConfigError
from loopaudit.store import place, read


def test_the_usual_places(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("HOME", "/home/me")
    assert place.usual({"XDG_CACHE_HOME": "/var/c"}) == Path("/var/c/loopaudit")
    assert place.usual({"XDG_CACHE_HOME": "not/absolute"}) == Path("/home/me/.cache/loopaudit")
    assert place.usual({}) == Path("/home/me/.cache/loopaudit")
    monkeypatch.setattr("sys.platform", "darwin")
    assert place.usual({}) == Path("/home/me/Library/Caches/loopaudit")
    monkeypatch.setattr("sys.platform", "win32")
    assert place.usual({"LOCALAPPDATA": "/c/local"}) == Path("/c/local/loopaudit/Cache")
    assert place.usual({}) is None


def test_without_a_home_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr("os.path.expanduser", lambda path: path)
    assert place.usual({}) is None


def test_settings_say_where_and_how_much(tmp_path: Path) -> None:
    (tmp_path / "loopaudit.toml").write_text('[cache]\ndir = "here"\nmax_mb = 0.5\nmin_mb = 0\n')
    found = read(settings.load(folder=tmp_path, environment={}))
    assert (found.folder, found.enabled, found.most, found.least) == (
        tmp_path / "here", True, 500_000, 0,
    )  # fmt: skip
    by_variable = settings.load(
        folder=tmp_path,
        environment={"LOOPAUDIT_CACHE_DIR": "/elsewhere", "LOOPAUDIT_CACHE_MAX_MB": "3"},
    )
    assert read(by_variable).folder == Path("/elsewhere")
    assert read(by_variable).most == 3_000_000


def test_the_defaults() -> None:
    found = read(settings.Settings(), {"XDG_CACHE_HOME": "/var/c"})
    assert (found.enabled, found.most, found.least) == (True, 512_000_000, 2_000_000)


def test_it_can_be_turned_off(tmp_path: Path) -> None:
    for text in ("enabled = false", "max_mb = 0"):
        (tmp_path / "loopaudit.toml").write_text(f"[cache]\n{text}\n")
        assert not read(settings.load(folder=tmp_path, environment={})).enabled


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("size = 3", "has no key 'size'"),
        ("max_mb = -1", "max_mb must be a number from 0"),
        ('enabled = "yes"', "enabled must be true or false"),
        ("dir = 3", "dir must be a text"),
    ],
)
def test_a_mistake_names_its_line(tmp_path: Path, line: str, says: str) -> None:
    (tmp_path / "loopaudit.toml").write_text(f"[cache]\n\n{line}\n")
    with pytest.raises(ConfigError) as caught:
        read(settings.load(folder=tmp_path, environment={}))
    assert says in str(caught.value)
    assert "loopaudit.toml:3" in str(caught.value)
