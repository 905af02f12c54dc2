"""A reader of spans: they are collected, and told as pieces at the end."""

from __future__ import annotations

from collections.abc import Iterable

from loopaudit.formats.tracing.histories import Histories
from loopaudit.formats.tracing.phases import join_phases
from loopaudit.formats.tracing.span_runs import build
from loopaudit.formats.tracing.spans import SpanStore
from loopaudit.model import Piece, ResponsePiece, ResultPiece

#: reasons to finish that say that tools were called
_CALLED = frozenset(
    ("tool_calls", "tool_call", "tool-calls", "tool_use", "function_call", "TOOL_CALLS")
)


class SpanReader(SpanStore):
    def end(self) -> Iterable[Piece]:
        join_phases(self.spans)
        pieces = self.emit(build(self))
        self.spans = {}
        self.histories = Histories()
        super().end()
        self._notice(pieces)
        return pieces

    def _notice(self, pieces: list[Piece]) -> None:
        """What the spans did not tell although there was something to tell."""
        responses = [piece for piece in pieces if isinstance(piece, ResponsePiece)]
        if not any(piece.calls for piece in responses) and any(
            piece.finish in _CALLED for piece in responses
        ):
            self.missing |= {"arguments", "results"}
        if any(isinstance(p, ResultPiece) for p in pieces) and not any(
            isinstance(p, ResultPiece) and p.text is not None for p in pieces
        ):
            self.missing.add("results")
