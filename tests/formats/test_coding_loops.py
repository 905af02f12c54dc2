"""The same loop, written by each agent: found, at its onset, with its size.

Every log holds seven responses that run `make berth`, which fails in the same words each time, and
one that gives up. The first is useful work; the loop begins with the second and lasts six steps.
"""

import json
import sqlite3

import pytest
from coding_files import write_lines

from loopaudit.replay.audit import AuditOptions, audit

FAILED = "make: *** No rule to make target 'berth'."
LOOP = 7
AT = 1_776_000_000  # seconds


def iso(second):
    from datetime import UTC, datetime

    return datetime.fromtimestamp(AT + second, UTC).isoformat().replace("+00:00", "Z")


def rounds(ask, give_up):
    """Records of the seven rounds, each made by `ask(n)`, and of the end."""
    return [record for n in range(LOOP) for record in ask(n)] + give_up


def gemini_cli(folder):
    def message(n, **more):
        return {
            "id": f"m{n}",
            "timestamp": iso(n),
            "type": "gemini",
            "content": "",
            "model": "g",
            **more,
        }

    def ask(n):
        answer = {
            "functionResponse": {"id": f"c{n}", "response": {"output": f"{FAILED}\nExit Code: 2"}}
        }
        call = {"id": f"c{n}", "name": "run_shell_command", "args": {"command": "make berth"}}
        return [message(n, toolCalls=[{**call, "result": [answer], "status": "success"}])]

    head = {"sessionId": "5f0c2d1e-1111-4222-8333-abcdefabcdef", "projectHash": "ab"}
    write_lines(folder / "s.jsonl", [head, *rounds(ask, [message(99, content="no")])])
    return 3


def qwen_code(folder):
    def line(n, kind, parts, **more):
        session = "9d0f3c52-0000-4000-8000-1234567890ab"
        message = {"role": "model" if kind == "assistant" else "user", "parts": parts}
        return {
            "uuid": f"{kind}-{n}",
            "sessionId": session,
            "timestamp": iso(n),
            "type": kind,
            "message": message,
            **more,
        }

    def ask(n):
        call = {
            "functionCall": {
                "id": f"c{n}",
                "name": "run_shell_command",
                "args": {"command": "make berth"},
            }
        }
        said = {
            "functionResponse": {
                "id": f"c{n}",
                "name": "run_shell_command",
                "response": {"error": FAILED},
            }
        }
        facts = {"callId": f"c{n}", "status": "error"}
        return [line(n, "assistant", [call]), line(n, "tool_result", [said], toolCallResult=facts)]

    write_lines(folder / "s.jsonl", rounds(ask, [line(99, "assistant", [{"text": "no"}])]))
    return 3


def copilot_cli(folder):
    def event(kind, n, **data):
        return {"type": kind, "data": data, "id": f"{kind}{n}", "timestamp": iso(n)}

    def ask(n):
        request = {"toolCallId": f"c{n}", "name": "bash", "arguments": {"command": "make berth"}}
        result = {"content": f"{FAILED}\n<exited with exit code 2>"}
        return [
            event(
                "assistant.message",
                n,
                apiCallId=f"api-call-{n:08}",
                content="",
                toolRequests=[request],
            ),
            event("tool.execution_complete", n, toolCallId=f"c{n}", success=True, result=result),
        ]

    start = event("session.start", 0, sessionId="0c6f2a1b-9999-4000-8000-000000000001")
    end = event("assistant.message", 99, apiCallId="api-call-end", content="no", toolRequests=[])
    write_lines(folder / "events.jsonl", [start, *rounds(ask, [end])])
    return 4


