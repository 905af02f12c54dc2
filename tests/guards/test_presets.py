"""Presets: names, numbers, the user's own, and one clear error for what cannot be used."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopaudit.errors import ConfigError, UsageError
from loopaudit.findings import Level
from loopaudit.guards import presets
from loopaudit.guards.preset import Preset
from loopaudit.retry import wait_interval

WINDOW = "loopaudit.detectors.fuses:CallWindow"


def rule(**more: Any) -> dict[str, Any]:
    return {"signal": "generic_repeat", "detector": WINDOW, **more}


def load(name: str, user: Any = None, **options: Any) -> Preset:
    return presets.load(name, user, env=options.pop("env", {}), **options)


def levels(preset: Preset, signal: str, task: str | None = None) -> dict[str, float]:
    found = preset.for_task(task).rule(signal)
    assert found is not None
    return {level.value: number for level, number in found.thresholds.levels}


# -- the built-in ones


def test_every_built_in_preset_loads_and_its_detectors_exist() -> None:
    names = presets.names()
    assert {"fuses:demo", "watchdog:production", "backstop:demo", "loopaudit"} <= set(names)
    for name in names:
        preset = load(name)
        assert preset.name == name
        assert preset.description
        for each in preset.rules:
            assert each.signal in each.detector_class.signals
            # a service has no budget until one is set
            assert each.thresholds.levels or (name, each.signal) == ("backstop:production", "money")
        assert pickle.loads(pickle.dumps(preset)) == preset


def test_production_is_the_bare_name() -> None:
    for name in ("fuses", "watchdog", "backstop"):
        assert load(name).name == f"{name}:production"
    assert load("loopaudit:default").name == "loopaudit"


def test_numbers_of_fuses() -> None:
    demo, production = load("fuses:demo"), load("fuses")
    assert levels(demo, "ping_pong") == levels(demo, "generic_repeat") == {"stop": 8, "warn": 5}
    assert levels(demo, "global_circuit_breaker") == {"stop": 10}
    assert levels(production, "ping_pong") == {"stop": 20, "warn": 10}
    assert levels(production, "generic_repeat") == {"stop": 20, "warn": 10}
    assert levels(production, "global_circuit_breaker") == {"stop": 30}
    assert levels(demo, "token_budget") == {"stop": 15_000}
    assert levels(production, "token_budget") == {"stop": 50_000}
    assert levels(production, "token_budget", "coding") == {"stop": 500_000}
    assert levels(demo, "token_budget", "coding") == {"stop": 15_000}
    assert demo.limits == production.limits == {"max_steps_per_request": 15}
    assert [r.signal for r in demo.rules][:3] == [
        "global_circuit_breaker",
        "ping_pong",
        "generic_repeat",
    ]


def test_retries_of_fuses() -> None:
    retry = load("fuses").retry
    assert (retry.retries, retry.every_429, retry.original_reading) == (3, True, False)
    waits = [
        wait_interval(n, base=retry.base, factor=retry.factor, cap=retry.cap, jitter=retry.jitter)
        for n in (1, 2, 3, 7)
    ]
    assert waits == [(0.375, 0.625), (0.75, 1.25), (1.5, 2.5), (22.5, 37.5)]
    assert load("backstop").retry.retries == 2


def test_numbers_of_the_watchdog() -> None:
    signals = ("repeated_action", "consecutive_errors", "no_progress")
    assert [levels(load("watchdog:demo"), s)["stop"] for s in signals] == [4, 3, 5]
    assert [levels(load("watchdog"), s)["stop"] for s in signals] == [10, 5, 8]
    assert load("watchdog:demo").limits == {"base_steps": 6}
    assert load("watchdog").limits == {"base_steps": 12}


def test_variables_win_over_the_users_settings() -> None:
    user = {"watchdog": {"limits": {"base_steps": 9, "hard_max_steps": 20}}}
    assert load("watchdog", user).limits == {"base_steps": 9, "hard_max_steps": 20}
    env = {"LOOPAUDIT_WATCHDOG_BASE_STEPS": "7"}
    assert load("watchdog", user, env=env).limits == {"base_steps": 7, "hard_max_steps": 20}


# -- the user's own


def test_a_user_set_in_the_same_form() -> None:
    user = {
        "mine": {
            "description": "ours",
            "policy": "each",
            "variants": ["strict", "lax"],
            "rule": [rule(warn=2, strict={"stop": 3}, lax={"stop": 9}, poll={"stop": 12})],
            "task_types": {"coding": {"generic_repeat": {"lax": {"warn": 4}}}},
        }
    }
    assert load("mine", user).name == "mine:strict"
    assert levels(load("mine:strict", user), "generic_repeat") == {"stop": 3, "warn": 2}
    lax = load("mine:lax", user)
    assert levels(lax, "generic_repeat") == {"stop": 9, "warn": 2}
    assert levels(lax, "generic_repeat", "coding") == {"stop": 9, "warn": 4}
    assert levels(lax, "generic_repeat", "research") == {"stop": 9, "warn": 2}
    poll = lax.rules[0].poll
    assert poll is not None
    assert poll.levels == ((Level.STOP, 12),)
    assert "mine:lax" in presets.names(user)


def test_a_users_table_changes_a_built_in_set_rule_by_rule() -> None:
    user = {"fuses": {"rule": [{"signal": "generic_repeat", "warn": 3, "stop": 25}]}}
    changed = load("fuses", user)
    assert changed.name == "fuses:production"
    assert levels(changed, "generic_repeat") == {"stop": 25, "warn": 3}
    assert levels(changed, "ping_pong") == {"stop": 20, "warn": 10}
    assert [r.signal for r in changed.rules] == [r.signal for r in load("fuses").rules]
    per_variant = {"fuses": {"rule": [{"signal": "generic_repeat", "demo": {"warn": 3}}]}}
    assert levels(load("fuses:demo", per_variant), "generic_repeat") == {"stop": 8, "warn": 3}
    assert levels(load("fuses", per_variant), "generic_repeat") == {"stop": 20, "warn": 10}


def test_a_set_can_extend_a_variant_and_take_thresholds_away() -> None:
    user = {
        "calm": {
            "extends": "fuses:demo",
            "rule": [{"signal": "generic_repeat", "warn": False, "stop": 12}],
        },
        "calmer": {"extends": "calm", "rule": [{"signal": "ping_pong", "stop": 30}]},
    }
    assert levels(load("calm", user), "generic_repeat") == {"stop": 12}
    calmer = load("calmer", user)
    assert calmer.name == "calmer"
    assert levels(calmer, "generic_repeat") == {"stop": 12}
    assert levels(calmer, "ping_pong") == {"stop": 30, "warn": 5}
    assert levels(calmer, "token_budget") == {"stop": 15_000}


def test_shares_follow_the_stop() -> None:
    def steps(**more: Any) -> dict[str, float]:
        return levels(load("m", {"m": {"rule": [rule(**more)]}}), "generic_repeat")

    assert steps(converge="70%", stop=5) == {"stop": 5, "converge": 4}
    assert steps(converge="70%", stop=30) == {"stop": 30, "converge": 21}
    assert steps(alert="60%", stop_all=50, unit="usd") == {"stop_all": 50, "alert": 30}
    assert steps(alert="60%", stop_all=1, unit="usd") == {"stop_all": 1, "alert": 0.6}


# -- what cannot be used: one line that says where

BROKEN: list[tuple[Any, str]] = [
    ({"rule": [rule(stopp=3)]}, "stopp"),
    ({"rules": [rule(stop=3)]}, "rules"),
    ({"rule": [rule(stop="many")]}, "stop"),
    ({"rule": [rule(stop=True)]}, "stop"),
    ({"rule": [rule(stop=-1)]}, "stop"),
    ({"rule": [rule(stop=0)]}, "stop"),
    ({"rule": [rule(stop=float("nan"))]}, "stop"),
    ({"rule": [rule(stop=float("inf"))]}, "stop"),
    ({"rule": [rule(stop=None)]}, "stop"),
    ({"rule": [rule(warn=8, stop=5)]}, "below warn"),
    ({"rule": [rule(poll={"warn": 8, "stop": 5})]}, "below warn"),
    ({"rule": [rule(warn="70%")]}, "of no stop"),
    ({"rule": [rule(warn="170%", stop=5)]}, "warn"),
    ({"rule": [rule(poll=3)]}, "poll"),
    ({"rule": [rule(options=3)]}, "options"),
    ({"rule": [rule(when="later")]}, "when"),
    ({"rule": [rule(unit="miles")]}, "unit"),
    ({"rule": [rule(over="yes")]}, "over"),
    ({"rule": [rule(once=1)]}, "once"),
    ({"rule": [{"stop": 3}]}, "signal"),
    ({"rule": [{"signal": "generic_repeat", "stop": 3}]}, "detector"),
    ({"rule": [{"signal": "generic_repeat", "detector": "window", "stop": 3}]}, "window"),
    ({"rule": [rule(stop=3), rule(stop=4)]}, "two rules"),
    ({"rule": {"signal": "x"}}, "list"),
    ({"rule": ["x"]}, "table"),
    ("x", "table"),
    ({"policy": "best"}, "policy"),
    ({"policy": "watchdog"}, "base_steps"),
    ({"policy": "watchdog", "limits": {"base_steps": 6, "hard_max_steps": 5}}, "below base_steps"),
    ({"limits": {"base_steps": 2.5}}, "base_steps"),
    ({"limits": {"steps": 2}}, "steps"),
    ({"variants": "demo"}, "variants"),
    ({"variants": ["stop"]}, "stop"),
    ({"retry": {"retires": 3}}, "retires"),
    ({"retry": {"base": -1}}, "base"),
    ({"retry": {"retries": 2.5}}, "retries"),
    ({"retry": {"every_429": 1}}, "every_429"),
    ({"retry": {"retried": ["sometimes"]}}, "retried"),
    ({"rule": [rule(stop=3)], "task_types": {"t": {"ping": {"stop": 3}}}}, "ping"),
    ({"rule": [rule(stop=3)], "task_types": {"t": {"generic_repeat": 3}}}, "generic_repeat"),
    ({"rule": [rule(stop=3)], "task_types": {"t": {"generic_repeat": {"warn": 9}}}}, "below warn"),
    ({"description": 3}, "description"),
    ({"extends": "nothing"}, "nothing"),
    ({"extends": "fuses:loud"}, "loud"),
    ({"extends": "m"}, "itself"),
    ({"detector": {"w": {"klass": "x:y"}}}, "klass"),
    ({"detector": {"w": 3}}, "w"),
]


@pytest.mark.parametrize(("table", "word"), BROKEN)
def test_a_broken_set_is_one_clear_error(table: Any, word: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load("m", {"m": table})
    text = str(caught.value)
    assert text.startswith("guard set m")
    assert word in text
    assert "\n" not in text


def test_an_error_names_file_and_line() -> None:
    asked: list[tuple[Any, ...]] = []

    def place(*keys: Any) -> tuple[str, int]:
        asked.append(keys)
        return "loopaudit.toml", 12

    with pytest.raises(ConfigError, match=r"^loopaudit\.toml:12: guard set m, rule 2, stop: "):
        load("m", {"m": {"rule": [rule(stop=3), rule(stop="x")]}}, place=place)
    assert asked == [("m", "rule", 1, "stop")]


def test_a_clash_with_the_extended_set_is_placed_at_the_users_rule() -> None:
    rules = [{"signal": "ping_pong", "warn": 6}, {"signal": "generic_repeat", "warn": 9}]
    with pytest.raises(
        ConfigError, match=r"^x:2: guard set m, rule 2: generic_repeat stop at 8 is below warn at 9"
    ):
        load("m", {"m": {"extends": "fuses:demo", "rule": rules}}, place=lambda *k: ("x", k[2] + 1))


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"options": {"window": 0}}, "does not take its options"),
        ({"options": {"window": "x"}}, "does not take its options"),
        ({"options": {"size": 3}}, "does not take its options"),
        (
            {
                "signal": "similar_result",
                "detector": "loopaudit.detectors.backstop:ResultMeanings",
                "options": {"look_back": 2**70},
            },
            "does not take its options",
        ),
        ({"detector": "os:system", "options": {"command": "true"}}, "os:system is no detector"),
        ({"detector": "loopaudit.detectors.fuses:NoSuchThing"}, "cannot load"),
        ({"detector": "no_such_module_at_all:X"}, "cannot load"),
        ({"signal": "ping_pongg"}, "counts no 'ping_pongg'"),
    ],
)
def test_a_detector_that_cannot_be_is_told_with_its_line(more: dict[str, Any], says: str) -> None:
    rules = [rule(stop=3), {"signal": "other", **rule(stop=3), **more}]
    if "signal" not in more:
        rules = rules[1:]
    with pytest.raises(ConfigError, match=rf"^x:\d+: guard set m, rule \d: .*{says}"):
        load("m", {"m": {"rule": rules}}, place=lambda *k: ("x", k[2] + 1))


def test_a_built_in_set_keeps_its_variants() -> None:
    with pytest.raises(ConfigError, match="keeps its variants"):
        load("fuses", {"fuses": {"variants": ["demo"]}})


def test_an_unknown_key_gets_a_suggestion() -> None:
    with pytest.raises(ConfigError, match="did you mean 'stop'"):
        load("m", {"m": {"rule": [rule(stpo=3)]}})


@pytest.mark.parametrize("name", ["fuse", "fuses:loud", "", ":", "fuses:demo:x"])
def test_a_name_that_is_none(name: str) -> None:
    with pytest.raises(UsageError, match=r"fuses|demo"):
        load(name)


FULL: dict[str, Any] = {
    "description": "all that a set can hold",
    "policy": "watchdog",
    "variants": ["demo", "lax"],
    "detector": {"w": {"class": WINDOW, "options": {"window": 9}, "lax": {"window": 5}}},
    "rule": [
        rule(warn=2, demo={"stop": 3}, lax={"stop": 9}, poll={"stop": 12, "report": 10}),
        {"signal": "ping_pong", "detector": "w", "stop": 9, "warn": "70%", "over": True},
        {"signal": "poll_no_progress", "detector": "w", "env": {"stop": "X"}, "reason": "r"},
    ],
    "limits": {"base_steps": 3, "demo": {"hard_max_steps": 9}, "env": {"base_steps": "Y"}},
    "retry": {"retries": 2, "base": 0.5, "retried": ["transient"], "every_429": True},
    "task_types": {"t": {"ping_pong": {"lax": {"stop": 20}}, "base_steps": {"lax": 4}}},
}


def paths(value: Any, here: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a nested value."""
    inside = value.items() if isinstance(value, dict) else []
    inside = enumerate(value) if isinstance(value, list) else inside
    return [here, *(p for key, child in inside for p in paths(child, (*here, key)))]


