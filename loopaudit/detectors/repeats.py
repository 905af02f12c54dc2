"""The same call with the same result, again and again, and nothing that moved on in between.

Also counts what stands on the same ground: failures that a wait may cure, and rounds in which the
agent only read again what a compaction had made it forget (see `compaction`).
"""

from __future__ import annotations

from collections.abc import Sequence

from loopaudit.detectors import compaction
from loopaudit.detectors.base import (
    COMPACTION,
    COMPACTION_STEP,
    ERROR,
    NONE,
    OK,
    USER,
    Detector,
)
from loopaudit.detectors.compaction import Rounds
from loopaudit.detectors.handoffs import hands_over
from loopaudit.detectors.poll_requests import asks_to_poll
from loopaudit.detectors.progress import NEVER, Progress
from loopaudit.findings import Reading, Rule
from loopaudit.model import Boundary, Call, CallStatus, Step

SAME = "same_call_same_result"
TRANSIENT = "transient_repeated"
NOTHING_NEW = "nothing_new"

RULES: tuple[Rule, ...] = (
    Rule(
        id="same-call-same-result",
        title="The same call brought the same result, and nothing moved on in between",
        looks_for=(
            "A call with equal arguments and an equal result, volatile parts (ids, times, pids) "
            "masked, done three times or more, whatever other calls stand between. Known waits "
            "need ten unchanged results. So does a call made again a minute or more later with "
            "nothing done meanwhile, unless it changes state or its failure will last; and one "
            "that only looks, where the user asked to watch something."
        ),
        not_counted=(
            "Between two equal calls: a successful change of state (of the same file where the "
            "call names one), a real user message, another result; for a call that changes state "
            "also another result of a call that looks. The first repeat after the context was "
            "compacted is excused once. Equal calls side by side in one response are one round."
        ),
        evidence=(
            "Stopping at 3 equal calls with results ignored kills 22 % of the successes of a "
            "modern coding set (170 runs); with equal results and a reset by a write 2 %. Products "
            "report from 3 (opencode, Roo, Cline, deer-flow) to 30 (openclaw). On 15,132 other "
            "runs with a known outcome (7 sets, each weighing the same) the third occurrence "
            "stands in 0.3 % of the successes and 31 % of the failures, the second in 2 % and 48 %."
        ),
        remedy=(
            "Answer with a status, the data and a field that says the result is complete; say in "
            "the tool's description when not to call it again; give the prompt a stop condition "
            "and a permission to give up."
        ),
        signal=SAME,
        cause="no-status",
        needs=frozenset({"results", "arguments"}),
        family="repeat",
    ),
    Rule(
        id="transient-error-retried",
        title="A passing fault was retried unchanged, beyond any retry policy",
        looks_for=(
            "The same call with the same passing error (throttled, 5xx, timeout), five times or "
            "more."
        ),
        not_counted=(
            "Up to four attempts, as retry policies allow three retries. A success, another error, "
            "a change of state or a user message starts again."
        ),
        evidence="Retry policies of the guard sets replayed here allow 2 or 3 retries.",
        remedy=(
            "Retry in the tool, with growing waits and a limit, and tell the model once that the "
            "service is down and when to come back."
        ),
        signal=TRANSIENT,
        cause="no-retry-class",
        needs=frozenset({"results", "arguments"}),
        family="retry",
    ),
    Rule(
        id="nothing-new",
        title="Step after step repeated what was known",
        looks_for=(
            "Steps in a row in which every call repeats an earlier one, of whatever step, with the "
            "same result and no progress between. For guards: it sees a loop before any one call "
            "was repeated often."
        ),
        not_counted=(
            "Waits and passing faults, and what same-call-same-result leaves out. One step with "
            "anything new starts again. No finding of its own: findings name what is repeated."
        ),
        evidence=(
            "On 15,132 runs with a known outcome (7 sets, each weighing the same) three such "
            "steps in a row stand in 0.1 % of the successes and 26 % of the failures."
        ),
        remedy=(
            "Tell the model that it has this answer already, and show it: caching the result of a "
            "call that changes nothing makes the repeat free and visible."
        ),
        signal=NOTHING_NEW,
        cause="no-stop",
        needs=frozenset({"results", "arguments"}),
        family="repeat",
    ),
    *compaction.RULES,
)

#: calls in a row this far apart, start to start, are taken for polls, in seconds
SLOW = 60.0
#: a call done this often without becoming a loop is worth a word in `dismissed`
NOTABLE = 3

_NOT_RUN = (CallStatus.SIBLING, CallStatus.INTERRUPTED)


