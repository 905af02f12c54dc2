"""Writes our own event lines, from pieces or from an assembled run."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from enum import StrEnum
from typing import IO, Any

import orjson

from loopaudit.formats.native.fields import PLAIN, RENAMED, TYPES, VERSION
from loopaudit.formats.shapes import seconds
from loopaudit.keys import canonical
from loopaudit.model import (
    BUCKETS,
    Attempt,
    AttemptPiece,
    Boundary,
    BoundaryPiece,
    Call,
    CallPiece,
    CallStatus,
    Piece,
    ResponsePiece,
    ResultPiece,
    Run,
    RunPiece,
    Step,
    StepKind,
    Usage,
    UsageMark,
)

_TYPE_NAMES = {piece: kind for kind, piece in TYPES.items()}


def write(pieces: Iterable[Piece], stream: IO[Any]) -> int:
    """Writes header and pieces to a text or binary stream; returns how many pieces.

    Reading them again gives equal pieces, but for their lines.
    """
    text = isinstance(stream, io.TextIOBase)
    written = -1
    for record in _records(pieces):
        data = dump(record) + b"\n"
        stream.write(data.decode() if text else data)
        written += 1
    return written


def _records(pieces: Iterable[Piece]) -> Iterator[dict[str, Any]]:
    yield {"loopaudit": VERSION}
    for piece in pieces:
        yield record_of(piece)


def record_of(piece: Piece) -> dict[str, Any]:
    """The line of a piece, as a JSON object."""
    kind = type(piece)
    out: dict[str, Any] = {"type": _TYPE_NAMES[kind], "run": piece.run}
    _plain_of(piece, out)
    if isinstance(piece, ResponsePiece):
        if piece.kind is StepKind.MODEL:
            out.pop("kind", None)
        if piece.thinking_chars == 0:
            out.pop("thinking_chars", None)
        if piece.calls:
            out["calls"] = [_call_record(call) for call in piece.calls]
        if piece.usage is not None:
            out["usage"] = _usage_record(piece.usage)
    elif isinstance(piece, ResultPiece):
        if piece.status is CallStatus.OK and not piece.flagged:
            out.pop("status", None)
        if piece.text is not None:
            out["result"] = piece.text
    return out


def _plain_of(piece: Any, out: dict[str, Any]) -> None:
    for key, clean in PLAIN[type(piece)].items():
        value = getattr(piece, RENAMED.get(key, key))
        if value is None or value is False:
            continue
        if clean is seconds:
            value = _time(value)
        elif isinstance(value, Decimal | StrEnum):
            value = str(value)
        out[key] = value


def _call_record(call: CallPiece) -> dict[str, Any]:
    out: dict[str, Any] = {"id": call.id} if call.id is not None else {}
    out["tool"] = call.tool
    if call.args is not None:
        out["args"] = call.args
    if call.at is not None:
        out["at"] = _time(call.at)
    return out


def _usage_record(usage: Usage) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key in BUCKETS:
        tokens = getattr(usage, key)
        if tokens is not None:
            out[key] = tokens
    if usage.mark is not UsageMark.REPORTED:
        out["mark"] = usage.mark.value
    if usage.note is not None:
        out["note"] = usage.note
    return out


def _time(at: float) -> str | float:
    """ISO 8601 where that is exact to the last bit, else the number."""
    try:
        moment = datetime.fromtimestamp(at, UTC)
        text = moment.isoformat().replace("+00:00", "Z")
        return text if moment.timestamp() == at else at
    except (OverflowError, OSError, ValueError):
        return at


def dump(record: dict[str, Any]) -> bytes:
    """One line of JSON in valid UTF-8; half an emoji is escaped, NaN is null or text."""
    try:
        return orjson.dumps(record)
    except TypeError:  # half an emoji, an integer beyond 64 bits, too deep, no JSON at all
        pass
    try:
        text = json.dumps(record, separators=(",", ":"), default=repr, allow_nan=False)
    except (ValueError, RecursionError):
        text = json.dumps(_as_text(record), separators=(",", ":"))
    return text.encode()


def _as_text(record: dict[str, Any]) -> dict[str, Any]:
    """Free values (arguments and results) as canonical JSON text, which compares the same."""
    out = dict(record)
    for key in ("args", "result"):
        if key in out:
            out[key] = canonical(out[key]).decode("utf-8", "replace")
    if "calls" in out:
        out["calls"] = [_as_text(call) for call in out["calls"]]
    return out


def pieces_of(run: Run) -> Iterator[Piece]:
    """The pieces of an assembled run, as far as it still holds them: texts are bounded excerpts."""
    yield RunPiece(
        run.id,
        1,
        session=run.session,
        parent=run.parent,
        parent_call=run.parent_call,
        agent=run.agent,
        task_type=run.task_type,
        outcome=run.outcome,
        outcome_source=run.outcome_source,
        project=run.project,
        user=run.user,
        host=run.host,
        version=run.version,
        prompt=run.prompt,
        forked_from=run.forked_from,
        at=run.started,
    )
    for step in run.steps:
        yield from _boundaries(run.id, step.before)
        yield from _attempts(run.id, step.attempts)
        yield from _step(run.id, step)
    yield from _attempts(run.id, run.attempts_after)
    yield from _boundaries(run.id, run.after)


def _boundaries(run: str, boundaries: Iterable[Boundary]) -> Iterator[Piece]:
    for boundary in boundaries:
        yield BoundaryPiece(run, boundary.line, boundary.kind, boundary.at, boundary.text)


def _attempts(run: str, attempts: Iterable[Attempt]) -> Iterator[Piece]:
    for attempt in attempts:
        plain = {key: getattr(attempt, key) for key in PLAIN[AttemptPiece]}
        yield AttemptPiece(run, attempt.line, **plain)


def _step(run: str, step: Step) -> Iterator[Piece]:
    ids = [call.id or f"{step.index}/{call.position}" for call in step.calls]
    yield ResponsePiece(
        run,
        step.line,
        id=step.id,
        at=step.at,
        ended=step.ended,
        model=step.model,
        text=step.text,
        calls=tuple(
            CallPiece(key, call.tool, _arguments(call), call.started, call.line)
            for key, call in zip(ids, step.calls, strict=True)
        ),
        usage=step.usage,
        cost=step.cost,
        finish=step.finish,
        kind=step.kind,
        service=step.service,
    )
    for key, call in zip(ids, step.calls, strict=True):
        if call.answered:
            yield ResultPiece(
                run,
                call.result_line or call.line,
                key,
                text=call.text,
                at=call.ended,
                status=call.status,
                http_status=call.http_status,
                code=call.code,
                exit_code=call.exit_code,
            )


def _arguments(call: Call) -> Any:
    if call.args is None:
        return None
    try:
        return orjson.loads(call.args)
    except ValueError:  # cut short, or plain text
        return call.args
