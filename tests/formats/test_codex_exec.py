"""`codex exec --json`: items, turns, the counter of the thread, reconnections."""

from coding_files import attempts, run_of, runs_of, statuses, tokens

from loopaudit.formats.base import Sample
from loopaudit.formats.coding import claude_code, codex, codex_exec

THREAD = "0199c1d2-44e5-7f60-9a1b-2c3d4e5f6071"


def event(kind, **more):
    return {"type": kind, **more}


def item(kind, key, phase="completed", **more):
    return event(f"item.{phase}", item={"id": key, "type": kind, **more})


def command(key, output="ok", code=0, status="completed", phase="completed"):
    return item(
        "command_execution",
        key,
        phase,
        command="ls",
        aggregated_output=output,
        exit_code=code,
        status=status,
    )


def turn(sent, cached, output):
    usage = {"input_tokens": sent, "cached_input_tokens": cached, "output_tokens": output}
    return event("turn.completed", usage=usage)


START = event("thread.started", thread_id=THREAD)


def test_the_counter_is_that_of_the_thread():
    """Cumulative: 1,000 after the first turn, 2,600 after the second; 60 + 40 output."""
    said = item("agent_message", "i", text="x")
    run = run_of("codex_exec", [START, said, turn(1000, 400, 60), said, turn(2600, 1400, 100)])
    found = {bucket: amount for bucket, amount in tokens(run).items() if amount}
    assert found == {"fresh_input": 1200, "cache_read": 1400, "output": 100}
    assert [step.usage.output for step in run.steps] == [60, 40]


def test_written_tokens_lie_inside_the_input():
    usage = {
        "input_tokens": 100,
        "cached_input_tokens": 30,
        "cache_write_input_tokens": 20,
        "output_tokens": 5,
    }
    run = run_of(
        "codex_exec",
        [START, item("agent_message", "i", text="x"), event("turn.completed", usage=usage)],
    )
    assert tokens(run) == {
        "fresh_input": 50,
        "cache_read": 30,
        "cache_write_unsplit": 20,
        "output": 5,
        "reasoning": 0,
    }


def test_a_counter_that_drops_begins_anew():
    said = item("agent_message", "i", text="x")
    run = run_of("codex_exec", [START, said, turn(1000, 0, 60), said, turn(300, 0, 10)])
    assert sum(step.usage.total for step in run.steps) == 1060 + 310


def test_a_turn_is_spread_over_its_responses():
    records = [
        START,
        item("reasoning", "0", text="hm"),
        command("1", phase="started", code=None, status="in_progress"),
        command("2", phase="started", code=None, status="in_progress"),
        command("1"),
        command("2", "make: *** Error", 2, "failed"),
        item("agent_message", "3", text="Done."),
        turn(100, 0, 11),
    ]
    run = run_of("codex_exec", records)
    assert [len(step.calls) for step in run.steps] == [2, 0]
    assert [step.usage.total for step in run.steps] == [56, 55]
    assert statuses(run) == ["ok", "error"]
    assert [c.exit_code for c in run.calls] == [0, 2]


def test_other_tools():
    run = run_of(
        "codex_exec",
        [
            START,
            item(
                "mcp_tool_call",
                "1",
                server="s",
                tool="t",
                arguments={"a": 1},
                status="failed",
                error={"message": "gone"},
            ),
            item("file_change", "2", changes=[{"path": "a", "kind": "update"}], status="completed"),
            item("web_search", "3", query="q"),
            command("4", "", None, "declined"),
        ],
    )
    assert [c.tool for c in run.calls] == ["mcp__s__t", "apply_patch", "web_search", "shell"]
    assert statuses(run) == ["error", "ok", "ok", "rejected"]


def test_reconnections_and_the_end_of_a_turn():
    run = run_of(
        "codex_exec",
        [
            START,
            event("error", message="Reconnecting... 1/5 (stream disconnected)"),
            event("error", message="Reconnecting... 2/5 (stream disconnected)"),
            event("turn.failed", error={"message": "exceeded retry limit, last status: 429"}),
        ],
    )
    found = [(a.number, a.limit, a.gave_up, a.error.value) for a in attempts(run)]
    assert [entry[:3] for entry in found] == [(1, 5, False), (2, 5, False), (None, None, True)]
    assert found[2][3] == "throttled"


def test_times_are_missing_and_lists_of_tasks_are_no_calls():
    reader, runs = runs_of(
        "codex_exec",
        [START, item("todo_list", "1", items=[]), item("agent_message", "2", text="x")],
    )
    assert runs[THREAD].calls == []
    assert "times" in codex_exec.FORMAT.lacks
    assert reader.ignored == {"todo_list": 1}


def test_it_is_not_taken_for_a_rollout_or_claude_code():
    sample = Sample("x", [START, event("turn.started"), command("1"), turn(1, 0, 1)])
    assert codex_exec.sniff(sample) > 0.9
    assert codex.sniff(sample) < 0.5
    assert claude_code.sniff(sample) < 0.5


def test_a_turn_without_usage_does_not_move_the_counter():
    said = item("agent_message", "i", text="x")
    records = [
        START,
        said,
        turn(1000, 0, 60),
        said,
        event("turn.completed"),
        said,
        turn(1500, 0, 70),
    ]
    run = run_of("codex_exec", records)
    assert sum(step.usage.total for step in run.steps if step.usage) == 1570
