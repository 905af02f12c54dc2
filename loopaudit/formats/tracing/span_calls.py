"""A response with its calls: what the model proposed, what was executed, what a history showed."""

from __future__ import annotations

from dataclasses import dataclass, field

from loopaudit.formats.tool_messages import status_of
from loopaudit.formats.tracing.spans import Span
from loopaudit.model import CallPiece, CallStatus, Piece, ResultPiece, Usage


@dataclass(slots=True, eq=False)
class Proposed:
    piece: CallPiece
    line: int
    span: Span | None = None  # its execution
    shown: tuple[ResultPiece, int] | None = None  # as a later history shows it, at which line


@dataclass(slots=True, eq=False)
class Step:
    span: Span
    usage: Usage | None
    attempt: bool = False  # it failed, and said nothing
    before: list[Piece] = field(default_factory=list)
    calls: list[Proposed] = field(default_factory=list)


def result_of(call: Proposed) -> ResultPiece | None:
    """The answer of a call; None where nothing tells one.

    The span tells how it ended, the history what the model saw of it: an error is often hidden
    from the model, and a result often left out of the span.
    """
    span, shown = call.span, call.shown
    if span is None or (span.end is None and span.result is None and not span.failed):
        if shown is None:
            return None
        seen, line = shown
        return ResultPiece(
            "", line, call.piece.id, seen.text, seen.at, seen.status, call.piece.tool,
            seen.http_status, seen.code, seen.exit_code,
        )  # fmt: skip
    text, status, exit_code = span.result, CallStatus.OK, None
    if shown is not None:
        status, exit_code = shown[0].status, shown[0].exit_code
        if text is None or span.failed:
            text = shown[0].text if shown[0].text is not None else text
    if span.failed:
        status = CallStatus.ERROR if status is CallStatus.OK else status
        text = span.error if text is None else text
    elif status is CallStatus.OK:
        status = status_of(text)
    known = span.start is not None and span.end is not None and span.end >= span.start
    return ResultPiece(
        "",
        span.line,
        call.piece.id,
        text,
        span.end,
        status,
        call.piece.tool,
        span.http_status,
        span.code,
        exit_code,
        (span.end or 0.0) - (span.start or 0.0) if known else None,
    )


def overlap(a: Span, b: Span) -> bool:
    """Whether two spans ran at the same time. Without times nothing tells."""
    if a.start is None or b.start is None or a.end is None or b.end is None:
        return False
    return (a.start < b.end and b.start < a.end) or (a.start, a.end) == (b.start, b.end)


def lend(span: Span, to: Span) -> None:
    """What one span tells of a response and the other, which counts, does not."""
    if to.history is None:
        to.history = span.history
    if to.answer is None:
        to.answer = span.answer
    elif span.answer is not None:
        if not to.answer.calls:
            to.answer.calls = span.answer.calls
        if to.answer.text is None:
            to.answer.text = span.answer.text
        for name in ("model", "finish", "cost"):
            if getattr(to.answer, name) is None:
                setattr(to.answer, name, getattr(span.answer, name))
    to.usage = to.usage or span.usage


def lend_result(span: Span, to: Span) -> None:
    """What one span tells of an execution and the other, which counts, does not."""
    for name in ("args", "result", "error", "code"):
        if getattr(to, name) is None:
            setattr(to, name, getattr(span, name))
    to.failed = to.failed or span.failed
