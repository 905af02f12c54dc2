"""Who&When: failed runs of agent teams as text, with who erred at which step.

Hand-crafted ones are Magentic-One's talks with an orchestrator, algorithm-generated ones AutoGen's
group chats. There is neither usage nor time, and calls are what the words show: requests to the
others, and code that a terminal ran. Where the mistake was made is a label for those who measure.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from loopaudit.formats.base import Format, Sample
from loopaudit.formats.graded import graded
from loopaudit.formats.logreader import LogReader
from loopaudit.formats.shapes import name, shown, words
from loopaudit.formats.speakers import group_talk, is_orchestrated, orchestrated
from loopaudit.model import Piece, RunPiece


class WhoWhenReader(LogReader):
    def read(self, line: int, record: Any) -> Iterable[Piece]:
        if not isinstance(record, dict) or not isinstance(record.get("history"), list):
            return self.reject(line, "no run of Who&When: it has no history")
        self.used += 1
        run = self.new_run(name(record.get("question_ID")))
        right = record.get("is_correct", record.get("is_corrected"))
        outcome, source = graded(right, "is_correct")
        head = RunPiece(run, line, outcome=outcome, outcome_source=source)
        head.prompt = words(record.get("question"))
        if head.prompt:
            self._prompted.add(run)
        turns = []
        for index, message in enumerate(record["history"]):
            place = self.place(line, "history", index)
            speaker = _speaker(message)
            text = words(message.get("content")) if isinstance(message, dict) else None
            if speaker is None or text is None:
                self.reject(place, f"no message with a speaker: {shown(message)}")
            else:
                turns.append((place, speaker, text))
        read = orchestrated if is_orchestrated(speaker for _, speaker, _ in turns) else group_talk
        pieces: list[Piece] = [head]
        for piece in read(turns):
            piece.run = run
            pieces.append(piece)
        return self.emit(pieces)


def _speaker(message: Any) -> str | None:
    """Names before roles: in group chats a role is the receiver's view."""
    if not isinstance(message, dict):
        return None
    return name(message.get("name")) or name(message.get("role"))


def _is_run(record: Any) -> bool:
    return (
        isinstance(record, dict)
        and isinstance(record.get("history"), list)
        and ("mistake_step" in record or "mistake_agent" in record)
    )


def sniff(sample: Sample) -> float:
    return 0.98 if sample.records and all(map(_is_run, sample.records)) else 0.0


FORMAT = Format(
    name="who_and_when",
    title="Who&When failure logs",
    sniff=sniff,
    reader=WhoWhenReader,
    describes=(
        "Failed runs of the Who&When data set, one file each: talks of agent teams, with the agent "
        "and the step of the mistake. Calls are requests to other agents and code that was run. "
        "Neither usage nor times nor models are recorded."
    ),
    lacks=frozenset(("usage", "times")),
)
