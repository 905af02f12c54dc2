"""Steps that brought nothing: they failed, or were told what had been told before.

For guards, not for findings. A loop of equal calls is seen by `repeats` and `cycles`; an agent that
is stuck varies its calls, and mixes errors with answers it knows. Whatever it does, nothing new
comes back.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence
from functools import lru_cache

from loopaudit.detectors.base import (
    COMPACTION,
    COMPACTION_STEP,
    ERROR,
    NONE,
    OK,
    USER,
    Detector,
)
from loopaudit.detectors.poll_requests import asks_to_poll
from loopaudit.detectors.repeats import SLOW
from loopaudit.detectors.same_errors import found_nothing, given_words, same_error, tried
from loopaudit.detectors.variants import asks, searches
from loopaudit.findings import Reading, Rule
from loopaudit.model import Boundary, Call, Step

KNOWN = "known_answers"
LOOK_UPS = "failed_look_ups"
SHARE = "mostly_fruitless"

_NOT_COUNTED = (
    "A change of state, another agent's work, a user message or a loss of memory starts again: "
    "what was known before it may be asked anew. Waits, polls the user asked for, passing faults, "
    "answers that nothing was found, up to ten searches for different things that all were found "
    "in known places, and calls that were rejected or not run neither count nor help; a thought, a "
    "note or a handover counts only after a fruitless step. One new answer in a "
    "step makes it fruitful. No finding of its own."
)
_ONE_ERROR = " Nor do tries of different things that all met one error: that is same-error."

RULES: tuple[Rule, ...] = (
    Rule(
        id="known-answers",
        title="Step after step brought an answer that was known",
        looks_for=(
            "Steps in a row in which every answer had been there before, to whatever call. For "
            "guards: it sees an agent that varies its calls and gets nowhere."
        ),
        not_counted=_NOT_COUNTED + " An error ends the row.",
        evidence=(
            "On 15,000 runs with a known outcome (7 sets, each weighing the same) five such steps "
            "in a row stand in 0.2 % of the successes and 20 % of the failures."
        ),
        remedy=(
            "Tell the model what it has tried and that nothing new came of it; have it name the "
            "obstacle, take another way, or ask."
        ),
        signal=KNOWN,
        cause="no-stop",
        needs=frozenset({"results"}),
    ),
    Rule(
        id="failed-look-ups",
        title="Look-up after look-up failed",
        looks_for=(
            "Steps in a row that only look something up (tools named search, find, get, list, read "
            "and the like) and fail. An error of a program says what to mend; a look-up that fails "
            "three times says that the thing is not there under any such name."
        ),
        not_counted=(
            _NOT_COUNTED + _ONE_ERROR + " A known answer neither counts nor helps; any other tool "
            "starts again."
        ),
        evidence=(
            "On 1,603 runs that answer questions from an encyclopedia three such steps in a row "
            "stand in none of 620 successes and in 16 % of the failures."
        ),
        remedy=(
            "Let the tool answer a miss with the nearest names that exist, and say in its "
            "description what it can be asked; give the prompt a permission to give up."
        ),
        signal=LOOK_UPS,
        cause="no-when-not",
        needs=frozenset({"results"}),
        family="failure",
    ),
    Rule(
        id="mostly-fruitless",
        title="Of the last nine steps many brought nothing",
        looks_for=(
            "Among the last nine steps those that failed or brought only known answers, whatever "
            "stands between. For guards: it sees an agent that goes back to a dead end again and "
            "again."
        ),
        not_counted=_NOT_COUNTED + _ONE_ERROR + " It says nothing of fewer than nine steps.",
        evidence=(
            "On 15,000 runs with a known outcome (7 sets, each weighing the same, two of them too "
            "short for nine steps) four of nine stand in 0.2 % of the successes and 30 % of the "
            "failures; three of nine in no more successes."
        ),
        remedy=(
            "Have the model write down what it has ruled out, so that it does not come back to it; "
            "make errors say what would be valid."
        ),
        signal=SHARE,
        cause="no-stop",
        needs=frozenset({"results"}),
        family="failure",
    ),
)

#: steps looked back on for `mostly_fruitless`
WINDOW = 9
#: searches in a row for different things, all found in places that were known
SEARCHES = 10
_TELLING = 20  # characters: shorter answers are "", "[]", "None", "0 rows", "ok" and the like
_LOOKS_UP = re.compile(
    "search|lookup|look|find|get|list|fetch|retrieve|read|open|view|show|browse|grep|glob|visit"
)
_THOUGHT = ("think", '"think')  # how the argument of a tool for everything begins
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


class Fruitless(Detector):
    """Counts fruitless steps three ways. O(1) a call; keeps the digests of distinct answers."""

    signals = (KNOWN, LOOK_UPS, SHARE)
    needs = frozenset({"results"})

    def __init__(self, window: int = WINDOW, slow: float = SLOW) -> None:
        self._window = window
        self._slow = slow
        self._to_poll = False  # the user asked to look again and again
        self._started: float | None = None  # the newest call
        self._seen: set[int] = set()  # answers since the last change
        self._asked: set[int] = set()  # calls that brought them
        self._done: set[int] = set()  # changes, by call and answer: one made again is none
        self._recent: deque[bool] = deque(maxlen=window)  # was the step fruitless
        self._tries: _Tries | None = None  # of the row
        self._stale: list[Call] = []  # calls of this step that brought nothing
        self._told: list[Reading] | None = None  # of the row, as the signals
        self._clear()

    def _clear(self) -> None:
        self._seen.clear()
        self._asked.clear()
        self._recent.clear()
        self._share = 0  # fruitless steps among the recent ones
        self._fruitful()

    def _fruitful(self) -> None:
        """A step brought something: rows end."""
        self._row = self._known = 0
        self._look_ups = self._searches = 0
        self._sought: frozenset[str] | None = None  # words of the newest such search
        self._tries = None
        self._open()

    def _open(self) -> None:
        """Begin a step."""
        self._moved = self._news = False
        if self._stale:
            self._stale = []
        self._receipt: Call | None = None

    def boundary(self, boundary: Boundary) -> Sequence[Reading]:
        if boundary.kind is USER:
            self._done.clear()
            self._clear()
            self._to_poll = asks_to_poll(boundary.text)
        elif boundary.kind is COMPACTION:
            self._clear()
        return NONE

    def call_ended(self, call: Call) -> Sequence[Reading]:
        before, self._started = self._started, call.started
        answer = call.result if call.masked is None else call.masked
        if answer is None or call.polls:
            return NONE
        status = call.status
        if status is OK:
            if call.mutates or call.spawns:
                self._change(call, call.key ^ answer)
                return NONE
            new = answer not in self._seen
            if new and not call.blank:
                self._seen.add(answer)
                self._news = True
            elif not _asks(call):
                self._receipt = call
            elif new:
                self._seen.add(answer)
                self._news = True
            elif not (
                self._to_poll
                or self._waited(before, call)
                or _says_nothing(call)
                or self._searched(call)
            ):
                self._stale.append(call)
            self._asked.add(call.key)
        elif status is ERROR and not call.retryable and not found_nothing(call):
            self._seen.add(answer)
            self._stale.append(call)
        return NONE

    def _change(self, call: Call, change: int) -> None:
        if change in self._done:
            self._stale.append(call)
        else:
            self._done.add(change)
            self._moved = True

    def _searched(self, call: Call) -> bool:
        """A search for something else, found in a place that was known: an answer, up to a point.

        The words of the search before with some added or left out are nothing else.
        """
        if call.key in self._asked or not searches(call):
            return False
        words, last = given_words(call.args or ""), self._sought
        self._sought = words
        if last is not None and (last <= words or words <= last):
            return False
        self._searches += 1
        return self._searches <= SEARCHES

    def _waited(self, before: float | None, call: Call) -> bool:
        """A minute or more after the last call: it looks whether something has changed."""
        now = call.started
        return before is not None and now is not None and now - before >= self._slow

    def step_ended(self, step: Step) -> Sequence[Reading]:
        if self._moved or step.kind is COMPACTION_STEP:
            self._clear()
        elif self._news:
            self._note(False)
            self._fruitful()
        elif self._stale:
            return self._fruitless(step, self._stale)
        elif self._receipt is not None:
            if self._row:
                return self._fruitless(step, [self._receipt])
            self._receipt = None
        return NONE

    def _note(self, fruitless: bool) -> None:
        recent = self._recent
        if len(recent) == self._window:
            self._share -= recent[0]
        recent.append(fruitless)
        self._share += fruitless

    def _fruitless(self, step: Step, stale: list[Call]) -> Sequence[Reading]:
        self._stale = []
        self._receipt = None
        self._row += 1
        failed, looked_up = False, True
        for call in stale:
            failed = failed or call.status is ERROR
            looked_up = looked_up and _looks_up(call.tool)
        self._known = known = 0 if failed else self._known + 1
        if not looked_up:
            self._look_ups = 0
        elif failed:
            self._look_ups += 1
        self._note(True)
        tries = self._tries
        if tries is None:
            tries = self._tries = _Tries()
        if tries.one_error:
            tries.add(stale)
        share, window = self._share, self._window
        look_ups = 0 if tries.one_error else self._look_ups
        if len(self._recent) < window or (tries.one_text and share == window):
            share = 0
        if known < 2 and look_ups < 2 and share < 2:
            return NONE
        return self._tell(step, stale, (known, look_ups, share))

    def _tell(self, step: Step, stale: list[Call], counts: tuple[int, int, int]) -> list[Reading]:
        begun = step.index - self._row + 1
        told = self._told
        if told is None or told[0].first_step != begun:
            told = self._told = [
                Reading(signal, 0, begun, group=(signal, begun), first_step=begun)
                for signal in self.signals
            ]
        redundant = tuple([call.index for call in stale])
        last, number = redundant[-1], step.index
        found = []
        for reading, count in zip(told, counts, strict=True):
            if count > 1:
                reading.count = count
                reading.step = number
                reading.call = last
                reading.redundant = redundant
                found.append(reading)
        return found


class _Tries:
    """Whether the fruitless steps of a row are tries of something else that all met one error.

    The words of the try before with some added or left out are nothing else.
    """

    __slots__ = ("first", "keys", "last", "one_error", "one_text")

    def __init__(self) -> None:
        self.first: Call | None = None
        self.last: frozenset[str] | None = None  # words of the newest try
        self.keys: set[int] = set()
        self.one_error = True  # apart from words of the arguments
        self.one_text = True  # to the letter

    def add(self, calls: list[Call]) -> None:
        for call in calls:
            if call.status is not ERROR or tried(call) in self.keys:
                self.one_error = False
        for call in calls if self.one_error else ():
            self.keys.add(tried(call))
            first = self.first = self.first or call
            self.one_error = (
                self.one_error
                and same_error(first, call)
                and self._other(given_words(call.args or ""))
            )
            self.one_text = self.one_text and first.error_key == call.error_key
        self.one_text = self.one_text and self.one_error

    def _other(self, words: frozenset[str]) -> bool:
        last, self.last = self.last, words
        return last is None or not (last <= words or words <= last)


def _says_nothing(call: Call) -> bool:
    """A question answered by nothing, as it may well be."""
    if call.nothing_found:
        return True
    looked_up = call.target is not None or _looks_up(call.tool)
    return looked_up and call.size is not None and call.size < _TELLING


def _asks(call: Call) -> bool:
    """Whether the call could bring news: thinking, taking notes, handing over are acknowledged."""
    return asks(call.tool) and not (call.args or "").startswith(_THOUGHT)


@lru_cache(maxsize=4096)
def _looks_up(tool: str) -> bool:
    """Whether a word of the tool's name says so: `Lookup`, `get_order`, `mcp__web__search`."""
    return any(_LOOKS_UP.fullmatch(word.lower()) for word in _WORD.findall(tool))
