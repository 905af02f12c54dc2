"""`show` lists steps so that a reader can check a claim against the log."""

from __future__ import annotations

import io

from example import MAIN, T0, place, waste
from snapshot import check

from loopaudit.findings import EndedBy, Finding, Level, Trip
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
    Usage,
    UsageMark,
)
from loopaudit.render.screen import Screen
from loopaudit.render.steps import around, write


def step(index: int, **more: object) -> Step:
    call = Call(
        index=index,
        step=index,
        position=0,
        id=f"t{index}",
        tool="exec",
        key=1,
        line=10 * index + 11,
        args='{"command":"pytest -q"}',
        status=CallStatus.ERROR,
        error=ErrorClass.PERMANENT,
        text="1 failed: t_x\n\x1b[31mAssertionError",
        exit_code=1,
        result=7,
        result_line=10 * index + 12,
    )
    fields: dict[str, object] = {
        "at": T0 + 60 * index,
        "usage": Usage(fresh_input=1000, output=200),
        "calls": [call],
    }
    return Step(index, MAIN, 10 * index + 11, **(fields | more))  # type: ignore[arg-type]


def run() -> Run:
    steps = [step(i) for i in range(20)]
    steps[0].before = [Boundary(BoundaryKind.USER, 3, MAIN, text="please make\nthe tests pass")]
    steps[0].calls[0].status = CallStatus.OK
    steps[0].calls[0].tool, steps[0].calls[0].args = "edit", '{"path":"a.py"}'
    steps[0].calls[0].text, steps[0].calls[0].blank = "", True
    steps[0].calls[0].mutates = True
    steps[0].calls[0].error = steps[0].calls[0].exit_code = None
    steps[1].text = "I run the tests once more."
    steps[4].attempts = [
        Attempt(
            48, None, ErrorClass.THROTTLED, 429, message="slow down", wait=2.0, number=1, limit=3
        )
    ]
    steps[5].kind, steps[5].calls, steps[5].usage = StepKind.COMPACTION, [], None
    steps[19].calls[0].status = CallStatus.UNANSWERED
    steps[19].calls[0].result = steps[19].calls[0].result_line = None
    steps[19].calls[0].text = steps[19].calls[0].error = None
    return Run(
        "c4f1a9",
        MAIN,
        "claude_code",
        steps=steps,
        after=[Boundary(BoundaryKind.INTERRUPT, 230, MAIN)],
    )


def finding() -> Finding:
    return Finding(
        rule="repeated-call",
        run="c4f1a9",
        occurrences=18,
        first_seen=place("c4f1a9", 1, MAIN, 21, 60),
        onset=place("c4f1a9", 2, MAIN, 31, 120),
        last=place("c4f1a9", 19, MAIN, 201, 1140),
        ended_by=EndedBy.USER,
        waste=waste("c4f1a9", range(2, 20), 1, None, None, None),
    )


TRIPS = [
    ("loopaudit", Trip("same_result", Level.WARN, 3, 3, 3, 0, "exec")),
    ("loopaudit", Trip("same_result", Level.STOP, 5, 5, 5, 0)),
]


def shown(span: tuple[int, int] | None = None, findings: list[Finding] | None = None) -> str:
    stream = io.StringIO()
    write(run(), [finding()] if findings is None else findings, TRIPS, stream, Screen(), span)
    return stream.getvalue()


def test_layout() -> None:
    check("steps.txt", shown())


def test_steps_about_first_onset_and_last_are_chosen() -> None:
    # 0-based: first 1 (2 before), onset 2 (2 before, 4 after), last 19 (1 before)
    assert around([finding()], 20) == [0, 1, 2, 3, 4, 5, 6, 18, 19]
    assert around([], 3) == [0, 1, 2]
    assert around([], 0) == []


def test_a_span_shows_just_those_steps_and_what_is_left_out() -> None:
    text = shown((9, 10))
    assert [line.split("  ")[0] for line in text.splitlines() if line.startswith("step")] == [
        "step 10",
        "step 11",
    ]
    assert "steps 1-9 not shown" in text
    assert "steps 12-20 not shown" in text


def test_marks_stand_at_their_steps() -> None:
    blocks = shown().split("\n\n")
    (first,) = [block for block in blocks if "first done here" in block]
    (onset,) = [block for block in blocks if "BEGINS HERE" in block]
    assert "step 2 " in first
    assert "step 3 " in onset
    assert f"{MAIN}:31" in onset


def test_what_happened_just_before_is_told() -> None:
    head = shown().partition("step 1  ")[0]
    assert 'user      step 1, line 3: "please make\\nthe tests pass"' in head
    assert 'change    step 1, line 11: edit {"path":"a.py"}' in head
    assert "compact" not in head  # came later


def test_tokens_bear_the_mark_of_their_usage() -> None:
    usages = [
        Usage(fresh_input=1000, output=200),
        Usage(fresh_input=1000, output=1, mark=UsageMark.LOWER_BOUND),
        Usage(output=1201),  # one side only
        Usage(fresh_input=1000, output=202, mark=UsageMark.ESTIMATED),
        Usage(mark=UsageMark.ABSENT),
        None,
    ]
    told = run()
    told.steps = [step(index, usage=usage) for index, usage in enumerate(usages)]
    out = io.StringIO()
    write(told, [], (), out, Screen(100, False), (0, 5))
    heads = [line for line in out.getvalue().splitlines() if line.startswith("step ")]
    assert [head.split("  ")[-1] for head in heads] == [
        "1,200 tokens",
        "≥1,001 tokens",
        "≥1,201 tokens",
        "~1,202 tokens",
        "tokens unknown",
        "tokens unknown",
    ]


def test_log_text_is_inert() -> None:
    assert "\x1b" not in shown()
    assert "\\x1b[31mAssertionError" in shown()


def test_a_run_without_steps_or_findings() -> None:
    stream = io.StringIO()
    write(Run("r", "x.jsonl", "codex"), [], [], stream, Screen())
    assert "0 steps, 0 calls" in stream.getvalue()
    assert "No loops found in this run." in stream.getvalue()
