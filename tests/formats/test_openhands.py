"""OpenHands V0 and V1: responses told on every event count once, counters, errors, limits."""

import json
from decimal import Decimal

import pytest
from api_files import feed, form

from loopaudit.formats.base import Sample
from loopaudit.model import (
    AttemptPiece,
    BoundaryKind,
    BoundaryPiece,
    CallStatus,
    ResponsePiece,
    ResultPiece,
    RunPiece,
    StepKind,
)
from loopaudit.replay.audit import AuditOptions, audit


def only(kind, pieces):
    return [piece for piece in pieces if isinstance(piece, kind)]


def told(key, response="r1", args="{}", prompt=100):
    function = {"name": "execute_bash", "arguments": args}
    message = {"content": "", "tool_calls": [{"id": key, "function": function}]}
    model = {
        "id": response,
        "model": "m-1",
        "choices": [{"finish_reason": "stop", "message": message}],
    }
    model["usage"] = {"prompt_tokens": prompt, "completion_tokens": 9}
    return {"function_name": "execute_bash", "tool_call_id": key, "model_response": model}


def action(number, kind="run", source="agent", **more):
    stamp = f"2025-03-04T11:00:{number:02d}"
    return {"id": number, "timestamp": stamp, "source": source, "action": kind, "args": {}, **more}


def seen(number, cause, kind="run", content="", **more):
    stamp = f"2025-03-04T11:00:{number:02d}"
    body = {"id": number, "timestamp": stamp, "source": "agent", "cause": cause, "extras": {}}
    return {**body, "observation": kind, "content": content, **more}


def v0(*events):
    return feed("openhands_v0", [list(events)])


def test_a_response_told_on_each_of_its_events_counts_once():
    events = [
        action(1, tool_call_metadata=told("a")),
        seen(2, 1, tool_call_metadata=told("a")),
        action(3, tool_call_metadata=told("b")),  # the second call of the same response
        seen(4, 3, tool_call_metadata=told("b")),
    ]
    _, pieces = v0(*events)
    answers = only(ResponsePiece, pieces)
    assert {a.id for a in answers} == {"r1"}  # one step: pieces of one id are one response
    assert {a.usage.total for a in answers} == {109}
    assert [c.id for a in answers for c in a.calls] == ["a", "b"]
    assert [r.call_id for r in only(ResultPiece, pieces)] == ["a", "b"]


def test_counters_that_only_grow_give_differences():
    def grown(prompt, completion):
        counts = {"prompt_tokens": prompt, "completion_tokens": completion, "cache_read_tokens": 0}
        return {"accumulated_token_usage": counts, "accumulated_cost": prompt / 1000}

    events = [
        action(n, llm_metrics=grown(p, c)) for n, p, c in ((1, 500, 5), (2, 1200, 9), (3, 80, 2))
    ]
    answers = only(ResponsePiece, v0(*events)[1])
    assert [a.cost for a in answers] == [Decimal("0.5"), Decimal("0.7"), None]
    # the third began anew, as after a restart
    assert [(a.usage.fresh_input, a.usage.output) for a in answers] == [(500, 5), (700, 4), (80, 2)]


def test_how_calls_ended():
    events = [
        *(action(n, args={"command": f"c{n}"}) for n in range(1, 7)),
        seen(11, 1, extras={"metadata": {"exit_code": 2}}),
        seen(12, 2, success=False, extras={"metadata": {"exit_code": -1}}),
        seen(13, 3, extras={"exit_code": 0}, content="Error: so it is called"),
        seen(14, 4, kind="error", content="bad arguments"),
        seen(15, 5, kind="user_rejected", content="no"),
        seen(16, 6, kind="read", content="ERROR:\nfile not found"),
    ]
    found = only(ResultPiece, v0(*events)[1])
    failed, ok = CallStatus.ERROR, CallStatus.OK
    assert [r.status for r in found] == [failed, failed, ok, failed, CallStatus.REJECTED, failed]
    assert [r.exit_code for r in found[:3]] == [2, -1, 0]
    assert [r.call_id for r in found] == [f"event {n}" for n in range(1, 7)]


