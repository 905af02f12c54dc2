"""`show`, `explain` and `schema` through the real program."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from program import event_lines, looping, run

from loopaudit.cli.catalog import rules
from loopaudit.cli.show import span_of
from loopaudit.errors import UsageError
from loopaudit.guards import presets
from loopaudit.plugins import format_names


def test_show_lists_the_steps_around_the_onset(log: Path) -> None:
    ended = run("show", "r1", log.name, cwd=log.parent)
    assert ended.code == 0
    onset = next(block for block in ended.out.split("\n\n") if "BEGINS HERE" in block)
    assert onset.startswith("step 3  2026-05-01 13:32:11Z  loop.jsonl:6  1,200 tokens")
    assert 'exec {"command":"pytest -q"}' in onset
    assert '"1 failed: t_x"' in onset
    assert "make the tests pass" in ended.out


def test_show_finds_a_run_by_the_beginning_of_its_id_or_by_its_file(log: Path) -> None:
    by_id = run("show", "r1", log)
    assert run("show", "r", log) == by_id
    assert run("show", log) == by_id


def test_show_lists_the_steps_asked_for(log: Path) -> None:
    ended = run("show", "r1", log, "--steps", "4-5")
    steps = [line.split("  ")[0] for line in ended.out.splitlines() if line.startswith("step ")]
    assert steps == ["step 4", "step 5"]


def test_show_marks_where_a_guard_would_have_stepped_in(log: Path) -> None:
    ended = run("show", "r1", log, "--guard", "fuses:demo", "--steps", "7")
    assert "fuses:demo would have warned (generic-repeat 5, limit 5)" in ended.out


@pytest.mark.parametrize("arguments", [["nope"], ["r1", "--steps", "99"], ["r1", "--steps", "b"]])
def test_show_says_what_is_wrong(log: Path, arguments: list[str]) -> None:
    ended = run("show", arguments[0], log, *arguments[1:])
    assert ended.code == 2
    assert ended.out == ""
    assert len(ended.err.splitlines()) <= 2


def test_show_wants_one_run(tmp_path: Path) -> None:
    records = looping(1)
    other = [{**record, "run": "r2"} for record in records]
    path = event_lines(tmp_path / "two.jsonl", [*records, *other])
    ended = run("show", path)
    assert ended.code == 2
    assert "r1, r2" in ended.err


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("209-216", (208, 215)),
        ("3", (2, 2)),
        ("298-", (297, 299)),
        ("-2", (0, 1)),
        ("1-999", (0, 299)),
        ("7-99999999999999", (6, 299)),
    ],
)
def test_span(text: str, span: tuple[int, int]) -> None:
    assert span_of(text, 300) == span


@pytest.mark.parametrize("text", ["", "-", "0-3", "5-3", "a-b", "301-302", "1-2-3", "١"])
def test_no_span(text: str) -> None:
    with pytest.raises(UsageError):
        span_of(text, 300)


@pytest.mark.parametrize("text", ["301", "301-", "301-302", "99999999999999-"])
def test_a_span_past_the_end_tells_where_that_is(text: str) -> None:
    with pytest.raises(UsageError, match="the run has 300 steps"):
        span_of(text, 300)


def test_explain_lists_every_rule_preset_and_format() -> None:
    ended = run("explain")
    assert ended.code == 0
    for name in [*rules(), *presets.names(), *format_names()]:
        assert name in ended.out


def test_explain_tells_of_a_rule_all_that_the_rule_tells() -> None:
    rule = next(iter(rules().values()))
    text = " ".join(run("explain", rule.id).out.split())
    for part in (rule.title, rule.looks_for, rule.not_counted, rule.evidence, rule.remedy):
        assert part in text


def test_explain_shows_thresholds_of_a_preset_and_those_never_reached() -> None:
    text = " ".join(run("explain", "fuses").out.split())
    assert "fuses:demo" in text
    assert "generic_repeat warn 5, stop 8" in text
    assert "generic_repeat warn 10, stop 20" in text
    assert "unreachable" in text  # two alternating calls fill 15 of 30 places: 20 is never reached


def test_explain_knows_a_name_that_is_close() -> None:
    ended = run("explain", "fuse")
    assert ended.code == 2
    assert "did you mean fuses" in ended.err


def test_explain_knows_a_rule_by_the_signal_that_guards_and_settings_name() -> None:
    for name in ("permanent_retried", "permanent-retried", "permanent-error-retried"):
        assert run("explain", name).out.startswith("permanent-error-retried: ")


def test_explain_model_shows_the_price_and_the_rule() -> None:
    ended = run("explain", "--model", "us.anthropic.claude-opus-4-5-20251101-v1:0")
    assert ended.code == 0
    assert "anthropic" in ended.out
    assert "input $5" in ended.out
    unknown = run("explain", "--model", "nobody-knows-this")
    assert unknown.code == 0
    assert "no price" in unknown.out


def test_schema_of_report_and_log_are_schemas() -> None:
    for name in ("report", "log"):
        ended = run("schema", name)
        assert ended.code == 0
        jsonschema.Draft202012Validator.check_schema(json.loads(ended.out))
    assert run("schema").out == run("schema", "report").out


def test_our_own_logs_fulfil_the_schema_of_the_log(log: Path) -> None:
    schema = json.loads(run("schema", "log").out)
    for line in log.read_text().splitlines():
        jsonschema.validate(json.loads(line), schema)


def test_explain_has_a_page_for_what_is_not_counted_and_an_example_of_our_format() -> None:
    assert run("explain", "test-after-edit").out.startswith("test-after-edit: looked at and not")
    text = run("explain", "loopaudit").out
    assert "loopaudit schema log" in text
    lines = [line.strip() for line in text.splitlines() if line.strip().startswith('{"')]
    shown = run("report", "-", stdin="\n".join(lines).encode()).out
    assert shown.startswith("1 session, 1 response, 1 call (1 failed)")


def test_options_may_come_before_the_path_in_the_short_form(log: Path) -> None:
    short = run("--guard", "fuses:demo", log.name, cwd=log.parent)
    assert short.code == 0
    assert short.out == run("report", log.name, "--guard", "fuses:demo", cwd=log.parent).out


def test_a_mistyped_command_or_path_names_both() -> None:
    ended = run("nope.jsonl")
    assert ended.code == 2
    assert "no command and no file is called 'nope.jsonl'" in ended.err
