"""The rules by which spans become runs; each value worked out from the spans as written here."""

import itertools
import random

import pytest
from span_logs import (
    TRACE,
    agent,
    answers,
    calls,
    chat,
    line,
    lines,
    runs_of,
    says,
    span,
    told,
    tool,
    user,
)

from loopaudit.model import BoundaryKind, CallStatus, UsageMark

ASK = user("How deep is the lake?")
FIRST = calls(("call_7f31c0d2a9", "depth", {"of": "lac"}))
FAILED = answers(("call_7f31c0d2a9", "no such lake"))
SECOND = calls(("call_2b90aa17e4", "depth", {"of": "lake"}))
FOUND = answers(("call_2b90aa17e4", "40 m"))
HISTORY = [[ASK], [ASK, FIRST, FAILED], [ASK, FIRST, FAILED, SECOND, FOUND]]


def lake():
    """An agent: three responses, a failed and a good call."""
    return [
        agent("a1", None, 0, 9, "diver"),
        chat("m1", "a1", 1, 2, HISTORY[0], FIRST, (100, 10)),
        tool("t1", "a1", 2, 3, "depth", "call_7f31c0d2a9", {"of": "lac"}, error="no such lake"),
        chat("m2", "a1", 3, 4, HISTORY[1], SECOND, (140, 11)),
        tool("t2", "a1", 4, 5, "depth", "call_2b90aa17e4", {"of": "lake"}, "40 m"),
        chat("m3", "a1", 5, 6, HISTORY[2], says("40 metres"), (180, 12)),
    ]


LAKE = [
    ((100, 10), [("depth", '{"of":"lac"}', "error")]),
    ((140, 11), [("depth", '{"of":"lake"}', "ok")]),
    ((180, 12), []),
]


def test_an_agent_is_a_run_of_responses_calls_and_results():
    reader, (run,) = runs_of(lines(*lake()))
    assert told(run) == LAKE
    assert (run.id, run.agent, run.prompt) == (TRACE, "diver", "How deep is the lake?")
    assert [b.kind for step in run.steps for b in step.before] == [BoundaryKind.USER]
    assert [call.code for call in run.calls] == [None, None]
    assert [call.result_line for call in run.calls] == [3, 5]
    assert (reader.used, dict(reader.ignored), reader.rejected) == (6, {}, [])
    assert reader.missing == set()


@pytest.mark.parametrize("seed", range(12))
def test_the_order_in_the_file_does_not_matter(seed):
    spans = lake()
    random.Random(seed).shuffle(spans)
    _, (run,) = runs_of(lines(*spans))
    assert told(run) == LAKE


def test_children_before_their_parents_in_one_record():
    _, (run,) = runs_of([line(*reversed(lake()))])
    assert told(run) == LAKE


def test_without_tool_spans_the_results_come_from_the_next_history():
    spans = [one for one in lake() if not one["name"].startswith("execute_tool")]
    _, (run,) = runs_of(lines(*spans))
    assert [call.tool for call in run.calls] == ["depth", "depth"]
    assert [call.size for call in run.calls] == [12, 4]
    assert [call.result_line for call in run.calls] == [3, 4]


def test_an_error_that_only_the_history_shows_is_a_failure():
    spans = [
        chat("m1", "root", 1, 2, [ASK], FIRST),
        chat("m2", "root", 3, 4, [ASK, FIRST, answers(("call_7f31c0d2a9", "Error: sunk"))], SECOND),
    ]
    _, (run,) = runs_of(lines(*spans))
    assert [call.status for call in run.calls] == [CallStatus.ERROR, CallStatus.UNANSWERED]


def test_a_failure_that_the_framework_hides_from_the_model_counts():
    """The span failed; what the model was told reads like an answer."""
    polite = answers(("call_7f31c0d2a9", "The lake is being looked for."))
    spans = [
        chat("m1", "root", 1, 2, [ASK], FIRST),
        tool("t1", "root", 2, 3, "depth", "call_7f31c0d2a9", {"of": "lac"}, error="boom"),
        chat("m2", "root", 3, 4, [ASK, FIRST, polite], says("wait")),
    ]
    _, (run,) = runs_of(lines(*spans))
    (call,) = run.calls
    assert (call.status, call.size) == (CallStatus.ERROR, len("The lake is being looked for."))


