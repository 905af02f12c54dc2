"""Calls that an agent wrote as text: tags, fenced commands, ReAct lines, terminal keystrokes.

For logs in which the harness found the calls in the model's words and did not keep what it found.
Where several ways of writing stand in one text, the first of this list that fits is taken:

    <function=bash><parameter=command>ls</parameter></function>     OpenHands, SWE-agent, Qwen
    {"commands": [{"keystrokes": "ls\\n"}], …}                       Terminus 2, as JSON
    <keystrokes duration="0.1">ls</keystrokes>                      Terminus 2, as XML
    Action: search[rye bread]                                       ReAct, InterCode
    Action: search / Action Input: {"q": "rye bread"}               LangChain, CrewAI
    Action: {"name": "search", "arguments": {"q": "rye bread"}}     tau-bench, structured chats
"""

from __future__ import annotations

import re
from typing import Any

import orjson

from loopaudit.formats.shapes import arguments, name, rows, words
from loopaudit.model import CallPiece

MAX_TEXT = 1 << 20  # characters of one message that are searched

_FUNCTION = re.compile(r"<function=([^>\s]{1,100})>")
_PARAMETER = re.compile(r"<parameter=([^>\s]{1,100})>")
_KEYSTROKES = re.compile(r"<keystrokes\b[^>]{0,100}>")
_ACTION = re.compile(
    r"^[ \t]*\*{0,2}Action(?:[ ]?\d{1,4})?\*{0,2}[ \t]*:[ \t]*([^\n]*)$", re.MULTILINE
)
_INPUT = re.compile(r"\s*\*{0,2}Action Input\*{0,2}[ \t]*:[ \t]*", re.IGNORECASE)
_OBSERVATION = re.compile(r"^[ \t]*Observation[ \t]*:", re.MULTILINE)
_BRACKETED = re.compile(r"([A-Za-z_][\w .-]{0,60})\[(.*)\]\s*\Z", re.DOTALL)
_NAME = re.compile(r"[`'\"]?([A-Za-z_][\w .-]{0,60})[`'\"]?\s*\Z")


def calls_in(text: str | None) -> tuple[CallPiece, ...]:
    """The calls written in a message. Empty where there are none that a harness would run."""
    if not text:
        return ()
    text = text[:MAX_TEXT]
    if "<function=" in text:
        return tuple(_functions(text))
    if '"commands"' in text:
        found = _terminal(text)
        if found:
            return found
    if "<keystrokes" in text:
        keys = _between(text, _KEYSTROKES, "</keystrokes>")
        if keys:
            return (CallPiece(None, "bash_command", {"keystrokes": "".join(keys)}),)
    if "Action" in text:
        return _react(text)
    return ()


def fenced(text: str | None, *languages: str) -> list[str]:
    """Contents of the fenced blocks in one of these languages, in order."""
    if not text or "```" not in text:
        return []
    blocks = []
    lines = text[:MAX_TEXT].split("\n")
    inside: list[str] | None = None
    for line in lines:
        mark = line.strip()
        if inside is None:
            if mark.startswith("```") and mark[3:].strip() in languages:
                inside = []
        elif mark == "```":
            blocks.append("\n".join(inside).strip())
            inside = None
        else:
            inside.append(line)
    return blocks


def _functions(text: str) -> list[CallPiece]:
    calls = []
    for begun in _FUNCTION.finditer(text):
        end = text.find("</function>", begun.end())
        following = _FUNCTION.search(text, begun.end())
        limit = len(text) if end < 0 else end
        if following is not None and following.start() < limit:
            limit = following.start()
        body = text[begun.end() : limit]
        args: dict[str, Any] = {}
        for part in _PARAMETER.finditer(body):
            stop = body.find("</parameter>", part.end())
            value = body[part.end() : stop if stop >= 0 else len(body)]
            args[part.group(1)] = value.removeprefix("\n").removesuffix("\n")
        calls.append(CallPiece(None, begun.group(1), args))
    return calls


def _between(text: str, opening: re.Pattern[str], closing: str) -> list[str]:
    found, position = [], 0
    while begun := opening.search(text, position):
        end = text.find(closing, begun.end())
        if end < 0:
            break
        found.append(text[begun.end() : end])
        position = end
    return found


def _terminal(text: str) -> tuple[CallPiece, ...]:
    start, end = text.find("{"), text.rfind("}")
    try:
        value = orjson.loads(text[start : end + 1])
    except (ValueError, UnicodeEncodeError):
        return ()
    commands = value.get("commands") if isinstance(value, dict) else None
    keys = [words(row.get("keystrokes")) or "" for row in rows(commands)]
    calls = []
    if keys:
        calls.append(CallPiece(None, "bash_command", {"keystrokes": "".join(keys)}))
    if isinstance(value, dict) and value.get("task_complete") is True:
        calls.append(CallPiece(None, "mark_task_complete", {}))
    return tuple(calls)


def _react(text: str) -> tuple[CallPiece, ...]:
    """The first action: what follows it up to the next observation is made up by the model."""
    begun = _ACTION.search(text)
    if begun is None:
        return ()
    stop = _OBSERVATION.search(text, begun.end())
    rest = text[begun.end() : stop.start() if stop else len(text)]
    if "{" in begun.group(1) + rest[:20]:
        found = _json_action(begun.group(1) + rest)
        if found is not None:
            return (found,)
    named = _NAME.match(begun.group(1))
    given = _INPUT.match(rest)
    if named and given:
        return (CallPiece(None, named.group(1).strip(), arguments(rest[given.end() :].strip())),)
    bracketed = _BRACKETED.match(begun.group(1) if "]" in begun.group(1) else begun.group(1) + rest)
    if bracketed:
        return (CallPiece(None, bracketed.group(1).strip(), bracketed.group(2)),)
    return ()


def _json_action(text: str) -> CallPiece | None:
    """An action that is one JSON object, in a fence or not."""
    start, end = text.find("{"), text.rfind("}")
    try:
        value = orjson.loads(text[start : end + 1])
    except (ValueError, UnicodeEncodeError):
        return None
    if not isinstance(value, dict):
        return None
    for key, given in (("name", "arguments"), ("action", "action_input"), ("tool", "args")):
        tool = name(value.get(key))
        if tool is not None and given in value:
            return CallPiece(None, tool, arguments(value[given]))
    return None
