"""Magentic-One console logs: an array of messages, the orchestrator's and those of its team.

The older implementation of AutoGen's team writes only what was said: neither usage nor times nor
the actions of the team's members. A request of the orchestrator is a call to the member it names.
Files of root-cause labels for such runs are passed over.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from loopaudit.formats.base import Format, Sample
from loopaudit.formats.logreader import LogReader
from loopaudit.formats.shapes import name, shown, words
from loopaudit.formats.speakers import is_orchestrated, orchestrated
from loopaudit.model import Piece, RunPiece


class MagenticReader(LogReader):
    def read(self, line: int, record: Any) -> Iterable[Piece]:
        if not isinstance(record, list):
            return self.reject(line, "no talk of Magentic-One")
        if all(map(_is_label, record)):
            self.ignored["root-cause label"] += len(record)
            return ()
        self.used += 1
        run = self.new_run()
        turns = []
        for index, message in enumerate(record):
            place = self.place(line, index)
            speaker = name(message.get("role")) if isinstance(message, dict) else None
            text = words(message.get("content")) if isinstance(message, dict) else None
            if speaker is None or text is None:
                self.reject(place, f"no message with a speaker: {shown(message)}")
            else:
                turns.append((place, speaker, text))
        pieces: list[Piece] = [RunPiece(run, line, agent="Orchestrator")]
        for piece in orchestrated(turns):
            piece.run = run
            pieces.append(piece)
        return self.emit(pieces)


def _is_label(record: Any) -> bool:
    return isinstance(record, dict) and "trajectory_id" in record and "root_cause" in record


def sniff(sample: Sample) -> float:
    records = sample.records
    if not sample.document or not records or not isinstance(records[0], list) or not records[0]:
        return 0.0
    messages = records[0][:32]
    if all(map(_is_label, messages)):
        return 0.9
    if not all(isinstance(m, dict) and isinstance(m.get("role"), str) for m in messages):
        return 0.0
    return 0.96 if is_orchestrated(m["role"] for m in messages) else 0.0


FORMAT = Format(
    name="magentic_one",
    title="Magentic-One talks",
    sniff=sniff,
    reader=MagenticReader,
    describes=(
        "Talks of AutoGen's Magentic-One team: a JSON array of messages with roles such as "
        "“Orchestrator (-> WebSurfer)”. Requests to members are calls, their answers results. "
        "Neither usage nor times nor what the members did are recorded."
    ),
    lacks=frozenset(("usage", "times")),
)
