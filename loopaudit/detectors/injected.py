"""Hook ping-pong: a hook says the same again and again, and the answer does nothing about it."""

from __future__ import annotations

from collections.abc import Sequence

from loopaudit.detectors.base import NONE, USER, Detector
from loopaudit.findings import Reading, Rule
from loopaudit.model import Boundary, BoundaryKind, Step

SIGNAL = "hook_ping_pong"

RULES: tuple[Rule, ...] = (
    Rule(
        id="hook-ping-pong",
        title="A hook keeps saying the same, and the agent keeps answering without doing anything",
        looks_for=(
            "The same text injected by a hook, a reminder or a guard, answered three times or more "
            "by a response that calls no tool, or only repeats calls made since the text first "
            "came."
        ),
        not_counted=(
            "One answer to a hook. Text that differs (times and ids masked). A new call in "
            "between: the agent is doing something about it. A message of the user."
        ),
        evidence=(
            "codex#34477, impeccable#400, claude-code#55754; Claude Code ends such a row after 8."
        ),
        remedy=(
            "A stop hook must let go when it has fired once for the same reason (the hook input "
            "says so: `stop_hook_active`), and its text must name something the agent can do."
        ),
        signal=SIGNAL,
        cause="no-let-go",
        family="hook",
    ),
)

_INJECTED = (BoundaryKind.HOOK, BoundaryKind.REMINDER, BoundaryKind.GUARD)


class HookPingPong(Detector):
    """How often one injected text came since anything new was done. O(1) a call."""

    signals = (SIGNAL,)

    def __init__(self) -> None:
        self._asked: int | None = None  # texts injected since the last response
        self._forget()

    def _forget(self) -> None:
        self._text: int | None = None  # the text that is being repeated
        self._count = 0  # times it came since anything new was done
        self._first = 0  # step of the first answer
        self._told: tuple[Reading] | None = None
        self._done: set[int] = set()  # calls with their results since the text first came

    def boundary(self, boundary: Boundary) -> Sequence[Reading]:
        kind = boundary.kind
        if kind is USER:
            self._asked = None
            self._forget()
        elif kind in _INJECTED and boundary.text_key is not None:
            self._asked = boundary.text_key + (self._asked or 0)
        return NONE

    def step_ended(self, step: Step) -> Sequence[Reading]:
        asked = self._asked
        if asked is None:
            if self._text is None:
                return NONE
        else:
            self._asked = None
            if asked != self._text:
                self._forget()
                self._text = asked
            self._count += 1
            if self._count == 1:
                self._first = step.index
        if self._news(step):
            self._count = 0
        if self._count < 2:
            return NONE
        told = self._told
        if told is None or told[0].first_step != self._first:
            first = self._first
            told = self._told = (Reading(SIGNAL, 0, 0, None, (SIGNAL, first), first),)
            told[0].retryable = False  # the hook will not be satisfied by the same answer
        reading = told[0]
        reading.count = self._count
        reading.step = step.index
        reading.redundant = tuple([call.index for call in step.calls])
        reading.redundant_steps = () if step.calls else (step.index,)
        return told

    def _news(self, step: Step) -> bool:
        before = len(self._done)
        for call in step.calls:
            self._done.add(call.key ^ ((call.result_key or 0) >> 1))
        return len(self._done) > before
