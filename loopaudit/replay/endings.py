"""How a run ended, by stated rules: the outcome of a run of which nobody recorded one.

None of them says that the task was done well: `completed` is a run that ends with an answer. The
first rule that fits counts. A run that is still written, or of which no rule tells, has no ending.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from loopaudit.model import BoundaryKind, Call, CallStatus, Run, Step, StepKind

COMPLETED, ERROR, INTERRUPTED = "completed", "error", "interrupted"
LIMIT, STOPPED, UNFINISHED = "limit", "stopped", "unfinished"

#: each outcome that is inferred, and what it means
RULES = {
    STOPPED: "a loop guard of the harness ended it",
    LIMIT: "a step, time or money limit of the harness ended it",
    INTERRUPTED: "the user stopped it, or refused its last call, and no response followed",
    ERROR: "its last API attempts or its last call failed, and no response followed",
    UNFINISHED: "the log ends before a call, a result or a message was answered, or within a text",
    COMPLETED: "it ends with an answer, or with a call that hands one in",
}

_ENDED_BY = {
    BoundaryKind.GUARD_STOP: (STOPPED, "a loop guard of the harness ended it"),
    BoundaryKind.LIMIT: (LIMIT, "a limit of the harness ended it"),
    BoundaryKind.INTERRUPT: (INTERRUPTED, "the user interrupted it"),
}
#: names of tools by which agents hand in what they have: OpenHands, SWE-agent, smolagents, Cline,
#: browser-use, ReAct, CodeAct, pydantic-ai
_HANDS_IN = re.compile(
    "finish|submit|done|final_?(?:answer|result)|attempt_?completion|(?:task_?)?complete(?:_?task)?"
    "|end_?(?:task|run)|mark_?complete|exit_?plan_?mode|report_?result",
    re.IGNORECASE,
)
#: finish reasons of a response that is not whole, or none at all
_CUT = frozenset(
    ("length", "max_tokens", "max_output_tokens", "incomplete", "aborted", "pause_turn")
)
_FAILED = frozenset(("error", "failed", "malformed_function_call"))


@dataclass(frozen=True, slots=True)
class Ending:
    outcome: str
    rule: str  # in words


def ending(run: Run) -> Ending | None:
    """The ending of a run with its steps; None where no rule tells."""
    for boundary in reversed(run.after):
        if boundary.kind in _ENDED_BY:
            return Ending(*_ENDED_BY[boundary.kind])
        if boundary.kind is BoundaryKind.USER and boundary.text and run.steps:
            break
    if run.attempts_after:
        return Ending(ERROR, "its last API attempts failed")
    said = any(boundary.kind is BoundaryKind.USER for boundary in run.after)
    last = next((step for step in reversed(run.steps) if step.kind is StepKind.MODEL), None)
    if last is None:
        return Ending(UNFINISHED, "no response to the user's message") if said else None
    if last.calls:
        return _after_calls(last.calls, said)
    return _after_text(last, said)


def _after_calls(calls: list[Call], said: bool) -> Ending:
    if any(_HANDS_IN.fullmatch(call.tool) for call in calls if not call.failed):
        return Ending(COMPLETED, "it ends with a call that hands in its answer")
    status = {call.status for call in calls}
    if CallStatus.INTERRUPTED in status:
        return Ending(INTERRUPTED, "its last call was interrupted")
    if CallStatus.REJECTED in status:
        return Ending(INTERRUPTED, "the user refused its last call, and no response followed")
    if CallStatus.UNANSWERED in status:
        return Ending(UNFINISHED, "the log ends before its last call was answered")
    if calls[-1].failed:
        return Ending(ERROR, "its last call failed, and no response followed")
    if said:
        return Ending(UNFINISHED, "the user's last message was not answered")
    return Ending(UNFINISHED, "the log ends with a result, and no response to it")


def _after_text(last: Step, said: bool) -> Ending | None:
    finish = (last.finish or "").lower()
    if finish in _FAILED:
        return Ending(ERROR, "its last response failed")
    if finish in _CUT:
        return Ending(UNFINISHED, "its last response was cut")
    if said:
        return Ending(UNFINISHED, "the user's last message was not answered")
    return Ending(COMPLETED, "it ends with an answer") if last.text_size else None


def of_cut_log(found: Ending | None, cut: bool) -> Ending | None:
    """The same where the last line of the log may be `cut`: what followed is not known."""
    if cut and found is not None and found.outcome == COMPLETED:
        return Ending(UNFINISHED, "the last line of the log is cut")
    return found
