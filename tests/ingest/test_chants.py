"""Where a text begins to repeat itself: offsets and counts worked out by hand."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopaudit.ingest.chants import chant

USEFUL = "The sum is rounded line by line, and the tax once more at the end. "


def test_a_word_after_something_useful() -> None:
    found = chant(USEFUL + "word " * 500)
    assert found is not None
    # the blank before the first word belongs to the row; the first time is no repeat
    assert found.offset == len(USEFUL) - 1 + 5
    assert found.size == 500 * 5 + 1 - 5
    assert found.times == 500


def test_nothing_but_the_word() -> None:
    found = chant("word " * 500)
    assert found is not None
    assert (found.offset, found.size, found.times) == (5, 2_495, 500)


def test_cut_within_the_word() -> None:
    found = chant("paragraph " * 40 + "para")
    assert found is not None
    assert (found.offset, found.size, found.times) == (10, 394, 40)


def test_the_same_stretch_wherever_it_is_cut() -> None:
    one, other = chant("word " * 100), chant(USEFUL + "rd wo" * 100)
    assert one is not None
    assert other is not None
    assert one.key == other.key
    third = chant("text " * 100)
    assert third is not None
    assert third.key != one.key


@pytest.mark.parametrize(
    ("text", "repeats"),
    [
        ("word " * 39, False),  # 190 redundant characters
        ("word " * 41, True),
        ("A paragraph of the kind that is said once more.\n" * 9, False),
        ("A paragraph of the kind that is said once more.\n" * 10, True),
        ("-" * 900, False),
        ("-" * 1_001, True),
        (" " * 900 + "\n", False),
        (USEFUL + "so it is. " * 60 + "And that is how the song goes on.", False),
        (USEFUL + "so it is. " * 110 + "And that is how the song goes on.", True),
    ],
)
def test_from_how_often_and_how_long(text: str, repeats: bool) -> None:
    assert (chant(text) is not None) == repeats


def test_a_counter_in_each_sentence() -> None:
    text = USEFUL + "".join(f"Attempt {n}: let me look at the file again. " for n in range(80))
    found = chant(text)
    assert found is not None
    assert len(USEFUL) <= found.offset <= len(USEFUL) + 60
    assert found.size == len(text) - found.offset


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=300), st.text(alphabet="ab c", min_size=1, max_size=40), st.integers(0, 60))
def test_what_is_found_is_true(before: str, unit: str, times: int) -> None:
    text = before + unit * times
    found = chant(text)
    if found is None:
        assert times < 10 or len(unit) * (times - 1) < 1_000
    elif found.size < 1_000:  # exact
        end = found.offset + found.size
        period = next(
            p
            for p in range(1, 2_001)
            if text[found.offset - p : end - p] == text[found.offset : end]
        )
        assert found.times >= 10
        assert found.offset >= period


def test_prose_is_left_alone() -> None:
    draw = random.Random(7)
    words = [
        f"{a}{b}" for a in ("ka", "lo", "mi", "ru", "se") for b in ("ban", "tor", "vel", "ning")
    ]
    for size in (200, 1_000, 4_000):
        assert chant(" ".join(draw.choice(words) for _ in range(size))) is None
