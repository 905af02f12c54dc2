"""Live = replay: the same verdicts live, in the replayed recording, and after writing it anew."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from playing import GUARDS, facts, played, replayed

from loopaudit.findings import Trip
from loopaudit.formats.native.write import pieces_of, write
from loopaudit.live.agent import Outcome
from loopaudit.live.scenario import Answer, Failure, Scenario, ScriptedCall, ScriptedTool, Turn
from loopaudit.live.scenario_file import built_in
from loopaudit.replay.audit import AuditOptions
from loopaudit.replay.look import find_run


def live_trips(outcomes: list[Outcome]) -> dict[str, list[tuple[Any, ...]]]:
    out: dict[str, list[tuple[Any, ...]]] = {}
    for outcome in outcomes:
        for action in outcome.actions:
            out.setdefault(action.guard, []).append(facts(action.trip))
    return out


def replay_trips(record: bytes, path: Path, *guards: str) -> dict[str, list[tuple[Any, ...]]]:
    report = replayed(record, path, *guards)
    assert not report.skips
    assert not report.failures
    found = {
        result.preset: [facts(verdict.trip) for verdict in result.verdicts]
        for result in report.guards
    }
    return {guard: trips for guard, trips in found.items() if trips}


# -- random scripts -------------------------------------------------------------------------------

_TEXTS = st.sampled_from(
    [
        "",
        "ok",
        "42 rows",
        "no matches found",
        "building, <percent> %",
        "<time> id=<id> ok",
        "北京：晴",
    ]
)
_ANSWERS = st.builds(
    Answer,
    text=_TEXTS,
    error=st.booleans(),
    status=st.sampled_from([None, None, 404, 429, 503]),
    seconds=st.sampled_from([None, 0.0, 3.0, 45.0]),
)
_NAMES = ("read_file", "write_file", "bash", "get_status", "search")


@st.composite
def _tools(draw: st.DrawFn) -> tuple[ScriptedTool, ...]:
    return tuple(
        ScriptedTool(name, answers=tuple(draw(st.lists(_ANSWERS, min_size=1, max_size=4))))
        for name in _NAMES
    )


_CALLS = st.builds(
    ScriptedCall,
    st.sampled_from(_NAMES),
    st.sampled_from(
        [
            {"path": "a.py"},
            {"path": "b.py"},
            {"command": "ls"},
            {"query": "<n>"},
            None,
            "text",
            {"n": 1.0},
        ]
    ),
)
_FAILS = st.builds(
    Failure, status=st.sampled_from([429, 500, 401]), message=st.sampled_from(["busy", "no key"])
)
_TURNS = st.builds(
    Turn,
    say=st.sampled_from([None, "thinking", "再试一次"]),
    calls=st.lists(_CALLS, max_size=3).map(tuple),
    times=st.integers(1, 8),
    fails=st.one_of(st.just(()), st.lists(_FAILS, max_size=2).map(tuple)),
    seconds=st.sampled_from([0.0, 1.0, 70.0]),
).map(lambda turn: turn if turn.say or turn.calls else Turn(say="hm"))


@st.composite
def scripts(draw: st.DrawFn) -> Scenario:
    return Scenario(
        name="random",
        # always told: of a recording that names none, the replay infers it from the whole run
        task_type=draw(st.sampled_from(["other", "research", "single_tool_qa", "sub_agent"])),
        cap=draw(st.integers(3, 25)),
        requests=tuple(
            draw(st.lists(st.sampled_from(["go", "please wait for it"]), min_size=1, max_size=3))
        ),
        tools=draw(_tools()),
        turns=tuple(draw(st.lists(_TURNS, min_size=1, max_size=5))),
        again=draw(st.booleans()),
        heeds_after=draw(st.sampled_from([None, 1, 2])),
        heeds=(Turn(say="done"),),
    )


_MANY = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@_MANY
@given(scripts(), st.sampled_from(GUARDS))
def test_live_trips_are_those_of_the_replayed_recording(
    tmp_path: Path, script: Scenario, guard: str
) -> None:
    outcomes, _, record = played(script, guard)
    live = live_trips(outcomes)
    assert replay_trips(record, tmp_path / "run.jsonl", guard) == live
    # after read, write and read again (excerpts of every length kept)
    found, _ = find_run(AuditOptions([str(tmp_path / "run.jsonl")], excerpts=True), "")
    again = io.BytesIO()
    write(pieces_of(found), again)
    assert replay_trips(again.getvalue(), tmp_path / "again.jsonl", guard) == live


@_MANY
@given(scripts())
def test_all_guards_at_once(tmp_path: Path, script: Scenario) -> None:
    outcomes, _, record = played(script, *GUARDS)
    assert replay_trips(record, tmp_path / "run.jsonl", *GUARDS) == live_trips(outcomes)


def _first(trips: list[Trip]) -> tuple[Any, ...] | None:
    return facts(trips[0]) if trips else None


@_MANY
@given(scripts(), st.sampled_from(GUARDS))
def test_the_unguarded_recording_intervenes_first_where_the_live_run_did(
    tmp_path: Path, script: Scenario, guard: str
) -> None:
    guarded = played(script, guard)[0][0]
    own = guarded.run
    report = replayed(played(script)[2], tmp_path / "bare.jsonl", guard)
    predicted = [verdict.trip for verdict in report.guards[0].verdicts]
    live = [action.trip for action in guarded.actions]
    if guard.startswith("fuses") and own is not None and own.after:
        # a bound of the agent's own may end the run before the guard would have spoken
        assert not live or _first(live) == _first(predicted)
    else:
        assert _first(live) == _first(predicted)


@_MANY
@given(scripts(), st.sampled_from([g for g in GUARDS if not g.startswith("backstop")]))
def test_for_a_deaf_model_the_first_stop_is_the_same(
    tmp_path: Path, script: Scenario, guard: str
) -> None:
    from dataclasses import replace

    deaf = replace(script, heeds_after=None, cap=14)
    guarded = played(deaf, guard)[0][0]
    report = replayed(played(deaf)[2], tmp_path / "bare.jsonl", guard)
    stops = [v.trip for v in report.guards[0].verdicts if v.trip.level.stops]
    live = [action.trip for action in guarded.actions if action.trip.level.stops]
    assert _first(live) == _first(stops)


@pytest.mark.parametrize("name", sorted(built_in()))
def test_built_in_scenarios(name: str, tmp_path: Path) -> None:
    for language in ("en", "zh"):
        outcomes, _, record = played(name, *GUARDS, language=language)
        found = replay_trips(record, tmp_path / "run.jsonl", *GUARDS)
        live = live_trips(outcomes)
        if len(outcomes) > 1:  # the trips of several runs stand by run, not by time
            found = {guard: sorted(trips, key=repr) for guard, trips in found.items()}
            live = {guard: sorted(trips, key=repr) for guard, trips in live.items()}
        assert found == live


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_after_convert(ending: str, tmp_path: Path) -> None:
    for name in ("dead-loop-deaf", "volatile", "permanent-404", "retry"):
        outcomes, _, record = played(name, *GUARDS)
        source, target = tmp_path / f"{name}.jsonl", tmp_path / f"{name}-again.{ending}"
        source.write_bytes(record)
        command = [sys.executable, "-m", "loopaudit", "convert", str(source), str(target)]
        subprocess.run(command, check=True, capture_output=True, timeout=60)
        assert replay_trips(target.read_bytes(), target, *GUARDS) == live_trips(outcomes)
