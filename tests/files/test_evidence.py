"""What a file was is told from what it is, however it was changed."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from loopaudit import files
from loopaudit.files import evidence
from loopaudit.files.evidence import Evidence, mark, same, settled

TICK = 0.02  # more than the clock of this machine's files needs


def changed(file: Path, data: bytes, *, keep_time: bool = True) -> None:
    """Written in place, with its old time of last write."""
    info = file.stat()
    time.sleep(TICK)
    with file.open("r+b") as stream:
        stream.write(data)
        stream.truncate()
    if keep_time:
        os.utime(file, ns=(info.st_atime_ns, info.st_mtime_ns))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    found = tmp_path / "a.jsonl"
    found.write_bytes(b"0123456789" * 10_000)
    return found


def test_the_same_file_has_the_same_mark(file: Path) -> None:
    before = mark(str(file))
    assert before is not None
    assert before[0] == 100_000
    file.read_bytes()
    assert mark(str(file)) == before


@pytest.mark.parametrize("at", [0, 50_000, 99_999])
def test_rewritten_with_the_same_size_and_time(file: Path, at: int) -> None:
    before = mark(str(file))
    data = bytearray(file.read_bytes())
    data[at] ^= 1
    changed(file, bytes(data))
    now = mark(str(file))
    assert now is not None
    assert before is not None
    assert now[:2] == before[:2]  # size and time of last write
    assert now != before


def test_grown_cut_replaced_and_gone(file: Path, tmp_path: Path) -> None:
    before = mark(str(file))
    changed(file, b"0123456789" * 10_001)
    grown = mark(str(file))
    changed(file, b"0123456789" * 9_999)
    cut = mark(str(file))
    other = tmp_path / "other"
    other.write_bytes(file.read_bytes())
    info = file.stat()
    os.utime(other, ns=(info.st_atime_ns, info.st_mtime_ns))
    other.replace(file)
    replaced = mark(str(file))
    file.unlink()
    gone = mark(str(file))
    assert len({before, grown, cut, replaced, gone}) == 5
    assert gone is None


def test_a_folder_in_the_place_of_a_file_and_a_pipe_are_no_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert mark(str(tmp_path / "pipe")) != mark(str(tmp_path))  # and it does not wait
    assert mark(str(tmp_path / "pipe" / "x")) is None


def test_without_a_time_of_change_the_whole_content_counts(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evidence, "_HAS_CHANGE_TIME", False)
    before = mark(str(file))
    data = bytearray(file.read_bytes())
    data[50_000] ^= 1
    changed(file, bytes(data))
    assert before is not None
    assert mark(str(file)) != before
    assert mark(str(file))[4] != before[4]  # type: ignore[index]


def test_a_file_is_settled_when_a_later_write_must_show() -> None:
    at = 1_700_000_000.5
    fine = (10, int(1e9), int((at - 0.05) * 1e9) + 1, 7, 7)
    assert not settled(fine, at)
    assert settled(fine, at + 0.06)
    whole = (10, int(1e9), 1_700_000_000 * 10**9, 7, 7)  # a clock of whole seconds
    assert not settled(whole, at + 1.9)
    assert settled(whole, at + 2.1)
    assert settled(None, at)
    future = (10, int(1e9), int((at + 3600) * 1e9) + 1, 7, 7)
    assert not settled(future, at)


def test_everything_that_is_looked_at_is_written_down(file: Path, tmp_path: Path) -> None:
    beside, missing = tmp_path / "beside.json", tmp_path / "missing.json"
    beside.write_text("{}")
    time.sleep(0.15)
    with evidence.watching() as seen:
        files.opened(str(file)).close()
        files.whole(str(beside))
        assert not files.is_file(str(missing))
    files.whole(str(beside))
    assert set(seen.marks) == {str(file), str(beside), str(missing)}
    assert seen.marks[str(missing)] is None
    assert seen.holds()
    missing.write_text("{}")
    assert not seen.holds()
    missing.unlink()
    assert seen.holds()
    changed(beside, b"[]")
    assert not same(seen.marks)


def test_what_was_written_just_now_is_not_relied_on(file: Path) -> None:
    with evidence.watching() as seen:
        files.opened(str(file)).close()
    file.write_bytes(b"x")
    with evidence.watching() as seen:
        files.opened(str(file)).close()
    assert same(seen.marks)
    assert not seen.holds()


def test_a_doubt_spoils_it(file: Path) -> None:
    time.sleep(0.15)
    with evidence.watching() as seen:
        files.opened(str(file)).close()
        evidence.doubt()
    assert not seen.holds()
    evidence.doubt()  # of nobody
    assert Evidence().holds()
