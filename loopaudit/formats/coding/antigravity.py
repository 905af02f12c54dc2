"""Antigravity transcripts: one step a line, the planner's calls followed by steps that are results.

A `PLANNER_RESPONSE` names its calls; the steps of the model after it (`RUN_COMMAND`, `VIEW_FILE` …)
are their results, in order. A step that follows when all calls are answered was run by the agent
program itself and is taken as a call of its own, named after the step. No tokens.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from loopaudit.formats.base import Format, Sample
from loopaudit.formats.coding.outputs import ended
from loopaudit.formats.coding.sessions import SessionReader, load
from loopaudit.formats.shapes import Json, name, rows, seconds, shown, words
from loopaudit.model import (
    BoundaryKind,
    BoundaryPiece,
    CallPiece,
    CallStatus,
    Piece,
    ResponsePiece,
    ResultPiece,
)

_SOURCES = ("USER_EXPLICIT", "MODEL", "SYSTEM", "USER_IMPLICIT")
_LABELS = frozenset(("toolSummary", "toolAction"))  # arguments that only describe the call
_STATUS = {
    "ERROR": CallStatus.ERROR,
    "CANCELED": CallStatus.INTERRUPTED,
    "CANCELLED": CallStatus.INTERRUPTED,
    "REJECTED": CallStatus.REJECTED,
}


class AntigravityReader(SessionReader):
    unnamed_calls = True

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._run = _session(path) or self.stem
        self._begun = False
        self._open = 0  # calls of the planner without a result

    def read(self, line: int, record: Any) -> Iterable[Piece]:
        if not isinstance(record, dict):
            return self.reject(line, "not a JSON object")
        kind = record.get("type")
        if not isinstance(kind, str) or "step_index" not in record:
            return self.reject(line, f"no step: type {shown(kind)}")
        at = seconds(record.get("created_at"))
        pieces: list[Piece] = [] if self._begun else [self.begun(self._run, line)]
        if kind == "USER_INPUT":
            pieces.append(self.said(self._run, line, at, words(record.get("content"))))
        elif kind == "PLANNER_RESPONSE":
            pieces.append(self._plan(line, at, record))
        elif kind == "CHECKPOINT":
            pieces.append(BoundaryPiece(self._run, line, BoundaryKind.COMPACTION, at))
        elif kind in ("SYSTEM_MESSAGE", "EPHEMERAL_MESSAGE"):
            text = words(record.get("content"))
            pieces.append(self.said(self._run, line, at, text, inserted=True))
        elif record.get("source") == "MODEL":
            pieces += self._result(line, at, kind, record)
        else:
            return self.ignore(f"step {kind}")
        self._begun = True
        self.used += 1
        return self.emit(pieces)

    def _plan(self, line: int, at: float | None, record: Json) -> ResponsePiece:
        calls = [
            CallPiece(
                name(call.get("id")), name(call.get("name")) or "unknown", _given(call.get("args"))
            )
            for call in rows(record.get("tool_calls"))
        ]
        self._open = len(calls)
        return ResponsePiece(
            self._run,
            line,
            at=at,
            text=words(record.get("content")) or None,
            thinking_chars=len(words(record.get("thinking")) or ""),
            calls=tuple(calls),
        )

    def _result(self, line: int, at: float | None, kind: str, record: Json) -> list[Piece]:
        pieces: list[Piece] = []
        if self._open > 0:
            self._open -= 1
        else:
            call = CallPiece(None, kind.lower(), None, at)
            pieces.append(ResponsePiece(self._run, line, at=at, calls=(call,)))
        text = words(record.get("content")) or words(record.get("error"))
        flagged = _STATUS.get(words(record.get("status")) or "")
        status, code = ended(text, True if flagged is CallStatus.ERROR else None, kind)
        if flagged is not None and flagged is not CallStatus.ERROR:
            status = flagged
        pieces.append(ResultPiece(self._run, line, None, text, at, status, exit_code=code))
        return pieces


def _given(args: Any) -> Any:
    """Arguments, each of which may be JSON in a text, without those that only describe."""
    if not isinstance(args, dict):
        return args
    given: Json = {}
    for key, value in args.items():
        if key in _LABELS:
            continue
        if isinstance(value, str) and value[:1] in '"[{':
            value = load(value)
        given[key] = value
    return given


def _session(path: str) -> str | None:
    """`…/brain/<id>/.system_generated/logs/transcript.jsonl`"""
    parts = os.path.abspath(path).split(os.sep)
    if len(parts) > 3 and parts[-3] == ".system_generated":
        return parts[-4]
    return None


def sniff(sample: Sample) -> float:
    found = 0
    for record in sample.records:
        if not isinstance(record, dict):
            return 0.0
        kind = record.get("type")
        found += (
            "step_index" in record
            and "source" in record
            and isinstance(kind, str)
            and kind.isupper()
        )
    return 0.96 if found and found == len(sample.records) else 0.0


FORMAT = Format(
    name="antigravity",
    title="Antigravity transcripts",
    sniff=sniff,
    reader=AntigravityReader,
    describes=(
        "~/.gemini/antigravity-cli/brain/<id>/.system_generated/logs/transcript.jsonl. No tokens, "
        "no models; long fields are cut. Steps that the planner did not name count as calls of "
        "their own, without arguments."
    ),
    lacks=frozenset(("usage",)),
)
