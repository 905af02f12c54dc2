"""Pieces to runs: one response once, each result with its own call, nothing counted twice."""

from __future__ import annotations

from typing import Any

import pytest

from loopaudit.ingest import runs as module
from loopaudit.ingest.results import Keep
from loopaudit.ingest.runs import RunAssembler
from loopaudit.model import (
    BoundaryKind,
    BoundaryPiece,
    CallPiece,
    CallStatus,
    ErrorClass,
    ResponsePiece,
    ResultPiece,
    Run,
    RunPiece,
    Usage,
    UsageMark,
)


def build(*pieces: Any, placeholders: bool = False, keep: Keep | None = None) -> list[Run]:
    assembler = RunAssembler("log.jsonl", "test", placeholder_outputs=placeholders, keep=keep)
    for piece in pieces:
        assembler.add(piece)
    return assembler.finish()


def call(id: str | None, tool: str = "read", **args: Any) -> CallPiece:
    return CallPiece(id, tool, args)


def response(line: int, *calls: CallPiece, id: str | None = None, **more: Any) -> ResponsePiece:
    return ResponsePiece("r", line, id=id, calls=calls, **more)


def result(line: int, id: str | None, text: Any, **more: Any) -> ResultPiece:
    return ResultPiece("r", line, id, text, **more)


def test_c1_one_response_on_three_lines() -> None:
    usage = [
        Usage(fresh_input=10, cache_write_unsplit=2_000, cache_read=8_000, output=o)
        for o in (1, 1, 350)
    ]
    (run,) = build(
        response(1, id="M1", usage=usage[0], at=10.0),
        response(2, id="M1", usage=usage[1], at=10.2, text="hello"),
        response(3, call("t1", path="a"), id="M1", usage=usage[2], at=10.5, finish="tool_use"),
    )
    (step,) = run.steps
    assert step.usage is not None
    assert (step.usage.total, step.usage.output) == (10_360, 350)
    assert (len(step.calls), step.calls[0].line, step.at, step.line) == (1, 3, 10.0, 1)
    assert step.text_size == 5


def test_largest_usage_wins_wherever_it_stands() -> None:
    (run,) = build(
        response(1, id="M1", usage=Usage(output=350, fresh_input=5)),
        response(2, id="M1", usage=Usage(output=1, fresh_input=5)),
    )
    assert run.steps[0].usage == Usage(output=350, fresh_input=5)


def test_b7_one_call_streamed_in_pieces() -> None:
    pieces = [
        response(
            i, CallPiece("t1", "write", {"text": "abc"[:i]}), id="M", usage=Usage(output=1_200)
        )
        for i in (1, 2, 3)
    ]
    (run,) = build(*pieces, result(4, "t1", "ok"))
    (step,) = run.steps
    assert step.usage is not None
    assert step.usage.total == 1_200
    assert [c.args for c in step.calls] == ['{"text":"abc"}']
    assert step.calls[0].status is CallStatus.OK


def test_b8_replayed_history_without_response_ids() -> None:
    lines: list[Any] = []
    for start in (1, 3, 5):
        lines += [response(start, call("a1", path="/w"), at=7.0), result(start + 1, "a1", "text")]
    (run,) = build(*lines)
    assert len(run.calls) == 1
    assert run.duplicates == 4  # two copies of the call, two of its result


def test_recycled_call_ids_are_different_calls() -> None:
    (run,) = build(
        response(1, call("call_0", path="a")),
        result(2, "call_0", "A"),
        response(3, call("call_0", path="b")),
        result(4, "call_0", "B"),
        response(5, call("call_0", path="a")),
    )
    assert [c.result_line for c in run.calls] == [2, 4, None]
    assert run.calls[2].status is CallStatus.UNANSWERED
    assert run.calls[2].result_key is None
    assert run.duplicates == 0


def test_oldest_unanswered_call_of_an_id_first() -> None:
    (run,) = build(
        response(1, call("x", n=1), call("x", n=2)), result(2, "x", "one"), result(3, "x", "two")
    )
    assert [c.result_line for c in run.calls] == [2, 3]


def test_results_without_id_go_by_order_and_tool() -> None:
    (run,) = build(
        response(1, call(None, "a"), call(None, "b"), call(None, "a")),
        result(2, None, "B", tool="b"),
        result(3, None, "A1"),
        result(4, None, "A2"),
        result(5, None, "too many"),
    )
    assert [c.result_line for c in run.calls] == [3, 2, 4]
    assert run.orphan_results == 1


def test_result_before_its_call() -> None:
    (run,) = build(result(1, "t", "early"), response(2, call("t", path="a"), id="M"))
    assert run.calls[0].result_line == 1


