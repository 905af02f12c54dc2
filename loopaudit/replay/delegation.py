"""Loops over several runs: agents that start agents to do what they were themselves asked to do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Protocol

from loopaudit.detectors.catalog import rule_of
from loopaudit.detectors.delegation import SIGNAL
from loopaudit.findings import (
    EndedBy,
    Finding,
    Place,
    Reading,
    Retryable,
    RunSummary,
    Stop,
    Trip,
    Waste,
    WasteStep,
)
from loopaudit.guards.policy import Policy
from loopaudit.guards.preset import Preset, PresetRule
from loopaudit.ingest.results import mask_digest
from loopaudit.model import BoundaryKind, CallStatus, Run
from loopaudit.replay.advice import advise
from loopaudit.replay.chains import Chain
from loopaudit.replay.results import RunResult, Spawn
from loopaudit.replay.totals import Priced, charge

_DEEPEST = 1_000  # runs of one line; more is a circle of parents


class Audited(Protocol):
    """What is needed of `audit.AuditedRun`."""

    found: RunResult
    priced: Priced
    summary: RunSummary
    findings: list[Finding]


# -- in the worker: what each run tells -----------------------------------------------------------


def spawns(run: Run, mask: Callable[[str], str]) -> list[Spawn]:
    """The calls of a run that start agents, in order."""
    found = []
    only = all(call.spawns for step in run.steps for call in step.calls)
    for step in run.steps:
        if step.inherited:
            continue
        for call in step.calls:
            if not call.spawns:
                continue
            args = call.args or ""
            whole = bool(args) and call.args_size == len(args)
            found.append(
                Spawn(
                    id=call.id,
                    key=call.key,
                    masked=mask_digest(f"{call.tool} {args}", mask) if whole else None,
                    step=step.index,
                    call=call.index,
                    alone=len(step.calls) == 1,
                    only=only,
                    interrupted=call.status is CallStatus.INTERRUPTED,
                    line=call.line,
                    path=step.path,
                    at=step.at if call.started is None else call.started,
                    tool=call.tool,
                    text=f"{call.tool} {args}"[:200],
                )
            )
    return found


def asked(run: Run, mask: Callable[[str], str]) -> int | None:
    """Digest of what the run was asked to do, as far as it is kept."""
    return mask_digest(run.prompt, mask) if run.prompt else None


# -- over all runs --------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class _Node:
    item: Audited
    parent: _Node | None = None
    by: Spawn | None = None  # the call that started it
    tasks: frozenset[object] = frozenset()  # what it was started with, in each way it can be told
    depth: int = 0
    passed: int = 0  # agents of one kind in a row, up to here, that only started the next one
    children: list[_Node] = field(default_factory=list)

    @property
    def run(self) -> Run:
        return self.item.found.run


@dataclass(slots=True)
class _Again:
    """A call that starts an agent with a task from above."""

    node: _Node
    spawn: Spawn
    count: int  # times down this line, the first included
    first: tuple[_Node, Spawn]
    trips: Sequence[Trip] = ()


def delegated(audited: Sequence[Audited], preset: Preset) -> list[Finding]:
    """Findings over several runs. They go to the run at the top, with the trips of `preset`; loops
    of single runs that they explain whole become reasons of theirs."""
    rule = preset.rule(SIGNAL)
    if rule is None or rule.report is None or not any(item.found.spawns for item in audited):
        return []
    lines: dict[tuple[str, int], list[_Again]] = {}
    for top in _trees(audited):
        for again in _repeats(top):
            node, spawn = again.first
            again.trips = _trips(again, preset, rule)
            lines.setdefault((node.run.id, spawn.call), []).append(again)
    found = []
    for line in _joined(list(lines.values())):
        if max(again.count for again in line) >= rule.report:
            finding = _finding(line, rule)
            finding.stops = list(_stops(line, preset))
            _adopt(finding, line)
            line[0].first[0].item.findings.append(finding)
            found.append(finding)
    return found


def _joined(lines: list[list[_Again]]) -> list[list[_Again]]:
    """Lines of calls, parents first; a line that begins within another one is part of that loop:
    two agents that hand a task back and forth make one line each."""
    for line in lines:
        line.sort(key=_downwards)
    lines.sort(key=lambda line: _downwards(line[0]))
    joined: list[tuple[list[_Again], set[int]]] = []
    for line in lines:
        within = next((one for one, nodes in joined if id(line[0].first[0]) in nodes), None)
        if within is None:
            joined.append((line, _between(line)))
        else:
            within += line
            within.sort(key=_downwards)
            next(nodes for one, nodes in joined if one is within).update(_between(line))
    return [line for line, _ in joined]


def _downwards(again: _Again) -> tuple[int, str, str, int]:
    return (again.node.depth, again.node.run.path, again.node.run.id, again.spawn.call)


def _between(line: list[_Again]) -> set[int]:
    """The agents from the first call of a line down to each of the others."""
    nodes: set[int] = set()
    top = line[0].first[0]
    for again in line:
        node: _Node | None = again.node
        while node is not None and node is not top and id(node) not in nodes:
            nodes.add(id(node))
            node = node.parent
    return nodes


def _trees(audited: Sequence[Audited]) -> Iterator[_Node]:
    """Runs without a parent among these, their sub-agents below them."""
    nodes = {item.found.run.id: _Node(item) for item in audited}
    for node in nodes.values():
        parent = nodes.get(node.run.parent or "")
        if parent is None or parent is node:
            continue
        node.parent, node.by = parent, _started_by(parent, node)
        parent.children.append(node)
        ways: list[object] = []
        if node.by is not None:
            ways += [("call", node.by.key), ("masked", node.by.masked)]
        if node.item.found.asked is not None:
            ways.append(("asked", node.item.found.asked))
        node.tasks = frozenset(way for way in ways if way[1] is not None)  # type: ignore[index]
    for node in nodes.values():
        if node.parent is None:
            yield node


def _started_by(parent: _Node, child: _Node) -> Spawn | None:
    """The call in `parent` that started `child`; where none is named, the only one."""
    started = parent.item.found.spawns
    named = child.run.parent_call
    if named is not None:
        return next((spawn for spawn in started if spawn.id == named), None)
    return started[0] if len(started) == 1 else None


def _repeats(top: _Node) -> Iterator[_Again]:
    """Calls below `top` that pass on a task from above, parents first."""
    stack: list[tuple[_Node, tuple[_Node, ...]]] = [(top, ())]
    while stack:
        node, above = stack.pop()
        started = node.item.found.spawns
        line = (*above, node)
        node.depth = len(above)
        relays = len(started) == 1 and started[0].only
        before = above[-1] if above else None
        like = before is not None and (not before.parent or before.run.agent == node.run.agent)
        node.passed = (before.passed if before is not None and like else 0) + 1 if relays else 0
        for spawn in started:
            if spawn.step not in node.item.priced.counts:
                continue  # another run's, or outside the time window
            again = _again(line, spawn, node.passed if relays else 0)
            if again is not None:
                yield again
        if len(line) < _DEEPEST:
            stack += [(child, line) for child in reversed(node.children) if child not in line]


def _again(line: tuple[_Node, ...], spawn: Spawn, passed: int) -> _Again | None:
    node = line[-1]
    child = next((c for c in node.children if c.by is spawn), None)
    ways: set[object] = {("call", spawn.key)}
    if spawn.masked is not None:
        ways.add(("masked", spawn.masked))
    if child is not None:
        ways |= child.tasks
    same = [above for above in line if not above.tasks.isdisjoint(ways)]
    if same:
        top = same[0]
        origin = top.parent
        by = top.by or (
            origin.item.found.spawns[0] if origin and origin.item.found.spawns else None
        )
        if origin is None or by is None:
            return None
        return _Again(node, spawn, len(same) + 1, (origin, by))
    if passed > 1:
        first = line[-passed]
        return _Again(node, spawn, passed, (first, first.item.found.spawns[0]))
    return None


def _trips(again: _Again, preset: Preset, rule: PresetRule) -> Sequence[Trip]:
    """What a guard that knows the line of agents would have done at this call."""
    reading = Reading(
        SIGNAL, again.count, again.spawn.step, again.spawn.call, group=(SIGNAL, again.spawn.call)
    )
    verdicts = Policy(preset, [rule]).judge([reading], None, again.spawn.step + 1)
    trips = again.node.item.found.trips.get(preset.name)
    if trips is None:  # not a set that was asked for
        return ()
    trips += verdicts
    trips.sort(key=lambda trip: trip.step)
    return verdicts


def _finding(line: list[_Again], rule: PresetRule) -> Finding:
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


def _stops(line: list[_Again], preset: Preset) -> Iterator[Stop]:
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


def _charged(again: _Again) -> list[WasteStep]:
    return [WasteStep(again.node.run.id, again.spawn.step)] if again.spawn.alone else []


def _place(node: _Node, spawn: Spawn) -> Place:
    return Place(node.run.id, spawn.step, spawn.call, spawn.path, spawn.line, spawn.at)


def _ended_by(last: _Again) -> EndedBy:
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


def _waste(line: list[_Again], charged: list[WasteStep]) -> Waste:
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


def _adopt(finding: Finding, line: list[_Again]) -> None:
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
