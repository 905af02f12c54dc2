"""No value of any type, anywhere in a record, breaks a reader or a sniffer of a coding agent."""

import json
import random
from pathlib import Path

import pytest
from coding_files import NAMES, form, ingest, runs_of

from loopaudit.formats.base import Sample

SAMPLES = Path(__file__).resolve().parents[2] / "sample_logs"
HOSTILE = (
    *(
        None,
        True,
        False,
        0,
        -1,
        10**400,
        float("nan"),
        float("inf"),
        1e308,
        "",
        "0",
        "\x00",
        "\ud83d",
    ),
    *([], {}, [[]], [{}], {"": None}, [None, 1, "x", True], "x" * 70_000, {"type": []}, {"id": {}}),
)


def deep(levels=2_000):
    value = []
    for _ in range(levels):
        value = {"content": [value]}
    return value


def records_of(name):
    """Records of the format's samples, as its reader is fed them."""
    found = []
    for path in sorted((SAMPLES / name).rglob("*")):
        if path.suffix == ".jsonl":
            found += [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        elif path.suffix == ".json":
            found.append(json.loads(path.read_text("utf-8")))
    if name in ("crush", "goose"):
        from loopaudit.ingest.databases import Database

        (path,) = (SAMPLES / name).glob("*.db")
        database = Database(str(path))
        found += [record for _, record in database.records(form(name).tables)]
        database.close()
    return found


def places(value, path=()):
    """All places in a value: paths of keys and indices."""
    yield path
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from places(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from places(inner, (*path, index))


def changed(value, path, new):
    """A copy of `value` with `new` at `path`."""
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = changed(value[path[0]], path[1:], new)
    return copy


def without(value, path):
    copy = dict(value) if isinstance(value, dict) else list(value)
    if len(path) == 1:
        del copy[path[0]]
    else:
        copy[path[0]] = without(value[path[0]], path[1:])
    return copy


@pytest.mark.parametrize("name", NAMES)
def test_any_value_in_any_place_is_survived(name):
    records = records_of(name)
    assert records
    chance = random.Random(7)
    for number, record in enumerate(records):
        for path in places(record):
            for new in chance.sample(HOSTILE, 4):
                spoilt = changed(record, path, new)
                reader, _ = runs_of(name, [*records[:number], spoilt, *records[number + 1 :]])
                assert reader.used + sum(reader.ignored.values()) + len(reader.rejected) > 0
                form(name).sniff(Sample("x", [spoilt]))
            if path:
                runs_of(name, [*records[:number], without(record, path)])
        if number > 12:
            break


@pytest.mark.parametrize("name", NAMES)
def test_records_of_no_shape_at_all_are_rejected_or_ignored(name):
    values = [*HOSTILE, deep(), [deep()], {"type": "message"}, {"messages": [None, 3, {}]}]
    reader, _ = runs_of(name, values)
    assert reader.used + sum(reader.ignored.values()) + len(reader.rejected) >= len(values) - 3
    for value in values:
        assert form(name).sniff(Sample("x", [value], document=True)) < 0.5


@pytest.mark.parametrize("name", NAMES)
def test_records_in_any_order_are_survived(name):
    records = records_of(name)
    for seed in range(5):
        shuffled = records[:]
        random.Random(seed).shuffle(shuffled)
        _, runs = runs_of(name, [*shuffled, *shuffled])
        for run in runs.values():
            assert all(step.usage is None or (step.usage.total or 0) >= 0 for step in run.steps)


@pytest.mark.parametrize("name", NAMES)
def test_every_record_of_the_samples_is_accounted_for(name):
    _, found = ingest(SAMPLES / name)
    for result in found:
        assert result.failures == []
        assert result.skips == []
        for entry in result.inputs:
            assert entry.format == name
            assert entry.records_used + sum(entry.records_ignored.values()) >= 1
