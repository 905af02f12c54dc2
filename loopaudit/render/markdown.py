"""Markdown for an issue, a pull request or an incident: under 40 lines, redacted unless asked.

Names of tools and numbers are shown; arguments, results, folders and prompts are not: calls stand
as a short hash, files by their last name. Log text stands in code spans, in which it is inert.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC
from statistics import median
from typing import TextIO

from loopaudit.findings import Completeness, Finding, Report, RunSummary, Totals
from loopaudit.model import Call, CallStatus, Run, StepKind
from loopaudit.render import figures as f
from loopaudit.render import outcomes
from loopaudit.render.loop import wasted
from loopaudit.render.summary import completeness, marked
from loopaudit.render.text import code_span, cut

#: rows of a table at most; an incident stays under 40 lines
_ROWS = 8
_CAVEAT = (
    "_List prices{date}, not a bill: no claim that every token was billed at this rate, or that all"
    " of the rest was useful. Arguments and results are left out; hashes tell equal calls._"
)


@dataclass(frozen=True, slots=True)
class Incident:
    """What an incident report is made of: one run, with its steps."""

    report: Report
    summary: RunSummary
    run: Run
    totals: Totals  # how complete the figures of this run are, by its own inputs
    excerpts: bool = False


def write(report: Report, stream: TextIO) -> None:
    """The report in short: totals, the most expensive loops, guards."""
    stream.writelines(line + "\n" for line in _summary(report))


def write_incident(incident: Incident, stream: TextIO) -> None:
    """One run, as people paste it into an incident."""
    stream.writelines(line + "\n" for line in _incident(incident))


def _summary(report: Report) -> Iterator[str]:
    totals = report.totals
    loops = len(report.findings)
    yield f"## loopaudit: {f.count(loops, 'loop') if loops else 'no loop'}"
    yield ""
    if not report.runs:
        yield "Nothing measured: no run was read."
        return
    yield (
        f"{f.count(totals.runs, 'run')}, {f.count(totals.responses, 'response')}, "
        f"{marked(totals, f.full(totals.tokens.total))} tokens,"
        f" {marked(totals, f.money(totals.usd))} at list prices{_date(report)},"
        f" not a bill. {completeness(totals)}"
    )
    if totals.waste.steps:
        bounded = totals.completeness is not Completeness.COMPLETE
        yield ""
        yield f"**Wasted in loops {wasted(totals.waste, 'all', bounded=bounded)}.**"
    if report.findings:
        yield ""
        yield "| rule | tool | began | steps | wasted | USD | ended by |"
        yield "|---|---|---|--:|--:|--:|---|"
        for finding in report.findings[:_ROWS]:
            yield _row(finding)
        if loops > _ROWS:
            yield f"\n{loops - _ROWS:,} more loops: `loopaudit report --top 0`"
    if report.guards and report.findings:
        yield ""
        yield "| guard | runs stopped | mean loop | saves up to |"
        yield "|---|--:|--:|--:|"
        recorded = report.spin.mean_steps_recorded
        yield f"| as recorded | | {_steps(recorded)} | |"
        for guard in report.guards[:_ROWS]:
            mean = report.spin.mean_steps_guarded.get(guard.preset)
            saved = report.spin.tokens_saved_share.get(guard.preset)
            yield (
                f"| {code_span(guard.preset)} | {guard.runs_stopped:,} | {_steps(mean)}"
                f" | {f.share(saved)} |"
            )
    yield ""
    yield _CAVEAT.format(date=_date(report))


def _row(finding: Finding) -> str:
    onset = finding.onset
    waste = finding.waste
    tokens, usd = waste.amounts
    mark = "~" if waste.estimated else ""
    return (
        f"| {code_span(finding.rule)} | {code_span(cut(finding.tool or '-', 24))}"
        f" | step {onset.step + 1}, {code_span(_place(onset.path, onset.line))}"
        f" | {finding.last.step - onset.step + 1:,} | {mark}{f.short(tokens)}"
        f" | {mark}{f.money(usd)} | {finding.ended_by.value.replace('_', ' ')} |"
    )


def _incident(incident: Incident) -> Iterator[str]:
    report, summary, run = incident.report, incident.summary, incident.run
    findings = [item for item in report.findings if item.run == summary.id]
    yield f"## Incident: {_headline(findings, summary)}"
    yield ""
    yield "| | |"
    yield "|---|---|"
    for name, value in _facts(summary, run, incident.totals):
        yield f"| {name} | {value} |"
    if findings:
        yield ""
        yield "| loop | first seen | began | last | wasted | USD | ended by |"
        yield "|---|--:|---|--:|--:|--:|---|"
        for finding in findings[:3]:
            onset, (tokens, usd) = finding.onset, finding.waste.amounts
            mark = "~" if finding.waste.estimated else ""
            yield (
                f"| {code_span(finding.rule)} | step {finding.first_seen.step + 1}"
                f" | step {onset.step + 1}, {code_span(_place(onset.path, onset.line))}"
                f" | step {finding.last.step + 1} | {mark}{f.full(tokens)}"
                f" | {mark}{f.money(usd)} | {finding.ended_by.value.replace('_', ' ')} |"
            )
    repeated = list(_repeated(run, incident.excerpts))
    if repeated:
        yield ""
        yield "Repeated calls:"
        yield from repeated
    if findings and findings[0].advice:
        yield ""
        yield f"What to change: {code_span(cut(findings[0].advice, 300))}"
    yield ""
    yield _CAVEAT.format(date=_date(report))


def _headline(findings: list[Finding], summary: RunSummary) -> str:
    waste = summary.waste
    if not findings:
        return "no loop found in this run"
    worst = findings[0]
    usd = f", {f.money(waste.usd)}" if waste.usd is not None else ""
    return (
        f"{code_span(worst.rule)}, {f.full(waste.tokens)} tokens wasted{usd}"
        f" ({f.share(waste.share)} of the run)"
    )


def _facts(summary: RunSummary, run: Run, totals: Totals) -> Iterator[tuple[str, str]]:
    program = " ".join(filter(None, (summary.format, summary.version)))
    named = summary.agent not in (None, summary.format)
    yield "agent", code_span(f"{cut(summary.agent or '', 80)}, {program}" if named else program)
    yield "model", code_span(cut(", ".join(summary.models) or "unknown", 120))
    yield "session", code_span(summary.session or summary.id)
    yield "task type", code_span(cut(outcomes.task_type(summary), 120))
    yield "outcome", code_span(cut(outcomes.outcome(summary), 120))
    began, ended = f.moment(summary.started, UTC), f.moment(summary.ended, UTC)
    lasted = None
    if summary.started is not None and summary.ended is not None:
        lasted = summary.ended - summary.started
    yield "time", f"{began} to {ended} UTC, {f.duration(lasted)}"
    yield (
        "run",
        f"{f.count(summary.steps, 'step')}, {f.count(summary.calls, 'call')}"
        f" ({summary.calls_failed:,} failed), {f.full(summary.tokens.total)} tokens,"
        f" {f.money(summary.usd)}",
    )
    prompts = [
        s.usage.input for s in run.steps if s.usage is not None and s.usage.input is not None
    ]
    if prompts:
        yield (
            "prompt",
            f"median {f.full(int(median(prompts)))}, largest {f.full(max(prompts))} tokens",
        )
    steps = [step for step in run.steps if step.kind is StepKind.MODEL]
    if steps:
        with_calls = sum(bool(step.calls) for step in steps)
        yield "responses ending in a call", f.share(with_calls / len(steps))
    yield "records removed as duplicates", f"{run.duplicates:,}"
    yield "completeness", completeness(totals)


def _repeated(run: Run, excerpts: bool) -> Iterator[str]:
    """Calls by how often, with how many of them failed."""
    often: Counter[int] = Counter(call.key for call in run.calls)
    first: dict[int, Call] = {}
    failed: Counter[int] = Counter()
    for call in run.calls:
        first.setdefault(call.key, call)
        failed[call.key] += call.status is CallStatus.ERROR
    for key, times in often.most_common(6):
        if times < 3:
            return
        call = first[key]
        what = f" {call.args}" if excerpts and call.args else f" #{key & 0xFFFFFF:06x}"
        bad = f", {failed[key]:,} failed" if failed[key] else ""
        yield f"- {times:,} × {code_span(cut(call.tool + what, 100))}{bad}"


def _place(path: str, line: int) -> str:
    """The last name of a path: folders name people and projects."""
    return f"{os.path.basename(path)}:{line}"


def _steps(mean: float | None) -> str:
    return "unknown" if mean is None else f"{mean:.1f} steps"


def _date(report: Report) -> str:
    date = report.totals.price_date
    return f" of {date}" if date else ""