def pi(folder):
    def entry(n, **message):
        return {
            "type": "message",
            "timestamp": iso(n),
            "message": {**message, "timestamp": (AT + n) * 1000},
        }

    def ask(n):
        call = {
            "type": "toolCall",
            "id": f"toolu_{n}",
            "name": "bash",
            "arguments": {"command": "make berth"},
        }
        text = [{"type": "text", "text": f"{FAILED}\n\nCommand exited with code 2"}]
        return [
            entry(n, role="assistant", content=[call], model="m", stopReason="toolUse"),
            entry(
                n,
                role="toolResult",
                toolCallId=f"toolu_{n}",
                toolName="bash",
                content=text,
                isError=True,
            ),
        ]

    head = {
        "type": "session",
        "version": 3,
        "id": "0199f0c2-0000-7000-8000-00000000000a",
        "cwd": "/w",
    }
    end = entry(
        99, role="assistant", content=[{"type": "text", "text": "no"}], model="m", stopReason="stop"
    )
    write_lines(folder / "s.jsonl", [head, *rounds(ask, [end])])
    return 4


def openclaw_telemetry(folder):
    messages = []
    for n in range(LOOP):
        call = {
            "type": "toolCall",
            "id": f"toolu_{n}",
            "name": "exec",
            "arguments": {"command": "make berth"},
        }
        at = (AT + n) * 1000
        messages.append({"role": "assistant", "content": [call], "model": "m", "timestamp": at})
        said = {
            "role": "toolResult",
            "toolCallId": f"toolu_{n}",
            "content": FAILED,
            "isError": True,
        }
        messages.append({**said, "timestamp": at + 500})
    event = {
        "type": "agent.end",
        "sessionKey": "agent:main:main",
        "agentId": "main",
        "ts": (AT + 50) * 1000,
    }
    write_lines(folder / "t.jsonl", [{**event, "messages": messages}])
    return 1


def opencode(folder):
    def message(n, *parts):
        time = {"created": (AT + n) * 1000}
        info = {
            "id": f"msg_{n:03}",
            "sessionID": "ses_loop_000000001",
            "role": "assistant",
            "time": time,
        }
        return {"info": info, "parts": list(parts)}

    def ask(n):
        state = {
            "status": "completed",
            "input": {"command": "make berth"},
            "output": FAILED,
            "metadata": {"exit": 2},
        }
        return [message(n, {"type": "tool", "tool": "bash", "callID": f"c{n}", "state": state})]

    info = {
        "id": "ses_loop_000000001",
        "projectID": "p",
        "directory": "/w",
        "time": {"created": AT * 1000},
    }
    document = {
        "info": info,
        "messages": rounds(ask, [message(99, {"type": "text", "text": "no"})]),
    }
    (folder / "export.json").write_text(json.dumps(document), encoding="utf-8")
    return 1


def goose(folder):
    def message(n, role, block):
        return {"id": f"{role}{n}", "role": role, "created": AT + n, "content": [block]}

    def ask(n):
        value = {"name": "developer__shell", "arguments": {"command": "make berth"}}
        said = {"content": [{"type": "text", "text": FAILED}], "isError": True}
        return [
            message(
                n,
                "assistant",
                {
                    "type": "toolRequest",
                    "id": f"c{n}",
                    "toolCall": {"status": "success", "value": value},
                },
            ),
            message(
                n,
                "user",
                {
                    "type": "toolResponse",
                    "id": f"c{n}",
                    "toolResult": {"status": "success", "value": said},
                },
            ),
        ]

    end = message(99, "assistant", {"type": "text", "text": "no"})
    write_lines(folder / "s.jsonl", [{"working_dir": "/w"}, *rounds(ask, [end])])
    return 4


def cline(folder):
    history = [{"role": "user", "content": [{"type": "text", "text": "<task>Go.</task>"}]}]
    seen = [{"ts": AT * 1000, "type": "say", "say": "task", "text": "Go."}]
    for n in range(LOOP):
        block = {
            "type": "tool_use",
            "id": f"c{n}",
            "name": "execute_command",
            "input": {"command": "make berth"},
        }
        said = {"type": "tool_result", "tool_use_id": f"c{n}", "content": FAILED, "is_error": True}
        history += [{"role": "assistant", "content": [block]}, {"role": "user", "content": [said]}]
        facts = json.dumps({"tokensIn": 1, "tokensOut": 1, "cost": 0.1})
        seen.append(
            {"ts": (AT + n + 1) * 1000, "type": "say", "say": "api_req_started", "text": facts}
        )
    task = folder / "1776000000000"
    task.mkdir()
    text = "[\n" + ",\n".join(map(json.dumps, seen)) + "\n]\n"
    (task / "ui_messages.json").write_text(text, encoding="utf-8")
    (task / "api_conversation_history.json").write_text(json.dumps(history), encoding="utf-8")
    return 4


