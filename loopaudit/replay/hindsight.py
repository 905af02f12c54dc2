"""Hindsight: what a detector counted, seen from the end of the run: where a loop began, its waste.

The detectors' readings say which calls were redundant; here they are only added up.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256
from itertools import pairwise

from loopaudit.findings import (
    EndedBy,
    Finding,
    NotLoop,
    Place,
    Retryable,
    Waste,
    WasteStep,
)
from loopaudit.model import Call, Run, Step, UsageMark, add
from loopaudit.replay.advice import advise
from loopaudit.replay.chains import Chain, Chains, groups, report_from, storms
from loopaudit.replay.storms import storm
from loopaudit.replay.verdicts import confidence, ended_by, reason, retryable


def judge(
    run: Run, counted: Chains, dismissed: Iterable[tuple[str, int, str]]
) -> tuple[list[Finding], list[NotLoop]]:
    """Findings of a run in order of their onset, and what looks like a loop and is none.

    `counted` is what the preset's detectors counted on this run, `dismissed` what they put aside.
    Money is left out.
    """
    found, preset = counted.of(run), counted.preset
    reported = [chain for chain in found if chain.reported and chain.steps]
    calls = run.calls if reported else []
    own = _own_tokens(run) if reported else None
    findings = []
    charged: set[int] = set()
    for group in groups(run, found, preset):
        finding = _finding(run, calls, group, own)
        if finding is not None:
            findings.append(finding)
            charged.update(entry.step for entry in finding.waste.steps)
    for group in storms(found, preset):
        findings.append(_told(run, (), group, storm(run, group), None))
    findings.sort(key=lambda f: (f.onset.step, f.onset.call or 0))
    near = [NotLoop(run.id, kind, step, why) for kind, step, why in dismissed]
    near += _below(found, run)
    near = [n for n in near if n.step not in charged and n.step < len(run.steps)]
    for item in near:
        step = run.steps[item.step]
        item.path, item.line = step.path, step.line
    near.sort(key=lambda n: (n.step, n.kind, n.reason))
    return findings, near


def _finding(
    run: Run, calls: Sequence[Call], group: list[Chain], own: int | None
) -> Finding | None:
    """One finding for chains that tell of the same steps; None if all of it is inherited."""
    redundant = {index for chain in group for index in chain.calls}
    bare = {step for chain in group for step in chain.bare}
    texts = {number: text for chain in group for number, text in chain.texts.items()}
    charged: list[WasteStep] = []
    part: list[int] = []
    for number in sorted({step for chain in group for step in chain.steps}):
        step = run.steps[number]
        if step.inherited:
            continue
        if number in bare or (step.calls and all(c.index in redundant for c in step.calls)):
            charged.append(WasteStep(run.id, number))
        elif number in texts:
            charged.append(WasteStep(run.id, number, _share(step, texts[number][1])))
        else:
            part.append(number)
    if not charged and not part:
        return None
    whole = [entry.step for entry in charged]
    primary = group[0]
    first = min(group, key=lambda c: (c.explained, c.first_step, c.last.first_call or 0))
    onset = (whole or part)[0]
    last = max(whole[-1:] + part[-1:])
    head = primary.last.first_call
    call = None if head is None else calls[head]
    rule = primary.document
    finding = Finding(
        rule=rule.id,
        run=run.id,
        occurrences=int(primary.last.count),
        first_seen=_place(run, calls, first.first_step, first.last.first_call),
        onset=_place(run, calls, onset, _first_of(run, onset, redundant)),
        last=_place(run, calls, last, _first_of(run, last, redundant)),
        ended_by=ended_by(run, sorted(whole + part), {calls[i].key for i in redundant}),
        retryable=retryable(calls, group),
        tool=None if call is None else call.tool,
        key=None if call is None else f"{call.key:016x}",
        call=_call_text(run, primary, call),
        period=primary.last.period,
        waste=_waste(run, charged, own),
        listed_steps=part,
        interruptions=_others(sorted(whole + part)),
        reasons=[reason(chain, calls) for chain in _distinct(group)],
    )
    if onset in texts and onset not in bare:
        finding.onset.char_offset = texts[onset][0]
    for index in sorted(redundant):
        tool = calls[index].tool
        if not run.steps[calls[index].step].inherited:
            finding.redundant[tool] = finding.redundant.get(tool, 0) + 1
    return _told(run, calls, group, finding, head)


def _told(
    run: Run, calls: Sequence[Call], group: list[Chain], finding: Finding, head: int | None
) -> Finding:
    """`finding` with what is said of it."""
    finding.confidence, finding.confidence_reason = confidence(run, calls, group, finding)
    finding.advice_parts = advise(group[0].document, group[0], finding)
    finding.advice = finding.advice_parts.change
    finding.id = _fingerprint(run, finding, head)
    return finding


def _others(steps: Sequence[int]) -> list[tuple[int, int]]:
    """First and last step of each stretch within a loop that is no part of it."""
    return [(a + 1, b - 1) for a, b in pairwise(steps) if b - a > 1]


def _share(step: Step, of_output: float) -> float:
    """A share of a step's output as a share of all its tokens."""
    usage = step.usage
    if usage is None or not usage.output or not usage.total:
        return of_output
    return of_output * usage.output / usage.total


