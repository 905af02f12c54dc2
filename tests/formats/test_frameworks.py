"""smolagents, AutoGen, AG2, CrewAI, browser-use, Magentic-One: each with its traps."""

from decimal import Decimal

import pytest
from api_files import feed, form

from loopaudit.formats.base import Sample
from loopaudit.ingest.runs import RunAssembler
from loopaudit.model import (
    AttemptPiece,
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


def built(name, *records):
    reader, pieces = feed(name, list(records))
    build = RunAssembler("night.json", name)
    build.start_file("night.json", name, reader)
    for piece in pieces:
        build.add(piece)
    return build.finish()


# -- smolagents -----------------------------------------------------------------------------------


def call(args, tool="weather", key="call_1"):
    return {"id": key, "type": "function", "function": {"name": tool, "arguments": args}}


def smol(number, calls=(), ran=(), error=None, seen=None, used=(100, 20), **more):
    message = {"role": "assistant", "content": None, "tool_calls": list(calls)}
    return {
        "step_number": number,
        "timing": {"start_time": 1.7e9 + number, "end_time": 1.7e9 + number + 0.5},
        "model_output_message": message,
        "tool_calls": list(ran),
        "error": error,
        "observations": seen,
        "token_usage": {"input_tokens": used[0], "output_tokens": used[1]},
        **more,
    }


def test_failed_calls_that_smolagents_hides_are_found_and_their_ids_come_again():
    error = {"type": "AgentToolExecutionError", "message": "unknown city"}
    bad, good = call({"city": "X"}), call({"city": "Y"})
    steps = [
        {"task": "go"},
        *(smol(n, [bad], [], error) for n in (1, 2)),
        smol(3, [good], [good], seen="14 C"),
    ]
    (run,) = built("smolagents", steps)
    assert [c.status for c in run.calls] == [CallStatus.ERROR, CallStatus.ERROR, CallStatus.OK]
    assert [c.id for c in run.calls] == ["call_1"] * 3
    assert run.calls[0].key == run.calls[1].key != run.calls[2].key
    assert run.orphan_results == run.duplicates == 0


def test_code_agents_call_the_interpreter():
    code = call("print(1)", "python_interpreter", "c9")
    step = smol(1, [], [code], seen="1")
    (answer,) = only(ResponsePiece, feed("smolagents", [[{"task": "x"}, step]])[1])
    assert [(c.tool, c.args) for c in answer.calls] == [("python_interpreter", "print(1)")]


def test_ends_of_smolagents():
    most = smol(3, error={"type": "AgentMaxStepsError", "message": "Reached max steps."})
    most["model_output_message"] = None
    failed = smol(2, error={"type": "AgentGenerationError", "message": "429"}, used=(None, None))
    failed["model_output_message"] = failed["token_usage"] = None
    parse = smol(1, error={"type": "AgentParsingError", "message": "no JSON"})
    result = {"state": "max_steps_error", "steps": [parse, failed, most], "timing": {}}
    _, pieces = feed("smolagents", [result])
    assert [a.message for a in only(AttemptPiece, pieces)] == ["429"]
    assert [(b.kind, b.text) for b in only(BoundaryPiece, pieces)] == [
        (BoundaryKind.REMINDER, "no JSON"),
        (BoundaryKind.LIMIT, "Reached max steps."),
    ]
    # the last answer of a run out of steps was billed, though nothing of it stands there
    assert [a.usage.total for a in only(ResponsePiece, pieces)] == [120, 120]
    assert only(RunPiece, pieces)[0].outcome == "max_steps_error"


def test_the_providers_usage_goes_before_the_sum_and_totals_come_last():
    raw = {
        "usage": {
            "prompt_tokens": 100,
            "completion_tokens": 20,
            "prompt_tokens_details": {"cached_tokens": 64},
        }
    }
    step = smol(1)
    step["model_output_message"]["raw"] = raw
    (answer,) = only(ResponsePiece, feed("smolagents", [[{"task": "x"}, step]])[1])
    assert (answer.usage.fresh_input, answer.usage.cache_read) == (36, 64)
    bare = [smol(1), smol(2)]
    for item in bare:
        item["token_usage"] = None
    total = {"input_tokens": 201, "output_tokens": 4}
    answers = only(
        ResponsePiece,
        feed("smolagents", [{"state": "success", "steps": bare, "token_usage": total}])[1],
    )
    assert [a.usage.total for a in answers] == [103, 102]


# -- AutoGen --------------------------------------------------------------------------------------


def said(kind, content, source="helper", used=None, key="m", second=0):
    usage = {"prompt_tokens": used[0], "completion_tokens": used[1]} if used else None
    stamp = f"2026-06-07T08:00:{second:02d}Z"
    body = {"id": f"{key}{second}", "source": source, "models_usage": usage, "created_at": stamp}
    return {**body, "type": kind, "content": content}


REQUEST = [{"id": "c1", "name": "f", "arguments": '{"x": 1}'}]
ANSWER = [{"call_id": "c1", "name": "f", "content": "no", "is_error": True}]


def test_messages_of_autogen():
    messages = [
        said("TextMessage", "go", "user", second=1),
        said("ThoughtEvent", "I should ask.", second=2),
        said("ToolCallRequestEvent", REQUEST, used=(90, 10), second=3),
        said("ToolCallExecutionEvent", ANSWER, second=4),
        said("ToolCallSummaryMessage", "no", second=5),
        said("HandoffMessage", "over", second=6),
        said("TextMessage", "done", used=(120, 5), second=7),
    ]
    reader, pieces = feed(
        "autogen", [{"messages": messages, "stop_reason": "Maximum number of messages 9 reached"}]
    )
    first, last = only(ResponsePiece, pieces)
    assert (first.text, first.usage.total, last.text, last.usage.total) == (
        "I should ask.",
        100,
        "done",
        125,
    )
    assert [(r.call_id, r.status) for r in only(ResultPiece, pieces)] == [("c1", CallStatus.ERROR)]
    assert [b.kind for b in only(BoundaryPiece, pieces)] == [BoundaryKind.USER, BoundaryKind.LIMIT]
    assert reader.ignored == {"ToolCallSummaryMessage": 1, "HandoffMessage": 1}
    lines = feed("autogen", messages)[1]
    assert [a.id for a in only(ResponsePiece, lines)] == [first.id, last.id]


def test_words_of_a_result_are_no_flag():
    fine = [{"call_id": "c1", "name": "f", "content": "Error: so it is called", "is_error": False}]
    messages = [
        said("ToolCallRequestEvent", REQUEST, used=(1, 1)),
        said("ToolCallExecutionEvent", fine),
    ]
    assert (
        only(ResultPiece, feed("autogen", [{"messages": messages}])[1])[0].status is CallStatus.OK
    )


def team(thread, context):
    inner = {"type": "AssistantAgentState", "llm_context": {"messages": context}}
    return {
        "type": "TeamState",
        "agent_states": {
            "helper": {"type": "ChatAgentContainerState", "agent_state": inner},
            "manager": {"type": "RoundRobinManagerState", "message_thread": thread},
        },
    }


CONTEXT = [
    {"type": "UserMessage", "content": "go", "source": "user"},
    {"type": "AssistantMessage", "content": REQUEST, "thought": "hm", "source": "helper"},
    {"type": "FunctionExecutionResultMessage", "content": ANSWER},
    {"type": "AssistantMessage", "content": "done", "source": "helper"},
]


def test_a_saved_team_counts_its_talk_or_its_contexts_but_never_both():
    thread = [
        said("TextMessage", "go", "user"),
        said("ToolCallRequestEvent", REQUEST, used=(90, 10), second=3),
    ]
    answers = only(ResponsePiece, feed("autogen", [team(thread, CONTEXT)])[1])
    assert [a.usage.total for a in answers] == [100]
    reader, pieces = feed("autogen", [team([], CONTEXT)])
    assert [(a.text, len(a.calls)) for a in only(ResponsePiece, pieces)] == [("hm", 1), ("done", 0)]
    assert [r.status for r in only(ResultPiece, pieces)] == [CallStatus.ERROR]
    assert {"usage", "times"} <= reader.missing


def test_a_response_of_one_agent_holds_what_led_to_it():
    inner = [
        said("ToolCallRequestEvent", REQUEST, used=(90, 10)),
        said("ToolCallExecutionEvent", ANSWER),
    ]
    record = {
        "chat_message": said("TextMessage", "done", used=(120, 5), second=7),
        "inner_messages": inner,
    }
    assert form("autogen").sniff(Sample("x", [record])) > 0.9
    assert [a.usage.total for a in only(ResponsePiece, feed("autogen", [record])[1])] == [100, 125]


def test_code_that_an_agent_ran():
    made = {
        **said("CodeGenerationEvent", "I run it.", used=(50, 5)),
        "code_blocks": [{"code": "x"}],
    }
    ran = {**said("CodeExecutionEvent", None), "result": {"output": "boom", "exit_code": 1}}
    _, pieces = feed("autogen", [{"messages": [made, ran]}])
    (answer,) = only(ResponsePiece, pieces)
    assert [(c.tool, c.args) for c in answer.calls] == [("execute_code", {"code": "x"})]
    assert [(r.status, r.exit_code) for r in only(ResultPiece, pieces)] == [(CallStatus.ERROR, 1)]


# -- AG2 ------------------------------------------------------------------------------------------


def test_roles_of_ag2_are_the_receivers_so_names_count():
    history = [
        {"content": "go", "role": "assistant", "name": "user"},
        {
            "content": None,
            "role": "assistant",
            "tool_calls": [call("{}", "f", "c1"), call("{}", "g", "c2")],
        },
        {
            "role": "tool",
            "name": "user",
            "content": "both",
            "tool_responses": [
                {"tool_call_id": "c1", "role": "tool", "content": "Error: gone"},
                {"tool_call_id": "c2", "role": "tool", "content": "ok"},
            ],
        },
        {"content": "done", "role": "user", "name": "helper"},
        {"content": "and more", "role": "assistant", "name": "user"},
    ]
    paid = {"total_cost": 0.25, "m-1": {"cost": 0.25, "prompt_tokens": 101, "completion_tokens": 9}}
    free = {"total_cost": 9, "m-1": {"cost": 9, "prompt_tokens": 9999, "completion_tokens": 9}}
    cost = {"usage_including_cached_inference": free, "usage_excluding_cached_inference": paid}
    _, pieces = feed("ag2", [{"chat_id": 7, "chat_history": history, "summary": "", "cost": cost}])
    assert [b.text for b in only(BoundaryPiece, pieces)] == ["go", "and more"]
    answers = only(ResponsePiece, pieces)
    assert [a.text for a in answers] == [None, "done"]
    assert [a.usage.total for a in answers] == [51 + 5, 50 + 4]
    assert {(a.model, a.usage.mark) for a in answers} == {("m-1", UsageMark.ESTIMATED)}
    assert sum(a.cost for a in answers) == Decimal("0.25")
    assert [(r.call_id, r.status) for r in only(ResultPiece, pieces)] == [
        ("c1", CallStatus.ERROR),
        ("c2", CallStatus.OK),
    ]
    assert only(RunPiece, pieces)[0].agent == "helper"


def test_code_in_a_chat_of_two():
    history = [
        {"content": "go", "role": "assistant", "name": "user"},
        {"content": "```python\nprint(1)\n```", "role": "user", "name": "coder"},
        {
            "content": "exitcode: 1 (execution failed)\nCode output: boom",
            "role": "assistant",
            "name": "user",
        },
        {"content": "Sorry.", "role": "user", "name": "coder"},
    ]
    _, pieces = feed("ag2", [{"chat_history": history, "cost": {}}])
    calls = [[(c.tool, c.args) for c in a.calls] for a in only(ResponsePiece, pieces)]
    assert calls == [[("execute_code", {"code": "print(1)"})], []]
    assert [(r.status, r.exit_code) for r in only(ResultPiece, pieces)] == [(CallStatus.ERROR, 1)]
    assert [b.text for b in only(BoundaryPiece, pieces)] == ["go"]


# -- CrewAI ---------------------------------------------------------------------------------------


def test_totals_of_a_crew_are_shared_out_over_all_its_tasks():
    def task(agent, *texts):
        messages = [{"role": "user", "content": "go"}]
        return {
            "agent": agent,
            "messages": messages + [{"role": "assistant", "content": t} for t in texts],
        }

    used = {
        "prompt_tokens": 90,
        "cached_prompt_tokens": 30,
        "completion_tokens": 9,
        "successful_requests": 3,
    }
    _, pieces = feed(
        "crewai",
        [{"raw": "", "tasks_output": [task("a", "1", "2"), task("b", "3")], "token_usage": used}],
    )
    answers = only(ResponsePiece, pieces)
    assert [(a.usage.fresh_input, a.usage.cache_read, a.usage.output) for a in answers] == [
        (20, 10, 3)
    ] * 3
    heads = [p for p in only(RunPiece, pieces) if p.agent]
    assert [(h.run, h.agent) for h in heads] == [("night#1", "a"), ("night#2", "b")]


def test_calls_in_words_bring_what_stands_below_them():
    text = 'Thought: x\nAction: search\nAction Input: {"q": 1}\nObservation: Error: gone'
    messages = [
        {"role": "assistant", "content": text},
        {"role": "assistant", "content": "Final Answer: y"},
    ]
    _, pieces = feed("crewai", [{"tasks_output": [{"agent": "a", "messages": messages}]}])
    first, last = only(ResponsePiece, pieces)
    assert [(c.tool, c.args) for c in first.calls] == [("search", {"q": 1})]
    assert last.calls == ()
    assert [(r.text, r.status) for r in only(ResultPiece, pieces)] == [
        ("Error: gone", CallStatus.ERROR)
    ]


def test_failures_that_the_crew_lists_are_failures_whatever_their_words():
    call_ = {"role": "assistant", "content": "", "tool_calls": [call("{}", "f", "c1")]}
    answer = {"role": "tool", "tool_call_id": "c1", "content": "the tank is empty"}
    failed = [{"tool_name": "f", "failure": {"message": "the tank is empty"}}]
    for failures, status in ((failed, CallStatus.ERROR), ([], CallStatus.OK)):
        task = {"agent": "a", "messages": [call_, answer], "tool_failures": failures}
        _, pieces = feed("crewai", [{"raw": "", "tasks_output": [task]}])
        assert [r.status for r in only(ResultPiece, pieces)] == [status]


def test_the_log_of_tasks_tells_of_no_calls():
    event = {"timestamp": "2026-06-07 08:00:00", "task_name": "t", "task": "go", "agent": "a"}
    reader, pieces = feed(
        "crewai",
        [[{**event, "status": "started"}, {**event, "status": "completed", "output": "y"}]],
    )
    assert [a.text for a in only(ResponsePiece, pieces)] == ["y"]
    assert {"results", "arguments", "usage"} <= reader.missing


# -- browser-use ----------------------------------------------------------------------------------


def step(actions, results, number=1):
    output = {"next_goal": "g", "action": actions} if actions is not None else None
    told = {"step_start_time": 1.7e9 + number, "step_end_time": 1.7e9 + number + 0.5}
    return {"model_output": output, "result": results, "state": {}, "metadata": told}


def test_actions_and_results_go_by_index_and_a_batch_may_stop_early():
    actions = [{"go_to_url": {"url": "x"}}, {"click": {"index": 1}, "scroll": None}, {"wait": {}}]
    _, pieces = feed(
        "browser_use",
        [{"history": [step(actions, [{"extracted_content": "ok"}, {"error": "gone"}])]}],
    )
    (answer,) = only(ResponsePiece, pieces)
    assert [(c.tool, c.args) for c in answer.calls] == [
        ("go_to_url", {"url": "x"}),
        ("click", {"index": 1}),
        ("wait", {}),
    ]
    found = [(r.call_id, r.status, r.text) for r in only(ResultPiece, pieces)]
    assert found == [
        ("0.0", CallStatus.OK, "ok"),
        ("0.1", CallStatus.ERROR, "gone"),
        ("0.2", CallStatus.SIBLING, None),
    ]


def test_a_step_without_output_is_a_failed_call_of_the_model():
    _, pieces = feed("browser_use", [{"history": [step(None, [{"error": "429 rate limit"}])]}])
    assert [a.message for a in only(AttemptPiece, pieces)] == ["429 rate limit"]
    assert only(ResponsePiece, pieces) == []


@pytest.mark.parametrize(
    ("last", "outcome"),
    [
        ({"is_done": True, "success": True}, ("success", "the agent's own claim")),
        (
            {"is_done": True, "success": True, "judgement": {"verdict": False}},
            ("failure", "judgement"),
        ),
        ({"is_done": False}, (None, None)),
    ],
)
def test_a_judge_goes_before_the_agents_claim(last, outcome):
    (run,) = only(RunPiece, feed("browser_use", [{"history": [step([{"done": {}}], [last])]}])[1])
    assert (run.outcome, run.outcome_source) == outcome


# -- talks ----------------------------------------------------------------------------------------


def turn(role, content, **more):
    return {"role": role, "content": content, **more}


def test_requests_of_an_orchestrator_are_calls_of_the_answer_before():
    talk = [
        turn("human", "go"),
        turn("Orchestrator (thought)", "Updated Ledger: …"),
        turn("Orchestrator (-> WebSurfer)", "search"),
        turn("Orchestrator (thought)", "Next speaker WebSurfer"),
        turn("WebSurfer", "Error: page not found"),
        turn("Orchestrator (-> Coder)", "count"),  # without a thought of its own
        turn("FileSurfer", "I was not asked"),
    ]
    (run,) = built("magentic_one", talk)
    assert [(s.text_size > 0, [c.tool for c in s.calls]) for s in run.steps] == [
        (True, ["WebSurfer"]),
        (False, ["Coder"]),
        (True, []),
    ]
    assert [c.status for c in run.calls] == [CallStatus.ERROR, CallStatus.UNANSWERED]


def test_code_in_a_group_chat_is_a_call_of_the_terminal():
    history = [
        turn("assistant", "the task", name="Boss"),
        turn("user", "```python\na\n```\nand\n```sh\nb\n```", name="Expert"),
        turn("user", "exitcode: 0 (execution succeeded)\nCode output: 1", name="Computer_terminal"),
        turn("user", "no code here", name="Expert"),
        turn("user", "There is no code to execute.", name="Computer_terminal"),
    ]
    record = {"history": history, "mistake_step": "1", "is_correct": True, "question_ID": "q" * 20}
    reader, pieces = feed("who_and_when", [record])
    first, second = only(ResponsePiece, pieces)
    assert [(c.tool, c.args) for c in first.calls] == [("Computer_terminal", {"code": "a\n\nb"})]
    assert second.calls == ()
    assert [(r.status, r.exit_code) for r in only(ResultPiece, pieces)] == [(CallStatus.OK, 0)]
    assert [b.kind for b in only(BoundaryPiece, pieces)] == [
        BoundaryKind.USER,
        BoundaryKind.REMINDER,
    ]
    head = only(RunPiece, pieces)[0]
    assert (head.run, head.outcome) == ("q" * 20, "success")
    assert reader.missing == {"usage", "times"}


def test_labels_of_such_runs_are_passed_over():
    labels = [[{"trajectory_id": "x", "failures": [], "root_cause": {}}]]
    assert form("magentic_one").sniff(Sample("x", labels, True)) >= 0.9
    reader, pieces = feed("magentic_one", labels)
    assert (pieces, reader.ignored) == ([], {"root-cause label": 1})
