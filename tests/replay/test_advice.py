"""Four parts of advice for each finding, and the share of each tool's calls that was redundant."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from transcripts import Record, call, failing, judged, step, user

from loopaudit.cli.catalog import rules
from loopaudit.findings import Advice
from loopaudit.replay.advice import CAUSES
from loopaudit.replay.audit import AuditOptions, audit

RULES = Path(__file__).resolve().parents[2] / "sample_logs" / "rules"
REPORTED = sorted(path.name.split(".")[0] for path in RULES.glob("*.trips.jsonl"))


def advice(*records: Record) -> Advice:
    parts = judged(*records).only.advice_parts
    assert parts is not None
    return parts


@pytest.mark.parametrize("name", REPORTED)
def test_each_finding_has_all_four_parts(name: str) -> None:
    found = audit(AuditOptions([str(RULES / f"{name}.trips.jsonl")], processes=1, now=2e9))
    for finding in found.findings:
        parts = finding.advice_parts
        assert parts is not None
        assert parts.change == finding.advice
        for text in (parts.symptom, parts.cause, parts.find, parts.change):
            assert len(text) > 20
            assert "{" not in text, text
        assert f"{finding.onset.line} (onset)" in parts.find


def test_every_rule_names_a_class_of_causes() -> None:
    without = {rule.id for rule in rules().values() if rule.cause not in CAUSES}
    assert without <= {"known-answers", "fruitless-look-ups", "mostly-fruitless"}  # for guards only


LOOK = step(100, call("look", {"at": 1}, "the same"))


def test_an_answer_that_does_not_say_whether_it_is_complete() -> None:
    parts = advice(*[LOOK] * 4)
    assert parts.symptom.endswith("look 4 times, steps 2 to 4.")
    assert "no field that says whether it is complete" in parts.cause
    assert parts.find.startswith("Lines 1 (first), 2 (onset) and 4 (last).")


def test_a_wait_that_never_ends() -> None:
    parts = advice(*[step(100, call("get_status", {"id": 7}, "running"))] * 12)
    assert "how long to wait" in parts.cause
    assert "wait by itself until something changed" in parts.change


def test_something_done_again_and_again() -> None:
    parts = advice(*[step(100, call("send_email", {"to": "ops"}, "sent"))] * 4)
    assert "done again" in parts.cause
    assert "refuse to do the same thing twice" in parts.change


def test_a_test_that_fails_and_nothing_is_done_about_it() -> None:
    parts = advice(*[step(100, failing("test", {}, "2 failed: t_a, t_b"))] * 4)
    assert "no stop condition" in parts.cause
    assert "permission to give up" in parts.change


def test_an_error_that_is_final() -> None:
    parts = advice(*[step(100, failing("fetch", {"u": 1}, "404", http_status=404))] * 4)
    assert "does not say its class" in parts.cause


def tools(tmp_path: Path, *records: Record) -> list[tuple[str, int, int]]:
    path = tmp_path / "log.jsonl"
    lines: list[Any] = [{"loopaudit": 1}, user(), *records]
    for number, record in enumerate(lines):
        if record.get("type") == "response":
            record = lines[number] = {**record, "id": f"m{number}"}
            record["calls"] = [{**c, "id": f"t{number}-{i}"} for i, c in enumerate(record["calls"])]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    found = audit(AuditOptions([str(path)], processes=1, now=2e9))
    return [(item.tool, item.redundant, item.calls) for item in found.tools]


def test_tools_by_their_share_of_redundant_calls(tmp_path: Path) -> None:
    other = [step(100, call("read", {"path": f"f{n}"}, f"text {n}")) for n in range(3)]
    again = [step(100, call("read", {"path": "a"}, "A"))] * 3
    grep = [step(100, call("grep", {"q": "x"}, "a:1"))] * 5
    assert tools(tmp_path, *grep, *other, *again, *other[:1]) == [("grep", 4, 5), ("read", 2, 7)]


def test_redundant_calls_beside_useful_ones_count_too(tmp_path: Path) -> None:
    steps = [
        step(100, call("look", {}, "same"), call("read", {"path": f"f{n}"}, f"text {n}"))
        for n in range(4)
    ]
    assert tools(tmp_path, *steps) == [("look", 3, 4)]


def test_no_loop_no_tools(tmp_path: Path) -> None:
    assert tools(tmp_path, LOOK, step(100, call("read", {"path": "a"}, "A"))) == []
