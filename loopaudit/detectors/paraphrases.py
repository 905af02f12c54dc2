"""The same call, and its answer each time in other words: the second channel, by meaning."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any, ClassVar

from loopaudit.detectors.base import NONE, OK, USER, Detector
from loopaudit.detectors.handoffs import hands_over
from loopaudit.detectors.progress import Progress
from loopaudit.findings import Reading, Rule
from loopaudit.model import Boundary, Call

SIGNAL = "same_meaning"

RULES: tuple[Rule, ...] = (
    Rule(
        id="same-meaning",
        title="The same call brought the same answer, each time in other words",
        looks_for=(
            "A call with equal arguments whose answers differ in words and mean the same: their "
            "text vectors are near, and neither numbers, names nor the outcome differ. Tools that "
            "answer through a model (a sub-agent, a summary of a page) never answer twice alike."
        ),
        not_counted=(
            "An answer with another number, name or outcome; equal answers, which "
            "same-call-same-result counts; a change of state or a user message in between. Known "
            "waits carry a mark, so that a set can give them a limit of their own."
        ),
        evidence=(
            "backstop needs both channels: identical answers, and the same content in other words. "
            "Not in the default set: every result must be kept as a vector for it, and it adds "
            "little. On the real sessions of 17 coding agents it reports nothing, on 1,998 runs "
            "with a known outcome one loop, in a failure, that no other rule reports."
        ),
        remedy=(
            "Let the tool answer with a status and the data as fields, not with prose, and answer "
            "the second time from a cache."
        ),
        signal=SIGNAL,
        cause="no-status",
        needs=frozenset({"results", "arguments"}),
        family="failure",
    ),
)


class _Row:
    __slots__ = ("count", "first", "last", "vector")

    def __init__(self, call: Call, vector: Any) -> None:
        self.first = self.last = call
        self.vector = vector
        self.count = 1


class Paraphrases(Detector):
    """How often one call was answered alike in meaning. Needs `Call.vector` (or the text)."""

    signals = (SIGNAL,)
    needs = frozenset({"results", "arguments"})
    wants_vectors: ClassVar[bool] = True

    def __init__(self, similarity: float | None = None, embedder: str = "lexical") -> None:
        """`similarity`: a cosine; None: the embedder's own."""
        self._similarity = similarity
        self._embedder = embedder
        self._rows: dict[int, _Row] = {}
        self._progress = Progress()
        self.undecided = 0

    def boundary(self, boundary: Boundary) -> Sequence[Reading]:
        if boundary.kind is USER:
            self._rows.clear()
            self._progress.forget()
        return NONE

    def call_ended(self, call: Call) -> Sequence[Reading]:
        if call.status is not OK or call.result is None or hands_over(call.tool):
            return NONE
        row = self._rows.get(call.key)
        if call.mutates or (call.spawns and row is None):
            self._progress.note(call)
        if row is None:
            self._rows[call.key] = _Row(call, self._vector(call))
            return NONE
        last, row.last = row.last, call
        if last.step == call.step:
            return NONE  # side by side: samples
        vector = self._vector(call)
        if self._progress.since(last.index, call.target) or not self._like(row, last, call, vector):
            self._rows[call.key] = _Row(call, vector)
            return NONE
        row.count += 1
        row.vector = vector
        first = row.first
        return (
            Reading(
                signal=SIGNAL,
                count=row.count,
                step=call.step,
                call=call.index,
                group=(SIGNAL, call.key, first.index),
                first_step=first.step,
                first_call=first.index,
                redundant=(call.index,),
                poll=call.polls,
            ),
        )

    def _vector(self, call: Call) -> Any:
        own = call.vector
        if own is None:
            if call.text is None:
                self.undecided += 1
                return None
            from loopaudit.similarity import vector

            return vector(call.text, self._embedder)
        if own.embedder != self._embedder:
            own = copy(own)
            own.embedder = self._embedder
        return own

    def _like(self, row: _Row, last: Call, call: Call, vector: Any) -> bool:
        if last.result == call.result or last.result_key == call.result_key:
            return True
        if vector is None or row.vector is None:
            return False
        from loopaudit.similarity import same

        return same(vector, row.vector, self._similarity)
