"""InterCode and DevAI: turns and steps, rewards, actions as text."""

from decimal import Decimal

import pytest
from api_files import feed, form

from loopaudit.formats.base import Sample
from loopaudit.model import (
    BoundaryKind,
    BoundaryPiece,
    CallStatus,
    ResponsePiece,
    ResultPiece,
    RunPiece,
)


def only(kind, pieces):
    return [piece for piece in pieces if isinstance(piece, kind)]


def task(actions, answers, valid=None, reward=1.0, environment="ic_bash", most=10, **more):
    turns = {
        "actions": actions,
        "observations": answers,
        "rewards": [reward] * len(actions),
        **more,
    }
    if valid is not None:
        turns["valid_action"] = valid
    summary = {"max_reward": reward, "turns_taken": len(actions), "turns_max": most}
    body = {"environment": environment, "task_id": 3, "query": "count", "summary": summary}
    return {**body, "turn_history": turns}


def read(*tasks):
    return feed("intercode", [{str(n): t for n, t in enumerate(tasks)}])


def test_turns_are_calls_of_the_environment():
    _, pieces = read(task(["ls", "execute[pwd]", "submit"], ["a", "/", "a"], [True, True, True]))
    calls = [(c.tool, c.args) for a in only(ResponsePiece, pieces) for c in a.calls]
    assert calls == [("bash", {"command": "ls"}), ("bash", {"command": "pwd"}), ("submit", {})]
    head = only(RunPiece, pieces)[0]
    assert (head.run, head.task_type, head.outcome) == ("night:0", "ic_bash", "success")


def test_a_command_that_was_not_valid_failed_whatever_it_said():
    answers = ["", "bash: x: command not found", "{'output': '', 'error': 'Traceback: no'}", "fine"]
    _, pieces = read(task(list("abcd"), answers, [False, None, None, True]))
    failed, ok = CallStatus.ERROR, CallStatus.OK
    assert [r.status for r in only(ResultPiece, pieces)] == [failed, failed, failed, ok]


@pytest.mark.parametrize(
    ("reward", "outcome", "source"),
    [
        (1.0, "success", "max_reward"),
        (0.25, "partial", "max_reward 0.25"),
        (0, "failure", "max_reward"),
    ],
)
def test_the_best_reward_is_the_outcome(reward, outcome, source):
    head = only(RunPiece, read(task(["ls"], ["x"], reward=reward))[1])[0]
    assert (head.outcome, head.outcome_source) == (outcome, source)


def test_thoughts_limits_and_a_turn_without_an_answer():
    _, pieces = read(task(["a", "b"], ["x"], reward=0.5, most=2, thoughts=["first I look"]))
    assert [a.text for a in only(ResponsePiece, pieces)] == ["first I look", None]
    assert len(only(ResultPiece, pieces)) == 1
    assert [b.kind for b in only(BoundaryPiece, pieces)] == [BoundaryKind.USER, BoundaryKind.LIMIT]


def test_a_single_task_is_read_too():
    single = {"task": task(["ls"], ["x"]), "summary": {"max_reward": 0}}
    assert form("intercode").sniff(Sample("x", [single])) > 0.9
    head = only(RunPiece, feed("intercode", [single])[1])[0]
    assert (head.run, head.outcome) == ("night:3", "failure")


# -- DevAI ----------------------------------------------------------------------------------------


def step(action, answer, used=(90, 10), cost=0.25, user=None):
    usage = {"input_tokens": used[0], "output_tokens": used[1], "model": "m-1", "cost": cost}
    total = {"accumulated_cost": 99.0}
    agent = {"thought": "t", "action": action}
    body = {"step": 0, "user_message": user, "agent": agent, "environment": answer}
    return {**body, "step_usage": usage, "accumulated_usage": total}


def test_actions_of_devai_name_their_tool_and_usage_is_each_steps():
    steps = [
        step("Running command: ls: x", "ls: cannot access 'x': No such file", user="go"),
        step("Running Python code interactively: print(1)", "1"),
        step("Browsing: https://x", "page"),
        step("think", None),
        step(None, None),
    ]
    reader, pieces = feed("devai", [steps])
    answers = only(ResponsePiece, pieces)
    assert [[(c.tool, c.args) for c in a.calls] for a in answers] == [
        [("bash", {"command": "ls: x"})],
        [("python", {"code": "print(1)"})],
        [("Browsing", {"action": "https://x"})],
        [("action", "think")],
        [],
    ]
    assert [r.status for r in only(ResultPiece, pieces)] == [
        CallStatus.ERROR,
        CallStatus.OK,
        CallStatus.OK,
    ]
    assert {(a.usage.total, a.cost, a.model) for a in answers} == {(100, Decimal("0.25"), "m-1")}
    assert [b.text for b in only(BoundaryPiece, pieces)] == ["go"]
    assert (reader.used, reader.missing) == (5, {"times"})
