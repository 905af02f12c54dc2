"""Every reader of a tracing system stands damage: nothing raises, nothing is lost unsaid."""

import copy
import json
import random
from pathlib import Path

import pytest
from api_files import feed, form
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_api_hostile import HOSTILE, nodes, replaced

from loopaudit.formats.base import Sample
from loopaudit.ingest.runs import RunAssembler

SAMPLES = Path(__file__).resolve().parents[2] / "sample_logs"
FILES = {
    "otel": ("agent.otlp.jsonl", "events.otlp.jsonl", "console.jsonl"),
    "langsmith": ("runs.jsonl",),
    "langfuse": ("trace.json",),
    "mlflow": ("trace.json",),
}
LOGS = [(name, file) for name, files in FILES.items() for file in files]


def records_of(name, file):
    text, out = (SAMPLES / name / file).read_text(encoding="utf-8"), []
    decoder, at = json.JSONDecoder(), 0
    while text[at:].strip():
        at += len(text[at:]) - len(text[at:].lstrip())
        value, at = decoder.raw_decode(text, at)
        out.append(value)
    return out


def build(name, records):
    """Reads, and builds the runs: what a reader emits must be usable."""
    reader, pieces = feed(name, records)
    runs = RunAssembler("x", name)
    for piece in pieces:
        runs.add(piece)
    runs.finish()
    return reader


@pytest.mark.parametrize(("name", "file"), LOGS)
def test_any_value_may_stand_anywhere(name, file):
    """Each node of each record in turn is replaced by a hostile value."""
    draw = random.Random(file)
    records = records_of(name, file)
    for index, record in enumerate(records):
        for path in nodes(record):
            bad = draw.choice(HOSTILE)
            damaged = [*records[:index], replaced(record, path, bad), *records[index + 1 :]]
            build(name, damaged)
            form(name).sniff(Sample("x", damaged))
            form(name).sniff(Sample("x", [damaged], True))


@pytest.mark.parametrize(("name", "file"), LOGS)
def test_texts_that_hold_json_may_hold_anything(name, file):
    """Messages are JSON within JSON: each node of these texts is replaced, too."""
    draw = random.Random(file)
    records = records_of(name, file)
    for index, record in enumerate(records):
        for path in nodes(record):
            text = record
            for key in path:
                text = text[key]
            if not (isinstance(text, str) and text[:1] in ("[", "{")):
                continue
            inner = json.loads(text)
            for place in nodes(inner):
                bad = draw.choice(HOSTILE[:-1])
                new = json.dumps(replaced(inner, place, bad))
                damaged = [*records[:index], replaced(record, path, new), *records[index + 1 :]]
                build(name, damaged)


@pytest.mark.parametrize(("name", "file"), LOGS)
def test_missing_keys_are_survived(name, file):
    records = records_of(name, file)
    for index, record in enumerate(records):
        for path in nodes(record):
            if path and isinstance(path[-1], str):
                damaged = copy.deepcopy(records)
                inner = damaged[index]
                for key in path[:-1]:
                    inner = inner[key]
                del inner[path[-1]]
                build(name, damaged)
                form(name).sniff(Sample("x", damaged))


KEYS = sorted(
    {
        key
        for name, file in LOGS
        for record in records_of(name, file)
        for path in nodes(record)
        for key in path
        if isinstance(key, str)
    }
)
values = st.recursive(
    st.sampled_from(HOSTILE[:-1]) | st.sampled_from(KEYS) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5)
    ),
    max_leaves=12,
)


@pytest.mark.parametrize("name", FILES)
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=80)
@given(records=st.lists(values, max_size=4))
def test_rubbish_is_rejected_not_raised(name, records):
    reader = build(name, records)
    form(name).sniff(Sample("x", records))
    form(name).sniff(Sample("x", [records], True))
    assert reader.used + reader.ignored.total() + len(reader.rejected) >= len(records)


@pytest.mark.parametrize("name", FILES)
def test_a_list_of_nothing_and_an_empty_log_hold_nothing(name):
    for records in ([], [[]]):
        reader, pieces = feed(name, records)
        assert pieces == []
        assert reader.missing == set()
