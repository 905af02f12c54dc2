"""What a guard would have saved on a finding, and how long spins lasted.

After a guard's first intervention the recorded tail is no longer what would have happened, so a
saving is a range: from the first stop (warnings ignored) to the first intervention (obeyed at
once).
"""

from __future__ import annotations

from collections.abc import Iterable

from loopaudit.findings import Finding, Spin, Stop, Trip
from loopaudit.replay.results import UNKNOWN, RunResult
from loopaudit.replay.totals import Priced, charge


def interventions(finding: Finding, trips: Iterable[Trip]) -> list[Trip]:
    """The trips of one guard that matter for a finding, in order of step.

    They are the first stop before the finding's first occurrence (it would have prevented all of
    it), then the first intervention and the first stop from there to the last step.
    """
    early: Trip | None = None
    first: Trip | None = None
    stop: Trip | None = None
    for trip in trips:
        if trip.step > finding.last.step:
            break
        if trip.step < finding.first_seen.step:
            if early is None and trip.level.stops:
                early = trip
            continue
        if first is None:
            first = trip
        if trip.level.stops:
            stop = trip
            break
    chosen = (early, first, None if stop is first else stop)
    return [trip for trip in chosen if trip is not None]


def stops_of(finding: Finding, found: RunResult, priced: Priced) -> list[Stop]:
    """One entry a guard and level; savings count from the entry's own step."""
    stops = []
    for guard, trips in found.trips.items():
        own = [t for t in trips if t.step not in found.inherited]
        for trip in interventions(finding, own):
            saved = charge(
                [w for w in finding.waste.steps if w.step >= trip.saves_from], found, priced, None
            )
            stops.append(
                Stop(
                    guard=guard,
                    detector=trip.detector,
                    level=trip.level,
                    threshold=trip.threshold,
                    step=trip.step,
                    saved_tokens_at_most=None if finding.waste.tokens is None else saved.tokens,
                    saved_usd_at_most=None if finding.waste.usd is None else saved.usd,
                    saves_from=trip.saves_from,
                )
            )
    return stops


def spin_length(finding: Finding) -> int:
    """Steps from onset to last; over several runs only those that were redundant."""
    if finding.onset.run != finding.last.run:
        return len(finding.waste.steps)
    return finding.last.step - finding.onset.step + 1


def mean_spins(findings: list[tuple[Finding, RunResult, Priced]], all_tokens: int | None) -> Spin:
    """Mean steps from onset to last, as recorded and cut at each guard's first intervention."""
    spin = Spin()
    if not findings:
        return spin
    findings = [entry for entry in findings if not entry[0].waste.unknown]  # attempts are no steps
    if not findings:
        return spin
    lengths = [spin_length(f) for f, _, _ in findings]
    spin.mean_steps_recorded = sum(lengths) / len(lengths)
    guards = list(dict.fromkeys(g for _, found, _ in findings for g in found.trips))
    for guard in guards:
        cut = []
        saved: set[tuple[str, int]] = set()
        tokens = 0
        known = False
        for (finding, found, _), length in zip(findings, lengths, strict=True):
            first = next((s for s in finding.stops if s.guard == guard), None)
            if first is None:
                cut.append(length)
                continue
            if finding.onset.run != finding.last.run:  # steps of several runs
                spared = first.saved_tokens_at_most or 0
                share = spared / finding.waste.tokens if finding.waste.tokens else 0.0
                cut.append(round(length * (1 - share)))
                tokens += spared
                known = known or finding.waste.tokens is not None
                continue
            cut.append(min(length, max(0, first.saves_from - finding.onset.step)))
            for entry in finding.waste.steps:
                place = (entry.run, entry.step)
                total = found.columns.total[entry.step]
                if entry.step >= first.saves_from and place not in saved and total != UNKNOWN:
                    saved.add(place)
                    tokens += round(total * entry.part)
                    known = True
        spin.mean_steps_guarded[guard] = sum(cut) / len(cut)
        spin.tokens_saved_share[guard] = tokens / all_tokens if known and all_tokens else None
    return spin
