"""Claude Code responses, results and usage: each trap with its silent twin."""

import math
from copy import deepcopy
from decimal import Decimal

import pytest
from claude_records import (
    SESSION,
    asked,
    attempts,
    boundaries,
    call,
    line,
    read,
    responses,
    result,
    results,
    runs,
    said,
    text,
    usage,
)

from loopaudit.model import CallStatus, StepKind, UsageMark

# -- responses ------------------------------------------------------------------------------------


def test_c1_one_response_in_three_lines_counts_once_and_keeps_its_call():
    # input 10, cache write 2,000, cache read 8,000 on each line; output 1, 1, 350: 10,360 in all
    lines = [
        said([{"type": "thinking", "thinking": "hm"}], "M1", 1, None, usage(10, 8000, 2000, 1)),
        said([text("I look.")], "M1", 2, None, usage(10, 8000, 2000, 1)),
        said([call("t1", command="ls")], "M1", 3, "tool_use", usage(10, 8000, 2000, 350)),
    ]
    (run,) = runs(lines).values()
    (step,) = run.steps
    assert step.usage.total == 10_360
    assert [c.tool for c in step.calls] == ["Bash"]
    assert step.finish == "tool_use"
    assert step.line == 1
    assert step.usage.mark is UsageMark.REPORTED


def test_two_responses_of_equal_usage_are_two():
    (run,) = runs([said([text("a")], "M1", 1), said([text("b")], "M2", 2)]).values()
    assert [s.usage.total for s in run.steps] == [180, 180]


def test_b7_a_call_streamed_in_five_lines_is_one_call_with_the_last_arguments():
    lines = [
        said([call("t1", command="make " + "x" * n)], "M1", n, None, usage(1000, 0, 0, 200))
        for n in range(1, 6)
    ]
    (run,) = runs([*lines, result("t1", "built", 9)]).values()
    (step,) = run.steps
    assert step.usage.total == 1200
    (one,) = step.calls
    assert "make xxxxx" in one.args
    assert one.status is CallStatus.OK


def test_b8_history_replayed_three_times_is_one_call_and_one_prompt():
    once = [
        asked("read the notes", 1, uuid="u1"),
        said([call("a1", "Read", path="/w/notes")], "M1", 2, "tool_use", usage(1000, 0, 0, 0)),
        result("a1", "milk", 3, uuid="u2"),
    ]
    (run,) = runs(once * 3).values()
    assert [(s.usage.total, len(s.calls)) for s in run.steps] == [(1000, 1)]
    assert [b.kind.value for b in run.steps[0].before] == ["user"]
    assert run.after == []


def test_blocks_of_a_response_may_be_parted_by_the_result_of_its_first_call():
    (run,) = runs(
        [
            said([call("t1", command="ls a")], "M1", 1, None),
            result("t1", "a", 2),
            said([call("t2", command="ls b")], "M1", 3, "tool_use"),
            result("t2", "b", 4),
        ]
    ).values()
    assert [[c.id for c in s.calls] for s in run.steps] == [["t1", "t2"]]
    assert all(c.answered for c in run.calls)


def test_s14_results_of_parallel_calls_find_their_calls_in_any_order():
    calls = [said([call(f"t{n}", "Read", file_path=f"/{n}")], "M1", n, None) for n in range(5)]
    answers = [result(f"t{n}", f"text {n}", 10 + n) for n in (3, 0, 4, 1, 2)]
    (run,) = runs([*calls, *answers]).values()
    assert len(run.steps) == 1
    assert [c.result_line for c in run.calls] == [7, 9, 10, 6, 8]


def test_s2_placeholder_outputs_are_a_lower_bound():
    block = text("word " * 480)
    (run,) = runs([said([block], "M1", n, None, usage(5, 0, 0, 1)) for n in range(3)]).values()
    assert run.steps[0].usage.output == 1
    assert run.steps[0].usage.mark is UsageMark.LOWER_BOUND


@pytest.mark.parametrize(("output", "stop"), [(9, None), (1, "end_turn")])
def test_short_outputs_that_ended_are_what_they_say(output, stop):
    lines = [said([text("ok")], "M1", 1, None, usage(5, 0, 0, 1))]
    lines.append(said([text("ok")], "M1", 2, stop, usage(5, 0, 0, output)))
    (run,) = runs(lines).values()
    assert run.steps[0].usage.mark is UsageMark.REPORTED


