"""What agents call their tools: edits, waits, reads by lines and refusals in their own spellings.

Each is a log of chat messages, which flags nothing: the names, the arguments and the words of the
answers are all there is. Names and arguments are those of Claude Code, Codex, Gemini CLI, opencode,
OpenHands, SWE-agent, Cursor, Cline, goose, Kimi, LangChain, MCP servers and Chinese agents.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from builders import Line, put, report

Made = tuple[str, Any, str]


def told(tmp_path: Path, calls: Iterable[Made]) -> tuple[list[str], set[str]]:
    """Rules of the findings, and the detectors that would have stopped the run."""
    messages: list[Line] = [{"role": "user", "content": "Do what the ticket says."}]
    for number, (tool, args, result) in enumerate(calls):
        function = {"name": tool, "arguments": json.dumps(args)}
        made = {"id": f"c{number}", "type": "function", "function": function}
        messages.append({"role": "assistant", "content": None, "tool_calls": [made]})
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": result})
    found = report(put(tmp_path / "log.jsonl", messages))
    stops = {v["detector"] for g in found["guards"] for v in g["verdicts"] if v["level"] == "stop"}
    return [f"{f['rule']}: {f['retryable']}" for f in found["findings"]], stops


def named(rows: Iterable[Any]) -> list[Any]:
    return [pytest.param(*row, id=f"{row[0]} {number}") for number, row in enumerate(rows)]


# -- changes of state: a test after each is no loop ------------------------------------------------

EDITS: list[tuple[str, dict[str, Any]]] = [
    ("Edit", {"file_path": "/a.py", "old_string": "x", "new_string": "y"}),
    ("MultiEdit", {"file_path": "/a.py", "edits": [{"old_string": "x", "new_string": "y"}]}),
    (
        "apply_patch",
        {"input": "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y{i}\n*** End Patch"},
    ),
    (
        "shell",
        {
            "command": [
                "apply_patch",
                "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y{i}\n*** End Patch",
            ]
        },
    ),
    (
        "shell",
        {
            "command": [
                "bash",
                "-lc",
                "apply_patch <<E\n*** Begin Patch\n*** Update File: a.py\n+{i}\n*** End Patch\nE",
            ]
        },
    ),
    ("shell", {"command": ["bash", "-lc", "sed -i 's/x/y{i}/' a.py"]}),
    ("bash", {"command": "cat > a.py <<'EOF'\ny{i}\nEOF"}),
    ("bash", {"command": "echo y{i} >> a.py"}),
    ("shell", {"command": "python - <<'EOF'\nopen('a.py','w').write('y{i}')\nEOF"}),
    ("replace", {"file_path": "/a.py", "old_string": "x", "new_string": "y{i}"}),
    ("write_file", {"file_path": "/a.py", "content": "y{i}"}),
    (
        "str_replace_editor",
        {"command": "str_replace", "path": "/a.py", "old_str": "x", "new_str": "y{i}"},
    ),
    ("edit_file", {"target_file": "a.py", "code_edit": "y{i}"}),
    ("search_replace", {"file_path": "a.py", "old_string": "x", "new_string": "y{i}"}),
    ("replace_in_file", {"path": "a.py", "diff": "y{i}"}),
    ("apply_diff", {"path": "a.py", "diff": "y{i}"}),
    ("write_to_file", {"path": "a.py", "content": "y{i}"}),
    ("write_file", {"file_path": "a.py", "text": "y{i}"}),
    ("text_editor", {"command": "write", "path": "a.py", "file_text": "y{i}"}),
    (
        "developer__text_editor",
        {"command": "str_replace", "path": "a.py", "old_str": "x", "new_str": "y{i}"},
    ),
    ("fsWrite", {"path": "a.py", "text": "y{i}"}),
    ("mcp__filesystem__edit_file", {"path": "a.py", "edits": ["y{i}"]}),
    ("fs_write", {"command": "str_replace", "path": "a.py", "new_str": "y{i}"}),
    ("edit", {"filePath": "a.py", "oldString": "x", "newString": "y{i}"}),
    ("execute_bash", {"command": "git apply fix{i}.diff"}),
    ("shell", {"command": ["bash", "-lc", "cd /repo && git commit -am y{i}"]}),
    ("shell", {"command": ["powershell", "-Command", "Set-Content a.py y{i}"]}),
    ("python", {"code": "open('a.py','w').write('y{i}')"}),
    ("NotebookEdit", {"notebook_path": "a.ipynb", "new_source": "y{i}"}),
    ("create_file", {"path": "a{i}.py", "content": "y"}),
    ("StrReplaceFile", {"path": "a.py", "edit": "y{i}"}),
    ("Create", {"file_path": "a.py", "content": "y{i}"}),
    ("ApplyPatch", {"input": "y{i}"}),
    ("patch_file", {"path": "a", "patch": "y{i}"}),
    ("editFiles", {"path": "a", "edit": "y{i}"}),
    ("insert_edit_into_file", {"filePath": "a", "code": "y{i}"}),
    ("update_document", {"id": 1, "text": "y{i}"}),
    ("WriteFileTool", {"file_path": "a", "text": "y{i}"}),
    ("kubectl", {"command": "kubectl apply -f a{i}.yaml"}),
    ("run_in_terminal", {"command": "npm install left{i}"}),
    ("修改文件", {"path": "a", "new": "y{i}"}),
    ("写入文件", {"path": "a", "new": "y{i}"}),
]


@pytest.mark.parametrize(("tool", "args"), named(EDITS))
def test_a_test_after_each_change(tool: str, args: dict[str, Any], tmp_path: Path) -> None:
    def change(i: int) -> Made:
        text = json.dumps(args).replace("{i}", str(i))
        if "{i}" not in json.dumps(args):
            text = text.replace('"y"', f'"y{i}"')
        return tool, json.loads(text), "The file has been updated."

    tests = ("Bash", {"command": "pytest -q"}, "2 failed, 3 passed")
    calls = [made for i in range(5) for made in (change(i), tests)]
    assert told(tmp_path, calls) == ([], set())


def test_the_same_tests_without_a_change_are_a_loop(tmp_path: Path) -> None:
    for tool, args in (
        ("Bash", {"command": "pytest -q"}),
        ("shell", {"command": ["bash", "-lc", "pytest -q"]}),
        ("exec_command", {"cmd": "pytest -q"}),
        ("terminal", {"commands": ["pytest -q"]}),
        ("python", {"code": "print(open('a.py').read())"}),
    ):
        rules, stops = told(tmp_path, [(tool, args, "2 failed, 3 passed")] * 4)
        assert rules == ["same-call-same-result: no"]
        assert "same_call_same_result" in stops


# -- waits: ten unchanged answers, not three -------------------------------------------------------

WAITS: list[tuple[str, dict[str, Any]]] = [
    ("TaskOutput", {"task_id": "b1", "block": False}),
    ("BashOutput", {"bash_id": "b1"}),
    ("write_stdin", {"session_id": 3, "chars": ""}),
    ("exec_command", {"cmd": "sleep 30"}),
    ("shell", {"command": ["bash", "-lc", "sleep 20 && tail -3 build.log"]}),
    ("run_shell_command", {"command": "sleep 10; gh run view 12"}),
    ("get_terminal_output", {"id": "x"}),
    ("process", {"action": "poll", "sessionId": "a"}),
    ("execute_bash", {"command": ""}),
    ("check_build_status", {"id": 3}),
    ("kubectl", {"command": "kubectl get pods"}),
    ("get_workflow_run", {"id": 3}),
    ("等待任务", {"id": 3}),
    ("查询任务状态", {"id": 3}),
    ("mcp__ci__get_job_status", {"id": 1}),
    ("wait_for_deployment", {"id": 1}),
    ("bash", {"command": "while ! curl -sf localhost; do sleep 1; done"}),
    ("command_status", {"CommandId": "1"}),
    ("run_terminal_cmd", {"command": "docker ps"}),
    ("view_terminal", {}),
    ("shell", {"command": ["powershell", "-Command", "Start-Sleep 30"]}),
    ("await", {"id": 1}),
    ("AwaitShell", {"id": 1}),
    ("read_thread_terminal", {}),
    ("list_background_processes", {}),
    ("check_job", {"id": 1}),
    ("getBuildStatus", {"id": 1}),
    ("job.status", {"id": 1}),
    ("get_status_of_job", {"id": 1}),
    ("check_training_progress", {}),
    ("monitor_job", {"id": 1}),
    ("Monitor", {"id": 1}),
    ("is_finished", {"id": 1}),
    ("poll_task", {"id": 1}),
    ("fetch_job_status", {}),
    ("retrieve_run", {"id": 2}),
    ("ShellOutput", {"id": 1}),
    ("GetTaskResult", {"id": 1}),
]


@pytest.mark.parametrize(("tool", "args"), named(WAITS))
def test_waits(tool: str, args: dict[str, Any], tmp_path: Path) -> None:
    assert told(tmp_path, [(tool, args, "job 7: 12 of 90 done")] * 6) == ([], set())
    rules, _ = told(tmp_path, [(tool, args, "job 7: 12 of 90 done")] * 12)
    assert rules == ["same-call-same-result: yes"]


# -- reads by lines: paging, and windows over known lines -----------------------------------------

READS: list[tuple[str, Callable[[int, int], dict[str, Any]]]] = [
    ("Read", lambda a, b: {"file_path": "/b.log", "offset": a, "limit": b - a + 1}),
    (
        "read_file",
        lambda a, b: {
            "target_file": "b.log",
            "start_line_one_indexed": a,
            "end_line_one_indexed_inclusive": b,
        },
    ),
    ("read_file", lambda a, b: {"absolute_path": "/b.log", "offset": a, "limit": b - a + 1}),
    ("view", lambda a, b: {"path": "b.log", "view_range": [a, b]}),
    ("str_replace_editor", lambda a, b: {"command": "view", "path": "b.log", "view_range": [a, b]}),
    ("shell", lambda a, b: {"command": ["bash", "-lc", f"sed -n '{a},{b}p' b.log"]}),
    ("exec_command", lambda a, b: {"cmd": f"sed -n {a},{b}p b.log"}),
    ("bash", lambda a, b: {"command": f"head -n {b} b.log | tail -n {b - a + 1}"}),
    ("execute_bash", lambda a, b: {"command": f"cd /repo && sed -n '{a},{b}p' b.log"}),
    ("bash", lambda a, b: {"command": f"awk 'NR>={a} && NR<={b}' b.log"}),
    ("fs_read", lambda a, b: {"path": "b.log", "start_line": a, "end_line": b}),
    ("ReadFile", lambda a, b: {"path": "b.log", "line_offset": a, "n_lines": b - a + 1}),
    ("open_file", lambda a, b: {"path": "b.log", "lines": f"{a}-{b}"}),
    ("mcp__fs__read_lines", lambda a, b: {"path": "b.log", "startLine": a, "endLine": b}),
    ("view_code", lambda a, b: {"AbsolutePath": "/b.log", "StartLine": a, "EndLine": b}),
    ("读取文件", lambda a, b: {"path": "b.log", "start_line": a, "end_line": b}),
    (
        "readFile",
        lambda a, b: {
            "filePath": "b.log",
            "startLineNumberBaseZero": a - 1,
            "endLineNumberBaseZero": b - 1,
        },
    ),
    ("read", lambda a, b: {"filePath": "/b.log", "offset": a, "limit": b - a + 1}),
    ("run_shell_command", lambda a, b: {"command": f"sed -n '{a},{b}p' ./b.log"}),
    ("bash", lambda a, b: {"command": f"cat -n b.log | sed -n '{a},{b}p'"}),
    ("bash", lambda a, b: {"command": f"nl -ba b.log | sed -n '{a},{b}p'"}),
    ("bash", lambda a, b: {"command": f"tail -n +{a} b.log | head -n {b - a + 1}"}),
]


@pytest.mark.parametrize(("tool", "args"), named(READS))
def test_reads(tool: str, args: Callable[[int, int], dict[str, Any]], tmp_path: Path) -> None:
    pages = [(40 * k + 1, 40 * k + 40) for k in range(6)]
    shifted = [(40 * k + 21, 40 * k + 60) for k in range(5)]

    def read(spans: list[tuple[int, int]]) -> list[Made]:
        return [(tool, args(a, b), f"lines {a} to {b}") for a, b in spans]

    assert told(tmp_path, read(pages)) == ([], set())
    assert told(tmp_path, read(pages + shifted))[0] == ["re-read-ranges: n/a"]


# -- refusals -------------------------------------------------------------------------------------

REFUSALS = [
    "The user doesn't want to proceed with this tool use. The tool use was rejected",
    "User rejected the command",
    "The user rejected this tool call.",
    "Permission denied by hook: no pushes",
    "Error: command blocked by policy",
    "Tool call denied by user",
    "User declined to run the command",
    "Permission to use Bash has been denied.",
    "exec command rejected by user",
    "This action was blocked by a PreToolUse hook",
    "用户拒绝了该操作",
    "用户拒绝执行此命令",
    "权限被拒绝：策略禁止",
    "rejected by approval policy",
    "Command not allowed by sandbox policy",
    "The tool call was denied: not in the allowlist",
    "User denied permission to use this tool",
    "The user chose to reject this edit",
]


@pytest.mark.parametrize("text", REFUSALS)
def test_refusals(text: str, tmp_path: Path) -> None:
    rules, stops = told(tmp_path, [("bash", {"command": "git push"}, text)] * 5)
    assert rules == ["refused-again: no"]
    assert "refused_again" in stops
