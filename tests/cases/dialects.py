"""How the products that write each format name a tool, its arguments and its failures.

The verbs of a situation: read (path, first, last), edit (path, old, new), write (path, text),
test, sh (command), grep (pattern), poll (id), fetch (url), send (to, text), spawn (kind, prompt).
A verb that a dialect does not know is a tool of that name in every product.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True)
class Call:
    verb: str  # the tool's name once a dialect has spoken
    args: Any
    result: Any = "ok"  # None: never answered
    error: bool = False
    status: int | None = None  # HTTP status of a failure
    code: int | None = None  # exit code
    ended: str | None = None  # another end than ok or error, as of `CallStatus`
    id: str | None = None

    def say(self, tool: str, args: Any, result: Any = None) -> Call:
        return replace(self, verb=tool, args=args, result=self.result if result is None else result)


def _lines(a: dict[str, Any], first: str, last: str) -> dict[str, Any]:
    return {first: a["first"], last: a["last"]} if "first" in a else {}


def _plain(c: Call) -> Call:
    """Our own lines: the verbs as they stand."""
    a = c.args
    if c.verb == "read":
        return c.say("read", {"path": a["path"], **_lines(a, "start_line", "end_line")})
    if c.verb == "sh":
        return c.say("bash", a)
    return c.say({"poll": "task_output"}.get(c.verb, c.verb), a)


def _claude(c: Call) -> Call:
    a, result = c.args, c.result
    if c.verb == "read":
        span = {"offset": a["first"], "limit": a["last"] - a["first"] + 1} if "first" in a else {}
        return c.say("Read", {"file_path": f"/home/noor/app/{a['path']}", **span})
    if c.verb == "edit":
        path = f"/home/noor/app/{a['path']}"
        args = {"file_path": path, "old_string": a["old"], "new_string": a["new"]}
        if c.error:
            failed = f"String to replace not found in file.\nString: {a['old']}"
            return c.say("Edit", args, f"<tool_use_error>{failed}</tool_use_error>")
        return c.say("Edit", args, f"The file {path} has been updated successfully.")
    if c.verb in ("test", "sh"):
        command = a.get("command", "pytest -q")
        if c.error:
            result = f"Exit code {c.code or 1}\n{result}"
        return c.say("Bash", {"command": command, "description": "Run it"}, result)
    if c.verb == "grep":
        return c.say("Grep", {"pattern": a["pattern"], "output_mode": "content"})
    if c.verb == "poll":
        return c.say("TaskOutput", {"task_id": f"b{a['id']}f3a1", "block": False})
    if c.verb == "fetch":
        if c.status:
            result = f"Request failed with status code {c.status}"
        return c.say("WebFetch", {"url": a["url"], "prompt": "What does it say?"}, result)
    if c.verb == "send":
        return c.say("mcp__slack__send_message", a)
    if c.verb == "spawn":
        args = {"description": "survey", "subagent_type": a["kind"], "prompt": a["prompt"]}
        return c.say("Task", args)
    return c


def _codex(c: Call) -> Call:
    a, result = c.args, c.result
    if c.verb == "edit":
        patch = f"*** Begin Patch\n*** Update File: {a['path']}\n@@\n-{a['old']}\n+{a['new']}\n"
        patch += "*** End Patch\n"
        if c.error:
            lost = f"Failed to find expected lines in {a['path']}:\n{a['old']}"
            return c.say("apply_patch", patch, f"apply_patch verification failed: {lost}")
        done = "Exit code: 0\nWall time: 0.1 seconds\nOutput:\nSuccess. Updated the following files"
        return c.say("apply_patch", patch, f"{done}:\nM {a['path']}\n")
    if c.verb == "poll":
        running = "exit" not in str(result)
        state = "Process running with session ID 7" if running else "Process exited with code 0"
        head = f"Chunk ID: 4f2a91\nWall time: 1.0 seconds\n{state}\nOriginal token count: 3\n"
        return c.say("write_stdin", {"session_id": 7, "chars": ""}, f"{head}Output:\n{result}")
    command = {
        "read": lambda: (
            f"sed -n '{a['first']},{a['last']}p' {a['path']}"
            if "first" in a
            else f"cat {a['path']}"
        ),
        "test": lambda: "pytest -q",
        "sh": lambda: a["command"],
        "grep": lambda: f"rg -n '{a['pattern']}'",
        "fetch": lambda: f"curl -sSf {a['url']}",
    }.get(c.verb)
    if command is None:
        if c.error:
            result = f"tool call error: {result}"
        return c.say({"send": "mcp__slack__send_message"}.get(c.verb, c.verb), a, result)
    code = (c.code or (22 if c.status else 1)) if c.error else 0
    if c.status:
        result = f"curl: (22) The requested URL returned error: {c.status}"
    if result is not None:
        head = f"Chunk ID: 4f2a91\nWall time: 0.2 seconds\nProcess exited with code {code}\n"
        result = f"{head}Original token count: 9\nOutput:\n{result}"
    return c.say("exec_command", {"cmd": command(), "workdir": "/home/noor/app"}, result)


def _codex_shell(c: Call) -> Call:
    """Codex before the unified exec tool: everything runs in `shell`, patches too."""
    said = _codex(c)
    if said.verb not in ("exec_command", "apply_patch", "write_stdin") or said.result is None:
        return said
    code = 0
    if said.verb == "apply_patch":
        command = ["apply_patch", said.args]
        output, code = str(said.result).rpartition("Output:\n")[2], int(c.error)
    elif said.verb == "write_stdin":
        command = ["bash", "-lc", f"sleep 5; cat jobs/{c.args['id']}.log"]
        output = str(c.result)
    else:
        command = ["bash", "-lc", said.args["cmd"]]
        head, _, output = said.result.partition("Output:\n")
        code = int(head.partition("exited with code ")[2].split()[0])
    metadata = {"exit_code": code, "duration_seconds": 0.2}
    result = json.dumps({"output": output, "metadata": metadata})
    return said.say("shell", {"command": command, "workdir": "/home/noor/app"}, result)


def _chat(c: Call) -> Call:
    """A home-made agent: failures begin with "Error:", nothing else marks them. A test run that
    fails is an answer like any other."""
    a, result = c.args, c.result
    if c.status:
        result = f"HTTP {c.status}: {result}"
    if c.error and c.verb != "test":
        result = f"Error: {result}"
    if c.verb == "read":
        return c.say("read_file", {"path": a["path"], **_lines(a, "start_line", "end_line")})
    if c.verb == "edit":
        args = {"path": a["path"], "search": a["old"], "replace": a["new"]}
        return c.say("replace_in_file", args, result)
    names = {"test": "run_tests", "sh": "shell", "poll": "get_task_status", "send": "send_message"}
    args = {"limit": 20, **a} if c.verb == "grep" else a
    return c.say(names.get(c.verb, c.verb), args, result)


def _anthropic(c: Call) -> Call:
    """Anthropic's own tools: one editor for reading and changing files, a shell."""
    a, result = c.args, c.result
    editor = "str_replace_based_edit_tool"
    if c.status:
        result = f"Error: {c.status} {result}"
    if c.verb == "read":
        span = {"view_range": [a["first"], a["last"]]} if "first" in a else {}
        return c.say(editor, {"command": "view", "path": a["path"], **span})
    if c.verb == "edit":
        args = {"command": "str_replace", "path": a["path"]}
        args |= {"old_str": a["old"], "new_str": a["new"]}
        if c.error:
            result = "Error: No match found for replacement. Please check your text and try again."
        return c.say(editor, args, result)
    if c.verb in ("test", "sh"):
        return c.say("bash", {"command": a.get("command", "pytest -q")}, result)
    return c.say({"poll": "check_task", "send": "send_message"}.get(c.verb, c.verb), a, result)


DIALECTS: dict[str, Callable[[Call], Call]] = {
    "loopaudit": _plain,
    "claude_code": _claude,
    "codex": _codex,
    "codex shell": _codex_shell,
    "openai_chat": _chat,
    "anthropic_messages": _anthropic,
    "http_log": _chat,
    "http_log responses": _chat,
    "http_log gemini": _chat,
    "vercel_ai": _chat,
}
