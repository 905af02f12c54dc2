"""One run with its steps, beside the report it is part of: what `show` needs, from one reading."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace

from loopaudit.errors import InputError, UsageError
from loopaudit.findings import Finding, Place, Report
from loopaudit.ingest.sources import Source, is_log_name
from loopaudit.model import Run
from loopaudit.replay.audit import AuditOptions, Everything, conclude_all, read_all
from loopaudit.replay.worker import ingest


def find_run(options: AuditOptions, run_id: str) -> tuple[Run, Report]:
    """A run by its id or a unique part of it, or by a finding in it.

    Raises `UsageError`, or `InputError` without runs.
    """
    everything = read_all(options)
    report, audited = conclude_all(everything, options)
    by_name = {item.found.run.id: item.found.run for item in audited}
    names = sorted(by_name)
    if is_log_name(run_id) and not os.path.exists(run_id) and run_id not in by_name:
        raise InputError(f"{run_id}: no such file or directory", "loopaudit show RUN PATH")
    if not names:
        why = next((f"{s.path}: {s.reason}" for s in report.skips), None)
        why = why or f"no run in {', '.join(options.paths)}"
        raise InputError(why, "name a log, or a folder that holds logs")
    matches = [n for n in names if n == run_id] or [n for n in names if n.startswith(run_id)]
    if not matches:
        matches = [n for n in names if run_id in n]
    if not matches and len(run_id) > 3:
        matches = sorted({f.run for f in report.findings if f.id.startswith(run_id)} & set(names))
    if len(matches) != 1:
        what = f"{len(matches)} runs match" if matches else "no run matches"
        raise UsageError(f"{what} {run_id!r}", f"runs here: {', '.join((matches or names)[:5])}")
    return again(by_name[matches[0]], everything), report


def again(chosen: Run, everything: Everything) -> Run:
    """A run of the report with its steps, read once more. Raises `UsageError` if it is gone."""
    found = again_all([chosen], everything)
    if chosen.id not in found:
        raise UsageError(f"{chosen.id!r} is no longer in the log", "it changed while it was read")
    return found[chosen.id]


def again_all(chosen: Iterable[Run], everything: Everything) -> dict[str, Run]:
    """Runs of the report with their steps, by id; each input is read once. Gone ones: missing."""
    groups: dict[tuple[Source, ...], list[Run]] = {}
    for run in chosen:
        groups.setdefault(tuple(_sources_of(run, everything)), []).append(run)
    found: dict[str, Run] = {}
    for sources, wanted in groups.items():
        names = {run.id for run in wanted}
        for run in ingest(list(sources), everything.plan).runs:
            name = next((n for n in (run.id, f"{run.path}:{run.id}") if n in names), None)
            if name is not None and name not in found:
                run.id = name
                found[name] = run
    return found


def _sources_of(run: Run, everything: Everything) -> list[Source]:
    """The inputs that hold a run: those read in one job with it, in that order."""
    by_path = {source.path: source for source in everything.found.sources}
    for result in everything.results:
        if any(found.run is run for found in result.runs):
            return [by_path[item.path] for item in result.inputs]
    return [by_path[run.path]]


def part_in(finding: Finding, run: str) -> Finding | None:
    """A finding as far as it lies in one run; None if none of it does. Over several runs, places
    in other runs get the step -1."""
    if finding.onset.run == finding.last.run:
        return finding if finding.run == run else None
    steps = [entry for entry in finding.waste.steps if entry.run == run]
    if not steps and run not in (finding.run, finding.onset.run, finding.last.run):
        return None

    def here(place: Place) -> Place:
        return place if place.run == run else replace(place, step=-1)

    onset, last = here(finding.onset), here(finding.last)
    if steps and onset.step < 0:  # a link in the middle: its first redundant step
        onset = replace(onset, step=steps[0].step)
    if steps and last.step < 0:
        last = replace(last, step=steps[-1].step)
    waste = replace(finding.waste, steps=steps)
    first = here(finding.first_seen)
    return replace(finding, first_seen=first, onset=onset, last=last, waste=waste)


__all__ = ["again", "again_all", "find_run", "part_in"]
