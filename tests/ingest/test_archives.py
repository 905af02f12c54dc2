"""Zip archives of JSON members: one member a line, in order, damaged and huge ones lost alone."""

import gzip
import io
import json
import random
import zipfile

import orjson
import pytest
from backports.zstd import zipfile as zstd_zipfile

from loopaudit.errors import InputError
from loopaudit.ingest import archives
from loopaudit.ingest.documents import locator
from loopaudit.ingest.opening import CutStream, is_packed, lines, open_stream
from loopaudit.ingest.sources import discover

HEADER = {"version": 2, "status": "success", "eval": {}, "plan": {}}


def archive(path, members, packing=zipfile.ZIP_DEFLATED):
    """Members: name -> value, or bytes as they are."""
    with zstd_zipfile.ZipFile(path, "w", packing) as file:
        for name, value in members.items():
            data = value if isinstance(value, bytes) else json.dumps(value, indent=2).encode()
            file.writestr(name, data)
    return str(path)


def read(path):
    stream = open_stream(path)
    assert is_packed(stream)
    with stream:
        return [orjson.loads(line) for line in lines(stream, 10_000_000)]


@pytest.mark.parametrize("packing", [0, 8, 12, 14, 93])  # stored, deflate, bzip2, lzma, zstd
def test_each_member_is_one_line_whatever_its_packing(tmp_path, packing):
    sample = {"id": "a", "text": "two\nlines", "b": [1, 2]}
    path = archive(
        tmp_path / "x.eval", {"samples/a_epoch_1.json": sample, "header.json": HEADER}, packing
    )
    assert read(path) == [
        {"member": "header.json", "value": HEADER},
        {"member": "samples/a_epoch_1.json", "value": sample},
    ]


def test_samples_come_by_name_with_numbers_as_numbers(tmp_path):
    names = ["samples/10_epoch_1.json", "samples/2_epoch_2.json", "samples/2_epoch_1.json"]
    members = {**{key: {} for key in names}, "summaries.json": [], "header.json": HEADER}
    found = [line["member"] for line in read(archive(tmp_path / "x.eval", members))]
    assert found == ["header.json", names[2], names[1], names[0], "summaries.json"]


def test_a_crashed_run_has_its_start_for_a_header(tmp_path):
    start = {"version": 2, "eval": {}, "plan": {}}
    members = {"samples/1.json": {"id": 1}, "_journal/start.json": start}
    assert read(archive(tmp_path / "x.eval", members))[0]["value"] == start
    both = read(archive(tmp_path / "y.eval", {**members, "header.json": HEADER}))
    assert both[1] == {"member": "_journal/start.json"}  # said once


def test_a_damaged_member_is_lost_alone(tmp_path):
    noise = random.Random(7).randbytes(4000).hex()
    members = {"header.json": HEADER, "samples/1.json": {"x": noise}, "samples/2.json": {"id": 2}}
    path = archive(tmp_path / "x.eval", members)
    with zipfile.ZipFile(path) as file:
        at = file.getinfo("samples/1.json").header_offset
    data = bytearray((tmp_path / "x.eval").read_bytes())
    data[at + 200 : at + 210] = b"\xff" * 10
    (tmp_path / "x.eval").write_bytes(data)
    _, lost, good = read(path)
    assert lost["member"] == "samples/1.json"
    assert lost["lost"].startswith("damaged (")
    assert good["value"] == {"id": 2}


def test_a_member_past_the_limit_is_lost_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(archives, "MAX_MEMBER", 1000)
    big = {"text": "x" * 2000}
    path = archive(tmp_path / "x.eval", {"header.json": HEADER, "samples/1.json": big})
    assert read(path)[1] == {"member": "samples/1.json", "lost": "longer than 256 MiB"}


def test_a_bomb_is_refused_in_words(tmp_path, monkeypatch):
    monkeypatch.setattr("loopaudit.ingest.opening.SAFE", 1 << 20)
    members = {f"samples/{n}.json": b'"' + b"0" * (4 << 20) + b'"' for n in range(9)}
    path = archive(tmp_path / "x.eval", {"header.json": HEADER, **members})
    size = (tmp_path / "x.eval").stat().st_size
    with open_stream(path) as stream, pytest.raises(CutStream, match="500 times its size"):
        list(lines(stream, size))