class _Chain:
    """Equal calls: the row that is growing now, and why earlier rows ended."""

    __slots__ = ("count", "ends", "excused", "first", "last", "slow", "told", "total")

    def __init__(self, first: Call) -> None:
        self.total = 1  # steps in all rows
        self.ends: dict[str, tuple[int, int]] = {}  # kind -> how often it ended a row, last step
        self.restart(first)

    def restart(self, call: Call) -> None:
        self.first = self.last = call
        self.count = 1  # steps in this row
        self.excused = NEVER  # the call that the one memory loss of this row excused
        self.slow = 0  # gaps of this row in which the agent waited
        self.told: Sequence[Reading] = NONE  # the reading of this row

    def end(self, kind: str, step: int) -> None:
        self.ends[kind] = (self.ends[kind][0] + 1 if kind in self.ends else 1, step)


class Repeats(Detector):
    """Equal call, equal result, no progress between. O(1) a call; state only per distinct key."""

    signals = (SAME, TRANSIENT, NOTHING_NEW, compaction.SIGNAL)
    needs = frozenset({"results", "arguments"})

    def __init__(self, slow: float = SLOW, notable: int = NOTABLE) -> None:
        self.slow = slow
        self.notable = notable
        self._seen: dict[int, Call | _Chain] = {}  # since the last user message
        self._chains: list[_Chain] = []  # of all calls done more than once
        self._progress = Progress()
        self._rounds = Rounds()
        self._at = NEVER  # newest answered call
        self._lost_at = NEVER  # newest answered call before the last loss of memory
        self._waited_at = NEVER  # newest known wait
        self._to_poll = False  # the user asked to look again and again
        self._changed_at = NEVER  # newest call whose answer differed from its last one
        self._news = False  # this step brought something new, or waited
        self._repeats: list[int] = []  # calls of this step that brought nothing new
        self._row: tuple[Reading] | None = None  # of steps in a row without anything new
        self._row_first: Call | None = None  # where it was first done

    def boundary(self, boundary: Boundary) -> Sequence[Reading]:
        kind = boundary.kind
        if kind is USER:
            self._seen = {}
            self._progress.forget()
            self._rounds.forget()
            self._row = None
            self._to_poll = asks_to_poll(boundary.text)
        elif kind is COMPACTION:
            return self._compacted(None)
        return NONE

    def step_ended(self, step: Step) -> Sequence[Reading]:
        if self._news:
            self._news = False
            self._row = None
            if self._repeats:
                self._repeats = []
            return NONE
        if self._repeats:
            return self._nothing_new(step)
        if step.kind is COMPACTION_STEP:
            return self._compacted(step)
        return NONE

    def _nothing_new(self, step: Step) -> Sequence[Reading]:
        redundant = tuple(self._repeats)
        self._repeats = []
        number = step.index
        row = self._row
        if row is None:
            first = self._row_first
            assert first is not None
            row = self._row = (
                Reading(
                    NOTHING_NEW,
                    0,
                    number,
                    group=(NOTHING_NEW, number),
                    first_step=first.step,
                    first_call=first.index,
                ),
            )
        reading = row[0]
        reading.count += 1
        reading.step = number
        reading.call = redundant[-1]
        reading.redundant = redundant
        return row

    def _compacted(self, step: Step | None) -> Sequence[Reading]:
        self._lost_at = self._at
        return self._rounds.end(step)

    def call_ended(self, call: Call) -> Sequence[Reading]:
        if call.result is None or call.status in _NOT_RUN:  # matches nothing
            return NONE
        known = self._seen.get(call.key)
        if known is not None:
            return self._again(known, call)
        self._seen[call.key] = call
        self._at = call.index
        self._news = self._rounds.news = True
        if call.mutates or call.spawns:
            self._progress.note(call)
        elif call.polls:
            self._waited_at = call.index
        return NONE

    def _again(self, known: Call | _Chain, call: Call) -> Sequence[Reading]:
        if isinstance(known, Call):
            if hands_over(call.tool):  # no question: see `handoffs`
                return NONE
            known = self._seen[call.key] = _Chain(known)
            self._chains.append(known)
        chain, last = known, known.last
        index = self._at = call.index
        same = _equal(last, call)
        if last.step == call.step:  # side by side: one round
            if chain.count > 1 and chain.excused != last.index and same:
                return self._tell(chain, call)
            return NONE
        chain.total += 1
        readings: Sequence[Reading] = NONE
        moved_on = self._moved_on(last, call, same)
        if moved_on is not None:
            if not same:
                self._changed_at = index
            chain.end(moved_on, call.step)
            chain.restart(call)
            self._news = self._rounds.news = True
        else:
            excused = self._lost_at >= last.index and chain.excused == NEVER
            if self._waited_at > last.index or self._was_slow(last, call):
                chain.slow += 1
            chain.count += 1
            chain.last = call
            if excused:
                chain.excused = index
                chain.end(MEMORY_LOSS, call.step)
                self._news = True
            else:
                readings = self._tell(chain, call)
            if not self._rounds.news:
                self._rounds.repeat(chain.first, call, excused)
        if (call.mutates or call.spawns) and self._progress.note(call):
            self._rounds.news = True
        elif call.polls:
            self._waited_at = index
        return readings

    def _moved_on(self, last: Call, call: Call, same: bool) -> str | None:
        """Why the row ends before this call, as a kind of `dismissed`; None if nothing moved on."""
        changed = self._progress.anywhere > last.index
        if changed and self._progress.since(last.index, call.target):
            return AFTER_EDIT if call.target is None else AFTER_CHANGE
        if not same:
            if last.status is ERROR and last.retryable and call.status is not ERROR:
                return RETRIED
            return POLL_PROGRESS if call.polls else CHANGED_RESULT
        if call.mutates and self._changed_at > last.index and call.status is not ERROR:
            return EFFECT_SEEN
        return MEMORY_LOSS if changed and self._lost_at >= last.index else None

    def _was_slow(self, last: Call, call: Call) -> bool:
        """Whether the agent waited between the two, for long and for nothing.

        Time spent on other calls is no wait, nor is a change or a failure worth waiting to repeat.
        """
        began, before = call.started, last.started
        if began is None or before is None or began - before < self.slow:
            return False
        if call.step - last.step != 1 or call.mutates:
            return False
        return call.status is not ERROR or bool(call.retryable)

    def _tell(self, chain: _Chain, call: Call) -> Sequence[Reading]:
        status, index = call.status, call.index
        passing = status is ERROR and bool(call.retryable)
        poll = call.polls or chain.slow * 2 > chain.count - 1
        poll = poll or (self._to_poll and status is OK and not call.mutates)
        if poll or passing:
            self._news = True
        elif not self._news:
            self._repeats.append(index)
            if self._row is None:
                self._row_first = chain.first
        signal = TRANSIENT if passing else SAME
        told = chain.told
        if not told or told[0].signal != signal:
            first = chain.first
            group = (call.key, first.index)
            told = chain.told = (
                Reading(signal, 0, 0, None, group, first.step, first_call=first.index),
            )
        reading = told[0]
        reading.count = chain.count
        reading.step = call.step
        reading.call = index
        reading.redundant = (index,)
        reading.retryable = passing if status is ERROR else (call.polls or None)
        reading.poll = poll
        if call.mutates and status is OK:
            times = chain.count - 1
            reading.note = f"{times} repeated side effect{'s' if times > 1 else ''}"
        return told

    def dismissed(self) -> Sequence[tuple[str, int, str]]:
        found = []
        for chain in self._chains:
            if chain.total >= self.notable:
                for kind, (times, step) in chain.ends.items():
                    found.append((kind, step, _words(kind, chain.last.tool, chain.total, times)))
        return found


