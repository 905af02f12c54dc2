"""Calls that differ and bring nothing new: one answer to varied questions, a command that grows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from loopaudit.detectors.base import NONE, OK, USER, Detector
from loopaudit.detectors.handoffs import hands_over
from loopaudit.findings import Reading, Rule
from loopaudit.model import Boundary, Call

SAME_ANSWER = "same_answer"
GROWING = "growing_command"

RULES: tuple[Rule, ...] = (
    Rule(
        id="same-answer",
        title="Varied questions were answered by one and the same sentence",
        looks_for=(
            "Calls of one tool, each with other arguments, whose answers are equal to the last "
            "character, five in a row or more. The answer is neither empty nor a failure nor a "
            '"nothing found", and long enough to say something (20 characters).'
        ),
        not_counted=(
            "Calls that change state (twenty writes all answer `ok`), or whose name says that they "
            "ask nothing (add, mark, think, click …), searches, whose answer is a place, known "
            "waits, answers side by side in one response (one round). Another answer of that tool, "
            "a change of state or a user message starts again."
        ),
        evidence=(
            "On 15,315 runs with a known outcome five such answers stand in 1 of 5,814 successes "
            "and in 1 % of the failures. OpenClaw warns at 10 (argument_churn); detectors that "
            "count the tool's name alone fire on thirty healthy reads. The confidence is low."
        ),
        remedy=(
            "Say in the tool's description when not to call it and that only an exact match is "
            "found; let the answer say what is missing from the question, or that there is no more."
        ),
        signal=SAME_ANSWER,
        cause="no-when-not",
        needs=frozenset({"results", "arguments"}),
        family="failure",
    ),
    Rule(
        id="growing-command",
        title="A command grew from call to call and brought nothing new",
        looks_for=(
            "Four calls of one tool or more, each of which contains the one before and more, with "
            "equal answers, nothing else of that tool between."
        ),
        not_counted=(
            "A command that grows and answers something else; one that changed state; failures, "
            "which same-error counts. A user message or a change of state starts again."
        ),
        evidence=(
            "On 15,315 runs with a known outcome four such calls stand in no success and in 0.3 % "
            "of the failures. Tests for equal calls cannot see it: no two calls are equal."
        ),
        remedy=(
            "Keep the state that the command builds up (a shell session, a file, a query in "
            "parts), so that the next call need not repeat it, and answer with what is new."
        ),
        signal=GROWING,
        cause="no-status",
        needs=frozenset({"results", "arguments"}),
        family="growth",
    ),
)

#: an answer shorter than this says too little to be the same answer ("ok", "true", "0")
TELLING = 20


#: searches: their answers are places, and many names stand in one file
_SEARCH = re.compile(r"(?:^|_)(?:grep|glob|rg|ls|list|search_files|find_files)(?:_|$)")
_SEARCH_COMMAND = re.compile(
    r'"(?:command|cmd)":(?:"|\["bash","-l?c",")(?:cd [^&;]{0,80}(?:&&|;) ?)?'
    r"(?:rg|[efz]?grep|ag|ack|git grep|git ls-files|fd|locate|ls|which|whereis|wc|test|stat|file"
    r"|find(?![^|]{0,400}(?: -exec|\|)))\b"
)
#: tools whose answer is a receipt, however varied what they are given: they ask nothing
_ASKS_NOTHING = re.compile(
    r"(?:^|_)(?:add|put|set|mark|assign|unassign|log|record|register|store|push|pop|enqueue|queue"
    r"|schedule|tag|label|approve|confirm|accept|save|note|notes|memo|memory|remember|memorize"
    r"|commit|deploy|start|stop|enable|disable|open|close|move|click|type|press|scroll|tap|swipe"
    r"|drag|drop|select|hover|navigate|goto|go|play|pause|turn|switch|call|pay|transfer|order|buy"
    r"|book|grant|revoke|invite|share|export|import|upload|install|emit|report|answer|reply|think"
    r"|thought|thinking|reason|reflect|plan|todo|todos|computer|mouse|keyboard|browser|screenshot"
    r"|draw|paint|print|display|speak|say|sleep|finish|submit|complete|done|yield)(?:_|$)"
    r"|^(?:添加|设置|标记|记录|保存|登记|发送|思考|计划|点击|提交)",
)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[a-z])(?=[0-9])|[.:/ -]+")


@lru_cache(1_000)
def asks(tool: str) -> bool:
    """Whether a tool of this name answers questions; others only say that they did it."""
    return not hands_over(tool) and not _ASKS_NOTHING.search(_CAMEL.sub("_", tool).lower())


@lru_cache(1_000)
def _searches(tool: str) -> bool:
    return _SEARCH.search(_CAMEL.sub("_", tool).lower()) is not None


def searches(call: Call) -> bool:
    """Whether the call looks for a place: many things may stand in one."""
    if _searches(call.tool):
        return True
    return call.args is not None and _SEARCH_COMMAND.search(call.args) is not None


def _open_question(call: Call) -> bool:
    """Whether equal answers to such calls say that nothing was learnt."""
    return asks(call.tool) and not searches(call)


class _Row:
    """Calls of one tool in a row with one answer."""

    __slots__ = ("first", "grown", "keys", "step", "told", "varied")

    def __init__(self, first: Call) -> None:
        self.first = first
        self.step = first.step
        self.keys = {first.key}
        self.varied = 1  # steps that asked something else
        self.grown = 1  # newest calls of which each holds the one before
        self.told: dict[str, Reading] = {}


class Variants(Detector):
    """Readings: `same_answer` (steps), `growing_command` (calls). O(1) a call, state per tool."""

    signals = (SAME_ANSWER, GROWING)
    needs = frozenset({"results", "arguments"})

    def __init__(self, telling: int = TELLING) -> None:
        self.telling = telling
        self._last: dict[str, Call] = {}  # the newest call of each tool
        self._rows: dict[str, _Row] = {}  # of tools that gave the same answer twice

    def boundary(self, boundary: Boundary) -> Sequence[Reading]:
        if boundary.kind is USER:
            self._forget()
        return NONE

    def _forget(self) -> None:
        self._last.clear()
        self._rows.clear()

    def call_ended(self, call: Call) -> Sequence[Reading]:
        last = self._last.get(call.tool)
        if call.mutates or call.spawns:
            if call.status is OK:
                self._forget()
            return NONE
        status = call.status
        if last is not None and last.result == call.result and last.status is status:
            return NONE if call.key == last.key else self._again(last, call)
        if call.result is None:
            return NONE
        if self._rows:
            self._rows.pop(call.tool, None)
        if status is OK and not call.polls:
            self._last[call.tool] = call
        elif last is not None:
            del self._last[call.tool]
        return NONE

    def _again(self, last: Call, call: Call) -> Sequence[Reading]:
        row = self._rows.get(call.tool)
        if row is None:
            row = self._rows[call.tool] = _Row(last)
        self._last[call.tool] = call
        readings: list[Reading] = []
        if call.step != last.step:
            row.grown = row.grown + 1 if _holds(call, last, row.grown > 1) else 1
            if row.grown > 1:
                readings.append(self._reading(GROWING, row.grown, row, call))
        if call.key not in row.keys and not call.blank and not call.nothing_found:
            row.keys.add(call.key)
            if call.step != row.step and (call.size or 0) >= self.telling and _open_question(call):
                row.step = call.step
                row.varied += 1
                readings.append(self._reading(SAME_ANSWER, row.varied, row, call))
        return readings

    def _reading(self, signal: str, count: int, row: _Row, call: Call) -> Reading:
        reading = row.told.get(signal)
        if reading is None:
            first = row.first
            group = (signal, first.index)
            reading = Reading(signal, 0, 0, None, group, first.step, first.index)
            row.told[signal] = reading
        reading.count = count
        reading.step = call.step
        reading.call = call.index
        reading.redundant = (call.index,)
        return reading


def _common(new: str, old: str) -> int:
    """How many characters both begin with."""
    least, most = 0, min(len(new), len(old))
    if new[:most] == old[:most]:
        return most
    while least < most:
        middle = (least + most + 1) // 2
        if new[:middle] == old[:middle]:
            least = middle
        else:
            most = middle - 1
    return least


def _holds(call: Call, last: Call, grew: bool) -> bool:
    """Whether the arguments of `call` are those of `last` with one text longer.

    Of long arguments only the beginning is kept: they must begin alike and be longer, and the
    command must have been seen to grow (`grew`).
    """
    new, old = call.args, last.args
    if not new or not old or call.args_size <= last.args_size:
        return False
    if last.args_size > len(old):
        return grew and new == old
    at = _common(new, old)
    # one text grew at its end: from here on the old arguments only close it, and what follows
    if old[at : at + 1] == '"' and (call.args_size > len(new) or new.endswith(old[at:])):
        return True
    # or it grew at its beginning: exactly one text differs, and holds the old one
    texts = [(a, b) for a, b in zip(old.split('"'), new.split('"'), strict=False) if a != b]
    return len(texts) == 1 and len(texts[0][0]) > 1 and texts[0][0] in texts[0][1]
