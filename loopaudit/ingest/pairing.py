"""Which call a result answers: the oldest unanswered one of its id; without id, of its tool."""

from __future__ import annotations

from collections import deque

from loopaudit.model import Call, CallStatus, ResultPiece

_UNANSWERED = CallStatus.UNANSWERED


class Pairing:
    """The calls of one run that may still be answered, and results that came before their call."""

    __slots__ = ("_by_id", "_early", "_waiting")

    def __init__(self) -> None:
        self._by_id: dict[str, Call | list[Call]] = {}  # several: ids repeat
        self._waiting: deque[Call] = deque()  # unanswered calls in order
        self._early: dict[str, list[ResultPiece]] = {}

    def called(self, call: Call) -> ResultPiece | None:
        """Take in a call. Its answer, where that came first."""
        self._waiting.append(call)
        ident = call.id
        if ident is None:
            return None
        known = self._by_id.get(ident)
        if known is None:
            self._by_id[ident] = call
        elif isinstance(known, list):
            known.append(call)
        elif known.status is not _UNANSWERED:
            self._by_id[ident] = call
        else:
            self._by_id[ident] = [known, call]
        early = self._early.get(ident) if self._early else None
        return early.pop(0) if early else None

    def knows(self, ident: str) -> bool:
        """Whether there was a call of that id."""
        return ident in self._by_id

    def keep(self, ident: str, piece: ResultPiece) -> None:
        """A result whose call has not been read yet."""
        self._early.setdefault(ident, []).append(piece)

    @property
    def early(self) -> int:
        """Results whose call has not come."""
        return sum(map(len, self._early.values()))

    def answered_by(self, piece: ResultPiece) -> Call | None:
        if piece.call_id is not None:
            known = self._by_id.get(piece.call_id)
            if isinstance(known, list):
                while known and known[0].answered:
                    del known[0]
                return next((call for call in known if not call.answered), None)
            return None if known is None or known.status is not _UNANSWERED else known
        self.settle()
        for call in self._waiting:
            if not call.answered and (piece.tool is None or call.tool == piece.tool):
                return call
        return None

    def settle(self) -> None:
        """Let go of answered calls."""
        waiting = self._waiting
        while waiting and waiting[0].status is not _UNANSWERED:
            waiting.popleft()
