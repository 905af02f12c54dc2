"""Copilot's `session-store.db`: the usage of every request, one row each.

The only place where inputs are recorded exactly. The events of a session, in
`session-state/<session>/events.jsonl` beside it, tell the calls: where they are there, a row is the
usage of the API call that has the same number of output tokens, both in order. A row without such a
call (a title, a check) was paid for, but is no step.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import orjson

from loopaudit import files
from loopaudit.formats.shapes import Json, count, name, seconds, table
from loopaudit.formats.usages import named_usage
from loopaudit.model import ResponsePiece, StepKind, Usage

FILE = "session-store.db"
_FIT = 0.8  # of the rows must find their call, else rows and calls are not of one session


@dataclass(slots=True)
class _Row:
    line: int
    values: Json


class Store:
    """The rows of one database, until its end."""

    def __init__(self, path: str) -> None:
        self._folder = os.path.dirname(path)
        self._rows: dict[str, dict[str, list[_Row]]] = {}  # session -> run -> rows

    def add(self, line: int, row: Json) -> bool:
        """Take a row; False where it names no session."""
        session = name(row.get("session_id"))
        if session is None:
            return False
        caller = name(row.get("parent_tool_call_id"))
        run = session if caller is None else f"{session}/{caller}"
        self._rows.setdefault(session, {}).setdefault(run, []).append(_Row(line, row))
        return True

    def told(self) -> Iterable[ResponsePiece]:
        for session, runs in self._rows.items():
            calls = _calls(self._folder, session)
            for run, rows in runs.items():
                yield from _matched(run, rows, None if calls is None else calls.get(run, []))


def beside_store(path: str) -> bool:
    """Whether the store lies where that of the events at `path` does."""
    here = path if files.is_remote(path) else os.path.abspath(path)
    folder = os.path.dirname(here) if path not in ("", "-") else ""
    return any(
        files.is_file(os.path.join(folder, *up, FILE)) for up in (("..", ".."), ("..",)) if folder
    )


def _calls(folder: str, session: str) -> dict[str, list[tuple[str, int]]] | None:
    """API calls of a session and their output tokens, by run and in order; None: no events."""
    state = os.path.join(folder, "session-state")
    for parts in ((session, "events.jsonl"), (f"{session}.jsonl",)):
        path = os.path.join(state, *parts)
        if os.sep in session or not files.is_file(path):
            continue
        found: dict[str, dict[str, int]] = {}
        try:
            with files.opened_at(path, 0) as file:
                for line in file:
                    if b'"assistant.message"' in line:
                        _note(session, line, found)
        except OSError:
            return None
        return {run: list(calls.items()) for run, calls in found.items()}
    return None


def _note(session: str, line: bytes, found: dict[str, dict[str, int]]) -> None:
    try:
        record: Any = orjson.loads(line)
    except ValueError:
        return
    if not isinstance(record, dict) or record.get("type") != "assistant.message":
        return
    data = table(record, "data")
    key = name(data.get("apiCallId")) or name(data.get("messageId")) or name(record.get("id"))
    if key is not None:
        caller = name(data.get("parentToolCallId"))
        calls = found.setdefault(session if caller is None else f"{session}/{caller}", {})
        calls[key] = max(calls.get(key, 0), count(data.get("outputTokens")) or 0)


def _pairs(outputs: list[int | None], calls: list[tuple[str, int]]) -> list[str | None] | None:
    """The call of each row, by its output tokens, in order; None where the two do not fit."""
    found: list[str | None] = []
    place = 0
    for output in outputs:
        at = next((i for i in range(place, len(calls)) if calls[i][1] == output), None)
        found.append(None if at is None else calls[at][0])
        place = place if at is None else at + 1
    if len(outputs) - found.count(None) >= _FIT * min(len(outputs), len(calls)):
        return found
    return [key for key, _ in calls] if len(calls) == len(outputs) else None


def _matched(
    run: str, rows: list[_Row], calls: list[tuple[str, int]] | None
) -> Iterable[ResponsePiece]:
    told = [(row, usage) for row in rows if (usage := _usage(row.values)) is not None]
    keys: list[str | None] | None = [f"{run}/request {row.line}" for row, _ in told]
    if calls:
        keys = _pairs([usage.output for _, usage in told], calls)
    for (row, usage), key in zip(told, keys or (), strict=False):
        values = row.values
        yield ResponsePiece(
            run,
            row.line,
            id=key or f"{run}/request {row.line}",
            at=seconds(values.get("created_at")),
            model=name(values.get("copilot_usage_model")) or name(values.get("model")),
            usage=usage,
            finish=name(values.get("finish_reason")),
            kind=StepKind.MODEL if key is not None else StepKind.COMPACTION,
        )


def _usage(values: Json) -> Usage | None:
    usage = named_usage(
        values,
        whole="input_tokens",
        read="cache_read_tokens",
        write="cache_write_tokens",
        output="output_tokens",
    )
    reasoning = count(values.get("reasoning_tokens"))
    if usage is not None and reasoning is not None and reasoning <= (usage.output or 0):
        usage.reasoning = reasoning
    return usage
