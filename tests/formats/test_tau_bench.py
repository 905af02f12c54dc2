"""tau-bench and tau2-bench: rewards, repeated ids, and what belongs to the simulated user."""

from decimal import Decimal

from api_files import feed

from loopaudit.ingest.runs import RunAssembler
from loopaudit.model import (
    AttemptPiece,
    BoundaryKind,
    BoundaryPiece,
    CallStatus,
    ResponsePiece,
    ResultPiece,
    RunPiece,
)


def only(kind, pieces):
    return [piece for piece in pieces if isinstance(piece, kind)]


def call(key, tool, args="{}"):
    function = {"name": tool, "arguments": args}
    return {"role": "assistant", "content": None, "tool_calls": [{"id": key, "function": function}]}


def result(key, text):
    return {"role": "tool", "tool_call_id": key, "name": "x", "content": text}


def run(*traj, **more):
    return {"task_id": 7, "trial": 2, "reward": 1.0, "info": {}, "traj": list(traj), **more}


def test_an_id_that_comes_again_for_another_tool_gets_its_own_result():
    traj = [call("c1", "calculate"), result("c1", "42"), call("c1", "book"), result("c1", "booked")]
    reader, pieces = feed("tau_bench", [[run(*traj)]])
    build = RunAssembler("night.json", "tau_bench")
    build.start_file("night.json", "tau_bench", reader)
    for piece in pieces:
        build.add(piece)
    (built,) = build.finish()
    assert [(c.tool, c.size) for c in built.calls] == [("calculate", 2), ("book", 6)]
    assert built.duplicates == built.orphan_results == 0


def test_the_reward_is_the_outcome_and_task_and_trial_name_the_run():
    _, pieces = feed("tau_bench", [[run(), run(reward=0.0, trial=3), run(reward=0.5, trial=4)]])
    heads = only(RunPiece, pieces)
    assert [head.run for head in heads] == ["night:7_2", "night:7_3", "night:7_4"]
    assert [head.outcome for head in heads] == ["success", "failure", "partial"]


def test_a_crashed_run_is_an_attempt_that_gave_up():
    _, pieces = feed(
        "tau_bench", [[run(info={"error": "Rate limit", "traceback": "…"}, reward=0.0)]]
    )
    (attempt,) = only(AttemptPiece, pieces)
    assert (attempt.message, attempt.gave_up) == ("Rate limit", True)


def test_agents_without_function_calling_call_in_words():
    traj = [
        {"role": "user", "content": "hi"},
        {
            "role": "assistant",
            "content": 'Thought:\nx\nAction:\n{"name": "find", "arguments": {"id": 7}}',
        },
        {"role": "user", "content": "API output: Error: unknown id"},
        {
            "role": "assistant",
            "content": 'Action:\n{"name": "respond", "arguments": {"content": "no"}}',
        },
    ]
    _, pieces = feed("tau_bench", [[run(*traj)]])
    calls = [[(c.tool, c.args) for c in a.calls] for a in only(ResponsePiece, pieces)]
    assert calls == [[("find", {"id": 7})], []]
    assert [(r.text, r.status) for r in only(ResultPiece, pieces)] == [
        ("Error: unknown id", CallStatus.ERROR)
    ]
    assert [b.text for b in only(BoundaryPiece, pieces)] == ["hi"]


def test_examples_told_as_text_have_calls_without_names():
    text = "user: hi\nassistant: None\ntool: Error: user not found\nassistant: Sorry.\nuser: bye"
    reader, pieces = feed("tau_bench", [{"messages_display": text}])
    answers = only(ResponsePiece, pieces)
    assert [[c.tool for c in answer.calls] for answer in answers] == [["unknown"], []]
    assert [answer.text for answer in answers] == [None, "Sorry."]
    assert [p.status for p in only(ResultPiece, pieces)] == [CallStatus.ERROR]
    assert "arguments" in reader.missing


# -- tau2 -----------------------------------------------------------------------------------------


def message(role, content, **more):
    return {"role": role, "content": content, "timestamp": "2026-03-02T09:00:00", **more}


def simulation(*messages, **more):
    reward = {"reward_info": {"reward": 1.0}, "termination_reason": "user_stop"}
    return {"id": "sim-0000001", "task_id": "3", "messages": list(messages), **reward, **more}


