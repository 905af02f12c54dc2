"""Loops over several runs: agents that start agents to do what they were themselves asked to do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import sha256

from loopaudit.detectors.catalog import rule_of
from loopaudit.detectors.delegation import SIGNAL
from loopaudit.findings import (
    EndedBy,
    Finding,
    Place,
    Reading,
    Retryable,
    Stop,
    Trip,
    Waste,
    WasteStep,
)
from loopaudit.guards.policy import Policy
from loopaudit.guards.preset import Preset, PresetRule
from loopaudit.model import BoundaryKind
from loopaudit.replay.advice import advise
from loopaudit.replay.chains import Chain
from loopaudit.replay.lineage import Again, Audited, Node, lines_of
from loopaudit.replay.results import Spawn
from loopaudit.replay.totals import charge


def delegated(audited: Sequence[Audited], preset: Preset) -> list[Finding]:
    """Findings over several runs. They go to the run at the top, with the trips of `preset`; loops
    of single runs that they explain whole become reasons of theirs."""
    rule = preset.rule(SIGNAL)
    if rule is None or rule.report is None or not any(item.found.spawns for item in audited):
        return []
    found = []
    for line in lines_of(audited):
        for again in line:
            again.trips = _trips(again, preset, rule)
        if max(again.count for again in line) >= rule.report:
            finding = _finding(line, rule)
            finding.stops = list(_stops(line, preset))
            _adopt(finding, line)
            line[0].first[0].item.findings.append(finding)
            found.append(finding)
    return found


def _trips(again: Again, preset: Preset, rule: PresetRule) -> Sequence[Trip]:
    """What a guard that knows the line of agents would have done at this call."""
    reading = Reading(
        SIGNAL, again.count, again.spawn.step, again.spawn.call, group=(SIGNAL, again.spawn.call)
    )
    verdicts = Policy(preset, [rule]).judge([reading], None, again.spawn.step + 1)
    trips = again.node.item.found.trips.get(preset.name)
    if trips is None:  # not a set that was asked for
        return ()
    trips.extend(verdicts)
    trips.sort(key=lambda trip: trip.step)
    return verdicts


def _finding(line: list[Again], rule: PresetRule) -> Finding:
    node, spawn = line[0].first
    depth = max(again.count for again in line)
    charged = [entry for again in line for entry in _charged(again)]
    document = rule_of(rule.detector, rule.signal)
    finding = Finding(
        rule=document.id,
        run=node.run.id,
        occurrences=depth,
        first_seen=_place(node, spawn),
        onset=_place(line[0].node, line[0].spawn),
        last=_place(line[-1].node, line[-1].spawn),
        ended_by=_ended_by(line[-1]),
        retryable=Retryable.NO,
        confidence=0.95 if depth >= 2 * (rule.report or 1) else 0.85,
        confidence_reason=f"{depth} agents deep, reported from {rule.report:g}",
        tool=spawn.tool,
        key=f"{spawn.key:016x}",
        call=spawn.text,
        waste=_waste(line, charged),
        reasons=[f"{document.id}: {spawn.tool} {depth} times, each from within the one before"],
        redundant={spawn.tool: len(line)},
    )
    finding.advice_parts = advise(
        document, Chain(rule, Reading(SIGNAL, depth, spawn.step)), finding
    )
    finding.advice = finding.advice_parts.change
    parts = (document.id, node.run.session or node.run.id, finding.key or "", str(spawn.step))
    finding.id = sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:16]
    return finding


def _stops(line: list[Again], preset: Preset) -> Iterator[Stop]:
    """The first intervention and the first stop down the line: what lies below them is saved."""
    told: set[bool] = set()
    for at, again in enumerate(line):
        for trip in again.trips:
            if told and (trip.level.stops in told or not trip.level.stops):
                continue
            told.add(trip.level.stops)
            below = _waste(line, [w for below in line[at + 1 :] for w in _charged(below)])
            yield Stop(
                guard=preset.name,
                detector=trip.detector,
                level=trip.level,
                threshold=trip.threshold,
                step=trip.step,
                saved_tokens_at_most=0 if at == len(line) - 1 else below.tokens,
                saved_usd_at_most=below.usd,
                saves_from=trip.saves_from,
            )


def _charged(again: Again) -> list[WasteStep]:
    return [WasteStep(again.node.run.id, again.spawn.step)] if again.spawn.alone else []


def _place(node: Node, spawn: Spawn) -> Place:
    return Place(node.run.id, spawn.step, spawn.call, spawn.path, spawn.line, spawn.at)


def _ended_by(last: Again) -> EndedBy:
    """From the deepest run: it was interrupted, it went on to work, or its log just ends."""
    run, columns = last.node.run, last.node.item.found.columns
    kinds = {boundary.kind for boundary in run.after}
    if last.spawn.interrupted or kinds & {BoundaryKind.INTERRUPT, BoundaryKind.USER}:
        return EndedBy.USER
    if BoundaryKind.GUARD_STOP in kinds:
        return EndedBy.GUARD
    if BoundaryKind.LIMIT in kinds:
        return EndedBy.LIMIT
    child = any(node.by is last.spawn for node in last.node.children)
    went_on = child or last.spawn.step < len(columns) - 1
    return EndedBy.RECOVERED if went_on else EndedBy.END_OF_LOG


def _waste(line: list[Again], charged: list[WasteStep]) -> Waste:
    """Over all runs of the line; its share is one of the tokens of all of them together."""
    waste = Waste(steps=charged)
    total = 0
    runs = {again.node.run.id: again.node for again in line}
    runs[line[0].first[0].run.id] = line[0].first[0]
    for name, node in sorted(runs.items()):
        own = [entry for entry in charged if entry.run == name]
        total += node.item.summary.tokens.total or 0
        part = charge(own, node.item.found, node.item.priced, None)
        if not own:
            continue
        if part.tokens is not None:
            waste.tokens = (waste.tokens or 0) + part.tokens
            waste.cache_read = (waste.cache_read or 0) + (part.cache_read or 0)
        if part.usd is not None:
            waste.usd = part.usd if waste.usd is None else waste.usd + part.usd
        waste.estimated |= part.estimated
    if waste.tokens is not None and total:
        waste.share = waste.tokens / total
    return waste


def _adopt(finding: Finding, line: list[Again]) -> None:
    """Loops of single runs within the redundant steps are told by this one."""
    charged = {(entry.run, entry.step) for entry in finding.waste.steps}
    for item in {id(again.node.item): again.node.item for again in line}.values():
        kept = []
        for inner in item.findings:
            steps = {(entry.run, entry.step) for entry in inner.waste.steps}
            if steps and steps <= charged:
                finding.reasons += inner.reasons
            else:
                kept.append(inner)
        item.findings[:] = kept
