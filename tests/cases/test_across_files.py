"""Loops over several files: resumed, copied and forked sessions, agents side by side."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from builders import Line, put, report, seen
from test_totals_cases import answer, claude, spent, tool


def grep(session: str, number: int) -> list[Line]:
    """One search of 1,000 tokens, its answer always the same."""
    block = tool(f"c{number}", "Grep", pattern="total")
    head = claude(session, f"M{number}", 3 * number, spent(1_000), block, stop="tool_use")
    return [head, answer(session, f"c{number}", "a.py:3:total = 0", 3 * number + 1)]


def greps(session: str, *numbers: int) -> list[Line]:
    return [line for number in numbers for line in grep(session, number)]


def told(found: Line) -> list[tuple[str, tuple[int, ...], int]]:
    """(run, charged steps, wasted tokens) of each finding."""
    return [(f["run"], (s := seen(f))["waste"], s["tokens"]) for f in found["findings"]]


def test_the_third_time_comes_in_the_resumed_session(tmp_path: Path) -> None:
    a = put(tmp_path / "a.jsonl", greps("A", 1, 2))
    b = put(tmp_path / "b.jsonl", greps("B", 1, 2, 3))
    assert told(report(a)) == []
    for paths in ((a, b), (b, a)):
        found = report(*paths)
        assert told(found) == [("B", (3,), 1_000)]  # the second is charged to nobody: it is A's
        assert found["totals"]["tokens"]["total"] == 3_000
    assert told(report(b)) == [("B", (2, 3), 2_000)]


def test_an_inherited_loop_is_told_once(tmp_path: Path) -> None:
    a = put(tmp_path / "a.jsonl", greps("A", 1, 2, 3, 4, 5))
    more = claude("B", "M9", 40, spent(500))
    b = put(tmp_path / "b.jsonl", [*greps("B", 1, 2, 3, 4, 5), more])
    for paths in ((a, b), (b, a)):
        found = report(*paths)
        assert told(found) == [("A", (2, 3, 4, 5), 4_000)]
        assert found["totals"]["waste"]["tokens"] == 4_000


def test_two_forks_that_each_go_on_with_it(tmp_path: Path) -> None:
    put(tmp_path / "a.jsonl", greps("A", 1, 2))
    put(tmp_path / "b.jsonl", greps("B", 1, 2, 3))
    put(tmp_path / "c.jsonl", greps("C", 1, 2, 4))
    found = report(tmp_path)
    assert told(found) == [("B", (3,), 1_000), ("C", (3,), 1_000)]
    assert found["totals"]["tokens"]["total"] == 4_000


def test_unrelated_sessions_never_add_up(tmp_path: Path) -> None:
    for session, numbers in (("A", (1, 2)), ("B", (3, 4)), ("C", (5, 6))):
        put(tmp_path / f"{session}.jsonl", greps(session, *numbers))
    assert told(report(tmp_path)) == []
    lines = [greps("A", 1, 2), greps("B", 3, 4), greps("C", 5, 6)]
    mixed = [line for rows in zip(*lines, strict=True) for line in rows]
    assert told(report(put(tmp_path / "one" / "mixed.jsonl", mixed))) == []


def test_one_session_under_several_names(tmp_path: Path) -> None:
    path = put(tmp_path / "a.jsonl", greps("A", 1, 2, 3))
    os.symlink(path, tmp_path / "link.jsonl")
    shutil.copy(path, tmp_path / "copy.jsonl")
    found = report(path, tmp_path, tmp_path / "link.jsonl", path)
    assert told(found) == [("A", (2, 3), 2_000)]
    assert found["totals"]["tokens"]["total"] == 3_000


def test_an_early_copy_beside_the_whole(tmp_path: Path) -> None:
    put(tmp_path / "early.jsonl", greps("A", 1, 2))
    put(tmp_path / "whole.jsonl", greps("A", 1, 2, 3, 4))
    found = report(tmp_path)
    assert told(found) == [("A", (2, 3, 4), 3_000)]
    assert found["totals"]["tokens"]["total"] == 4_000


@pytest.mark.parametrize("repeats", [1, 4])
def test_agents_side_by_side(tmp_path: Path, repeats: int) -> None:
    """Four agents read the same file; only one that reads it four times itself loops."""
    tasks = [tool(f"toolu_p{k}", "Task", subagent_type="Explore", prompt=f"{k}") for k in range(4)]
    put(tmp_path / "S.jsonl", [claude("S", "M", 1, spent(1_000), *tasks, stop="tool_use")])
    for k in range(4):
        lines = []
        for n in range(repeats if k == 0 else 1):
            block = tool(f"r{k}{n}", "Read", file_path="/w/README.md")
            second = 10 * k + 2 * n + 2
            lines.append(claude("S", f"M{k}{n}", second, spent(700), block, stop="tool_use"))
            lines.append(answer("S", f"r{k}{n}", "read me", second + 1))
        own = {"agentId": f"p{k}", "isSidechain": True}
        put(tmp_path / "S" / "subagents" / f"agent-p{k}.jsonl", [{**line, **own} for line in lines])
    assert told(report(tmp_path)) == ([("S/p0", (2, 3, 4), 2_100)] if repeats > 1 else [])
