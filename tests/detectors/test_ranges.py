"""Ranges read again: new lines are progress, whatever the windows look like."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from transcripts import Judged, Record, boundary, call, compaction, judged, step, user

from loopaudit.detectors.ranges import _File
from loopaudit.model import Call


def read(first: int, last: int, path: str = "a.py") -> Record:
    args = {"path": path, "start_line": first, "end_line": last}
    return step(100, call("read", args, f"{path} {first}-{last}"))


def edit(path: str) -> Record:
    return step(100, call("edit", {"path": path, "new": "x"}, "ok"))


def count(found: Judged) -> int:
    return int(found.count_of("re_read_ranges"))


@pytest.mark.parametrize(
    ("ranges", "known"),
    [
        ([(1, 40), (41, 80), (81, 120)], 0),
        ([(1, 40), (30, 70), (60, 100)], 0),  # overlapping, each with new lines
        ([(41, 80), (1, 40), (20, 60)], 1),  # backwards, then across the seam
        ([(1, 10), (21, 30), (5, 25)], 0),  # fills a gap
        ([(1, 10), (21, 30), (5, 25), (1, 30)], 1),
        ([(1, 100), (1, 1), (100, 100), (50, 60)], 3),
        ([(1, 100), (10, 20), (100, 101), (10, 20)], 1),  # a new line between
        ([(5, 1), (0, 3), (5, 1)], 0),  # no ranges at all
    ],
)
def test_reads_without_a_new_line(ranges: list[tuple[int, int]], known: int) -> None:
    assert count(judged(*(read(*r) for r in ranges))) == known


@given(st.lists(st.tuples(st.integers(1, 60), st.integers(0, 20)), max_size=30))
def test_covered_lines_equal_a_plain_set(ranges: list[tuple[int, int]]) -> None:
    file, lines = _File(Call(0, 0, 0, None, "read", 1, 1)), set()
    for first, length in ranges:
        new = set(range(first, first + length + 1)) - lines
        assert file.cover(first, first + length) is bool(new)
        lines |= new


@pytest.mark.parametrize(
    "between",
    [
        edit("a.py"),
        step(100, call("bash", {"command": "mv b a.py"}, "")),
        user(),
        compaction(50),
        boundary("compaction"),
    ],
)
def test_what_makes_lines_new_again(between: Record) -> None:
    windows = [read(n, n + 20) for n in range(10, 50, 10)]
    assert count(judged(read(1, 100), *windows[:2], between, read(1, 100), *windows[2:])) == 2


def test_only_one_loss_of_memory_makes_lines_new_again() -> None:
    found = judged(*[r for _ in range(4) for r in (read(1, 100), read(2, 50), compaction(50))])
    assert count(found) == 5


@pytest.mark.parametrize("between", [edit("b.py"), boundary("hook", "go on"), read(1, 9, "b.py")])
def test_what_does_not(between: Record) -> None:
    windows = [r for n in range(10, 60, 10) for r in (between, read(n, n + 20))]
    assert count(judged(read(1, 100), *windows)) == 5


def test_three_looks_back_are_not_reported_four_are() -> None:
    windows = [read(n, n + 20) for n in range(10, 50, 10)]
    assert judged(read(1, 100), *windows[:3]).findings == []
    found = judged(read(1, 100), *windows).only
    assert (found.rule, found.first_seen.step, found.onset.step) == ("re-read-ranges", 0, 1)


def test_reads_of_whole_files_are_left_alone() -> None:
    whole = step(100, call("read", {"path": "a.py"}, "all of it"))
    assert count(judged(whole, read(1, 10), read(11, 20), whole)) == 0