def test_history_sent_again_adds_no_calls_and_no_user():
    spans, history = [], [ASK]
    for number in range(20):
        said = calls((f"call_{number:08x}", "depth", {"at": number}))
        spans.append(chat(f"m{number}", "root", number, number + 0.5, history, said))
        history = [*history, said, answers((f"call_{number:08x}", f"{number} m"))]
    _, (run,) = runs_of(lines(*spans))
    assert len(run.steps) == len(run.calls) == 20
    assert sum(call.answered for call in run.calls) == 19
    assert sum(len(step.before) for step in run.steps) == 1
    assert run.duplicates == run.orphan_results == 0


def test_call_ids_that_repeat_pair_in_order():
    """Every call is `call_0`, as some servers write it."""
    spans, history = [], [ASK]
    for number in range(4):
        said = calls(("call_0", "depth", {"at": number}))
        spans.append(chat(f"m{number}", "root", number, number + 0.5, history, said))
        history = [*history, said, answers(("call_0", f"Error: {'!' * number}"))]
    spans.append(chat("m9", "root", 9, 10, history, says("done")))
    _, (run,) = runs_of(lines(*spans))
    assert [call.size for call in run.calls] == [7, 8, 9, 10]
    assert [call.status for call in run.calls] == [CallStatus.ERROR] * 4


def test_call_ids_that_repeat_pair_with_their_executions():
    spans, history = [], [ASK]
    for number in range(3):
        said = calls(("call_0", "depth", {"at": number}))
        spans.append(chat(f"m{number}", "root", number, number + 0.3, history, said))
        fault = {"error": "no"} if number == 1 else {"result": "x" * (number + 1)}
        where = (f"t{number}", "root", number + 0.4, number + 0.5)
        spans.append(tool(*where, "depth", "call_0", {"at": number}, **fault))
        history = [*history, said, answers(("call_0", "x" * (number + 1)))]
    _, (run,) = runs_of(lines(*spans))
    assert [call.status.value for call in run.calls] == ["ok", "error", "ok"]
    assert [call.size for call in run.calls] == [1, 2, 3]


def test_usage_told_on_three_levels_counts_at_the_leaf():
    total = {"gen_ai.usage.input_tokens": 420, "gen_ai.usage.output_tokens": 33}
    spans = lake()
    spans[0] = agent("a1", "w1", 0, 9, "diver", attributes=total)
    outer = {"gen_ai.operation.name": "invoke_workflow", **total}
    spans.append(span("w1", None, "workflow", 0, 9, outer))
    _, (run,) = runs_of(lines(*spans))
    assert sum(step.usage.total for step in run.steps) == 453


def test_a_sum_counts_where_no_leaf_tells_its_usage_and_is_marked():
    total = {"gen_ai.usage.input_tokens": 420, "gen_ai.usage.output_tokens": 33}
    spans = [
        agent("a1", None, 0, 9, "diver", attributes=total),
        chat("m1", "a1", 1, 2, HISTORY[0], FIRST, None),
        chat("m2", "a1", 3, 4, HISTORY[1], SECOND, None),
    ]
    _, (run,) = runs_of(lines(*spans))
    first, last = run.steps
    assert first.usage is None
    assert (last.usage.input, last.usage.output) == (420, 33)
    assert last.usage.mark is UsageMark.ESTIMATED


def test_an_agent_that_tells_only_its_sum_is_one_response():
    total = {"gen_ai.usage.input_tokens": 420, "gen_ai.usage.output_tokens": 33}
    _, (run,) = runs_of(lines(agent("a1", None, 0, 9, "diver", attributes=total)))
    assert [(s.usage.input, s.usage.output, s.usage.mark) for s in run.steps] == [
        (420, 33, UsageMark.REPORTED)
    ]


def test_a_model_span_in_a_model_span_is_the_response_and_gets_its_content():
    """A framework's span with content and a running sum around the client's bare one."""
    spans = [
        chat("o1", "root", 1, 2, [ASK], FIRST, (100, 10)),
        chat("m1", "o1", 1.1, 1.9, None, None, (100, 10)),
        chat("o2", "root", 3, 4, HISTORY[1], SECOND, (240, 21)),
        chat("m2", "o2", 3.1, 3.9, None, None, (140, 11)),
    ]
    reader, (run,) = runs_of(lines(*spans))
    assert told(run) == [
        ((100, 10), [("depth", '{"of":"lac"}', "ok")]),
        ((140, 11), [("depth", '{"of":"lake"}', "unanswered")]),
    ]
    assert reader.ignored == {"outer model span": 2}