def test_a_message_without_id_is_known_by_its_line():
    first = said([text("a")], None, 1, uuid="l1")
    second = said([text("b")], None, 2, uuid="l2")
    assert [p.id for p in responses([first, second])] == ["line:l1", "line:l2"]
    (run,) = runs([first, second, first]).values()
    assert len(run.steps) == 2


def test_lines_cut_down_by_other_programs_are_read_by_their_role():
    short = {
        "timestamp": "2026-01-09T10:00:00.000Z",
        "sessionId": "s",
        "message": {"role": "assistant", "id": "m", "usage": usage()},
        "costUSD": 0.12,
    }
    (piece,) = responses([short])
    assert piece.cost == Decimal("0.12")
    assert piece.usage.total == 180


def test_thinking_is_counted_and_no_text():
    (piece,) = responses([said([{"type": "thinking", "thinking": "abcd"}, text("e"), text("f")])])
    assert (piece.text, piece.thinking_chars) == ("e\nf", 4)


def test_a_tool_of_the_provider_is_called_and_answered_in_one_message():
    search = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}}
    found = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [{"url": "u"}]}
    broken = {**found, "content": {"type": "error", "error_code": "max_uses_exceeded"}}
    (run,) = runs([said([search, found], "M1")]).values()
    assert (run.calls[0].tool, run.calls[0].status) == ("web_search", CallStatus.OK)
    (run,) = runs([said([search, broken], "M1")]).values()
    assert (run.calls[0].status, run.calls[0].code) == (CallStatus.ERROR, "max_uses_exceeded")


# -- usage ----------------------------------------------------------------------------------------


def test_c8_cache_writes_are_split_by_lifetime_where_the_log_tells():
    split = {"ephemeral_5m_input_tokens": 1000, "ephemeral_1h_input_tokens": 2000}
    (piece,) = responses([said([text("a")], tokens=usage(1, 0, 3000, 5, cache_creation=split))])
    u = piece.usage
    assert (u.cache_write_5m, u.cache_write_1h, u.cache_write_unsplit) == (1000, 2000, None)
    assert u.cache_write == 3000


def test_cache_writes_without_split_have_no_lifetime():
    (piece,) = responses([said([text("a")], tokens=usage(1, 0, 3000, 5))])
    assert (piece.usage.cache_write_5m, piece.usage.cache_write_unsplit) == (None, 3000)


def test_what_a_split_leaves_over_is_not_lost():
    split = {"ephemeral_5m_input_tokens": 1000, "ephemeral_1h_input_tokens": 0}
    (piece,) = responses([said([text("a")], tokens=usage(1, 0, 3000, 5, cache_creation=split))])
    assert (piece.usage.cache_write_5m, piece.usage.cache_write_unsplit) == (1000, 2000)


def test_reasoning_lies_inside_the_output_and_searches_are_no_tokens():
    tokens = usage(
        10,
        0,
        0,
        50,
        output_tokens_details={"thinking_tokens": 30},
        server_tool_use={"web_search_requests": 2},
    )
    (piece,) = responses([said([text("a")], tokens=tokens)])
    assert (piece.usage.reasoning, piece.usage.web_searches) == (30, 2)
    assert piece.usage.total == 60


@pytest.mark.parametrize(
    ("more", "note", "service"),
    [
        ({"speed": "fast"}, "fast", None),
        ({"speed": "standard", "service_tier": "standard"}, None, None),
        ({"service_tier": "batch"}, "batch", None),
        ({"service_tier": "priority"}, None, "priority"),
        ({"inference_geo": "us"}, None, "us"),
        ({"inference_geo": "not_available"}, None, None),
    ],
)
def test_what_changes_the_price_is_kept(more, note, service):
    (piece,) = responses([said([text("a")], tokens=usage(**more))])
    assert (piece.usage.note, piece.service) == (note, service)


