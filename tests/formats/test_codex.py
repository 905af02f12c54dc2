"""Codex responses, results and what stands between: each trap with its silent twin."""

import json
import math
from copy import deepcopy

import pytest
from codex_records import (
    THREAD,
    asked,
    call,
    context,
    event,
    figures,
    item,
    line,
    meta,
    of,
    output,
    read,
    run_of,
    said,
    thought,
    told,
)

from loopaudit.formats.base import Sample
from loopaudit.formats.coding.codex import FORMAT
from loopaudit.model import (
    AttemptPiece,
    BoundaryPiece,
    CallStatus,
    ResultPiece,
    RunPiece,
    StepKind,
    UsageMark,
)


def steps(records):
    return run_of([meta(), *records]).steps


def totals(records):
    return [step.usage.total if step.usage else None for step in steps(records)]


# -- usage ----------------------------------------------------------------------------------------


def test_c4_a_counter_that_has_not_moved_is_no_response():
    lines = []
    for total, last in ((1200, 1200), (1200, 1200), (3300, 2100), (3300, 2100)):
        lines += [told(total, last)]
    assert totals(lines) == [1200, 2100]


def test_c4_two_turns_of_equal_size_are_two():
    assert totals([told(1200, 1200), told(2400, 1200)]) == [1200, 1200]


def test_c7_cached_lies_inside_the_input_and_reasoning_inside_the_output():
    facts = figures(2_000, 8_000, 500, 300)
    (step,) = steps([told(facts, facts)])
    u = step.usage
    assert (u.fresh_input, u.cache_read, u.output, u.reasoning) == (2_000, 8_000, 500, 300)
    assert u.total == 10_500


def test_cache_writes_lie_inside_the_input_too():
    facts = {**figures(5_000, 1_000, 10), "cache_write_input_tokens": 3_000}
    (step,) = steps([told(facts, facts)])
    assert (step.usage.fresh_input, step.usage.cache_write) == (2_000, 3_000)
    assert step.usage.total == 6_010


def test_a_log_with_the_counter_only_is_read_by_differences():
    assert totals([told(1_000), told(1_000), told(2_500)]) == [1_000, 1_500]


def test_a_log_with_the_last_response_only_counts_each():
    last = event("token_count", info={"last_token_usage": figures(700)})
    assert totals([last, last]) == [700, 700]


def test_a_counter_that_starts_anew_goes_on_counting():
    assert totals([told(900, 900), told(1_500, 600), told(900, 900)]) == [900, 600, 900]


def test_events_without_figures_are_none():
    lines = [
        event("token_count", info=None, rate_limits={}),
        event("token_count", info={"prompt": 1420, "completion": 910}),
    ]
    reader, pieces = read([meta(), *lines])
    assert reader.ignored == {"token_count without figures": 2}
    assert len(pieces) == 1


def record(total, used, ident="resp_1"):
    return line(
        "token_usage_record",
        response_id=ident,
        usage=figures(used),
        thread_token_usage=figures(total),
    )


@pytest.mark.parametrize("record_first", [True, False])
def test_usage_told_by_two_kinds_of_lines_counts_once(record_first):
    lines = []
    for n in (1, 2):
        pair = [record(500 * n, 500, f"r{n}"), told(500 * n, 500)]
        lines += [thought(n), *(pair if record_first else reversed(pair))]
    assert totals(lines) == [500, 500]


def test_usage_records_alone_count():
    assert totals([thought(1), record(500, 500, "r1"), record(900, 400, "r2")]) == [500, 400]


@pytest.mark.parametrize("value", [math.nan, -5, True, "12", math.inf, 10**400, [1], {}])
def test_e8_a_hostile_count_is_missing_and_said(value):
    facts = {**figures(100, 0, 9), "output_tokens": value}
    (step,) = steps([told(figures(100, 0, 9), facts)])
    assert step.usage.output is None
    assert step.usage.mark is UsageMark.ABSENT
    assert step.usage.note.startswith("usage unreadable: output_tokens")


def test_more_cached_than_input_is_no_count():
    facts = {**figures(100), "cached_input_tokens": 500}
    (step,) = steps([told(facts, facts)])
    assert (step.usage.fresh_input, step.usage.mark) == (None, UsageMark.ABSENT)