def test_what_the_harness_does_is_no_work():
    events = [
        action(1, "message", "user", args={"content": "go"}),
        action(2, "recall", "user"),
        action(3, "change_agent_state", "environment"),
        seen(4, 2, "recall"),
        action(5, "condensation"),
        action(6, "message", args={"content": "done"}),
        {
            "id": 7,
            "source": "environment",
            "observation": "agent_state_changed",
            "content": "",
            "extras": {"agent_state": "rate_limited", "reason": "slow down"},
        },
    ]
    reader, pieces = v0(*events)
    assert [a.text for a in only(ResponsePiece, pieces)] == ["done"]
    assert [b.kind for b in only(BoundaryPiece, pieces)] == [
        BoundaryKind.USER,
        BoundaryKind.COMPACTION,
    ]
    assert [(a.http_status, a.message) for a in only(AttemptPiece, pieces)] == [(429, "slow down")]
    assert reader.ignored == {"action recall": 1, "action change_agent_state": 1}


def instance(history, **more):
    return {"instance_id": "moss__parser-12", "instruction": "Fix", "history": history, **more}


def test_older_histories_are_pairs_without_ids():
    history = [
        [{"action": "message", "args": {"content": "Fix"}}, {"observation": "null", "content": ""}],
        [
            {"action": "run", "args": {"command": "ls", "thought": "I look."}},
            {"observation": "run", "content": "a b", "extras": {"exit_code": 0}},
        ],
        [{"action": "finish", "args": {}}, {"observation": "null", "content": ""}],
    ]
    metrics = {"accumulated_cost": 0.3, "costs": [0.1, 0.2]}
    _, pieces = feed(
        "openhands_v0", [instance(history, metrics=metrics, report={"resolved": False})]
    )
    answers = only(ResponsePiece, pieces)
    assert [(a.text, a.cost) for a in answers] == [
        ("I look.", Decimal("0.1")),
        (None, Decimal("0.2")),
    ]
    assert [(c.tool, c.args) for a in answers for c in a.calls] == [
        ("run", {"command": "ls"}),
        ("finish", {}),
    ]
    assert [r.text for r in only(ResultPiece, pieces)] == ["a b"]
    head = only(RunPiece, pieces)[0]
    assert (head.run, head.outcome, head.outcome_source) == (
        "moss__parser-12",
        "failure",
        "report.resolved",
    )


def test_usage_of_each_response_comes_from_the_metrics():
    usages = [
        {
            "response_id": "r2",
            "prompt_tokens": 50,
            "completion_tokens": 5,
            "cache_read_tokens": 40,
            "cache_write_tokens": 8,
        },
        {"response_id": "r1", "prompt_tokens": 10, "completion_tokens": 1},
    ]
    metrics = {"token_usages": usages, "costs": [{"cost": 0.2}, {"cost": 0.1}]}
    one, two = told("a", "r1"), told("b", "r2")
    for item in (one, two):
        del item["model_response"]["usage"]
    history = [action(1, tool_call_metadata=one), action(2, tool_call_metadata=two)]
    answers = only(ResponsePiece, feed("openhands_v0", [instance(history, metrics=metrics)])[1])
    assert [(a.usage.input, a.usage.output, a.cost) for a in answers] == [
        (10, 1, Decimal("0.1")),
        (50, 5, Decimal("0.2")),
    ]
    assert (answers[1].usage.fresh_input, answers[1].usage.cache_write) == (2, 8)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ("AgentStuckInLoopError: Agent got stuck in a loop", BoundaryKind.GUARD_STOP),
        ("RuntimeError: Agent reached maximum iteration. Current 100", BoundaryKind.LIMIT),
        ("ConnectionError: refused", None),
    ],
)
def test_what_ended_a_run(error, kind):
    _, pieces = feed("openhands_v0", [instance([action(1)], error=error)])
    assert [b.kind for b in only(BoundaryPiece, pieces)] == ([kind] if kind else [])
    assert [a.message for a in only(AttemptPiece, pieces)] == ([] if kind else [error])


