"""Labels of runs: what can be read, which rows fit a run, which counts, what is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from loopaudit.errors import ConfigError
from loopaudit.model import Run
from loopaudit.replay.run_labels import Matcher, RunLabels, read
from loopaudit.settings import load


def labels(tmp_path: Path, text: str, name: str = "labels.csv") -> RunLabels:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return read(str(path))


def said(found: RunLabels, run: Run, *, root: bool = True) -> tuple[str | None, str | None]:
    one = Matcher(found).of(run, root=root)
    return (None, None) if one is None else (one.outcome, one.task_type)


def run(id: str = "r1", path: str = "/logs/night/a.jsonl", **more: str) -> Run:
    return Run(id=id, path=path, format="loopaudit", **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("word", "means"),
    [
        ("success", "success"), ("PASS", "success"), ("yes", "success"), ("True", "success"),
        ("resolved", "success"), ("1", "success"), ("1.0", "success"),
        ("failure", "failure"), ("fail", "failure"), ("no", "failure"), ("false", "failure"),
        ("0", "failure"), ("unresolved", "failure"), ("timeout", "failure"), ("stuck", "failure"),
        ("partial", "partial"), ("0.5", "partial"),
    ],
)  # fmt: skip
def test_words_and_grades(tmp_path: Path, word: str, means: str) -> None:
    assert said(labels(tmp_path, f"run,outcome\nr1,{word}\n"), run()) == (means, None)


def test_json_lines_with_booleans_and_numbers(tmp_path: Path) -> None:
    text = '{"id": "a", "success": true}\n\n{"id": "b", "reward": 0}\n{"id": 7, "score": 0.25}\n'
    found = labels(tmp_path, text, "l.jsonl")
    assert [said(found, run(name))[0] for name in "ab7"] == ["success", "failure", "partial"]
    assert [row.line for row in found.rows] == [1, 3, 4]


def test_separators_quotes_bom_and_empty_cells(tmp_path: Path) -> None:
    text = '\ufeffRun;Outcome;Task-Type;note\r\n"r1";fail;;"a; b"\r\nr2;;research;\r\n'
    found = labels(tmp_path, text)
    assert said(found, run("r1")) == ("failure", None)
    assert said(found, run("r2")) == (None, "research")
    assert found.unread == ("note",)


@pytest.mark.parametrize(
    ("glob", "fits"),
    [
        ("a.jsonl", True),
        ("night/a.jsonl", True),
        ("./night/a.jsonl", True),
        ("/logs/night/a.jsonl", True),
        ("*.jsonl", True),
        ("night/*", True),
        ("/logs/*/a.jsonl", True),
        ("ight/a.jsonl", False),  # from the start of a name
        ("b.jsonl", False),
        ("/night/a.jsonl", False),
        ("a.json", False),
        ("A.jsonl", False),
    ],
)
def test_paths_by_their_end_or_a_glob(tmp_path: Path, glob: str, fits: bool) -> None:
    found = labels(tmp_path, f"path,outcome\n{glob},pass\n")
    assert (said(found, run())[0] == "success") is fits


def test_a_run_before_a_session_before_a_path_before_a_glob(tmp_path: Path) -> None:
    text = "run,path,outcome\nr1,,success\ns1,,failure\n,a.jsonl,partial\n,*.jsonl,success\n"
    found = labels(tmp_path, text)
    assert said(found, run("r1", session="s1"))[0] == "success"
    assert said(found, run("r2", session="s1"))[0] == "failure"
    assert said(found, run("r3"))[0] == "partial"
    assert said(found, run("r4", path="/x/b.jsonl"))[0] == "success"


def test_a_path_or_session_labels_no_sub_agent_but_an_id_does(tmp_path: Path) -> None:
    found = labels(tmp_path, "run,path,outcome\ns1,,pass\n,a.jsonl,pass\nsub,,fail\n")
    assert said(found, run("x", session="s1"), root=False) == (None, None)
    assert said(found, run("sub", session="s1"), root=False)[0] == "failure"


def test_id_and_path_must_both_fit(tmp_path: Path) -> None:
    found = labels(tmp_path, "run,path,outcome\nr1,b.jsonl,fail\n")
    assert said(found, run("r1")) == (None, None)
    assert said(found, run("r1", path="/x/b.jsonl"))[0] == "failure"


def test_runs_told_apart_by_their_path_keep_their_id(tmp_path: Path) -> None:
    found = labels(tmp_path, "run,outcome\nr1,fail\n/x/b.jsonl:r1,pass\n")
    assert said(found, run("/y/a.jsonl:r1", path="/y/a.jsonl"))[0] == "failure"
    assert said(found, run("/x/b.jsonl:r1", path="/x/b.jsonl"))[0] == "success"  # the later row


def test_what_fits_no_run_and_what_disagrees_is_told(tmp_path: Path) -> None:
    found = labels(tmp_path, "run,outcome\nr1,pass\nr1,fail\nnobody,pass\n")
    matcher = Matcher(found)
    one = matcher.of(run(), root=True)
    assert one is not None
    assert (one.outcome, one.outcome_line) == ("failure", 3)
    use = matcher.use(1)
    assert (use.rows, use.matched, use.unmatched) == (3, 2, [4])
    assert use.disagreements == ["lines 2 and 3 disagree on the outcome; the last counts"]


def test_an_id_in_two_logs_is_told(tmp_path: Path) -> None:
    matcher = Matcher(labels(tmp_path, "run,outcome\nr1,pass\n"))
    for path in ("/x/a.jsonl", "/x/b.jsonl"):
        matcher.of(run("r1", path=path), root=True)
    assert matcher.use(2).disagreements == ["the run of line 2 is in 2 logs; add its path"]


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("run,outcome\nr1,sucess\n", 2, "'sucess' is no outcome"),
        ("run,outcome\nr1,7\n", 2, "'7' is no outcome"),
        ("run,outcome\nr1,nan\n", 2, "'nan' is no outcome"),
        ("run,outcome\n\n,pass\n", 3, "neither run nor path"),
        ("run,outcome\nr1,pass,x\n", 2, "3 cells in a row of 2"),
        ("name,outcome\nr1,pass\n", 1, "need a column run or path"),
        ("run,outcom\nr1,pass\n", 1, "need a column outcome or task_type"),
        ("run,id,outcome\nr1,r1,pass\n", 1, "one column twice"),
        ('{"run": "a", "outcome": "pass"}\n{"run": "b"', 2, "not a JSON object"),
        ('{"run": "a", "outcome": [1]}\n', 1, "is no outcome"),
        ('{"run": true, "outcome": 1}\n', 1, "run must be a text"),
        ('{"run": "a", "id": "b", "outcome": 1}\n', 1, "two names for run"),
        (
            '{"finding": "0123456789abcdef", "verdict": "loop", "reason": "x"}\n',
            1,
            "a verdict on a",
        ),
        ('[{"run": "a"}]', None, "a JSON list"),
        ("", None, "no labels in this file"),
        ("run,outcome\nr1,\udce9\n", 2, "not UTF-8"),
    ],
)
def test_what_cannot_be_used_names_its_line(
    tmp_path: Path, text: str, line: int | None, words: str
) -> None:
    path = tmp_path / "labels"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(ConfigError, match=words) as caught:
        read(str(path))
    assert str(caught.value).startswith(f"{path}:{line}: " if line else f"{path}: ")


def test_no_file_a_folder_and_a_device(tmp_path: Path) -> None:
    link = tmp_path / "endless"
    link.symlink_to("/dev/zero")
    for path in (tmp_path / "none", tmp_path, link):
        with pytest.raises(ConfigError, match="cannot read labels of runs"):
            read(str(path))


def test_settings_name_a_file_beside_them(tmp_path: Path) -> None:
    from loopaudit.replay.run_labels import of

    (tmp_path / "loopaudit.toml").write_text('[labels]\nruns = "l.csv"\nover_log = true\n')
    (tmp_path / "l.csv").write_text("run,outcome\nr1,pass\n")
    found = of(None, load(folder=tmp_path, environment={}))
    assert found is not None
    assert found.over_log
    assert len(found.rows) == 1
    assert of(None, load(folder=tmp_path.parent, environment={})) is None