def test_the_model_holds_from_its_line_on():
    lines = [
        context("gpt-a"),
        *(thought(1), told(100, 100), context("gpt-b"), thought(2), told(200, 100)),
        *(thought(3), told(300, 100, model="gpt-c")),
    ]
    assert [s.model for s in steps(lines)] == ["gpt-a", "gpt-b", "gpt-b"]
    assert [s.model for s in steps([context("gpt-a"), told(1, 1, model="gpt-c")])] == ["gpt-c"]


# -- steps ----------------------------------------------------------------------------------------


def test_items_of_one_response_share_a_step_usage_after_them():
    lines = [
        asked("go", 1),
        *(thought(2), said("I look.", 3), call("c1", 4, cmd="ls"), call("c2", 4, cmd="pwd")),
        *(told(100, 100, 5), output("c1", "a", 6), told(100, 100, 7), output("c2", "/", 7)),
        *(thought(8), call("c3", 9, cmd="id"), told(250, 150, 10), output("c3", "me", 11)),
        *(said("Done.", 12), told(300, 50, 13), event("task_complete", 14)),
    ]
    found = steps(lines)
    assert [[c.id for c in s.calls] for s in found] == [["c1", "c2"], ["c3"], []]
    assert [s.usage.total for s in found] == [100, 150, 50]
    assert all(c.answered for s in found for c in s.calls)
    assert [s.line for s in found] == [3, 11, 15]


def test_items_of_one_response_share_a_step_usage_before_them():
    # logs of 2025: the counter comes when the response ends, its items after the tools have run
    lines = [
        asked("go", 1),
        *(told(100, 100, 2), thought(3), call("c1", 3), output("c1", "a", 3)),
        *(call("c2", 3), output("c2", "b", 3)),  # the second call of the same response
        *(told(100, 100, 4), told(250, 150, 5), thought(6), call("c3", 6), output("c3", "c", 6)),
        *(told(250, 150, 7), told(300, 50, 8), said("Done.", 9)),
    ]
    found = steps(lines)
    assert [[c.id for c in s.calls] for s in found] == [["c1", "c2"], ["c3"], []]
    assert [s.usage.total for s in found] == [100, 150, 50]
    assert found[2].text_size == len("Done.")


def test_without_usage_an_output_or_a_user_message_ends_a_response():
    lines = [
        *(call("c1", 1), call("c2", 1), output("c1", "a", 2), output("c2", "b", 2)),
        *(call("c3", 3), output("c3", "c", 4), said("Done.", 5), asked("more", 6), said("Ok.", 7)),
    ]
    found = steps(lines)
    assert [[c.id for c in s.calls] for s in found] == [["c1", "c2"], ["c3"], [], []]
    assert [s.usage for s in found] == [None] * 4


def test_usage_that_comes_after_an_abort_belongs_to_the_response_before_it():
    lines = [call("c1", 1), event("turn_aborted", 2, reason="interrupted"), told(320, 320, 3)]
    run = run_of([meta(), *lines])
    assert [(s.usage.total, len(s.calls)) for s in run.steps] == [(320, 1)]
    assert [b.kind.value for b in run.after] == ["interrupt"]


def test_a5_a_compaction_is_a_boundary_and_its_usage_no_model_step():
    lines = [
        *(call("c1", 1), told(600, 600, 2), output("c1", "S", 3)),
        *(told(1_500, 900, 4), line("compacted", 5, message="so far", replacement_history=[])),
        *(event("context_compacted", 5), call("c2", 6), told(2_100, 600, 7), output("c2", "S", 8)),
    ]
    found = steps(lines)
    assert [(s.kind, s.usage.total) for s in found] == [
        (StepKind.MODEL, 600),
        (StepKind.COMPACTION, 900),
        (StepKind.MODEL, 600),
    ]
    assert [b.kind.value for b in found[2].before] == ["compaction"]


def test_usage_of_a_compaction_may_follow_it():
    lines = [
        *(call("c1", 1), told(600, 600, 2), output("c1", "S", 3)),
        *(line("compacted", 4, message="so far"), told(1_500, 900, 5)),
        *(call("c2", 6), told(2_100, 600, 7)),
    ]
    assert [s.kind for s in steps(lines)] == [
        StepKind.MODEL,
        StepKind.COMPACTION,
        StepKind.MODEL,
    ]