def test_a_failed_model_span_without_an_answer_is_an_attempt():
    error = {"error.type": "429"}
    spans = [
        chat("m1", "root", 1, 2, [ASK], None, None, error="slow down", attributes=error),
        chat("m2", "root", 3, 4, [ASK], FIRST),
        chat("m3", "root", 5, 6, HISTORY[1], None, None, error="overloaded"),
    ]
    _, (run,) = runs_of(lines(*spans))
    (step,) = run.steps
    assert [(a.http_status, a.message) for a in step.attempts] == [(429, "slow down")]
    assert [(a.http_status, a.message) for a in run.attempts_after] == [(None, "overloaded")]


def test_a_failed_model_span_that_was_billed_is_a_response():
    _, (run,) = runs_of(lines(chat("m1", "root", 1, 2, [ASK], says("half"), error="cut off")))
    assert [step.usage.total for step in run.steps] == [110]
    assert run.attempts_after == []


def test_a_second_execution_of_a_call_is_a_call_of_its_own():
    """The framework tried again; the model saw one result."""
    spans = [
        chat("m1", "root", 1, 2, [ASK], SECOND),
        tool("t1", "root", 2, 3, "depth", "call_2b90aa17e4", {"of": "lake"}, error="timed out"),
        tool("t2", "root", 4, 5, "depth", "call_2b90aa17e4", {"of": "lake"}, "40 m"),
        chat("m2", "root", 6, 7, [ASK, SECOND, FOUND], says("40 metres")),
    ]
    _, (run,) = runs_of(lines(*spans))
    assert [(c.status.value, c.size) for c in run.calls] == [("error", 9), ("ok", 4)]
    assert run.calls[0].key == run.calls[1].key


def test_one_execution_told_by_two_instrumentations_counts_once():
    """One within the other, and side by side at the same time."""
    spans = [
        chat("m1", "root", 1, 2, [ASK], SECOND),
        tool("t1", "root", 2, 3, "depth", "call_2b90aa17e4", {"of": "lake"}),
        tool("t2", "t1", 2.1, 2.9, "depth", "call_2b90aa17e4", {"of": "lake"}, "40 m"),
        tool("t3", "root", 2.05, 2.95, "depth", "call_2b90aa17e4", {"of": "lake"}, "40 m"),
    ]
    reader, (run,) = runs_of(lines(*spans))
    assert [(c.status.value, c.size) for c in run.calls] == [("ok", 4)]
    assert sum(reader.ignored.values()) == 2


def test_one_response_told_by_two_instrumentations_counts_once():
    same = {"gen_ai.response.id": "resp-1"}
    spans = [
        chat("m1", "root", 1, 2, [ASK], FIRST, attributes=same),
        chat("m2", "root", 1.01, 1.99, [ASK], FIRST, attributes=same),
        chat("m3", "root", 3, 4, [ASK], FIRST, attributes=same),  # a cache gave it again
    ]
    _, (run,) = runs_of(lines(*spans))
    assert [step.usage.total for step in run.steps] == [110, 110]
    assert len(run.calls) == 2


def test_calls_that_only_tool_spans_tell_belong_to_the_response_before():
    """Content is off: names, ids and tokens alone."""
    spans = [
        chat("m1", "root", 1, 2, None, None),
        tool("t1", "root", 2, 3, "depth", "call_1"),
        tool("t2", "root", 3, 4, "depth", "call_2", error="no"),
        chat("m2", "root", 4, 5, None, None),
    ]
    reader, (run,) = runs_of(lines(*spans))
    assert [[c.status.value for c in step.calls] for step in run.steps] == [["ok", "error"], []]
    assert reader.missing == {"arguments"}


def test_content_switched_off_is_said():
    spans = [
        chat("m1", "root", 1, 2, None, None),
        tool("t1", "root", 2, 3, "depth", "call_1"),
        chat("m2", "root", 4, 5, None, None),
    ]
    reader, (run,) = runs_of(lines(*spans))
    assert reader.missing == {"arguments", "results"}
    assert run.calls[0].result is None


def test_tools_without_any_model_are_steps():
    spans = [
        tool("t1", None, 2, 3, "depth", None, {"of": "lac"}, "1"),
        tool("t2", None, 4, 5, "depth", None, {"of": "lake"}, "22", trace="8" * 32),
    ]
    _, runs = runs_of(lines(*spans))
    assert [[c.size for c in run.calls] for run in runs] == [[1], [2]]


def test_an_agent_called_by_a_tool_is_a_run_of_its_own():
    inner = calls(("call_55aa10fe39", "sound", {"n": 1}))
    spans = [
        *lake(),
        agent("a2", "t2", 4.1, 4.9, "sounder"),
        chat("m4", "a2", 4.2, 4.3, [user("sound it")], inner, (50, 5)),
        tool("t3", "a2", 4.4, 4.5, "sound", "call_55aa10fe39", {"n": 1}, "ping"),
    ]
    _, (run, child) = runs_of(lines(*spans))
    assert told(run) == LAKE
    assert (child.parent, child.parent_call) == (TRACE, "call_2b90aa17e4")
    assert (child.agent, child.prompt) == ("sounder", "sound it")
    assert told(child) == [((50, 5), [("sound", '{"n":1}', "ok")])]


