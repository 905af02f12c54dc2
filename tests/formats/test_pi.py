"""pi and OpenClaw: usage with cost, stopped and failed responses, branches, compaction."""

import pytest
from coding_files import attempts, kinds, run_of, runs_of, statuses, tokens, write_lines

from loopaudit.replay.audit import AuditOptions, audit

SESSION = "0199f0c2-0000-7000-8000-00000000000a"
HEAD = {
    "type": "session",
    "version": 3,
    "id": SESSION,
    "timestamp": "2026-05-20T18:00:00Z",
    "cwd": "/w",
}


def entry(number, message):
    at = f"2026-05-20T18:00:{number:02}Z"
    return {
        "type": "message",
        "id": f"e{number}",
        "parentId": f"e{number - 1}",
        "timestamp": at,
        "message": message,
    }


def answer(number, *content, used=(10, 5, 100, 20), cost=0.5, stop="stop", **more):
    names = ("input", "output", "cacheRead", "cacheWrite")
    usage = {
        **dict(zip(names, used, strict=True)),
        "totalTokens": sum(used),
        "cost": {"total": cost},
    }
    message = {
        "role": "assistant",
        "content": list(content),
        "provider": "p",
        "model": "m",
        "usage": usage,
    }
    return entry(
        number, {**message, "stopReason": stop, "timestamp": 1_779_300_000_000 + number, **more}
    )


def call(key, tool="bash", **arguments):
    return {"type": "toolCall", "id": key, "name": tool, "arguments": arguments}


def result(number, key, text, error=False, **more):
    content = [{"type": "text", "text": text}]
    message = {
        "role": "toolResult",
        "toolCallId": key,
        "toolName": "bash",
        "content": content,
        "isError": error,
    }
    return entry(number, {**message, **more})


TEXT = {"type": "text", "text": "hello"}


def test_the_inputs_lie_beside_each_other_and_cost_is_recorded():
    run = run_of("pi", [HEAD, answer(1, TEXT)])
    assert tokens(run) == {
        "fresh_input": 10,
        "output": 5,
        "cache_read": 100,
        "cache_write_unsplit": 20,
    }
    assert float(run.steps[0].cost) == 0.5
    assert run.project == "/w"


def test_a_cost_of_zero_is_a_model_without_a_price():
    assert run_of("pi", [HEAD, answer(1, TEXT, cost=0)]).steps[0].cost is None


def test_a_stopped_response_costs_what_its_usage_tells():
    run = run_of(
        "pi", [HEAD, answer(1, call("c1"), stop="aborted", errorMessage="Request was aborted.")]
    )
    assert tokens(run)["output"] == 5
    assert statuses(run) == ["unanswered"]
    assert kinds(run) == ["interrupt"]


def test_a_request_stopped_before_any_answer_is_no_response():
    run = run_of("pi", [HEAD, answer(1, used=(0, 0, 0, 0), cost=0, stop="aborted")])
    assert run.steps == []
    assert kinds(run) == ["interrupt"]


def test_a_failed_request_is_an_attempt():
    said = '400 {"type":"error","error":{"type":"invalid_request_error","message":"too long"}}'
    run = run_of(
        "pi", [HEAD, answer(1, used=(0, 0, 0, 0), cost=0, stop="error", errorMessage=said)]
    )
    assert run.steps == []
    (failed,) = attempts(run)
    assert (failed.http_status, failed.code, failed.gave_up) == (400, "invalid_request_error", True)


def test_how_calls_end():
    run = run_of(
        "pi",
        [
            HEAD,
            answer(1, call("1"), call("2"), call("3"), stop="toolUse"),
            result(2, "1", "fine\nexit code 1 is what we test for"),
            result(3, "2", "1 failing\n\nCommand exited with code 1", error=True),
            result(4, "3", "Command aborted", error=True),
        ],
    )
    assert statuses(run) == ["ok", "error", "interrupted"]
    assert run.calls[1].exit_code == 1


def test_pictures_in_results_are_told_apart():
    picture = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
    other = {**picture, "data": "BBBB"}
    run = run_of(
        "pi",
        [
            HEAD,
            answer(1, call("1", "read", path="a.png"), call("2", "read", path="a.png")),
            result(2, "1", "", content=[picture]),
            result(3, "2", "", content=[other]),
        ],
    )
    assert run.calls[0].result != run.calls[1].result


def test_what_else_stands_in_a_session():
    records = [
        HEAD,
        {"type": "model_change", "timestamp": "2026-05-20T18:00:00Z", "modelId": "m"},
        entry(1, {"role": "bashExecution", "command": "ls", "output": "a"}),
        {"type": "custom_message", "content": "injected", "timestamp": "2026-05-20T18:00:01Z"},
        {"type": "compaction", "summary": "s", "timestamp": "2026-05-20T18:00:02Z"},
        {"type": "novelty", "timestamp": "2026-05-20T18:00:03Z"},
        {"no": "type"},
    ]
    reader, runs = runs_of("pi", records)
    assert kinds(runs[SESSION]) == ["reminder", "compaction"]
    assert reader.ignored == {
        "model_change": 1,
        "message of role 'bashExecution'": 1,
        "unknown type novelty": 1,
    }
    assert [line for line, _ in reader.rejected] == [7]


@pytest.mark.parametrize("key", ["branchedFrom", "parentSession"])
def test_a_branch_begins_with_a_copy_that_counts_once(tmp_path, key):
    shared = [answer(1, TEXT), answer(2, TEXT)]
    write_lines(tmp_path / "a.jsonl", [HEAD, *shared, answer(3, TEXT)])
    head = {**HEAD, "id": "0199f0c2-0000-7000-8000-00000000000b", key: f"/s/2026_{SESSION}.jsonl"}
    write_lines(tmp_path / "b.jsonl", [head, *shared, answer(4, TEXT)])
    report = audit(AuditOptions([str(tmp_path)], processes=1, now=2e9))
    assert report.totals.tokens.total == 4 * 135
    assert report.totals.responses == 4
    assert report.totals.duplicates_removed == 2


def test_openclaw_contexts_are_not_the_users_words():
    run = run_of(
        "pi",
        [
            HEAD,
            entry(1, {"role": "user", "content": "[Subagent Context] You are a sub-agent."}),
            entry(2, {"role": "user", "content": [{"type": "text", "text": "Hello."}]}),
        ],
    )
    assert kinds(run) == ["reminder", "user"]
