"""Kimi, both protocols: ids that begin anew, usage told twice, retries, compaction, sub-agents."""

import json

from coding_files import attempts, ingest, kinds, run_of, runs_of, statuses, tokens, write_lines

USED = {"inputOther": 100, "output": 10, "inputCacheRead": 1000, "inputCacheCreation": 7}


def event(event_kind, second=1, /, **more):
    return {"type": event_kind, "time": 1_786_000_000_000 + second * 1000, **more}


def loop(kind, second=1, **more):
    return event("context.append_loop_event", second, event={"type": kind, **more})


def begin(step, second=1):
    return loop("step.begin", second, uuid=step)


def call(step, key, tool="Bash", **args):
    return loop("tool.call", stepUuid=step, toolCallId=key, name=tool, args=args)


def result(key, output="ok", **more):
    return loop("tool.result", toolCallId=key, result={"output": output, **more})


def end(step, used=USED):
    return loop("step.end", 3, uuid=step, usage=used, finishReason="tool_use")


def record(used=USED):
    return event("usage.record", 3, model="moonshot-ai/k2", usage=used)


def asked(kind="loop", **more):
    return event("llm.request", kind=kind, model="k2", **more)


def test_usage_told_by_step_and_by_record_counts_once():
    run = run_of(
        "kimi_cli",
        [
            begin("s"),
            asked(),
            call("s", "Bash_0", command="ls"),
            result("Bash_0"),
            end("s"),
            record(),
        ],
    )
    assert tokens(run) == {
        "fresh_input": 100,
        "cache_read": 1000,
        "cache_write_unsplit": 7,
        "output": 10,
    }
    assert [step.model for step in run.steps] == ["k2"]


def test_two_equal_steps_in_a_row_are_two():
    records = [begin("a"), end("a"), record(), begin("b"), end("b"), record()]
    assert tokens(run_of("kimi_cli", records))["output"] == 20


def test_a_record_without_a_step_is_the_compaction_or_the_step_that_was_stopped():
    other = {**USED, "output": 3}
    records = [asked("compaction"), record(other), event("context.apply_compaction")]
    run = run_of("kimi_cli", records)
    assert [step.kind.value for step in run.steps] == ["compaction"]
    assert kinds(run) == ["compaction"]
    run = run_of("kimi_cli", [begin("s"), asked(), call("s", "Bash_0"), record(other)])
    assert len(run.steps) == 1
    assert run.steps[0].usage.output == 3


def test_call_ids_begin_anew_with_every_turn():
    """The oldest unanswered call of an id is the one that is answered."""
    records = []
    for step, output in (("a", "first"), ("b", "second")):
        records += [
            begin(step),
            call(step, "Bash_0", command=output),
            result("Bash_0", output),
            end(step),
        ]
    run = run_of("kimi_cli", records)
    assert [(c.args, c.size) for c in run.calls] == [
        ('{"command":"first"}', 5),
        ('{"command":"second"}', 6),
    ]
    assert run.duplicates == 0


def test_a_request_made_again_is_an_attempt():
    records = [begin("s"), asked(), asked(attempt="2/10"), asked(attempt="3/10"), end("s")]
    run = run_of("kimi_cli", records)
    assert [(a.number, a.limit, a.layer) for a in attempts(run)] == [
        (1, 10, "kimi"),
        (2, 10, "kimi"),
    ]
    assert len(run.steps) == 1


def test_steps_that_got_no_answer_are_no_responses():
    assert run_of("kimi_cli", [begin("s"), asked(attempt="2/10"), event("turn.cancel")]).steps == []


def test_how_calls_end():
    failed = "cat: x: No such file or directory\nCommand failed with exit code: 1."
    denied = event(
        "permission.record_approval_result", toolCallId="3", result={"decision": "rejected"}
    )
    records = [
        begin("s"),
        *(call("s", str(n)) for n in range(1, 5)),
        result("1"),
        result("2", failed, isError=True),
        denied,
        result("3", "Tool call rejected", isError=True),
        end("s"),
    ]
    run = run_of("kimi_cli", records)
    assert statuses(run) == ["ok", "error", "rejected", "unanswered"]
    assert run.calls[1].exit_code == 1


def test_what_the_user_said_and_what_was_put_in():
    def prompt(kind, text, origin):
        return event(kind, input=[{"type": "text", "text": text}], origin={"kind": origin})

    def injected(text, origin):
        message = {
            "role": "user",
            "content": [{"type": "text", "text": text}],
            "origin": {"kind": origin},
        }
        return event("context.append_message", message=message)

    run = run_of(
        "kimi_cli",
        [
            prompt("turn.prompt", "Go.", "user"),
            injected("Go.", "user"),
            injected("<system-reminder>Mind.</system-reminder>", "injection"),
            prompt("turn.steer", "Stop.", "user"),
            event("turn.cancel"),
            prompt("turn.prompt", "<git-context>x</git-context>", "system_trigger"),
        ],
    )
    assert kinds(run) == ["user", "reminder", "user", "interrupt", "reminder"]
    assert run.prompt == "Go."


def test_a_failed_turn_is_an_attempt_that_was_given_up():
    error = {"message": "quota exceeded", "code": "insufficient_quota"}
    run = run_of("kimi_cli", [event("turn.ended", reason="failed", error=error)])
    assert [(a.code, a.gave_up) for a in attempts(run)] == [("insufficient_quota", True)]


