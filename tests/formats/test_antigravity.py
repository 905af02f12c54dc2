"""Antigravity: steps after a plan are its results; others are calls of their own."""

from coding_files import kinds, run_of, runs_of, statuses


def step(kind, number=1, source="MODEL", **more):
    return {
        "step_index": number,
        "source": source,
        "type": kind,
        "status": "DONE",
        "created_at": f"2026-07-01T08:00:{number:02}Z",
        **more,
    }


def plan(*calls, **more):
    found = [{"name": name, "args": args} for name, args in calls]
    return step("PLANNER_RESPONSE", tool_calls=found, **more)


def test_results_follow_their_plan_in_order():
    quoted = {"DirectoryPath": '"/w"', "toolSummary": '"Listing"', "Depth": "[1, 2]"}
    run = run_of(
        "antigravity",
        [
            plan(("list_dir", quoted), ("run_command", {"Cmd": "make"})),
            step("LIST_DIRECTORY", 2, content="a"),
            step("RUN_COMMAND", 3, content="The command failed with exit code: 2\nOutput:\nx"),
        ],
    )
    assert [c.args for c in run.calls] == ['{"Depth":[1,2],"DirectoryPath":"/w"}', '{"Cmd":"make"}']
    assert statuses(run) == ["ok", "error"]
    assert run.calls[1].exit_code == 2


def test_a_step_that_no_plan_named_is_a_call_of_its_own():
    run = run_of("antigravity", [plan(), step("VIEW_FILE", 2, content="x"), plan(content="done")])
    assert [len(s.calls) for s in run.steps] == [0, 1, 0]
    assert run.calls[0].tool == "view_file"


def test_flags_of_failures():
    run = run_of(
        "antigravity",
        [
            plan(("a", {}), ("b", {}), ("c", {})),
            step("GENERIC", 2, status="ERROR", content="broke"),
            step("GENERIC", 3, status="CANCELED", content=""),
        ],
    )
    assert statuses(run) == ["error", "interrupted", "unanswered"]


def test_messages_and_checkpoints():
    run = run_of(
        "antigravity",
        [
            step(
                "USER_INPUT",
                source="USER_EXPLICIT",
                content="<USER_REQUEST>\nGo.\n</USER_REQUEST>\n<USER_SETTINGS_CHANGE>x</USER_SETTINGS_CHANGE>",
            ),
            step("CHECKPOINT", source="SYSTEM", content="# Resuming"),
            step("SYSTEM_MESSAGE", source="SYSTEM", content="mind"),
        ],
        "brain/abcd-1234/.system_generated/logs/transcript.jsonl",
    )
    assert kinds(run) == ["user", "compaction", "reminder"]
    assert (run.prompt, run.id) == ("Go.", "abcd-1234")


def test_what_else_there_is():
    reader, _ = runs_of(
        "antigravity", [step("CONVERSATION_HISTORY", source="SYSTEM"), {"type": "X"}]
    )
    assert reader.ignored == {"step CONVERSATION_HISTORY": 1}
    assert [line for line, _ in reader.rejected] == [2]
