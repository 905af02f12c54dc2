"""Corpora for which the best threshold is known by construction, as files of labelled runs."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

Run = dict[str, Any]


def run(name: str, success: bool, repeats: int, work: int, task: str = "planted") -> Run:
    """`work` useful calls, then one call `repeats` times with the same result."""
    calls = [_call("look", f"place {n}", f"found {name} {n} things of use") for n in range(work)]
    calls += [_call("fetch", "the same page", f"page of {name}, unchanged") for _ in range(repeats)]
    return {"id": name, "group": "planted", "task": task, "success": success, "calls": calls}


def _call(tool: str, args: str, result: str) -> dict[str, Any]:
    return {"tool": tool, "args": args, "result": result, "error": False}


def best_is(threshold: int, *, each: int = 80) -> list[Run]:
    """Healthy runs repeat a call one time less than `threshold`, stuck ones 15 times: lower kills
    healthy work, higher saves less."""
    healthy = [run(f"h{n}", True, threshold - 1, 3 + n % 4) for n in range(each)]
    stuck = [run(f"s{n}", False, 15, 3 + n % 4) for n in range(each)]
    return healthy + stuck


def no_good(*, each: int = 80) -> list[Run]:
    """Healthy and stuck runs repeat alike: whatever stops one stops the other."""
    healthy = [run(f"h{n}", True, 2 + n % 8, 5) for n in range(each)]
    stuck = [run(f"s{n}", False, 2 + n % 8, 5) for n in range(each)]
    return healthy + stuck


def write(runs: Iterable[Run], path: Path) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in runs), encoding="utf-8")
    return path
