"""Lines of agents: which run started which, and which calls pass on a task from above."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from loopaudit.findings import Finding, RunSummary, Trip
from loopaudit.model import Run
from loopaudit.replay.results import RunResult, Spawn
from loopaudit.replay.totals import Priced

_DEEPEST = 1_000  # runs of one line; more is a circle of parents


class Audited(Protocol):
    """What is needed of `audit.AuditedRun`."""

    found: RunResult
    priced: Priced
    summary: RunSummary
    findings: list[Finding]


@dataclass(slots=True, eq=False)
class Node:
    item: Audited
    parent: Node | None = None
    by: Spawn | None = None  # the call that started it
    tasks: frozenset[object] = frozenset()  # what it was started with, in each way it can be told
    depth: int = 0
    passed: int = 0  # agents of one kind in a row, up to here, that only started the next one
    children: list[Node] = field(default_factory=list)

    @property
    def run(self) -> Run:
        return self.item.found.run


@dataclass(slots=True)
class Again:
    """A call that starts an agent with a task from above."""

    node: Node
    spawn: Spawn
    count: int  # times down this line, the first included
    first: tuple[Node, Spawn]
    trips: Sequence[Trip] = ()


def lines_of(audited: Sequence[Audited]) -> list[list[Again]]:
    """Calls that pass on a task from above, by the line of agents they stand in, parents first."""
    lines: dict[tuple[str, int], list[Again]] = {}
    for top in _trees(audited):
        for again in _repeats(top):
            node, spawn = again.first
            lines.setdefault((node.run.id, spawn.call), []).append(again)
    return _joined(list(lines.values()))


def _joined(lines: list[list[Again]]) -> list[list[Again]]:
    """Lines of calls, parents first; a line that begins within another one is part of that loop:
    two agents that hand a task back and forth make one line each."""
    for line in lines:
        line.sort(key=_downwards)
    lines.sort(key=lambda line: _downwards(line[0]))
    joined: list[tuple[list[Again], set[int]]] = []
    for line in lines:
        within = next((one for one, nodes in joined if id(line[0].first[0]) in nodes), None)
        if within is None:
            joined.append((line, _between(line)))
        else:
            within += line
            within.sort(key=_downwards)
            next(nodes for one, nodes in joined if one is within).update(_between(line))
    return [line for line, _ in joined]


def _downwards(again: Again) -> tuple[int, str, int]:
    return (again.node.depth, again.node.run.id, again.spawn.call)


def _between(line: list[Again]) -> set[int]:
    """The agents from the first call of a line down to each of the others."""
    nodes: set[int] = set()
    top = line[0].first[0]
    for again in line:
        node: Node | None = again.node
        while node is not None and node is not top and id(node) not in nodes:
            nodes.add(id(node))
            node = node.parent
    return nodes


def _trees(audited: Sequence[Audited]) -> Iterator[Node]:
    """Runs without a parent among these, their sub-agents below them."""
    nodes = {item.found.run.id: Node(item) for item in audited}
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


def _started_by(parent: Node, child: Node) -> Spawn | None:
    """The call in `parent` that started `child`; where none is named, the only one."""
    started = parent.item.found.spawns
    named = child.run.parent_call
    if named is not None:
        return next((spawn for spawn in started if spawn.id == named), None)
    return started[0] if len(started) == 1 else None


def _repeats(top: Node) -> Iterator[Again]:
    """Calls below `top` that pass on a task from above, parents first."""
    stack: list[tuple[Node, tuple[Node, ...]]] = [(top, ())]
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


def _again(line: tuple[Node, ...], spawn: Spawn, passed: int) -> Again | None:
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
        return Again(node, spawn, len(same) + 1, (origin, by))
    if passed > 1:
        first = line[-passed]
        return Again(node, spawn, passed, (first, first.item.found.spawns[0]))
    return None
