"""ATIF: usage once, copied steps left out, sub-agents, screens for several commands."""

from decimal import Decimal

from api_files import feed

from loopaudit.model import (
    BoundaryKind,
    BoundaryPiece,
    CallStatus,
    ResponsePiece,
    ResultPiece,
    RunPiece,
    UsageMark,
)


def only(kind, pieces):
    return [piece for piece in pieces if isinstance(piece, kind)]


def step(source="agent", message="", calls=(), results=(), **more):
    found = {"step_id": 1, "source": source, "message": message, **more}
    if calls:
        found["tool_calls"] = [
            {"tool_call_id": key, "function_name": tool, "arguments": args}
            for key, tool, args in calls
        ]
    if results:
        found["observation"] = {
            "results": [{"source_call_id": key, "content": text} for key, text in results]
        }
    return found


def trajectory(*steps, **more):
    agent = {"name": "a", "version": "1", "model_name": "m-1"}
    told = {"schema_version": "ATIF-v1.7", "session_id": "session-1", "agent": agent}
    return {**told, "steps": list(steps), **more}


def read(*steps, **more):
    return feed("atif", [trajectory(*steps, **more)])


def test_usage_of_a_step_holds_what_was_cached():
    metrics = {"prompt_tokens": 100, "completion_tokens": 7, "cached_tokens": 60, "cost_usd": 0.01}
    metrics["extra"] = {"cache_creation_input_tokens": 30, "reasoning_tokens": 2}
    (answer,) = only(ResponsePiece, read(step(metrics=metrics))[1])
    usage = answer.usage
    assert (usage.fresh_input, usage.cache_read, usage.cache_write) == (10, 60, 30)
    assert (usage.output, usage.reasoning, answer.cost) == (7, 2, Decimal("0.01"))


def used(agent, prompt, completion, read, **extra):
    metrics = {"prompt_tokens": prompt, "completion_tokens": completion, "cached_tokens": read}
    record = trajectory(step(metrics={**metrics, "extra": extra}))
    record["agent"]["name"] = agent
    return only(ResponsePiece, feed("atif", [record])[1])[0].usage


def test_what_converters_put_beside_the_fields_of_the_format():
    # harbor 0.26: of opencode and openclaw the cache write is not in the prompt, of pi it is
    usage = used("opencode", 90, 10, 60, cache_write_tokens=5, reasoning_tokens=4)
    assert (usage.fresh_input, usage.cache_read, usage.cache_write, usage.output) == (30, 60, 5, 14)
    usage = used("openclaw", 90, 10, 60, cache_write_tokens=5)
    assert (usage.fresh_input, usage.cache_write, usage.output) == (30, 5, 10)
    usage = used("pi", 95, 10, 60, cache_write_tokens=5, reasoning_tokens=4)
    assert (usage.fresh_input, usage.cache_write, usage.output, usage.reasoning) == (30, 5, 10, 4)
    usage = used("codex", 95, 10, 60, cache_write_input_tokens=5, reasoning_output_tokens=4)
    assert (usage.fresh_input, usage.cache_write, usage.reasoning) == (30, 5, 4)
    usage = used("gemini-cli", 95, 10, 60, thoughts_tokens=4, tool_tokens=0)
    assert (usage.fresh_input, usage.output, usage.reasoning) == (35, 10, 4)
    split = {"ephemeral_5m_input_tokens": 2, "ephemeral_1h_input_tokens": 3}
    whole = {
        "cache_read_input_tokens": 60,
        "cache_creation_input_tokens": 5,
        "cache_creation": split,
    }
    usage = used("claude-code", 95, 10, 60, **whole)
    assert (usage.fresh_input, usage.cache_read, usage.output) == (30, 60, 10)
    assert (usage.cache_write_5m, usage.cache_write_1h, usage.cache_write) == (2, 3, 5)


def test_sums_of_the_trajectory_count_only_where_no_step_tells_its_part():
    final = {"total_prompt_tokens": 901, "total_completion_tokens": 9, "total_cost_usd": 0.3}
    told = read(
        step(metrics={"prompt_tokens": 100, "completion_tokens": 7}), step(), final_metrics=final
    )
    assert [a.usage and a.usage.total for a in only(ResponsePiece, told[1])] == [107, None]
    answers = only(ResponsePiece, read(step(), step(), final_metrics=final)[1])
    assert [a.usage.total for a in answers] == [451 + 5, 450 + 4]
    assert {a.usage.mark for a in answers} == {UsageMark.ESTIMATED}
    assert sum(a.cost for a in answers) == Decimal("0.3")


