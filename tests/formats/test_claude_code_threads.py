"""Run ids, sub-agents, forks, headless output, and the sniffer."""

import json

import pytest
from claude_records import (
    SESSION,
    asked,
    call,
    embedded,
    line,
    of,
    read,
    result,
    run_pieces,
    runs,
    said,
    text,
    usage,
)

from loopaudit.formats.base import Sample
from loopaudit.formats.coding.claude_code import FORMAT
from loopaudit.model import ResponsePiece, RunPiece


def test_the_main_thread_is_named_by_its_session():
    (first, *_) = run_pieces([asked("go"), said([text("a")])])
    assert (first.run, first.session, first.parent) == (SESSION, SESSION, None)
    assert (first.project, first.version) == ("/home/ada/shop", "2.1.40")
    (run,) = runs([asked("go"), said([text("a")])]).values()
    assert run.prompt == "go"


def agent_file(**more):
    return [
        asked("count the tests", 1, isSidechain=True, agentId="a1", **more),
        said([call("s1", "Grep")], "S1", 2, isSidechain=True, agentId="a1"),
        result("s1", "12", 3, isSidechain=True, agentId="a1"),
    ]


def parent_file():
    task = {"status": "completed", "agentId": "a1", "totalDurationMs": 9_000}
    tail = "agentId: a1 (for resuming)\n<usage>total_tokens: 99\nduration_ms: 9000</usage>"
    return [
        asked("go", 0),
        said([call("toolu_task", "Task", subagent_type="reviewer", prompt="p")], "M1", 1),
        result("toolu_task", [text("12 tests"), text(tail)], 9, toolUseResult=task),
    ]


def test_a_sub_agent_in_a_file_of_its_own_is_a_run_under_its_session():
    found = runs(agent_file(), "p/agent-a1.jsonl")
    assert list(found) == [f"{SESSION}/a1"]
    run = found[f"{SESSION}/a1"]
    assert (run.session, run.parent, run.prompt) == (SESSION, SESSION, "count the tests")
    assert [b.kind.value for b in run.steps[0].before] == ["reminder"]  # its parent's words


def test_metadata_beside_a_sub_agents_file_links_it(tmp_path):
    folder = tmp_path / SESSION / "subagents"
    folder.mkdir(parents=True)
    facts = {"agentType": "reviewer", "toolUseId": "toolu_x", "spawnDepth": 2, "parentAgentId": "p"}
    (folder / "agent-a1.meta.json").write_text(json.dumps(facts))
    run = runs(agent_file(), folder / "agent-a1.jsonl")[f"{SESSION}/a1"]
    assert (run.agent, run.parent, run.parent_call) == ("reviewer", f"{SESSION}/p", "toolu_x")


@pytest.mark.parametrize("content", ["", "{", "[1]", "null", '{"agentType": 3}'])
def test_damaged_metadata_is_survived(tmp_path, content):
    (tmp_path / "agent-a1.meta.json").write_text(content)
    run = runs(agent_file(), tmp_path / "agent-a1.jsonl")[f"{SESSION}/a1"]
    assert (run.agent, run.parent) == (None, SESSION)


def test_the_parents_result_links_its_sub_agent():
    links = [p for p in run_pieces(parent_file()) if p.run == f"{SESSION}/a1"]
    assert [(p.parent, p.parent_call, p.agent) for p in links] == [
        (SESSION, "toolu_task", "reviewer")
    ]


def test_the_programs_tail_of_a_task_result_is_not_part_of_it():
    (run,) = runs(parent_file()).values()
    other = json.loads(json.dumps(parent_file()).replace("9000", "9001").replace("a1", "b2"))
    (twin,) = runs(other).values()
    assert run.calls[0].result == twin.calls[0].result
    assert run.calls[0].size == len("12 tests")


def test_a_result_that_talks_of_agents_keeps_its_words():
    lines = [said([call("t1", "Read")]), result("t1", "one\nagentId: a1\ntwo", 2)]
    (run,) = runs(lines).values()
    assert run.calls[0].size == len("one\nagentId: a1\ntwo")
    assert len(run_pieces(lines)) == 1


def test_embedded_messages_are_the_same_run_as_the_file_of_the_agent():
    prompt = {"type": "user", "message": {"role": "user", "content": [text("count the tests")]}}
    answer = said([call("s1", "Grep")], "S1", 2)
    inside = {k: answer[k] for k in ("type", "message", "uuid")}
    lines = [
        parent_file()[0],
        parent_file()[1],
        embedded(prompt, second=2, caller="toolu_task"),
        embedded(inside, second=3, caller="toolu_task"),
    ]
    found = runs(lines)
    agent = found[f"{SESSION}/a1"]
    assert (agent.parent, agent.parent_call, agent.agent) == (SESSION, "toolu_task", "reviewer")
    assert agent.prompt == "count the tests"
    assert [s.id for s in agent.steps] == ["S1"]
    assert agent.steps[0].usage.total == 180
    ids = {p.id for p in of(ResponsePiece, read(agent_file())[1])}
    assert ids == {"S1"}


def test_the_copies_of_an_embedded_message_do_not_count():
    inside = said([text("x")], "S1", 2)
    (run,) = runs([embedded(inside), embedded(inside)]).values()
    assert [s.usage.total for s in run.steps] == [180]


def test_embedded_lines_without_message_are_progress():
    plain = line("progress", data={"type": "agent_progress", "agentId": "a1", "message": "x"})
    reader, _ = read([plain])
    assert reader.ignored == {"progress/agent_progress": 1}


