from __future__ import annotations

import pickle
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mask_pairs import DIFFERENT, EQUAL

from loopaudit.errors import ConfigError
from loopaudit.masks import from_settings, mask


@pytest.mark.parametrize(("a", "b"), EQUAL)
def test_only_volatile_parts_differ(a: str, b: str) -> None:
    assert a != b
    assert mask(a) == mask(b)


@pytest.mark.parametrize(("a", "b"), DIFFERENT)
def test_content_differs(a: str, b: str) -> None:
    assert mask(a) != mask(b)


def test_enough_pairs_in_both_languages() -> None:
    assert len(EQUAL) >= 60
    assert len(DIFFERENT) >= 60
    for pairs in (EQUAL, DIFFERENT):
        assert sum(not a.isascii() for a, _ in pairs) >= 8


@pytest.mark.parametrize(("a", "b"), [*EQUAL, *DIFFERENT])
def test_a_masked_text_is_left_alone(a: str, b: str) -> None:
    for text in (a, b):
        assert mask(mask(text)) == mask(text)


def test_text_without_digits_is_returned_as_it_is() -> None:
    text = "No such file or directory\n" * 3
    assert mask(text) is text


def test_surroundings_stay() -> None:
    assert mask("a 2026-11-30T21:03:11Z b") == "a <time> b"
    assert mask("before pid 12 after") == "before pid <pid> after"
    assert mask('{"ok":true,"id":"m-101"}') == '{"ok":true,"id":"<id>"}'


@given(st.text(alphabet=st.characters(), max_size=300))
def test_never_raises_and_is_the_same_on_every_run(text: str) -> None:
    assert mask(text) == mask(text)


CRUMBS = [" ", ":", "=", "-", "|", "%", "::", "s", "ms", "T", "1.2", "3/5", "\ud83d", "tmp"]
CRUMBS += ["2026-11-30", "21:03:11", "0x7f", "pid ", "id=", "/tmp/", "req_", "第", "次", "\n"]


@given(
    st.lists(
        st.sampled_from(CRUMBS),
        max_size=40,
    )
)
def test_never_raises_on_volatile_crumbs(parts: list[str]) -> None:
    mask("".join(parts))


ADVERSARIES = [
    "1" * 1_000_000,
    "0:" * 500_000,
    "1:11" * 250_000,
    "00:00:00" * 125_000,
    "a=1" * 333_333,
    "id:1" * 250_000,
    "9." * 500_000,
    "f" * 999_999 + "1",
    "a1" * 500_000,
    "1 s 1 m " * 125_000,
    "1h1h1h1h" * 125_000,
    "1 h, " * 200_000,
    "/tmp/" * 200_000,
    "/tmp/" + "a1" * 499_000,
    "aaaa:" * 200_000,
    "://" + "a" * 500_000 + ":0000" + "b:0000" * 80_000,
    "Jan " * 250_000 + "0:00",
    "Jan 1 " * 160_000 + "0:00",
    "<time>" * 160_000 + "0:00",
    "attempt " * 125_000 + "1",
    "retry 1/" * 125_000,
    "第1" * 500_000,
    "1分" * 500_000,
    "1小时 " * 250_000,
    "0:00 " + "12月1日 " * 140_000,
    "key " * 250_000 + ":1",
    ": 1" * 300_000,
    " " * 999_999 + "1",
    "\ud83d1" * 500_000,
    "0 --:--:--" * 100_000,
    "1 1 --:--:-- --:--:-- --:--:--" * 33_000,
    "[0:00<" * 160_000,
    "message id " * 90_000 + "1",
    "0x" * 500_000,
    "req_" * 250_000 + "1",
    "'\"" * 500_000 + ":1",
]


@pytest.mark.parametrize("text", ADVERSARIES, ids=lambda t: repr(t[:12]))
def test_time_is_linear_on_a_megabyte(text: str) -> None:
    began = time.thread_time()
    mask(text)
    assert time.thread_time() - began < 5  # quadratic time would take minutes


# -- the user's own patterns ----------------------------------------------------------------------


