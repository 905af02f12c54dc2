"""Compact, forget, read again: rounds between two compactions that brought nothing new."""

from __future__ import annotations

from collections.abc import Sequence

from loopaudit.detectors.base import NONE
from loopaudit.findings import Reading, Rule
from loopaudit.model import Call, Step

SIGNAL = "compact_and_re_read"

RULES: tuple[Rule, ...] = (
    Rule(
        id="compact-and-re-read",
        title="The context is compacted again and again, and between only known things are read",
        looks_for=(
            "Three rounds or more from one compaction to the next in which every call had been "
            "done before with the same result, and nothing was changed."
        ),
        not_counted=(
            "The first round of reading again after a compaction: memory was lost once. A round "
            "with one new call, one new result, one change of state or a user message."
        ),
        evidence="codex#36664 (183.9 M cached tokens beside 8.4 M fresh ones), codex#31351.",
        remedy=(
            "What must be read again fills the context that was just emptied: read parts, keep a "
            "written summary of what was read, raise the limit at which the context is compacted, "
            "or give the reading to a sub-agent."
        ),
        signal=SIGNAL,
        cause="no-memory",
        needs=frozenset({"results", "arguments"}),
        family="compaction",
    ),
)


class Rounds:
    """What happened since the last compaction. Kept by the detector that knows what is a repeat."""

    __slots__ = ("_calls", "_count", "_excused", "_first", "_last", "_row", "_unpaid", "news")

    def __init__(self) -> None:
        self._row = 0  # number of the row of rounds
        self.forget()

    def forget(self) -> None:
        """A new request: counted from the start."""
        self._count = 1  # rounds with nothing new, and the one before them
        self._row += 1
        self._first: Call | None = None  # the oldest first occurrence of what is repeated
        self._last = 0  # step of the newest repeat
        self._unpaid = False  # the last round was redundant, its compaction had no response
        self._open()

    def _open(self) -> None:
        self.news = False  # something new was done in this round
        self._calls: list[int] = []  # redundant calls
        self._excused = False  # calls were repeated, excused by the loss of memory

    def repeat(self, first: Call, call: Call, excused: bool) -> None:
        """A call that brought what it had brought before, first as `first`."""
        if self.news:
            return
        if self._first is None or first.index < self._first.index:
            self._first = first
        self._last = call.step
        if excused:
            self._excused = True
        else:
            self._calls.append(call.index)

    def end(self, step: Step | None) -> Sequence[Reading]:
        """A compaction ends the round. `step`: the response that made it, where the log has one."""
        if self.news:
            self.forget()
            return NONE
        calls, excused, first = tuple(self._calls), self._excused, self._first
        if calls or excused:
            self._count += 1
        elif step is None or not self._unpaid:  # a second mark of the same compaction
            return NONE
        self._open()
        if first is None:
            return NONE
        self._unpaid = bool(calls) and step is None
        paid = () if step is None or (excused and not calls) else (step.index,)
        return (
            Reading(
                signal=SIGNAL,
                count=self._count,
                step=self._last if step is None else step.index,
                group=(SIGNAL, self._row),
                first_step=first.step,
                first_call=first.index,
                redundant=calls,
                redundant_steps=paid,
            ),
        )
