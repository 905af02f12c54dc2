"""Packed input is known by its first bytes; a broken one gives what it holds and says so."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest
from backports import zstd

from loopaudit.errors import InputError
from loopaudit.ingest import opening
from loopaudit.ingest.opening import CutStream, lines, open_stream

TEXT = b"".join(
    b'{"n":%d,"pad":"%s"}\n' % (i, bytes([65 + i % 26]) * (i % 97)) for i in range(4_000)
)
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": zstd.compress,
}


def read(path: Path) -> bytes:
    with open_stream(str(path)) as stream:
        return b"".join(lines(stream, 1))


@pytest.mark.parametrize("packer", PACKERS)
def test_content_decides_not_the_name(tmp_path: Path, packer: str) -> None:
    path = tmp_path / "log.txt"
    path.write_bytes(PACKERS[packer](TEXT))
    assert read(path) == TEXT


@pytest.mark.parametrize("packer", ["gzip", "zstd", "bzip2", "xz"])
def test_several_members_are_one_log(tmp_path: Path, packer: str) -> None:
    path = tmp_path / "log"
    path.write_bytes(PACKERS[packer](TEXT) + PACKERS[packer](b'{"last":1}\n'))
    assert read(path) == TEXT + b'{"last":1}\n'


@pytest.mark.parametrize("packer", ["gzip", "zstd", "bzip2", "xz"])
def test_cut_file_gives_its_beginning(tmp_path: Path, packer: str) -> None:
    path = tmp_path / "log"
    text = TEXT * 12  # bzip2 packs 900 kB at a time
    packed = PACKERS[packer](text)
    path.write_bytes(packed[: len(packed) * 2 // 3])
    got: list[bytes] = []
    with open_stream(str(path)) as stream, pytest.raises(CutStream):
        got.extend(lines(stream, 1))
    assert got
    assert text.startswith(b"".join(got))


def test_long_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"a" * 12_000_000 + b"\nb\n")
    assert [len(row) for row in lines(open_stream(str(path)))] == [12_000_001, 2]
    monkeypatch.setattr(opening, "MAX_LINE", 1_000)
    assert [len(row) for row in lines(open_stream(str(path)))] == [1_000, 2]


def test_unicode_line_separators_do_not_cut(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes('{"a":"x\u2028y\u0085z"}\r\n{"b":1}'.encode())
    assert len(list(lines(open_stream(str(path))))) == 2


def test_unreadable(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a directory"):
        open_stream(str(tmp_path))
    with pytest.raises(InputError, match="no such file"):
        open_stream(str(tmp_path / "x"))
