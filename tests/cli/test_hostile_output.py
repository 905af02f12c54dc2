"""Tables on full disks, hostile text in CSV, and SQL that reaches for files."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from program import COMMAND, environment, run

NAMES = ("=cmd()", "@sum", "a\x1b[31mred", "nul\x00", "-1+1")


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    steps = [
        {"type": "assistant", "sessionId": name, "uuid": f"u{n}", "cwd": name,
         "message": {"id": f"m{n}", "role": "assistant", "model": name,
                     "content": [{"type": "text", "text": "Hello."}],
                     "usage": {"input_tokens": 10, "output_tokens": 1}}}
        for n, name in enumerate(NAMES)
    ]  # fmt: skip
    path = tmp_path / "hostile.jsonl"
    path.write_text("\n".join(map(json.dumps, steps)) + "\n", "utf-8")
    return path


@pytest.mark.parametrize(
    "source",
    [
        "read_csv('{}')",
        "READ_NDJSON ('{}')",
        "'read_csv'('{}')",
        "\"read_parquet\"('{}')",
        "read_csv/* /* */ */('{}')",
        "read_csv -- (\n('{}')",
    ],
)
def test_sql_opens_no_file(hostile: Path, tmp_path: Path, source: str) -> None:
    other = tmp_path / "other.csv"
    other.write_text("secret\n1\n", "utf-8")
    ended = run("query", f"SELECT * FROM {source.format(other)}", hostile)
    assert ended.code == 2
    assert "secret" not in ended.out + ended.err
    assert "no file or address is opened" in ended.err


def test_sql_may_name_a_tool_like_a_function(hostile: Path) -> None:
    sql = "SELECT count(*) AS n FROM steps WHERE model = 'read_csv' OR (model = 'read_json')"
    ended = run("query", sql, hostile, "--format", "json")
    assert (ended.code, json.loads(ended.out)) == (0, [{"n": 0}])


def test_text_in_csv_is_inert(hostile: Path, tmp_path: Path) -> None:
    assert run("export", "-f", "csv", "-o", tmp_path / "out", hostile).code == 0
    texts = [file.read_text("utf-8") for file in sorted((tmp_path / "out").iterdir())]
    texts.append(run("query", "-f", "csv", "SELECT * FROM steps", hostile).out)
    texts.append(run("cost", "-f", "csv", "--by", "model", hostile).out)
    assert all("'=cmd()" in text for text in texts[1:])  # all but the findings
    for text in texts:
        assert "\x1b" not in text
        assert "\x00" not in text
        cells = [cell for line in text.splitlines() for cell in line.split(",")]
        assert not [cell for cell in cells if cell.strip('"')[:1] in ("=", "@")]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a disk that is full")
def test_a_full_disk_is_no_fault_of_the_program(hostile: Path, tmp_path: Path) -> None:
    full = tmp_path / "full.parquet"
    os.symlink("/dev/full", full)
    (tmp_path / "out").mkdir()
    os.symlink("/dev/full", tmp_path / "out" / "runs.parquet")
    for arguments in (
        ("cost", "-f", "parquet", "-o", full, hostile),
        ("convert", hostile, full),
        ("chart", "-o", tmp_path / "c.png", "--data", full, hostile),
        ("export", "-o", tmp_path / "out", hostile),
    ):
        ended = run(*arguments)
        assert ended.code == 2, ended.err
        assert "write" in ended.err or "space" in ended.err


@pytest.mark.skipif(os.name != "posix", reason="needs a POSIX shell")
def test_whoever_has_read_enough_of_a_live_run_ends_it_in_silence() -> None:
    command = [*COMMAND, "live", "-s", "all"]
    with subprocess.Popen(
        command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as playing:
        assert playing.stdout is not None
        assert playing.stderr is not None
        playing.stdout.readline()
        playing.stdout.close()
        assert playing.stderr.read() == b""
    assert playing.returncode == 0


def test_a_chart_of_nothing_cannot_say(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").touch()
    ended = run("chart", "-o", tmp_path / "c.png", tmp_path / "empty.jsonl")
    assert ended.code == 3
    assert "None" not in ended.err
