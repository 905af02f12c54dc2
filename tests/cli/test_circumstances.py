"""Bad circumstances, met by the real program: one line, the right code, nothing left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from program import COMMAND, Ended, environment, event_lines, looping, run

linux = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc and signals of Linux")


def reported(ended: Ended) -> dict:
    """The JSON report, which must be strict JSON of the promised shape."""

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    found = json.loads(ended.out, parse_constant=refuse)
    schema = json.loads(run("schema").out)
    assert not [error.message for error in Draft202012Validator(schema).iter_errors(found)]
    return found


def started(*arguments: str | Path, tmp: Path, **options: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*COMMAND, *map(str, arguments)],
        env=environment(TMPDIR=str(tmp)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        **options,  # type: ignore[call-overload]
    )


def children(process: subprocess.Popen[bytes]) -> list[int]:
    try:
        text = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
    except OSError:
        return []
    return [int(pid) for pid in text.split()]


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def until(what: Callable[[], object]) -> bool:
    end = time.monotonic() + 20
    while not what():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


@pytest.fixture
def long_work(tmp_path: Path) -> Path:
    """Three logs that take some seconds to read."""
    folder = tmp_path / "logs"
    folder.mkdir()
    row = json.dumps({"type": "response", "run": "r", "id": "m%d", "text": "word " * 12})
    for name in "abc":
        rows = "\n".join(row % number for number in range(60_000))
        (folder / f"{name}.jsonl").write_text('{"loopaudit": 1}\n' + rows, encoding="utf-8")
    return folder


@linux
@pytest.mark.parametrize(
    ("number", "code", "said"),
    [
        (signal.SIGINT, 130, b"loopaudit: interrupted\n"),
        (signal.SIGTERM, 143, b""),
        (signal.SIGHUP, 129, b""),
        (signal.SIGKILL, -9, b""),
    ],
)
def test_an_end_from_outside_leaves_no_process_and_no_file(
    long_work: Path, tmp_path: Path, number: signal.Signals, code: int, said: bytes
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    target = scratch / "report.json"
    process = started(
        *("report", long_work, "--processes", "2", "-f", "json", "-o", target), tmp=scratch
    )
    assert until(lambda: len(children(process)) == 2)
    workers = children(process)
    process.send_signal(number)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err) == (code, b"", said)
    assert until(lambda: not any(alive(pid) for pid in workers))
    assert not list(scratch.iterdir())


@linux
def test_a_copy_of_stdin_goes_with_the_process(tmp_path: Path) -> None:
    process = started("report", "-", tmp=tmp_path, stdin=subprocess.PIPE)
    assert until(lambda: list(tmp_path.iterdir()))
    process.terminate()
    process.communicate(timeout=20)
    assert process.returncode == 143
    assert not list(tmp_path.iterdir())


@linux
def test_a_worker_that_is_killed_once_costs_nothing(long_work: Path, tmp_path: Path) -> None:
    process = started("report", long_work, "--processes", "2", "-f", "json", tmp=tmp_path)
    assert until(lambda: len(children(process)) == 2)
    os.kill(children(process)[0], signal.SIGKILL)
    out, err = process.communicate(timeout=60)
    found = reported(Ended(process.returncode, out.decode(), err.decode()))
    assert process.returncode in (0, 4)  # 4 where it had one file only
    read, lost = len(found["inputs"]), len(found["skips"])
    assert (read, lost) in ((3, 0), (2, 1))
    assert found["totals"]["responses"] == 60_000 * read


@linux
def test_want_of_memory_is_told_of_the_file(log: Path, tmp_path: Path) -> None:
    import resource

    big = tmp_path / "big.jsonl"
    with big.open("w") as stream:
        stream.write('{"loopaudit": 1}\n{"type": "response", "run": "r", "text": "')
        for _ in range(120):
            stream.write("x" * 1_000_000)
        stream.write('"}\n')
    process = subprocess.run(
        [*COMMAND, "report", str(log), str(big), "-f", "json"],
        env=environment(),
        capture_output=True,
        timeout=60,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (300 << 20, 300 << 20)),
    )
    found = reported(Ended(process.returncode, process.stdout.decode(), ""))
    assert process.returncode == 0
    assert [skip["reason"] for skip in found["skips"]] == ["not enough memory to read it"]
    assert found["totals"]["completeness"] == "partial"
    assert len(found["findings"]) == 1


@linux
def test_few_file_handles_are_enough(log: Path, tmp_path: Path) -> None:
    import resource

    for number in range(40):
        event_lines(tmp_path / f"{number}.jsonl", looping())
    process = subprocess.run(
        [*COMMAND, "report", str(tmp_path), "--processes", "2", "-f", "json"],
        env=environment(),
        capture_output=True,
        timeout=60,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (16, 16)),
    )
    found = reported(Ended(process.returncode, process.stdout.decode(), process.stderr.decode()))
    assert (process.returncode, process.stderr) == (0, b"")
    assert len(found["inputs"]) == 41
    assert found["skips"] == []


def test_stdin_that_is_closed(log: Path) -> None:
    script = f'exec "$0" -m loopaudit report {log.parent}/loop.jsonl - <&-'
    for command, code in ((script, 0), (script.replace(f"{log.parent}/loop.jsonl ", ""), 2)):
        ended = subprocess.run(
            ["/bin/sh", "-c", command, sys.executable],
            env=environment(),
            capture_output=True,
            timeout=60,
        )
        if code == 2:
            said = b"loopaudit: -: standard input is closed\nhint: name a log file\n"
            assert (ended.returncode, ended.stderr) == (2, said)


def test_show_reads_a_pipe(log: Path) -> None:
    ended = run("show", "r1", "-", stdin=log.read_bytes())
    assert ended.code == 0
    assert "pytest -q" in ended.out
    assert "LOOP 1" in ended.out  # the report beside it has read the same input


def test_show_of_what_is_not_there(tmp_path: Path) -> None:
    ended = run("show", "gone.jsonl", cwd=tmp_path, env={"HOME": str(tmp_path)})
    assert ended.code == 2
    assert len(ended.err.splitlines()) <= 2


def test_show_says_why_nothing_is_there(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"%PDF-1.7\n")
    ended = run("show", "r", path)
    assert (ended.code, ended.err.splitlines()[0]) == (2, f"loopaudit: {path}: a PDF, not a log")


def test_a_message_that_quotes_what_was_given_is_bounded(log: Path) -> None:
    ended = run("show", "x" * 90_000, log)
    assert ended.code == 2
    assert len(ended.err) < 5_000


def test_an_unknown_log_says_what_can_be_done(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text('[{"b": 1, "a": 2}]')
    ended = run("report", path)
    said = f"loopaudit: {path}: no reader knows this log; its records have a, b; no format has"
    said += " records like these"
    hint = "hint: --map FILE reads any JSON lines (explain map); --log-format NAME forces a reader"
    assert (ended.code, ended.err.splitlines()) == (2, [said, hint])


def test_every_kind_of_damage_at_once(tmp_path: Path) -> None:
    good = [{"loopaudit": 1}, *looping()]
    lines = [json.dumps(row).encode() for row in good]
    names = [b"new\nline.jsonl", b"\x1b[31mred.jsonl", b"::error::x.jsonl", b"-dash.jsonl"]
    if sys.platform == "linux":
        names.append(b"\xff.jsonl")
    for name in names:
        Path(os.fsdecode(os.path.join(os.fsencode(tmp_path), name))).write_bytes(b"\n".join(lines))
    hostile = {
        "type": "response",
        "run": "\x1b]0;x\x07",
        "id": [1],
        "at": 1e400,
        "cost": "1e999999",
    }
    hostile |= {"usage": {"fresh_input": -5, "output": 10**30}, "model": "\u202ex", "calls": {}}
    damaged = [
        *lines[:6],
        b"\xef\xbb\xbf" + lines[6] + lines[7],
        json.dumps(hostile).encode(),
        b"\x00" * 5_000,
        b"[" * 50_000,
        b'{"type": "response", "id": "\\ud83d", "text": "\xb2',
    ]
    (tmp_path / "damaged.jsonl").write_bytes(b"\r\n".join(damaged))
    (tmp_path / "zip.jsonl").write_bytes(b"PK\x03\x04")
    ended = run("report", tmp_path, "-f", "json")
    found = reported(ended)
    assert (ended.code, ended.err) == (0, "")
    assert len(found["inputs"]) == len(names) + 1
    assert found["totals"]["completeness"] == "partial"
    shown = run("report", tmp_path, "--why")
    assert shown.code == 0
    for text in (ended.out, shown.out):
        assert not {"\x1b", "\x07", "\u202e"} & set(text)
    assert not [line for line in shown.out.splitlines() if line.lstrip().startswith("::")]