def put(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """A copy of `value` with `new` at `path`."""
    if not path:
        return new
    copied = value.copy()
    copied[path[0]] = put(value[path[0]], path[1:], new)
    return copied


WORDS = st.sampled_from(
    ["demo", "m", "stop", "signal", "70%", "fuses:demo", "watchdog", "base_steps", "env", "w", ""]
)
ANY = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 40) | st.floats() | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=6,
)


def test_the_full_table_is_one_that_loads() -> None:
    assert [r.options for r in load("m:lax", {"m": FULL}).rules[1:]] == [{"window": 5}] * 2


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(paths(FULL)), ANY, st.sampled_from(["m:demo", "m:lax", "fuses:demo"]))
def test_whatever_is_written_it_is_a_preset_or_one_clear_error(
    path: tuple[Any, ...], new: Any, name: str
) -> None:
    table = put(FULL, path, new)
    try:
        load(name, {name.partition(":")[0]: table})
    except (ConfigError, UsageError) as error:
        message = str(error)
        assert message
        assert "\n" not in message


def test_a_mistyped_signal_and_a_missing_base_name_what_there_is() -> None:
    rules = [{"signal": "generic_repeet", "stop": 5}]
    with pytest.raises(ConfigError) as caught:
        load("m", {"m": {"extends": "fuses:demo", "rule": rules}})
    assert caught.value.hint == "did you mean 'generic_repeat'?"
    with pytest.raises(ConfigError) as caught:
        load("m", {"m": {"extends": "nope"}})
    assert "fuses:demo" in caught.value.hint
    assert "m" not in caught.value.hint.removeprefix("there are: ").split(", ")
