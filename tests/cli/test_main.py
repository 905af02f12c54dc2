"""Every way to end has its exit code and one clear line; never a traceback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from program import COMMAND, environment, run

import loopaudit

HEAVY = {
    "polars",
    "numpy",
    "rich",
    "matplotlib",
    "genai_prices",
    "pydantic",
    "orjson",
    "xxhash",
    "yaml",
    "isal",
}


def test_version_is_answered_before_typer_is_imported() -> None:
    script = (
        "import sys; sys.argv = ['loopaudit', '--version']\n"
        "from loopaudit.__main__ import main\n"
        "try: main()\n"
        "except SystemExit as end: assert end.code == 0\n"
        "assert 'typer' not in sys.modules and 'loopaudit.cli' not in sys.modules"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script],
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert ended.stdout == f"loopaudit {loopaudit.__version__}\n"


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["report", "--help"], ["show", "-h"], ["explain", "-h"], ["schema", "-h"]],
)
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    script = (
        f"import sys; sys.argv = ['loopaudit', *{arguments!r}]\n"
        "from loopaudit.__main__ import main\n"
        "try: main()\n"
        "except SystemExit as end: assert end.code == 0, end.code\n"
        f"heavy = sorted({HEAVY!r} & set(sys.modules))\n"
        "assert not heavy, heavy"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script], env=environment(), capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith("Usage: loopaudit")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--nope"], "No such option: --nope"),
        (["report", "--nope"], "No such option: --nope"),
        (["nothing-of-the-kind"], "no command and no file is called 'nothing-of-the-kind'"),
        (["report", "--top", "many", "."], "'many' is not a valid int"),
        (["report", "--format", "xml", "."], "'xml' is not one of 'text', 'json'"),
        (["report", "-o"], "Option '-o' requires an argument"),
        (["report", "no/such/path.jsonl"], "no/such/path.jsonl: no such file or directory"),
        (["report", "*.nothing"], "*.nothing: nothing matches"),
        (["report", "--guard", "nope", "."], "no guard set 'nope'"),
        (["report", "--log-format", "nope", "."], "unknown log format 'nope'"),
        (["report", "--tz", "Mars/Olympus", "."], "unknown time zone 'Mars/Olympus'"),
        (["report", "--since", "soon", "."], "--since: cannot read 'soon' as a time"),
        (["report", "--config", "no/such.toml", "."], "no/such.toml"),
        (["report", "-o", "no/such/folder/x", "."], "-o no/such/folder/x"),
        (["show"], "Missing argument 'RUN'"),
        (["explain", "nope"], "nothing is called 'nope'"),
        (["schema", "nope"], "'nope' is not one of 'report', 'cost', 'log'"),
    ],
)
def test_wrong_use_ends_with_2_one_line_and_a_hint(
    arguments: list[str], says: str, tmp_path: Path
) -> None:
    (tmp_path / "x.jsonl").write_text('{"loopaudit": 1}\n{"type": "response", "id": "a"}\n')
    ended = run(*arguments, cwd=tmp_path)
    lines = ended.err.splitlines()
    assert ended.code == 2
    assert ended.out == ""
    assert len(lines) <= 2
    assert lines[0].startswith("loopaudit: ")
    assert says in lines[0]


def test_no_command_shows_help_and_ends_with_2() -> None:
    ended = run()
    assert ended.code == 2
    assert "Usage: loopaudit" in ended.err
    assert ended.out == ""


def test_a_path_without_a_command_is_reported(log: Path) -> None:
    assert run(log.name, cwd=log.parent) == run("report", log.name, cwd=log.parent)


def test_a_fault_of_our_own_is_one_line_that_can_be_reported(tmp_path: Path) -> None:
    """A module that breaks on import stands for any bug; the real boundary is run."""
    script = (
        "import sys, types\n"
        "broken = types.ModuleType('loopaudit.cli.app')\n"
        "def run(arguments): raise ZeroDivisionError('of\\n\\x1b[2Jours')\n"
        "broken.run = run\n"
        "import loopaudit.cli; sys.modules['loopaudit.cli.app'] = broken\n"
        "from loopaudit.__main__ import main\n"
        "main(['report'])"
    )
    command = [sys.executable, "-c", script]
    ended = subprocess.run(command, env=environment(), capture_output=True, text=True)
    assert ended.returncode == 4
    first, hint = ended.stderr.splitlines()
    assert first.startswith("loopaudit: internal error in ")
    assert first.endswith("ZeroDivisionError: of \\x1b[2Jours")
    assert loopaudit.__version__ in hint
    shown = subprocess.run(
        command, env=environment(LOOPAUDIT_DEBUG="1"), capture_output=True, text=True
    )
    assert "Traceback" in shown.stderr
    assert shown.returncode == 4


def test_a_closed_pipe_ends_quietly_with_0() -> None:
    with subprocess.Popen(
        [*COMMAND, "schema"], env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 0


def test_head_gets_its_line(log: Path) -> None:
    command = " ".join([*COMMAND, "report", str(log), "--format", "json", "| head -1"])
    ended = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command}"],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "{\n", "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_is_said_in_one_line(log: Path) -> None:
    with open("/dev/full", "w") as full:
        ended = subprocess.run(
            [*COMMAND, "report", str(log)],
            env=environment(),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert ended.returncode == 2
    assert ended.stderr == "loopaudit: cannot write: No space left on device\n"


def test_ctrl_c_ends_with_130_and_one_line(log: Path) -> None:
    with subprocess.Popen(
        [*COMMAND, "report", "--follow", str(log)],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stderr.readline() == "Watching for changes; Ctrl-C ends.\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
        assert process.stderr.read() == "loopaudit: interrupted\n"


def test_follow_shows_the_report_again_when_the_log_grows(log: Path) -> None:
    lines = log.read_text().splitlines(keepends=True)
    log.write_text("".join(lines[:5]))
    with subprocess.Popen(
        [*COMMAND, "report", "--follow", str(log)],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stderr.readline()
        with log.open("a") as growing:
            growing.write("".join(lines[5:]))
        started = time.monotonic()
        process.stderr.readline()
        assert time.monotonic() - started < 30
        process.send_signal(signal.SIGINT)
        text = process.stdout.read()
    first, _, second = text.partition("LOOP 1")
    assert "No loops found" in first
    assert "pytest -q" in second


@pytest.mark.parametrize("command", [["schema"], ["explain"], ["--help"]])
def test_output_is_utf8_whatever_the_locale(command: list[str]) -> None:
    plain = run(*command)
    bare = run(*command, env={"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0"})
    assert (bare.code, bare.out) == (plain.code, plain.out)
    assert plain.code == 0


def test_no_colour_and_no_progress_where_nobody_looks(log: Path) -> None:
    ended = run("report", log)
    assert "\x1b" not in ended.out + ended.err


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
@pytest.mark.parametrize(("env", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_colour_on_terminals_only_and_not_where_it_is_unwanted(
    log: Path, env: dict[str, str], coloured: bool
) -> None:
    import pty

    ours, theirs = pty.openpty()
    with os.fdopen(ours, "rb", buffering=0) as terminal:
        process = subprocess.Popen(
            [*COMMAND, "report", str(log)],
            env=environment(TERM="xterm", **env),
            stdout=theirs,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs)
        text = b""
        try:
            while block := terminal.read(65536):
                text += block
        except OSError:  # how a terminal ends
            pass
        assert process.wait(60) == 0
    assert b"LOOP 1" in text
    assert (b"\x1b[1m" in text) is coloured
