"""opencode's storage folder: a session is one input, however many files it is kept in."""

import json
from pathlib import Path

from loopaudit.ingest.reading import read_sources
from loopaudit.ingest.runs import RunAssembler
from loopaudit.ingest.sources import discover


def write(root, path, value):
    file = Path(root, path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")


def session(
    root, key, messages=2, parts="part/{message}/prt_{n}.json", head="session/p1/{key}.json"
):
    """A session of one user message and `messages - 1` answers with a call each."""
    write(
        root,
        head.format(key=key),
        {"id": key, "projectID": "p1", "directory": "/w", "time": {"created": 1}},
    )
    for n in range(messages):
        own = f"msg_{key}_{n}"
        info = {"id": own, "sessionID": key, "role": "assistant" if n else "user"}
        info["time"] = {"created": 1_774_000_000_000 + n}
        if n:
            info["tokens"] = {"input": 10, "output": n, "cache": {"read": 0, "write": 0}}
        write(root, f"message/{key}/{own}.json", info)
        part = {"id": f"prt_{n}", "sessionID": key, "messageID": own, "type": "text", "text": "Go."}
        if n:
            state = {"status": "completed", "input": {"n": n}, "output": "ok", "time": {}}
            part = {**part, "type": "tool", "tool": "bash", "callID": f"c{key}{n}", "state": state}
        write(root, parts.format(message=own, session=key, n=n), part)


def read(*paths):
    found = discover([str(path) for path in paths])
    return found, [read_sources([s], lambda p, f: RunAssembler(p, f)) for s in found.sources]


def summary(result):
    (run,) = result.runs
    return run.id, len(run.steps), [call.status.value for call in run.calls], run.prompt


def test_each_session_is_one_input(tmp_path):
    session(tmp_path, "ses_one", 3)
    session(tmp_path, "ses_two", 2)
    found, results = read(tmp_path)
    assert [Path(s.path).name for s in found.sources] == ["ses_one.json", "ses_two.json"]
    assert [summary(r) for r in results] == [
        ("ses_one", 2, ["ok", "ok"], "Go."),
        ("ses_two", 1, ["ok"], "Go."),
    ]
    assert [r.inputs[0].lines for r in results] == [4, 3]


def test_lines_are_the_numbers_of_the_messages(tmp_path):
    session(tmp_path, "ses_one", 4)
    _, (result,) = read(tmp_path)
    assert [step.line for step in result.runs[0].steps] == [2, 3, 4]


def test_a_store_below_the_named_folder_is_found_and_its_files_are_no_inputs(tmp_path):
    session(tmp_path / "opencode/storage", "ses_one")
    write(tmp_path, "opencode/storage/todo/ses_one.json", [])
    found, _ = read(tmp_path)
    assert [s.path.partition("storage/")[2] for s in found.sources] == ["session/p1/ses_one.json"]


def test_a_session_may_be_named_by_its_file_or_its_messages(tmp_path):
    session(tmp_path, "ses_one")
    session(tmp_path, "ses_two")
    for name in ("session/p1/ses_two.json", "message/ses_two"):
        _, (result,) = read(tmp_path / name)
        assert summary(result) == ("ses_two", 1, ["ok"], "Go.")
    found, _ = read(tmp_path, tmp_path / "session/p1/ses_two.json")
    assert len(found.sources) == 2


def test_early_layouts(tmp_path):
    session(tmp_path, "ses_one", parts="part/{session}/{message}/{n}.json", head="info/{key}.json")
    session(tmp_path, "ses_two", parts="part/prt_{message}.json")
    _, results = read(tmp_path)
    assert [summary(r) for r in results] == [
        ("ses_one", 1, ["ok"], "Go."),
        ("ses_two", 1, ["ok"], "Go."),
    ]


def test_messages_without_a_session_file_and_the_other_way_round(tmp_path):
    session(tmp_path, "ses_one")
    (tmp_path / "session/p1/ses_one.json").unlink()
    write(tmp_path, "session/p1/ses_bare.json", {"id": "ses_bare", "projectID": "p", "time": {}})
    found, results = read(tmp_path)
    assert len(found.sources) == 2
    assert [len(result.runs) for result in results] == [1, 0]


def test_a_broken_file_is_lost_alone_and_named(tmp_path):
    session(tmp_path, "ses_one", 4)
    write(tmp_path, "message/ses_one/msg_ses_one_2.json", '{"id": "msg')
    write(tmp_path, "part/msg_ses_one_1/prt_1.json", "[]")
    _, (result,) = read(tmp_path)
    assert [(s.line, s.reason) for s in result.skips] == [
        (2, "part/msg_ses_one_1/prt_1.json: no JSON object"),
        (3, "message/ses_one/msg_ses_one_2.json: no JSON object"),
    ]
    assert result.failures == []
    assert len(result.runs[0].steps) == 2


def test_folders_of_these_names_that_are_something_else_are_walked(tmp_path):
    write(tmp_path, "message/a.json", {"text": "no message"})
    write(tmp_path, "session/b.json", {"x": 1})
    found = discover([str(tmp_path)])
    assert sorted(Path(s.path).name for s in found.sources) == ["a.json", "b.json"]


def test_ids_that_lead_out_of_the_store_are_not_followed(tmp_path):
    session(tmp_path / "store", "ses_one")
    write(
        tmp_path,
        "secret/prt.json",
        {"id": "x", "messageID": "../../secret", "type": "text", "text": "s"},
    )
    info = {"id": "../../secret", "sessionID": "ses_one", "role": "user", "time": {"created": 1}}
    write(tmp_path, "store/message/ses_one/msg_zz.json", info)
    _, (result,) = read(tmp_path / "store")
    texts = [b.text for run in result.runs for b in run.after]
    assert "s" not in texts
