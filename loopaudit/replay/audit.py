"""The whole of `report`: paths in, a `Report` out. It yields and does not talk."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import partial

from loopaudit import __version__, plugins, store, task_types
from loopaudit.effects import ToolTable
from loopaudit.errors import UsageError
from loopaudit.findings import (
    Finding,
    GuardResult,
    OutcomeBy,
    Report,
    RunSummary,
    Totals,
    Undecidable,
    Verdict,
)
from loopaudit.guards import presets
from loopaudit.ingest.head import NOBODYS
from loopaudit.ingest.results import Keep
from loopaudit.ingest.salvage import CUT_TAIL
from loopaudit.ingest.sources import Found, Source, discover
from loopaudit.masks import from_settings
from loopaudit.model import Skip
from loopaudit.money import prepare, usd
from loopaudit.replay import cached, run_labels
from loopaudit.replay.cached import Cache, KnownPrices
from loopaudit.replay.delegation import delegated
from loopaudit.replay.merge import inherited_unseen, joint_jobs, unite
from loopaudit.replay.meter import meter
from loopaudit.replay.outcomes import settle
from loopaudit.replay.pool import uncollected
from loopaudit.replay.results import JobResult, RunResult
from loopaudit.replay.run_labels import RunLabels
from loopaudit.replay.savings import mean_spins, stops_of
from loopaudit.replay.stored import take
from loopaudit.replay.tools import worst_tools
from loopaudit.replay.totals import (
    Ledger,
    Priced,
    add_tokens,
    charge,
    conclude,
    estimate_outputs,
    note_gaps,
    price,
    price_book,
    recorded_usd,
    run_pico,
    run_sum,
    run_tokens,
    run_usd,
    union,
)
from loopaudit.replay.worker import DEFAULT_GUARD, Plan
from loopaudit.settings import Settings

#: a run whose last event is younger than this is said to be still running, seconds
STILL_RUNNING = 600.0
#: reasons for a skip that lose nothing that was meant to be counted
_HARMLESS = ("empty", "a folder, not a file", NOBODYS, CUT_TAIL)


@dataclass(slots=True)
class AuditOptions:
    """What to read and how to judge it. Times are seconds since the epoch; `until` is exclusive."""

    paths: list[str]
    log_format: str | None = None
    guards: tuple[str, ...] = ()
    since: float | None = None
    until: float | None = None
    task_type: str | None = None
    processes: int | None = None
    settings: Settings | None = None
    progress: Callable[[int, int], None] | None = None  # bytes done, bytes in all
    excerpts: bool = False
    estimate: bool = False  # count what a log tells not at all, or only the beginning of
    traced: tuple[presets.Preset, ...] = ()  # sets whose counts are kept (see `replay.crossing`)
    labels: str | None = None  # file of labels of runs; None: `runs` of [labels], if that is there
    now: float | None = None  # for "still running"; None: the clock
    cache: bool = False  # take what was read before from the user's cache, and keep what is new


@dataclass(slots=True)
class AuditedRun:
    """One run with its prices and the findings that are its own."""

    found: RunResult
    priced: Priced
    summary: RunSummary
    findings: list[Finding] = field(default_factory=list)


def audit(options: AuditOptions) -> Report:
    """Read, replay, price and rank. Raises `LoopauditError` when nothing at all can be read."""
    return analyse(options)[0]


def analyse(options: AuditOptions) -> tuple[Report, list[AuditedRun]]:
    """The report, and the runs it was made of with a price for every step."""
    return conclude_all(read_all(options), options)


@dataclass(slots=True)
class Everything:
    """All inputs, read and replayed."""

    plan: Plan
    found: Found
    results: list[JobResult]
    cache: str = ""  # what the cache had of them, or why it is not used, in words
    labels: RunLabels | None = None
    prices: KnownPrices | None = None


def read_all(options: AuditOptions) -> Everything:
    plan = make_plan(options)
    labels = run_labels.of(options.labels, options.settings or Settings())
    plan = plan if labels is None else replace(plan, labels=labels.types())
    place = store.read(options.settings or Settings()) if options.cache else None
    found = discover(options.paths)
    known = take(found, plan)  # results made elsewhere
    cache = cached.opened(plan, place, found.sources, options.settings or Settings())
    try:
        results = known.results + _read(found.sources, cache, options)
    finally:
        cache.close()
    found.sources += known.sources
    return Everything(plan, found, results, cache.told, labels, cache.prices)


def conclude_all(everything: Everything, options: AuditOptions) -> tuple[Report, list[AuditedRun]]:
    """Drop what stands twice, price, rank and judge."""
    with uncollected():
        return _conclude_all(everything, options)


def _conclude_all(everything: Everything, options: AuditOptions) -> tuple[Report, list[AuditedRun]]:
    plan, found, results = everything.plan, everything.found, everything.results
    report = Report(__version__)
    report.skips = list(found.skips)
    runs: list[RunResult] = []
    repaired: dict[str, int] = {}
    cut_tails: set[str] = set()
    for result in results:
        report.inputs += result.inputs
        report.skips += result.skips
        report.failures += result.failures
        runs += result.runs
        cut_tails.update(result.cut_tails)
        for what, count in result.repaired.items():
            repaired[what] = repaired.get(what, 0) + count
    report.inputs.sort(key=lambda i: i.path)
    report.skips.sort(key=lambda s: (s.path, s.line or 0))
    runs, copies = unite(runs, [run for result in results for run in result.mentioned])
    now = time.time() if options.now is None else options.now
    used = settle(runs, everything.labels, cut_tails)
    fresh = {s.path for s in found.sources if now - s.mtime < STILL_RUNNING}
    for skip in report.skips:
        if skip.reason == CUT_TAIL and skip.path not in fresh:
            skip.reason = "cut last line"  # nobody writes there any more: it is lost
    audited = _price_all(runs, options, report, now, everything.prices)
    report.totals.duplicates_removed += copies
    meter([(item.found, item.priced) for item in audited], plan.guards)
    _rank(audited, report, plan)
    _judge_guards(audited, plan, report)
    report.meta |= {
        "paths": options.paths,
        "log_format": options.log_format,
        "now": now,
        "other_files": found.other_files,
        "repaired": repaired,
        "cut_tails": sorted(cut_tails),
        "since": options.since,
        "until": options.until,
        "labels": used,
    }
    return report, audited


def make_plan(options: AuditOptions) -> Plan:
    """Options and settings in the form that workers take. Raises `ConfigError`, `UsageError`."""
    settings = options.settings or Settings()
    user = settings.table("guards")
    load = partial(presets.load, user=user, place=partial(settings.place, "guards"))
    default = load(DEFAULT_GUARD)
    by_name = {preset.name: preset for preset in map(load, options.guards)}
    guards = tuple(default if p.set == DEFAULT_GUARD else p for p in by_name.values())
    guards = guards or (default,)
    for preset in (default, *guards):
        presets.unreachable(preset)  # makes every detector once: a bad option is met here
    needs_text = any(preset.needs_text for preset in (*guards, *options.traced))
    keep = Keep(vectors=needs_text)
    if options.excerpts:
        keep = Keep(args=500, result=500, error=500, text=500, vectors=needs_text)
    if options.since is not None and options.until is not None and options.since >= options.until:
        raise UsageError("--since is not before --until")
    return Plan(
        guards=guards,
        default=default,
        log_format=options.log_format,
        formats=plugins.from_settings(settings),
        task_type=options.task_type,
        keep=keep,
        mask=from_settings(settings.table("masks"), partial(settings.place, "masks")),
        tools=ToolTable(settings.table("tools"), settings.place),
        task_rules=task_types.read(
            settings.table("task_types"), partial(settings.place, "task_types")
        ),
        count_tokens=options.estimate,
        traced=options.traced,
    )


def _read(sources: list[Source], cache: Cache, options: AuditOptions) -> list[JobResult]:
    """All jobs, and again those whose files turn out to hold parts of the same runs."""
    jobs = [[source] for source in sources]
    total = sum(s.size for s in sources)
    done = 0

    def progress(size: int) -> None:
        nonlocal done
        done += size
        if options.progress is not None:
            options.progress(min(done, total), total)

    results = cache.run(jobs, options.processes, progress, prepare)
    groups = joint_jobs(jobs, results)
    if groups:
        joined = [[s for n in group for s in jobs[n]] for group in groups]
        again = cache.run(joined, options.processes)
        gone = {n for group in groups for n in group}
        results = [r for n, r in enumerate(results) if n not in gone] + again
    return results


def _price_all(
    runs: list[RunResult],
    options: AuditOptions,
    report: Report,
    now: float,
    known: KnownPrices | None,
) -> list[AuditedRun]:
    book = price_book(options.settings or Settings())
    window = (options.since, options.until)
    windowed = window != (None, None)
    ledger = Ledger()
    totals = report.totals
    audited: list[AuditedRun] = []
    outside: list[RunResult] = []
    money = 0
    priced_any = False
    for found in runs:
        if options.estimate:
            estimate_outputs(found)
        priced = price(found, book, window, b"" if known is None else known.by)
        if windowed and not priced.own:
            outside.append(found)
            continue
        note_gaps(found, priced, ledger)
        summary = _summary(found, priced)
        last = found.run.ended  # a log without times cannot tell
        summary.still_running = last is not None and 0 <= now - last < STILL_RUNNING
        if summary.still_running and summary.outcome_by is OutcomeBy.INFERRED:
            summary.outcome = summary.outcome_source = summary.outcome_by = None  # not over yet
        totals.runs += 1
        totals.responses += len(priced.own) - run_sum(found.columns.compaction, priced.own)
        totals.calls += summary.calls
        totals.calls_failed += summary.calls_failed
        totals.duplicates_removed += found.run.duplicates
        totals.tokens = add_tokens(totals.tokens, summary.tokens)
        if summary.inherited_tokens is not None:
            totals.inherited_tokens = (totals.inherited_tokens or 0) + summary.inherited_tokens
        cost = run_pico(priced, priced.own)
        if cost is not None:
            money += cost
            priced_any = True
        if summary.recorded_usd is not None:
            totals.recorded_usd = (totals.recorded_usd or Decimal()) + summary.recorded_usd
        audited.append(AuditedRun(found, priced, summary))
    totals.usd = usd(money) if priced_any else None
    if priced_any:
        ends = [one.found.run.ended for one in audited]
        last = None if None in ends else max(end for end in ends if end is not None)
        totals.price_date = book.price_date(last, None if known is None else known.dates)
    conclude(totals, ledger, _losses(report))
    totals.reasons += inherited_unseen(runs)
    report.meta["outside"] = _extent(outside)
    return audited


def _extent(runs: list[RunResult]) -> tuple[int, float | None, float | None] | None:
    """How many runs, their first and last moment."""
    started = min((r.run.started for r in runs if r.run.started is not None), default=None)
    ended = max((r.run.ended for r in runs if r.run.ended is not None), default=None)
    return (len(runs), started, ended) if runs else None


def lost_records(report: Report) -> list[Skip]:
    """Records that were meant to be counted and could not be read."""
    return [s for s in report.skips if s.line is not None and s.reason not in _HARMLESS]


def own_totals(item: AuditedRun, report: Report) -> Totals:
    """How complete the figures of one run are, by its own inputs: marks and reasons, no sums."""
    ledger, totals = Ledger(), Totals()
    note_gaps(item.found, item.priced, ledger)
    own = {item.found.run.path, *item.found.columns.paths.values()}
    part = Report(__version__)
    part.skips = [skip for skip in report.skips if skip.path in own]
    part.failures = [failure for failure in report.failures if failure.run == item.summary.id]
    conclude(totals, ledger, _losses(part))
    return totals


def _losses(report: Report) -> list[str]:
    """What was meant to be read and could not be, in words."""
    lines = lost_records(report)
    files = [s for s in report.skips if s.line is None and not s.reason.startswith(_HARMLESS)]
    reasons = []
    if lines:
        where = len({s.path for s in lines})
        count = sum(s.count for s in lines)
        reasons.append(
            f"{count:,} record{'s' if count > 1 else ''} unreadable in {where:,} "
            f"file{'s' if where > 1 else ''}"
        )
    if files:
        reasons.append(f"{len(files):,} file{'s' if len(files) > 1 else ''} could not be read")
    if report.failures:
        reasons.append(f"{len(report.failures):,} failure(s) of loopaudit or an extension")
    return reasons


def _summary(found: RunResult, priced: Priced) -> RunSummary:
    run, table = found.run, found.columns
    everything = range(len(table))
    windowed = len(priced.own) + len(found.inherited) < len(table)
    calls = run_sum(table.calls, priced.own)
    inherited = run_tokens(found, found.inherited).total if found.inherited else None
    return RunSummary(
        id=run.id,
        parent=run.parent,
        path=run.path,
        format=run.format,
        agent=run.agent,
        task_type=run.task_type,
        outcome=run.outcome,
        outcome_source=run.outcome_source,
        outcome_by=found.outcome_by,
        task_type_source=run.task_type_source,
        steps=len(priced.own) if windowed or found.inherited else len(everything),
        calls=calls,
        calls_failed=run_sum(table.failed, priced.own),
        started=run.started,
        ended=run.ended,
        tokens=run_tokens(found, priced.own),
        usd=run_usd(priced, priced.own),
        inherited_tokens=inherited,
        recorded_usd=recorded_usd(found, priced.own),
        models=sorted({m for m in table.models if m is not None}),
        session=run.session,
        project=run.project,
        version=run.version,
        missing=sorted(run.missing),
    )


def _rank(audited: list[AuditedRun], report: Report, plan: Plan) -> None:
    """Price the waste, drop what another run owns, sort by money, then tokens, then place."""
    money = tokens = read = 0
    known_money = known_tokens = estimated = False
    for item in audited:
        _price_findings(item)
    across = delegated(audited, plan.default)
    for item in audited:
        found, summary, total = item.found, item.summary, item.summary.tokens.total
        report.not_loops += [n for n in found.not_loops if n.step in item.priced.counts]
        own = [w for w in union([*item.findings, *across]) if w.run == found.run.id]
        summary.waste = charge(own, found, item.priced, total)
        report.runs.append(summary)
        report.findings += item.findings
        waste = report.totals.waste
        waste.steps += summary.waste.steps
        if summary.waste.tokens is not None:
            tokens += summary.waste.tokens
            read += summary.waste.cache_read or 0
            known_tokens |= bool(summary.waste.steps)  # a run without waste tells nothing of others
        if summary.waste.usd is not None:
            money += int(summary.waste.usd.scaleb(12))
            known_money = True
        estimated |= summary.waste.estimated
    waste = report.totals.waste
    waste.estimated = estimated
    if known_tokens or not waste.steps:
        waste.tokens, waste.cache_read = tokens, read
        if report.totals.tokens.total:
            waste.share = tokens / report.totals.tokens.total
    if known_money:
        waste.usd = usd(money)
    report.findings.sort(
        key=lambda f: (
            -(f.waste.usd if f.waste.usd is not None else Decimal(-1)),
            -(f.waste.tokens if f.waste.tokens is not None else -1),
            f.onset.path,
            f.onset.line,
            f.rule,
        )
    )
    report.spin = mean_spins(_pairs(audited), report.totals.tokens.total)
    report.tools = worst_tools([(item.found, item.priced, item.findings) for item in audited])


def _price_findings(item: AuditedRun) -> None:
    found, total = item.found, item.summary.tokens.total
    for finding in found.findings:
        charged, told = len(finding.waste.steps), finding.waste
        if not charged and finding.onset.step not in item.priced.counts and found.columns.ids:
            continue  # outside the time window
        finding.waste = charge(told.steps, found, item.priced, total)
        if charged and not finding.waste.steps:
            continue  # all of it inherited, or outside the time window
        finding.waste.waited, finding.waste.resent = told.waited, told.resent
        finding.waste.unknown = told.unknown
        finding.stops = stops_of(finding, found, item.priced)
        item.findings.append(finding)


def _pairs(audited: list[AuditedRun]) -> list[tuple[Finding, RunResult, Priced]]:
    return [(f, item.found, item.priced) for item in audited for f in item.findings]


def _judge_guards(audited: list[AuditedRun], plan: Plan, report: Report) -> None:
    for preset in plan.guards:
        result = GuardResult(preset.name, unreachable=presets.unreachable(preset))
        for item in audited:
            run = item.found.run.id
            trips = [
                t
                for t in item.found.trips.get(preset.name, ())
                if t.step not in item.found.inherited
            ]
            result.verdicts += [Verdict(run, trip) for trip in trips]
            result.runs_stopped += any(t.level.stops for t in trips)
            result.undecidable += [
                Undecidable(run, detector, needs)
                for detector, needs in item.found.undecidable.get(preset.name, ())
            ]
        report.guards.append(result)