def test_a_tool_that_asks_a_model_itself_holds_a_run():
    spans = [*lake(), chat("m4", "t2", 4.2, 4.3, [user("sum up")], says("short"), (50, 5))]
    _, (run, child) = runs_of(lines(*spans))
    assert told(run) == LAKE
    assert (child.parent, child.parent_call) == (TRACE, "call_2b90aa17e4")


def test_a_hand_over_stays_in_the_run():
    """Two agents side by side; the second goes on with the history of the first."""
    spans = [
        agent("a1", "w", 0, 3, "triage"),
        chat("m1", "a1", 1, 2, HISTORY[0], FIRST),
        agent("a2", "w", 3, 5, "diver"),
        chat("m2", "a2", 3, 4, HISTORY[1], SECOND),
    ]
    _, (run,) = runs_of(lines(*spans))
    assert [len(step.calls) for step in run.steps] == [1, 1]


def test_agents_with_histories_of_their_own_are_runs_of_their_own():
    spans = [
        agent("a1", "w", 0, 3, "north"),
        chat("m1", "a1", 1, 2, [user("north?")], FIRST),
        agent("a2", "w", 0, 3, "south"),
        chat("m2", "a2", 1.5, 2, [user("south?")], FIRST),
    ]
    _, runs = runs_of(lines(*spans))
    assert [(run.id, run.agent, run.parent) for run in runs] == [
        (TRACE, "north", None),
        (f"{TRACE}/a2", "south", None),
    ]


def test_model_spans_without_parents_belong_together_by_their_history():
    """The client alone is instrumented: each call is a trace. Two conversations run at once."""
    other = user("How wide is the river?")
    spans = [
        chat("m1", None, 1, 2, HISTORY[0], FIRST, trace="1" * 32),
        chat("n1", None, 1.5, 2, [other], SECOND, trace="2" * 32),
        chat("m2", None, 3, 4, HISTORY[1], SECOND, trace="3" * 32),
        chat("n2", None, 3, 4, [other, SECOND, FOUND], says("wide"), trace="4" * 32),
        chat("m3", None, 5, 6, HISTORY[2], says("40 metres"), trace="5" * 32),
    ]
    _, runs = runs_of(lines(*spans))
    assert [(run.id, len(run.steps), len(run.calls)) for run in runs] == [
        ("1" * 32, 3, 2),
        ("2" * 32, 2, 1),
    ]
    assert all(call.answered for run in runs for call in run.calls)


def test_model_spans_without_parents_belong_together_by_their_session():
    attributes = {"gen_ai.conversation.id": "desk-1"}
    spans = [
        chat(f"m{n}", None, n, n + 0.5, None, None, trace=str(n) * 32, attributes=attributes)
        for n in (1, 2, 3)
    ]
    _, (run,) = runs_of(lines(*spans))
    assert (len(run.steps), run.session) == (3, "desk-1")


def test_the_same_question_answered_twice_is_two_runs():
    spans = [
        chat("m1", None, 1, 2, [ASK], says("40 m"), trace="1" * 32),
        chat("m2", None, 3, 4, [ASK], says("41 m"), trace="2" * 32),
    ]
    _, runs = runs_of(lines(*spans))
    assert [len(run.steps) for run in runs] == [1, 1]


def test_a_span_dumped_at_its_start_and_its_end_counts_once():
    open_ = [dict(one, endTimeUnixNano="0", attributes=[]) for one in lake()]
    for one in open_:
        del one["endTimeUnixNano"]
    reader, (run,) = runs_of(lines(*itertools.chain(*zip(open_, lake(), strict=True))))
    assert told(run) == LAKE
    assert reader.ignored["span told twice"] == 6


def test_a_user_who_speaks_after_an_answer_is_a_user_and_a_prompt_within_is_not():
    nag = user("Go on.")
    history = [ASK, FIRST, FAILED, nag]
    spans = [
        chat("m1", "root", 1, 2, [ASK], FIRST),
        chat("m2", "root", 3, 4, history, says("there is none")),
        chat("m3", "root", 5, 6, [*history, says("there is none"), user("And the sea?")], SECOND),
    ]
    _, (run,) = runs_of(lines(*spans))
    assert [[b.kind.value for b in step.before] for step in run.steps] == [
        ["user"],
        ["reminder"],
        ["user"],
    ]


