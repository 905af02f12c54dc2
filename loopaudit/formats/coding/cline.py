"""Cline, Roo Code and Kilo Code: the two files of a task.

`ui_messages.json` holds what the user saw: each `api_req_started` is one request, its usage and
cost filled in when it ends. `api_conversation_history.json` holds what the model saw: calls with
their results. The first is read together with the second where both lie in one folder and hold
equally many answered requests; the second alone has no usage.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from loopaudit import files
from loopaudit.formats.base import Format, Sample
from loopaudit.formats.coding.cline_history import conversation, is_history
from loopaudit.formats.coding.cline_ui import Ui
from loopaudit.formats.coding.sessions import SessionReader, beside, load
from loopaudit.formats.shapes import Json, name, rows, shown
from loopaudit.model import Piece, ResponsePiece

_UI, _HISTORY = "ui_messages.json", "api_conversation_history.json"


class ClineReader(SessionReader):
    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._ui: Ui | None = None  # of messages that come one a line
        self._streamed: str | None = None  # their task

    def end(self) -> Iterable[Piece]:
        ui, self._ui = self._ui, None
        pieces = self.emit(self._alone(ui)) if ui is not None else []
        super().end()
        return pieces

    def read(self, line: int, record: Any) -> Iterable[Piece]:
        if (
            (isinstance(record, dict) and ("tokensIn" in record or "files_in_context" in record))
            or _tasks(record)
            or _changes(self.path, record)
        ):
            return self.ignore("facts of a task (read with its messages)")
        if isinstance(record, dict) and "ts" in record and ("say" in record or "ask" in record):
            self._ui = self._ui or Ui(self._streamed or self.new_run())
            self.used += 1
            self._ui.read(line, record)
            return ()
        if isinstance(record, dict) and record.get("type") == "task_started":
            self.used += 1
            self._streamed = name(record.get("taskId"))
            return ()
        if not isinstance(record, list):
            return self.reject(line, f"no list of messages: {shown(record)}")
        run = _task(self.path) or self.new_run()
        ui = any("say" in item or "ask" in item for item in rows(record))
        if not ui and _there(self.path, _UI):
            return self.ignore(f"conversation (read with {_UI})")
        self.used += 1
        facts = beside(self.path, "history_item.json")
        parent = name(facts.get("parentTaskId"))
        project = name(facts.get("workspace", facts.get("cwdOnTaskInitialization")))
        pieces: list[Piece] = [self.begun(run, line, session=None, parent=parent, project=project)]
        if ui:
            pieces += self._seen(run, line, record)
        else:
            pieces += conversation(run, record, lambda index: self.place(line, index))
        return self.emit(pieces)

    def _seen(self, run: str, line: int, record: list[Any]) -> list[Piece]:
        ui = Ui(run)
        for index, item in enumerate(record):
            place = self.place(line, index)
            if isinstance(item, dict) and ("say" in item or "ask" in item):
                ui.read(place, item)
            else:
                self.reject(place, f"no message: {shown(item)}")
        history = _history(self.path)
        paired = ui.with_calls(conversation(run, history, lambda _: 1)) if history else None
        if paired is not None:
            return paired
        return self._alone(ui)

    def _alone(self, ui: Ui) -> list[Piece]:
        pieces = ui.alone()
        if any(piece.calls for piece in pieces if isinstance(piece, ResponsePiece)):
            self.missing.add("results")  # only commands show theirs
        return pieces


def _tasks(record: Any) -> bool:
    """Whether a list is `taskHistory.json`, the index of all tasks with their sums."""
    some = rows(record[:16]) if isinstance(record, list) else []
    return bool(some) and all({"id", "ts", "task", "tokensIn"} <= item.keys() for item in some)


def _changes(path: str, record: Any) -> bool:
    """Whether it is `context_history.json`: what was cut out of the conversation."""
    return isinstance(record, list) and os.path.basename(path) == "context_history.json"


def _task(path: str) -> str | None:
    """The folder of a task is named after it."""
    if path in ("", "-") or os.path.basename(path) not in (_UI, _HISTORY):
        return None
    return os.path.basename(os.path.dirname(os.path.abspath(path))) or None


def _there(path: str, other: str) -> bool:
    folder = os.path.dirname(path)
    return path not in ("", "-") and files.is_file(os.path.join(folder, other))


def _history(path: str) -> list[Json]:
    if os.path.basename(path) != _UI:
        return []
    try:
        return rows(load(files.whole(os.path.join(os.path.dirname(path), _HISTORY))))
    except OSError:
        return []


def sniff(sample: Sample) -> float:
    for record in sample.records[:1]:
        if isinstance(record, list):
            if _tasks(record) or _changes(sample.path, record):
                return 0.9
            some = rows(record[:64])
            if any("ts" in item and ("say" in item or "ask" in item) for item in some):
                return 0.97
            if is_history(some):
                return 0.95
        elif isinstance(record, dict) and record.get("type") == "task_started":
            return 0.95 if "taskId" in record else 0.0
        elif isinstance(record, dict) and record.get("type") in ("say", "ask"):
            return 0.95 if "ts" in record and ("say" in record or "ask" in record) else 0.0
        elif isinstance(record, dict) and len(sample.records) == 1:
            if "files_in_context" in record and "model_usage" in record:
                return 0.9
            return 0.9 if {"tokensIn", "tokensOut", "ts", "task"} <= record.keys() else 0.0
    return 0.0


FORMAT = Format(
    name="cline",
    title="Cline, Roo Code and Kilo Code tasks",
    sniff=sniff,
    reader=ClineReader,
    describes=(
        "ui_messages.json (usage, cost, times) and api_conversation_history.json (calls, results) "
        "of a task, in <editor>/User/globalStorage/<extension>/tasks/<task>/ or "
        "~/.cline/data/tasks; the output of `cline task --json`. Input excludes cached tokens. A "
        "request without cost was stopped or is under way. Requests of messages that Roo deleted "
        "are gone, but for their sum."
    ),
)
