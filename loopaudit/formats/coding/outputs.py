"""How a tool call ended, by its flag and by the words that agent programs put into results."""

from __future__ import annotations

import re
from typing import Any

from loopaudit.formats.tool_messages import status_of
from loopaudit.model import CallStatus

#: a whole line that tells the exit code of a command, as Kimi, Droid, Gemini CLI, pi, Copilot,
#: Cline, Crush, Antigravity and others write it
_EXIT = re.compile(
    r"[\W_]*(?:error\s?:\s*)?(?:the |shell |bash )*(?:command|process|script|program|terminal)?\s*"
    r"(?:execution )?(?:was )?(?:failed|exited|finished|completed|terminated|returned|failure)?\s*"
    r"(?:with )?\(?(?:an? )?(?:non-?zero )?exit(?:ed)?[ _]?(?:with )?(?:exit )?"
    r"(?:code|status)\s?(?:of )?[:=]?\s?(-?\d{1,10})[\W_]*",
    re.IGNORECASE,
)
_EXITED = re.compile(
    r"(?:.*\bexited with (?:exit )?(?:code|status)|command executed\b.*\bexit code)[: ]{1,2}"
    r"(-?\d{1,10})[\W_]*",
    re.IGNORECASE,
)
_SHELLS = ("bash", "shell", "exec", "terminal", "command", "cmd", "powershell", "run", "process")
_LINE = 160  # characters of a line that may tell an exit code
_SPAN = 600  # characters looked at, at either end
_REFUSED = (
    *("the user doesn't want to", "user rejected", "user denied", "user declined", "rejected by"),
    *("the user denied", "the user rejected", "the user declined", "permission denied by user"),
    *("tool execution rejected", "tool use rejected", "user refused", "operation rejected by"),
    *("the tool call is rejected by the user", "tool permission rejected", "denied by user"),
    *("the user has declined", "the user has denied", "the user has rejected"),
    *("the tool call is rejected", "the user chose not to", "user did not approve"),
)
_STOPPED = (
    *("tool execution aborted", "operation aborted", "request interrupted by user", "interrupted"),
    *("command aborted", "aborted by user", "cancelled by user", "user cancelled", "user aborted"),
    *("[operation cancelled]", "operation cancelled by user", "tool execution was interrupted"),
    *("the user stopped", "user interrupted", "tool use was cancelled", "[request interrupted"),
)


def exit_code(text: str) -> int | None:
    """The exit code of a command, where one of the first or last lines of its result tells it."""
    if "xit" not in text[:_SPAN] and "xit" not in text[-_SPAN:]:
        return None
    ends = text[-_SPAN:].rstrip().split("\n")[-6:] if len(text) > _SPAN else []
    for line in (*reversed(ends), *text[:_SPAN].split("\n")[:12]):
        if "xit" not in line or len(line) > _LINE:
            continue
        found = _EXIT.fullmatch(line) or _EXITED.fullmatch(line)
        if found is not None:
            return int(found.group(1))
    return None


def is_shell(tool: str) -> bool:
    """Whether a tool runs commands, by its name: only its results may tell an exit code."""
    lower = tool.lower()
    return any(word in lower for word in _SHELLS)


def ended(
    result: Any, failed: bool | None = None, tool: str | None = None
) -> tuple[CallStatus, int | None]:
    """Status and exit code. `failed`: what the log's own flag says, None where it has none.

    A file that is read may well hold the line "exit code 1": where the `tool` is known, only those
    that run commands are asked for one.
    """
    if not isinstance(result, str):
        if failed is None:
            return status_of(result), None
        return (CallStatus.ERROR if failed else CallStatus.OK), None
    code = exit_code(result) if failed or tool is None or is_shell(tool) else None
    if code == 0 and failed is None:
        return CallStatus.OK, 0
    if failed is False and not code:
        return CallStatus.OK, code
    head = result[:_LINE].lstrip().lower().removeprefix("error: ")
    if failed is not False:
        if head.startswith(_REFUSED):
            return CallStatus.REJECTED, code
        if head.startswith(_STOPPED):
            return CallStatus.INTERRUPTED, code
    if code or failed:
        return CallStatus.ERROR, code
    return status_of(result), code