def test_extra_masks_more_and_keep_protects() -> None:
    masks = from_settings({"extra": [r"build-\d+"], "keep": [r"port \d+"]})
    assert masks("build-17 on port 54321, pid 3") == "<masked> on port 54321, pid <pid>"
    assert mask("build-17 on port 54321") == "build-17 on port <port>"


def test_keep_of_overlapping_patterns() -> None:
    masks = from_settings({"keep": [r"pid \d+ on", r"\d+ on \d\d:\d\d:\d\d"]})
    text = "pid 12 on 21:03:11 at 21:03:12"
    assert masks(text) == "pid 12 on 21:03:11 at <time>"


def test_inline_flags_and_groups_of_one_pattern_do_not_touch_another() -> None:
    masks = from_settings({"extra": [r"(?i)(job) \1", r"(\d)\1\1\1"]})
    assert masks("JOB job 7777 7776") == "<masked> <masked> 7776"


def test_a_pattern_sees_one_line_and_the_text_stays_whole() -> None:
    masks = from_settings({"extra": [r"a\s+b", r"x+"], "keep": [r"^pid \d+$"]})
    assert masks("a\nb\n\npid 1\npid 2 \n") == "a\nb\n\npid 1\npid <pid> \n"
    assert masks("y" * 9_001 + "\nz") == "y" * 9_001 + "\nz"


def test_a_quadratic_pattern_is_harmless_on_a_long_line() -> None:
    masks = from_settings({"extra": [r"\d+ rows"]})
    began = time.thread_time()
    masks("1" * 200_000)
    assert time.thread_time() - began < 10


def test_masks_travel_to_workers() -> None:
    masks = from_settings({"extra": [r"x\d"], "keep": [r"y\d"]})
    again = pickle.loads(pickle.dumps(masks))
    assert again("x1 y1 pid 7") == masks("x1 y1 pid 7") == "<masked> y1 pid <pid>"


def test_no_settings_is_the_built_in() -> None:
    assert from_settings({})("pid 12") == mask("pid 12")


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"extra": ["("]}, "no regular expression"),
        ({"extra": ["[a"]}, "no regular expression"),
        ({"extra": ["*a"]}, "no regular expression"),
        ({"extra": ["a*"]}, "empty text"),
        ({"keep": [""]}, "empty text"),
        ({"extra": "abc"}, "list of strings"),
        ({"extra": [3]}, "list of strings"),
        ({"keep": {"a": 1}}, "list of strings"),
        ({"extras": ["a"]}, "unknown setting masks.extras"),
        ({"extra": [r"(a+)+$"]}, "too slow"),
        ({"extra": [r"(a|a)+b"]}, "too slow"),
        ({"extra": [r"(\w|\d)+!"]}, "too slow"),
        ({"extra": [r"id (\w+\s?)+;"]}, "too slow"),
        ({"extra": [r"(.*a){12}$"]}, "too slow"),
        ({"extra": [r"\d+\d+\d+x"]}, "too slow"),
        ({"extra": [r"(?:[a-z]+)*-end"]}, "too slow"),
        ({"keep": [r"^(([a-z])+.)+[A-Z]([a-z])+$"]}, "too slow"),
        ({"extra": ["x" * 3_000]}, "longer"),
    ],
)
def test_bad_patterns_are_refused_with_their_place(table: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        from_settings(table, lambda *keys: ("loopaudit.toml", 7))
    assert str(caught.value).startswith("loopaudit.toml:7: ")
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "pattern",
    [
        r"build-\d+",
        r"(?:\w{1,20}-){2}\d{4}",
        r"\b[A-Z]{2,5}-[0-9]{1,9}\b",
        r"(?:foo|bar) id [0-9a-f]{8}",
        r"ticket=[^&\s]{1,80}",
        r"(?<=nonce )\S{1,64}",
        r"\d+ rows",
        r"运行编号[:：]\s?\d+",
        r"(?P<x>a|b)(?P=x)",
    ],
)
def test_sound_patterns_are_taken(pattern: str) -> None:
    assert from_settings({"extra": [pattern], "keep": [pattern]}).extra == (pattern,)
