"""The golden rows once more, through the command line on logs of our own format."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

from test_golden import LEVELS, read

PRESETS = ("fuses:demo", "fuses:production", "watchdog:demo", "watchdog:production")


def lines() -> list[dict[str, Any]]:
    """The runs as event lines: responses with their calls, then one result line per call."""
    out: list[dict[str, Any]] = []
    for run, steps in read("steps").items():
        out.append({"type": "boundary", "run": run, "kind": "user", "text": "go"})
        for i, step in enumerate(steps):
            ids = [f"{run}-{i}-{j}" for j in range(len(step))]
            calls = [
                {"id": id_, "tool": c["tool"], "args": c["args"]}
                for id_, c in zip(ids, step, strict=True)
            ]
            out.append({"type": "response", "run": run, "id": f"{run}-{i}", "calls": calls})
            out += [
                {"type": "result", "run": run, "call": id_, "result": c["result"]}
                | ({"error": True} if c["error"] else {})
                for id_, c in zip(ids, step, strict=True)
            ]
    return out


def test_report_gives_the_golden_rows(tmp_path: Path) -> None:
    log = tmp_path / "golden.jsonl"
    log.write_text("\n".join(map(json.dumps, lines())), encoding="utf-8")
    guards = [word for name in PRESETS for word in ("--guard", name)]
    done = subprocess.run(
        [sys.executable, "-m", "loopaudit", "report", str(log), "--format", "json", *guards],
        capture_output=True,
        check=True,
        encoding="utf-8",
    )
    by_preset = {guard["preset"]: guard["verdicts"] for guard in json.loads(done.stdout)["guards"]}
    for preset in PRESETS:
        found: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for verdict in by_preset[preset]:
            found[verdict["run"]].append(verdict)
        for run, want in read(preset.replace(":", "_")).items():
            rows = found[run]
            if preset.startswith("fuses"):
                levels = {level.value: name for level, name in LEVELS.items()}
                assert [
                    [v["step"], v["call"], levels[v["level"]], v["detector"], v["count"]]
                    for v in rows
                ] == want, (preset, run)
                continue
            stops = [
                [v["step"], v["reason"], v["recoverable"], v["budget"]]
                for v in rows
                if v["recoverable"]
            ]
            assert stops == want["stops"], (preset, run)
            exhausted = [
                [v["step"], v["reason"], v["count"], v["budget"]]
                for v in rows
                if not v["recoverable"]
            ]
            # the hard maximum, last of the golden row, is no part of a verdict
            ends = [want["exhausted"][:4]] if want["exhausted"] else []
            assert exhausted == ends, (preset, run)
