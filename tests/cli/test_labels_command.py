"""Outcomes and task types through every command: the log, a labels file, or a marked rule."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from program import ROOT, event_lines, looping, run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three runs: one with an outcome in its log, one that ends with an answer, one cut off."""
    graded = looping()
    graded[0] |= {"outcome": "failure", "outcome_source": "reward", "run": "graded"}
    answered = [
        record | ({"run": "answered"} if "run" in record else {})
        for record in looping(2, start=1_777_700_000)
    ]
    cut_off = [
        record | ({"run": "cut-off"} if "run" in record else {})
        for record in looping(2, start=1_777_800_000)
    ]
    event_lines(tmp_path / "graded.jsonl", graded)
    event_lines(tmp_path / "answered.jsonl", answered)
    event_lines(tmp_path / "cut-off.jsonl", cut_off[:-1])
    return tmp_path


LABELS = "run,outcome,task_type\nanswered,success,research\ngraded,success,\nnobody,failure,\n"


def outcomes(document: dict[str, Any]) -> dict[str, Any]:
    return {one["id"]: one["outcome"] for one in document["runs"]}


def test_the_log_else_a_rule_that_is_marked(folder: Path) -> None:
    found = outcomes(run("report", folder, "-f", "json", "-q").json)
    assert found == {
        "graded": {"label": "failure", "source": "log: reward", "by": "log"},
        "answered": {
            "label": "completed",
            "source": "inferred: it ends with an answer",
            "by": "inferred",
        },
        "cut-off": {
            "label": "error",
            "source": "inferred: its last call failed, and no response followed",
            "by": "inferred",
        },
    }


def test_a_labels_file_comes_between_and_the_rest_is_told(folder: Path) -> None:
    (folder / "l.csv").write_text(LABELS, encoding="utf-8")
    made = run("report", ".", "--labels", "l.csv", "-f", "json", cwd=folder)
    found = outcomes(made.json)
    assert found["answered"] == {
        "label": "success", "source": "labels file: l.csv:2", "by": "labels file"
    }  # fmt: skip
    assert found["graded"]["label"] == "failure"  # the log counts
    assert found["cut-off"]["by"] == "inferred"
    types = {one["id"]: (one["task_type"], one["task_type_source"]) for one in made.json["runs"]}
    assert types["answered"] == ("research", "labels file: l.csv:2")
    assert types["graded"] == ("multi_tool_chain", "rule: any other run that calls tools")
    assert made.json["labels"] == {
        "file": "l.csv",
        "rows": 3,
        "matched": 2,
        "runs": 2,
        "unmatched_lines": [4],
        "disagreements": [
            "line 3 says success of graded, its log failure (reward); the log counts"
        ],
        "unread_columns": [],
    }
    assert "l.csv: 1 label fits no run (of 3; line 4)" in made.err
    assert "line 3 says success of graded, its log failure (reward); the log counts" in made.err
    quiet = run("report", ".", "--labels", "l.csv", "-f", "json", "-q", cwd=folder)
    assert (quiet.out, quiet.err) == (made.out, "")


def test_settings_may_set_the_file_before_the_log(folder: Path) -> None:
    (folder / "l.csv").write_text(LABELS, encoding="utf-8")
    (folder / "loopaudit.toml").write_text('[labels]\nruns = "l.csv"\nover_log = true\n')
    made = run("report", ".", "-f", "json", cwd=folder)
    assert outcomes(made.json)["graded"] == {
        "label": "success", "source": "labels file: l.csv:3", "by": "labels file"
    }  # fmt: skip
    assert "the label counts" in made.err


def test_show_why_incident_and_page(folder: Path) -> None:
    (folder / "l.csv").write_text(LABELS, encoding="utf-8")
    given = ("--labels", "l.csv", "-q")
    shown = run("show", "answered", ".", "--labels", "l.csv", cwd=folder).out
    assert "Outcome success (labels file: l.csv:2)" in shown
    assert "Task type research (labels file: l.csv:2)" in shown
    why = run("report", ".", "--why", *given, cwd=folder).out
    assert "Outcomes: 1 success, 1 failure (log and labels file); 1 not told" in why
    assert "1  failure  log: reward" in why
    assert "1  success  labels file: l.csv" in why
    assert "1  error    inferred: its last call failed, and no response followed" in why
    assert "1  research          labels file: l.csv" in why
    incident = run("report", ".", "--incident", "answered", *given, cwd=folder).out
    assert "| outcome | `success (labels file: l.csv:2)` |" in incident
    assert "| task type | `research (labels file: l.csv:2)` |" in incident
    page = run("report", ".", "-f", "html", *given, cwd=folder).out
    assert '<th scope="row">error</th><td>inferred</td><td class="n">1</td>' in page
    assert "<dt>outcome</dt><dd>failure (log: reward)</dd>" in page


def test_cost_query_and_export(folder: Path) -> None:
    (folder / "l.csv").write_text(LABELS, encoding="utf-8")
    given = ("--labels", "l.csv", "-q")
    rows = list(
        csv.DictReader(
            io.StringIO(run("cost", ".", "--by", "outcome", "-f", "csv", *given, cwd=folder).out)
        )
    )
    assert {row["outcome"] for row in rows} >= {"failure", "success", "error (inferred)"}
    sql = "SELECT run, outcome, outcome_by, outcome_source, task_type_source FROM runs ORDER BY run"
    answer = json.loads(run("query", sql, ".", "-f", "json", *given, cwd=folder).out)
    assert answer[0] == {
        "run": "answered",
        "outcome": "success",
        "outcome_by": "labels file",
        "outcome_source": "labels file: l.csv:2",
        "task_type_source": "labels file: l.csv:2",
    }
    assert [row["outcome_by"] for row in answer] == ["labels file", "inferred", "log"]
    run("export", ".", "-o", "out", "-f", "csv", *given, cwd=folder)
    with (folder / "out" / "runs.csv").open(encoding="utf-8") as stream:
        assert [row["outcome_by"] for row in csv.DictReader(stream)] == [
            "labels file", "inferred", "log"
        ]  # fmt: skip


