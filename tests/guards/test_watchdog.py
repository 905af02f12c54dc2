"""The watchdog guard set: symptoms, progress, renewal, repair once, and where it stays silent."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripts import COMPACTION, HOOK, REMINDER, USER, C, Target, rows, run_of, session_of, trips_of

from loopaudit.errors import ConfigError
from loopaudit.findings import Trip
from loopaudit.guards import presets
from loopaudit.guards.session import GuardSession
from loopaudit.model import BoundaryKind, CallStatus
from loopaudit.replay.replay import replay_run

GREP = [C("grep", {"q": "x"}, "a.py:1: x")]
WRITE = "write_file"


def watchdog(items: Iterable[Any], variant: str = "demo", **options: Any) -> list[Trip]:
    return trips_of(run_of(items), f"watchdog:{variant}", **options)


def short(trips: Iterable[Trip]) -> list[tuple[Any, ...]]:
    return [(t.step, t.level.value, t.reason, t.recoverable, t.budget) for t in trips]


def found(n: int, start: int = 0) -> list[list[C]]:
    """`n` different searches that each find something."""
    return [[C("search", {"q": start + i}, f"hit {i}")] for i in range(n)]


def empty(n: int, start: int = 0) -> list[list[C]]:
    return [[C("search", {"q": start + i}, " \n")] for i in range(n)]


def failing(n: int, start: int = 0) -> list[list[C]]:
    return [[C("bash", {"command": f"make t{start + i}"}, "boom", error=True)] for i in range(n)]


# -- its scenarios


def test_the_repeater_is_repaired_in_step_four_then_handed_back() -> None:
    trips = watchdog([GREP] * 5)
    assert short(trips) == [
        (3, "repair", "repeated_action", True, 6),
        (4, "stop", "repeated_action", True, 6),
    ]
    assert (trips[0].count, trips[0].threshold, trips[0].saves_from) == (4, 4, 4)


def test_the_error_chain_is_stopped_in_step_three() -> None:
    assert short(watchdog(failing(3))) == [(2, "repair", "consecutive_errors", True, 6)]


def test_treading_water_is_stopped_in_step_five() -> None:
    assert short(watchdog(empty(5))) == [(4, "repair", "no_progress", True, 6)]


def test_the_diligent_editor_is_renewed_until_the_hard_limit() -> None:
    items = [[C(WRITE, {"path": "a", "n": i}, "ok")] for i in range(30)]
    run = run_of(items)
    session, budgets, trips = session_of("watchdog:demo"), {}, []
    for step in run.steps:
        trips += session.before_step(step.index)
        if session.ended:
            break
        session.step_started(step)
        for call in step.calls:
            session.call_proposed(call)
        for call in step.calls:
            session.call_ended(call)
        before = session.budget
        trips += session.step_ended(step)
        if session.budget != before:
            budgets[step.index + 1] = session.budget
    assert budgets == {4: 12, 10: 18, 16: 24}
    assert short(trips) == [(24, "stop", "hard_max_steps", False, 24)]
    assert trips[0].final
    assert (trips[0].saves_from, trips[0].count) == (24, 24)
    assert watchdog(items) == trips


def test_without_renewal_the_budget_ends_the_run() -> None:
    # progress at steps 1-3 only: too early to renew
    items = [*found(3), [], [], [], []]
    assert short(watchdog(items)) == [(6, "stop", "max_steps", False, 6)]


def test_progress_two_before_the_end_renews() -> None:
    assert watchdog([*found(4), [], [], [], []]) == []  # renewed to 12 at step 4
    assert short(watchdog([*found(4), *[[]] * 5]))[-1] == (8, "repair", "no_progress", True, 12)


def test_production_numbers() -> None:
    assert short(watchdog([GREP] * 13, "production")) == [
        (8, "repair", "no_progress", True, 12),
        (9, "stop", "repeated_action", True, 12),
        (10, "stop", "repeated_action", True, 12),
        (11, "stop", "repeated_action", True, 12),
        (12, "stop", "max_steps", False, 12),
    ]
    assert short(watchdog(failing(5), "production")) == [
        (4, "repair", "consecutive_errors", True, 12)
    ]


# -- the rules of counting


def test_a_stop_renews_nothing_and_resets_nothing() -> None:
    # step 4 stops at the repeat and would be near the end of the budget; step 5 is progress
    items = [GREP, GREP, GREP, GREP, *found(1), GREP]
    assert short(watchdog(items)) == [
        (3, "repair", "repeated_action", True, 6),
        (5, "stop", "repeated_action", True, 12),
    ]


def test_repeats_need_not_be_consecutive() -> None:
    items = [GREP, *found(1), GREP, *found(1, 10), GREP, *found(1, 20), GREP]
    assert short(watchdog(items)) == [(6, "repair", "repeated_action", True, 12)]


def test_progress_in_the_same_step_excuses_a_repeat() -> None:
    items = [[GREP[0], C("search", {"q": i}, "hit")] for i in range(6)]
    assert watchdog(items) == []


def test_steps_without_calls_are_steps_without_progress_and_end_a_row_of_errors() -> None:
    assert short(watchdog([[]] * 5)) == [(4, "repair", "no_progress", True, 6)]
    assert watchdog([*failing(2), [], *failing(2, 10)])[0].reason == "no_progress"
    assert watchdog([*failing(2), [], *failing(1, 10)]) == []


def test_one_and_one_point_zero_are_one_argument() -> None:
    items = [[C("get", {"n": n}, "x")] for n in (1, 1.0, 1, 1.0)]
    assert short(watchdog(items)) == [(3, "repair", "repeated_action", True, 6)]
    assert watchdog([[C("get", {"n": n}, "x")] for n in (1, 1.5, 1, 1.5)]) == []


def test_the_first_call_of_a_key_is_progress_only_if_it_returned_something() -> None:
    query = {"q": "x"}
    late = [C("search", query, ""), C("search", query, "hit")]
    # blank at first, found later: the key was called before, so no progress
    assert short(watchdog([*empty(4, 10), late])) == [(4, "repair", "no_progress", True, 6)]
    assert watchdog([*empty(4, 10), late[1:]]) == []
    failed_first = [C("search", query, "boom", error=True), C("search", query, "hit")]
    assert short(watchdog([*empty(4, 10), failed_first])) != []


def test_a_write_is_progress_each_time_it_completes() -> None:
    same = [C(WRITE, {"path": "a"}, "")]
    assert short(watchdog([same] * 24)) == []
    failed = [C(WRITE, {"path": "a"}, "no such folder", error=True)]
    assert short(watchdog([failed] * 3)) == [(2, "repair", "consecutive_errors", True, 6)]


def test_a_tool_that_changes_a_named_file_counts_as_a_write() -> None:
    edit = [C("str_replace_editor", {"c": "insert"}, "", mutates=True, target=Target("a.py"))]
    view = [C("str_replace_editor", {"c": "view"}, "", target=Target("a.py"))]
    send = [C("send", {"to": "ops"}, "", mutates=True)]
    assert watchdog([edit] * 6) == []
    assert watchdog([view] * 6) != []
    assert watchdog([send] * 6) != []


def test_parallel_calls_fail_as_one_and_one_success_is_enough() -> None:
    bad = C("a", {}, "boom", error=True)
    sibling = C("b", {}, "skipped", status=CallStatus.SIBLING)
    good = C("c", {}, "")
    assert short(watchdog([[bad, sibling]] * 3)) == [(2, "repair", "consecutive_errors", True, 6)]
    assert watchdog([[bad, good]] * 3) == []
    refused = C("a", {}, "denied by the user", status=CallStatus.REJECTED)
    assert watchdog([[refused]] * 3) == []
    assert watchdog([[C("a", {}, None)]] * 3) == []


def test_a_compaction_is_no_step() -> None:
    items = [*empty(2), COMPACTION, COMPACTION, *empty(2, 10)]
    assert watchdog(items) == []
    assert short(watchdog([*items, *empty(1, 20)])) == [(6, "repair", "no_progress", True, 6)]
    assert watchdog([*found(3), *[COMPACTION] * 9, [], [], []]) == []


# -- requests


def test_a_user_message_starts_a_new_request() -> None:
    assert watchdog([*[GREP] * 3, USER, *[GREP] * 3]) == []
    twice = watchdog([*[GREP] * 4, USER, *[GREP] * 4])
    assert short(twice) == [
        (3, "repair", "repeated_action", True, 6),
        (7, "repair", "repeated_action", True, 6),
    ]


@pytest.mark.parametrize("kind", [HOOK, REMINDER, BoundaryKind.GUARD, BoundaryKind.COMPACTION])
def test_injected_text_starts_none(kind: BoundaryKind) -> None:
    assert short(watchdog([*[GREP] * 3, kind, GREP])) == [(3, "repair", "repeated_action", True, 6)]


def test_an_exhausted_budget_ends_the_request_until_the_user_speaks() -> None:
    run = run_of([*found(3), *[[]] * 8, HOOK, []])
    session = session_of("watchdog:demo")
    assert [t.reason for t in replay_run(run, [session])[0]] == ["max_steps"]
    assert session.ended
    items = [*found(3), *[[]] * 8, USER, *[GREP] * 4]
    assert short(watchdog(items)) == [
        (6, "stop", "max_steps", False, 6),
        (14, "repair", "repeated_action", True, 6),
    ]


def test_without_results_it_cannot_say() -> None:
    session = session_of("watchdog:demo", missing=frozenset({"results"}))
    run = run_of([[C("grep", {}, None)]] * 30)
    assert replay_run(run, [session]) == [[]]
    assert [signal for signal, _ in session.undecidable] == [
        "repeated_action",
        "consecutive_errors",
        "no_progress",
    ]


# -- shell commands that change state


@pytest.mark.parametrize(
    "command",
    [
        "git commit -m 'x'",
        "git push",
        "cd /src && git push --force",
        "make; rm -rf build",
        "FOO=1 npm install left-pad",
        "sudo rm x",
        ["bash", "-lc", "mkdir -p out"],
        ["git", "commit", "-m", "x"],
        "echo a\nmv a b",
        "bash -c 'touch x'",
        "git commit -m '" + "long " * 30,
    ],
)
def test_progress_in_production_each_time(command: Any) -> None:
    call = C("bash", {"command": command}, "")
    call.more["args"] = run_of([[call]]).calls[0].args[:60]  # type: ignore[index]
    assert watchdog([[call]] * 12, "production") == []
    assert watchdog([[call]] * 5, "demo") != []


@pytest.mark.parametrize(
    "command",
    [
        "git status",
        "git log",
        "echo git commit",
        "rmdirx a",
        "ls mv",
        "cat 'rm'",
        "grep -r rm .",
        "",
    ],
)
def test_no_progress(command: str) -> None:
    call = C("bash", {"command": command}, "")
    assert short(watchdog([[call]] * 8, "production")) == [(7, "repair", "no_progress", True, 12)]


def test_a_failed_commit_is_no_progress() -> None:
    call = C("bash", {"command": "git commit"}, "nothing to commit", error=True)
    assert watchdog([[call]] * 5, "production")[0].reason == "consecutive_errors"


def test_another_tool_with_the_words_of_a_shell_is_no_shell() -> None:
    call = C("search", {"command": "git commit"}, "")
    assert watchdog([[call]] * 8, "production")[0].reason == "no_progress"


# -- limits from the environment


def load(**env: str) -> presets.Preset:
    return presets.load("watchdog:demo", env={f"LOOPAUDIT_WATCHDOG_{k}": v for k, v in env.items()})


def with_env(items: Iterable[Any], **env: str) -> list[tuple[Any, ...]]:
    return short(replay_run(run_of(items), [GuardSession(load(**env))])[0])


def test_each_limit_has_a_variable() -> None:
    assert with_env([GREP] * 2, REPEAT_LIMIT="2") == [(1, "repair", "repeated_action", True, 6)]
    assert with_env(failing(1), ERROR_LIMIT="1")[0][2] == "consecutive_errors"
    assert with_env(empty(2), NO_PROGRESS_LIMIT="2") == [(1, "repair", "no_progress", True, 6)]
    assert with_env([[], []], BASE_STEPS="2") == []
    assert with_env([[], [], []], BASE_STEPS="2") == [(2, "stop", "max_steps", False, 2)]
    assert with_env(found(9), HARD_MAX="7") == [(7, "stop", "hard_max_steps", False, 7)]


def test_a_variable_that_is_set_to_nothing_is_not_set() -> None:
    assert load(REPEAT_LIMIT="").rules == load().rules


@pytest.mark.parametrize("text", ["0", "-3", "many", "2.5", "9" * 5000])
def test_a_variable_that_is_no_number_is_named(text: str) -> None:
    with pytest.raises(ConfigError, match="LOOPAUDIT_WATCHDOG_REPEAT_LIMIT"):
        load(REPEAT_LIMIT=text)


# -- silence

SILENT: dict[str, list[Any]] = {
    "nothing": [],
    "five searches that find": found(5),
    "read, then write, many times": [
        s for i in range(12) for s in ([C("read", {"n": i}, "t")], [C(WRITE, {"n": i}, "ok")])
    ],
    "two failures, then a success": [*failing(2), *found(1), *failing(2, 9), *found(1, 9)],
    "three equal greps": [GREP] * 3,
    "four empty searches": empty(4),
    "text at the end": [*found(4), []],
    "twelve reads at once": [[C("read", {"n": i}, "t") for i in range(12)]],
    "many requests of three greps": [s for _ in range(9) for s in (USER, *[GREP] * 3)],
}


@pytest.mark.parametrize("name", SILENT)
def test_silent(name: str) -> None:
    assert rows(watchdog(SILENT[name])) == []


@given(st.lists(st.sampled_from(["found", "empty", "fail", "write", "text"]), max_size=60))
def test_budget_stays_between_base_and_hard_max(kinds: list[str]) -> None:
    make = {"found": found, "empty": empty, "fail": failing}
    items: list[Any] = []
    for i, kind in enumerate(kinds):
        if kind in make:
            items += make[kind](1, i)
        else:
            items.append([] if kind == "text" else [C(WRITE, {"n": i})])
    session = session_of("watchdog:demo")
    trips = replay_run(run_of(items), [session])[0]
    assert session.budget in (6, 12, 18, 24)
    assert sum(t.final for t in trips) <= 1
    assert sum(t.level.value == "repair" for t in trips) <= 1
    assert all(t.step < session.budget for t in trips if not t.final)
