"""What the page shows, as plain values: every number is the report's, every text is inert."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import tzinfo
from decimal import Decimal
from typing import Any

from loopaudit import __version__
from loopaudit.findings import Completeness, Finding, NotLoop, Report
from loopaudit.guards.preset import Preset
from loopaudit.model import CallStatus, Run, Step
from loopaudit.render import figures as f
from loopaudit.render import outcomes
from loopaudit.render.loop import wasted
from loopaudit.render.savings import rule_name
from loopaudit.render.screen import Screen
from loopaudit.render.summary import completeness, marked, why_nothing
from loopaudit.render.text import cut, inert

#: loops told in full, with their steps
TOLD = 20
_BEFORE, _AFTER = 3, 9  # steps shown around an onset
_CALLS = 6  # of one step
_MOST = 200  # rows of lists that only name things
_WIDEST = 16.0  # rem, of the bar of the worst loop
_ENDED = {
    CallStatus.OK: "",
    CallStatus.ERROR: " failed",
    CallStatus.REJECTED: " refused by the user",
    CallStatus.BLOCKED: " blocked",
    CallStatus.SIBLING: " not run",
    CallStatus.INTERRUPTED: " aborted",
    CallStatus.UNANSWERED: " not answered",
}


@dataclass(slots=True)
class Given:
    """What the page is made of. `runs`: those of the loops told in full, read once more."""

    report: Report
    zone: tzinfo
    zone_name: str
    titles: Mapping[str, str]
    presets: Sequence[Preset] = ()
    runs: Mapping[str, Run] = field(default_factory=dict)
    run_charts: Mapping[str, str] = field(default_factory=dict)  # run id -> SVG
    charts: Sequence[tuple[str, str]] = ()  # SVG, caption
    excerpts: bool = False


def content(given: Given) -> dict[str, Any]:
    """The values that the template names."""
    report = given.report
    totals = report.totals
    loops = [_loop(finding, number < TOLD) for number, finding in enumerate(report.findings)]
    return {
        "title": _title(report),
        "lead": (
            f"{f.count(totals.runs, 'run')}, {f.count(totals.responses, 'response')}, "
            f"{marked(totals, f.full(totals.tokens.total))} tokens."
        ),
        "wasted": _wasted(report),
        "price_note": "Money is list price"
        + (f" of {totals.price_date}" if totals.price_date else "")
        + ", not a bill.",
        "completeness": _completeness(report),
        "zone": given.zone_name,
        "cards": _cards(report),
        "loops": loops,
        "rules": sorted({loop["rule"] for loop in loops}),
        "ends": sorted({loop["ended"] for loop in loops}),
        "details": [
            _detail(finding, loop, given)
            for finding, loop in zip(report.findings[:TOLD], loops, strict=False)
        ],
        "why_nothing": inert(why_nothing(report, Screen())) if not loops else "",
        "charts": [{"svg": svg, "caption": caption} for svg, caption in given.charts],
        "mean_recorded": _mean(report.spin.mean_steps_recorded),
        "guards": [_guard(name, report) for name in report.guards],
        "types": _types(report),
        "outcomes": [
            {"name": inert(name), "by": by, "runs": f"{many:,}"}
            for name, by, many in outcomes.counts(report)
        ],
        "thresholds": _thresholds(given.presets),
        "not_loops": _not_loops(report),
        "not_loop_count": f"{len(report.not_loops):,}",
        "readers": _readers(report),
        "skips": [
            {
                "place": inert(f"{_name(s.path)}:{s.line or ''}".rstrip(":")),
                "reason": inert(s.reason),
            }
            for s in report.skips[:_MOST]
        ],
        "skip_count": f"{sum(skip.count for skip in report.skips):,}",
        "version": __version__,
        "excerpts": given.excerpts,
    }


def _completeness(report: Report) -> str:
    """How complete the totals are; of nothing that cannot be said."""
    if not report.runs:
        return "Nothing measured."
    return inert(completeness(report.totals)) + "."


def _title(report: Report) -> str:
    loops = len(report.findings)
    return f.count(loops, "loop") + " found" if loops else "No loops found"


def _wasted(report: Report) -> str:
    waste = report.totals.waste
    if not waste.steps:
        return ""
    bounded = report.totals.completeness is not Completeness.COMPLETE
    return f"Wasted in loops {wasted(waste, 'all', bounded=bounded)}."


def _cards(report: Report) -> list[dict[str, Any]]:
    totals = report.totals
    tokens, waste = totals.tokens, totals.waste
    recorded = totals.recorded_usd
    about = "~" if waste.estimated and waste.usd is not None else ""
    part = "" if totals.completeness is Completeness.COMPLETE else "~"
    return [
        {
            "name": "Cost at list price",
            "value": marked(totals, f.money(totals.usd)).replace("at least ", "≥"),
            "note": _recorded(recorded),
        },
        {
            "name": "Wasted in loops",
            "value": about + f.money(waste.usd) if waste.steps else "nothing",
            "note": f"{part}{f.share(waste.share)} of all tokens" if waste.steps else "",
            "bad": bool(waste.steps),
        },
        {
            "name": "Tokens",
            "value": f.short(tokens.total),
            "note": marked(totals, f.full(tokens.total)),
        },
        {"name": "Read from cache", "value": f.short(tokens.cache_read), "note": ""},
        {
            "name": "Runs",
            "value": f.full(totals.runs),
            "note": f.count(totals.responses, "response"),
        },
        {
            "name": "Calls",
            "value": f.full(totals.calls),
            "note": f"{totals.calls_failed:,} failed",
        },
    ]


def _recorded(amount: Decimal | None) -> str:
    return "" if amount is None else f"{f.money(amount)} by the logs themselves"


def _loop(finding: Finding, told: bool) -> dict[str, Any]:
    waste = finding.waste
    mark = "~" if waste.estimated else ""
    onset = finding.onset
    tokens, usd = waste.amounts
    return {
        "id": inert(finding.id),
        "rule": inert(finding.rule),
        "tool": inert(cut(finding.tool or "", 40)),
        "run": inert(cut(finding.run, 14)),
        "place": inert(f"{_name(onset.path)}:{onset.line}"),
        "step": onset.step + 1,
        "length": finding.last.step - onset.step + 1,
        "tokens": mark + f.short(tokens),
        "tokens_value": -1 if tokens is None else tokens,
        "usd": mark + f.money(usd),
        "usd_value": -1 if usd is None else f"{usd:f}",
        "ended": finding.ended_by.value.replace("_", " "),
        "confidence": finding.confidence,
        "sure": f.share(finding.confidence),
        "told": told,
    }


def _detail(finding: Finding, loop: dict[str, Any], given: Given) -> dict[str, Any]:
    report, waste = given.report, finding.waste
    worst = max((item.waste.tokens or 0 for item in report.findings), default=0)
    width = _WIDEST * (waste.tokens or 0) / worst if worst else 0.0
    run = given.runs.get(finding.run)
    tokens, usd = waste.amounts
    command = f"loopaudit show {shlex.quote(finding.run)} {shlex.quote(_name(finding.onset.path))}"
    share = f", {f.share(waste.share)} of this run" if waste.share is not None else ""
    cache = f", {f.short(waste.cache_read)} of them cache reads" if waste.cache_read else ""
    return {
        "loop": loop,
        "title": inert(given.titles.get(finding.rule, "")),
        "bar": f"{width:.2f}",
        "waste": f"Wasted {f.full(tokens)} tokens, {f.money(usd)}{share}{cache}.",
        "facts": [(name, inert(value)) for name, value in _facts(finding, given) if value],
        "command": inert(command),
        "steps": [] if run is None else _steps(finding, run, given),
        "chart": given.run_charts.get(finding.run, ""),
    }


def _facts(finding: Finding, given: Given) -> list[tuple[str, str]]:
    onset, advice = finding.onset, finding.advice_parts
    summary = next((run for run in given.report.runs if run.id == finding.run), None)
    at = f.moment(onset.at, given.zone) if onset.at is not None else "time unknown"
    facts = [
        ("first seen", f"step {finding.first_seen.step + 1} (useful work)"),
        ("began", f"step {onset.step + 1}, {at}, {_name(onset.path)}:{onset.line}"),
        ("outcome", outcomes.outcome(summary) if summary else ""),
        ("task type", outcomes.task_type(summary) if summary else ""),
        ("last", f"step {finding.last.step + 1}; {finding.occurrences:,} occurrences"),
        ("retryable", finding.retryable.value),
        ("sure", f"{f.share(finding.confidence)}: {finding.confidence_reason}"),
        ("reasons", "; ".join(finding.reasons)),
        ("guards", "; ".join(_stops(finding))),
    ]
    if advice is not None:
        facts += [
            ("symptom", advice.symptom),
            ("cause", advice.cause),
            ("in the log", advice.find),
            ("change", advice.change),
        ]
    else:
        facts.append(("change", finding.advice))
    return facts


def _stops(finding: Finding) -> list[str]:
    return [
        f"{stop.guard} {stop.level.value} at step {stop.step + 1}, limit {stop.threshold:,g},"
        f" saves up to {f.money(stop.saved_usd_at_most)}"
        for stop in finding.stops
    ]


def _steps(finding: Finding, run: Run, given: Given) -> list[dict[str, Any]]:
    """Steps around the onset and the first occurrence, as far as they are not too many."""
    onset, first = finding.onset.step, finding.first_seen.step
    wanted = {first, *range(max(0, onset - _BEFORE), min(len(run.steps), onset + _AFTER))}
    redundant = {entry.step for entry in finding.waste.steps if entry.run == finding.run}
    rows = []
    for number in sorted(wanted):
        if number < len(run.steps):
            rows.append(_step(run.steps[number], onset, redundant, given))
    return rows


def _step(step: Step, onset: int, redundant: set[int], given: Given) -> dict[str, Any]:
    calls = [_call(call, given.excerpts) for call in step.calls[:_CALLS]]
    if len(step.calls) > _CALLS:
        calls.append(f"and {len(step.calls) - _CALLS} more")
    note = ", ".join(dict.fromkeys(boundary.kind.value for boundary in step.before))
    total = None if step.usage is None else step.usage.total
    return {
        "number": step.index + 1,
        "time": f.moment(step.at, given.zone, date=False) if step.at is not None else "",
        "line": step.line,
        "calls": calls,
        "note": f"before it: {note}" if note else "" if step.calls else "text only",
        "tokens": f.full(total),
        "kind": "onset" if step.index == onset else "spun" if step.index in redundant else "",
    }


def _call(call: Any, excerpts: bool) -> str:
    what = call.args if excerpts and call.args else f"#{call.key & 0xFFFFFF:06x}"
    text = f"{call.tool} {what}{_ENDED[call.status]}"
    if excerpts and call.text:
        text += f": {call.text}"
    return inert(cut(text, 160))


def _guard(guard: Any, report: Report) -> dict[str, Any]:
    needs = Counter(item.needs for item in guard.undecidable)
    return {
        "name": inert(guard.preset),
        "stopped": f"{guard.runs_stopped:,}",
        "mean": _mean(report.spin.mean_steps_guarded.get(guard.preset)),
        "saved": f.share(report.spin.tokens_saved_share.get(guard.preset)),
        "undecidable": ", ".join(f"{n:,} × needs {what}" for what, n in sorted(needs.items())),
    }


def _mean(steps: float | None) -> str:
    return "unknown" if steps is None else f"{steps:.1f} steps"


def _types(report: Report) -> list[dict[str, Any]]:
    type_of = {run.id: run.task_type or "not told" for run in report.runs}
    loops = Counter(type_of.get(finding.run, "not told") for finding in report.findings)
    stopped = {
        guard.preset: Counter(
            type_of.get(run, "not told")
            for run in {v.run for v in guard.verdicts if v.trip.level.stops}
        )
        for guard in report.guards
    }
    rows = []
    for name in sorted(set(type_of.values())):
        runs = [run for run in report.runs if (run.task_type or "not told") == name]
        tokens = [run.tokens.total for run in runs if run.tokens.total is not None]
        waste = [run.waste.tokens for run in runs if run.waste.steps]
        known = [amount for amount in waste if amount is not None]
        rows.append(
            {
                "name": inert(name),
                "runs": f"{len(runs):,}",
                "loops": f"{loops[name]:,}",
                "tokens": f.short(sum(tokens)) if tokens else "unknown",
                "wasted": f.short(sum(known)) if known or not waste else "unknown",
                "stopped": [f"{stopped[guard.preset][name]:,}" for guard in report.guards],
            }
        )
    return rows


def _thresholds(presets: Sequence[Preset]) -> list[dict[str, str]]:
    rows = []
    for preset in presets:
        for rule in preset.rules:
            own = _levels(rule.thresholds.levels)
            by_type = [
                f"{name}: {_levels(changed.rules[rule.signal].thresholds.levels)}"
                for name, changed in sorted(preset.task_types.items())
                if rule.signal in changed.rules
            ]
            if own or by_type:
                rows.append(
                    {
                        "guard": inert(preset.name),
                        "rule": rule_name(rule.signal),
                        "all": own or "never",
                        "by_type": inert("; ".join(by_type)),
                    }
                )
    return rows


def _levels(levels: Any) -> str:
    return ", ".join(f"{level.value} {number:,g}" for level, number in reversed(levels))


def _not_loops(report: Report) -> list[dict[str, str]]:
    times = Counter(item.kind for item in report.not_loops)
    first: dict[str, NotLoop] = {}
    for item in report.not_loops:
        first.setdefault(item.kind, item)
    return [
        {
            "kind": inert(kind.replace("-", " ")),
            "times": f"{n:,}",
            "example": inert(
                f"step {first[kind].step + 1}, {_name(first[kind].path)}: {first[kind].reason}"
            ),
        }
        for kind, n in times.most_common()
    ]


def _readers(report: Report) -> list[dict[str, Any]]:
    rows = []
    for name in sorted({item.format for item in report.inputs}):
        inputs = [item for item in report.inputs if item.format == name]
        lacks = Counter(what for item in inputs for what in item.missing)
        rows.append(
            {
                "name": inert(name),
                "inputs": f"{len(inputs):,}",
                "lines": f"{sum(item.lines for item in inputs):,}",
                "used": f"{sum(item.records_used for item in inputs):,}",
                "ignored": f"{sum(sum(i.records_ignored.values()) for i in inputs):,}",
                "lost": f"{sum(item.skips for item in inputs):,}",
                "lacks": ", ".join(f"{what} ({n:,})" for what, n in sorted(lacks.items())),
            }
        )
    return rows


def _name(path: str) -> str:
    """The last name of a path: folders name people and projects."""
    return os.path.basename(path) or path
