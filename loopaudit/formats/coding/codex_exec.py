"""`codex exec --json`: events of items and turns, another schema than Codex's own rollouts.

No times, and usage only at the end of a turn, as the counter of the whole thread: the difference to
the turn before is spread over the responses of the turn. Items do not tell which response they
belong to: those that begin before a result comes are taken as one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from loopaudit.formats.base import Format, Sample
from loopaudit.formats.coding.outputs import ended
from loopaudit.formats.coding.sessions import SessionReader, spread
from loopaudit.formats.shapes import Json, count, name, output_of, shown, table, whole, words
from loopaudit.formats.usages import named_usage
from loopaudit.model import (
    AttemptPiece,
    CallPiece,
    CallStatus,
    Piece,
    ResponsePiece,
    ResultPiece,
    Usage,
)

_COUNTED = re.compile(r"[^\n]{0,80}?(\d{1,4})/(\d{1,4})")
_KINDS = (
    *("input_tokens", "cached_input_tokens", "cache_write_input_tokens", "output_tokens"),
    "reasoning_output_tokens",
)
_TOOLS = {"command_execution": "shell", "file_change": "apply_patch", "web_search": "web_search"}
_ENDED = ("completed", "failed", "declined")


class CodexExecReader(SessionReader):
    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._run = self.stem
        self._ids: list[str] = []  # responses of the turn
        self._number = 0  # responses of the run
        self._answered = True
        self._called: set[str] = set()  # items whose call was given
        self._counter: dict[str, int] = {}

    def read(self, line: int, record: Any) -> Iterable[Piece]:
        if not isinstance(record, dict) or not isinstance(record.get("type"), str):
            return self.reject(line, "no event")
        kind = record["type"]
        if kind.startswith("item."):
            return self._item(line, kind, table(record, "item"))
        if kind == "thread.started":
            self.used += 1
            self._run = name(record.get("thread_id")) or self._run
            return self.emit([self.begun(self._run, line)])
        if kind == "turn.completed":
            self.used += 1
            ids, self._ids = self._ids, []
            return self.emit(spread(self._run, line, ids, self._spent(record.get("usage"))))
        if kind in ("turn.failed", "error"):
            self.used += 1
            said = words(table(record, "error").get("message")) or words(record.get("message"))
            return self.emit([self._failed(line, said, kind == "turn.failed")])
        return self.ignore(kind)

    def _failed(self, line: int, said: str | None, gave_up: bool) -> AttemptPiece:
        """A failed request: "Reconnecting... 2/5 (reason)" is one that is made again."""
        found = _COUNTED.match(said or "") if (said or "").startswith("Reconnecting") else None
        return AttemptPiece(
            self._run,
            line,
            message=said,
            number=int(found.group(1)) if found else None,
            limit=int(found.group(2)) if found else None,
            gave_up=gave_up,
            layer="codex",
        )

    def _spent(self, value: Any) -> Usage | None:
        """What the turn added to the counter of the thread."""
        if not isinstance(value, dict):
            return None
        counter = {key: count(value.get(key)) or 0 for key in _KINDS}
        before = self._counter
        if before and all(counter[key] >= before[key] for key in _KINDS):
            turn = {key: counter[key] - before[key] for key in _KINDS}
        else:
            turn = counter
        self._counter = counter
        return named_usage(
            turn,
            whole="input_tokens",
            read="cached_input_tokens",
            write="cache_write_input_tokens",
            output="output_tokens",
            reasoning="reasoning_output_tokens",
        )

    # -- items ------------------------------------------------------------------------------------

    def _item(self, line: int, event: str, item: Json) -> Iterable[Piece]:
        kind = words(item.get("type", item.get("item_type")))
        own = name(item.get("id")) or f"line {line}"
        done = event == "item.completed"
        if kind is None:
            return self.reject(line, f"an item without type: {shown(item)}")
        if kind in ("agent_message", "assistant_message", "reasoning"):
            if not done:
                return self.ignore(f"{event} of {kind}")
            self.used += 1
            text = words(item.get("text"))
            answer = self._response(line)
            if kind == "reasoning":
                answer.thinking_chars = len(text or "")
            else:
                answer.text = text
            return self.emit([answer])
        if kind == "error":
            self.used += 1
            return self.emit([self._failed(line, words(item.get("message")), False)])
        if kind == "todo_list":
            return self.ignore("todo_list")
        if event == "item.updated":
            return self.ignore(f"{event} of {kind}")
        self.used += 1
        pieces: list[Piece] = []
        if own not in self._called:
            self._called.add(own)
            answer = self._response(line)
            answer.calls = (_call(own, kind, item),)
            pieces.append(answer)
        if done or item.get("status") in _ENDED:
            pieces.append(_result(self._run, line, own, kind, item))
            self._answered = True
        return self.emit(pieces)

    def _response(self, line: int) -> ResponsePiece:
        if self._answered or not self._ids:
            self._number += 1
            self._ids.append(f"{self._run}/response {self._number}")
            self._answered = False
        return ResponsePiece(self._run, line, id=self._ids[-1])


def _call(own: str, kind: str, item: Json) -> CallPiece:
    if kind == "mcp_tool_call":
        tool = f"mcp__{name(item.get('server')) or '?'}__{name(item.get('tool')) or '?'}"
        return CallPiece(own, tool, item.get("arguments"))
    args: Json = {key: item[key] for key in ("command", "changes", "query") if key in item}
    if kind not in _TOOLS:
        known = ("id", "type", "status", "aggregated_output", "result", "error", "exit_code")
        args = {key: value for key, value in item.items() if key not in known}
    return CallPiece(own, _TOOLS.get(kind) or name(item.get("tool")) or kind, args)


def _result(run: str, line: int, own: str, kind: str, item: Json) -> ResultPiece:
    status, code = CallStatus.OK, whole(item.get("exit_code"))
    text: Any = item.get("aggregated_output")
    error = item.get("error")
    if text is None:
        result = item.get("result")
        text = output_of(result.get("content")) if isinstance(result, dict) else result
    if isinstance(error, dict | str):
        text = words(error) or words(table(item, "error").get("message")) or text
    if item.get("status") == "declined":
        status = CallStatus.REJECTED
    elif item.get("status") == "failed" or code or error:
        status, told = ended(text, True)
        code = told if code is None else code
    return ResultPiece(run, line, own, text, None, status, exit_code=code)


def sniff(sample: Sample) -> float:
    found = 0
    for record in sample.records:
        if not isinstance(record, dict):
            return 0.0
        kind = record.get("type")
        if kind == "thread.started" and "thread_id" in record:
            return 0.98
        found += kind in ("item.started", "item.completed", "item.updated") and "item" in record
        found += kind == "turn.completed" and "usage" in record
    return 0.95 if found else 0.0


FORMAT = Format(
    name="codex_exec",
    title="Output of `codex exec --json`",
    sniff=sniff,
    reader=CodexExecReader,
    describes=(
        "The lines that `codex exec --json` prints. They hold no times and no model, and usage of "
        "whole turns only: it is spread evenly over the responses of the turn, and which items are "
        "one response is guessed from their order. The rollout of the same thread under "
        "~/.codex/sessions tells all of this."
    ),
    lacks=frozenset(("times",)),
)