@pytest.mark.parametrize("value", [math.nan, -5, True, "12", math.inf, 10**400, 10**12, [1], {}])
def test_e8_a_hostile_count_is_missing_and_said(value):
    tokens = {**usage(), "output_tokens": value}
    (piece,) = responses([said([text("a")], tokens=tokens)])
    assert piece.usage.output is None
    assert piece.usage.mark is UsageMark.ABSENT
    assert piece.usage.note.startswith("usage unreadable: output_tokens")
    assert piece.usage.cache_read == 100


def test_absent_buckets_are_not_zero():
    (piece,) = responses([said([text("a")], tokens={"input_tokens": 3})])
    assert (piece.usage.fresh_input, piece.usage.output, piece.usage.cache_read) == (3, None, None)
    assert piece.usage.mark is UsageMark.REPORTED


def test_whole_numbers_written_as_floats_are_counts():
    (piece,) = responses([said([text("a")], tokens={**usage(), "input_tokens": 12.0})])
    assert (piece.usage.fresh_input, piece.usage.mark) == (12, UsageMark.REPORTED)


def test_the_figures_of_a_sub_agent_in_a_result_are_not_counted_again():
    task = {"status": "completed", "agentId": "a1", "totalTokens": 54_735, "usage": usage()}
    lines = [said([call("t1", "Task", prompt="p")]), result("t1", "done", 2, toolUseResult=task)]
    (run,) = runs(lines).values()
    assert run.steps[0].usage.total == 180


# -- results --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "status"),
    [
        ("Exit code 1\nboom", CallStatus.ERROR),
        ("<tool_use_error>String to replace not found in file.</tool_use_error>", CallStatus.ERROR),
        ("<tool_use_error>Sibling tool call errored</tool_use_error>", CallStatus.SIBLING),
        ("<tool_use_error>Cancelled: parallel tool call Bash(ls) errored", CallStatus.SIBLING),
        ("The user doesn't want to proceed with this tool use.", CallStatus.REJECTED),
        ("Permission to use Bash has been denied.", CallStatus.REJECTED),
        ("[Request interrupted by user for tool use]", CallStatus.INTERRUPTED),
        ("PreToolUse:Bash hook error: [guard.sh]: no", CallStatus.BLOCKED),
        ("x\n<error>Command was aborted before completion</error>", CallStatus.INTERRUPTED),
        # an error that only mentions such words is the tool's own
        ("Exit code 2\nThe user doesn't want to proceed", CallStatus.ERROR),
        ("grep: Sibling tool call errored: no such file", CallStatus.ERROR),
    ],
)
def test_failed_results_say_how_the_call_ended(content, status):
    (piece,) = results([result("t1", content, error=True)])
    assert piece.status is status


def test_a_result_that_quotes_an_error_has_not_failed():
    (piece,) = results([result("t1", "<tool_use_error>Sibling tool call errored", error=False)])
    assert piece.status is CallStatus.OK
    (piece,) = results([result("t1", "Exit code 1\nboom")])
    assert (piece.status, piece.exit_code) == (CallStatus.OK, None)


def test_the_exit_code_is_read_from_the_text():
    (piece,) = results([result("t1", "Exit code 128\nfatal: no", error=True)])
    assert piece.exit_code == 128
    (piece,) = results([result("t1", "Exit code unknown", error=True)])
    assert piece.exit_code is None


def test_a_denied_call_is_rejected_whatever_its_text():
    denied = result("t1", "no", error=True, toolDenialKind="permission-rule")
    assert results([denied])[0].status is CallStatus.REJECTED


def test_an_interrupted_command_is_no_failure_of_the_tool():
    facts = {"stdout": "half", "stderr": "", "interrupted": True}
    assert results([result("t1", "half", toolUseResult=facts)])[0].status is CallStatus.INTERRUPTED
    calm = {**facts, "interrupted": False}
    assert results([result("t1", "half", toolUseResult=calm)])[0].status is CallStatus.OK
    late = result("t1", "Command timed out after 2m", error=True, toolUseResult=facts)
    assert results([late])[0].status is CallStatus.ERROR


def test_text_blocks_are_joined_and_equal_to_a_plain_text():
    (listed,) = results([result("t1", [text("a"), text("b")])])
    (plain,) = results([result("t1", "a\nb")])
    assert listed.text == plain.text == "a\nb"