def test_what_a_compaction_replays_is_not_said_again():
    history = [{"type": "function_call", "name": "shell", "call_id": "c9"}]
    lines = [call("c1", 1), line("compacted", 2, message="", replacement_history=history)]
    (step,) = steps(lines)
    assert [c.id for c in step.calls] == ["c1"]


def test_a_log_that_is_cut_off_keeps_its_last_response():
    (step,) = steps([thought(1), call("c1", 2)])
    assert [c.status for c in step.calls] == [CallStatus.UNANSWERED]


# -- calls and results ----------------------------------------------------------------------------


def test_arguments_are_read_and_kept_as_text_where_they_are_cut():
    whole, cut = call("c1", command=["ls"]), call("c2")
    cut["payload"]["arguments"] = '{"command": ["l'
    patch = item("custom_tool_call", name="apply_patch", input="*** Begin Patch", call_id="c3")
    (step,) = steps([whole, cut, patch])
    assert [c.args for c in step.calls] == [
        '{"command":["ls"]}',
        '"{\\"command\\": [\\"l"',
        '"*** Begin Patch"',
    ]
    assert [c.tool for c in step.calls] == ["shell", "shell", "apply_patch"]


def test_every_kind_of_call_has_a_name():
    lines = [
        item("local_shell_call", call_id="c1", action={"type": "exec", "command": ["ls"]}),
        item(
            "web_search_call", id="w1", status="completed", action={"type": "search", "query": "x"}
        ),
        item("tool_search_call", call_id="c2", arguments={"query": "x"}),
        item("image_generation_call", id="i1", status="completed", result="AAAA"),
        item("function_call", name="run", namespace="mcp__db", arguments="{}", call_id="c3"),
        item("function_call", name="run", namespace="functions", arguments="{}", call_id="c4"),
    ]
    (step,) = steps([*lines, told(100, 100)])
    assert [c.tool for c in step.calls] == [
        *("local_shell", "web_search", "tool_search", "image_generation", "mcp__db.run", "run")
    ]
    assert [c.answered for c in step.calls] == [False, True, False, True, False, False]
    assert step.usage.web_searches == 1


@pytest.mark.parametrize(
    ("value", "text", "status", "code"),
    [
        ("plain", "plain", CallStatus.OK, None),
        ('{"output":"a\\n","metadata":{"exit_code":0,"duration_seconds":0.1}}', "a\n", "ok", 0),
        (
            '{"output":"no","metadata":{"exit_code":2,"duration_seconds":0.1}}',
            *("exit code 2\nno", "error", 2),
        ),
        ('{"a": 1}', '{"a": 1}', "ok", None),  # JSON that the tool printed
        (
            "Chunk ID: 4f\nWall time: 0.05 seconds\nProcess exited with code 0\n"
            "Original token count: 3\nOutput:\nfine",
            *("fine", "ok", 0),
        ),
        (
            "Chunk ID: 5a\nWall time: 0.07 seconds\nProcess exited with code 1\nOutput:\nbad",
            *("exit code 1\nbad", "error", 1),
        ),
        (
            "Chunk ID: 5b\nWall time: 10 seconds\nProcess running with session ID 7\nOutput:\n12%",
            *("Process running with session ID 7\n12%", "ok", None),
        ),
        ("Exit code: 127\nWall time: 0.1 seconds\nOutput:\n", "exit code 127\n", "error", 127),
        ("Script failed\nWall time 0.1 seconds\nOutput:\nx", "x", "error", None),
        ("Output:\nExit code: 1", "Output:\nExit code: 1", "ok", None),
        ("exec command rejected by user", "exec command rejected by user", "rejected", None),
        ("aborted by user after 3.2s", "aborted by user after 3.2s", "interrupted", None),
        (
            "failed to parse function arguments: x",
            "failed to parse function arguments: x",
            "error",
            None,
        ),
        ("Errors are explained on page 2", "Errors are explained on page 2", "ok", None),
        (
            [{"type": "input_text", "text": "a"}, {"type": "input_text", "text": "b"}],
            "a\nb",
            "ok",
            None,
        ),
        ({"type": "input_text", "text": "a"}, "a", "ok", None),
        ({"content": "gone", "success": False}, "gone", "error", None),
        ('{"content":[{"type":"text","text":"no"}],"isError":true}', "no", "error", None),
    ],
)
def test_outputs_are_read_without_their_envelope(value, text, status, code):
    (piece,) = of(ResultPiece, [call("c1"), output("c1", value)])
    assert (piece.text, piece.status, piece.exit_code) == (text, status, code)