def _distinct(group: list[Chain]) -> list[Chain]:
    """The chains worth naming: the first of each rule and call."""
    named: dict[tuple[str, int | None], Chain] = {}
    for chain in group:
        named.setdefault((chain.rule.signal, chain.last.first_call), chain)
    return list(named.values())


def _first_of(run: Run, step: int, redundant: set[int]) -> int | None:
    return next((c.index for c in run.steps[step].calls if c.index in redundant), None)


def _place(run: Run, calls: Sequence[Call], number: int, index: int | None) -> Place:
    """`Place.call` is the index of the call within the run."""
    step = run.steps[number]
    if index is None or calls[index].step != number:
        return Place(run.id, number, None, step.path, step.line, step.at)
    call = calls[index]
    at = step.at if call.started is None else call.started
    return Place(run.id, number, index, step.path, call.line, at)


def _call_text(run: Run, primary: Chain, call: Call | None) -> str | None:
    """Bounded excerpt of what is repeated: a call, or the tools of one round."""
    period = primary.last.period
    if period:
        first = primary.first_step
        steps = [s for s in run.steps[first : first + 4 * period] if s.calls][:period]
        return " -> ".join("+".join(c.tool for c in s.calls[:4]) for s in steps)
    if call is None:
        return None
    return f"{call.tool} {call.args}"[:200] if call.args else call.tool


def _own_tokens(run: Run) -> int | None:
    """Tokens of the run's own steps; None where the log has no usage."""
    total = None
    for step in run.steps:
        if step.usage is not None and not step.inherited:
            total = add(total, step.usage.total)
    return total


def _waste(run: Run, steps: list[WasteStep], own: int | None) -> Waste:
    """Tokens of the redundant steps; None where the log has no usage for any of them."""
    waste = Waste(steps=steps)
    for entry in steps:
        usage = run.steps[entry.step].usage
        total = None if usage is None or usage.mark is UsageMark.ABSENT else usage.total
        if usage is None or total is None:
            waste.estimated = True
            continue
        waste.tokens = add(waste.tokens, round(total * entry.part))
        if entry.part == 1:  # else it is output that is redundant
            waste.cache_read = add(waste.cache_read, usage.cache_read)
        waste.estimated |= usage.mark is not UsageMark.REPORTED or entry.part < 1
    if not steps and own is not None:
        waste.tokens = waste.cache_read = 0
    if waste.tokens is None:
        waste.estimated = False
    elif own:
        waste.share = waste.tokens / own
    return waste


def _fingerprint(run: Run, finding: Finding, first_call: int | None) -> str:
    """Stable over re-runs, paths and the order of files: rule, session, call and first response."""
    if not run.steps:
        first = str(finding.first_seen.line)
    else:
        step = run.steps[finding.first_seen.step]
        first = step.id or str(step.index)
    if first_call is not None:
        for call in step.calls:
            if call.index == first_call and call.id is not None:
                first = f"{first}/{call.id}"
    parts = (finding.rule, run.session or run.id, run.agent or "", finding.key or "", first)
    return sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:16]


def _below(found: Iterable[Chain], run: Run) -> list[NotLoop]:
    """What repeated three times or more and stays below the count from which it is reported."""
    near = []
    for chain in found:
        count = int(chain.last.count)
        if chain.reported or count < 3:
            continue
        rule = chain.document
        from_here = report_from(chain.rule, chain.poll)
        kind = "unchanged-poll" if chain.poll else BELOW.get(rule.id, rule.id)
        near.append(
            NotLoop(run.id, kind, chain.last.step, f"{count} times; reported from {from_here:g}")
        )
    return near


#: kinds of near misses that have a name of their own
BELOW = {
    "transient-error-retried": "retry-of-transient-error",
    "same-error": "varied-tries",
    "failing-steps": "failing-steps-below-limit",
    "same-answer": "varied-questions",
    "growing-command": "growing-below-limit",
    "retries-over-policy": "retries-within-policy",
    "nested-retries": "retries-within-policy",
}


__all__ = ["EndedBy", "Retryable", "judge"]