def test_a_picture_is_a_short_mark_that_tells_pictures_apart():
    def picture(data):
        source = {"type": "base64", "media_type": "image/png", "data": data}
        (piece,) = results([result("t1", [{"type": "image", "source": source}])])
        return piece.text

    assert len(picture("A" * 1_000_000)) < 40
    assert picture("AAAA") == picture("AAAA")
    assert picture("AAAA") != picture("AAAB")


def test_how_an_exit_code_is_meant_is_kept():
    facts = {"stdout": "", "interrupted": False, "returnCodeInterpretation": "No matches found"}
    (piece,) = results([result("t1", "", error=False, toolUseResult=facts)])
    assert (piece.status, piece.code) == (CallStatus.OK, "No matches found")


def test_a_log_of_calls_without_any_result_says_so():
    asks = [said([call(f"t{n}")], f"M{n}", n) for n in range(3)]
    assert read(asks)[0].missing == {"results"}
    assert read([*asks, result("t1", "x", 9)])[0].missing == set()
    assert read(asks[:1])[0].missing == set()  # the last call may well be unanswered


# -- API errors -----------------------------------------------------------------------------------


def retry(attempt=1, second=0, **error):
    return line(
        "system",
        second,
        subtype="api_error",
        error=error,
        retryInMs=1500.5,
        retryAttempt=attempt,
        maxRetries=10,
    )


def test_each_retry_is_an_attempt_and_no_response():
    error = {"status": 529, "error": {"type": "error", "error": {"type": "overloaded_error"}}}
    lines = [retry(1, 1, **error), retry(2, 2, **error), said([text("ok")], "M1", 3)]
    (run,) = runs(lines).values()
    assert len(run.steps) == 1
    first, second = run.steps[0].attempts
    assert (first.http_status, first.code, first.wait) == (529, "overloaded_error", 1.5005)
    assert (second.number, second.limit, second.gave_up) == (2, 10, False)


def test_errors_of_the_connection_and_of_new_logs_are_read():
    (piece,) = attempts([retry(1, connection={"code": "ECONNRESET"}, message="Connection error.")])
    assert (piece.http_status, piece.code, piece.message) == (
        None,
        "ECONNRESET",
        "Connection error.",
    )
    new = {"message": "slow down", "status": 429, "rateLimits": {"retryAfterSeconds": 30}}
    (piece,) = attempts([line("system", subtype="error", error=new)])
    assert (piece.http_status, piece.retry_after, piece.gave_up) == (429, 30.0, True)
    (piece,) = attempts([retry(1, status=429, headers={"retry-after": "7"})])
    assert piece.retry_after == 7.0


def test_a_call_given_up_is_an_attempt_and_no_response():
    words = (
        'API Error: 529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'
    )
    given_up = said(
        [text(words)], "x", model="<synthetic>", isApiErrorMessage=True, error="server_error"
    )
    (run,) = runs([given_up]).values()
    assert run.steps == []
    (attempt,) = run.attempts_after
    assert (attempt.http_status, attempt.code, attempt.gave_up) == (529, "overloaded_error", True)


def test_a_given_up_call_without_status_keeps_its_words():
    given_up = said(
        [text("Prompt is too long")],
        model="<synthetic>",
        isApiErrorMessage=True,
        error="invalid_request",
    )
    (piece,) = attempts([given_up])
    assert (piece.http_status, piece.code) == (None, "invalid_request")
    assert piece.message == "Prompt is too long"


def test_c10_messages_made_by_the_program_are_no_responses():
    made = said([text("No response requested.")], model="<synthetic>", isApiErrorMessage=False)
    reader, pieces = read([made])
    assert responses([made]) == []
    assert reader.ignored == {"message made by the program": 1}
    assert boundaries([said([text("[Request interrupted by user]")], model="<synthetic>")]) == [
        ("interrupt", "[Request interrupted by user]")
    ]
    assert len(pieces) == 1  # the run


def test_a_response_that_is_no_error_message_counts():
    normal = said([text("API Error: 529 is what the test prints")], isApiErrorMessage=False)
    assert len(responses([normal])) == 1