def test_a_trajectory_from_the_interface_is_wrapped():
    events = [action(1, "message", "user", args={"content": "go"}), action(2)]
    record = {"trajectory": events}
    assert form("openhands_v0").sniff(Sample("x", [record], True)) > 0.9
    assert len(only(ResponsePiece, feed("openhands_v0", [record])[1])) == 1


# -- V1 -------------------------------------------------------------------------------------------


def event(kind, second, source="agent", **more):
    stamp = f"2026-02-03T10:00:{second:02d}"
    return {"id": f"e{second}", "kind": kind, "timestamp": stamp, "source": source, **more}


def act(second, key, response="r1", command="ls", **more):
    body = {"command": command, "kind": "TerminalAction", "timeout": None}
    call = {"id": key, "name": "terminal", "arguments": '{"command": "raw", "summary": "s"}'}
    more = {"action": body, "tool_call": call, "llm_response_id": response, **more}
    return event("ActionEvent", second, tool_name="terminal", tool_call_id=key, **more)


def stats(second, prompt, completion, use="default"):
    counts = {"prompt_tokens": prompt, "completion_tokens": completion}
    metrics = {
        "model_name": "m-1",
        "accumulated_token_usage": counts,
        "accumulated_cost": prompt / 100,
    }
    value = {"usage_to_metrics": {use: metrics}}
    return event("ConversationStateUpdateEvent", second, "environment", key="stats", value=value)


def v1(*events, path="logs/night.jsonl"):
    return feed("openhands_v1", list(events), path)


def test_counters_belong_to_the_action_that_follows():
    _, pieces = v1(
        stats(1, 100, 5),
        stats(2, 300, 9),  # the response before it left no event
        act(3, "a", "r2"),
        act(3, "b", "r2"),  # made in parallel: the same response
        stats(4, 350, 10, use="condenser"),
        stats(5, 700, 20),
    )
    answers = only(ResponsePiece, pieces)
    found = [(a.id, a.kind, a.usage and a.usage.total) for a in answers]
    assert found == [
        (None, StepKind.MODEL, 105),
        ("r2", StepKind.MODEL, 204),
        ("r2", StepKind.MODEL, None),
        (None, StepKind.COMPACTION, 360),
        (None, StepKind.MODEL, 411),
    ]
    assert sum(a.usage.total for a in answers if a.usage) == 720 + 360
    assert [a.cost for a in answers] == [Decimal(1), Decimal(2), None, Decimal("3.5"), Decimal(4)]


def test_arguments_are_those_that_ran_or_those_that_were_refused():
    _, pieces = v1(act(1, "a"), act(2, "b", "r2", action=None))
    calls = [c.args for a in only(ResponsePiece, pieces) for c in a.calls]
    assert calls == [{"command": "ls"}, {"command": "raw"}]


def test_ends_of_calls_in_v1():
    _, pieces = v1(
        *(act(n, key, f"r{n}") for n, key in enumerate("abcd", 1)),
        event(
            "ObservationEvent",
            5,
            tool_call_id="a",
            observation={
                "content": [{"type": "text", "text": "x"}],
                "is_error": False,
                "exit_code": 2,
            },
        ),
        event(
            "ObservationEvent", 6, tool_call_id="b", observation={"content": [], "is_error": True}
        ),
        event("AgentErrorEvent", 7, tool_call_id="c", error="no such argument"),
        event("UserRejectObservation", 8, tool_call_id="d", rejection_reason="no"),
    )
    found = [(r.call_id, r.status, r.exit_code) for r in only(ResultPiece, pieces)]
    failed = CallStatus.ERROR
    assert found == [
        ("a", failed, 2),
        ("b", failed, None),
        ("c", failed, None),
        ("d", CallStatus.REJECTED, None),
    ]


