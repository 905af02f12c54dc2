"""A step of spans as pieces."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from loopaudit.formats.tracing.span_calls import Step, result_of
from loopaudit.formats.tracing.spans import Kind
from loopaudit.model import AttemptPiece, Piece, ResponsePiece


def step_pieces(step: Step) -> Iterable[Piece]:
    span = step.span
    yield from step.before
    if step.attempt:
        yield AttemptPiece(
            "", 0, span.start, span.http_status, span.code, (span.error or "")[:2000] or None
        )
        return
    answer = span.answer or ResponsePiece("", 0, model=span.model)
    for call in step.calls:
        call.piece.line = call.line
    yield replace(
        answer,
        run="",
        line=0,
        id=span.id,
        at=span.start,
        ended=span.end if span.kind is Kind.MODEL else None,
        calls=tuple(call.piece for call in step.calls),
        usage=step.usage,
    )
    for call in step.calls:
        result = result_of(call)
        if result is not None:
            yield result
