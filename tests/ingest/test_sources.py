"""Finding inputs: each file once, nothing unseen, nothing that ends the search (case E10)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from loopaudit.errors import InputError
from loopaudit.ingest.sources import discover, is_log_name


def names(paths: list[str]) -> list[str]:
    return [os.path.basename(s.path) for s in discover(paths).sources]


def test_folder_with_everything(tmp_path: Path) -> None:
    (tmp_path / "b.jsonl").write_text("{}\n")
    (tmp_path / "a.JSONL.GZ").write_bytes(b"\x1f\x8b")
    (tmp_path / "notes.txt").write_text("hello")
    (tmp_path / "empty.jsonl").write_text("")
    (tmp_path / "e.jsonl").mkdir()
    (tmp_path / "e.jsonl" / "inner.ndjson").write_text("{}\n")
    os.symlink(tmp_path, tmp_path / "loop")
    os.symlink(tmp_path / "gone.jsonl", tmp_path / "broken.jsonl")
    os.symlink(tmp_path / "b.jsonl", tmp_path / "again.jsonl")
    os.mkfifo(tmp_path / "pipe.jsonl")
    found = discover([str(tmp_path)])
    got = {os.path.basename(s.path) for s in found.sources}
    assert got in (
        {"a.JSONL.GZ", "b.jsonl", "inner.ndjson"},
        {"a.JSONL.GZ", "again.jsonl", "inner.ndjson"},
    )
    reasons = {os.path.basename(s.path): s.reason for s in found.skips}
    assert reasons == {
        "empty.jsonl": "empty",
        "e.jsonl": "a folder, not a file",
        "broken.jsonl": "no such file or directory",
        "pipe.jsonl": "not a regular file",
    }
    assert found.other_files == 1


def test_named_files_are_read_whatever_their_name(tmp_path: Path) -> None:
    log = tmp_path / "transcript"
    log.write_text("{}\n")
    assert names([str(log)]) == ["transcript"]
    assert names([str(log), str(log), str(tmp_path / "." / "transcript")]) == ["transcript"]


def test_glob_and_brackets_in_a_real_name(tmp_path: Path) -> None:
    (tmp_path / "a1.jsonl").write_text("{}\n")
    (tmp_path / "a[2].jsonl").write_text("{}\n")
    assert names([str(tmp_path / "a*.jsonl")]) == ["a1.jsonl", "a[2].jsonl"]
    assert names([str(tmp_path / "a[2].jsonl")]) == ["a[2].jsonl"]


def test_bad_paths(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        discover([str(tmp_path / "gone")])
    with pytest.raises(InputError, match="nothing matches"):
        discover([str(tmp_path / "*.jsonl")])
    (tmp_path / "a.jsonl").write_text("{}\n")
    found = discover([str(tmp_path / "gone"), str(tmp_path / "a.jsonl")])
    assert [os.path.basename(s.path) for s in found.sources] == ["a.jsonl"]
    assert found.skips[0].reason == "no such file or directory"


def test_an_empty_folder_is_no_error(tmp_path: Path) -> None:
    found = discover([str(tmp_path)])
    assert found.sources == found.skips == []


@pytest.mark.parametrize(
    ("name", "log"),
    [
        ("telemetry.jsonl.1", True),
        ("a.jsonl.deleted.2026-02-24T10-00-00.000Z", True),
        ("a.jsonl.reset.1771927200", True),
        ("a.jsonl.bak", True),
        ("a.jsonl.lock", False),
        ("a.jsonl.tmp", False),
        ("notes.txt.1", False),
    ],
)
def test_rotated_logs_are_logs(name: str, log: bool) -> None:
    assert is_log_name(name) is log
