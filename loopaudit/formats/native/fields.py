"""The fields of our own event lines: one table for reader, writer and schema."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any

from loopaudit.formats.shapes import count, dollars, name, number, seconds, whole, words
from loopaudit.model import (
    AttemptPiece,
    BoundaryKind,
    BoundaryPiece,
    CallPiece,
    CallStatus,
    ResponsePiece,
    ResultPiece,
    RunPiece,
    StepKind,
    UsageMark,
)

VERSION = 1


Cleaner = Callable[[Any], Any]


def true(value: Any) -> bool:
    return value is True


def tags(value: Any) -> dict[str, str] | None:
    """Names with texts; what is no text is left out."""
    if not isinstance(value, dict):
        return None
    return {k: v for k, v in value.items() if isinstance(k, str) and isinstance(v, str)} or None


def one_of(kind: type[StrEnum]) -> Cleaner:
    known: dict[str, Any] = {member.value: member for member in kind}
    return lambda value: known.get(value) if isinstance(value, str) else None


#: fields that are plain values: name in the file -> cleaner; `RENAMED` has the few whose name in
#: the piece differs
PLAIN: dict[type, dict[str, Cleaner]] = {
    RunPiece: {
        "session": name,
        "parent": name,
        "parent_call": name,
        "agent": name,
        "task_type": name,
        "outcome": name,
        "outcome_source": name,
        "project": name,
        "user": name,
        "host": name,
        "version": name,
        "model": name,
        "prompt": words,
        "forked_from": name,
        "metadata": tags,
        "at": seconds,
    },
    ResponsePiece: {
        "id": name,
        "at": seconds,
        "ended": seconds,
        "model": name,
        "text": words,
        "thinking_chars": count,
        "cost": dollars,
        "finish": name,
        "service": name,
        "kind": one_of(StepKind),
        "continues": name,
        "streamed": true,
    },
    CallPiece: {"id": name, "at": seconds},
    ResultPiece: {
        "call": name,
        "tool": name,
        "at": seconds,
        "http_status": whole,
        "code": name,
        "exit_code": whole,
        "duration": number,
        "status": one_of(CallStatus),
    },
    AttemptPiece: {
        "at": seconds,
        "http_status": whole,
        "code": name,
        "message": words,
        "wait": number,
        "retry_after": number,
        "number": count,
        "limit": count,
        "gave_up": true,
        "layer": name,
    },
    BoundaryPiece: {"kind": one_of(BoundaryKind), "at": seconds, "text": words},
}
RENAMED = {"continues": "same_step_as", "call": "call_id"}
TYPES: dict[str, type] = {
    "run": RunPiece,
    "response": ResponsePiece,
    "result": ResultPiece,
    "attempt": AttemptPiece,
    "boundary": BoundaryPiece,
}
MARK = one_of(UsageMark)
