"""The check as JSON, version 1: steps from 0, lines from 1, money exact, null where unknown."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any, TextIO

from loopaudit.check.result import Change, CheckResult, Judgement, Spot
from loopaudit.check.snapshot import Act, Outcome, Snapshot, TypeRow
from loopaudit.render.figures import exact
from loopaudit.render.text import json_inert

SCHEMA_VERSION = "1"


def write(result: CheckResult, tool_version: str, stream: TextIO) -> None:
    document = {
        "schema_version": SCHEMA_VERSION,
        "tool_version": tool_version,
        "exit_code": int(result.code),
        "verdict": result.verdict,
        "guards": list(result.new.guards),
        "corpus": result.new.digest,
        "judgements": [_judgement(one) for one in result.judgements],
        "task_types": {
            name: {"old": _old(result.old, name), "new": _type(row)}
            for name, row in result.new.types.items()
        },
        "against": None
        if result.old is None
        else {"name": result.old_name, "corpus": result.old.digest, **result.old.made},
        "changes": [_change(one) for one in result.changes],
        "added": result.added,
        "gone": result.gone,
    }
    stream.write(json_inert(json.dumps(document, indent=1, ensure_ascii=False)) + "\n")


def _judgement(one: Judgement) -> dict[str, Any]:
    return {
        "code": one.code,
        "level": one.level,
        "message": one.message,
        "task_type": one.task_type,
        "guard": one.guard,
        "limit": one.limit,
        "allowed": one.allowed,
        "measured": one.measured,
        "runs": one.runs,
        "spots": [_spot(spot) for spot in one.spots],
    }


def _spot(spot: Spot) -> dict[str, Any]:
    return {
        "run": spot.run,
        "path": spot.path,
        "line": spot.line,
        "step": spot.step,
        "finding": spot.finding,
    }


def _old(old: Snapshot | None, name: str) -> dict[str, Any] | None:
    row = None if old is None else old.types.get(name)
    return None if row is None else _type(row)


def _type(row: TypeRow) -> dict[str, Any]:
    def money(amount: Decimal | None) -> str | None:
        return None if amount is None else exact(amount)

    return {
        "runs": row.runs,
        "healthy": row.healthy,
        "loops": row.loops,
        "interrupted": row.interrupted,
        "missed": row.missed,
        "waste_tokens": row.waste_tokens,
        "waste_usd": money(row.waste_usd),
        "cost_usd": money(row.cost_usd),
    }


def _change(one: Change) -> dict[str, Any]:
    return {
        "run": one.run,
        "task_type": one.task_type,
        "standing": one.standing,
        "guard": one.guard,
        "before": _outcome(one.before),
        "after": _outcome(one.after),
        "worse": one.worse or None,
        "spot": _spot(one.spot),
    }


def _outcome(one: Outcome) -> dict[str, Any]:
    return {"first": _act(one.first), "stop": _act(one.stop)}


def _act(one: Act | None) -> dict[str, Any] | None:
    if one is None:
        return None
    return {
        "step": one.step,
        "level": one.level,
        "signal": one.signal,
        "threshold": one.threshold,
    }
