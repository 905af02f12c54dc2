"""Every API reader stands the same truth, and the same damage: nothing raises."""

import copy
import json
import random

import pytest
from api_files import feed, form
from api_samples import SAMPLES
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loopaudit.formats.base import Sample
from loopaudit.model import (
    BoundaryKind,
    BoundaryPiece,
    CallStatus,
    ResponsePiece,
    ResultPiece,
)


def deep(levels=20_000):
    value = []
    for _ in range(levels):
        value = [value]
    return value


HOSTILE = [
    *(None, True, False, -5, 0, 3.5, float("nan"), float("inf"), 10**400, "", "12", "\ud83d"),
    *([], {}, [[]], [None], {"": None}, {"type": []}, {"role": {}}, [{"type": {}}], deep()),
]


@pytest.mark.parametrize("name", SAMPLES)
def test_one_truth_in_every_spelling(name):
    reader, pieces = feed(name, SAMPLES[name])
    responses = [p for p in pieces if isinstance(p, ResponsePiece)]
    results = [p for p in pieces if isinstance(p, ResultPiece)]
    users = [p for p in pieces if isinstance(p, BoundaryPiece)]
    assert [[(c.tool, c.args) for c in p.calls] for p in responses] == [
        [("depth", {"of": "lac"})],
        [("depth", {"of": "lake"})],
        [],
    ]
    assert [p.text for p in responses] == [None, "once more", "40 metres"]
    assert [p.status for p in results] == [CallStatus.ERROR, CallStatus.OK]
    assert [(p.kind, p.text) for p in users] == [(BoundaryKind.USER, "How deep is the lake?")]
    assert len({p.run for p in pieces}) == 1
    assert reader.rejected == []
    order = [p for p in pieces if isinstance(p, ResponsePiece | ResultPiece)]
    assert [type(p) for p in order] == [ResponsePiece, ResultPiece] * 2 + [ResponsePiece]


@pytest.mark.parametrize("name", SAMPLES)
def test_each_is_known_by_its_own_sniffer_only(name):
    records = SAMPLES[name]
    for given_ in (Sample("x", records), Sample("x", [records], True)):
        if name == "openai_agents" and given_.document:
            continue  # traces are lines
        scores = {other: form(other).sniff(given_) for other in SAMPLES}
        assert scores[name] >= 0.9
        assert sorted(scores.values())[-2] < 0.5, scores


def nodes(value, path=()):
    yield path
    if isinstance(value, dict):
        for key in value:
            yield from nodes(value[key], (*path, key))
    elif isinstance(value, list):
        for index in range(len(value)):
            yield from nodes(value[index], (*path, index))


def replaced(value, path, new):
    if not path:
        return new
    value = copy.deepcopy(value)
    inner = value
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = new
    return value


@pytest.mark.parametrize("name", SAMPLES)
def test_any_value_may_stand_anywhere(name):
    """Each node of each record in turn is replaced by hostile values."""
    draw = random.Random(name)
    records = SAMPLES[name]
    for index, record in enumerate(records):
        for path in nodes(record):
            for bad in draw.sample(HOSTILE, 4):
                damaged = [*records[:index], replaced(record, path, bad), *records[index + 1 :]]
                feed(name, damaged)
                feed(name, [damaged])
                form(name).sniff(Sample("x", damaged))
                form(name).sniff(Sample("x", [damaged], True))


@pytest.mark.parametrize("name", SAMPLES)
def test_missing_keys_are_survived(name):
    records = SAMPLES[name]
    for index, record in enumerate(records):
        for path in nodes(record):
            if path and isinstance(path[-1], str):
                damaged = copy.deepcopy(records)
                inner = damaged[index]
                for key in path[:-1]:
                    inner = inner[key]
                del inner[path[-1]]
                feed(name, damaged)
                form(name).sniff(Sample("x", damaged))


KEYS = sorted(
    {key for records in SAMPLES.values() for path in nodes(records) for key in path if key != ""},
    key=str,
)
WORDS = sorted(
    {
        word
        for word in json.dumps(list(SAMPLES.values())).split('"')
        if 0 < len(word) < 24 and word.isidentifier()
    }
)
values = st.recursive(
    st.sampled_from(HOSTILE[:-1]) | st.sampled_from(WORDS) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from([k for k in KEYS if isinstance(k, str)]), inner, max_size=5
        )
    ),
    max_leaves=12,
)


@pytest.mark.parametrize("name", SAMPLES)
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=60)
@given(records=st.lists(values, max_size=4))
def test_rubbish_is_rejected_not_raised(name, records):
    reader, _ = feed(name, records)
    form(name).sniff(Sample("x", records))
    form(name).sniff(Sample("x", [records], True))
    assert reader.used + reader.ignored.total() + len(reader.rejected) >= len(records)


@pytest.mark.parametrize("name", SAMPLES)
def test_a_list_of_nothing_and_an_empty_log_hold_nothing(name):
    for records in ([], [[]]):
        reader, pieces = feed(name, records)
        assert pieces == []
        assert reader.missing == set()
