"""Across files: which files hold parts of one run, and which run owns a response that stands twice.

Ownership does not depend on the order in which files are named: the run that holds most of the
response owns it (a fork may have cut it short); else the run that another says it was forked from;
else the run that ended first (a resumed session copies a past that had ended);
else the one whose id sorts first.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from loopaudit.ingest.sources import PACKED_SUFFIXES, Source
from loopaudit.keys import digest
from loopaudit.model import Run
from loopaudit.replay.results import JobResult, RunResult

_INFINITY = float("inf")
_BURST = 5.0  # seconds in which a copied history is written


def joint_jobs(jobs: Sequence[list[Source]], results: Sequence[JobResult]) -> list[list[int]]:
    """Groups of job numbers whose files hold parts of the same runs, to be read as one."""
    told = [claims(result) for result in results]
    return joint(
        [names for names, _ in told],
        [(at, job[0].path) for (_, at), job in zip(told, jobs, strict=True)],
    )


def claims(result: JobResult) -> tuple[list[str], float]:
    """Ids of the runs that a job holds parts of, and when it begins.

    Only runs that carry the log's own session id can be known again; an id made from a file name
    cannot. Some logs keep each result in a file of its own.
    """
    names = [found.run.id for found in result.runs if found.run.session is not None]
    names += [r.id for r in result.mentioned if r.session is not None and r.orphan_results]
    times = [r.run.started for r in result.runs if r.run.started is not None]
    return names, min(times, default=_INFINITY)


def joint(claimed: Sequence[Sequence[str]], began: Sequence[tuple[float, str]]) -> list[list[int]]:
    """Groups of numbers that claim the same names, each in the order in which they began."""
    holders: dict[str, list[int]] = {}
    for number, names in enumerate(claimed):
        for name in names:
            holders.setdefault(name, []).append(number)
    group = list(range(len(claimed)))

    def root(i: int) -> int:
        while group[i] != i:
            group[i] = group[group[i]]
            i = group[i]
        return i

    for numbers in holders.values():
        for other in numbers[1:]:
            group[root(other)] = root(numbers[0])
    members: dict[int, list[int]] = {}
    for number in range(len(claimed)):
        members.setdefault(root(number), []).append(number)
    return [sorted(m, key=lambda n: began[n]) for m in members.values() if len(m) > 1]


def unite(runs: list[RunResult], mentioned: Iterable[Run]) -> tuple[list[RunResult], int]:
    """The runs of all files with each response once, in order; how many were left out."""
    runs, copies = drop_copies(runs)
    adopt(runs, mentioned)
    _distinguish(runs)
    runs.sort(key=lambda r: (r.run.path, r.run.id))
    return runs, copies + mark_inherited(runs)


def adopt(runs: Sequence[RunResult], mentioned: Iterable[Run]) -> None:
    """Fill in what another file tells of a run: its parent, the call that began it, its agent."""
    by_id = {found.run.id: found.run for found in runs}
    for mention in mentioned:
        run = by_id.get(mention.id)
        if run is not None:
            for name in ("parent", "parent_call", "agent", "forked_from"):
                if getattr(run, name) is None:
                    setattr(run, name, getattr(mention, name))


def _distinguish(runs: list[RunResult]) -> None:
    """Give runs of one id (made from equal file names) different ones: the path goes in front."""
    seen: dict[str, list[RunResult]] = {}
    for found in runs:
        seen.setdefault(found.run.id, []).append(found)
    for same in seen.values():
        if len(same) > 1:
            for found in same:
                _rename(found, f"{found.run.path}:{found.run.id}")


def _rename(found: RunResult, name: str) -> None:
    found.run.id = name
    for finding in found.findings:
        finding.run = name
        for place in (finding.first_seen, finding.onset, finding.last):
            place.run = name
        for entry in finding.waste.steps:
            entry.run = name
    for near in found.not_loops:
        near.run = name


def drop_copies(runs: list[RunResult]) -> tuple[list[RunResult], int]:
    """Leave out runs of a packed file that stands beside its original; also the responses dropped.

    Such logs often have no ids of their own, so the whole content is compared, and only between
    `x` and `x.gz` (`.bz2`, `.xz`, `.zst`).
    """
    originals: dict[tuple[str, int], RunResult] = {}
    for found in runs:
        if found.content and _unpacked(found.run.path) is None:
            originals[(found.run.path, found.content)] = found
    kept, dropped = [], 0
    for found in runs:
        plain = _unpacked(found.run.path)
        if found.content and plain is not None and (plain, found.content) in originals:
            dropped += len(found.columns)
        else:
            kept.append(found)
    return kept, dropped


def _unpacked(path: str) -> str | None:
    for suffix in PACKED_SUFFIXES:
        if path.endswith(suffix):
            return path[: -len(suffix)]
    return None


def mark_inherited(runs: Sequence[RunResult]) -> int:
    """Find responses that stand in several runs: all but the owner's are inherited. How many."""
    seen: set[int] = set()
    twice: set[int] = set()  # responses that stand in more than one run
    for found in runs:
        own = set(found.columns.ids)
        twice |= seen & own
        seen |= own
    twice.discard(0)
    shared: dict[int, set[int]] = {}
    if twice:
        for number, found in enumerate(runs):
            for response in twice.intersection(found.columns.ids):
                shared.setdefault(response, set()).add(number)
    if not shared:
        return _mark_renamed(runs) + _mark_checkpoints(runs)
    named = {f.run.forked_from for f in runs if f.run.forked_from}
    holders = {n for numbers in shared.values() for n in numbers}
    tokens = {
        (response, number): runs[number].columns.total[step]
        for number in holders
        for step, response in enumerate(runs[number].columns.ids)
        if response in shared
    }
    owners = {
        response: min(numbers, key=lambda n: (-tokens[response, n], *_claim(runs[n], named)))
        for response, numbers in shared.items()
    }
    for number in holders:
        found = runs[number]
        found.inherited = {
            step
            for step, response in enumerate(found.columns.ids)
            if owners.get(response, number) != number
        }
    _mark_renamed(runs)
    _mark_checkpoints(runs)
    return sum(len(found.inherited) for found in runs)


