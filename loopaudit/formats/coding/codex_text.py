"""Codex texts: injected context told from a person's words, and what the output of a tool says."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import orjson

from loopaudit.formats.shapes import Json, number, whole, words
from loopaudit.keys import canonical, digest
from loopaudit.model import BoundaryKind, CallStatus

#: (start, end) of context that Codex sends as messages of the role "user"; case does not count
_INJECTED = (
    ("<environment_context>", "</environment_context>"),
    ("<user_instructions>", "</user_instructions>"),
    ("# agents.md instructions", "</instructions>"),
    ("<skill>", "</skill>"),
    ("<turn_aborted>", "</turn_aborted>"),
    ("<subagent_notification>", "</subagent_notification>"),
    ("<recommended_plugins>", "</recommended_plugins>"),
    ("<goal_context>", "</goal_context>"),
    ("<codex_internal_context", "</codex_internal_context>"),
    ("<permissions instructions>", "</permissions instructions>"),
    ("<external_", ">"),
    ("<user_action>", "</user_action>"),
    ("warning: ", ""),
    ("the following is the codex agent history", ""),
)
_HOOK = re.compile(r"\s*<hook_prompt\b[^>]*>(.*?)(?:</hook_prompt>\s*)?\Z", re.DOTALL)
_SHELL = re.compile(r"\s*<user_shell_command>.*</user_shell_command>\s*\Z", re.DOTALL)

#: lines before the output of the shell tools; the output follows "Output:"
_HEADER = re.compile(
    r"(?:Chunk ID: [^\n]*\n|Wall time:? [^\n]*\n|Original token count: [^\n]*\n"
    r"|Total output lines: [^\n]*\n|Process exited with code (?P<exited>-?\d+)\n"
    r"|Exit code: (?P<code>-?\d+)\n|Process running with session ID (?P<session>[^\n]*)\n"
    r"|Script (?P<script>completed|failed|running[^\n]*)\n)+Output:\n?"
)
_WALL = re.compile(r"Wall time:? ([\d.]+) ?s")
_EXIT = re.compile(r"(?:exited with code|exit code:?) (-?\d{1,10})\b", re.IGNORECASE)

#: (words in the first line of an output, how the call ended); no exit code stands beside them
_REFUSED = ("rejected by user", "user rejected", "rejected by the user", "declined by", "denied by")
_STOPPED = ("aborted by user", "aborted by the user", "interrupted by user")
_FAILED = (
    "failed to ",
    "failed in sandbox",
    "error:",
    "err:",
    "unsupported call",
    "unknown process id",
    "execution error",
    "command timed out",
    "patch rejected",
    "invalid patch",
    "script failed",
    "traceback (most recent call last)",
    "apply_patch verification failed",
    "exec_command failed",
    "write_stdin failed",
    "tool call error",
)
_WORDLESS = frozenset(("input_image", "output_image", "encrypted_content", "input_audio"))


class Output(NamedTuple):
    """The output of a tool without its envelope. A failing exit code is put before the text, so
    that equal outputs with different codes stay different."""

    text: Any
    status: CallStatus
    exit_code: int | None = None
    duration: float | None = None


def user_text(text: str) -> tuple[BoundaryKind, str] | None:
    """What a message of the role "user" is; None where it is empty."""
    head = text.lstrip()
    if not head:
        return None
    hook = _HOOK.match(text)
    if hook is not None:
        return BoundaryKind.HOOK, hook.group(1)
    if head[0] in "<#WwTt" and not _SHELL.match(text):
        start, end = head[:48].lower(), head.rstrip()[-48:].lower()
        for first, last in _INJECTED:
            if start.startswith(first) and end.endswith(last):
                return BoundaryKind.REMINDER, text
    return BoundaryKind.USER, text


def joined(content: Any) -> Any:
    """The text of content parts; pictures as a mark with a digest."""
    if type(content) is dict:
        content = [content]
    if type(content) is not list:
        return content
    return "\n".join(part for part in map(_part, content) if part is not None)


def _part(part: Any) -> str | None:
    if isinstance(part, str):
        return part
    if type(part) is not dict:
        return canonical(part).decode("utf-8", "replace")
    text = part.get("text")
    if isinstance(text, str):
        return text
    data = words(part.get("image_url")) or words(part.get("data"))
    if data is not None:
        return f"[image {digest(data):016x}]"
    if words(part.get("type")) in _WORDLESS:
        return None
    return canonical(part).decode("utf-8", "replace")


def output(value: Any) -> Output:
    """An output as Codex writes it: text, text with a header, JSON in text, or a list of parts."""
    if type(value) is str:
        if value.startswith("{"):
            try:
                inner = orjson.loads(value)
            except ValueError:
                inner = None
            if type(inner) is dict and ("metadata" in inner or "isError" in inner):
                return _structured(inner)
        return _plain(value)
    if type(value) is dict and value.keys() & {"metadata", "isError", "content", "output"}:
        return _structured(value)
    text = joined(value)
    return _plain(text) if type(text) is str else Output(text, CallStatus.OK)


def _structured(value: Json) -> Output:
    facts = value.get("metadata")
    facts = facts if type(facts) is dict else {}
    text = value.get("output") if "output" in value else joined(value.get("content"))
    code, spent = whole(facts.get("exit_code")), number(facts.get("duration_seconds"))
    if value.get("isError") is True or value.get("success") is False:
        return Output(text, CallStatus.ERROR, code, spent)
    if code is None and type(text) is str:
        return _plain(text)
    return _coded(text, code, spent)


def _plain(text: str) -> Output:
    header = _HEADER.match(text)
    if header is not None:
        spent = _WALL.search(header.group())
        code = header.group("exited") or header.group("code")
        seconds = number(float(spent.group(1))) if spent and spent.group(1) != "." else None
        body = text[header.end() :]
        if header.group("session"):
            body = f"Process running with session ID {header.group('session')}\n{body}"
        if header.group("script") == "failed":
            return Output(body, CallStatus.ERROR, None, seconds)
        return _coded(body, int(code) if code and len(code) < 12 else None, seconds)
    line = text[:200].lstrip().split("\n", 1)[0].lower()
    if any(word in line for word in _STOPPED):
        return Output(text, CallStatus.INTERRUPTED)
    if any(word in line for word in _REFUSED):
        return Output(text, CallStatus.REJECTED)
    code_found = _EXIT.match(line)
    if code_found is not None:
        return _coded(text, int(code_found.group(1)), None)
    failed = line.startswith(_FAILED)
    return Output(text, CallStatus.ERROR if failed else CallStatus.OK)


def _coded(text: Any, code: int | None, spent: float | None) -> Output:
    if not code:
        return Output(text, CallStatus.OK, code, spent)
    shown = f"exit code {code}\n{text}" if type(text) is str else text
    return Output(shown, CallStatus.ERROR, code, spent)
