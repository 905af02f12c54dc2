"""Convergence of results in two channels, and the error line: retries and permanent errors.

Source: the `backstop` guard set (guards.md §3), lines 2 and 3. Its step limit, clocks and meter are
plain counts (`budgets`, `timeouts`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from copy import copy
from typing import Any, ClassVar

from loopaudit.detectors.base import NONE, Detector
from loopaudit.findings import Reading
from loopaudit.model import Call, ErrorClass

SAME = "same_result"
SIMILAR = "similar_result"
RETRIES = "transient_retries"
PERMANENT = "permanent_errors"

_PASSING = frozenset({ErrorClass.TRANSIENT, ErrorClass.THROTTLED})
# a spent quota does not come back by asking again, so the tool is as good as gone
_LASTING = frozenset({ErrorClass.PERMANENT, ErrorClass.QUOTA})


class _Row:
    """Repeats in a row; a result that is no repeat ends the row."""

    __slots__ = ("count", "first")

    def __init__(self) -> None:
        self.count = 0
        self.first: Call | None = None

    def add(self, signal: str, call: Call, repeat: bool) -> Sequence[Reading]:
        if not repeat:
            self.count, self.first = 0, None
            return NONE
        self.count += 1
        first = self.first = self.first or call
        return (
            Reading(
                signal,
                self.count,
                call.step,
                call.index,
                group=first.index,
                redundant=(call.index,),
            ),
        )


class ResultDigests(Detector):
    """`same_result`: results in a row whose digest was among the `look_back` results before."""

    signals = (SAME,)
    needs = frozenset({"results"})

    def __init__(self, look_back: int = 10) -> None:
        self._recent: deque[int] = deque(maxlen=look_back)
        self._row = _Row()

    def call_ended(self, call: Call) -> Sequence[Reading]:
        if call.result is None:
            return NONE
        repeat = call.result in self._recent
        self._recent.append(call.result)
        return self._row.add(SAME, call, repeat)


class ResultMeanings(Detector):
    """`similar_result`: results in a row that mean the same as one of the `look_back` before.

    Their text vectors have a cosine above `similarity`, and neither numbers nor outcome differ (see
    `similarity.same`): progress from 10 % to 20 % is no repeat. A result of which neither vector
    nor text was kept tells nothing: it is skipped and counted in `undecided`.
    """

    signals = (SIMILAR,)
    needs = frozenset({"results"})
    wants_vectors: ClassVar[bool] = True  # asks the reader of logs for `Call.vector`

    def __init__(
        self, look_back: int = 10, similarity: float = 0.92, embedder: str = "lexical"
    ) -> None:
        self._recent: deque[tuple[int, Any]] = deque(maxlen=look_back)
        self._row = _Row()
        self._similarity = similarity
        self._embedder = embedder
        self.undecided = 0

    def call_ended(self, call: Call) -> Sequence[Reading]:
        if call.result is None:
            return NONE
        from loopaudit.similarity import same, vector

        own = call.vector
        if own is None:
            if call.text is None:
                self.undecided += 1
                return NONE
            own = vector(call.text, self._embedder)
        elif own.embedder != self._embedder:
            own = copy(own)
            own.embedder = self._embedder
        repeat = any(
            digest == call.result or same(own, other, self._similarity)
            for digest, other in reversed(self._recent)
        )
        self._recent.append((call.result, own))
        return self._row.add(SIMILAR, call, repeat)


class ToolErrors(Detector):
    """Failures of tools, by whether they pass.

    `transient_retries`: judged before a call, times it was tried again after a passing failure.
    `permanent_errors`: judged after a call, lasting failures of its tool so far.
    """

    signals = (RETRIES, PERMANENT)
    needs = frozenset({"results"})
    needs_more: ClassVar = {RETRIES: frozenset({"arguments"})}

    def __init__(self) -> None:
        self._failed: dict[int, tuple[int, Call]] = {}  # passing failures in a row, by call key
        self._lasting: dict[str, tuple[int, Call]] = {}  # lasting failures, by tool

    def call_proposed(self, call: Call) -> Sequence[Reading]:
        failed = self._failed.get(call.key)
        return NONE if failed is None else (_reading(RETRIES, *failed, call),)

    def call_ended(self, call: Call) -> Sequence[Reading]:
        if call.failed and call.error in _PASSING:
            count, first = self._failed.get(call.key, (0, call))
            self._failed[call.key] = (count + 1, first)
        elif call.answered:
            self._failed.pop(call.key, None)
        if call.failed and call.error in _LASTING:
            count, first = self._lasting.get(call.tool, (0, call))
            self._lasting[call.tool] = (count + 1, first)
            return (_reading(PERMANENT, count + 1, first, call),)
        return NONE


def _reading(signal: str, count: int, first: Call, call: Call) -> Reading:
    """A reading about `call`, one of a group of failures of one tool that began with `first`."""
    return Reading(
        signal,
        count,
        call.step,
        call.index,
        group=call.tool,
        first_step=first.step,
        first_call=first.index,
        redundant=() if call is first else (call.index,),
        retryable=signal == RETRIES,
    )