def document(*simulations):
    info = {
        "agent_info": {"llm": "m-1", "implementation": "llm_agent"},
        "environment_info": {"domain_name": "retail"},
    }
    return {"timestamp": "t", "info": info, "tasks": [], "simulations": list(simulations)}


USED = {"prompt_tokens": 90, "completion_tokens": 10}


def test_what_the_simulated_user_does_is_not_the_agents():
    reader, pieces = feed(
        "tau2_bench",
        [
            document(
                simulation(
                    message("assistant", "Hi!", cost=0.0, usage=None, raw_data=None),
                    message(
                        "user",
                        "help",
                        usage=USED,
                        cost=0.5,
                        tool_calls=[{"id": "u1", "name": "phone"}],
                    ),
                    {"id": "u1", "role": "tool", "content": "ok", "requestor": "user"},
                    message(
                        "assistant",
                        "",
                        usage=USED,
                        cost=0.25,
                        tool_calls=[
                            {
                                "id": "a1",
                                "name": "f",
                                "arguments": {"x": 1},
                                "requestor": "assistant",
                            }
                        ],
                    ),
                    {
                        "tool_messages": [
                            {
                                "id": "a1",
                                "role": "tool",
                                "content": "no",
                                "error": True,
                                "requestor": "assistant",
                            }
                        ],
                        "role": "tool",
                    },
                )
            )
        ],
    )
    (answer,) = only(ResponsePiece, pieces)
    assert (answer.usage.fresh_input, answer.usage.output, answer.cost) == (90, 10, Decimal("0.25"))
    assert [(c.id, c.tool, c.args) for c in answer.calls] == [("a1", "f", {"x": 1})]
    assert [(p.call_id, p.status) for p in only(ResultPiece, pieces)] == [("a1", CallStatus.ERROR)]
    assert dict(reader.ignored) == {
        "greeting of the harness": 1,
        "tool calls of the simulated user": 1,
        "tool results of the simulated user": 1,
    }
    (head,) = only(RunPiece, pieces)[:1]
    assert (head.task_type, head.model, head.outcome) == ("retail", "m-1", "success")


def test_a_cost_of_zero_is_a_model_without_a_price():
    _, pieces = feed(
        "tau2_bench", [document(simulation(message("assistant", "x", usage=USED, cost=0.0)))]
    )
    assert only(ResponsePiece, pieces)[0].cost is None


def test_limits_and_faults_end_a_simulation():
    limit = simulation(message("assistant", "x", usage=USED), termination_reason="max_steps")
    fault = simulation(
        message("assistant", "x", usage=USED), termination_reason="agent_error", reward_info=None
    )
    _, pieces = feed("tau2_bench", [document(limit, fault)])
    assert [p.text for p in only(BoundaryPiece, pieces)] == ["max_steps"]
    assert only(BoundaryPiece, pieces)[0].kind is BoundaryKind.LIMIT
    assert [p.message for p in only(AttemptPiece, pieces)] == ["agent_error"]
    assert [p.outcome for p in only(RunPiece, pieces)] == ["success", "agent_error"]


def test_voice_ticks_are_turns():
    def tick(second, agent, user, **more):
        chunks = {
            "agent_chunk": {"contains_speech": agent},
            "user_chunk": {"contains_speech": user},
        }
        return {"timestamp": f"2026-03-02T09:00:{second:02d}", **chunks, **more}

    called = {"agent_tool_calls": [{"id": "a1", "name": "f", "arguments": {}}]}
    answered = {"agent_tool_results": [{"id": "a1", "content": "ok", "error": False}]}
    ticks = [
        tick(0, False, True),
        tick(1, False, True),
        tick(2, True, True),
        tick(3, True, False),
        tick(4, False, False, **called),
        tick(5, False, False, **answered),
        tick(6, True, False),
    ]
    voice = {"id": "sim-0000002", "task_id": "1", "termination_reason": "user_stop", "ticks": ticks}
    reader, pieces = feed("tau2_bench", [voice])
    assert [p.at % 60 for p in only(ResponsePiece, pieces)] == [2, 4, 6]
    assert len(only(BoundaryPiece, pieces)) == 1
    assert [p.status for p in only(ResultPiece, pieces)] == [CallStatus.OK]
    assert "usage" in reader.missing