def kimi_cli(folder):
    def event(n, **inner):
        return {"type": "context.append_loop_event", "event": inner, "time": (AT + n) * 1000}

    def ask(n):
        result = {"output": f"{FAILED}\nCommand failed with exit code: 2.", "isError": True}
        return [
            event(n, type="step.begin", uuid=f"step-{n:016}"),
            event(
                n,
                type="tool.call",
                stepUuid=f"step-{n:016}",
                toolCallId="Bash_0",
                name="Bash",
                args={"command": "make berth"},
            ),
            event(n, type="tool.result", toolCallId="Bash_0", result=result),
        ]

    end = [
        event(99, type="step.begin", uuid="step-end"),
        event(99, type="content.part", part={"text": "no"}),
    ]
    write_lines(
        folder / "w.jsonl", [{"type": "metadata", "protocol_version": "1.4"}, *rounds(ask, end)]
    )
    return 6


def factory_droid(folder):
    def message(n, role, block):
        inner = {"role": role, "content": [block]}
        return {"type": "message", "id": f"{role}{n}", "timestamp": iso(n), "message": inner}

    def ask(n):
        return [
            message(
                n,
                "assistant",
                {
                    "type": "tool_use",
                    "id": f"c{n}",
                    "name": "Execute",
                    "input": {"command": "make berth"},
                },
            ),
            message(
                n,
                "user",
                {
                    "type": "tool_result",
                    "tool_use_id": f"c{n}",
                    "content": FAILED,
                    "is_error": True,
                },
            ),
        ]

    head = {"type": "session_start", "id": "8e4b6a90-2c1d-4f7e-9a35-b0c8d2e4f617"}
    end = message(99, "assistant", {"type": "text", "text": "no"})
    write_lines(folder / "s.jsonl", [head, *rounds(ask, [end])])
    return 4


def amp(folder):
    messages = []
    for n in range(LOOP):
        call = {"type": "tool_use", "id": f"c{n}", "name": "Bash", "input": {"cmd": "make berth"}}
        usage = {"inputTokens": 1, "outputTokens": 1, "timestamp": iso(n)}
        run = {"status": "done", "result": {"output": FAILED, "exitCode": 2}}
        messages.append(
            {"role": "assistant", "messageId": 2 * n, "content": [call], "usage": usage}
        )
        block = {"type": "tool_result", "toolUseID": f"c{n}", "run": run}
        messages.append({"role": "user", "messageId": 2 * n + 1, "content": [block]})
    thread = {
        "id": "T-5d8e1f20-7a4b-4c93-8e60-1b2c3d4e5f60",
        "created": AT * 1000,
        "messages": messages,
    }
    (folder / "T-1.json").write_text(json.dumps(thread, indent=1), encoding="utf-8")
    return None  # the line is that of the message in the document


def crush(folder):
    connection = sqlite3.connect(folder / "crush.db")
    connection.executescript(
        "CREATE TABLE sessions (id TEXT, parent_session_id TEXT, cost REAL, created_at INTEGER);"
        "CREATE TABLE messages (id TEXT, session_id TEXT, role TEXT, parts TEXT,"
        " created_at INTEGER);"
    )
    for n in range(LOOP):
        call = {
            "type": "tool_call",
            "id": f"c{n}",
            "name": "bash",
            "input": '{"command":"make berth"}',
        }
        said = {"type": "tool_result", "tool_call_id": f"c{n}", "content": f"{FAILED}\nExit code 2"}
        for role, part in (("assistant", call), ("tool", said)):
            row = (
                f"{role}{n}",
                "4f6a1c2e-9b0d-4e57-a1f8-c3d5e7092b46",
                role,
                json.dumps([part]),
                AT + n,
            )
            connection.execute("INSERT INTO messages VALUES (?, ?, ?, ?, ?)", row)
    connection.commit()
    connection.close()
    return 3


