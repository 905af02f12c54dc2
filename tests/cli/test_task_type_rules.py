"""Each selector of [[task_types.rule]] through the program; which rule gave the type is shown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from program import event_lines, looping, run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """One run with everything that a rule can ask for."""
    records = looping()
    records[0] |= {
        "agent": "Night-Watch",
        "project": "/home/x/shop",
        "user": "kim",
        "host": "build-7",
        "version": "2.1.5",
        "prompt": "make the tests pass\nand the quarterly numbers",
        "metadata": {"team": "payments", "tags": "nightly, ci"},
    }
    event_lines(tmp_path / "session.jsonl", records)
    return tmp_path


def typed(folder: Path, settings: str) -> tuple[str, str]:
    (folder / "loopaudit.toml").write_text(settings, encoding="utf-8")
    made = run("report", "session.jsonl", "-f", "json", "-q", cwd=folder)
    assert made.code == 0, made.err
    one = made.json["runs"][0]
    return one["task_type"], one["task_type_source"]


FITS = {
    "path": ['"*session.jsonl"', '"*/SHOP"'],
    "agent": ['"night-*"', '["x", "NIGHT-WATCH"]'],
    "model": ['"GPT-5"', '"gpt-*"'],
    "prompt": ['"*quarterly*"', '"make the tests*"'],
    "tools": ['["edit_*", "exec"]'],
    "format": ['"loopaudit"'],
    "project": ['"/home/*/shop"'],
    "user": ['"kim"'],
    "host": ['"build-?"'],
    "version": ['"2.1.*"'],
    "metadata": ['{ team = "pay*" }', '{ team = "payments", tags = "*nightly*" }'],
    "sub_agent": ["false"],
    "max_tools": ["2"],
    "max_user_messages": ["1"],
    "min_calls": ["7"],
    "min_steps": ["8"],
    "no_tool_says": ['["web", "browser"]'],
    "most_calls_say": ['"exec"'],
}
FITS_NOT = {
    "path": '"*.json"',
    "agent": '"watch"',
    "model": '"claude-*"',
    "prompt": '"quarterly*"',
    "tools": '["exec"]',
    "format": '"claude_code"',
    "project": '"shop"',
    "user": '"k"',
    "host": '"build-"',
    "version": '"3.*"',
    "metadata": '{ team = "pay*", stage = "*" }',
    "sub_agent": "true",
    "max_tools": "1",
    "max_user_messages": "0",
    "min_calls": "8",
    "min_steps": "9",
    "no_tool_says": '"edit"',
    "most_calls_say": '"edit"',
}


@pytest.mark.parametrize(("key", "value"), [(k, v) for k, all_ in FITS.items() for v in all_])
def test_a_selector_that_fits(folder: Path, key: str, value: str) -> None:
    rule = f'[[task_types.rule]]\ntype = "mine"\nwhy = "as told"\n{key} = {value}\n'
    assert typed(folder, rule) == ("mine", "loopaudit.toml:1: as told")


@pytest.mark.parametrize(("key", "value"), FITS_NOT.items())
def test_a_selector_that_does_not(folder: Path, key: str, value: str) -> None:
    rule = f'[[task_types.rule]]\ntype = "mine"\n{key} = {value}\n'
    assert typed(folder, rule) == (
        "multi_tool_chain",
        "rule: any other run that calls tools",
    )


def test_without_our_own_rules_nothing_is_inferred(folder: Path) -> None:
    assert typed(folder, "[task_types]\nbuilt_in = false\n") == (None, None)


def test_what_the_log_says_unless_a_rule_names_it(folder: Path) -> None:
    records = looping()
    records[0]["task_type"] = "airline"
    event_lines(folder / "session.jsonl", records)
    general = '[[task_types.rule]]\ntype = "mine"\ntools = "*"\n'
    assert typed(folder, general) == ("airline", "log")
    named = '[[task_types.rule]]\ntype = "multi_tool_chain"\nlogged = "air*"\n'
    assert typed(folder, named) == ("multi_tool_chain", "loopaudit.toml:1: logged air*")


def test_a_flag_comes_before_all(folder: Path) -> None:
    made = run("report", folder, "--task-type", "research", "-f", "json", "-q").json["runs"][0]
    assert (made["task_type"], made["task_type_source"]) == ("research", "--task-type")


def test_show_names_the_rule_and_explain_prints_those_in_force(folder: Path) -> None:
    (folder / "loopaudit.toml").write_text(
        '[report]\ntop = 3\n\n[[task_types.rule]]\ntype = "nightly"\nhost = "build-*"\n'
    )
    shown = run("show", "session.jsonl", cwd=folder).out
    assert "Task type nightly (loopaudit.toml:4: host build-*)" in shown
    page = run("explain", "task-types", cwd=folder).out
    first = page.index("1. nightly  (loopaudit.toml:4)")
    assert first < page.index("2. sub_agent: another run started it")
    assert "     host               build-*" in page


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("metadata = 3", "[task_types.rule.metadata] must be a table, not 3"),
        ("max_tools = -1", "max_tools must be a whole number, 0 or more"),
        ('sub_agent = "yes"', "sub_agent must be true or false"),
        ("metadata = { team = 7 }", "team must be a list of texts"),
        ('promt = "x"', "did you mean 'prompt'?"),
    ],
)
def test_a_mistake_is_one_line(folder: Path, rule: str, words: str) -> None:
    (folder / "loopaudit.toml").write_text(f'[[task_types.rule]]\ntype = "a"\n{rule}\n')
    made = run("report", "session.jsonl", cwd=folder)
    assert made.code == 2
    assert made.err.startswith("loopaudit: loopaudit.toml:3: ")
    assert words in made.err


# -- what formats tell of a run besides ------------------------------------------------------------


def spans(**attributes: str) -> dict[str, Any]:
    """An OTLP trace of one call of a model, with attributes of its resource."""
    told = [{"key": k, "value": {"stringValue": v}} for k, v in attributes.items()]
    used = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-5"}
    span = {
        "traceId": "a" * 32,
        "spanId": "b" * 16,
        "name": "chat gpt-5",
        "startTimeUnixNano": "1777642151000000000",
        "endTimeUnixNano": "1777642152000000000",
        "attributes": [{"key": k, "value": {"stringValue": v}} for k, v in used.items()]
        + [{"key": "gen_ai.usage.input_tokens", "value": {"intValue": "9"}}],
    }
    return {
        "resourceSpans": [{"resource": {"attributes": told}, "scopeSpans": [{"spans": [span]}]}]
    }


def test_attributes_of_a_traces_resource(tmp_path: Path) -> None:
    (tmp_path / "session.jsonl").write_text(
        json.dumps(spans(**{"deployment.environment": "staging"})) + "\n"
    )
    rule = '[[task_types.rule]]\ntype = "mine"\nmetadata = { "deployment.environment" = "stag*" }\n'
    assert typed(tmp_path, rule)[0] == "mine"
