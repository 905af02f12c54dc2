"""tau-bench results: an array of runs, each with its messages, reward and trial.

Messages are OpenAI's; the user is a simulator. There is neither usage nor time, and the model
stands in the file's name only. Ids of calls repeat within a run, for other tools even: results go
by order. Agents that write their calls as text (`Action: {…}`, `API output: …`) are read from it. A
run that crashed has no messages, only an error. Rows of `messages_display` (examples
for few-shot prompts) are told as text: that tools were called, but neither which nor how.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from loopaudit.formats.apis.openai_chat import ROLES, message_pieces
from loopaudit.formats.base import Format, Sample
from loopaudit.formats.graded import graded
from loopaudit.formats.logreader import LogReader
from loopaudit.formats.shapes import Json, name, shown, table, words
from loopaudit.formats.text_actions import calls_in
from loopaudit.formats.tool_messages import status_of
from loopaudit.model import (
    AttemptPiece,
    BoundaryKind,
    BoundaryPiece,
    CallPiece,
    Piece,
    ResponsePiece,
    ResultPiece,
    RunPiece,
)

_OUTPUT = "API output:"
_SPEAKER = re.compile(r"^(system|user|assistant|tool): ?", re.MULTILINE)


class TauReader(LogReader):
    def read(self, line: int, record: Any) -> Iterable[Piece]:
        if isinstance(record, list):
            for index, item in enumerate(record):
                yield from self._item(line, item, (index,))
        else:
            yield from self._item(line, record, ())

    def _item(self, line: int, item: Any, keys: tuple[Any, ...]) -> Iterable[Piece]:
        place = self.place(line, *keys)
        if not isinstance(item, dict):
            return self.reject(place, "no tau-bench run")
        if isinstance(item.get("messages_display"), str):
            self.used += 1
            return self.emit(_spoken(item["messages_display"]), self.new_run(), place)
        if not isinstance(item.get("traj"), list):
            return self.reject(place, "no tau-bench run: it has no traj")
        self.used += 1
        run = self.new_run(
            "_".join(filter(None, map(name, (item.get("task_id"), item.get("trial")))))
        )
        outcome, source = graded(item.get("reward"), "reward")
        head = RunPiece(run, place, outcome=outcome, outcome_source=source)
        pieces: list[Piece] = [head]
        for index, message in enumerate(item["traj"]):
            at = self.place(line, *keys, "traj", index)
            if not isinstance(message, dict) or message.get("role") not in ROLES:
                self.reject(at, f"no chat message: {shown(message)}")
                continue
            for piece in message_pieces(message):
                found = _in_words(piece)
                found.run, found.line = run, at
                pieces.append(found)
        pieces += _crash(run, place, table(item, "info"))
        return self.emit(pieces)


def _in_words(piece: Piece) -> Piece:
    """A message of an agent without function calling, as what it says. `respond` is an answer."""
    if isinstance(piece, ResponsePiece) and not piece.calls and "Action:" in (piece.text or ""):
        piece.calls = tuple(call for call in calls_in(piece.text) if call.tool != "respond")
    elif isinstance(piece, BoundaryPiece) and (piece.text or "").startswith(_OUTPUT):
        said = (piece.text or "")[len(_OUTPUT) :].strip()
        return ResultPiece("", 0, None, said, status=status_of(said))
    return piece


def _crash(run: str, line: int, info: Json) -> list[Piece]:
    error = words(info.get("error"))
    return [AttemptPiece(run, line, message=error, gave_up=True)] if error else []


def _spoken(text: str) -> list[Piece]:
    """Pieces of a conversation as text. An answer before a tool's words called that tool."""
    parts = _SPEAKER.split(text)
    turns = list(zip(parts[1::2], (part.strip() for part in parts[2::2]), strict=True))
    pieces: list[Piece] = []
    for index, (role, said) in enumerate(turns):
        if role == "user":
            pieces.append(BoundaryPiece("", 0, BoundaryKind.USER, text=said))
        elif role == "tool":
            pieces.append(ResultPiece("", 0, None, said, status=status_of(said)))
        elif role == "assistant":
            calls = turns[index + 1][0] == "tool" if index + 1 < len(turns) else said == "None"
            call = (CallPiece(None, "unknown"),) if calls else ()
            shown_text = None if said == "None" else said
            pieces.append(ResponsePiece("", 0, text=shown_text, calls=call))
    return pieces


def sniff(sample: Sample) -> float:
    records = sample.records
    if sample.document and isinstance(records[0], list):
        records = records[0][:64]
    if not records or not all(isinstance(record, dict) for record in records):
        return 0.0
    if all(isinstance(r.get("traj"), list) and "task_id" in r and "reward" in r for r in records):
        return 0.97
    if all(isinstance(r.get("messages_display"), str) for r in records):
        return 0.9
    return 0.0


FORMAT = Format(
    name="tau_bench",
    title="tau-bench results",
    sniff=sniff,
    reader=TauReader,
    describes=(
        "Result files of tau-bench: one JSON array of runs with task_id, trial, reward and traj. "
        "The reward is the outcome. Neither usage nor times are recorded, nor the model; failures "
        "are told in words (“Error: …”) only."
    ),
    lacks=frozenset(("usage", "times")),
)
