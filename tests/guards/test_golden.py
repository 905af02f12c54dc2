"""`fuses` and `watchdog` against what the originals answered, row by row (see golden/README)."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from scripts import C, run_of

from loopaudit.findings import Level
from loopaudit.guards import presets
from loopaudit.guards.preset import Preset
from loopaudit.guards.session import GuardSession
from loopaudit.model import Run
from loopaudit.replay.replay import replay_run

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
LEVELS = {Level.WARN: "warning", Level.STOP: "critical"}


def read(name: str) -> Any:
    return json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def runs() -> dict[str, Run]:
    return {
        name: run_of(
            [[C(c["tool"], c["args"], c["result"], error=c["error"]) for c in step] for step in run]
        )
        for name, run in read("steps").items()
    }


@pytest.mark.parametrize("variant", ["demo", "production"])
def test_fuses(variant: str, runs: dict[str, Run]) -> None:
    preset, golden = presets.load(f"fuses:{variant}", env={}), read(f"fuses_{variant}")
    assert golden.keys() == runs.keys()
    for name, run in runs.items():
        session = GuardSession(preset, missing=frozenset({"usage"}))
        trips = replay_run(run, [session])[0]
        found = [[t.step, t.call, LEVELS[t.level], t.detector, t.count] for t in trips]
        assert found == golden[name], name


def without_shell_list(preset: Preset) -> Preset:
    rules = [replace(r, options={**r.options, "shell_prefixes": []}) for r in preset.rules]
    return replace(preset, rules=tuple(rules))


@pytest.mark.parametrize("shell_list", [False, True])
@pytest.mark.parametrize("variant", ["demo", "production"])
def test_watchdog(variant: str, shell_list: bool, runs: dict[str, Run]) -> None:
    # no command in these runs changes state, so the list of shell commands changes no row
    preset, golden = presets.load(f"watchdog:{variant}", env={}), read(f"watchdog_{variant}")
    if not shell_list:
        preset = without_shell_list(preset)
    assert golden.keys() == runs.keys()
    for name, run in runs.items():
        session = GuardSession(preset)
        trips = replay_run(run, [session])[0]
        stops = [[t.step, t.reason, t.recoverable, t.budget] for t in trips if not t.final]
        exhausted = [
            [t.step, t.reason, t.count, t.budget, 4 * preset.limits["base_steps"]]
            for t in trips
            if t.final
        ]
        want = golden[name]
        assert stops == want["stops"], name
        assert exhausted == ([want["exhausted"]] if want["exhausted"] else []), name
        assert session.budget == want["final_budget"], name
        assert session.ended == bool(want["exhausted"]), name
        levels = [t.level for t in trips if not t.final]
        assert levels == [Level.REPAIR, *[Level.STOP] * (len(levels) - 1)][: len(levels)], name
