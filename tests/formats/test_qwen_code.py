"""Qwen Code: lines of one response, usage, telemetry, compaction, texts that no person wrote."""

from coding_files import attempts, kinds, run_of, runs_of, statuses, tokens

SESSION = "9d0f3c52-0000-4000-8000-1234567890ab"


def line(kind, uuid, parts=None, **more):
    record = {
        "uuid": uuid,
        "sessionId": SESSION,
        "timestamp": "2026-05-06T07:00:00Z",
        "type": kind,
        "cwd": "/w",
    }
    if parts is not None:
        record["message"] = {"role": "model" if kind == "assistant" else "user", "parts": parts}
    return {**record, **more}


def usage(prompt, cached, answer, thoughts):
    total = prompt + answer + thoughts
    names = ("promptTokenCount", "cachedContentTokenCount", "candidatesTokenCount")
    found = dict(zip(names, (prompt, cached, answer), strict=True))
    return {**found, "thoughtsTokenCount": thoughts, "totalTokenCount": total}


def asked(key):
    return {"functionCall": {"id": key, "name": "shell", "args": {"command": "ls"}}}


def answered(key, response, status="success", **facts):
    parts = [{"functionResponse": {"id": key, "name": "shell", "response": response}}]
    return line(
        "tool_result", f"r-{key}", parts, toolCallResult={"callId": key, "status": status, **facts}
    )


def test_two_lines_of_one_uuid_are_one_response():
    run = run_of(
        "qwen_code",
        [
            line("assistant", "a", [{"text": "hm", "thought": True}]),
            line("assistant", "a", [asked("c")], usageMetadata=usage(900, 400, 50, 10), model="q3"),
        ],
    )
    assert len(run.steps) == 1
    assert tokens(run) == {"fresh_input": 500, "cache_read": 400, "output": 60, "reasoning": 10}
    assert run.steps[0].model == "q3"


def test_telemetry_repeats_the_usage_and_alone_tells_failed_requests():
    event = {"event.name": "qwen-code.api_response", "input_token_count": 900}
    failed = {
        "event.name": "qwen-code.api_error",
        "status_code": 429,
        "error_type": "rate_limit",
        "error_message": "slow down",
    }
    reader, runs = runs_of(
        "qwen_code",
        [
            line("system", "s1", subtype="ui_telemetry", systemPayload={"uiEvent": failed}),
            line("assistant", "a", [{"text": "x"}], usageMetadata=usage(9, 0, 1, 0)),
            line("system", "s2", subtype="ui_telemetry", systemPayload={"uiEvent": event}),
        ],
    )
    run = runs[SESSION]
    assert tokens(run) == {"fresh_input": 9, "cache_read": 0, "output": 1, "reasoning": 0}
    assert [(a.http_status, a.code, a.message) for a in attempts(run)] == [
        (429, "rate_limit", "slow down")
    ]
    assert reader.ignored == {"system/ui_telemetry": 1}


def test_how_calls_end():
    run = run_of(
        "qwen_code",
        [
            line("assistant", "a", [asked("1"), asked("2"), asked("3"), asked("4")]),
            answered("1", {"output": "fine"}),
            answered("2", {"error": "not found"}, "error", errorType="edit_no_occurrence"),
            answered("3", {"error": "declined"}, "cancelled"),
            answered("4", {"output": "Command: false\nExit Code: 1"}),
        ],
    )
    assert statuses(run) == ["ok", "error", "rejected", "error"]
    assert [call.code for call in run.calls] == [None, "edit_no_occurrence", None, None]


def test_what_no_person_wrote_is_a_reminder():
    context = {
        "text": "<qwen:user-prompt-submit-context>\nfrom a hook\n</qwen:user-prompt-submit-context>"
    }
    run = run_of(
        "qwen_code",
        [
            line("user", "u1", [{"text": "Go."}, context]),
            line("user", "u2", [{"text": "Job done."}], subtype="notification"),
            line("user", "u3", [{"text": "And this."}], subtype="mid_turn_user_message"),
        ],
    )
    assert kinds(run) == ["user", "reminder", "user"]
    assert run.prompt == "Go."


def test_a_compaction_is_a_boundary():
    run = run_of("qwen_code", [line("system", "s", subtype="chat_compression", systemPayload={})])
    assert kinds(run) == ["compaction"]


def test_an_empty_usage_is_none():
    run = run_of("qwen_code", [line("assistant", "a", [{"text": "x"}], usageMetadata={})])
    assert run.steps[0].usage is None


def test_lines_without_parts_are_rejected_with_their_line():
    reader, _ = runs_of("qwen_code", [line("assistant", "a"), line("mystery", "b")])
    assert [number for number, _ in reader.rejected] == [1]
    assert reader.ignored == {"unknown type mystery": 1}


def test_sub_agents_forks_and_sub_sessions():
    agent = line(
        "assistant",
        "a",
        [{"text": "x"}],
        agentId="explore-7f3c",
        agentName="Explore",
        isSidechain=True,
    )
    _, runs = runs_of("qwen_code", [line("assistant", "m", [{"text": "y"}]), agent])
    child = runs[f"{SESSION}/explore-7f3c"]
    assert (child.parent, child.agent, len(child.steps)) == (SESSION, "Explore", 1)
    origin = {"sessionId": "the-origin-session", "messageUuid": "a"}
    assert (
        run_of(
            "qwen_code", [line("assistant", "a", [{"text": "x"}], forkedFrom=origin)]
        ).forked_from
        == origin["sessionId"]
    )
    born = line(
        "system", "s", subtype="parent_session", systemPayload={"parentSessionId": "the-parent"}
    )
    assert (
        run_of("qwen_code", [born, line("assistant", "a", [{"text": "x"}])]).parent == "the-parent"
    )


def test_provenance_tells_who_wrote():
    run = run_of(
        "qwen_code",
        [
            line("user", "u1", [{"text": "Go."}], provenance="real_user"),
            line("user", "u2", [{"text": "on"}], provenance="goal_runtime"),
        ],
    )
    assert kinds(run) == ["user", "reminder"]
