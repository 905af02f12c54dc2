"""SWE-agent and mini-swe-agent: steps, examples left out, refused answers, totals shared out."""

import json
from decimal import Decimal

from api_files import feed, form

from loopaudit.formats.base import Sample
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


def step(action, observation="", thought="t", **more):
    return {
        "action": action,
        "observation": observation,
        "response": thought,
        "thought": thought,
        **more,
    }


def traj(*steps, stats=None, status="submitted", history=(), **more):
    info = {"exit_status": status, "model_stats": stats or {}}
    body = {"environment": "main", "trajectory": list(steps), "history": list(history)}
    return {**body, "info": info, **more}


def test_each_step_is_a_response_with_one_call():
    _, pieces = feed(
        "swe_agent", [traj(step("ls\n", "a b"), step("edit 1:2\nx\nend_of_edit", "ok"))]
    )
    answers = only(ResponsePiece, pieces)
    calls = [(c.tool, c.args["command"]) for a in answers for c in a.calls]
    assert calls == [("bash", "ls"), ("edit", "edit 1:2\nx\nend_of_edit")]
    (head,) = only(RunPiece, pieces)
    assert (head.run, head.outcome, head.outcome_source) == ("night#1", "submitted", "exit_status")


def test_totals_are_shared_out_and_zeros_are_none():
    stats = {"tokens_sent": 101, "tokens_received": 10, "instance_cost": 0.5, "total_cost": 99}
    answers = only(ResponsePiece, feed("swe_agent", [traj(step("a"), step("b"), stats=stats)])[1])
    assert [a.usage.total for a in answers] == [56, 55]
    assert {a.usage.mark for a in answers} == {UsageMark.ESTIMATED}
    assert sum(a.cost for a in answers) == Decimal("0.5")
    zeros = {"tokens_sent": 0, "tokens_received": 0, "instance_cost": 0}
    reader, pieces = feed("swe_agent", [traj(step("a"), stats=zeros)])
    assert only(ResponsePiece, pieces)[0].usage is None
    assert reader.missing == {"usage", "times"}


def test_ids_and_arguments_come_from_the_history_and_examples_do_not():
    call = {"id": "c1", "function": {"name": "open", "arguments": '{"path": "a.py"}'}}
    demo = {
        "role": "assistant",
        "content": "t",
        "is_demo": True,
        "tool_calls": [{**call, "id": "d"}],
    }
    real = {"role": "assistant", "content": "t", "tool_calls": [call]}
    user = [
        {"role": "user", "content": "Example", "is_demo": True},
        {"role": "user", "content": "Fix"},
    ]
    _, pieces = feed("swe_agent", [traj(step("open a.py", "text"), history=[*user, demo, real])])
    (answer,) = only(ResponsePiece, pieces)
    assert [(c.id, c.tool, c.args) for c in answer.calls] == [("c1", "open", {"path": "a.py"})]
    assert only(ResultPiece, pieces)[0].call_id == "c1"
    assert [b.text for b in only(BoundaryPiece, pieces)] == ["Fix"]


def test_a_limit_ended_the_run():
    for status, ends in (("submitted (exit_cost)", 1), ("exit_context", 1), ("submitted", 0)):
        _, pieces = feed("swe_agent", [traj(step("a"), status=status)])
        assert len([b for b in only(BoundaryPiece, pieces) if b.kind is BoundaryKind.LIMIT]) == ends


# -- mini-swe-agent -------------------------------------------------------------------------------


def response(key, prompt, completion, cached=0):
    details = {"cached_tokens": cached}
    usage = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "prompt_tokens_details": details,
    }
    choices = [{"finish_reason": "stop", "message": {"role": "assistant", "content": "hm"}}]
    return {"id": key, "created": 1_700_000_000, "model": "m-1", "choices": choices, "usage": usage}


def v2(*messages, status="Submitted"):
    info = {"exit_status": status, "mini_version": "2.0", "config": {}, "model_stats": {}}
    return {"info": info, "messages": list(messages), "trajectory_format": "mini-swe-agent-1.1"}


