"""Texts, handovers, refusals, batches, varied questions and growing commands: what is counted."""

from __future__ import annotations

from itertools import pairwise

import pytest
from transcripts import (
    Record,
    boundary,
    call,
    compaction,
    failing,
    judged,
    run_of,
    shape,
    step,
    unanswered,
    user,
)

from loopaudit.detectors.handoffs import hands_over
from loopaudit.detectors.texts import Texts
from loopaudit.detectors.variants import Variants

# -- texts ----------------------------------------------------------------------------------------

SAID = "I have finished and wait for your instructions."


def talk(text: str = SAID) -> Record:
    return step(100, text=text)


def test_two_responses_of_one_word_make_the_second_waste_whole() -> None:
    found = judged(
        user(), step(1_000, text="Well. " + "word " * 400), step(900, text="word " * 400)
    )
    finding = found.only
    assert finding.rule == "text-repeats-itself"
    assert [(e.step, e.part == 1) for e in finding.waste.steps] == [(0, False), (1, True)]
    assert finding.occurrences == 400 + 400
    # of step 1 the output of 100 but for "Well. word" of 2,006 characters; step 2 as a whole
    assert finding.waste.tokens == round(100 * 1_996 / 2_006) + 900


def test_another_word_is_another_loop() -> None:
    found = judged(user(), step(1_000, text="word " * 400), step(900, text="text " * 400))
    assert [f.rule for f in found.findings] == ["text-repeats-itself"] * 2


def test_a_response_that_also_calls_a_tool_is_not_waste_whole() -> None:
    chanting = step(1_000, call("read", {"path": "a"}, "A"), text="word " * 400)
    again = step(1_000, call("read", {"path": "b"}, "B"), text="word " * 400)
    (finding,) = judged(user(), chanting, again).findings
    assert all(entry.part < 1 for entry in finding.waste.steps)


def test_same_text_is_counted_until_the_user_speaks() -> None:
    found = judged(user(), talk(), talk(), user(), talk(), talk())
    assert found.findings == []
    assert found.count_of("same_text") == 2


def test_a_log_without_messages_to_the_agent_cannot_tell() -> None:
    assert judged(*[talk()] * 5).findings == []


def test_a_hook_or_a_reminder_asked_for_it() -> None:
    asks = [r for n in range(6) for r in (boundary("reminder", f"todo {n}"), talk())]
    assert judged(*asks).count_of("same_text") == 0


def test_a_reminder_before_the_users_message_asked_for_nothing() -> None:
    assert judged(boundary("reminder", "cwd"), user(), talk(), talk(), talk()).only.occurrences == 3


def test_a_known_call_between_is_no_work() -> None:
    known = step(100, call("read", {"path": "a"}, "A"))
    rows = [user(), known, talk(), known, talk(), known, talk(), known, talk(), known, talk()]
    assert judged(*rows).count_of("same_text") == 4  # the first known call was new after the text


def test_no_state_without_repetition() -> None:
    detector = Texts()
    for made in run_of(*(step(10, call("look", {"n": n})) for n in range(500))).steps:
        detector.step_ended(made)
    assert not detector._done
    assert not detector._said


# -- handovers ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "tool",
    [
        "transfer_to_billing",
        "transferToBilling",
        "transfer_back_to_supervisor",
        "handoff",
        "handoff_to_agent",
        "hand_off_to_sales",
        "handover_to_human",
        "mcp__desk__transfer_to_sales",
        "agents.handoff",
        "route_to_agent",
        "return_to_supervisor",
        "escalate_to_manager",
        "switch_agent",
        "转交财务",
    ],
)
def test_names_of_handovers(tool: str) -> None:
    assert hands_over(tool)


@pytest.mark.parametrize(
    "tool",
    [
        "transfer_money",
        "transfer_funds_to_account"[:14],
        "read_file",
        "pass_test",
        "give_feedback",
        "export_to_csv",
        "write_to_file",
        "convert_to_pdf",
        "go_to_page",
        "switch_to_tab",
        "route_to_support_page",
        "pass_to_compiler",
        "routes",
        "handle_request",
        "spawn_agent",
    ],
)
def test_names_of_other_tools(tool: str) -> None:
    assert not hands_over(tool)


def test_a_handover_to_one_agent_alone() -> None:
    rows = [step(100, call("transfer_to_sales", {"why": str(n)}, "done")) for n in range(4)]
    assert shape(judged(*rows).only) == (1, 2, [2, 3, 4], 300, "n/a")


def test_a_handover_that_was_repeated_is_no_equal_call() -> None:
    work = [
        r
        for n in range(6)
        for r in (
            step(100, call("transfer_to_sales", {}, "done")),
            step(100, call("look", {"n": n}, f"{n}")),
        )
    ]
    assert judged(*work).findings == []


# -- refusals -------------------------------------------------------------------------------------


def test_refusals_side_by_side_are_one() -> None:
    no = call("push", {}, "no", status="blocked")
    assert judged(step(10, no, no, no), step(10, no)).count_of("refused_again") == 2
    assert judged(step(10, no), step(10, no, no), step(10, no)).count_of("refused_again") == 3


