"""Numbers, times, texts and arguments as logs write them."""

from datetime import UTC, date, datetime, timedelta, timezone

import pytest

from loopaudit.formats.logreader import stem
from loopaudit.formats.shapes import (
    arguments,
    count,
    dollars,
    name,
    number,
    output_of,
    seconds,
    shown,
    text_of,
    user_kind,
    whole,
)
from loopaudit.model import BoundaryKind

HUGE = 10**4999
NAN, INF = float("nan"), float("inf")


def test_a_count_is_a_whole_number_of_tokens():
    assert [count(value) for value in (0, 12, 12.0)] == [0, 12, 12]
    bad = (1e400, 1.5, NAN, -5, True, False, "12", None, HUGE, [1])
    assert [count(value) for value in bad] == [None] * 10


def test_times_in_any_unit_and_zone():
    noon = 1767268800.0  # 2026-01-01T12:00:00Z, by `date -u -d @1767268800`
    for value in (
        *("2026-01-01T12:00:00Z", "2026-01-01T12:00:00+00:00", "2026-01-01 12:00:00"),
        *("2026-01-01T14:00:00+02:00", "2026-01-01T12:00:00.000Z", "1767268800"),
        *(1767268800, 1767268800.0, 1767268800_000, 1767268800_000_000, 1767268800_000_000_000),
        *(datetime(2026, 1, 1, 12), datetime(2026, 1, 1, 12, tzinfo=UTC)),
        datetime(2026, 1, 1, 9, tzinfo=timezone(timedelta(hours=-3))),
    ):
        assert seconds(value) == noon, value
    assert seconds(date(2026, 1, 1)) == noon - 12 * 3600
    assert seconds(0) == 0


@pytest.mark.parametrize(
    "value",
    [None, "", "noon", True, -1, NAN, INF, HUGE, [], {}, "1e999", "0000-00-00", datetime.min],
    ids=shown,
)
def test_what_is_no_time_is_none(value):
    assert seconds(value) is None


def test_other_plain_values():
    assert [number(v) for v in (0, 1.5, -1, NAN, INF, True, "2", HUGE)] == [0, 1.5] + [None] * 6
    assert [str(dollars(v)) for v in (0.1, "0.10", 3)] == ["0.1", "0.10", "3"]
    assert [dollars(v) for v in (-1, "NaN", "x", True, None, [], INF, HUGE)] == [None] * 8
    assert [dollars(v) for v in (1_767_225_600, "1e999999", "1e99999999999")] == [None] * 3
    assert [name(v) for v in ("x", "", 7, True, None, 1.5, HUGE)] == ["x", None, "7"] + [None] * 4
    assert [whole(v) for v in (-9, True, 2**63, 1.0)] == [-9, None, None, None]
    assert shown("x" * 99) == repr("x" * 40)
    assert shown(HUGE) == "a value of type int"


def test_text_of_content_in_any_form():
    assert text_of("plain") == "plain"
    assert text_of("") == ""  # empty is not absent
    assert text_of(None) is None
    assert text_of([]) is None
    assert text_of([{"type": "text", "text": "a"}, {"type": "output_text", "text": "b"}]) == "a\nb"
    assert text_of({"type": "text", "text": "one part"}) == "one part"
    assert text_of(["a", "b"]) == "a\nb"
    assert text_of([{"type": "refusal", "refusal": "no"}]) == "no"
    # neither pictures nor thoughts are visible text
    assert text_of([{"type": "image_url", "image_url": {"url": "x"}}]) is None
    assert text_of([{"type": "reasoning", "text": "hm"}, {"type": "text", "text": "a"}]) == "a"
    assert text_of([{"type": "text", "text": 5}, 7, None]) is None


def test_output_keeps_structure_unless_all_of_it_is_text():
    assert output_of([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]) == "a\nb"
    picture = [{"type": "text", "text": "a"}, {"type": "image", "source": {}}]
    assert output_of(picture) is picture
    assert output_of(None) is None
    assert output_of([]) == []
    assert output_of({"ok": 1}) == {"ok": 1}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ('{"a": 1}', {"a": 1}),
        ('"{\\"a\\": 1}"', {"a": 1}),  # encoded twice
        ({"a": 1}, {"a": 1}),
        ("", {}),
        ("  ", {}),
        (None, None),
        ('{"a": 1', '{"a": 1'),  # cut: the text is kept
        ("ls -l", "ls -l"),
        ('["x"]', ["x"]),
        ("12", "12"),
        ('{"a": "\ud83d"}', '{"a": "\ud83d"}'),
    ],
)
def test_arguments(given, expected):
    assert arguments(given) == expected


def test_marked_injections_are_no_user_message():
    assert user_kind("<system-reminder>\nbe quick") is BoundaryKind.REMINDER
    for text in ("be quick", None, "", "what does <system-reminder> mean?"):
        assert user_kind(text) is BoundaryKind.USER


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/a/b/run.jsonl", "run"),
        ("run.jsonl.gz", "run"),
        ("a\\b\\run.json", "run"),
        ("v1.2-night.ndjson", "v1.2-night"),
        ("no ending", "no ending"),
        (".jsonl", ".jsonl"),
        ("-", "stdin"),
        ("", "stdin"),
        ("x.YAML", "x"),
    ],
)
def test_stem_names_a_run_by_its_file(path, expected):
    assert stem(path) == expected