def cursor(folder):
    def ask(n):
        call = {"type": "tool_use", "name": "Shell", "input": {"command": "make berth"}}
        return [
            {"role": "assistant", "message": {"content": [call]}},
            {
                "role": "user",
                "message": {
                    "content": [{"type": "tool_result", "content": f"{FAILED}\nExit code: 2"}]
                },
            },
        ]

    end = {"role": "assistant", "message": {"content": [{"type": "text", "text": "no"}]}}
    write_lines(folder / "s.jsonl", rounds(ask, [end]))
    return 3


def antigravity(folder):
    def step(n, kind, **more):
        return {
            "step_index": n,
            "source": "MODEL",
            "type": kind,
            "status": "DONE",
            "created_at": iso(n),
            **more,
        }

    def ask(n):
        call = {"name": "run_command", "args": {"CommandLine": '"make berth"'}}
        text = f"The command failed with exit code: 2\nOutput:\n{FAILED}"
        return [
            step(n, "PLANNER_RESPONSE", tool_calls=[call]),
            step(n, "RUN_COMMAND", content=text),
        ]

    write_lines(
        folder / "transcript.jsonl", rounds(ask, [step(99, "PLANNER_RESPONSE", content="no")])
    )
    return 3


def hermes(folder):
    messages = []
    for n in range(LOOP):
        call = {
            "id": f"c{n}",
            "type": "function",
            "function": {"name": "terminal", "arguments": '{"command":"make berth"}'},
        }
        messages.append({"role": "assistant", "content": "", "tool_calls": [call]})
        said = {"role": "tool", "content": FAILED, "tool_call_id": f"c{n}", "tool_name": "terminal"}
        messages.append({**said, "finish_reason": "error"})
    facts = {"session_id": "20260510_0700_harbour", "platform": "cli", "session_start": iso(0)}
    (folder / "s.json").write_text(json.dumps({**facts, "messages": messages}), encoding="utf-8")
    return 1


def grok(folder):
    def ask(n):
        call = {
            "id": f"call-{n}",
            "name": "run_terminal_cmd",
            "arguments": '{"command":"make berth"}',
        }
        return [
            {"type": "assistant", "content": "", "tool_calls": [call], "model_id": "grok-4.5"},
            {
                "type": "tool_result",
                "tool_call_id": f"call-{n}",
                "content": f"{FAILED}\nExit code: 2",
            },
        ]

    end = {"type": "assistant", "content": "no", "tool_calls": [], "model_id": "grok-4.5"}
    write_lines(folder / "chat_history.jsonl", rounds(ask, [end]))
    return 3


def codex_exec(folder):
    def ask(n):
        item = {"id": f"item_{n}", "type": "command_execution", "command": "make berth"}
        return [
            {
                "type": "item.completed",
                "item": {**item, "aggregated_output": FAILED, "exit_code": 2, "status": "failed"},
            }
        ]

    head = {"type": "thread.started", "thread_id": "0199c1d2-44e5-7f60-9a1b-2c3d4e5f6071"}
    end = {
        "type": "item.completed",
        "item": {"id": "item_9", "type": "agent_message", "text": "no"},
    }
    write_lines(folder / "exec.jsonl", [head, *rounds(ask, [end])])
    return 3


AGENTS = (
    *(gemini_cli, qwen_code, copilot_cli, pi, openclaw_telemetry, opencode, goose, cline, kimi_cli),
    *(factory_droid, amp, crush, cursor, antigravity, hermes, grok, codex_exec),
)


@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.__name__)
def test_the_loop_is_found_at_its_onset(tmp_path, agent):
    line = agent(tmp_path)
    report = audit(AuditOptions([str(tmp_path)], processes=1, now=2e9))
    assert (report.skips, report.failures) == ([], [])
    assert {entry.format for entry in report.inputs} == {agent.__name__}
    assert (report.totals.calls, report.totals.calls_failed) == (LOOP, LOOP)
    (loop,) = report.findings
    assert loop.rule in ("same-call-same-result", "permanent-error-retried", "same-error")
    assert (loop.onset.step, loop.occurrences, len(loop.waste.steps)) == (1, LOOP, LOOP - 1)
    if line is not None:
        assert loop.onset.line == line