def test_other_archives_are_named(tmp_path):
    path = archive(tmp_path / "x.zip", {"notes.txt": b"hello"})
    with pytest.raises(InputError, match="a zip archive, unpack it first"):
        open_stream(path)
    packed = tmp_path / "x.eval.gz"
    packed.write_bytes(gzip.compress((tmp_path / "x.zip").read_bytes()))
    with pytest.raises(InputError, match="a zip archive, unpack it first"):
        open_stream(str(packed))


def test_an_archive_cut_short_is_told_in_words(tmp_path):
    path = archive(tmp_path / "x.eval", {"header.json": HEADER, "samples/1.json": {"id": 1}})
    data = (tmp_path / "x.eval").read_bytes()
    for size in (5, 40, len(data) - 30):
        (tmp_path / "x.eval").write_bytes(data[:size])
        with pytest.raises(InputError, match="a zip archive"):
            open_stream(path)


@pytest.mark.parametrize("seed", range(40))
def test_noise_in_an_archive_never_raises_anything_else(tmp_path, seed):
    path = archive(tmp_path / "x.eval", {"header.json": HEADER, "samples/1.json": {"id": [1] * 99}})
    data, chance = bytearray((tmp_path / "x.eval").read_bytes()), random.Random(seed)
    for _ in range(4):
        data[chance.randrange(4, len(data))] = chance.randrange(256)
    (tmp_path / "x.eval").write_bytes(data)
    try:
        with open_stream(path) as stream:
            list(lines(stream, len(data)))
    except (InputError, CutStream):
        pass


def test_the_file_is_closed(tmp_path):
    path = archive(tmp_path / "x.eval", {"header.json": HEADER})
    stream = open_stream(path)
    raw = stream.raw._raw
    stream.close()
    assert isinstance(raw, io.FileIO)
    assert raw.closed


def test_texts_in_a_list_have_lines_of_their_own():
    data = b'{\n "a": [\n  "x",\n  "y: [\\n",\n  {"b": ["z",\n "w"]}\n ]\n}'
    locate = locator(data)
    assert locate is not None
    found = [locate("a", 0), locate("a", 1), locate("a", 2), locate("a", 2, "b", 1)]
    assert found == [3, 4, 5, 6]


def test_lines_are_found_as_deep_as_they_are_asked_for():
    data = b'{"a": {\n"b": {\n"c": {\n"d": {\n"e": {\n"f": [\n1,\n{"g": 1}]}}}}}}'
    locate = locator(data)
    assert locate is not None
    asked = [locate("a"), locate("a", "b"), locate("a", "b", "c", "d", "e"), locate("a", "b", "c")]
    assert asked == [1, 2, 5, 3]
    assert locate("a", "b", "c", "d", "e", "f", 1, "g") == 6  # deeper than is told
    assert locate("none") == 1


@pytest.mark.parametrize(
    "data",
    [
        b"[" * 300_000,
        b'{"a":' * 200_000,
        b'["' * 300_000,
        b'[["' + b"\\" * 300_001,
        b"[{" + b'"' * 99_999,
    ],
    ids=["lists", "objects", "texts", "escapes", "quotes"],
)
def test_broken_documents_are_searched_in_linear_time(data):
    locate = locator(data + b"\n1")
    assert locate is not None
    assert locate("a", 0, "b", 1) == 1


def test_archives_and_trajectories_are_found_in_folders(tmp_path):
    archive(tmp_path / "x.eval", {"header.json": HEADER})
    (tmp_path / "y.traj").write_text("{}")
    (tmp_path / "z.zip").write_bytes(b"PK")
    found = discover([str(tmp_path)])
    assert [source.path.rpartition("/")[2] for source in found.sources] == ["x.eval", "y.traj"]
    assert found.other_files == 1
