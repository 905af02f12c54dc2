"""`loopaudit cache`, `--no-cache`, and that no command says anything else because of the cache."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest
from program import run

from loopaudit.store.shelf import FILE

#: a copy of the program that nobody edits: `--no-cache` and an edited checkout are alike else
SETTLED = 0.15


@pytest.fixture
def logs(tmp_path: Path, root: Path) -> Path:
    folder = tmp_path / "logs"
    folder.mkdir()
    shutil.copy(root / "sample_logs" / "runaway.jsonl", folder)
    time.sleep(SETTLED)
    return folder


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    return {"LOOPAUDIT_CACHE_DIR": str(tmp_path / "c"), "LOOPAUDIT_CACHE_MIN_MB": "0"}


def told(ended: object) -> str:
    lines = [line for line in ended.err.splitlines() if line.startswith("cache: ")]  # type: ignore[attr-defined]
    assert len(lines) <= 1
    if "just been changed" in "".join(lines):
        pytest.skip("this checkout is being edited")
    return "".join(lines)


def test_info_and_clear(logs: Path, env: dict[str, str], tmp_path: Path) -> None:
    assert run("cache", env=env).out == f"{tmp_path / 'c'}: empty, at most 512.0 MB\n"
    assert "0 of 1 inputs" in told(run("report", logs, "-v", env=env))
    assert "1 of 1 inputs" in told(run("report", logs, "-v", env=env))
    ended = run("cache", "info", env=env)
    assert ended.code == 0
    assert ended.out.startswith(f"{tmp_path / 'c' / FILE}: 0.")
    assert "2 results of reading, last used 20" in ended.out  # one is what is known of prices
    ended = run("cache", "clear", env=env)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.endswith(" MB deleted\n")
    assert not list((tmp_path / "c").iterdir())
    assert "0 of 1 inputs" in told(run("report", logs, "-v", env=env))


def test_no_cache_keeps_nothing_and_takes_nothing(
    logs: Path, env: dict[str, str], tmp_path: Path
) -> None:
    assert told(run("report", logs, "-v", "--no-cache", env=env)) == ""
    assert not (tmp_path / "c").exists()
    told(run("report", logs, "-v", env=env))
    before = (tmp_path / "c" / FILE).read_bytes()
    for command in (["report"], ["cost"], ["query", "SELECT 1 FROM runs"], ["tune"], ["check"]):
        run(*command, logs, "--no-cache", env=env)
    assert (tmp_path / "c" / FILE).read_bytes() == before


@pytest.mark.parametrize(
    "command",
    [
        ["report", "-f", "text"],
        ["report", "-f", "markdown"],
        ["report", "-f", "html", "-o", "{out}"],
        ["report", "--incident", "worst"],
        ["report", "--why", "--guard", "fuses:demo", "--guard", "watchdog"],
        ["cost", "--by", "day,model", "-f", "csv"],
        ["chart", "-k", "run", "-o", "{out}.svg"],
        ["chart", "-k", "timeline", "-o", "{out}.svg", "--data", "{out}.csv"],
        ["export", "-f", "csv", "-o", "{out}"],
        ["query", "SELECT * FROM steps LIMIT 9"],
        ["tune"],
        ["tune", "--guard", "watchdog"],
        ["show", "b81f6d20"],
    ],
    ids=" ".join,
)
def test_every_command_says_the_same_cold_and_warm(
    logs: Path, env: dict[str, str], tmp_path: Path, command: list[str]
) -> None:
    seen = []
    for number, more in enumerate((["--no-cache"], [], [])):
        out = tmp_path / f"out{number}"
        place = [part.replace("{out}", str(out)) for part in command]
        if command[0] == "query":
            place = [*place[:2], str(logs), *more]
        elif command[0] == "show":
            place = [*place, str(logs), *more]
        else:
            place = [place[0], str(logs), *place[1:], *more]
        ended = run(*place, env=env)
        made = [p for p in tmp_path.rglob(f"out{number}*") if p.is_file()]
        made += [p for p in out.rglob("*") if p.is_file()] if out.is_dir() else []
        told_now = (ended.out + ended.err).replace(f"out{number}", "out")
        # a picture and a page tell when they were made
        kept = {p.suffix: p.read_bytes() for p in made if p.suffix in (".csv", "")}
        seen.append((ended.code, told_now, len(made), kept))
    assert seen[0] == seen[1] == seen[2]


def test_a_cache_that_cannot_be_is_no_error(logs: Path, tmp_path: Path) -> None:
    plain = run("report", logs, "--no-cache")
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file" / "below", "/proc/nowhere", "\x7f/\ud83d"):
        env = {"LOOPAUDIT_CACHE_DIR": str(folder), "LOOPAUDIT_CACHE_MIN_MB": "0"}
        try:
            ended = run("report", logs, env=env)
        except UnicodeEncodeError:
            continue
        assert ended == plain
        verbose = run("report", logs, "-v", env=env)
        assert (verbose.code, verbose.out) == (plain.code, plain.out)
        assert told(verbose).startswith("cache: ")
        assert run("cache", env=env).code == 0


def test_a_mistake_in_the_settings_is_one_line(logs: Path, env: dict[str, str]) -> None:
    ended = run("report", logs, env={**env, "LOOPAUDIT_CACHE_MAX_MB": "much"})
    assert ended.code == 2
    assert "LOOPAUDIT_CACHE_MAX_MB" in ended.err
    assert len(ended.err.splitlines()) <= 2


def test_two_at_once(logs: Path, env: dict[str, str], root: Path) -> None:
    import os
    import subprocess
    import sys

    whole = {**os.environ, **env, "PYTHONPATH": str(root)}
    command = [sys.executable, "-m", "loopaudit", "report", str(logs), "--processes", "2"]
    for _ in range(2):
        running = [
            subprocess.Popen(command, env=whole, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            for _ in range(3)
        ]
        ended = [one.communicate() for one in running]
        assert {one.returncode for one in running} == {0}
        assert len(set(ended)) == 1
        assert ended[0][1] == b""
