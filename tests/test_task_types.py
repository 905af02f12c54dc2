"""Task types: what is written wins, then the user's rules, then the stated ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from loopaudit.errors import ConfigError
from loopaudit.model import Boundary, BoundaryKind, Call, Run, Step
from loopaudit.task_types import infer, read


def run(*tools: str, users: int = 1, model: str = "m", **more: object) -> Run:
    """One step a tool; the user's messages before the first."""
    made = Run(id="r", path="/logs/reports/a.jsonl", format="loopaudit", **more)  # type: ignore[arg-type]
    for index, tool in enumerate(tools or (None,)):
        step = Step(index=index, path=made.path, line=index + 1, model=model)
        if tool is not None:
            step.calls.append(Call(index, index, 0, None, tool, index, index + 1))
        made.steps.append(step)
    made.steps[0].before = [Boundary(BoundaryKind.USER, 1, made.path) for _ in range(users)]
    return made


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (run("get_weather", "get_weather"), "single_tool_qa"),
        (run(), "single_tool_qa"),  # answered in text
        (run("get_weather", users=2), "multi_tool_chain"),
        (run("get_weather", "get_time"), "multi_tool_chain"),
        (run("Bash", "Bash", "Bash"), "multi_tool_chain"),  # a shell is every tool
        (run("run_python"), "multi_tool_chain"),
        (run("WebSearch", "WebFetch", "Read"), "research"),
        (run("mcp__tavily__search", "browser_navigate"), "research"),
        (run("web_search", "Read"), "multi_tool_chain"),  # half is not more than half
        (run("web_search"), "single_tool_qa"),
        (run("Grep", "search_files", "Read"), "multi_tool_chain"),  # code is not the web
        (run("cobweb", "urlaub"), "multi_tool_chain"),  # words, not parts of words
        (run("WebSearch", "WebFetch", parent="p"), "sub_agent"),
        (run(users=2), None),
    ],
)
def test_stated_rules(found: Run, expected: str | None) -> None:
    assert infer(found) == expected


def test_an_empty_run_tells_nothing() -> None:
    assert infer(Run(id="r", path="p", format="f")) is None


def test_injected_text_is_no_user_message() -> None:
    found = run("get_weather")
    kinds = (BoundaryKind.HOOK, BoundaryKind.REMINDER, BoundaryKind.COMPACTION, BoundaryKind.RESUME)
    found.after = [Boundary(kind, 2, "p") for kind in kinds]
    assert infer(found) == "single_tool_qa"
    found.after.append(Boundary(BoundaryKind.USER, 3, "p"))
    assert infer(found) == "multi_tool_chain"


def test_the_logs_own_type_wins() -> None:
    table = {"rule": [{"type": "mine", "tools": "*"}]}
    assert infer(run("a", task_type="theirs", parent="p"), table) == "theirs"


def test_user_rules_in_order_all_parts_must_fit() -> None:
    table = {
        "rule": [
            {"type": "reports", "path": "*/REPORTS/*", "tools": ["web_*", "write_report"]},
            {"type": "by-agent", "agent": "Researcher*", "model": "claude-*"},
            {"type": "by-project", "path": "/work/x"},
        ]
    }
    rules = read(table)
    for given in (table, rules):
        assert infer(run("web_search", "write_report"), given) == "reports"
        assert infer(run("web_search", "read"), given) == "multi_tool_chain"
        assert infer(run(), given) == "single_tool_qa"  # no calls: no tool fits
        assert infer(run("a", agent="researcher-2", model="Claude-x"), given) == "by-agent"
        assert infer(run("a", agent="researcher-2"), given) == "single_tool_qa"
        assert infer(run("a", project="/work/x"), given) == "by-project"


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"rule": [{"tools": "a"}]}, "type is missing"),
        ({"rule": [{"type": "a"}]}, "asks for nothing"),
        ({"rule": [{"type": "a", "tool": "x"}]}, "no key 'tool' .*did you mean 'tools'"),
        ({"rule": [{"type": 3, "tools": "x"}]}, "type must be a text"),
        ({"rules": []}, "no key 'rules'"),
        ({"rule": {"type": "a"}}, "must be a list of tables"),
    ],
)
def test_a_wrong_rule_is_named(table: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        read(table)


def test_a_wrong_rule_is_placed(tmp_path: Path) -> None:
    from loopaudit.settings import load

    path = tmp_path / "loopaudit.toml"
    path.write_text('[[task_types.rule]]\ntype = "a"\n\ntools = [1]\n', encoding="utf-8")
    settings = load(folder=tmp_path, environment={})
    with pytest.raises(
        ConfigError, match=r"loopaudit\.toml:4: \[\[task_types\.rule\]\] tools must"
    ):
        read(settings.table("task_types"), lambda *keys: settings.place("task_types", *keys))
