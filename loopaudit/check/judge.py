"""Holds what was measured against limits, a baseline or other settings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal

from loopaudit.check.codes import Level
from loopaudit.check.options import LIMITS, SHARES, CheckOptions, Limit
from loopaudit.check.snapshot import Measured, Outcome, RunRow, Snapshot, TypeRow
from loopaudit.errors import ExitCode
from loopaudit.findings import Completeness, Report


@dataclass(frozen=True, slots=True)
class Spot:
    """A place in a log that shows why."""

    run: str
    path: str
    line: int
    step: int | None = None
    finding: str | None = None  # fingerprint


@dataclass(frozen=True, slots=True)
class Judgement:
    """One reason, whatever comes of it."""

    code: str
    level: Level
    message: str
    task_type: str | None = None
    guard: str | None = None
    limit: str | None = None  # name of the limit
    allowed: float | None = None
    measured: float | None = None
    runs: int | None = None  # of which it was measured
    spots: tuple[Spot, ...] = ()


@dataclass(frozen=True, slots=True)
class Change:
    """A run on which a guard now acts otherwise."""

    run: str
    task_type: str
    standing: str
    guard: str
    before: Outcome
    after: Outcome
    spot: Spot

    @property
    def worse(self) -> str:
        """In what way it got worse, "" if it did not."""
        if self.standing == "healthy" and self.after.stop and not self.before.stop:
            return "a healthy run is interrupted"
        if self.standing == "stuck" and self.before.stop and not self.after.stop:
            return "a stuck run is no longer stopped"
        return ""


@dataclass(slots=True)
class CheckResult:
    """All that `check` has to say."""

    judgements: list[Judgement]
    new: Snapshot
    old: Snapshot | None = None
    old_name: str = ""
    changes: list[Change] = field(default_factory=list)
    added: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)

    def at(self, level: Level) -> list[Judgement]:
        return [j for j in self.judgements if j.level is level]

    @property
    def code(self) -> ExitCode:
        if any(j.code == "broken" for j in self.judgements):
            return ExitCode.INTERNAL
        if self.at(Level.ERROR):
            return ExitCode.LIMIT
        return ExitCode.UNKNOWN if self.at(Level.UNKNOWN) else ExitCode.PASS

    @property
    def verdict(self) -> str:
        """One line."""
        errors, warns = len(self.at(Level.ERROR)), len(self.at(Level.WARN))
        unknown = len(self.at(Level.UNKNOWN))
        words = {
            ExitCode.PASS: "PASS",
            ExitCode.LIMIT: "FAIL",
            ExitCode.UNKNOWN: "CANNOT SAY",
            ExitCode.INTERNAL: "BROKEN",
        }[self.code]
        passed = len(self.at(Level.OK))
        parts = [f"{passed} passed"]
        parts += [f"{errors} failed"] if errors else []
        parts += [f"{warns} warned"] if warns else []
        parts += [f"{unknown} cannot be said"] if unknown else []
        return f"{words}: {', '.join(parts)}; {len(self.new.runs):,} runs"

    @property
    def changed(self) -> bool:
        """Is there anything to tell beyond that all is as it was?"""
        told = (Level.ERROR, Level.WARN, Level.UNKNOWN)
        return bool(self.changes or any(j.level in told for j in self.judgements))


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
        found += _type(new, task_type, options)
    found += _unreachable(report, options)
    found += _suppressions(report, options, today)
    result = CheckResult(found, new)
    if baseline is not None:
        compare(result, baseline, "the baseline")
        found += _against_baseline(result, options)
    _sort(found)
    return result


def against(result: CheckResult, other: Snapshot, name: str) -> None:
    """Add what other settings, or another guard, do on the same logs, and where they do better."""
    compare(result, other, name)
    result.judgements += _regressions(result)
    _sort(result.judgements)


_ORDER = {level: n for n, level in enumerate(reversed(Level))}


def _sort(found: list[Judgement]) -> None:
    """Worst first; within a level by code, type, guard."""
    found.sort(key=lambda j: (_ORDER[j.level], j.code, j.task_type or "", j.guard or ""))


def _broken(report: Report) -> Iterator[Judgement]:
    for failure in report.failures:
        spots = (Spot(failure.run or "", failure.path, 1),) if failure.path else ()
        yield Judgement("broken", Level.ERROR, f"{failure.owner}: {failure.message}", spots=spots)


# -- limits ---------------------------------------------------------------------------------------


def _type(new: Snapshot, task_type: str, options: CheckOptions) -> Iterator[Judgement]:
    row = new.types[task_type]
    own = [m for m in new.measured if m.task_type == task_type]
    for name, limit in options.of(task_type).items():
        made: Iterable[Judgement]
        if name in SHARES:
            made = _shares(name, limit, row, new, task_type, options.min_runs)
        elif name.endswith("_per_run"):
            made = [_per_run(name, limit, own, task_type)]
        else:
            made = [_total(name, limit, own, task_type)]
        yield from made


def _shares(
    name: str, limit: Limit, row: TypeRow, new: Snapshot, task_type: str, least: int
) -> Iterator[Judgement]:
    """Of healthy runs that each guard interrupts, or of loops that it misses."""
    of = row.healthy if name == "false_stops" else row.loops
    what = "healthy runs interrupted" if name == "false_stops" else "loops missed"
    noun = "healthy runs" if name == "false_stops" else "loops"
    for guard in new.guards:
        hits = (row.interrupted if name == "false_stops" else row.missed).get(guard, 0)
        made = Judgement(LIMITS[name], Level.OK, "", task_type, guard, name, limit.lowest, None, of)
        if name == "loops_missed" and not of:
            yield replace(made, message="no loops to miss")
            continue
        if of < least:
            message = f"too few {noun} ({of} < {least}) to judge a share of {what}; {hits} are"
            yield replace(made, code="too-few-runs", level=Level.UNKNOWN, message=message)
            continue
        share = hits / of
        level = limit.level(share)
        spots = tuple(_interrupted(new, task_type, guard)) if name == "false_stops" else ()
        spots = spots or tuple(_missed(new, task_type, guard))
        yield replace(
            made,
            level=level,
            measured=share,
            allowed=_bound(limit, level),
            message=f"{share:.2%} {what} ({hits} of {of}), limit {_bound(limit, level):.2%}",
            spots=spots if level is not Level.OK else (),
        )


def _interrupted(new: Snapshot, task_type: str, guard: str) -> Iterator[Spot]:
    for one in new.measured:
        row = new.runs[one.id]
        stop = row.outcomes[guard].stop
        if one.task_type == task_type and row.standing == "healthy" and stop is not None:
            yield spot_of(one, stop.step)


def _missed(new: Snapshot, task_type: str, guard: str) -> Iterator[Spot]:
    for one in new.measured:
        if one.task_type != task_type:
            continue
        trips = one.item.found.trips.get(guard, ())
        first = min((t.saves_from for t in trips if t.level.stops), default=None)
        for finding in one.findings:
            if first is None or first > finding.last.step:
                place = finding.onset
                yield Spot(one.id, place.path, place.line, place.step, finding.id)


def _bound(limit: Limit, level: Level) -> float:
    """The number that was broken; of what passed the one that fails first."""
    if level is Level.ERROR and limit.error is not None:
        return limit.error
    return limit.lowest


def _value(one: Measured, name: str) -> float | Decimal | None:
    return {
        "waste_usd": one.waste_usd,
        "waste_tokens": one.waste_tokens,
        "cost_usd": one.cost_usd,
        "waste_usd_per_run": one.waste_usd,
        "waste_tokens_per_run": one.waste_tokens,
        "cost_usd_per_run": one.cost_usd,
        "tokens_per_run": one.tokens,
        "steps_per_run": one.steps,
        "seconds_per_run": one.seconds,
    }[name]


def _per_run(name: str, limit: Limit, own: Sequence[Measured], task_type: str) -> Judgement:
    """Each run by itself: the worst one decides, all that break the limit are named."""
    known = [(float(v), m) for m in own if (v := _value(m, name)) is not None]
    broken = sorted(
        ((v, m) for v, m in known if limit.level(v) is not Level.OK), key=lambda p: (-p[0], p[1].id)
    )
    worst = max((v for v, _ in known), default=None)
    made = Judgement(
        LIMITS[name], Level.OK, "", task_type, None, name, limit.lowest, worst, len(own)
    )
    if broken:
        level = limit.level(broken[0][0])
        spots = tuple(spot_of(m, _worst_step(m, name, limit)) for _, m in broken)
        bound = _bound(limit, level)
        return replace(
            made, level=level, allowed=bound, spots=spots,
            message=f"{_amount(broken[0][0], name)} in run {broken[0][1].id}, limit"
            f" {_amount(bound, name)}; broken by {len(broken)} of {len(own)} runs",
        )  # fmt: skip
    if (unsure := _unsure(name, own)) is not None:
        code, message = unsure
        return replace(made, code=code, level=Level.UNKNOWN, message=message)
    most = "nothing" if worst is None else f"at most {_amount(worst, name)}"
    return replace(made, message=f"{most} in a run, limit {_amount(limit.lowest, name)}")


def _total(name: str, limit: Limit, own: Sequence[Measured], task_type: str) -> Judgement:
    known = [v for m in own if (v := _value(m, name)) is not None]
    total = float(sum(known))
    level = limit.level(total)
    made = Judgement(
        LIMITS[name], level, "", task_type, None, name, _bound(limit, level), total, len(own)
    )
    text = f"{_amount(total, name)} in {len(own)} runs, limit {_amount(_bound(limit, level), name)}"
    if level is not Level.OK:
        ranked = sorted(
            (m for m in own if _value(m, name)), key=lambda m: (-float(_value(m, name) or 0), m.id)
        )
        return replace(made, message=text, spots=tuple(spot_of(m) for m in ranked))
    if (unsure := _unsure(name, own)) is not None:
        code, message = unsure
        return replace(made, code=code, level=Level.UNKNOWN, message=message)
    return replace(made, message=text)


def _unsure(name: str, own: Sequence[Measured]) -> tuple[str, str] | None:
    """Why a limit that is not broken by what is known may be broken all the same."""
    if "usd" in name:
        unpriced = sum(m.unpriced for m in own)
        if unpriced:
            return "unpriced", f"{name}: {unpriced:,} tokens without a price"
    silent = sum(_value(m, name) is None for m in own)
    if silent:
        what = "times" if name == "seconds_per_run" else "usage"
        return "not-measured", f"{name}: {silent} of {len(own)} runs have no {what}"
    return None


def _amount(value: float, name: str) -> str:
    if "usd" in name:
        return f"${value:,.4f}" if abs(value) < 1 else f"${value:,.2f}"
    if name == "seconds_per_run":
        return f"{value:,.10g} s"
    return f"{value:,.10g} {'steps' if name == 'steps_per_run' else 'tokens'}"


def _worst_step(one: Measured, name: str, limit: Limit) -> int | None:
    """The step with which the limit was broken, where it is a sum over steps."""
    table, bound = one.item.found.columns, limit.lowest
    if name == "steps_per_run":
        return min(int(bound), len(table) - 1)
    if name == "tokens_per_run":
        spent = 0
        for step in one.item.priced.own:
            spent += max(table.total[step], 0)
            if spent > bound:
                return step
    return None


def spot_of(one: Measured, step: int | None = None) -> Spot:
    """A place in the run: of a step, else the onset of its costliest loop, else its first line."""
    found = one.item.found
    table, run = found.columns, found.run
    if step is not None and 0 <= step < len(table):
        return Spot(one.id, table.paths.get(step, run.path), max(table.line[step], 1), step)
    if step is not None and len(table):  # before a step that never came
        return spot_of(one, len(table) - 1)
    if one.findings:
        worst = max(one.findings, key=lambda f: (len(f.waste.steps), -f.onset.step))
        place = worst.onset
        return Spot(one.id, place.path, max(place.line, 1), place.step, worst.id)
    return Spot(one.id, run.path, max(table.line[0], 1) if len(table) else 1)


# -- thresholds and suppressions ------------------------------------------------------------------


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


# -- comparing ------------------------------------------------------------------------------------


def compare(result: CheckResult, old: Snapshot, name: str) -> None:
    """Fills in what changed since `old`, for the guards and runs that both know."""
    new = result.new
    result.old, result.old_name = old, name
    result.added = sorted(new.runs.keys() - old.runs.keys())
    result.gone = sorted(old.runs.keys() - new.runs.keys())
    for one in new.measured:
        before = old.runs.get(one.id)
        if before is None:
            continue
        after = new.runs[one.id]
        result.changes += _changes(one, before, after)


def _changes(one: Measured, before: RunRow, after: RunRow) -> Iterator[Change]:
    for guard, outcome in after.outcomes.items():
        known = before.outcomes.get(guard)
        if known is None or known.does == outcome.does:
            continue
        act = outcome.first or known.first
        yield Change(
            one.id, after.task_type, after.standing, guard, known, outcome,
            spot_of(one, None if act is None else act.step),
        )  # fmt: skip


def _against_baseline(result: CheckResult, options: CheckOptions) -> Iterator[Judgement]:
    old = result.old
    assert old is not None
    if result.added or result.gone:
        message = f"{len(result.added)} runs are new, {len(result.gone)} are gone"
        yield Judgement("corpus-changed", Level.NOTE, message)
    lost = [guard for guard in result.new.guards if guard not in old.guards]
    for guard in lost:
        message = "the baseline does not know this guard: loopaudit baseline update --reason …"
        yield Judgement("verdict-changed", Level.UNKNOWN, message, guard=guard)
    if options.verdict_changes is Level.OK:
        return
    for change in result.changes:
        worse = f"; {change.worse}" if change.worse else ""
        yield Judgement(
            "verdict-changed", options.verdict_changes,
            f"run {change.run}: {change.before.words()} -> {change.after.words()}{worse}",
            change.task_type, change.guard, spots=(change.spot,),
        )  # fmt: skip
    if not result.changes and not lost:
        yield Judgement("verdict-changed", Level.OK, "every verdict is as in the baseline")


def _regressions(result: CheckResult) -> Iterator[Judgement]:
    """Where it got worse than the settings it is compared with, type by type and guard by guard."""
    old = result.old
    assert old is not None
    for task_type, row in result.new.types.items():
        before = old.types.get(task_type)
        if before is None:
            continue
        for guard in result.new.guards:
            for what, new_count, old_count in (
                ("healthy runs interrupted", row.interrupted, before.interrupted),
                ("loops missed", row.missed, before.missed),
            ):
                a, b = old_count.get(guard, 0), new_count.get(guard, 0)
                worse = [
                    c.spot
                    for c in result.changes
                    if c.guard == guard and c.task_type == task_type and b > a
                ]
                yield Judgement(
                    "regression", Level.ERROR if b > a else Level.OK, f"{what}: {a} -> {b}",
                    task_type, guard, measured=b, allowed=a, runs=row.runs, spots=tuple(worse),
                )  # fmt: skip