def _mark_renamed(runs: Sequence[RunResult]) -> int:
    """Copies that bear other names than their originals: of a fork of a fork, where only the fork
    itself is told. The copied responses stand at the very start, or have their old times."""
    by_id = {found.run.id: found for found in runs}
    total = 0
    for found in runs:
        origin = by_id.get(found.run.forked_from or "")
        if (
            origin is None
            or origin is found
            or not set(found.columns.ids).isdisjoint(origin.columns.ids)
        ):
            continue
        began = found.run.started
        for step in range(min(len(found.columns), len(origin.columns))):
            at = found.columns.at[step]
            copied = at == origin.columns.at[step] or (began is not None and at <= began + _BURST)
            if not copied or found.columns.usage(step) != origin.columns.usage(step):
                break
            found.inherited.add(step)
        total += len(found.inherited)
    return total


def _mark_checkpoints(runs: Sequence[RunResult]) -> int:
    """Conversations saved again and again as they grow, without ids or times: what stands in one
    of a folder from its first to its last response is inherited by a longer one that begins so. A
    run with an outcome had come to its end: another that begins alike is another try."""
    ends: dict[tuple[str, str], set[int]] = {}
    for found in runs:
        whole = len(found.columns) and len(found.columns.past) == len(found.columns)
        if whole and found.run.outcome is None:
            ends.setdefault(_shelf(found), set()).add(found.columns.past[-1])
    total = 0
    for found in runs:
        known = ends.get(_shelf(found), ())
        past = found.columns.past
        copied = next((n for n in range(len(past) - 1, 0, -1) if past[n - 1] in known), 0)
        if copied:
            found.inherited = found.inherited | set(range(copied))
            total += copied
    return total


def _shelf(found: RunResult) -> tuple[str, str]:
    """Where checkpoints of one conversation lie: in one folder, in one format."""
    return os.path.dirname(found.run.path), found.run.format


def ties(found: RunResult) -> list[int]:
    """Numbers of which it shares one with each run that `unite` looks at together with it."""
    run, table = found.run, found.columns
    names = [f"run {name}" for name in (run.id, run.session, run.forked_from) if name]
    if found.content:
        names.append(f"file {_unpacked(run.path) or run.path}")
    if table.past:
        names.append(f"shelf {_shelf(found)}")
    return [*map(digest, names), *(response for response in table.ids if response)]


def mention_ties(mentioned: Iterable[Run]) -> list[int]:
    """The same for what a job tells of runs in other files."""
    return [digest(f"run {run.id}") for run in mentioned]


def inherited_unseen(runs: Sequence[RunResult]) -> list[str]:
    """Said of runs that begin with a copy of a session that is not among them: what they inherited
    cannot be told from their own, and counts as theirs."""
    here = {name for f in runs for name in (f.run.id, f.run.session)}
    number = sum(f.run.forked_from not in here for f in runs if f.run.forked_from)
    what = "1 run includes" if number == 1 else f"{number:,} runs include"
    return [f"{what} inherited history of a session not among these logs"] if number else []


def _claim(found: RunResult, named: set[str]) -> tuple[bool, float, str]:
    run = found.run
    origin = run.id in named or run.session in named
    return (not origin, run.ended if run.ended is not None else _INFINITY, run.id)


__all__ = [
    "adopt",
    "claims",
    "drop_copies",
    "inherited_unseen",
    "joint",
    "joint_jobs",
    "mark_inherited",
    "mention_ties",
    "ties",
    "unite",
]
