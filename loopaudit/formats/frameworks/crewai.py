"""CrewAI: results of a crew (`CrewOutput`), and the file that `output_log_file` writes.

Each task of a result is a run with its messages. Usage is the crew's total, shared out over all
responses. Agents that call tools in words (Action, Action Input) have the answer in the same
message. The log file tells only when tasks began and ended: that calls were made is not told.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from loopaudit.formats.apis.openai_chat import message_pieces
from loopaudit.formats.base import Format, Sample
from loopaudit.formats.logreader import LogReader
from loopaudit.formats.shapes import Json, name, rows, seconds, shown, table, words
from loopaudit.formats.text_actions import calls_in
from loopaudit.formats.tool_messages import status_of
from loopaudit.formats.totals import share_usage
from loopaudit.formats.usages import openai_usage
from loopaudit.model import (
    BoundaryKind,
    BoundaryPiece,
    CallStatus,
    Piece,
    ResponsePiece,
    ResultPiece,
    RunPiece,
    Usage,
)

_OBSERVED = "Observation:"


class CrewReader(LogReader):
    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._open: dict[tuple[str | None, str | None], str] = {}  # task, agent -> run

    def read(self, line: int, record: Any) -> Iterable[Piece]:
        if isinstance(record, list):
            return self._log(line, record)
        if isinstance(record, dict) and isinstance(record.get("tasks_output"), list):
            return self._crew(line, record)
        if isinstance(record, dict) and "task_name" in record and "status" in record:
            return self._event(line, record)
        return self.reject(line, "no CrewAI result")

    def _crew(self, line: int, record: Json) -> list[Piece]:
        self.used += 1
        pieces: list[Piece] = []
        answers: list[ResponsePiece] = []
        for index, task in enumerate(record["tasks_output"]):
            place = self.place(line, "tasks_output", index)
            if not isinstance(task, dict):
                self.reject(place, "no task")
                continue
            run = self.new_run()
            pieces.append(RunPiece(run, place, agent=name(task.get("agent"))))
            messages = task.get("messages")
            found = list(
                self._messages(line, index, messages if isinstance(messages, list) else [])
            )
            _flag(found, task.get("tool_failures"))
            if not found:
                found = [(place, piece) for piece in _bare(task)]
            for at, piece in found:
                piece.run, piece.line = run, at
                pieces.append(piece)
                if isinstance(piece, ResponsePiece):
                    answers.append(piece)
        usage = _usage(table(record, "token_usage"))
        if usage is not None and usage.total:
            share_usage(usage, answers)
        return self.emit(pieces)

    def _messages(self, line: int, task: int, messages: list[Any]) -> Iterable[tuple[int, Piece]]:
        for index, message in enumerate(messages):
            place = self.place(line, "tasks_output", task, "messages", index)
            if not isinstance(message, dict):
                self.reject(place, f"no message: {shown(message)}")
                continue
            for piece in message_pieces(message):
                yield place, piece
                if isinstance(piece, ResponsePiece) and not piece.calls:
                    for result in _in_words(piece):
                        yield place, result

    def _log(self, line: int, events: list[Any]) -> Iterable[Piece]:
        for index, event in enumerate(events):
            place = self.place(line, index)
            if isinstance(event, dict):
                yield from self._event(place, event)
            else:
                self.reject(place, "no event of a task")

    def _event(self, line: int, event: Json) -> list[Piece]:
        """Start or end of a task; of what came between nothing is told."""
        self.used += 1
        at = seconds(event.get("timestamp"))
        key = (name(event.get("task_name")), name(event.get("agent")))
        status = event.get("status")
        pieces: list[Piece] = []
        if status == "started" or key not in self._open:
            self._open[key] = self.new_run()
            pieces.append(RunPiece("", 0, agent=key[1], at=at))
            pieces.append(BoundaryPiece("", 0, BoundaryKind.USER, at, words(event.get("task"))))
        if status != "started":
            pieces.append(ResponsePiece("", 0, at=at, text=words(event.get("output"))))
        self.missing |= {"results", "arguments", "usage"}
        return self.emit(pieces, self._open[key], line)


def _in_words(answer: ResponsePiece) -> Iterable[Piece]:
    """The call in the words of an answer, and what it brought, which stands below it."""
    text = answer.text or ""
    calls = calls_in(text) if "Action" in text and "Final Answer:" not in text else ()
    if not calls:
        return
    answer.calls = calls[:1]
    head, found, observed = text.partition(_OBSERVED)
    if found and observed.strip():
        answer.text = head
        output = observed.strip()
        yield ResultPiece("", 0, None, output, status=status_of(output))


def _flag(found: list[tuple[int, Piece]], failures: Any) -> None:
    """Marks results that the task lists among the failures of its tools."""
    said = {words(table(item, "failure").get("message")) for item in rows(failures)} - {None, ""}
    told = [text for text in said if text is not None]
    for _, piece in found:
        if not isinstance(piece, ResultPiece) or not isinstance(piece.text, str):
            continue
        if any(text in piece.text for text in told):
            piece.status = CallStatus.ERROR


def _bare(task: Json) -> Iterable[Piece]:
    """A task without messages, as older versions have it: the question and the answer."""
    yield BoundaryPiece("", 0, BoundaryKind.USER, text=words(task.get("description")))
    yield ResponsePiece("", 0, text=words(task.get("raw")))


def _usage(value: Json) -> Usage | None:
    return openai_usage(
        {
            "prompt_tokens": value.get("prompt_tokens"),
            "completion_tokens": value.get("completion_tokens"),
            "prompt_tokens_details": {
                "cached_tokens": value.get("cached_prompt_tokens"),
                "cache_write_tokens": value.get("cache_creation_tokens"),
            },
            "completion_tokens_details": {"reasoning_tokens": value.get("reasoning_tokens")},
        }
    )


def sniff(sample: Sample) -> float:
    records = sample.records
    if not records:
        return 0.0
    first = records[0]
    if isinstance(first, dict) and isinstance(first.get("tasks_output"), list):
        return 0.97 if "token_usage" in first or "raw" in first else 0.5
    if isinstance(first, list) and sample.document:
        records = first[:32]
    fits = [
        isinstance(r, dict) and {"timestamp", "task_name", "agent", "status"} <= r.keys()
        for r in records
    ]
    return 0.95 if fits and all(fits) else 0.0


FORMAT = Format(
    name="crewai",
    title="CrewAI results and task logs",
    sniff=sniff,
    reader=CrewReader,
    describes=(
        "CrewOutput as JSON (tasks_output with messages, token_usage), and output_log_file in "
        "JSON. Usage is the crew's total; there are no times of single calls, and the log file "
        "tells of no call at all."
    ),
)
