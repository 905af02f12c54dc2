"""Times and zones as people type them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from loopaudit.cli.options import moment, usual_places, zone
from loopaudit.errors import UsageError

NOW = datetime(2026, 3, 30, 12, 0, tzinfo=UTC).timestamp()


def at(text: str, name: str = "UTC", *, end: bool = False) -> str:
    seconds = moment(text, zone(name), NOW, option="--since", end=end)
    return datetime.fromtimestamp(seconds, UTC).strftime("%m-%dT%H:%M")


@pytest.mark.parametrize(
    ("text", "name", "utc"),
    [
        ("7d", "UTC", "03-23T12:00"),
        ("24h", "UTC", "03-29T12:00"),
        ("90m", "UTC", "03-30T10:30"),
        ("2w", "Asia/Tokyo", "03-16T12:00"),
        ("now", "UTC", "03-30T12:00"),
        ("2026-03-29", "UTC", "03-29T00:00"),
        ("2026-03-29", "Europe/Berlin", "03-28T23:00"),  # still winter time at midnight
        ("2026-03-30", "Europe/Berlin", "03-29T22:00"),  # the clock has changed
        ("today", "Asia/Tokyo", "03-29T15:00"),
        ("yesterday", "UTC", "03-29T00:00"),
        ("2026-03-29T14:00", "+02:00", "03-29T12:00"),
        ("2026-03-29 14:00", "-0330", "03-29T17:30"),
        ("2026-03-29T14:00Z", "Europe/Berlin", "03-29T14:00"),
    ],
)
def test_moment(text: str, name: str, utc: str) -> None:
    assert at(text, name) == utc


def test_the_last_day_is_included_and_may_have_23_hours() -> None:
    assert at("2026-03-29", "Europe/Berlin", end=True) == "03-29T22:00"
    assert at("2026-03-29T14:00", end=True) == "03-29T14:00"


def test_the_end_of_the_calendar_is_no_error() -> None:
    assert moment("9999-12-31", UTC, NOW, option="--until", end=True) > NOW


@pytest.mark.parametrize("text", ["", "soon", "7", "7y", "2026-13-01", "2026-02-30", "99:00", "٧d"])
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(UsageError):
        at(text)


@pytest.mark.parametrize("name", ["", "Mars", "+25:00", "../etc/passwd", "/etc/passwd", "UTC+x"])
def test_what_is_no_zone(name: str) -> None:
    with pytest.raises(UsageError):
        zone(name)


def test_zones() -> None:
    assert zone("z") is UTC
    assert zone("-03:30").utcoffset(None) == timedelta(hours=-3, minutes=-30)
    assert zone("local") is not None


def test_usual_places_are_those_that_exist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    monkeypatch.delenv("CODEX_HOME", raising=False)
    assert usual_places() == []
    (tmp_path / ".claude" / "projects").mkdir(parents=True)
    (tmp_path / ".codex" / "sessions").mkdir(parents=True)
    assert usual_places() == [f"{tmp_path}/.claude/projects", f"{tmp_path}/.codex/sessions"]
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "other"))
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "none"))
    assert usual_places() == []
