"""`--agent`, `--map` and the window of time on every command that reads logs, without a path."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from program import looping, run
from test_sources_command import env, home  # noqa: F401

COMMANDS = {
    "report": (),
    "show": ("r1",),
    "cost": (),
    "chart": ("-o", "c.svg"),
    "export": ("-o", "out", "-f", "csv"),
    "query": ("SELECT run, steps FROM runs",),
    "tune": ("--brief",),
    "check": (),
    "convert": ("out.jsonl",),
}


@pytest.fixture
def settings(home: Path) -> Path:  # noqa: F811
    (home / "loopaudit.toml").write_text(
        '[check]\npaths = ["nowhere"]\nmin_runs = 1\n[check.limits]\nsteps_per_run = 60\n'
    )
    return home


@pytest.mark.parametrize("command", COMMANDS)
def test_without_a_path(settings: Path, command: str) -> None:
    more = COMMANDS[command]
    made = run(command, *more, "--agent", "codex", env=env(settings), cwd=settings)
    assert made.code == (3 if command == "tune" else 0), made.err
    assert "Traceback" not in made.err
    assert "nowhere" not in made.err  # paths of [check] are not read beside an agent
    told = {
        "report": "Read as loopaudit",
        "show": "Run r1",
        "cost": "r1",
        "query": "r1",
        "tune": "1 run",
        "check": "PASS: ",
    }
    assert told.get(command, "") in made.out
    written = {"chart": "c.svg", "export": "out/runs.csv", "convert": "out.jsonl"}
    assert [name for name in written.values() if (settings / name).exists()] == [
        name for one, name in written.items() if one == command
    ]


@pytest.mark.parametrize("command", COMMANDS)
def test_an_agent_that_nobody_knows(settings: Path, command: str) -> None:
    made = run(command, *COMMANDS[command], "--agent", "codx", env=env(settings), cwd=settings)
    assert made.code == 2
    assert "no agent is called 'codx'" in made.err
    assert "did you mean codex?" in made.err


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "convert"])
def test_only_what_lies_in_the_window(settings: Path, command: str) -> None:
    more = COMMANDS[command]
    before = ("--until", "2020-01-01", "--agent", "codex")
    made = run(command, *more, *before, env=env(settings), cwd=settings)
    assert made.code in (2, 3)
    assert "Traceback" not in made.err
    assert made.err or "nothing measured" in made.out


@pytest.mark.parametrize("command", COMMANDS)
def test_a_mapping(tmp_path: Path, command: str) -> None:
    """Steps in a form of one's own: three calls of one tool."""
    records = [
        {"run": "r1", "ts": 1_777_642_151 + n, "fn": "probe", "in": {"n": n}, "out": "ok", "t": 9}
        for n in range(3)
    ]
    (tmp_path / "own.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records))
    (tmp_path / "own.toml").write_text(
        'run = "run"\ntime = "ts"\n[response]\ninput = "t"\n'
        '[call]\ntool = "fn"\narguments = "in"\nresult = "out"\n'
    )
    (tmp_path / "loopaudit.toml").write_text(
        "[check]\nmin_runs = 1\n[check.limits]\nsteps_per_run = 60\n"
    )
    more = list(COMMANDS[command])
    place = 1 if command in ("show", "query") else 0
    more.insert(place, "own.jsonl")
    made = run(command, *more, "--map", "own.toml", cwd=tmp_path)
    assert made.code == (3 if command == "tune" else 0), made.err
    assert "Traceback" not in made.err


def test_baseline_of_an_agent(settings: Path) -> None:
    made = run("baseline", "update", "--agent", "codex", "--reason", "x", "--baseline", "b.json",
               env=env(settings), cwd=settings)  # fmt: skip
    assert made.code == 0, made.err
    assert "1 runs" in made.out


def test_times_are_of_the_zone_asked_for(tmp_path: Path) -> None:
    """The run begins at 2026-05-01 13:29 UTC, which is the next day in Kiritimati (+14)."""
    from program import event_lines

    event_lines(tmp_path / "a.jsonl", looping())
    for zone, code in (("UTC", 3), ("Pacific/Kiritimati", 0)):
        made = run("query", "SELECT 1 FROM runs", "a.jsonl", "--since", "2026-05-02", "--tz", zone,
                   cwd=tmp_path)  # fmt: skip
        assert made.code == code, (zone, made.err, time.tzname)


def test_convert_needs_a_source(tmp_path: Path) -> None:
    made = run("convert", "out.jsonl", cwd=tmp_path)
    assert made.code == 2
    assert "two names are needed, IN and OUT" in made.err
    assert "--agent NAME" in made.err
