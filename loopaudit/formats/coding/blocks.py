"""Messages made of content blocks in the Anthropic manner, as several agents write them.

They differ in the names of the kinds and keys ("tool_use" or "tool_call", `tool_use_id` or
`toolUseID`), not in the idea: text, thinking, calls and results stand in one list.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from loopaudit.formats.coding.codex_text import joined
from loopaudit.formats.coding.outputs import ended
from loopaudit.formats.shapes import Json, arguments, name, rows, table, whole, words
from loopaudit.model import CallPiece, CallStatus, ResultPiece

_CALLS = frozenset(("tool_use", "tool_call", "tool-call", "server_tool_use"))
_RESULTS = frozenset(("tool_result", "tool-result"))
_ENDED = {
    "done": CallStatus.OK,
    "error": CallStatus.ERROR,
    "cancelled": CallStatus.INTERRUPTED,
    "canceled": CallStatus.INTERRUPTED,
    "rejected-by-user": CallStatus.REJECTED,
    "rejected": CallStatus.REJECTED,
}


@dataclass(slots=True)
class Blocks:
    texts: list[str] = field(default_factory=list)
    thinking: int = 0  # characters
    calls: list[CallPiece] = field(default_factory=list)
    results: list[ResultPiece] = field(default_factory=list)
    pictures: int = 0

    @property
    def text(self) -> str | None:
        return "\n".join(self.texts) or None


def read_blocks(
    run: str, line: int, at: float | None, content: Any, tools: dict[str, str]
) -> Blocks:
    """What the content of a message holds. `tools`: the tool of each call met so far, by its id."""
    found = Blocks()
    if isinstance(content, str):
        found.texts.append(content)
        return found
    for block in rows([content] if isinstance(content, dict) else content):
        kind = block.get("type")
        if not isinstance(kind, str):
            continue
        if kind in _CALLS:
            call = _call(block, at)
            found.calls.append(call)
            if call.id is not None:
                tools[call.id] = call.tool
        elif kind in _RESULTS:
            found.results.append(_result(run, line, at, block, tools))
        elif kind in ("thinking", "reasoning"):
            found.thinking += len(words(block.get("thinking", block.get("text"))) or "")
        elif kind == "text" and isinstance(block.get("text"), str):
            found.texts.append(block["text"])
        elif kind in ("image", "document"):
            found.pictures += 1
    return found


def _call(block: Json, at: float | None) -> CallPiece:
    given = block.get("input", block.get("parameters", block.get("args")))
    if given is None:
        given = block.get("arguments")
    own = name(block.get("id")) or name(block.get("toolCallId"))
    return CallPiece(own, name(block.get("name")) or "unknown", arguments(given), at)


def _result(
    run: str, line: int, at: float | None, block: Json, tools: dict[str, str]
) -> ResultPiece:
    own = None
    for key in ("tool_use_id", "toolUseID", "toolUseId", "tool_call_id", "toolCallId"):
        own = own or name(block.get(key))
    piece = ResultPiece(run, line, own, None, at, tool=name(block.get("name")))
    tool = piece.tool or tools.get(own or "")
    ran = table(block, "run")
    if ran:
        status = _ENDED.get(words(ran.get("status")) or "")
        said = ran.get("error") if status is CallStatus.ERROR else None
        piece.text = _plain(ran.get("result") if said is None else said)
        code = whole(table(ran, "result").get("exitCode"))
        if status is None:
            piece.status = CallStatus.UNANSWERED if ran.get("status") else CallStatus.OK
        elif status is CallStatus.OK:
            piece.status, piece.exit_code = ended(piece.text, False, tool)
            if code is not None:
                piece.exit_code = code
                piece.status = CallStatus.ERROR if code else CallStatus.OK
        else:
            piece.status = status
        return piece
    flag = block.get("is_error", block.get("isError"))
    piece.text = joined(block.get("content", block.get("output")))
    flag = flag if isinstance(flag, bool) else None
    piece.status, piece.exit_code = ended(piece.text, flag, tool)
    return piece


def _plain(value: Any) -> Any:
    """The words of a structured result where it has one field of them, else the value."""
    if isinstance(value, dict):
        for key in ("output", "message", "content", "text"):
            if isinstance(value.get(key), str):
                return value[key]
    return value
