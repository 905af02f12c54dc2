"""The figures as text: all of them for the screen, the gist for the README."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import fill

from . import figures as f
from .ledger import Agreement
from .sets import DEFAULT, Judged, Set

FIXED_STEPS = (3, 5, 8)
#: rows of the tables that are not shown in full
MAIN = (
    DEFAULT,
    "2 equal calls",
    "3 equal calls",
    "watchdog:demo",
    "watchdog:production",
    "backstop:demo",
    "backstop:production",
    "fuses:demo",
)


def of_set(name: str, entry: f.Figures) -> Iterator[str]:
    """Every rule on one set."""
    good, bad, calls = entry["successes"], entry["failures"], entry["calls"]
    yield f"{name}: {good:,} successes, {bad:,} failures, {calls:,} calls"
    if not good:
        yield "  nothing succeeded: named, not scored"
    yield (
        f"  {'rule':36} {'success if flagged':>18} {'if not':>7}"
        f" {'killed (95 % interval)':>26} {'caught':>8} {'saves':>7}"
    )
    for rule, counts in entry["rules"].items():
        killed, caught = counts["killed"], counts["caught"]
        flagged = killed + caught
        low, high = f.interval(killed, good)
        share = (
            f"{f.percent(killed, good):.2f} [{100 * low:.2f}, {100 * high:.2f}]" if good else "-"
        )
        yield (
            f"  {rule:36} {_of(killed, flagged):>18} {_of(good - killed, good + bad - flagged):>7}"
            f" {share if good else '-':>26} {f.percent(caught, bad):>8.1f}"
            f" {f.percent(counts['calls_saved'], calls):>7.1f}"
        )
    better = f.beaten(entry)
    if good:
        yield f"  kills no more and catches more than {DEFAULT}: {', '.join(better) or 'no rule'}"


def fixed(entry: Set) -> Iterator[str]:
    """Success of flagged and other runs, among those still going after so many steps."""
    for step in FIXED_STEPS:
        going = [run for run in entry.runs if run.steps > step]
        good = sum(run.success for run in going)
        if not good:
            continue
        yield (
            f"  after {step} steps {len(going):,} runs go on; {_of(good, len(going))} of them"
            " succeed (length alone flags them all)"
        )
        for rule in MAIN:
            flagged = [run for run in going if _by(run, rule, step)]
            others = [run for run in going if not _by(run, rule, step)]
            yield f"    {rule:20} {_success(flagged):>22} flagged, {_success(others):>22} not"


def _by(run: Judged, rule: str, step: int) -> bool:
    at = run.stops[rule]
    return at is not None and at <= step


def _success(runs: Sequence[Judged]) -> str:
    return f"{_of(sum(run.success for run in runs), len(runs))} of {len(runs):,}"


def over_all(found: f.Figures) -> Iterator[str]:
    """Every rule over the scored sets, each weighing the same; and on either half."""
    names = f.scored(found)
    rules = list(found[names[0]]["rules"])
    yield f"all {len(names)} sets in which something succeeded, each weighing the same"
    yield (
        f"  {'rule':36} {'killed':>8} {'caught':>8}   {f.HALVES[0]:>12}   {f.HALVES[1]:>12}"
        f"   worst set"
    )
    for rule in rules:
        killed, caught = f.overall(found, rule)
        halves = [f.overall(found, rule, half) for half in (0, 1)]
        worst = max(names, key=lambda name: f.rates(found[name], rule)[0])
        yield (
            f"  {rule:36} {killed:>8.2f} {caught:>8.1f}   "
            + "   ".join(f"{k:>5.2f} /{c:>5.1f}" for k, c in halves)
            + f"   {f.rates(found[worst], rule)[0]:.2f} ({worst})"
        )


def of_ledger(rule: str, found: Agreement) -> str:
    middle = found.lead[len(found.lead) // 2] if found.lead else None
    late = "" if middle is None else f"; in {found.runs} runs both, the rule {middle:+} calls later"
    return (
        f"  {rule:20} loop at {found.both} turns with the ledger, {found.rule} without it;"
        f" {found.ledger} only in the ledger, {found.neither} in neither;"
        f" kappa {found.kappa:.2f}{late}"
    )


def readme(found: f.Figures) -> str:
    """The table of the README: killed / caught in percent, by set and over all; and the gist."""
    names = f.scored(found)
    head = ["rule", *(name.replace("_", " ") for name in names), "all"]
    rows = [head, ["---", *["--:"] * (len(head) - 1)]]
    for rule in MAIN:
        cells = [f.rates(found[name], rule) for name in names] + [f.overall(found, rule)]
        rows.append([f"`{rule}`" if ":" in rule or rule == DEFAULT else rule, *map(_cell, cells)])
    counted = [f"{found[n]['successes']:,} / {found[n]['failures']:,}" for n in names]
    rows.append(["*successes / failures*", *counted, ""])
    table = "\n".join("| " + " | ".join(row) + " |" for row in rows)
    return table + "\n\n" + fill(" ".join(_gist(found, names)), 100)


def _gist(found: f.Figures, names: list[str]) -> Iterator[str]:
    one, two = (_cell(f.overall(found, DEFAULT, half)) for half in (0, 1))
    yield f"`{DEFAULT}` comes to {one} on one half of the runs and to {two} on the other."
    ahead = {name: f.beaten(found[name]) for name in names}
    judged = [rule for rules in ahead.values() for rule in rules if not rule.startswith("length")]
    if judged:
        yield f"These kill no more and catch more on a set: {', '.join(sorted(set(judged)))}."
    else:
        yield "On each set, whatever kills no more, guard set or k equal calls, catches no more."
    long = [f"{rules[0]} steps on {name}" for name, rules in ahead.items() if rules]
    if long and not judged:
        yield f"A mere limit of length does, where failures are long: {', '.join(long)}."


def _cell(pair: tuple[float, float]) -> str:
    return f"{pair[0]:.1f} / {pair[1]:.1f}"


def _of(count: int, of: int) -> str:
    return f"{f.percent(count, of):.1f} %" if of else "-"