def test_prompts_that_a_harness_writes_for_each_call_are_no_users():
    spans = [
        chat(f"m{n}", "root", n, n + 0.5, [user(f"Step {n}: go on")], says("ok")) for n in range(4)
    ]
    _, (run,) = runs_of(lines(*spans))
    assert [len(step.before) for step in run.steps] == [1, 0, 0, 0]


def test_a_window_over_the_history_tells_the_last_results():
    """The oldest messages are cut off at each call."""
    spans = [
        chat("m1", "root", 1, 2, [ASK], FIRST),
        chat("m2", "root", 3, 4, [FIRST, FAILED], SECOND),
        chat("m3", "root", 5, 6, [SECOND, FOUND], says("40 metres")),
    ]
    _, (run,) = runs_of(lines(*spans))
    assert [call.size for call in run.calls] == [12, 4]


def test_parents_in_a_circle_and_parents_that_are_missing_end_at_the_top():
    spans = [
        agent("a1", "a2", 0, 9, "hen"),
        agent("a2", "a1", 0, 9, "egg"),
        chat("m1", "a1", 1, 2, [ASK], FIRST),
        chat("m2", "gone", 3, 4, HISTORY[1], SECOND),
        chat("m3", "m3", 5, 6, HISTORY[2], says("ok")),
    ]
    _, runs = runs_of(lines(*spans))
    assert sum(len(run.steps) for run in runs) == 3


def test_a_very_deep_tree_is_read():
    spans = [span("s0", None, "task", 0, 1, {})]
    spans += [span(f"s{n}", f"s{n - 1}", "task", 0, 1, {}) for n in range(1, 20_000)]
    spans.append(chat("m1", "s19999", 1, 2, [ASK], FIRST))
    _, (run,) = runs_of([line(*spans)])
    assert len(run.calls) == 1


def test_spans_of_one_moment_keep_their_order():
    """A model before the tools that begin in the same moment; tools as they stand."""
    two = calls(("call_b", "depth", {"n": 2}), ("call_a", "depth", {"n": 1}))
    spans = [
        tool("t1", "root", 1, 1, "depth", "call_b", {"n": 2}, "x"),
        tool("t2", "root", 1, 1, "depth", "call_a", {"n": 1}, "xx"),
        chat("m1", "root", 1, 1, [ASK], two),
    ]
    _, (run,) = runs_of(lines(*spans))
    assert [(c.args, c.size) for c in run.calls] == [('{"n":2}', 1), ('{"n":1}', 2)]


def test_long_histories_are_held_once():
    """A hundred calls over a history of up to a megabyte: 50 MB are read, a few are held."""
    import tracemalloc

    from api_files import form

    reader = form("otel").reader("x.jsonl")
    history = [ASK]
    tracemalloc.start()
    for number in range(100):
        said = calls((f"call_{number:08x}", "read", {"n": number}))
        for _ in reader.feed(
            number + 1, line(chat(f"m{number}", "r", number, number, history, said))
        ):
            pass
        history = [*history, said, answers((f"call_{number:08x}", f"{number}" * 5_000))]
    held, _ = tracemalloc.get_traced_memory()
    history = None
    held, _ = tracemalloc.get_traced_memory()
    pieces = list(reader.end())
    tracemalloc.stop()
    assert held < 12_000_000
    assert sum(type(piece).__name__ == "ResponsePiece" for piece in pieces) == 100


def test_a_result_seen_long_ago_is_still_compared(tmp_path):
    """Three megabytes of results later the first call is made again; only its clock differs."""
    import json

    from loopaudit.ingest.reading import read_sources
    from loopaudit.ingest.runs import RunAssembler
    from loopaudit.ingest.sources import discover

    history, spans = [ASK], []
    for number in range(302):
        args = {"at": number % 301}
        text = f"at 12:0{number // 301}:00 " + "x" * 10_000 + str(number % 301)
        said = calls((f"call_{number:08x}", "depth", args))
        spans.append(chat(f"m{number}", "root", number, number + 0.5, history, said))
        history = [said, answers((f"call_{number:08x}", text))]
    spans.append(chat("m999", "root", 999, 999.5, history, says("done")))
    path = tmp_path / "long.jsonl"
    path.write_text("".join(json.dumps(line(one)) + "\n" for one in spans))
    read = read_sources(discover([str(path)]).sources, lambda p, form: RunAssembler(p, form))
    first, *_, last = read.runs[0].calls
    assert first.key == last.key
    assert first.result != last.result
    assert first.result_key == last.result_key