def test_tune_and_check_take_labelled_runs_by_their_label(folder: Path) -> None:
    (folder / "l.csv").write_text("path,outcome\n*.jsonl,success\n", encoding="utf-8")
    made = run("tune", ".", "--labels", "l.csv", "--brief", "-f", "json", "-q", cwd=folder)
    by = [advice["runs"]["by"] for advice in made.json["advice"]]
    assert by[0] == {"labels file": 2, "outcome": 1}
    (folder / "loopaudit.toml").write_text(
        "[check.limits]\nfalse_stops = 0.5\n[check]\nmin_runs = 1\n"
    )
    checked = run("check", ".", "--labels", "l.csv", "-f", "json", "-q", cwd=folder)
    assert checked.code in (0, 1, 3)
    assert "Traceback" not in checked.err


@pytest.mark.parametrize(
    "command",
    [
        ("report", "."), ("show", "graded", "."), ("cost", "."), ("chart", ".", "-o", "c.svg"),
        ("export", ".", "-o", "out"), ("query", "SELECT 1", "."), ("tune", "."), ("check", "."),
        ("baseline", "update", ".", "--reason", "x"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line_with_its_place(folder: Path, command: tuple[str, ...]) -> None:
    (folder / "l.csv").write_text("run,outcome\nanswered,sucess\n", encoding="utf-8")
    (folder / "loopaudit.toml").write_text("[check.limits]\nsteps_per_run = 60\n")
    made = run(*command, "--labels", "l.csv", cwd=folder)
    assert made.code == 2
    assert "l.csv:2: 'sucess' is no outcome" in made.err
    assert "did you mean 'success'?" in made.err
    assert "Traceback" not in made.err


def test_verdicts_on_findings_are_another_file(folder: Path) -> None:
    """Each reader names the other where it is given the other's file."""
    verdict = {"finding": "0123456789abcdef", "verdict": "loop", "reason": "x"}
    (folder / "verdicts.jsonl").write_text(json.dumps(verdict) + "\n")
    made = run("report", ".", "--labels", "verdicts.jsonl", cwd=folder)
    assert made.code == 2
    assert "verdicts.jsonl:1: a verdict on a finding, not a label of a run" in made.err
    (folder / ".loopaudit").mkdir()
    (folder / ".loopaudit" / "labels.jsonl").write_text('{"run": "answered", "outcome": "pass"}\n')
    made = run("tune", ".", cwd=folder)
    assert made.code == 2
    assert "labels of runs are read by --labels" in made.err


def test_a_run_that_is_still_written_has_no_outcome_yet(folder: Path) -> None:
    import time

    event_lines(folder / "answered.jsonl", looping(2, start=int(time.time()) - 240))
    found = run("report", folder / "answered.jsonl", "-f", "json", "-q").json["runs"][0]
    assert found["still_running"]
    assert found["outcome"] == {"label": None, "source": None, "by": None}


def test_pages_of_explain() -> None:
    for name, words in (
        ("labels", "run,path,outcome,task_type"),
        ("outcomes", "interrupted"),
        ("task-types", "single_tool_qa"),
    ):
        assert words in run("explain", name).out
        assert f"\n  {name} " in run("explain").out


@pytest.mark.parametrize("more", [(), ("--brief",), ("--emit", "claude-code"), ("--explain", "x")])
def test_tune_of_nothing_says_only_that(tmp_path: Path, more: tuple[str, ...]) -> None:
    made = run("tune", tmp_path, *more)
    assert (made.code, made.out) == (3, "")
    assert made.err == f"loopaudit: nothing measured: no log file in {tmp_path}\n"


def test_the_examples_of_the_readme_run(folder: Path) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    labels, rules = (
        text.split(f"<!-- example: {name} -->\n```{kind}\n")[1].split("```")[0]
        for name, kind in (("labels", "csv"), ("task types", "toml"))
    )
    (folder / "l.csv").write_text(labels, encoding="utf-8")
    (folder / "loopaudit.toml").write_text(rules, encoding="utf-8")
    told = looping(start=1_777_900_000)
    told[0] |= {"run": "told", "prompt": "A report on tides", "metadata": {"team": "Insight-2"}}
    event_lines(folder / "told.jsonl", told)
    (folder / "nightly").mkdir()
    event_lines(folder / "nightly" / "n.jsonl", looping(start=1_778_000_000))
    log = ROOT / "sample_logs" / "runaway.jsonl"
    made = run("report", ".", log, "--labels", "l.csv", "-f", "json", cwd=folder)
    found = {Path(one["path"]).name: one for one in made.json["runs"]}
    assert made.err == ""  # every label fits a run
    assert found["runaway.jsonl"]["outcome"]["label"] == "failure"
    assert found["n.jsonl"]["outcome"]["label"] == "partial"
    assert found["n.jsonl"]["task_type"] == "research"
    assert found["told.jsonl"]["task_type_source"] == (
        "loopaudit.toml:1: prompt *report on*, metadata team = insight*"
    )