def test_equal_outputs_are_equal_whatever_the_chunk_and_the_time():
    def key(chunk, seconds, body="x"):
        head = f"Chunk ID: {chunk}\nWall time: {seconds} seconds\nProcess exited with code 0\n"
        run = run_of([meta(), call("c1"), output("c1", f"{head}Output:\n{body}")])
        return run.calls[0].result

    assert key("4f", 0.1) == key("5a", 0.2)
    assert key("4f", 0.1) != key("4f", 0.1, "y")


def ended(kind, second=2, **more):
    return event(kind, second, **more)


@pytest.mark.parametrize(
    ("told_by", "status"),
    [
        (ended("mcp_tool_call_end", call_id="c1", result={"Ok": {"isError": True}}), "error"),
        (ended("mcp_tool_call_end", call_id="c1", result={"Err": "boom"}), "error"),
        (
            ended("mcp_tool_call_end", call_id="c1", result={"Err": "user rejected MCP tool call"}),
            "rejected",
        ),
        (ended("mcp_tool_call_end", call_id="c1", result={"Ok": {"isError": False}}), "ok"),
        (ended("patch_apply_end", call_id="c1", success=False), "error"),
        (ended("patch_apply_end", call_id="c1", success=True), "ok"),
        (ended("exec_command_end", call_id="c1", exit_code=3), "error"),
        (ended("exec_command_end", call_id="c2", exit_code=3), "ok"),  # of another call
        (
            ended(
                "item_completed", item={"type": "CommandExecution", "id": "c1", "status": "failed"}
            ),
            "error",
        ),
        (
            ended("item_completed", item={"type": "FileChange", "id": "c1", "status": "declined"}),
            "rejected",
        ),
        (
            ended("item_completed", item={"type": "AgentMessage", "id": "c1", "status": "failed"}),
            "ok",
        ),
    ],
)
def test_events_tell_how_a_call_ended(told_by, status):
    (step,) = steps([call("c1", 1), told_by, output("c1", "text", 3)])
    assert step.calls[0].status == status


# -- user messages and others ---------------------------------------------------------------------

AGENTS = "# AGENTS.md instructions for /w\n\n<INSTRUCTIONS>\nbe brief\n</INSTRUCTIONS>"


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("fix it", "user"),
        ("<question>why?</question>", "user"),
        ("# AGENTS.md should be shorter", "user"),
        ("<environment_context> is what?", "user"),
        ("<user_shell_command>ls</user_shell_command>", "user"),
        ("<environment_context>\n  <cwd>/w</cwd>\n</environment_context>", "reminder"),
        ("<user_instructions>\nbe brief\n</user_instructions>", "reminder"),
        (AGENTS, "reminder"),
        ("<turn_aborted>\nthe user stopped\n</turn_aborted>", "reminder"),
        ("<subagent_notification>{}</subagent_notification>", "reminder"),
        ('<hook_prompt hook_run_id="7">not done</hook_prompt>', "hook"),
    ],
)
def test_injected_context_is_told_from_a_persons_words(words, kind):
    (piece,) = of(BoundaryPiece, [asked(words)])
    assert piece.kind == kind


def test_a4_the_words_of_a_hook_are_the_same_each_time():
    def hook(run):
        return asked(f'<hook_prompt hook_run_id="{run}">session not matched</hook_prompt>')

    pieces = of(BoundaryPiece, [said("Done."), hook(1), said("Done."), hook(2)])
    assert {(p.kind.value, p.text) for p in pieces} == {("hook", "session not matched")}


def test_developer_messages_are_no_user_messages():
    reader, pieces = read([asked("be safe", role="developer")])
    assert reader.ignored == {"message of the role developer": 1}
    assert pieces == []


