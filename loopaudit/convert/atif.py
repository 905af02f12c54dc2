"""Runs as ATIF trajectories (schema 1.7), for exchange with harbor and its kin.

ATIF has no place for failures of calls, API attempts and token buckets beyond the cache: they stand
in `extra`. A boundary is a step of the user or the system.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import orjson

from loopaudit import __version__
from loopaudit.model import Boundary, BoundaryKind, Call, Run, Step

VERSION = "ATIF-v1.7"


def trajectory(run: Run) -> dict[str, Any]:
    """One run as one trajectory."""
    steps: list[dict[str, Any]] = []
    for step in run.steps:
        steps += map(_boundary, step.before)
        steps.append(_step(step))
    steps += map(_boundary, run.after)
    for number, found in enumerate(steps, 1):
        found["step_id"] = number
    agent = {"name": run.agent or run.format, "version": run.version or "unknown"}
    models = [step.model for step in run.steps if step.model]
    if models:
        agent["model_name"] = models[-1]
    extra = {
        key: value
        for key, value in (
            ("parent", run.parent),
            ("parent_call", run.parent_call),
            ("outcome", run.outcome),
            ("task_type", run.task_type),
            ("read_as", run.format),
            ("written_by", f"loopaudit {__version__}"),
        )
        if value is not None
    }
    return {
        "schema_version": VERSION,
        "session_id": run.session or run.id,
        "trajectory_id": run.id,
        "agent": agent,
        "steps": [{"step_id": s.pop("step_id"), **s} for s in steps],
        "final_metrics": _final(run),
        "extra": extra,
    }


def _boundary(boundary: Boundary) -> dict[str, Any]:
    source = "user" if boundary.kind is BoundaryKind.USER else "system"
    out: dict[str, Any] = {"source": source, "message": boundary.text or ""}
    _time(out, boundary.at)
    if source == "system":
        out["extra"] = {"kind": boundary.kind.value}
    return out


def _step(step: Step) -> dict[str, Any]:
    out: dict[str, Any] = {"source": "agent", "message": step.text or ""}
    _time(out, step.at)
    if step.model:
        out["model_name"] = step.model
    calls = list(_calls(step))
    if calls:
        out["tool_calls"] = [call for call, _ in calls]
        results = [result for _, result in calls if result is not None]
        if results:
            out["observation"] = {"results": results}
    metrics = _metrics(step)
    if metrics:
        out["metrics"] = metrics
    extra: dict[str, Any] = {}
    if step.finish:
        extra["finish_reason"] = step.finish
    if step.attempts:
        extra["attempts"] = [
            {k: v for k in ("http_status", "code", "message") if (v := getattr(a, k)) is not None}
            for a in step.attempts
        ]
    if extra:
        out["extra"] = extra
    return out


def _calls(step: Step) -> Iterator[tuple[dict[str, Any], dict[str, Any] | None]]:
    for call in step.calls:
        key = call.id or f"{step.index}/{call.position}"
        told = {"tool_call_id": key, "function_name": call.tool, "arguments": _arguments(call)}
        if not call.answered:
            yield told, None
            continue
        result: dict[str, Any] = {"source_call_id": key, "content": call.text or ""}
        result["extra"] = {"status": call.status.value}
        if call.exit_code is not None:
            result["extra"]["exit_code"] = call.exit_code
        yield told, result


def _arguments(call: Call) -> Any:
    """Arguments as an object, which ATIF asks for."""
    if not call.args:
        return {}
    try:
        value = orjson.loads(call.args)
    except ValueError:
        value = call.args
    return value if isinstance(value, dict) else {"input": value}


def _metrics(step: Step) -> dict[str, Any]:
    usage = step.usage
    out: dict[str, Any] = {}
    if usage is not None:
        for key, value in (
            ("prompt_tokens", usage.input),
            ("completion_tokens", usage.output),
            ("cached_tokens", usage.cache_read),
        ):
            if value is not None:
                out[key] = value
        extra = {
            "cache_creation_input_tokens": usage.cache_write,
            "reasoning_tokens": usage.reasoning,
        }
        told = {key: value for key, value in extra.items() if value}
        if told:
            out["extra"] = told
    return out | ({"cost_usd": float(step.cost)} if step.cost is not None else {})


def _final(run: Run) -> dict[str, Any]:
    out: dict[str, Any] = {"total_steps": len(run.steps)}
    usages = [step.usage for step in run.steps if step.usage is not None]
    for key, name in (
        ("total_prompt_tokens", "input"),
        ("total_completion_tokens", "output"),
        ("total_cached_tokens", "cache_read"),
    ):
        found = [tokens for usage in usages if (tokens := getattr(usage, name)) is not None]
        if found:
            out[key] = sum(found)
    costs = [step.cost for step in run.steps if step.cost is not None]
    if costs:
        out["total_cost_usd"] = float(sum(costs, Decimal(0)))
    return out


def _time(out: dict[str, Any], at: float | None) -> None:
    if at is not None:
        out["timestamp"] = datetime.fromtimestamp(at, UTC).isoformat().replace("+00:00", "Z")