def test_a_page_of_events_is_read():
    page = {"items": [act(1, "a")], "next_page_id": None}
    assert form("openhands_v1").sniff(Sample("x", [page], True)) > 0.9
    assert len(only(ResponsePiece, v1(page)[1])) == 1


def test_stops_and_limits_in_v1():
    _, pieces = v1(
        act(1, "a"),
        event(
            "ConversationStateUpdateEvent", 2, "environment", key="execution_status", value="stuck"
        ),
        event("PauseEvent", 3, "user"),
        event(
            "ConversationErrorEvent", 4, "environment", code="MaxIterationsReached", detail="500"
        ),
        event("ConversationErrorEvent", 5, "environment", code="LLMRateLimitError", detail="429"),
        event("Condensation", 6, "environment", forgotten_event_ids=[]),
    )
    kinds = [b.kind for b in only(BoundaryPiece, pieces)]
    assert kinds == [
        BoundaryKind.GUARD_STOP,
        BoundaryKind.INTERRUPT,
        BoundaryKind.LIMIT,
        BoundaryKind.COMPACTION,
    ]
    assert [(a.code, a.message) for a in only(AttemptPiece, pieces)] == [
        ("LLMRateLimitError", "429")
    ]


def test_files_of_one_folder_are_one_run_with_the_usage_of_its_base_state():
    key = "0123456789abcdef0123456789abcdef"
    _, pieces = v1(act(1, "a"), path=f"conversations/{key}/events/event-00003-x.json")
    run = "01234567-89ab-cdef-0123-456789abcdef"
    assert {p.run for p in pieces} == {run}
    usage = {
        "response_id": "r1",
        "prompt_tokens": 90,
        "completion_tokens": 3,
        "cache_read_tokens": 80,
    }
    state = {
        "id": run,
        "agent": {"llm": {"model": "m-1"}},
        "workspace": {"working_dir": "/w"},
        "stats": {
            "usage_to_metrics": {"agent": {"token_usages": [usage], "costs": [{"cost": 0.5}]}}
        },
    }
    _, pieces = v1(state, path=f"conversations/{key}/base_state.json")
    head = only(RunPiece, pieces)[0]
    assert (head.run, head.session, head.project) == (run, run, "/w")
    (answer,) = only(ResponsePiece, pieces)
    assert (answer.run, answer.id, answer.cost) == (run, "r1", Decimal("0.5"))
    assert (answer.usage.fresh_input, answer.usage.cache_read) == (10, 80)


def test_a_folder_of_events_and_its_base_state_are_one_run(tmp_path):
    """Each event in a file of its own, results too; usage in another."""
    run = "01234567-89ab-cdef-0123-456789abcdef"
    folder = tmp_path / run.replace("-", "")
    (folder / "events").mkdir(parents=True)
    content = {"role": "user", "content": [{"type": "text", "text": "go"}]}
    seen_ = {"content": [{"type": "text", "text": "no"}], "is_error": True}
    events = [
        event("MessageEvent", 1, "user", llm_message=content),
        act(4, "a"),
        event("ObservationEvent", 6, tool_call_id="a", observation=seen_),
    ]
    for number, item in enumerate(events):
        path = folder / "events" / f"event-{number:05d}-{item['id']}.json"
        path.write_text(json.dumps(item))
    usage = {"response_id": "r1", "prompt_tokens": 90, "completion_tokens": 3}
    metrics = {"token_usages": [usage], "costs": [{"cost": 0.5, "timestamp": 1770112804.0}]}
    stats_ = {"usage_to_metrics": {"agent": metrics}}
    state = {"id": run, "agent": {"llm": {"model": "m-1"}}, "workspace": {}, "stats": stats_}
    (folder / "base_state.json").write_text(json.dumps(state))
    report = audit(AuditOptions([str(tmp_path)], processes=1, now=2e9))
    (found,) = report.runs
    totals = report.totals
    assert (found.id, totals.responses, totals.calls, totals.calls_failed) == (run, 1, 1, 1)
    assert (totals.tokens.total, totals.recorded_usd) == (93, Decimal("0.5"))
    assert report.skips == []