@pytest.mark.parametrize("event_first", [True, False])
def test_a_message_told_by_item_and_event_is_one(event_first):
    pair = [asked("go", 1), event("user_message", 1, message="go", images=[])]
    lines = [*(reversed(pair) if event_first else pair), said("Ok.", 2), asked("go", 3)]
    assert [p.text for p in of(BoundaryPiece, lines)] == ["go", "go"]


def test_a_message_told_by_an_event_only_counts():
    assert [p.text for p in of(BoundaryPiece, [event("user_message", message="go")])] == ["go"]


def test_the_first_message_is_the_prompt():
    run = run_of([meta(), asked(AGENTS), asked("fix it"), said("Ok."), asked("more")])
    assert run.prompt == "fix it"
    assert (run.id, run.session, run.project, run.version) == (
        THREAD,
        THREAD,
        "/w/shop",
        "0.146.0",
    )


@pytest.mark.parametrize(
    ("reason", "kind"),
    [("interrupted", "interrupt"), ("replaced", "interrupt"), ("budget_limited", "limit")],
)
def test_an_aborted_turn_says_why(reason, kind):
    (piece,) = of(BoundaryPiece, [event("turn_aborted", reason=reason)])
    assert (piece.kind, piece.text) == (kind, reason)


def test_errors_are_attempts():
    lines = [
        event("stream_error", 1, message="stream error: status 503; retrying 2/5 in 400ms…"),
        event("error", 2, message="limit", codex_error_info="usage_limit_exceeded"),
        event("task_complete", 3, error={"message": "limit"}),
        event("error", 4, message="x", codex_error_info={"http": {"http_status_code": 401}}),
    ]
    found = of(AttemptPiece, lines)
    assert [(a.http_status, a.code, a.gave_up) for a in found] == [
        (503, None, False),
        (None, "usage_limit_exceeded", True),
        (401, "http", True),
    ]
    assert (found[0].number, found[0].limit, found[0].wait) == (2, 5, 0.4)


def test_lines_that_repeat_the_items_are_ignored_by_name():
    lines = [
        event("agent_message", message="Done."),
        event("agent_reasoning", text="hm"),
        event("web_search_end", call_id="w"),
        line("world_state", full=True),
        line("brand_new_line"),
        event("brand_new_event"),
        item("ghost_snapshot"),
    ]
    reader, pieces = read(lines)
    assert pieces == []
    assert set(reader.ignored) == {
        *("event_msg/agent_message", "event_msg/agent_reasoning", "event_msg/web_search_end"),
        *("world_state", "unknown type brand_new_line", "event_msg/brand_new_event"),
        "response_item/ghost_snapshot",
    }


# -- the older bare form --------------------------------------------------------------------------


def bare():
    return [
        {"id": THREAD, "timestamp": "2025-06-01T10:00:00.000Z", "instructions": None, "git": {}},
        {"record_type": "state"},
        asked("go")["payload"],
        thought()["payload"],
        call("c1", cmd="ls")["payload"],
        output("c1", '{"output":"a","metadata":{"exit_code":0}}')["payload"],
        said("Done.")["payload"],
    ]


def test_bare_logs_are_read():
    run = run_of(bare())
    assert (run.id, run.prompt) == (THREAD, "go")
    assert [len(s.calls) for s in run.steps] == [1, 0]
    assert [s.usage for s in run.steps] == [None, None]
    assert read(bare())[0].ignored == {"record_type state": 1}


# -- hostile lines --------------------------------------------------------------------------------


@pytest.mark.parametrize("record", [None, 3, "x", [1], {}, {"type": 3}, {"role": "user"}])
def test_lines_that_are_no_rollout_are_rejected(record):
    reader, pieces = read([record])
    assert len(reader.rejected) == 1
    assert pieces == []


