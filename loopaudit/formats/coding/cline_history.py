"""What a Cline-like agent sent to the model: calls and results, as blocks or as tags in the text.

Old versions write calls as elements in the answer (`<read_file><path>…`), and results as text
"[read_file for 'x'] Result:" in the next message. A call has no id then and results pair in order.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from loopaudit.formats.coding.blocks import read_blocks
from loopaudit.formats.coding.outputs import ended
from loopaudit.formats.coding.spoken import spoken
from loopaudit.formats.shapes import Json, name, rows, seconds, table
from loopaudit.formats.usages import named_usage
from loopaudit.model import BoundaryPiece, CallPiece, Piece, ResponsePiece, ResultPiece

_TOOLS = (
    "execute_command|read_file|write_to_file|replace_in_file|apply_diff|insert_content"
    "|search_and_replace|search_files|list_files|list_code_definition_names|browser_action"
    "|use_mcp_tool|access_mcp_resource|ask_followup_question|attempt_completion|new_task"
    "|switch_mode|fetch_instructions|plan_mode_respond|load_mcp_documentation|web_fetch"
    "|codebase_search|update_todo_list|edit_file|condense|new_rule|report_bug|run_slash_command"
)
_CALL = re.compile(rf"<({_TOOLS})>(.*?)</\1>", re.DOTALL)
_ARGUMENT = re.compile(r"<([a-z_]{1,40})>(.*?)</\1>", re.DOTALL)
_RESULT = re.compile(rf"\[({_TOOLS})\b[^\n]{{0,500}}?\] Result:\s*", re.DOTALL)
_MOST = 2_000_000  # characters of an answer that is searched for calls


def conversation(run: str, messages: list[Any], place: Callable[[int], int]) -> list[Piece]:
    """Pieces of a conversation; `place` tells the line of a message by its index."""
    pieces: list[Piece] = []
    tools: dict[str, str] = {}  # of calls, by id
    for index, message in enumerate(messages):
        if isinstance(message, dict):
            pieces += _message(run, place(index), message, tools)
    return pieces


def _message(run: str, line: int, message: Json, tools: dict[str, str]) -> list[Piece]:
    at = seconds(message.get("ts"))
    found = read_blocks(run, line, at, message.get("content"), tools)
    if message.get("role") == "assistant":
        text = found.text
        calls = found.calls or (_tagged(text, at) if text else [])
        metrics = table(message, "metrics")
        usage = named_usage(
            table(metrics, "tokens"),
            fresh="prompt",
            read="cached",
            output="completion",
        )
        model = name(table(message, "modelInfo").get("modelId"))
        return [
            ResponsePiece(
                run,
                line,
                at=at,
                model=model,
                text=_CALL.sub("", text).strip() or None if text and not found.calls else text,
                thinking_chars=found.thinking,
                calls=tuple(calls),
                usage=usage,
            ),
            *found.results,
        ]
    if message.get("role") != "user":
        return []
    pieces: list[Piece] = [*found.results]
    own: list[str] = []
    waiting: ResultPiece | None = None
    for text in found.texts:
        told = _RESULT.match(text)
        if told is not None:
            body = text[told.end() :]
            status, code = ended(body, None, told.group(1))
            waiting = ResultPiece(run, line, None, body, at, status, told.group(1), exit_code=code)
            if not body:  # it stands in the next block
                continue
            pieces.append(waiting)
        elif waiting is not None and not waiting.text:
            waiting.text = text
            waiting.status, waiting.exit_code = ended(text, None, waiting.tool)
            pieces.append(waiting)
        else:
            own.append(text)
        waiting = None
    kind, said = spoken("\n".join(own)) if own else (None, None)
    if kind is not None:
        pieces.append(BoundaryPiece(run, line, kind, at, said))
    return pieces


def _tagged(text: str, at: float | None) -> list[CallPiece]:
    if len(text) > _MOST or "<" not in text:
        return []
    return [
        CallPiece(None, tool, {key: value.strip() for key, value in _ARGUMENT.findall(body)}, at)
        for tool, body in _CALL.findall(text)
    ]


def is_history(messages: list[Json]) -> bool:
    """Whether chat messages are those of a Cline-like agent."""
    for message in messages[:4]:
        if message.get("role") != "user":
            continue
        for block in rows(message.get("content")):
            text = block.get("text")
            if isinstance(text, str) and (
                "<environment_details>" in text or text.startswith(("<task>", "<user_message>"))
            ):
                return True
    return False
