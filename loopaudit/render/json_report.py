"""The JSON report, version 1: a frozen shape, written key by key, no dump of internals.

Steps and calls are 0-based, lines 1-based, times ISO 8601 in UTC, money an exact decimal in USD as
a string. What is not known is null. One item of a list a line, so that two reports can be compared
and searched line by line.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any, TextIO

from loopaudit.findings import (
    Advice,
    Finding,
    GuardResult,
    InputSummary,
    NotLoop,
    Place,
    Report,
    RunSummary,
    Spin,
    Stop,
    Tokens,
    ToolWaste,
    Totals,
    Verdict,
    Waste,
)
from loopaudit.model import Skip
from loopaudit.render.figures import exact, iso
from loopaudit.render.text import json_inert

SCHEMA_VERSION = "1"


def write(report: Report, stream: TextIO, *, excerpts: bool = False) -> None:
    """Writes the report. `excerpts` adds bounded text of calls, which may hold secrets."""
    stream.write("{")
    separator = "\n"
    for key, value in _members(report, excerpts):
        stream.write(f"{separator}{_dumps(key)}: ")
        separator = ",\n"
        if isinstance(value, Iterator):
            _write_list(value, stream)
        else:
            stream.write(_dumps(value))
    stream.write("\n}\n")


def _write_list(items: Iterator[Any], stream: TextIO) -> None:
    separator = "[\n"
    for item in items:
        stream.write(separator + _dumps(item))
        separator = ",\n"
    stream.write("[]" if separator == "[\n" else "\n]")


def _dumps(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text if text.isascii() and "\x7f" not in text else json_inert(text)


def _members(report: Report, excerpts: bool) -> Iterator[tuple[str, Any]]:
    """The top-level keys in order; lists as iterators, so that a large report is streamed."""
    yield "schema_version", SCHEMA_VERSION
    yield "tool_version", report.tool_version
    yield "inputs", map(_input, report.inputs)
    yield "skips", map(_skip, report.skips)
    yield "totals", _totals(report.totals)
    yield "runs", map(_run, report.runs)
    yield "findings", (_finding(item, excerpts) for item in report.findings)
    yield "not_loops", map(_not_loop, report.not_loops)
    yield "guards", map(_guard, report.guards)
    yield "spin", _spin(report.spin, report.guards)
    yield "tools", map(_tool, report.tools)
    yield "labels", _labels(report.meta.get("labels"))
    yield (
        "failures",
        (
            {
                "owner": item.owner,
                "run": item.run,
                "path": item.path,
                "message": item.message,
            }
            for item in report.failures
        ),
    )


def _labels(use: Any) -> dict[str, Any] | None:
    """What became of the rows of a labels file."""
    if use is None:
        return None
    return {
        "file": use.file,
        "rows": use.rows,
        "matched": use.matched,
        "runs": use.labelled,
        "unmatched_lines": use.unmatched,
        "disagreements": use.disagreements,
        "unread_columns": use.unread,
    }


def _input(item: InputSummary) -> dict[str, Any]:
    return {
        "path": item.path,
        "format": item.format,
        "confidence": _number(item.confidence),
        "lines": item.lines,
        "records_used": item.records_used,
        "records_ignored": sum(item.records_ignored.values()),
        "records_ignored_by_name": dict(sorted(item.records_ignored.items())),
        "skips": item.skips,
        "runs": item.runs,
        "missing": item.missing,
        "bytes": item.bytes,
    }


def _skip(item: Skip) -> dict[str, Any]:
    return {"path": item.path, "line": item.line, "reason": item.reason}


def _totals(totals: Totals) -> dict[str, Any]:
    return {
        "runs": totals.runs,
        "responses": totals.responses,
        "calls": totals.calls,
        "calls_failed": totals.calls_failed,
        "duplicates_removed": totals.duplicates_removed,
        "tokens": _tokens(totals.tokens),
        "inherited_tokens": totals.inherited_tokens,
        "usd": _money(totals.usd),
        "recorded_usd": _money(totals.recorded_usd),
        "price_date": totals.price_date,
        "unpriced": {"tokens": totals.unpriced_tokens, "models": totals.unpriced_models},
        "completeness": str(totals.completeness),
        "reasons": totals.reasons,
        "waste": _waste_sum(totals.waste),
    }


def _tokens(tokens: Tokens) -> dict[str, Any]:
    return {
        "fresh_input": tokens.fresh_input,
        "cache_read": tokens.cache_read,
        "cache_write": tokens.cache_write,
        "output": tokens.output,
        "reasoning": tokens.reasoning,
        "total": tokens.total,
    }


def _run(run: RunSummary) -> dict[str, Any]:
    return {
        "id": run.id,
        "parent": run.parent,
        "session": run.session,
        "path": run.path,
        "format": run.format,
        "agent": run.agent,
        "agent_version": run.version,
        "models": run.models,
        "project": run.project,
        "task_type": run.task_type,
        "task_type_source": run.task_type_source,
        "outcome": {"label": run.outcome, "source": run.outcome_said, "by": run.outcome_by},
        "steps": run.steps,
        "calls": run.calls,
        "calls_failed": run.calls_failed,
        "started": iso(run.started),
        "ended": iso(run.ended),
        "still_running": run.still_running,
        "tokens": _tokens(run.tokens),
        "inherited_tokens": run.inherited_tokens,
        "usd": _money(run.usd),
        "recorded_usd": _money(run.recorded_usd),
        "waste": _waste_sum(run.waste),
        "missing": run.missing,
    }


def _waste_sum(waste: Waste) -> dict[str, Any]:
    """Waste of a run or of everything: `steps` is how many steps are redundant, each once."""
    return {
        "steps": len({(step.run, step.step) for step in waste.steps}),
        "tokens": waste.amounts[0],
        "cache_read": waste.cache_read,
        "usd": _money(waste.amounts[1]),
        "share": _number(waste.share),
        "estimated": waste.estimated,
    }


def _finding(item: Finding, excerpts: bool) -> dict[str, Any]:
    call = {"tool": item.tool, "key": item.key}
    if excerpts:
        call["text"] = item.call
    return {
        "id": item.id,
        "rule": item.rule,
        "run": item.run,
        "confidence": _number(item.confidence),
        "confidence_reason": item.confidence_reason or None,
        "retryable": str(item.retryable),
        "call": call,
        "period": item.period,
        "occurrences": item.occurrences,
        "first_seen": _place(item.first_seen),
        "onset": _place(item.onset),
        "last": _place(item.last),
        "ended_by": str(item.ended_by),
        "waste": {
            "steps": [
                {"run": step.run, "step": step.step, "part": _number(step.part)}
                for step in item.waste.steps
            ],
            "tokens": item.waste.amounts[0],
            "cache_read": item.waste.cache_read,
            "usd": _money(item.waste.amounts[1]),
            "share": _number(item.waste.share),
            "estimated": item.waste.estimated,
            "waited_seconds": _number(item.waste.waited),
            "resent_tokens": item.waste.resent,
            "unknown": item.waste.unknown,
        },
        "listed_steps": item.listed_steps,
        "interruptions": [{"first": a, "last": b} for a, b in item.interruptions],
        "reasons": item.reasons,
        "advice": item.advice or None,
        "advice_parts": _advice(item.advice_parts),
        "redundant": dict(sorted(item.redundant.items())),
        "stops": [_stop(stop) for stop in item.stops],
    }


def _advice(advice: Advice | None) -> dict[str, str] | None:
    if advice is None:
        return None
    return {
        "symptom": advice.symptom,
        "cause": advice.cause,
        "find": advice.find,
        "change": advice.change,
    }


def _tool(item: ToolWaste) -> dict[str, Any]:
    return {
        "tool": item.tool,
        "calls": item.calls,
        "redundant": item.redundant,
        "share": item.redundant / item.calls,
    }


def _place(place: Place) -> dict[str, Any]:
    return {
        "run": place.run,
        "step": place.step,
        "call": place.call,
        "path": place.path,
        "line": place.line,
        "at": iso(place.at),
        "char_offset": place.char_offset,
    }


def _stop(stop: Stop) -> dict[str, Any]:
    return {
        "guard": stop.guard,
        "detector": stop.detector,
        "level": str(stop.level),
        "threshold": _number(stop.threshold),
        "step": stop.step,
        "saved_tokens_at_most": stop.saved_tokens_at_most,
        "saved_usd_at_most": _money(stop.saved_usd_at_most),
    }


def _not_loop(item: NotLoop) -> dict[str, Any]:
    return {
        "run": item.run,
        "kind": item.kind,
        "step": item.step,
        "reason": item.reason,
        "path": item.path or None,
        "line": item.line or None,
    }


def _guard(guard: GuardResult) -> dict[str, Any]:
    return {
        "preset": guard.preset,
        "runs_stopped": guard.runs_stopped,
        "verdicts": [_verdict(item) for item in guard.verdicts],
        "undecidable": [
            {"run": item.run, "detector": item.detector, "needs": item.needs}
            for item in guard.undecidable
        ],
        "unreachable": guard.unreachable,
    }


def _verdict(item: Verdict) -> dict[str, Any]:
    trip = item.trip
    return {
        "run": item.run,
        "step": trip.step,
        "call": trip.call,
        "detector": trip.detector,
        "level": str(trip.level),
        "count": _number(trip.count),
        "threshold": _number(trip.threshold),
        "reason": trip.reason,
        "recoverable": trip.recoverable,
        "budget": trip.budget,
    }


def _spin(spin: Spin, guards: Iterable[GuardResult]) -> dict[str, Any]:
    """Means over all findings; the plain keys speak of the guard named first."""
    names = [guard.preset for guard in guards]
    first = names[0] if names else ""
    return {
        "mean_steps_recorded": _number(spin.mean_steps_recorded),
        "mean_steps_guarded": _number(spin.mean_steps_guarded.get(first)),
        "tokens_saved_share": _number(spin.tokens_saved_share.get(first)),
        "by_guard": [
            {
                "preset": name,
                "mean_steps_guarded": _number(spin.mean_steps_guarded.get(name)),
                "tokens_saved_share": _number(spin.tokens_saved_share.get(name)),
            }
            for name in names
        ],
    }


def _number(value: float | None) -> float | None:
    """JSON knows no NaN and no Infinity."""
    return None if value is None or not math.isfinite(value) else value


def _money(amount: Decimal | None) -> str | None:
    return None if amount is None or not amount.is_finite() else exact(amount)
