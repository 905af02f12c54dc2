"""The whole check: limits, suppressions, thresholds out of reach, and what it is compared with."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from loopaudit.check import limits
from loopaudit.check.codes import Level
from loopaudit.check.comparing import against_baseline, compare, regressions
from loopaudit.check.options import CheckOptions
from loopaudit.check.result import CheckResult, Judgement, Spot
from loopaudit.check.snapshot import Snapshot
from loopaudit.findings import Completeness, Report


def judge(
    report: Report,
    new: Snapshot,
    options: CheckOptions,
    today: date,
    *,
    baseline: Snapshot | None = None,
    strict: bool = False,
) -> CheckResult:
    """All limits, suppressions, thresholds and the baseline."""
    found = list(_broken(report))
    if not new.measured or not (report.totals.responses or report.totals.calls):
        found.append(Judgement("nothing-measured", Level.UNKNOWN, "nothing measured in the inputs"))
    if strict and report.totals.completeness is Completeness.PARTIAL:
        reasons = "; ".join(report.totals.reasons)
        found.append(Judgement("partial-input", Level.UNKNOWN, f"partial input: {reasons}"))
    for task_type in new.types:
        found += limits.judgements(new, task_type, options)
    found += _unreachable(report, options)
    found += _suppressions(report, options, today)
    result = CheckResult(found, new)
    if baseline is not None:
        compare(result, baseline, "the baseline")
        found += against_baseline(result, options)
    result.sort()
    return result


def against(result: CheckResult, other: Snapshot, name: str) -> None:
    """Add what other settings, or another guard, do on the same logs, and where they do better."""
    compare(result, other, name)
    result.judgements += regressions(result)
    result.sort()


def _broken(report: Report) -> Iterator[Judgement]:
    for failure in report.failures:
        spots = (Spot(failure.run or "", failure.path, 1),) if failure.path else ()
        yield Judgement("broken", Level.ERROR, f"{failure.owner}: {failure.message}", spots=spots)


def _unreachable(report: Report, options: CheckOptions) -> Iterator[Judgement]:
    for guard in report.guards:
        lines = guard.unreachable
        if options.unreachable is Level.OK:
            continue
        if not lines:
            yield Judgement(
                "unreachable-threshold", Level.OK, "every threshold can be reached",
                guard=guard.preset,
            )  # fmt: skip
        for line in lines:
            yield Judgement("unreachable-threshold", options.unreachable, line, guard=guard.preset)


def _suppressions(report: Report, options: CheckOptions, today: date) -> Iterator[Judgement]:
    by_id = {finding.id: finding for finding in report.findings}
    for one in options.suppressed:
        finding = by_id.get(one.finding)
        spots: tuple[Spot, ...] = ()
        if finding is not None:
            place = finding.onset
            spots = (Spot(finding.run, place.path, max(place.line, 1), place.step, finding.id),)
        if one.until is not None and today > one.until:
            message = f"the suppression of {one.finding} expired on {one.until}: {one.reason}"
            yield Judgement("suppression-expired", Level.ERROR, message, spots=spots)
        elif finding is None:
            message = f"no finding {one.finding} here: {one.reason}"
            yield Judgement("suppression-unused", Level.WARN, message)


def active(options: CheckOptions, today: date) -> set[str]:
    """Fingerprints of the findings that do not count today."""
    return {s.finding for s in options.suppressed if s.until is None or today <= s.until}