def test_results_between_the_blocks_of_one_response() -> None:
    (run,) = build(
        response(1, call("t1", path="a"), id="M"),
        result(2, "t1", "A"),
        response(3, call("t2", path="b"), id="M"),
        result(4, "t2", "B"),
    )
    assert len(run.steps) == 1
    assert [c.position for c in run.calls] == [0, 1]


def test_repeated_calls_are_masked_and_single_ones_are_not() -> None:
    (run,) = build(
        response(1, call("1", "send", to="ops")),
        result(2, "1", '{"ok":true,"id":"m-101"}'),
        response(3, call("2", "send", to="dev")),
        result(4, "2", '{"ok":true,"id":"m-102"}'),
        response(5, call("3", "send", to="ops")),
        result(6, "3", '{"ok":true,"id":"m-103"}'),
    )
    first, other, again = run.calls
    assert first.key == again.key != other.key
    assert first.result != again.result
    assert first.masked == again.masked is not None
    assert first.result_key == again.result_key
    assert other.masked is None


def test_masking_does_not_depend_on_what_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    pieces: list[Any] = []
    for i in range(40):
        pieces.append(response(2 * i, call(str(i), n=i % 20)))
        pieces.append(result(2 * i + 1, str(i), f"took {i}.5s, answer {i % 20}" + "x" * 50))
    held = [c.masked for c in build(*pieces)[0].calls]
    monkeypatch.setattr(module, "HELD_TEXT", 300)
    assert [c.masked for c in build(*pieces)[0].calls] == held
    assert None not in held
    assert held[:20] == held[20:]


def test_failed_calls_are_classified() -> None:
    (run,) = build(
        response(1, call("1", path="gone.txt")),
        result(2, "1", "ENOENT: no such file or directory", status=CallStatus.ERROR),
        response(3, call("2", url="u")),
        result(4, "2", "unavailable", status=CallStatus.ERROR, http_status=503),
    )
    gone, busy = run.calls
    assert (gone.error, gone.retryable) == (ErrorClass.PERMANENT, False)
    assert (busy.error, busy.retryable) == (ErrorClass.TRANSIENT, True)
    assert gone.error_key is not None
    assert gone.error_key != busy.error_key


def test_rejections_and_siblings_are_no_failures() -> None:
    (run,) = build(
        response(1, call("1"), call("2")),
        result(2, "1", "The user doesn't want to proceed", status=CallStatus.REJECTED),
        result(3, "2", "Sibling tool call errored", status=CallStatus.SIBLING),
    )
    assert [c.failed for c in run.calls] == [False, False]
    assert [c.error for c in run.calls] == [None, None]


def test_placeholder_output_is_a_lower_bound() -> None:
    def mark(output: int, finish: str | None, placeholders: bool = True) -> UsageMark:
        (run,) = build(
            response(1, id="M", usage=Usage(output=output), finish=finish),
            placeholders=placeholders,
        )
        assert run.steps[0].usage is not None
        return run.steps[0].usage.mark

    assert mark(1, None) is UsageMark.LOWER_BOUND
    assert mark(8, None) is UsageMark.LOWER_BOUND
    assert mark(9, None) is UsageMark.REPORTED
    assert mark(1, "end_turn") is UsageMark.REPORTED
    assert mark(1, None, placeholders=False) is UsageMark.REPORTED


def test_boundaries_stand_before_the_next_step_or_after_the_last() -> None:
    (run,) = build(
        BoundaryPiece("r", 1, BoundaryKind.USER, text="do it"),
        response(2, call("1")),
        BoundaryPiece("r", 3, BoundaryKind.INTERRUPT),
    )
    assert [b.kind for b in run.steps[0].before] == [BoundaryKind.USER]
    assert [b.kind for b in run.after] == [BoundaryKind.INTERRUPT]


def test_runs_are_kept_apart() -> None:
    runs = build(
        RunPiece("a", 1, session="s", agent="main"),
        ResponsePiece("a", 2, id="M1", calls=(call("t", path="x"),)),
        ResponsePiece("b", 3, id="M1", calls=(call("t", path="x"),)),
        ResultPiece("b", 4, "t", "for b"),
        RunPiece("empty", 5),
    )
    assert [r.id for r in runs] == ["a", "b"]
    assert [r.calls[0].result_line for r in runs] == [None, 4]


def test_result_shapes_are_one_text() -> None:
    (run,) = build(
        response(1, call("1", n=1)),
        result(2, "1", "same"),
        response(3, call("2", n=1)),
        result(4, "2", [{"type": "text", "text": "same"}]),
        response(5, call("3", n=2)),
        result(6, "3", {"b": 1.0, "a": [1]}),
        response(7, call("4", n=2)),
        result(8, "4", {"a": [1.0], "b": 1}),
        response(9, call("5", n=3)),
        result(10, "5", ""),
        response(11, call("6", n=4)),
        result(12, "6", None),
    )
    keys = [c.result for c in run.calls]
    assert keys[0] == keys[1]
    assert keys[2] == keys[3]
    assert run.calls[4].blank is True
    assert run.calls[5].result is None  # answered, but nothing is recorded
    assert run.calls[5].answered


