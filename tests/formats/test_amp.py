"""Amp: usage of message and ledger are the same tokens; how runs of tools end."""

from coding_files import kinds, run_of, runs_of, statuses, tokens

THREAD = "T-5d8e1f20-7a4b-4c93-8e60-1b2c3d4e5f60"


def thread(*messages, ledger=(), **more):
    events = [
        {
            "id": f"l{n}",
            "timestamp": "2026-01-08T08:00:00Z",
            "model": "m",
            "credits": 1,
            "tokens": tokens_,
            "toMessageId": to,
        }
        for n, (to, tokens_) in enumerate(ledger)
    ]
    return {
        "id": THREAD,
        "created": 1_767_860_000_000,
        "messages": list(messages),
        "usageLedger": {"events": events},
        **more,
    }


def message(number, role, *content, **more):
    return {"role": role, "messageId": number, "content": list(content), **more}


def usage(fresh, output, read=0, written=0):
    return {
        "model": "m",
        "inputTokens": fresh,
        "outputTokens": output,
        "cacheReadInputTokens": read,
        "cacheCreationInputTokens": written,
    }


def call(key):
    return {"type": "tool_use", "id": key, "name": "Bash", "input": {"cmd": key}}


def result(key, status, **run):
    return {"type": "tool_result", "toolUseID": key, "run": {"status": status, **run}}


TEXT = {"type": "text", "text": "hello"}


def test_the_ledger_and_the_message_are_not_added():
    doc = thread(
        message(1, "assistant", TEXT, usage=usage(10, 5, 300, 20)),
        ledger=[(1, {"input": 12, "output": 6})],
    )
    assert tokens(run_of("amp", [doc])) == {
        "fresh_input": 12,
        "cache_read": 300,
        "cache_write_unsplit": 20,
        "output": 6,
    }


def test_either_alone_is_enough():
    doc = thread(
        message(1, "assistant", TEXT, usage=usage(10, 5)),
        message(2, "assistant", TEXT),
        ledger=[(2, {"input": 7, "output": 3})],
    )
    run = run_of("amp", [doc])
    assert [step.usage.total for step in run.steps] == [15, 10]


def test_several_events_for_one_message_add_up_and_lost_messages_were_billed():
    ledger = [
        (1, {"input": 5, "output": 1}),
        (1, {"input": 6, "output": 2}),
        (9, {"input": 100, "output": 10}),
    ]
    run = run_of("amp", [thread(message(1, "assistant", TEXT), ledger=ledger)])
    assert sum(step.usage.total for step in run.steps) == 14 + 110


def test_how_calls_end():
    doc = thread(
        message(1, "assistant", *(call(str(n)) for n in range(1, 7))),
        message(
            2,
            "user",
            result("1", "done", result={"output": "fine", "exitCode": 0}),
            result("2", "done", result={"output": "no red left", "exitCode": 3}),
            result("3", "error", error={"message": "no such tool"}),
            result("4", "rejected-by-user"),
            result("5", "cancelled"),
            result("6", "in-progress"),
        ),
    )
    run = run_of("amp", [doc])
    assert statuses(run) == ["ok", "error", "error", "rejected", "interrupted", "unanswered"]
    assert [c.exit_code for c in run.calls][:2] == [0, 3]


def test_what_the_user_said_and_stopped():
    doc = thread(
        message(0, "user", TEXT, meta={"sentAt": 1_767_860_000_000}),
        message(1, "assistant", TEXT, state={"type": "cancelled"}),
    )
    run = run_of("amp", [doc])
    assert kinds(run) == ["user", "interrupt"]
    assert (run.prompt, run.started) == ("hello", 1_767_860_000.0)


def test_what_is_no_thread_is_rejected():
    reader, _ = runs_of("amp", [{"messages": 3}, thread("x", {"role": "tool"})])
    assert len(reader.rejected) == 3