def test_the_agents_of_a_session_hang_together(tmp_path):
    session = tmp_path / "sessions/wd/session_77"
    out = "agent_id: agent-0\nstatus: completed"
    spawn = [begin("s"), call("s", "Agent_0", "Agent"), result("Agent_0", out), end("s")]
    write_lines(session / "agents/main/wire.jsonl", spawn)
    write_lines(session / "agents/agent-0/wire.jsonl", [begin("t"), end("t")])
    state = {
        "workDir": "/w",
        "agents": {"main": {"parentAgentId": None}, "agent-0": {"parentAgentId": "main"}},
    }
    (session / "state.json").write_text(json.dumps(state))
    _, results = ingest(tmp_path)
    runs = {run.id: run for result in results for run in result.runs}
    assert set(runs) == {"session_77", "session_77/agent-0"}
    child = runs["session_77/agent-0"]
    assert (child.parent, child.agent, child.project) == ("session_77", "agent-0", "/w")
    mentioned = [run for result in results for run in result.mentioned]
    assert [(run.id, run.parent_call) for run in mentioned] == [("session_77/agent-0", "Agent_0")]


# -- the older wire -------------------------------------------------------------------------------


def wire(kind, second=0.0, **payload):
    return {"timestamp": 1_762_000_000.0 + second, "message": {"type": kind, "payload": payload}}


def status(key, output=5):
    used = {"input_other": 50, "output": output, "input_cache_read": 20, "input_cache_creation": 0}
    return wire("StatusUpdate", token_usage=used, message_id=key)


def old_call(key, arguments='{"command": "ls"}'):
    return wire(
        "ToolCall", type="function", id=key, function={"name": "Shell", "arguments": arguments}
    )


def old_result(key, output="ok", error=False, message=""):
    value = {"is_error": error, "output": output, "message": message}
    return wire("ToolResult", tool_call_id=key, return_value=value)


def test_a_step_of_the_older_wire():
    run = run_of(
        "kimi_cli",
        [
            wire("TurnBegin", user_input="Go."),
            wire("StepBegin", n=1),
            wire("ContentPart", type="think", think="hm"),
            wire("ContentPart", type="text", text="I look."),
            old_call("Shell_0", '{"command":'),
            wire("ToolCallPart", arguments_part=' "ls"}'),
            status("chatcmpl-1"),
            old_result("Shell_0"),
            wire("TurnEnd"),
        ],
    )
    (step,) = run.steps
    assert (step.id, step.text_size, [c.args for c in step.calls]) == (
        "chatcmpl-1",
        7,
        ['{"command":"ls"}'],
    )
    assert tokens(run) == {
        "fresh_input": 50,
        "cache_read": 20,
        "cache_write_unsplit": 0,
        "output": 5,
    }
    assert statuses(run) == ["ok"]


def test_results_before_the_usage_and_ids_that_come_again():
    records = []
    for key in ("chatcmpl-1", "chatcmpl-2"):
        records += [
            wire("StepBegin", n=1),
            old_call("Shell_0"),
            old_result("Shell_0", key),
            status(key),
        ]
    run = run_of("kimi_cli", records)
    assert statuses(run) == ["ok", "ok"]
    assert run.calls[0].result != run.calls[1].result


def test_failures_interrupts_and_compactions_of_the_older_wire():
    refusal = "The tool call is rejected by the user. Please follow the new instructions."
    run = run_of(
        "kimi_cli",
        [
            wire("StepBegin", n=1),
            old_call("1"),
            old_call("2"),
            status("chatcmpl-1"),
            old_result("1", "", True, "Failed with exit code: 2"),
            old_result("2", "", True, refusal),
            wire("StepBegin", n=2),
            wire("StepInterrupted"),
            wire("CompactionBegin"),
        ],
    )
    assert statuses(run) == ["error", "rejected"]
    assert kinds(run) == ["interrupt", "compaction"]
    assert len(run.steps) == 1


def test_events_of_sub_agents_are_runs_of_their_own():
    def inner(**message):
        return wire(
            "SubagentEvent",
            parent_tool_call_id="Agent_0",
            agent_id="a1",
            subagent_type="coder",
            event=message,
        )

    used = {"input_other": 9, "output": 1, "input_cache_read": 0, "input_cache_creation": 0}
    _, runs = runs_of(
        "kimi_cli",
        [
            wire("StepBegin", n=1),
            old_call("Agent_0"),
            status("chatcmpl-1"),
            inner(type="StepBegin", payload={"n": 1}),
            inner(type="StatusUpdate", payload={"token_usage": used, "message_id": "chatcmpl-2"}),
            old_result("Agent_0"),
        ],
        "x/sess/wire.jsonl",
    )
    child = runs["sess/a1"]
    assert (child.parent, child.parent_call, child.agent) == ("sess", "Agent_0", "coder")
    assert tokens(child)["fresh_input"] == 9
    assert tokens(runs["sess"])["fresh_input"] == 50


def test_the_state_of_the_prompt_is_read_only_where_there_is_no_wire(tmp_path):
    call = {"id": "Shell_0", "type": "function", "function": {"name": "Shell", "arguments": "{}"}}
    rows = [
        {"role": "_checkpoint", "id": 0},
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": [{"type": "text", "text": "x"}], "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "Shell_0", "content": "ok"},
        {"role": "_usage", "token_count": 900},
    ]
    write_lines(tmp_path / "sess/context.jsonl", rows)
    _, (alone,) = ingest(tmp_path)
    assert [statuses(run) for run in alone.runs] == [["ok"]]
    assert alone.inputs[0].format == "kimi_cli"
    write_lines(
        tmp_path / "sess/wire.jsonl",
        [wire("StepBegin", n=1), old_call("Shell_0"), status("chatcmpl-1")],
    )
    _, (state, log) = ingest(tmp_path)
    assert (state.runs, len(log.runs)) == ([], 1)
    assert state.inputs[0].records_ignored == {"prompt state (read with wire.jsonl)": 5}
