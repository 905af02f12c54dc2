"""How a run ended, rule by rule; and what is not taken for an ending."""

from __future__ import annotations

import pytest

from loopaudit.model import (
    Attempt,
    Boundary,
    BoundaryKind,
    Call,
    CallStatus,
    ErrorClass,
    Run,
    Step,
    StepKind,
)
from loopaudit.replay.endings import RULES, Ending, ending, of_cut_log


def run(*calls: tuple[str, CallStatus], text: int = 0, finish: str | None = None) -> Run:
    """One step with these calls, or with a text."""
    step = Step(0, "p", 1, text_size=text, finish=finish)
    step.calls = [
        Call(n, 0, n, None, tool, n, 1, status=status) for n, (tool, status) in enumerate(calls)
    ]
    return Run("r", "p", "f", steps=[step])


def after(found: Run, *kinds: BoundaryKind) -> Run:
    found.after = [Boundary(kind, 2, "p", text="x") for kind in kinds]
    return found


OK, ERROR, OPEN = CallStatus.OK, CallStatus.ERROR, CallStatus.UNANSWERED
USER, INTERRUPT = BoundaryKind.USER, BoundaryKind.INTERRUPT


@pytest.mark.parametrize(
    ("found", "outcome"),
    [
        (run(text=5), "completed"),
        (run(text=5, finish="end_turn"), "completed"),
        (run(text=5, finish="max_tokens"), "unfinished"),
        (run(text=5, finish="error"), "error"),
        (run(("Bash", OK)), "unfinished"),
        (run(("Bash", ERROR)), "error"),
        (run(("Bash", ERROR), ("Bash", OK)), "unfinished"),
        (run(("Bash", OPEN)), "unfinished"),
        (run(("Bash", CallStatus.INTERRUPTED)), "interrupted"),
        (run(("Bash", CallStatus.REJECTED)), "interrupted"),
        (run(("finish", OPEN)), "completed"),
        (run(("attempt_completion", OK)), "completed"),
        (run(("submit", ERROR)), "error"),
        (run(("finish_build", OK)), "unfinished"),  # the whole name
        (after(run(text=5), USER), "unfinished"),
        (after(run(text=5), INTERRUPT), "interrupted"),
        (after(run(("Bash", OK)), INTERRUPT), "interrupted"),
        (after(run(text=5), INTERRUPT, USER), "unfinished"),  # the user went on to say something
        (after(run(("Bash", OK)), BoundaryKind.LIMIT), "limit"),
        (after(run(("Bash", OK)), BoundaryKind.GUARD_STOP), "stopped"),
        (after(run(text=5), BoundaryKind.HOOK), "completed"),
    ],
)
def test_rules(found: Run, outcome: str) -> None:
    made = ending(found)
    assert made is not None
    assert made.outcome == outcome
    assert outcome in RULES


def test_failed_api_attempts_at_the_end() -> None:
    found = run(text=5)
    found.attempts_after = [Attempt(3, None, ErrorClass.THROTTLED, 429)]
    assert ending(found) == Ending("error", "its last API attempts failed")
    assert ending(after(found, INTERRUPT)) == Ending("interrupted", "the user interrupted it")


def test_nothing_tells() -> None:
    assert ending(Run("r", "p", "f")) is None
    assert ending(run()) is None  # neither text nor calls
    compaction = Run("r", "p", "f", steps=[Step(0, "p", 1, kind=StepKind.COMPACTION, text_size=9)])
    assert ending(compaction) is None
    assert ending(after(Run("r", "p", "f"), USER)) == Ending(
        "unfinished", "no response to the user's message"
    )


def test_a_cut_log_tells_no_completion() -> None:
    assert of_cut_log(ending(run(text=5)), True) == Ending(
        "unfinished", "the last line of the log is cut"
    )
    assert of_cut_log(ending(run(text=5)), False) == ending(run(text=5))
    assert of_cut_log(None, True) is None