def test_a_failure_is_no_refusal() -> None:
    assert judged(*[step(10, failing("push", {}, "no"))] * 4).count_of("refused_again") == 0


# -- batches --------------------------------------------------------------------------------------

A, B, C = (call("get", {"n": n}, f"{n}") for n in range(3))


@pytest.mark.parametrize(
    ("calls", "count"),
    [
        ([A, B] * 3, 3),
        ([A, B, C] * 4, 4),
        ([C, A, B, A, B, A, B], 3),
        ([A, B] * 3 + [A], 3),  # cut in the middle of the next one
        ([A] * 10, 10),
        ([A] * 9, 0),
        ([A, B] * 2, 0),
        ([A, B, A, C, A, B, A, C], 0),
        ([A, A, A, B, B, B], 0),
    ],
)
def test_batches_in_one_response(calls: list[Record], count: int) -> None:
    found = judged(step(100, *calls))
    assert found.count_of("batch_emitted_again") == count
    if count:
        assert found.only.waste.steps == []
        assert found.only.listed_steps == [0]


def test_batches_whose_answers_differ() -> None:
    calls = [call("get", {"n": n % 2}, f"{n}") for n in range(8)]
    assert judged(step(100, *calls)).count_of("batch_emitted_again") == 0


def test_batches_that_were_not_answered() -> None:
    calls = [unanswered("get", {"n": n % 2}) for n in range(8)]
    assert judged(step(100, *calls)).count_of("batch_emitted_again") == 4


# -- varied questions, growing commands -----------------------------------------------------------

ANSWER = "That is not part of this collection."


def questions(count: int, answer: str = ANSWER, tool: str = "ask") -> list[Record]:
    return [step(100, call(tool, {"q": n}, answer)) for n in range(count)]


def test_one_answer_to_varied_questions() -> None:
    assert shape(judged(*questions(6)).only) == (1, 2, [2, 3, 4, 5, 6], 500, "n/a")
    assert judged(*questions(4)).findings == []


@pytest.mark.parametrize("answer", ["ok", "", "true", "no matches found", "Found 0 results."])
def test_answers_that_say_too_little(answer: str) -> None:
    assert judged(*questions(9, answer)).findings == []


def test_a_question_that_was_asked_before_is_not_varied() -> None:
    rows = [step(100, call("ask", {"q": n % 3}, ANSWER)) for n in range(4)]
    assert judged(*rows).count_of("same_answer") == 3


def test_a_change_of_state_starts_again() -> None:
    change = step(100, call("write_file", {"path": "a", "text": "1"}, "ok"))
    rows = questions(8)
    assert judged(*rows[:4], change, *rows[4:]).findings == []
    failed = step(100, failing("write_file", {"path": "a", "text": "1"}, "disk is full"))
    assert judged(*rows[:4], failed, *rows[4:]).only.rule == "same-answer"


def test_memory_lost_once_changes_nothing() -> None:
    rows = questions(8)
    assert judged(*rows[:4], compaction(50), *rows[4:]).only.occurrences == 8


def commands(*texts: str, result: str = "a.py b.py", **more: str) -> list[Record]:
    return [step(100, call("bash", {"command": text, **more}, result)) for text in texts]


GROWING = ("ls", "ls src", "ls src tests", "ls src tests docs")


def test_a_growing_command() -> None:
    assert shape(judged(*commands(*GROWING)).only) == (1, 2, [2, 3, 4], 300, "n/a")


def test_a_growing_command_with_other_arguments_behind_it() -> None:
    assert judged(*commands(*GROWING, timeout="9", workdir="/src")).only.rule == "growing-command"


def test_a_growing_command_beyond_what_is_quoted() -> None:
    texts = ["ls src" + " | sort" * n for n in range(0, 60, 6)]
    found = judged(*commands(*texts))
    assert found.count_of("growing_command") == 10


@pytest.mark.parametrize(
    "texts",
    [
        ("ls a", "ls b", "ls c", "ls d"),
        GROWING[::-1],
        ("cat a.py", "cat a.py b.py", "cat c.py", "cat c.py d.py"),
        ("ls x", "ls xy", "ls xyz", "ls xy-zu"),
    ],
)
def test_commands_that_do_not_grow(texts: tuple[str, ...]) -> None:
    assert judged(*commands(*texts)).count_of("growing_command") < 4


def test_commands_that_vary_beside_a_long_argument() -> None:
    rows = commands("ls a", "ls bb", "ls ccc", "ls dddd", "ls eeeee", workdir="/home/noor/app")
    assert judged(*rows).findings == []


def test_growing_with_another_result_each_time() -> None:
    rows = [commands(text, result=text[::-1])[0] for text in GROWING]
    assert judged(*rows).findings == []


def test_state_is_kept_per_tool() -> None:
    detector = Variants()
    run = run_of(*(step(10, call(f"t{n % 7}", {"n": n}, f"answer {n}")) for n in range(500)))
    for made, after in pairwise(run.calls):
        assert made.index < after.index
        detector.call_ended(made)
    assert len(detector._last) == 7
    assert not detector._rows
