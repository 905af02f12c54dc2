"""Thresholds that can never be reached are said by name, with the figures; others are not."""

from __future__ import annotations

from typing import Any

from loopaudit.guards import presets

WINDOW = "loopaudit.detectors.fuses:CallWindow"


def of(name: str, user: Any = None) -> list[str]:
    return presets.unreachable(presets.load(name, user, env={}))


def mine(signal: str, window: int, **thresholds: Any) -> list[str]:
    rule = {"signal": signal, "detector": WINDOW, "options": {"window": window}, **thresholds}
    return of("m", {"m": {"rule": [rule]}})


def test_two_alternating_calls_fill_at_most_half_a_window() -> None:
    assert (
        "generic_repeat stop at 20 can never be reached by two calls that take turns: "
        "at most 15 each with window 30"
    ) in of("fuses")


def test_the_breaker_is_seen_only_where_a_stop_was_ignored() -> None:
    assert (
        "global_circuit_breaker stop at 10 can be seen only if the stop of generic_repeat at 8 "
        "was not obeyed"
    ) in of("fuses:demo")
    assert (
        "global_circuit_breaker stop at 30 can be seen only if the stop of generic_repeat at 20 "
        "was not obeyed"
    ) in of("fuses")


def test_the_poll_rule_stands_behind_the_originals() -> None:
    lines = [line for line in of("fuses:demo") if line.startswith("poll_no_progress")]
    assert lines == [
        "poll_no_progress stop at 8 is never the verdict: generic_repeat at 5 comes first",
        "poll_no_progress warn at 5 is never the verdict: generic_repeat at 5 comes first",
    ]


def test_greatest_counts_of_a_window() -> None:
    never = "can never be reached: at most"
    assert mine("generic_repeat", 10, stop=11) == [
        f"generic_repeat stop at 11 {never} 10 with window 10"
    ]
    assert mine("global_circuit_breaker", 10, stop=11) == [
        f"global_circuit_breaker stop at 11 {never} 10 with window 10"
    ]
    # the current call is counted on top of a window full of alternating calls
    assert mine("ping_pong", 10, stop=11) == []
    assert mine("ping_pong", 10, stop=12) == [f"ping_pong stop at 12 {never} 11 with window 10"]
    assert mine("ping_pong", 2, stop=3) == [f"ping_pong stop at 3 {never} 0 with window 2"]
    assert mine("generic_repeat", 10, stop=5) == []


def test_reachable_sets_say_nothing() -> None:
    assert of("watchdog:demo") == of("watchdog") == []
    user = {"watchdog": {"limits": {"base_steps": 6}}}
    assert of("watchdog:demo", user) == []


def test_a_watchdog_whose_budget_ends_first() -> None:
    # without progress the budget of 4 ends after at most 6 steps: renewed at the last progress
    user = {"watchdog": {"limits": {"base_steps": 4}}}
    assert of("watchdog", user) == [
        "no_progress stop at 8 can never be reached: without progress the budget of 4 steps ends "
        "after at most 6"
    ]
    # 5 failing steps are 5 steps without progress
    user = {"watchdog": {"rule": [{"signal": "no_progress", "stop": 4}]}}
    assert of("watchdog", user) == [
        "consecutive_errors stop at 5 can be seen only if the stop of no_progress at 4 was not "
        "obeyed"
    ]


def test_a_set_without_a_limit_says_so() -> None:
    assert mine("generic_repeat", 30) == ["generic_repeat: no limit is set, so it is not enforced"]