def test_copied_steps_are_left_out():
    reader, pieces = read(step(message="old", is_copied_context=True), step(message="new"))
    assert [a.text for a in only(ResponsePiece, pieces)] == ["new"]
    assert reader.ignored == {"step copied from an earlier trajectory": 1}


def test_results_go_by_their_call_and_one_screen_answers_all_open_calls():
    calls = [("a", "t", {}), ("b", "t", {})]
    _, pieces = read(step(calls=calls, results=[("b", "two"), ("a", "one")]))
    assert [(r.call_id, r.text) for r in only(ResultPiece, pieces)] == [("b", "two"), ("a", "one")]
    _, pieces = read(step(calls=calls, results=[(None, "screen")]))
    assert [(r.call_id, r.text) for r in only(ResultPiece, pieces)] == [
        ("a", "screen"),
        ("b", "screen"),
    ]


def test_calls_in_text_and_what_the_harness_says_when_it_finds_none():
    text = "<function=bash><parameter=command>ls</parameter></function>"
    _, pieces = read(
        step(message=text, results=[(None, "a b")]),
        step(message="I think.", results=[(None, "Previous response had parsing errors")]),
    )
    first, second = only(ResponsePiece, pieces)
    assert [(c.tool, c.args) for c in first.calls] == [("bash", {"command": "ls"})]
    assert second.calls == ()
    assert [r.text for r in only(ResultPiece, pieces)] == ["a b"]
    (note,) = only(BoundaryPiece, pieces)
    assert (note.kind, note.text) == (BoundaryKind.REMINDER, "Previous response had parsing errors")


def test_failures_are_told_by_words_or_by_what_a_writer_adds():
    words = step(calls=[("a", "t", {})], results=[("a", "Error: no such table")])
    coded = step(calls=[("b", "t", {})], results=[("b", "fine")])
    coded["observation"]["results"][0]["extra"] = {"exit_code": 3}
    flagged = step(calls=[("c", "t", {})], results=[("c", "Error: it is called so")])
    flagged["observation"]["results"][0]["extra"] = {"is_error": False}
    claude = step(calls=[("d", "t", {})], results=[("d", "fine")])
    claude["observation"]["results"][0]["extra"] = {"tool_result_is_error": True}
    found = [r.status for r in only(ResultPiece, read(words, coded, flagged, claude)[1])]
    assert found == [CallStatus.ERROR, CallStatus.ERROR, CallStatus.OK, CallStatus.ERROR]


def test_sub_agents_are_runs_of_the_call_that_started_them():
    parent = step(calls=[("a", "delegate", {})], results=[("a", "done")])
    parent["observation"]["results"][0]["subagent_trajectory_ref"] = [
        {"trajectory_id": "child-001"}
    ]
    child = trajectory(step(message="x"), trajectory_id="child-001")
    _, pieces = read(parent, subagent_trajectories=[child])
    mother, kid = only(RunPiece, pieces)
    assert (kid.run, kid.parent, kid.parent_call) == ("child-001", mother.run, "a")
    assert [a.run for a in only(ResponsePiece, pieces)] == ["session-1", "child-001"]


def test_compactions_users_and_notes():
    managed = {"context_management": {"type": "compaction"}}
    _, pieces = read(
        step("system", "You are"),
        step("user", "go"),
        step(),
        step("system", "summed up", extra=managed),
        step("system", "a note"),
    )
    assert [(b.kind, b.text) for b in only(BoundaryPiece, pieces)] == [
        (BoundaryKind.USER, "go"),
        (BoundaryKind.COMPACTION, "summed up"),
        (BoundaryKind.REMINDER, "a note"),
    ]


def test_a_step_without_a_model_call_cost_nothing():
    (answer,) = only(ResponsePiece, read(step(llm_call_count=0, calls=[("a", "t", {})]))[1])
    assert answer.usage.total == 0
