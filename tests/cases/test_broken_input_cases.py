"""Input that breaks parsers (E, S10), in every format that has lines, through the command line."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from backports import zstd
from builders import SESSION, command, report, spelled, step, verb

read = verb("read")
FORMATS = ("loopaudit", "claude_code", "codex")


def lines_of(format_name: str, number: int) -> list[bytes]:
    """Lines of a log of so many steps of 1,000 tokens."""
    steps = [step(1_000, text=f"text {n}") for n in range(number)]
    return [json.dumps(line).encode() for line in spelled(format_name, steps)]


def billed(lines: list[bytes]) -> list[int]:
    """Places of the lines that say what a step cost."""
    return [n for n, line in enumerate(lines) if b"output_tokens" in line or b'"output"' in line]


def total(found: dict[str, Any]) -> Any:
    return found["totals"]["tokens"]["total"]


def raw(path: Path, *parts: bytes) -> Path:
    path.write_bytes(b"".join(parts))
    return path


@pytest.fixture(params=FORMATS)
def form(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_e1_cut_last_line(form: str, tmp_path: Path) -> None:
    lines = lines_of(form, 4)
    lines = lines[: billed(lines)[-1] + 1]
    if form == "codex":  # the counter stands twice
        lines = lines[:-1]
    whole, tail = lines[:-1], lines[-1]
    found = report(raw(tmp_path / "s.jsonl", b"\n".join([*whole, tail[: len(tail) // 2]])))
    assert total(found) == 3_000
    assert [s["line"] for s in found["skips"]] == [len(lines)]
    assert found["totals"]["completeness"] in ("complete", "lower_bound")  # codex: items are there
    assert "still written" in found["skips"][0]["reason"]


def test_e2_welded_and_spliced(form: str, tmp_path: Path) -> None:
    lines = lines_of(form, 5)
    place = billed(lines)[2]
    spliced = lines[place][:40] + lines[place]  # a head that was cut off, then a whole object
    middle = [lines[place - 2] + lines[place - 1], spliced]
    text = b"\n".join([*lines[: place - 2], *middle, *lines[place + 1 :]])
    found = report(raw(tmp_path / "s.jsonl", text, b"\n"))
    assert total(found) == 5_000
    assert len(found["skips"]) == 1
    assert found["totals"]["completeness"] == "partial"
    assert command("report", tmp_path, "--strict").code == 3


def test_e4_half_an_emoji(form: str, tmp_path: Path) -> None:
    entries = [step(2_000, read({"path": "a"}, "half \ud83d of it"))] * 3
    text = "".join(json.dumps(line) + "\n" for line in spelled(form, entries))
    path = raw(tmp_path / "s.jsonl", text.encode())
    found = report(path)
    assert (total(found), found["skips"]) == (6_000, [])
    (finding,) = found["findings"]
    again = report(path, options=["--excerpts"])
    assert again["findings"][0]["id"] == finding["id"]
    for arguments in (["report", path, "--why"], ["report", path, "-f", "json", "--excerpts"]):
        command(*arguments).out.encode("utf-8", "strict")
    out = tmp_path / "cost.csv"
    assert command("cost", path, "--by", "tool", "-f", "csv", "-o", out).code == 0
    out.read_bytes().decode("utf-8", "strict")


LOCALES = ({"LC_ALL": "C"}, {"PYTHONUTF8": "0", "LC_ALL": "C"}, {"PYTHONUTF8": "1"})


def test_e5_not_utf8_and_any_locale(form: str, tmp_path: Path) -> None:
    text = b"\n".join(lines_of(form, 2)).replace(b"text 0", b"5\xb2 of \xe2\x80\x9cit\xe2\x80\x9d")
    path = raw(tmp_path / "s.jsonl", text)
    outputs = set()
    for changes in LOCALES:
        ended = subprocess.run(
            [sys.executable, "-m", "loopaudit", "report", str(path), "-f", "json"],
            env={**os.environ, **changes, "PYTHONPATH": str(Path(__file__).parents[2])},
            capture_output=True,
            check=True,
        )
        outputs.add(ended.stdout)
        assert total(json.loads(ended.stdout)) == 2_000
    assert len(outputs) == 1
    assert "not UTF-8" in command("report", path, "--why").out


def test_e6_bom_crlf_blank_lines_line_separator(form: str, tmp_path: Path) -> None:
    text = b"\r\n\r\n".join(lines_of(form, 3)) + b"\r\n"
    text = b"\xef\xbb\xbf" + text.replace(b"text 1", "te\u2028xt".encode())
    found = report(raw(tmp_path / "s.jsonl", text))
    assert (total(found), found["skips"]) == (3_000, [])


def test_e7_a_very_long_line(form: str, tmp_path: Path) -> None:
    text = b"\n".join(lines_of(form, 5)).replace(b"text 2", b"x" * 12_000_000, 1)
    found = report(raw(tmp_path / "s.jsonl", text))
    assert (total(found), found["skips"]) == (5_000, [])


HOSTILE = ("NaN", "1e400", "-5", "true", '"12"', "9" * 5_000, "[[1]]", "{}", "-0.5")


@pytest.mark.parametrize("value", HOSTILE, ids=[v[:6] for v in HOSTILE])
def test_e8_hostile_numbers(form: str, value: str, tmp_path: Path) -> None:
    lines = lines_of(form, 2)
    last = [n for n in billed(lines) if billed(lines)[-1] - n < (2 if form == "codex" else 1)]
    key = b'"output": 100' if form == "loopaudit" else b'"output_tokens": 100'
    for n in last:
        assert key in lines[n]
        lines[n] = lines[n].replace(key, key.replace(b"100", value.encode()))
    path = raw(tmp_path / "s.jsonl", b"\n".join(lines))
    found = report(path)
    assert found["totals"]["responses"] == 2
    assert found["totals"]["completeness"] in ("lower_bound", "partial")
    assert found["totals"]["tokens"]["output"] == 100
    out = command("report", path, "-f", "json").out
    json.loads(out, parse_constant=lambda name: pytest.fail(f"{name} in our JSON"))


def test_e8_depth(form: str, tmp_path: Path) -> None:
    lines = lines_of(form, 2)
    deep = b', "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    lines[billed(lines)[0]] = lines[billed(lines)[0]][:-1] + deep
    found = report(raw(tmp_path / "s.jsonl", b"\n".join(lines)))
    assert total(found) == 2_000


def test_e8_a_line_of_brackets_only(form: str, tmp_path: Path) -> None:
    lines = lines_of(form, 2)
    lines.insert(billed(lines)[0], b"[" * 100_000)
    found = report(raw(tmp_path / "s.jsonl", b"\n".join(lines)))
    assert total(found) == 2_000
    assert len(found["skips"]) == 1


def test_several_bad_lines(form: str, tmp_path: Path) -> None:
    lines = lines_of(form, 10)
    bad = [b"not json at all", b'{"half": ', b"\x00\x00\x00", b"[1, 2", b'"just text"', b"42"]
    for place, junk in zip(billed(lines)[1:7], bad, strict=True):
        lines.insert(place + 1, junk)
    found = report(raw(tmp_path / "s.jsonl", b"\n".join(lines), b"\n"))
    assert total(found) == 10_000
    assert len(found["skips"]) == 5  # a line of NUL bytes is an empty one
    assert all(s["line"] and s["reason"] for s in found["skips"])
    assert found["totals"]["completeness"] == "partial"


def test_numbers_that_json_does_not_know_in_arguments(form: str, tmp_path: Path) -> None:
    call = verb("lookup_entry")({"key": float("nan"), "limit": float("inf")}, "same")
    lines = [json.dumps(line) for line in spelled(form, [step(500, call)] * 3)]
    path = raw(tmp_path / "s.jsonl", "\n".join(lines).encode())
    for options in ([], ["--excerpts"]):
        out = command("report", path, "-f", "json", *options).out
        found = json.loads(out, parse_constant=lambda name: pytest.fail(f"{name} in our JSON"))
        assert [len(f["waste"]["steps"]) for f in found["findings"]] == [2]


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": zstd.compress,
}


def test_e10_folder_with_everything(form: str, tmp_path: Path) -> None:
    def log(session: str, tokens: int) -> bytes:
        entries = [step(tokens, text=session, seconds=tokens / 100)]
        return b"\n".join(json.dumps(line).encode() for line in spelled(form, entries, session))

    a, b = log("a" * 8 + SESSION[8:], 1_000), log("b" * 8 + SESSION[8:], 2_000)
    raw(tmp_path / "a.jsonl", a)
    raw(tmp_path / "a.jsonl.zst", zstd.compress(a))
    raw(tmp_path / "b.jsonl.gz", gzip.compress(b))
    os.symlink(tmp_path / "nowhere", tmp_path / "c.jsonl")  # cannot be read, even by root
    raw(tmp_path / "d.jsonl")
    (tmp_path / "e.jsonl").mkdir()
    os.symlink(tmp_path, tmp_path / "up")
    found = report(tmp_path)
    assert total(found) == 3_000
    assert {os.path.basename(s["path"]): s["reason"] for s in found["skips"]} == {
        "c.jsonl": "no such file or directory",
        "d.jsonl": "empty",
        "e.jsonl": "a folder, not a file",
    }
    assert found["totals"]["completeness"] == "partial"
    assert command("report", tmp_path).code == 0
    assert command("report", tmp_path, "--strict").code == 3


def test_archives_of_every_kind_under_any_name(form: str, tmp_path: Path) -> None:
    data = b"\n".join(lines_of(form, 2))
    for name, pack in PACKERS.items():
        path = raw(tmp_path / f"{name}.log", pack(data))  # told by its magic bytes
        assert total(report(path)) == 2_000, name
        noise = os.urandom(1 << 20).hex().encode()  # bzip2 packs 900 kB at a time
        cut = raw(tmp_path / f"{name}-cut.jsonl", pack(data + b"\n" + noise)[:-20])
        found = report(cut)
        assert total(found) == 2_000, name
        assert any("breaks off" in s["reason"] for s in found["skips"]), name
        assert found["totals"]["completeness"] == "partial"


def test_s10_log_text_is_inert(form: str, tmp_path: Path) -> None:
    evil = "\x1b[2J\x1b]0;owned\x07\x08\x08\u202etxt\u202c<script>alert(1)</script>\r\n::error::x"
    entries = [step(1_000, verb("sh")({"command": f"echo {evil}"}, evil))] * 4
    text = "".join(json.dumps(line) + "\n" for line in spelled(form, entries))
    path = raw(tmp_path / "s.jsonl", text.encode())
    screens = [
        command("report", path, "--why", "--top", "0").out,
        command("show", SESSION[:8], path).out,
        command("report", path, "-f", "json", "--excerpts").out,
    ]
    for screen in screens:
        assert screen
        assert not set(screen) & set("\x1b\x07\x08\u202e\u202c\x9b"), screen
    assert "\n::error::" not in screens[1]
