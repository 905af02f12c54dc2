"""Lines of a file read again by shifted ranges, so that no result is ever equal."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from loopaudit.detectors.base import COMPACTION, COMPACTION_STEP, NONE, OK, USER, Detector
from loopaudit.findings import Reading, Rule
from loopaudit.model import Boundary, Call, Step

SIGNAL = "re_read_ranges"
PAGING = "paging"

RULES: tuple[Rule, ...] = (
    Rule(
        id="re-read-ranges",
        title="Lines of a file that were read before are read again, range by range",
        looks_for=(
            "Reads by line ranges in which every line of the range had been read before, four in a "
            "row or more on one file that was not changed."
        ),
        not_counted=(
            "Paging: a range with one new line. A change of the file (or a command that may have "
            "changed it), a user message, and once a loss of memory make its lines new again. "
            "Reads of a whole file are left to same-call-same-result."
        ),
        evidence=(
            "stella#4034: 164 reads of shifted windows, $7.83, no two results equal. Three "
            "projects came to the same answer: covered lines per file (clearwing#228, "
            "atomic-agent#314, hermes-agent#33066)."
        ),
        remedy=(
            "Let the read tool say which lines were shown already, or keep the parts that matter "
            "in notes; give a search tool, so that the file need not be walked again."
        ),
        signal=SIGNAL,
        cause="no-memory",
        needs=frozenset({"arguments"}),
        family="range",
    ),
)

#: ranges of one file read with new lines in each that are worth a word in `dismissed`
NOTABLE = 3


class _File:
    """Lines of one file that were read since it last changed."""

    __slots__ = ("ends", "first", "pages", "row", "starts", "step", "told")

    def __init__(self, call: Call) -> None:
        self.starts: list[int] = []  # of disjoint, sorted ranges; `ends` are their last lines
        self.ends: list[int] = []
        self.first = call
        self.row = 0  # newest reads in a row without a new line
        self.pages = 0  # reads with new lines
        self.step = call.step  # the newest of these
        self.told: tuple[Reading] | None = None  # of the row

    def cover(self, first: int, last: int) -> bool:
        """Mark lines as read. True if any was new."""
        starts, ends = self.starts, self.ends
        low = bisect_left(ends, first - 1)  # ranges that overlap or touch [first, last]
        high = bisect_right(starts, last + 1)
        if low < high and starts[low] <= first and last <= ends[low]:
            return False
        if low < high:
            first, last = min(first, starts[low]), max(last, ends[high - 1])
        starts[low:high], ends[low:high] = [first], [last]
        return True


class ReReadRanges(Detector):
    """Reads of known lines in a row, by file. O(log n) in the disjoint ranges of one file."""

    signals = (SIGNAL,)
    needs = frozenset({"arguments"})

    def __init__(self, notable: int = NOTABLE) -> None:
        self.notable = notable
        self._files: dict[str, _File] = {}
        self._paged: list[tuple[str, int, str]] = []
        self._excused = False  # the one loss of memory since the last progress is used up

    def boundary(self, boundary: Boundary) -> Sequence[Reading]:
        if boundary.kind is USER:
            self._forget()
        elif boundary.kind is COMPACTION:
            self._lose()
        return NONE

    def step_ended(self, step: Step) -> Sequence[Reading]:
        if step.kind is COMPACTION_STEP:
            self._lose()
        return NONE

    def call_ended(self, call: Call) -> Sequence[Reading]:
        target = call.target
        if call.status is not OK:
            return NONE
        if call.mutates or call.spawns:
            if self._files:
                self._forget(None if target is None else target.path)
            return NONE
        if target is None:
            return NONE
        path, first, last = target
        if first is None or last is None or not 0 < first <= last:
            return NONE
        file = self._files.get(path)
        if file is None:
            file = self._files[path] = _File(call)
        if file.cover(first, last):
            file.pages += 1
            file.row = 0
            file.told = None
            file.step = call.step
            return NONE
        file.row += 1
        told = file.told
        if told is None:
            begun = file.first
            group = (SIGNAL, path, begun.index, file.pages)
            told = file.told = (Reading(SIGNAL, 0, 0, None, group, begun.step, begun.index),)
        reading = told[0]
        reading.count = file.row
        reading.step = call.step
        reading.call = call.index
        reading.redundant = (call.index,)
        return told

    def _lose(self) -> None:
        if not self._excused:
            self._forget()
            self._excused = True

    def _forget(self, path: str | None = None) -> None:
        self._excused = False
        gone = list(self._files.values()) if path is None else [self._files.pop(path, None)]
        if path is None:
            self._files = {}
        for file in gone:
            if file is not None:
                self._paged += self._words(file)

    def _words(self, file: _File) -> list[tuple[str, int, str]]:
        if file.pages < self.notable:
            return []
        tool, pages = file.first.tool, file.pages
        return [(PAGING, file.step, f"{tool} read one file in {pages} ranges, each with new lines")]

    def dismissed(self) -> Sequence[tuple[str, int, str]]:
        return self._paged + [row for file in self._files.values() for row in self._words(file)]
