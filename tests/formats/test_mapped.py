"""Any JSON lines by a mapping; each value worked out from the records as written here."""

from pathlib import Path

import pytest
from test_api_hostile import HOSTILE, nodes, replaced

from loopaudit.errors import ConfigError
from loopaudit.formats.base import Sample
from loopaudit.formats.native.mapped import EXAMPLE, mapped_format
from loopaudit.ingest.runs import RunAssembler

RECORDS = [
    {"event": "question", "conversation": "c-000001", "at": "2026-09-21T14:00:00Z", "text": "Why?"},
    {
        "event": "answer",
        "conversation": "c-000001",
        "at": "2026-09-21T14:00:05Z",
        "model": "gpt-4o-mini",
        "message": {
            "id": "m1",
            "text": "let me look",
            "tools": [
                {"id": "k1", "name": "find", "args": '{"q": "a"}'},
                {"id": "k2", "name": "read", "args": {"path": "b"}},
            ],
        },
        "usage": {"in": 90, "cached": 10, "out": "20"},
    },
    {"event": "tool_done", "conversation": "c-000001", "call": "k2", "output": "text"},
    {"event": "tool_done", "conversation": "c-000001", "call": "k1", "failed": "not there"},
    {"event": "api_error", "conversation": "c-000001", "error": {"text": "slow down"}},
    {"event": "answer", "conversation": "c-000001", "message": {"id": "m2", "text": "So."}},
    {"event": "heartbeat", "conversation": "c-000001"},
    {"event": "end", "conversation": "c-000001", "solved": True},
    {"event": "question", "conversation": "c-000002", "text": "How?"},
]


def write(folder: Path, text: str) -> str:
    path = folder / "tickets.toml"
    path.write_text(text)
    mapped_format.cache_clear()
    return str(path)


def read(path: str, records):
    reader = mapped_format(path).reader("night.jsonl")
    runs = RunAssembler("night.jsonl", "map")
    for line, record in enumerate(records, 1):
        for piece in reader.feed(line, record):
            runs.add(piece)
    for piece in reader.end():
        runs.add(piece)
    return reader, runs.finish(reader.missing)


def test_the_example_of_the_page_reads_its_records(tmp_path: Path) -> None:
    path = write(tmp_path, EXAMPLE)
    reader, (run, other) = read(path, RECORDS)
    first, second = run.steps
    assert (run.id, run.prompt, run.outcome, other.id) == (
        "c-000001",
        "Why?",
        "success",
        "c-000002",
    )
    assert (first.id, first.model, first.text_size) == ("m1", "gpt-4o-mini", 11)
    assert first.at == 1_790_172_005 - 172_800  # 2026-09-21 14:00:05
    usage = first.usage
    assert (usage.fresh_input, usage.cache_read, usage.output) == (90, 10, 20)
    assert [(c.id, c.tool, c.args, c.status.value, c.size) for c in run.calls] == [
        ("k1", "find", '{"q":"a"}', "error", 9),
        ("k2", "read", '{"path":"b"}', "ok", 4),
    ]
    assert [c.result_line for c in run.calls] == [4, 3]
    assert [a.message for a in second.attempts] == ["slow down"]
    assert (reader.used, dict(reader.ignored), reader.rejected) == (8, {"heartbeat record": 1}, [])


def test_calls_with_their_results_alone_are_enough(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        '[call]\ntool = "action.name"\narguments = ["action", "in.put"]\n'
        'result = "seen"\nok = "ok"\n',
    )
    records = [
        {"action": {"name": "ls", "in.put": "/a"}, "seen": "x", "ok": True},
        {"action": {"name": "ls", "in.put": "/b"}, "seen": "none", "ok": False},
        {"action": {"name": ""}},
    ]
    reader, (run,) = read(path, records)
    assert run.id == "night#1"
    assert [(c.tool, c.args, c.status.value) for c in run.calls] == [
        ("ls", '"/a"', "ok"),
        ("ls", '"/b"', "error"),
    ]
    assert len(run.steps) == 2
    assert reader.missing == {"usage", "times"}
    assert dict(reader.ignored) == {"record that maps to nothing": 1}


