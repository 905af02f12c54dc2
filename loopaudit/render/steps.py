"""The steps of one run for a reader who wants to check a claim against the log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TextIO

from loopaudit.findings import Finding, Level, RunSummary, Trip
from loopaudit.model import (
    Attempt,
    Boundary,
    BoundaryKind,
    Call,
    CallStatus,
    ErrorClass,
    Run,
    Step,
    StepKind,
    Usage,
    UsageMark,
)
from loopaudit.render import figures as f
from loopaudit.render import outcomes
from loopaudit.render.savings import VERBS, rule_name
from loopaudit.render.screen import Screen, put
from loopaudit.render.text import cut, cut_middle, inert

_LABEL = 10
_LINES = 3  # of one excerpt
_BEFORE, _AFTER = 2, 4  # steps shown around an onset
_ENDED = {
    CallStatus.OK: "ok",
    CallStatus.ERROR: "error",
    CallStatus.REJECTED: "refused",
    CallStatus.BLOCKED: "blocked",
    CallStatus.SIBLING: "not run",
    CallStatus.INTERRUPTED: "aborted",
    CallStatus.UNANSWERED: "no answer",
}
_BOUNDARY = {  # label, and what is said where the log keeps no text
    BoundaryKind.USER: ("user", "a message of the user"),
    BoundaryKind.HOOK: ("hook", "a hook put text in"),
    BoundaryKind.REMINDER: ("reminder", "the harness put text in"),
    BoundaryKind.GUARD: ("guard", "a guard put text in"),
    BoundaryKind.COMPACTION: ("compact", "the context was compacted"),
    BoundaryKind.RESUME: ("resume", "the session was resumed"),
    BoundaryKind.INTERRUPT: ("stop", "the user stopped the agent"),
    BoundaryKind.LIMIT: ("stop", "a limit of the harness ended the run"),
    BoundaryKind.GUARD_STOP: ("stop", "a loop guard ended the run"),
}


def write(
    run: Run,
    findings: Sequence[Finding],
    trips: Sequence[tuple[str, Trip]],
    stream: TextIO,
    screen: Screen,
    span: tuple[int, int] | None = None,
    summary: RunSummary | None = None,
) -> None:
    """Steps `span` (0-based, last included), or those around what `findings` name.

    `trips` are what guards would have done on this run, each with the name of its preset.
    """
    chosen = range(span[0], span[1] + 1) if span else around(findings, len(run.steps))
    put(_lines(run, findings, trips, screen, [*chosen], summary), stream, screen)


def around(findings: Iterable[Finding], steps: int) -> list[int]:
    """Steps worth reading: about the first time, the onset and the end of each finding."""
    chosen: set[int] = set()
    for finding in findings:
        first, onset, last = finding.first_seen.step, finding.onset.step, finding.last.step
        chosen.update(range(first - _BEFORE, first + 1))
        chosen.update(range(onset - _BEFORE, onset + _AFTER + 1))
        chosen.update(range(last - 1, last + _BEFORE + 1))
    if not chosen:
        chosen.update(range(_BEFORE + _AFTER))
    return sorted(step for step in chosen if 0 <= step < steps)


def _lines(
    run: Run,
    findings: Sequence[Finding],
    trips: Sequence[tuple[str, Trip]],
    screen: Screen,
    chosen: list[int],
    summary: RunSummary | None,
) -> Iterator[str]:
    calls = sum(len(step.calls) for step in run.steps)
    head = f"Run {inert(run.id)}  {f.count(len(run.steps), 'step')}, {f.count(calls, 'call')}"
    yield from screen.row(f"{head}  {inert(run.path)} ({inert(run.format)})", "bold")
    if summary is not None:
        yield from screen.row(f"Task type {inert(outcomes.task_type(summary))}")
        yield from screen.row(f"Outcome {inert(outcomes.outcome(summary))}")
    for number, finding in enumerate(findings, 1):
        title = screen.titles.get(finding.rule, "")
        yield from screen.row(
            f"LOOP {number}  {inert(finding.rule)}: {title}".rstrip(": "), "bold", "red"
        )
        if finding.id:
            yield f"  id        {inert(finding.id)}"
        yield from _just_before(run, finding, screen)
    if not findings:
        yield "No loops found in this run."
    expected = 0
    for index in chosen:
        yield ""
        if index > expected:
            yield screen.style(f"  … {_range(expected, index - 1)} not shown (--steps A-B)", "dim")
            yield ""
        yield from _step(run, run.steps[index], findings, trips, screen)
        expected = index + 1
    if expected < len(run.steps):
        yield ""
        rest = _range(expected, len(run.steps) - 1)
        yield screen.style(f"  … {rest} not shown (--steps A-B)", "dim")
    elif chosen:
        yield from _boundaries(run.after, run.path, screen)
        yield from _attempts(run.attempts_after, screen)


def _just_before(run: Run, finding: Finding, screen: Screen) -> Iterator[str]:
    """The last thing the user said, the last change, the last loss of memory before the loop."""
    found: dict[str, str] = {}
    for step in run.steps[: finding.onset.step + 1]:
        for boundary in step.before:
            label, says = _BOUNDARY[boundary.kind]
            text = f': "{inert(boundary.text.strip())}"' if boundary.text else f": {says}"
            found[label] = f"step {step.index + 1:,}, line {boundary.line}{text}"
        if step.index == finding.onset.step:
            break
        for call in step.calls:
            if call.mutates and call.status is CallStatus.OK:
                what = inert(f"{call.tool} {call.args or ''}".strip())
                found["change"] = f"step {step.index + 1:,}, line {call.line}: {what}"
    if found:
        yield "  last before it began:"
    for label, text in found.items():
        yield from screen.row(cut(text, 2 * (screen.width - _LABEL - 2)), label=_label(label))


def _range(first: int, last: int) -> str:
    if first == last:
        return f"step {first + 1:,}"
    return f"steps {first + 1:,}-{last + 1:,}"


def _step(
    run: Run,
    step: Step,
    findings: Sequence[Finding],
    trips: Sequence[tuple[str, Trip]],
    screen: Screen,
) -> Iterator[str]:
    yield from _boundaries(step.before, run.path, screen)
    yield from _attempts(step.attempts, screen)
    marks = _marks(step, findings)
    yield from screen.row(_head(step, screen), "bold")
    for mark in marks:
        yield from screen.row(f"<< {mark}", "bold", "red", indent=2)
    if step.text:
        yield from _excerpt("text", step.text, screen)
    for call in step.calls:
        yield from _call(call, step, screen)
    yield from _trips(step.index, trips, screen)


def _head(step: Step, screen: Screen) -> str:
    parts = [f"step {step.index + 1:,}"]
    if step.kind is StepKind.COMPACTION:
        parts.append("(compaction)")
    if step.at is not None:
        parts.append(f.moment(step.at, screen.zone) + ("Z" if screen.zone_name == "UTC" else ""))
    tail = _tokens(step.usage)
    if step.inherited:
        tail += ", copied from another run"
    used = sum(len(part) + 2 for part in (*parts, tail)) + len(f":{step.line}")
    room = screen.width - used
    parts.append(f"{cut_middle(inert(step.path), max(room, 16))}:{step.line}")
    parts.append(tail)
    return "  ".join(parts)


def _tokens(usage: Usage | None) -> str:
    """What a response took, marked where the log tells less than all of it."""
    if usage is None or usage.mark is UsageMark.ABSENT or usage.total is None:
        return "tokens unknown"
    one_side = usage.input is None or usage.output is None
    if usage.mark is UsageMark.LOWER_BOUND or one_side:
        return f"≥{f.full(usage.total)} tokens"
    return f"{'~' if usage.mark is UsageMark.ESTIMATED else ''}{f.full(usage.total)} tokens"


def _marks(step: Step, findings: Sequence[Finding]) -> list[str]:
    marks = []
    for number, finding in enumerate(findings, 1):
        name = f"LOOP {number}"
        if step.index == finding.first_seen.step:
            marks.append(f"{name}: first done here; useful work")
        if step.index == finding.onset.step:
            marks.append(f"{name} BEGINS HERE: the first redundant step")
        elif any(entry.step == step.index for entry in finding.waste.steps):
            last = ", the last one" if step.index == finding.last.step else ""
            marks.append(f"{name}: redundant{last}")
        elif step.index in finding.listed_steps:
            marks.append(f"{name}: redundant in part, not charged")
    return marks


def _call(call: Call, step: Step, screen: Screen) -> Iterator[str]:
    args = f" {call.args}" if call.args else ""
    yield from _excerpt("call", f"{call.tool}{args}", screen, quoted=False)
    facts = []
    if call.exit_code is not None:
        facts.append(f"exit {call.exit_code}")
    if call.http_status is not None:
        facts.append(f"HTTP {call.http_status}")
    if call.error is not None and call.error is not ErrorClass.UNKNOWN:
        facts.append(str(call.error).replace("_", " "))
    if call.started is not None and call.ended is not None and call.ended > call.started:
        facts.append(f.duration(call.ended - call.started))
    if call.result_line is not None and call.result_line != step.line:
        other = call.result_path is not None and call.result_path != step.path
        facts.append(
            f"{inert(call.result_path or '')}:{call.result_line}"
            if other
            else f"line {call.result_line}"
        )
    label = _ENDED[call.status]
    head = f"({', '.join(facts)}) " if facts else ""
    if call.text and call.text.strip():
        yield from _excerpt(label, call.text, screen, head=head)
    elif call.answered:
        nothing = "empty result" if call.blank else "result not kept"
        yield from screen.row(head + nothing, label=_label(label))
    else:
        yield from screen.row("the log holds no result", label=_label(label))


def _excerpt(
    label: str, text: str, screen: Screen, *, quoted: bool = True, head: str = ""
) -> Iterator[str]:
    room = (screen.width - _LABEL - 2) * _LINES - len(head)
    body = cut(inert(text.strip()), max(room, 20))
    yield from screen.row(head + (f'"{body}"' if quoted else body), label=_label(label))


def _boundaries(boundaries: Iterable[Boundary], path: str, screen: Screen) -> Iterator[str]:
    for boundary in boundaries:
        label, says = _BOUNDARY[boundary.kind]
        place = f"{inert(boundary.path)}:" if boundary.path != path else "line "
        head = f"({place}{boundary.line}) "
        if boundary.text is None:
            yield from screen.row(head + says, label=_label(label))
        else:
            yield from _excerpt(label, boundary.text, screen, head=head)


def _attempts(attempts: Iterable[Attempt], screen: Screen) -> Iterator[str]:
    for attempt in attempts:
        facts = [str(attempt.error).replace("_", " ")]
        if attempt.http_status is not None:
            facts.append(f"HTTP {attempt.http_status}")
        if attempt.number is not None:
            limit = f" of {attempt.limit}" if attempt.limit is not None else ""
            facts.append(f"attempt {attempt.number}{limit}")
        if attempt.wait is not None:
            facts.append(f"waited {f.duration(attempt.wait)}")
        if attempt.gave_up:
            facts.append("gave up")
        facts.append(f"line {attempt.line}")
        yield from _excerpt(
            "failed", attempt.message or "API request", screen, head=f"({', '.join(facts)}) "
        )


def _trips(step: int, trips: Sequence[tuple[str, Trip]], screen: Screen) -> Iterator[str]:
    """One row a guard set: what it would have done at this step. After its first stop the step
    would not have been, so nothing more is said of it."""
    for preset in dict.fromkeys(preset for preset, trip in trips if trip.step == step):
        own = [trip for name, trip in trips if name == preset]
        here = [trip for trip in own if trip.step == step]
        if any(trip.level.stops and trip.step < step for trip in own):
            continue
        done: dict[Level, list[str]] = {}
        for trip in sorted(here, key=lambda trip: not trip.level.stops):
            text = f"{rule_name(trip.detector)} {trip.count:,g}, limit {trip.threshold:,g}"
            done.setdefault(trip.level, []).append(text)
        text = "; ".join(f"{VERBS[level]} ({'; '.join(why)})" for level, why in done.items())
        if any(level.stops for level in done):
            text += ": none of the rest would have happened"
        yield from screen.row(f"{inert(preset)} would have {text}", "yellow", label=_label("guard"))


def _label(label: str) -> str:
    return f"  {label}".ljust(_LABEL + 2)