@pytest.mark.parametrize(
    "hostile", [None, 3, -1.5, True, "x", "", [], {}, [[]], [None, 3, {}], {"type": {}}, math.inf]
)
@pytest.mark.parametrize(
    "place",
    [
        *("type", "payload", "timestamp", "id", "info", "total_token_usage", "last_token_usage"),
        *("content", "role", "arguments", "call_id", "name", "output", "source", "model", "text"),
        *("message", "reason", "result", "action", "summary", "input_tokens", "forked_from_id"),
        *("parent_thread_id", "error", "codex_error_info", "item", "duration", "thread_settings"),
    ],
)
def test_hostile_values_anywhere_are_survived(place, hostile):
    lines = [
        meta(source={"subagent": {"thread_spawn": {"parent_thread_id": "p"}}}),
        *(context(), asked("go"), thought(), said("x"), call("c1"), output("c1"), told(100, 100)),
        item("web_search_call", id="w", action={"type": "search"}),
        event("turn_aborted", reason="x"),
        event("error", message="x", codex_error_info={"http": {}}),
        event("mcp_tool_call_end", call_id="c", duration={"secs": 1}, result={"Ok": {}}),
        event("item_completed", item={"type": "FileChange", "id": "c"}),
        event("thread_settings_applied", thread_settings={"model": "m"}),
        line("compacted", message="x"),
        record(100, 100),
    ]
    for line_ in lines:
        nested = [line_]
        while nested:
            holder = nested.pop()
            nested += [v for v in holder.values() if isinstance(v, dict)]
            nested += [b for v in holder.values() if isinstance(v, list) for b in v]
            if place in holder or holder is line_["payload"]:
                holder[place] = deepcopy(hostile)
    read(lines)


def test_a_value_nested_100000_deep_is_survived():
    deep = []
    for _ in range(100_000):
        deep = [deep]
    lines = [item("local_shell_call", call_id="c1", action=deep), output("c1", [deep])]
    assert len(run_of([meta(), *lines]).calls) == 1


# -- sniffer --------------------------------------------------------------------------------------


def sure(*records):
    return FORMAT.sniff(Sample("x", list(records)))


def test_rollouts_are_known_by_content():
    assert sure(meta(), asked("go")) > 0.9
    assert sure(context()) > 0.9
    assert sure(*bare()) > 0.9


@pytest.mark.parametrize(
    "records",
    [
        [{"type": "message", "role": "user", "content": "hi"}],  # items of the Responses API
        [{"type": "function_call", "name": "f", "arguments": "{}", "call_id": "c"}],
        [{"type": "user", "message": {}, "sessionId": "s"}],
        [{"type": "event", "payload": {"x": 1}}],
        [{"id": "x", "timestamp": "2026-01-01", "messages": []}],
        [{"role": "user", "content": "x"}],
        *([3], [None], [{}], []),
    ],
)
def test_other_logs_are_left_to_others(records):
    assert sure(*records) == 0.0


def test_runs_are_named_by_the_file_where_the_log_has_no_head():
    path = f"sessions/2026/rollout-2026-08-03T10-00-00-{THREAD}.jsonl.zst"
    assert run_of([said("x")], path).id == THREAD
    assert run_of([said("x")], "a/night.jsonl").id == "night"


def test_what_a_run_is_told_of_itself():
    source = {"subagent": {"thread_spawn": {"parent_thread_id": "p", "agent_role": "explorer"}}}
    (piece,) = of(RunPiece, [meta("child", session_id="tree", source=source)])
    assert (piece.run, piece.session, piece.parent, piece.agent) == (
        *("child", "tree", "p", "explorer"),
    )
    (piece,) = of(RunPiece, [meta("child", source={"subagent": "review"})])
    assert (piece.parent, piece.agent) == (None, "review")


def test_the_parent_links_the_call_to_the_thread_it_started():
    spawn = event(
        "collab_agent_spawn_end",
        call_id="c1",
        new_thread_id="child",
        new_agent_role="explorer",
        prompt="look",
    )
    activity = {
        "type": "SubAgentActivity",
        "kind": "started",
        "id": "c1",
        "agent_thread_id": "child",
    }
    for told_by in (spawn, event("item_completed", item=activity)):
        link = of(RunPiece, [meta(), call("c1", name="spawn_agent"), told_by])[1]
        assert (link.run, link.parent, link.parent_call) == ("child", THREAD, "c1")


def test_a_parent_speaks_to_a_sub_agent():
    lines = [meta("child", parent_thread_id="p"), asked("look")]
    assert [p.kind for p in of(BoundaryPiece, lines)] == ["reminder"]
    assert json.dumps(run_of([meta(), asked("look")]).prompt) == '"look"'