@pytest.mark.parametrize(
    ("fields", "record", "status"),
    [
        ('error = "e"', {"e": False}, "ok"),
        ('error = "e"', {"e": ""}, "ok"),
        ('error = "e"', {"e": "none"}, "ok"),
        ('error = "e"', {"e": {"code": 5}}, "error"),
        ('ok = "o"', {"o": "success"}, "ok"),
        ('ok = "o"', {"o": 0}, "error"),
        ('exit_code = "x"', {"x": 0}, "ok"),
        ('exit_code = "x"', {"x": 2}, "error"),
        ('result = "r"', {"r": "Error: sunk"}, "error"),
        ('result = "r"', {"r": "40 m"}, "ok"),
        ('result = "r"\nerror = "e"', {"r": "Error: sunk", "e": False}, "ok"),
    ],
)
def test_how_a_call_ended(tmp_path: Path, fields: str, record: dict, status: str) -> None:
    path = write(tmp_path, f'[call]\ntool = "tool"\n{fields}\n')
    _, (run,) = read(path, [{"tool": "t", **record}])
    assert [call.status.value for call in run.calls] == [status]


def test_calls_on_lines_of_their_own_join_their_response(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        'kind = "k"\n[response]\nwhen = "r"\nid = "id"\ninput_with_cache = "in"\n'
        'cache_read = "hit"\noutput = "out"\n[call]\nwhen = "c"\ntool = "tool"\nresponse = "of"\n',
    )
    records = [
        {"k": "r", "id": "m1", "in": 100, "hit": 64, "out": 5},
        {"k": "c", "tool": "a", "of": "m1"},
        {"k": "c", "tool": "b", "of": "m1"},
    ]
    _, (run,) = read(path, records)
    (step,) = run.steps
    assert [call.tool for call in step.calls] == ["a", "b"]
    assert (step.usage.fresh_input, step.usage.cache_read, step.usage.output) == (36, 64, 5)


def test_a_list_of_records_is_read_too(tmp_path: Path) -> None:
    path = write(tmp_path, EXAMPLE)
    _, runs = read(path, [RECORDS])
    assert [len(run.calls) for run in runs] == [2, 0]


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("", None, "needs a table [response] or [call]"),
        ('[user]\ntext = "t"\n', None, "needs a table [response] or [call]"),
        ('[call]\narguments = "a"\n', 1, "needs tool"),
        ("[call]\ntool = 5\n", 2, "tool must be a path"),
        ('[call]\ntool = ""\n', 2, "tool must be a path"),
        ('[call]\ntool = "t"\nresults = "r"\n', 3, "has no key 'results'"),
        ('[calls]\ntool = "t"\n', 1, "has no key 'calls'"),
        ('runs = "r"\n[call]\ntool = "t"\n', 1, "has no key 'runs'"),
        ("[response]\n", 1, "maps no field"),
        ('[call]\ntool = "t"\nwhen = [{}]\n', 3, "when must be a value"),
        ("call = 5\n", 1, "must be a table"),
        ("[call\n", 1, "not valid TOML"),
    ],
)
def test_a_mistake_is_told_with_its_line(
    tmp_path: Path, text: str, line: int | None, words: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        mapped_format(write(tmp_path, text))
    assert words in caught.value.message
    assert f"tickets.toml{'' if line is None else f':{line}'}: " in caught.value.message


def test_a_mapping_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot read"):
        mapped_format(str(tmp_path / "none.toml"))


def test_only_a_mapping_that_says_how_is_chosen_by_content(tmp_path: Path) -> None:
    known = mapped_format(write(tmp_path, EXAMPLE))
    assert known.sniff(Sample("x", RECORDS)) >= 0.9
    assert known.sniff(Sample("x", [RECORDS], True)) >= 0.9
    assert known.sniff(Sample("x", [*RECORDS, {"event": "x"}])) == 0.0
    silent = mapped_format(write(tmp_path, '[call]\ntool = "t"\n'))
    assert silent.sniff(Sample("x", [{"t": "a"}])) == 0.0


def test_any_value_may_stand_anywhere(tmp_path: Path) -> None:
    path = write(tmp_path, EXAMPLE)
    for index, record in enumerate(RECORDS):
        for place in nodes(record):
            for bad in HOSTILE:
                read(path, [*RECORDS[:index], replaced(record, place, bad), *RECORDS[index + 1 :]])