def test_side_chains_of_old_logs_are_runs_of_their_own():
    side = {"isSidechain": True}
    lines = [
        asked("go", 0),
        said([call("t1", "Task", subagent_type="x", prompt="count")], "M1", 1),
        asked("count", 2, uuid="s1", parentUuid=None, **side),
        said([text("12")], "S1", 3, uuid="s2", parentUuid="s1", **side),
        asked("other", 4, uuid="q1", parentUuid=None, **side),
        said([text("13")], "S2", 5, uuid="q2", parentUuid="q1", **side),
    ]
    found = runs(lines)
    assert list(found) == [SESSION, f"{SESSION}/s1", f"{SESSION}/q1"]
    assert found[f"{SESSION}/s1"].parent_call == "t1"
    assert found[f"{SESSION}/q1"].parent_call is None
    assert found[f"{SESSION}/q1"].parent == SESSION


def test_a_fork_names_its_origin():
    fork = {"forkedFrom": {"sessionId": "old", "messageUuid": "m"}}
    assert run_pieces([asked("go", **fork)])[0].forked_from == "old"
    assert run_pieces([asked("go")])[0].forked_from is None


def test_a_resumed_log_with_two_session_ids_is_one_run():
    old = "99999999-2222-4333-8444-555555555555"
    lines = [
        asked("go", 1, uuid="u1", sessionId=old),
        said([text("a")], "M1", 2, parentUuid="u1"),
        asked("more", 3),
        line("system", 4, subtype="api_error", sessionId=old, error={"status": 500}),
    ]
    (run,) = runs(lines).values()
    assert run.id == SESSION
    assert run.prompt == "go"
    assert [b.text for b in run.steps[0].before] == ["go"]
    assert len(run.attempts_after) == 1


def test_two_sessions_in_one_file_stay_two():
    lines = [
        asked("go", 1, sessionId="one"),
        said([text("a")], "M1", 2, sessionId="one", parentUuid=None),
        asked("go", 3, sessionId="two"),
        said([text("a")], "M2", 4, sessionId="two", parentUuid=None),
    ]
    assert list(runs(lines)) == ["one", "two"]


def test_a_log_without_session_id_is_named_after_its_file():
    record = said([text("a")])
    del record["sessionId"]
    assert list(runs([record], "x/night.jsonl.gz")) == ["night"]


# -- headless output ------------------------------------------------------------------------------


def headless():
    head = {"session_id": "h1"}
    answer = {"id": "M1", "role": "assistant", "usage": usage(), "content": [call("t1", "Task")]}
    inner = {"id": "S1", "role": "assistant", "usage": usage(), "content": [text("12")]}
    return [
        {"type": "system", "subtype": "init", "cwd": "/w", "model": "claude-opus-5", **head},
        {"type": "assistant", "message": answer, "parent_tool_use_id": None, **head},
        {"type": "assistant", "message": inner, "parent_tool_use_id": "t1", **head},
        {
            "type": "system",
            "subtype": "api_retry",
            "attempt": 2,
            "max_retries": 10,
            "retry_delay_ms": 500,
            "error_status": 529,
            "error": "server_error",
            **head,
        },
        {"type": "stream_event", "event": {}, **head},
        {"type": "result", "subtype": "success", "num_turns": 1, "usage": usage(), **head},
    ]


def test_headless_output_is_read_by_the_same_reader():
    found = runs(headless())
    assert list(found) == ["h1", "h1/t1"]
    main, agent = found["h1"], found["h1/t1"]
    assert (main.project, main.outcome) == ("/w", "success")
    assert (agent.parent, agent.parent_call) == ("h1", "t1")
    assert main.steps[0].usage.total == agent.steps[0].usage.total == 180  # the total not again
    (attempt,) = main.attempts_after
    assert (attempt.http_status, attempt.wait, attempt.number) == (529, 0.5, 2)


# -- sniffer --------------------------------------------------------------------------------------


def sure(*records):
    return FORMAT.sniff(Sample("x", list(records)))


def test_sessions_are_known_by_content():
    assert sure(asked("go"), said([text("a")])) > 0.9
    assert sure(*headless()) > 0.9


def test_heads_without_any_message_are_known_too():
    title = {"type": "summary", "summary": "t", "leafUuid": "l"}
    snapshot = {"type": "file-history-snapshot", "messageId": "m", "snapshot": {}}
    assert sure(*[title] * 64) >= 0.6
    assert sure(title, snapshot) >= 0.6
    assert sure(title, asked("go")) > 0.9
    assert sure({"agentType": "reviewer", "toolUseId": "t", "spawnDepth": 1}) >= 0.6


@pytest.mark.parametrize(
    "record",
    [
        {"role": "user", "content": "hi"},
        {"type": "session_meta", "payload": {"id": "x"}},
        {"type": "message", "id": "m", "message": {"role": "user", "content": "x"}},  # Droid
        {"uuid": "u", "sessionId": "s", "type": "user", "message": {"role": "user", "parts": []}},
        {"type": "session", "id": "s", "cwd": "/w"},
        {"type": "summary", "text": "a summary of something"},
        {"type": "result", "value": 3},
        {"model": "m", "messages": []},
        *(3, None, "x", [1], {}),
    ],
)
def test_other_logs_are_left_to_others(record):
    assert sure(record) == 0.0


def test_nothing_is_nothing():
    assert sure() == 0.0


def test_pieces_of_a_run_start_with_what_is_known_of_it():
    pieces = read(agent_file())[1]
    assert isinstance(pieces[0], RunPiece)
