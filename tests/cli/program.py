"""Runs the real program in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
COMMAND = [sys.executable, "-m", "loopaudit"]


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.out)
        return found


def environment(**changes: str) -> dict[str, str]:
    """This process's environment, with this checkout importable and nothing that changes output."""
    unwanted = ("NO_COLOR", "COLUMNS", "LOOPAUDIT_DEBUG", "TZ", "PYTHONUTF8", "LC_ALL", "LANG")
    kept = {key: value for key, value in os.environ.items() if key not in unwanted}
    path = os.pathsep.join(filter(None, (str(ROOT), kept.get("PYTHONPATH"))))
    return {**kept, "PYTHONPATH": path, **changes}


def run(
    *arguments: str | Path,
    cwd: Path | None = None,
    stdin: bytes = b"",
    env: Mapping[str, str] | None = None,
) -> Ended:
    ended = subprocess.run(
        [*COMMAND, *map(str, arguments)],
        cwd=cwd,
        input=stdin,
        env=environment(**(env or {})),
        capture_output=True,
        timeout=120,
        check=False,
    )
    return Ended(ended.returncode, ended.stdout.decode(), ended.stderr.decode())


def event_lines(path: Path, records: list[dict[str, Any]]) -> Path:
    """Writes a log in our own format."""
    lines = [json.dumps({"loopaudit": 1}), *(json.dumps(record) for record in records)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def looping(
    times: int = 6, *, text: str = "1 failed: t_x", start: int = 1_777_642_151
) -> list[dict]:
    """A user message, an edit, `times` equal failing test runs and a last word."""
    usage = {"fresh_input": 1000, "output": 200}
    records: list[dict[str, Any]] = [
        {"type": "run", "run": "r1", "at": start},
        {"type": "boundary", "kind": "user", "text": "make the tests pass", "at": start},
    ]

    def response(number: int, **more: Any) -> dict[str, Any]:
        return {
            "type": "response",
            "id": f"m{number}",
            "at": start + 60 * number,
            "model": "gpt-5",
            "usage": usage,
            **more,
        }

    edit = {"id": "t0", "tool": "edit_file", "args": {"path": "a.py"}, "result": "done"}
    records.append(response(1, calls=[edit]))
    for number in range(times):
        call = {"id": f"t{number + 1}", "tool": "exec", "args": {"command": "pytest -q"}}
        records.append(response(number + 2, calls=[{**call, "error": True, "result": text}]))
    records.append(response(times + 2, text="I give up."))
    return records
