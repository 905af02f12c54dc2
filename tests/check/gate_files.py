"""Logs, settings and a broken extension for tests of the gate."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FORMATS = ("text", "json", "markdown", "junit", "sarif", "github", "gitlab")

#: in a run's name, a tool's name and a type: everything that a format could take for its own
HOSTILE = (
    "x\x1b[31m::error::boo\n::set-output name=a::b\r##[group]g <script>alert(1)</script> "
    "| `code` `` ]]> @team [l](http://e.vil) %0A \u202e &amp; \"q\" 'q' $(rm -rf /) \ud83d"
)


def run(name: str, success: bool, repeats: int, task: str = "errands") -> dict[str, Any]:
    """Five useful calls, then one call `repeats` times with the same result."""
    calls = [{"tool": "look", "args": f"place {n}", "result": f"found {n}"} for n in range(5)]
    calls += [{"tool": "fetch", "args": "page", "result": "the page"} for _ in range(repeats)]
    return {"id": name, "group": "g", "task": task, "success": success, "calls": calls}


def log(folder: Path, runs: list[dict[str, Any]]) -> Path:
    path = folder / "runs.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in runs), encoding="utf-8")
    return path


def settings(folder: Path, text: str) -> Path:
    path = folder / "loopaudit.toml"
    path.write_text(text, encoding="utf-8")
    return path


#: what makes `check` end with each code, on a log of one healthy run and one stuck run
ENDS = {
    0: "[check.limits]\nsteps_per_run = 50\n",
    1: "[check.limits]\nsteps_per_run = 10\n",
    2: "[check.limits]\nsteps_per_ran = 10\n",
    3: "[check.limits]\nfalse_stops = 0.02\n",
    4: (
        "[check]\nguards = ['mine']\n[check.limits]\nsteps_per_run = 50\n"
        "[[guards.mine.rule]]\nsignal = 'broken'\ndetector = 'broken_one:Broken'\nstop = 3\n"
    ),
}

BROKEN = """
from loopaudit.detectors.base import Detector

class Broken(Detector):
    signals = ("broken",)

    def call_proposed(self, call):
        raise ZeroDivisionError("on purpose")
"""