# -- lines ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "record",
    [
        *(None, 42, "massive error", [1], True, math.nan, {}, {"silly": "this"}),
        *({"type": None}, {"type": ["user"]}, {"type": "user"}, {"type": "assistant"}),
        {"type": "user", "message": "error"},
        {"type": "user", "message": {"role": "user", "contenst": []}},
        {"type": "assistant", "message": {"role": "assistant"}},
        {"type": "attachment", "attachment": 3},
        {"type": "progress", "data": {"message": {"message": {}}, "agentId": 3}},
        {"type": "user", "toolUseResult": "x", "message": {"role": "user", "content": ["wow"]}},
    ],
)
def test_lines_that_cannot_be_used_are_rejected_with_a_reason(record):
    reader, pieces = read([record])
    assert len(reader.rejected) == 1
    assert reader.rejected[0][0] == 1
    assert not [p for p in pieces if type(p).__name__ != "RunPiece"]


@pytest.mark.parametrize(
    "hostile",
    [None, 3, -1.5, True, "x", "", [], {}, [[]], [None, 3, "x", {}], {"type": {}}, math.inf],
)
@pytest.mark.parametrize(
    "place",
    [
        *("message", "sessionId", "timestamp", "uuid", "parentUuid", "agentId", "isSidechain"),
        *("toolUseResult", "forkedFrom", "origin", "error", "costUSD", "subtype", "data", "cwd"),
        *("content", "usage", "id", "model", "stop_reason", "attachment", "compactMetadata"),
    ],
)
def test_hostile_values_anywhere_are_survived(place, hostile):
    lines = [
        asked("hello", 1),
        said([text("a"), call("t1")], second=2),
        result("t1", "x", 3, error=True),
        retry(1, 4, status=500),
        line("system", 5, subtype="compact_boundary", compactMetadata={"preTokens": 5}),
        line("attachment", 6, attachment={"type": "hook_blocking_error", "blockingError": "no"}),
        line("system", 7, subtype="stop_hook_summary", hookErrors=["a"]),
    ]
    for record in lines:
        message = record.get("message", {})
        blocks = message.get("content")
        for holder in (record, message, *(blocks if isinstance(blocks, list) else ())):
            holder[place] = deepcopy(hostile)
    read(lines)
    runs(lines)


def test_arguments_nested_100000_deep_are_survived():
    deep = []
    for _ in range(100_000):
        deep = [deep]
    (run,) = runs([said([call("t1", value=deep)]), result("t1", deep, 2)]).values()
    assert run.steps[0].usage.total == 180


def test_minor_lines_are_ignored_by_name():
    lines = [
        {"type": "summary", "summary": "a title", "leafUuid": "x"},
        {"type": "file-history-snapshot", "messageId": "m", "snapshot": {}},
        {"type": "queue-operation", "operation": "enqueue", "sessionId": "s", "content": "hi"},
        {"type": "brand-new-thing", "sessionId": "s"},
        line("progress", data={"type": "bash_progress", "output": "..."}),
        line("system", subtype="turn_duration", durationMs=3),
        line("attachment", attachment={"type": "skill_listing", "names": []}),
        {"agentType": "reviewer", "toolUseId": "t1", "spawnDepth": 1},
        {"type": "started", "key": "k", "agentId": "a"},
        {"type": "result", "key": "k", "agentId": "a", "result": {}},
    ]
    reader, pieces = read(lines)
    assert pieces == []
    assert set(reader.ignored) == {
        *("summary", "file-history-snapshot", "queue-operation", "unknown type brand-new-thing"),
        *("progress/bash_progress", "system/turn_duration", "attachment/skill_listing"),
        *("sub-agent metadata (read with its transcript)", "started", "result"),
    }


def test_a_flood_of_unknown_types_does_not_flood_the_report():
    reader, _ = read([{"type": f"t{n}"} for n in range(5_000)])
    assert sum(reader.ignored.values()) == 5_000
    assert len(reader.ignored) <= 201


def test_lines_are_numbered_as_they_stand():
    (piece,) = responses([asked("x", 1), said([text("a")], second=2)])
    assert (piece.line, piece.run) == (2, SESSION)
    assert piece.at == pytest.approx(1772704802.0)  # 2026-03-05T10:00:02Z
    assert piece.kind is StepKind.MODEL
