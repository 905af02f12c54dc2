"""Broken input: what is whole is read, what is lost is told with its line, nothing hangs."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import time
import tracemalloc
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from backports import zstd

from loopaudit.ingest import documents, opening
from loopaudit.ingest.opening import CutStream, lines, open_stream
from loopaudit.ingest.reading import Ingested, read_sources
from loopaudit.ingest.runs import RunAssembler
from loopaudit.ingest.sources import Source

MESSAGES = [
    {"role": "user", "content": "go"},
    *({"role": "assistant", "content": f"step {n} of many"} for n in range(9)),
]
CALL = {
    "request": {"method": "POST", "uri": "https://api.openai.com/v1/chat/completions", "body": {}},
    "response": {"body": {}},
}


def read(path: Path, content: bytes | str, log_format: str | None = None) -> Ingested:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    source = Source(str(path), path.stat().st_size, True)
    return read_sources([source], partial(RunAssembler), log_format)


def texts(found: Ingested) -> int:
    return sum(len(run.steps) for run in found.runs)


def lost(found: Ingested) -> list[tuple[int | None, str]]:
    return [(skip.line, skip.reason) for skip in found.skips]


def native(count: int) -> list[dict[str, object]]:
    head: dict[str, object] = {"loopaudit": 1}
    row = {"type": "response", "run": "r", "text": "x"}
    return [head, *({**row, "id": f"m{n}"} for n in range(count))]


# -- packed ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("pack", [gzip.compress, zstd.compress, lzma.compress])
def test_damage_in_a_small_packed_file_takes_little_with_it(
    tmp_path: Path, pack: Callable[[bytes], bytes]
) -> None:
    text = b"".join(b"%d %x\n" % (n, hash((n, "x"))) for n in range(30_000))
    packed = bytearray(pack(text))
    packed[len(packed) // 2 :] = b"\xff" * 64
    path = tmp_path / "log"
    path.write_bytes(packed)
    got: list[bytes] = []
    with open_stream(str(path)) as stream, pytest.raises(CutStream, match="damaged"):
        got.extend(lines(stream, len(packed)))
    whole = sum(a == b for a, b in zip(got, text.splitlines(True), strict=False))
    assert whole >= 3_000


@pytest.mark.parametrize("pack", [gzip.compress, zstd.compress, lzma.compress, bz2.compress])
def test_nothing_whole_before_the_damage(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    found = read(tmp_path / "log", pack(b'{"a":1}\n' * 99)[:12] + b"\xff" * 90)
    (reason,) = (reason for _, reason in lost(found))
    assert "damaged" in reason
    assert not found.inputs


def test_a_cut_packed_list_is_read_up_to_its_last_whole_element(tmp_path: Path) -> None:
    text = json.dumps(MESSAGES * 200)
    found = read(tmp_path / "log.json.gz", gzip.compress(text.encode(), 0)[:-2_000])
    assert 1_500 < texts(found) < 1_800
    assert [reason.partition(" (")[0] for _, reason in lost(found)] == [
        "broken JSON",
        "packed data breaks off or is damaged",
    ]


@pytest.mark.parametrize("line_ends", [b"", b"\n"])
def test_a_bomb_is_left_early(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line_ends: bytes
) -> None:
    monkeypatch.setattr(opening, "SAFE", 1 << 20)
    monkeypatch.setattr(opening, "MAX_LINE", 1 << 16)
    packed = zstd.compress((b"\0" * (1 << 15) + line_ends) * 2_000)
    path = tmp_path / "log"
    path.write_bytes(packed)
    with open_stream(str(path)) as stream, pytest.raises(CutStream, match="500 times its size"):
        list(lines(stream, len(packed)))


@pytest.mark.parametrize(
    ("head", "what"),
    [
        (b"PK\x03\x04", "a zip archive"),
        (b"SQLite format 3\0", "an SQLite database"),
        (b"%PDF-1.7\n", "a PDF"),
        (b"\x89PNG\r\n\x1a\n", "a picture"),
        ('{"type": "user"}\n'.encode("utf-16"), "UTF-16"),
        ('{"type": "user"}\n'.encode("utf-16-le"), "UTF-16"),
        (b"a.jsonl".ljust(257, b"\0") + b"ustar\0", "a tape archive"),
        (gzip.compress(b'{"a":1}\n', mtime=0), "packed more than once"),
    ],
)
def test_what_is_no_log_is_named(tmp_path: Path, head: bytes, what: str) -> None:
    good = "".join(json.dumps(row) + "\n" for row in native(3)).encode()
    for content in (gzip.compress(head + good), head + good)[: 1 if head[:1] == b"\x1f" else 2]:
        found = read(tmp_path / "x.jsonl", content)
        assert [reason.startswith(what) for _, reason in lost(found)] == [True]
        assert not found.runs


# -- lines ---------------------------------------------------------------------------------------


def test_losses_past_ten_thousand_are_counted_not_listed(tmp_path: Path) -> None:
    rows = [json.dumps(row) for row in native(2)] + ["x"] * 12_000 + ['{"type": 5}'] * 12_000
    found = read(tmp_path / "log.jsonl", "\n".join(rows) + "\n")
    assert texts(found) == 2
    assert len(found.skips) == 10_001
    assert found.skips[-1].reason == "14,000 more records lost, not listed one by one"
    assert sum(skip.count for skip in found.skips) == found.inputs[0].skips == 24_000


@pytest.mark.parametrize("place", [0, 3])
def test_a_line_too_long_is_lost_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: int
) -> None:
    monkeypatch.setattr(opening, "MAX_LINE", 10_000)
    rows = [json.dumps(row) for row in native(9)]
    rows.insert(place, '{"type": "response", "text": "' + "x" * 5_000_000 + '"}')
    found = read(tmp_path / "log.jsonl", "\n".join(rows))
    assert texts(found) == 9
    assert lost(found) == [(place + 1, "a line longer than 256 MiB")]


def test_nothing_but_a_line_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "MAX_LINE", 10_000)
    found = read(tmp_path / "log.json", json.dumps(MESSAGES * 500))
    assert lost(found) == [(None, "a line longer than 256 MiB")]


# -- documents ------------------------------------------------------------------------------------


@pytest.mark.parametrize("indent", [None, 2])
def test_of_a_cut_list_the_whole_elements_are_kept(tmp_path: Path, indent: int | None) -> None:
    for wrap in (MESSAGES, {"model": "m", "messages": MESSAGES}):
        text = json.dumps(wrap, indent=indent)
        cut = text[: text.index("step 6") + 3]
        found = read(tmp_path / "log.json", cut)
        assert texts(found) == 6
        last = 1 + cut.count("\n")
        assert lost(found) == [(last, "broken JSON (unterminated string)")]


def test_a_broken_value_among_pretty_ones_is_lost_alone(tmp_path: Path) -> None:
    rows = [json.dumps(row, indent=1) for row in native(5)]
    rows[2] = rows[2].replace(":", "", 1)
    found = read(tmp_path / "log.jsonl", "\n".join(rows))
    assert texts(found) == 4
    place = 1 + sum(row.count("\n") + 1 for row in rows[:2])
    assert [line for line, _ in lost(found)] == [place + 1]


@pytest.mark.parametrize("first", ['{"a": [1, {', '{"type": "response",', "[", "note: x", "---"])
def test_a_broken_first_line_does_not_hide_the_rest(tmp_path: Path, first: str) -> None:
    rows = [first, *(json.dumps(row) for row in native(5))]
    found = read(tmp_path / "log.jsonl", "\n".join(rows) + "\n")
    assert texts(found) == 5
    assert len(found.skips) == 1


def test_a_value_nested_too_deep_takes_only_itself(tmp_path: Path) -> None:
    deep = '{"a":' * 50_000 + "1" + "}" * 50_000
    text = json.dumps(MESSAGES, indent=1).replace('"step 3 of many"', deep)
    found = read(tmp_path / "log.json", text.replace("step", "\x01"))  # a control byte: no orjson
    assert texts(found) == 9
    assert found.repaired == {"values nested too deep, left out": 1}


def test_keys_that_are_no_text(tmp_path: Path) -> None:
    found = read(tmp_path / "log.yaml", "a: 1\n2: x\n2026-05-01: y\n")
    said = "its records have 2, 2026-05-01, a; no format has records like these"
    assert lost(found) == [(None, f"no reader knows this log; {said}")]


@pytest.mark.parametrize(
    "text",
    ["a: !!timestamp x\n", "a: !!bool x\n", "a: 2026-99-99\n", "a: &x [*x]\n? [*x] : 1\n"],
)
def test_yaml_that_cannot_be_built(tmp_path: Path, text: str) -> None:
    (reason,) = (reason for _, reason in lost(read(tmp_path / "log.yaml", text)))
    assert "neither JSON nor readable YAML" in reason


def test_yaml_whose_aliases_multiply(tmp_path: Path) -> None:
    rows = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    rows += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    rows.append(f"interactions: [{json.dumps(CALL).replace('{}', '*a9')}]")
    found = read(tmp_path / "log.yaml", "\n".join(rows), "http_log")
    assert [reason.rpartition(": ")[2] for _, reason in lost(found)] == [
        "its aliases unfold to too many values"
    ]


def test_an_alias_is_no_bomb(tmp_path: Path) -> None:
    node = documents.parse_document(b"a: &x [1, 2]\nb: *x\nc: *x\n", "").values
    assert node == [(1, {"a": [1, 2], "b": [1, 2], "c": [1, 2]})]


def test_a_key_that_no_parser_takes(tmp_path: Path) -> None:
    text = json.dumps(MESSAGES, indent=1).replace('"content"', '"\\n\x01": 1, "content"')
    assert texts(read(tmp_path / "log.json", text)) == 9


def test_a_long_string_takes_little_memory() -> None:
    data = b'{\n"a": "' + b"x\\n" * 1_000_000 + b'",\n"b": 1}'
    tracemalloc.start()
    locate = documents.locator(data)
    assert locate is not None
    assert locate("b") == 3
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * len(data)


# -- time -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        '{"a":' * 300_000,
        "[" * 1_000_000,
        '["' * 300_000,
        '{"a":[' * 200_000,
        '{"\n' * 200_000,
        '["a",\n' * 100_000,
        '{"a": 1,\n' * 100_000,
        ('{"a":' * 30_000 + "1" + "}" * 30_000 + "\n") * 3,
        "- " * 100_000,
        "a: [" * 100_000,
    ],
    ids=range(10),
)
def test_time_grows_with_the_input_only(tmp_path: Path, content: str) -> None:
    began = time.process_time()
    found = read(tmp_path / "log", content)
    assert time.process_time() - began < 5
    assert found.skips
    assert not found.failures