def answer(key, command, at):
    call = {"id": key, "function": {"name": "bash", "arguments": json.dumps({"command": command})}}
    extra = {"response": response(f"r-{key}", 100, 20, 40), "cost": 0.25, "timestamp": at}
    return {"role": "assistant", "content": None, "tool_calls": [call], "extra": extra}


def test_usage_cost_and_time_come_from_the_providers_response():
    (found,) = only(
        ResponsePiece, feed("mini_swe_agent", [v2(answer("c1", "ls", 1_700_000_001.5))])[1]
    )
    assert (found.usage.fresh_input, found.usage.cache_read, found.usage.output) == (60, 40, 20)
    assert (found.cost, found.at, found.model) == (Decimal("0.25"), 1_700_000_001.5, "m-1")


def test_a_refused_answer_is_a_billed_response_without_calls():
    extra = {"interrupt_type": "FormatError", "cost": 0.5, "response": response("r-x", 70, 5)}
    complaint = {"role": "user", "content": "No command was given.", "extra": extra}
    _, pieces = feed("mini_swe_agent", [v2(answer("c1", "ls", 1_700_000_009.0), complaint)])
    _first, refused = only(ResponsePiece, pieces)
    assert (refused.calls, refused.usage.total, refused.cost) == ((), 75, Decimal("0.5"))
    assert refused.at is None  # by the provider's clock it came before the first
    (note,) = only(BoundaryPiece, pieces)
    assert (note.kind, note.text) == (BoundaryKind.REMINDER, "No command was given.")


def test_the_return_code_tells_a_failure():
    extra = {"raw_output": "Error: so it is called", "returncode": 0, "timestamp": 1_700_000_003.0}
    good = {"role": "tool", "tool_call_id": "c1", "content": "{}", "extra": extra}
    bad = {**good, "tool_call_id": "c2", "extra": {**extra, "raw_output": "", "returncode": 2}}
    dead = {
        **good,
        "tool_call_id": "c3",
        "extra": {"raw_output": "", "exception_info": "timed out"},
    }
    messages = [answer("c1", "a", 1), good, answer("c2", "b", 2), bad, answer("c3", "c", 3), dead]
    found = only(ResultPiece, feed("mini_swe_agent", [v2(*messages)])[1])
    assert [r.status for r in found] == [CallStatus.OK, CallStatus.ERROR, CallStatus.ERROR]
    assert [(r.text, r.exit_code) for r in found][1:] == [("", 2), ("timed out", None)]


def test_bare_messages_hold_commands_in_their_text():
    messages = [
        {"role": "user", "content": "Fix it."},
        {"role": "assistant", "content": "Look:\n\n```bash\nls\n```"},
        {"role": "user", "content": "<returncode>1</returncode>\n<output>\nno\n</output>"},
        {"role": "assistant", "content": "Two:\n```bash\na\n```\n```bash\nb\n```"},
        {"role": "user", "content": "Please give exactly one command."},
    ]
    assert form("mini_swe_agent").sniff(Sample("x", [messages], True)) > 0.9
    reader, pieces = feed("mini_swe_agent", [messages])
    calls = [[c.args for c in a.calls] for a in only(ResponsePiece, pieces)]
    assert calls == [[{"command": "ls"}], []]
    assert [(r.status, r.exit_code) for r in only(ResultPiece, pieces)] == [(CallStatus.ERROR, 1)]
    assert [b.text for b in only(BoundaryPiece, pieces)] == [
        "Fix it.",
        "Please give exactly one command.",
    ]
    assert reader.missing == {"usage", "times"}


def test_a_limit_of_the_harness_ends_the_run():
    _, pieces = feed("mini_swe_agent", [v2(answer("c", "ls", 1), status="LimitsExceeded")])
    assert [b.kind for b in only(BoundaryPiece, pieces)] == [BoundaryKind.LIMIT]
    assert only(RunPiece, pieces)[0].outcome == "LimitsExceeded"