# kinds of `dismissed`
POLL_PROGRESS = "poll-with-progress"
CHANGED_RESULT = "changed-result"
EFFECT_SEEN = "effect-seen"
AFTER_EDIT = "test-after-edit"
AFTER_CHANGE = "re-read-after-change"
MEMORY_LOSS = "re-read-after-memory-loss"
RETRIED = "retry-of-transient-error"

_WORDS = {
    POLL_PROGRESS: "and {n} of the answers were new: the wait moves on",
    CHANGED_RESULT: "and {n} of the answers were new",
    EFFECT_SEEN: "{n} of them after another call had shown a change",
    AFTER_EDIT: "{n} of them after a change of state",
    AFTER_CHANGE: "{n} of them after that file was changed",
    MEMORY_LOSS: "{n} of them after the context was compacted",
    RETRIED: "and a passing error was gone at the next attempt",
}


def _words(kind: str, tool: str, total: int, times: int) -> str:
    return f"{tool} called {total} times with equal arguments, {_WORDS[kind].format(n=times)}"


def _equal(a: Call, b: Call) -> bool:
    """Equal ends and results: as recorded, or else masked."""
    if a.status is not b.status:
        return False
    if a.result == b.result:
        return True
    masked, other = a.masked, b.masked
    return (a.result if masked is None else masked) == (b.result if other is None else other)