def test_half_an_emoji_anywhere() -> None:
    pieces = [
        RunPiece("r", 1, prompt="\ud83d"),
        response(2, CallPiece("1", "\ud83d", {"\ud83d": "\ud83d"}), text="\ud83d"),
        result(3, "1", "\ud83d ok"),
        response(4, CallPiece("2", "\ud83d", {"\ud83d": "\ud83d"})),
        result(5, "2", "\ud83d ok"),
    ]
    (run,) = build(*pieces)
    assert run.calls[0].key == run.calls[1].key
    assert run.calls[0].result_key == run.calls[1].result_key
    (again,) = build(*pieces)
    assert again.calls[0].key == run.calls[0].key


def test_the_model_of_a_run_is_that_of_its_responses_that_name_none() -> None:
    (run,) = build(
        RunPiece("r", 1, model="gpt-5"),
        response(2, id="M1", usage=Usage(output=1)),
        response(3, id="M2", model="gpt-5-mini", usage=Usage(output=1)),
    )
    assert [step.model for step in run.steps] == ["gpt-5", "gpt-5-mini"]


# -- what is put in ------------------------------------------------------------------------------


def told(line: int, text: str) -> BoundaryPiece:
    return BoundaryPiece("r", line, BoundaryKind.HOOK, text=text)


def test_the_only_text_put_in_is_compared_with_nothing_and_not_masked() -> None:
    asked = BoundaryPiece("r", 1, BoundaryKind.USER, text="do it")
    (run,) = build(asked, told(2, "Lint failed at [10:31:07]."), response(3, id="a"))
    assert [b.text_key for b in run.steps[0].before] == [None, None]
    assert run.steps[0].before[1].text == "Lint failed at [10:31:07]."


def test_texts_put_in_are_masked_from_the_second_on() -> None:
    (run,) = build(
        told(1, "Lint failed at [10:31:07]."),
        response(2, id="a"),
        told(3, "Lint failed at [10:31:09]."),
        response(4, id="b"),
        told(5, "Go on."),
        told(6, "Lint failed at [10:31:12]."),
    )
    first, second = (step.before[0].text_key for step in run.steps)
    other, third = (boundary.text_key for boundary in run.after)
    assert first is not None
    assert first == second == third
    assert other not in (None, first)


def test_a_long_text_put_in_is_not_held_but_masked_at_once() -> None:
    (run,) = build(told(1, "x" * 5_000), response(2, id="a"))
    assert run.steps[0].before[0].text_key is not None


def test_a_guard_at_work_gets_every_text_masked_at_once() -> None:
    assembler = RunAssembler("log.jsonl", "test", live=True)
    assembler.add(told(1, "Lint failed."))
    assert assembler.growing("r").after[0].text_key is not None


# -- what is said without a call ------------------------------------------------------------------


def test_only_texts_that_can_be_compared_are_masked() -> None:
    asked = BoundaryPiece("r", 2, BoundaryKind.USER, text="and now?")
    answered, *_ = build(response(1, id="a", text="At 10:31:07 all is well."), asked)
    assert answered.steps[0].said is None  # nothing else was said before the user spoke
    (run,) = build(
        response(1, id="a", text="It is [10:31:07] now."),
        response(2, call("t"), id="b", text="Let me look."),
        response(3, id="c", text="It is [10:31:09] now."),
        asked,
        response(4, id="d", text="It is [10:31:11] now."),
    )
    first, with_call, second, later = run.steps
    assert first.said is not None
    assert first.said == second.said
    assert with_call.said is None
    assert later.said is None


def test_calls_of_one_response_that_share_an_id_are_as_many_as_there_are():
    """Some servers give the name of the function, or nothing but `call_0`, for an id."""
    calls = tuple(CallPiece("read", "read", {"path": path}) for path in ("a", "b", "a"))
    response = ResponsePiece("r", 1, id="m1", calls=calls)
    results = [ResultPiece("r", 2, "read", text) for text in ("1", "2", "3")]
    build = RunAssembler("x", "f")
    for piece in (response, *results):
        build.add(piece)
    (run,) = build.finish()
    found = run.steps[0].calls
    assert [call.args for call in found] == ['{"path":"a"}', '{"path":"b"}', '{"path":"a"}']
    assert [call.result_line for call in found] == [2, 2, 2]
    # told again as a whole, they add nothing
    build = RunAssembler("x", "f")
    for piece in (response, response, *results):
        build.add(piece)
    (run,) = build.finish()
    assert (len(run.steps[0].calls), run.duplicates) == (3, 3)
