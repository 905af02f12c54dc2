"""Agents of one conversation that hand the task to each other and do nothing about it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from loopaudit.detectors.base import ERROR, NONE, OK, USER, Detector
from loopaudit.findings import Reading, Rule
from loopaudit.keys import digest
from loopaudit.model import Boundary, Call, Step

SIGNAL = "handed_back_and_forth"
WITH_WORK = "handover-with-work"
#: so many handovers to one agent are worth a word in `dismissed`
NOTABLE = 3

RULES: tuple[Rule, ...] = (
    Rule(
        id="handed-back-and-forth",
        title="Agents handed the task to each other, and none of them worked on it",
        looks_for=(
            "Calls that hand the conversation to another agent (transfer_to_…, handoff, 转交 …), "
            "the same agent chosen three times or more with no other new call between, in whatever "
            "words the task is handed over. Such calls are no questions, so same-call-same-result "
            "leaves them alone."
        ),
        not_counted=(
            "A new call, or one with a new result, between two handovers: somebody worked. A "
            "message of the user. Handing on from agent to agent, each chosen once or twice. "
            "Agents that are started and report back are left to recursive-spawn."
        ),
        evidence=(
            "A sand-table task of the backstop set. Cycles of equal calls see it only where the "
            "task is handed over in the same words."
        ),
        remedy=(
            "Say in each agent's description what it is not there for, let a handover carry the "
            "reason and who had the task before, and refuse to hand it back unchanged; one agent "
            "must be allowed to say that it cannot be done."
        ),
        signal=SIGNAL,
        cause="no-stop",
        needs=frozenset({"arguments"}),
        family="handoff",
    ),
)

_NAME = re.compile(
    r"(?:^|[_.:-])(?:transfer|hand_?off|hand_?over|handed|escalate|reassign)"
    r"(?:_?(?:back|control|task|over|conversation))?_to(?:_|$)"
    r"|(?:^|[_.:-])(?:route|switch|pass|return|go)(?:_back)?_to_(?:agent|assistant|supervisor|human)"
    r"|(?:^|[_.:-])(?:hand_?off|hand_?over|handoffs?|transfer_(?:task|agent|control|conversation)"
    r"|switch_agent|reassign_task)(?:_|$)|转交|移交|转接",
    re.IGNORECASE,
)
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
#: where the arguments name the agent that is chosen
_WHO = re.compile(
    r'"(?:to|agent|agent_?name|target|target_?agent|recipient|assignee|coworker|to_?agent|name'
    r"|destination|role|next_?agent|next)\":\"((?:[^\"\\]|\\.){1,100})",
    re.IGNORECASE,
)


@lru_cache(1_000)
def hands_over(tool: str) -> bool:
    """Whether a tool of this name hands the conversation to another agent."""
    return _NAME.search(_CAMEL.sub("_", tool).replace(" ", "_")) is not None


class _Chosen:
    """Handovers to one agent since anybody worked."""

    __slots__ = ("count", "first")

    def __init__(self, first: Call) -> None:
        self.first = first
        self.count = 1


class Handoffs(Detector):
    """How often one agent was chosen since anything new was done. State per agent and call."""

    signals = (SIGNAL,)
    needs = frozenset({"arguments"})

    def __init__(self) -> None:
        self._chosen: dict[int, _Chosen] = {}
        self._order = 0  # the first handover of the row
        self._done: set[int] = set()  # calls with their results, since the first handover
        self._times: dict[int, list[int]] = {}  # agent -> times chosen, times after work, last step

    def boundary(self, boundary: Boundary) -> Sequence[Reading]:
        if boundary.kind is USER:
            self._chosen = {}
            self._done = set()
        return NONE

    def step_ended(self, step: Step) -> Sequence[Reading]:
        readings: Sequence[Reading] = NONE
        for call in step.calls:
            if hands_over(call.tool):
                readings = [*readings, *self._handed(call)]
            elif self._chosen:
                stamp = call.key ^ ((call.result_key or 0) >> 1)
                if stamp not in self._done:
                    self._done.add(stamp)
                    if call.status is OK or call.status is ERROR:
                        self._chosen = {}
        return readings

    def dismissed(self) -> Sequence[tuple[str, int, str]]:
        return [
            (WITH_WORK, step, f"one agent chosen {times} times, {worked} of them after other work")
            for times, worked, step in self._times.values()
            if times >= NOTABLE and worked
        ]

    def _handed(self, call: Call) -> Sequence[Reading]:
        found = _WHO.search(call.args or "")
        whom = digest(f"{call.tool}|{found[1] if found else ''}")
        chosen = self._chosen.get(whom)
        times = self._times.setdefault(whom, [0, 0, 0])
        times[0] += 1
        times[2] = call.step
        if chosen is None:
            times[1] += times[0] > 1
            if not self._chosen:
                self._order = call.index
            self._chosen[whom] = _Chosen(call)
            return NONE
        chosen.count += 1
        first = chosen.first
        return (
            Reading(
                signal=SIGNAL,
                count=chosen.count,
                step=call.step,
                call=call.index,
                group=(SIGNAL, self._order),
                first_step=min(c.first.step for c in self._chosen.values()),
                first_call=first.index if first.index == self._order else self._order,
                redundant=(call.index,),
            ),
        )
