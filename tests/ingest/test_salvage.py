"""Broken lines: what is saved, what is lost, and with which reason (cases E1-E8)."""

from __future__ import annotations

import math

import pytest

from loopaudit.ingest.salvage import CUT_TAIL, parse


@pytest.mark.parametrize(
    ("raw", "values"),
    [
        (b'{"a":1}{"b":{"c":2}}\n', [{"a": 1}, {"b": {"c": 2}}]),  # welded
        (b'{"a":1} {"b":2} {"c":3}\n', [{"a": 1}, {"b": 2}, {"c": 3}]),
        (b'\xef\xbb\xbf{"a":1}\r\n', [{"a": 1}]),  # byte order mark
        (b'\x00\x00{"a":1}\x00\n', [{"a": 1}]),  # zero bytes of a crashed writer
        (b'{"a":"x\x01y"}\n', [{"a": "x\x01y"}]),  # raw control byte
        (b'{"a":"\\ud83d"}\n', [{"a": "\ud83d"}]),  # half an emoji
        (b'{"a":"5\xb2"}\n', [{"a": "5�"}]),  # cp1252
        (b'{"a":"x{\\"b\\":1}{"}{"c":"}{"}\n', [{"a": 'x{"b":1}{'}, {"c": "}{"}]),
    ],
)
def test_nothing_lost(raw: bytes, values: list[object]) -> None:
    parsed = parse(raw)
    assert parsed.values == values
    assert parsed.lost == []


@pytest.mark.parametrize(
    ("raw", "values"),
    [
        (b'{"type":"user","mess{"type":"x","u":{"i":1}}\n', [{"type": "x", "u": {"i": 1}}]),
        (b'cut off", "x": {"y": 1}}{"a":1}\n', [{"a": 1}]),
        (b'{"a":1}{"b":[{"x":1},{"y":2}\n', [{"a": 1}]),
        (b'{"a":1,"b":{"c":2}\n', []),  # an object inside a broken record is no record
        (b'{"a":[{"b":1},{"c":2}\n', []),
    ],
)
def test_one_piece_lost(raw: bytes, values: list[object]) -> None:
    parsed = parse(raw)
    assert parsed.values == values
    assert parsed.lost == ["cut record"]


def test_cut_tail_is_told_apart() -> None:
    assert parse(b'{"a":1,"b', last=True).lost == [CUT_TAIL]
    assert parse(b'{"a":1,"b', last=False).lost == ["cut record"]


def test_text_is_no_json() -> None:
    assert parse(b"Traceback (most recent call last):\n").lost == ["no JSON (Expecting value)"]
    assert parse(b"  \r\n").lost == parse(b"\x00\x00\n").lost == []


def test_hostile_numbers_and_depth() -> None:
    value = parse(b'{"nan":NaN,"inf":1e400,"digits":' + b"9" * 5_000 + b"}\n").values[0]
    assert math.isnan(value["nan"])
    assert math.isinf(value["inf"])
    assert math.isinf(value["digits"])
    deep = parse(b'{"a":1,"b":' + b"[" * 100_000 + b"]" * 100_000 + b"}\n")
    assert deep.values == [{"a": 1, "b": None}]
    objects = parse(b'{"b":2,"a":' + b'{"a":' * 50_000 + b"1" + b"}" * 50_000 + b',"c":"{"}\n')
    assert (objects.values[0]["b"], objects.values[0]["c"]) == (2, "{")
    assert objects.repaired == "values nested too deep, left out"
    mixed = parse(b'{"a":' + b'[{"x":"]"},' * 20_000 + b"1" + b"]" * 20_000 + b',"c":3}\n')
    assert mixed.values[0]["c"] == 3


def test_brackets_that_never_close_take_no_time() -> None:
    assert parse(b"[" * 200_000 + b"\n").lost == ["nested too deep"]
    assert parse(b'{"a":' + b"[ " * 200_000 + b"\n").lost == ["nested too deep"]


def test_many_braces_take_no_time() -> None:
    parsed = parse(b'{"a' * 200_000 + b"\n")
    assert parsed.values == []
    assert parsed.lost == ["cut record"]
