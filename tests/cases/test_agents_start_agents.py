"""Agents that start agents (A6): down one line a loop, side by side none; over files."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from builders import Line, command, put, report
from test_totals_cases import claude, spent, tool

TASK = "Survey the repository and report what you find."


# -- our own lines --------------------------------------------------------------------------------


def native(run: str, *calls: tuple[str, Any, Any], tokens: int = 2_000, **facts: Any) -> list[Line]:
    """One run: a step a call (tool, arguments, result; None: never answered)."""
    lines: list[Line] = [{"loopaudit": 1}, {"type": "run", "run": run, "session": run, **facts}]
    for number, (name, args, result) in enumerate(calls):
        made = {"id": f"{run}-{number}", "tool": name, "args": args}
        if result is not None:
            made["result"] = result
        usage = {"fresh_input": tokens - 100, "output": 100}
        step = {"type": "response", "id": f"{run}-m{number}", "model": "gpt-5", "usage": usage}
        lines.append({**step, "run": run, "calls": [made]})
    return lines


def spawn(task: str = TASK, result: Any = None) -> tuple[str, Any, Any]:
    return "spawn_agent", {"role": "survey", "task": task}, result


def line_of(tasks: Sequence[str], **facts: Any) -> list[list[Line]]:
    """Agents below each other: the first starts the second with `tasks[0]`, and so on."""
    runs = [native("main", spawn(tasks[0]), tokens=3_000)]
    for depth, task in enumerate(tasks[1:], 1):
        above = "main" if depth == 1 else f"c{depth - 1}"
        parent = {"parent": above, "parent_call": f"{above}-0", "agent": "survey", **facts}
        runs.append(native(f"c{depth}", spawn(task), **parent))
    return runs


def told(found: Line) -> list[tuple[str, str, int, int]]:
    """(rule, run, occurrences, wasted tokens) of each finding."""
    return [
        (f["rule"], f["run"], f["occurrences"], f["waste"]["tokens"]) for f in found["findings"]
    ]


def test_a6_in_our_own_lines(tmp_path: Path) -> None:
    runs = line_of([TASK] * 6)
    runs[-1].append({"type": "boundary", "run": "c5", "kind": "interrupt"})
    paths = [put(tmp_path / f"{n}.jsonl", lines) for n, lines in enumerate(runs)]
    found = report(*paths)
    (loop,) = found["findings"]
    assert told(found) == [("recursive-spawn", "main", 6, 10_000)]
    assert [(e["run"], e["step"]) for e in loop["waste"]["steps"]] == [
        (f"c{n}", 0) for n in range(1, 6)
    ]
    assert (loop["first_seen"]["run"], loop["onset"]["run"], loop["last"]["run"]) == (
        "main",
        "c1",
        "c5",
    )
    assert (loop["ended_by"], loop["retryable"]) == ("user", "no")
    assert found["totals"]["tokens"]["total"] == 13_000
    assert found["totals"]["waste"]["tokens"] == 10_000
    assert {r["id"]: r["waste"]["tokens"] for r in found["runs"]} == {
        "main": 0,
        **{f"c{n}": 2_000 for n in range(1, 6)},
    }
    assert found["tools"] == [{"tool": "spawn_agent", "calls": 6, "redundant": 5, "share": 5 / 6}]
    one = put(tmp_path / "one" / "all.jsonl", [line for lines in runs for line in lines])
    for given in (paths[::-1], [tmp_path / "5.jsonl", *paths[:5]], [one]):
        again = report(*given)
        assert told(again) == told(found)
        assert again["findings"][0]["id"] == loop["id"]


def test_a6_in_claude_code(tmp_path: Path) -> None:
    def spawns(agent: int, tokens: int) -> Line:
        block = tool(f"toolu_{agent}", "Task", subagent_type="survey", prompt=TASK)
        line = claude("S", f"M{agent}", agent, spent(tokens), block, stop="tool_use")
        return {**line, "agentId": f"c{agent}", "isSidechain": True} if agent else line

    put(tmp_path / "S.jsonl", [spawns(0, 3_000)])
    for n in range(1, 6):
        lines = [spawns(n, 2_000)]
        if n == 5:
            text = [{"type": "text", "text": "[Request interrupted by user]"}]
            message = {"role": "user", "content": text}
            more = {"type": "user", "uuid": "u9", "message": message}
            lines.append({**{k: v for k, v in lines[0].items() if k != "requestId"}, **more})
        path = put(tmp_path / "S" / "subagents" / f"agent-c{n}.jsonl", lines)
        facts = {"agentType": "survey", "toolUseId": f"toolu_{n - 1}"}
        facts |= {"parentAgentId": f"c{n - 1}"} if n > 1 else {}
        path.with_suffix(".meta.json").write_text(json.dumps(facts), encoding="utf-8")
    found = report(tmp_path)
    assert told(found) == [("recursive-spawn", "S", 6, 10_000)]
    (loop,) = found["findings"]
    assert (loop["onset"]["run"], loop["last"]["run"], loop["ended_by"]) == ("S/c1", "S/c5", "user")


def test_a6_in_codex(tmp_path: Path) -> None:
    def thread(number: int) -> list[Line]:
        at = f"2026-05-01T10:0{number}:00.000Z"
        meta: Line = {"id": f"thread-{number}", "cwd": "/home/noor/app", "source": "cli"}
        if number:
            meta["source"] = {"subagent": {"thread_spawn": {"agent_role": "survey"}}}
            meta["parent_thread_id"] = f"thread-{number - 1}"
        call = {"name": "spawn_agent", "call_id": f"call-{number}"}
        call["arguments"] = json.dumps({"agent_type": "survey", "message": TASK})
        usage = {"input_tokens": 1_900 + number, "output_tokens": 100 - number}
        usage["total_tokens"] = 2_000
        info = {"total_token_usage": usage, "last_token_usage": usage}
        return [
            {"timestamp": at, "type": kind, "payload": payload}
            for kind, payload in (
                ("session_meta", meta),
                ("turn_context", {"cwd": "/home/noor/app", "model": "gpt-5-codex"}),
                ("response_item", {"type": "function_call", **call}),
                ("event_msg", {"type": "token_count", "info": info}),
            )
        ]

    for number in range(5):
        put(tmp_path / f"rollout-2026-05-01T10-0{number}-00-{number}.jsonl", thread(number))
    found = report(tmp_path)
    assert told(found) == [("recursive-spawn", "thread-0", 5, 8_000)]


def test_two_kinds_of_agents_that_start_each_other(tmp_path: Path) -> None:
    """The task goes back and forth between two agents, each time in the words of its maker."""
    runs = line_of(["Write the plan.", "Check the plan."] * 3)
    for n, lines in enumerate(runs):
        put(tmp_path / f"{n}.jsonl", lines)
    # each task three times down the line; the agent c1, too, did nothing but start the next one
    assert told(report(tmp_path)) == [("recursive-spawn", "main", 3, 5 * 2_000)]


def test_a_line_that_only_passes_the_task_on_in_other_words(tmp_path: Path) -> None:
    words = ["Survey it.", "Please survey it.", "Have a survey made.", "A survey is needed."]
    for n, lines in enumerate(line_of([*words, "Survey, please."], agent="survey")):
        put(tmp_path / f"{n}.jsonl", lines)
    assert told(report(tmp_path)) == [("recursive-spawn", "main", 5, 8_000)]


@pytest.mark.parametrize("tasks", [[TASK], [TASK] * 2])
def test_one_or_two_agents_deep_is_no_loop(tasks: list[str], tmp_path: Path) -> None:
    for n, lines in enumerate(line_of(tasks)):
        put(tmp_path / f"{n}.jsonl", lines)
    assert report(tmp_path)["findings"] == []


def healthy() -> dict[str, list[list[Line]]]:
    work = ("read", {"path": "a.py"}, "text")
    parent = {"parent": "main", "agent": "survey"}
    narrowing = line_of([f"Survey {part}." for part in ("src", "src/a", "src/a/b", "src/a/b/c")])
    for number, lines in enumerate(narrowing):  # each does something of its own
        lines += native(lines[1]["run"], work)[2:]
        lines[-1]["id"] = f"own-{number}"
    return {
        "eight side by side": [
            native("main", *(spawn(result="done") for _ in range(2))),
            *(native(f"c{n}", work, **parent, parent_call="main-0") for n in range(8)),
        ],
        "tasks that narrow down": narrowing,
        "one after the other": [
            native("main", *(spawn(f"Survey part {n}.", f"report {n}") for n in range(6))),
            *(native(f"c{n}", work, **parent, parent_call=f"main-{n}") for n in range(6)),
        ],
        "an orchestrator, a lead and its workers": [
            native("main", spawn("Build the shop.")),
            native(
                "c1",
                *(spawn(f"Build {p}.") for p in ("cart", "till")),
                **parent,
                parent_call="main-0",
            ),
            *(
                native(f"w{n}", work, parent="c1", parent_call=f"c1-{n}", agent="worker")
                for n in range(2)
            ),
        ],
        "parents in a circle": [
            native("a", work, parent="b"),
            native("b", work, parent="a"),
            native("main", work, parent="main"),
        ],
        "a parent that is not among the logs": [native("c1", spawn(), parent="gone")],
    }


@pytest.mark.parametrize("name", healthy())
def test_healthy_agents(name: str, tmp_path: Path) -> None:
    for n, lines in enumerate(healthy()[name]):
        put(tmp_path / f"{n}.jsonl", lines)
    assert report(tmp_path)["findings"] == []


def test_a_deep_line_among_agents_side_by_side(tmp_path: Path) -> None:
    runs = line_of([TASK] * 4)
    work = ("read", {"path": "a.py"}, "text")
    for above, n in itertools.product(("main", "c1"), range(3)):
        facts = {"parent": above, "parent_call": f"{above}-0", "agent": "survey"}
        runs.append(native(f"{above}-side-{n}", work, **facts))
    for n, lines in enumerate(runs):
        put(tmp_path / f"{n:02}.jsonl", lines)
    assert told(report(tmp_path)) == [("recursive-spawn", "main", 4, 6_000)]


def test_a_loop_inside_is_told_by_the_line(tmp_path: Path) -> None:
    """Each agent starts the next one three times over, and nothing else."""
    runs = [native("main", spawn())]
    for n in range(1, 4):
        above = "main" if n == 1 else f"c{n - 1}"
        facts = {"parent": above, "parent_call": f"{above}-0", "agent": "survey"}
        runs.append(native(f"c{n}", *(spawn(result="it failed") for _ in range(3)), **facts))
    for n, lines in enumerate(runs):
        put(tmp_path / f"{n}.jsonl", lines)
    found = report(tmp_path)
    (loop,) = found["findings"]
    assert loop["rule"] == "recursive-spawn"
    assert loop["waste"]["tokens"] == found["totals"]["waste"]["tokens"] == 9 * 2_000
    assert any(reason.startswith("same-call-same-result") for reason in loop["reasons"])


def test_the_screen_counts_agents(tmp_path: Path) -> None:
    for n, lines in enumerate(line_of([TASK] * 6)):
        put(tmp_path / f"{n}.jsonl", lines)
    screen = command("report", tmp_path).out
    assert "5 agents, 5 steps redundant" in screen
    assert "of these agents" in screen
    assert f"loopaudit show c1 {tmp_path}" in screen
    shown = command("show", "c1", tmp_path).out
    assert "LOOP 1  recursive-spawn" in shown
    assert "LOOP 1 BEGINS HERE" in shown
    assert "first done here" not in shown
    assert "first done here" in command("show", "main", tmp_path).out
    assert "LOOP 1 BEGINS HERE" in command("show", "c3", tmp_path).out
    assert "would not have stepped in" not in screen
