"""Prices and sums: what each step, run and finding cost, and how sure the figures are."""

from __future__ import annotations

from array import array
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from enum import StrEnum
from functools import partial

from loopaudit.findings import Completeness, Finding, Tokens, Totals, Waste, WasteStep
from loopaudit.formats.usages import SPREAD
from loopaudit.ingest.counting import WAYS
from loopaudit.ingest.steps import PLACEHOLDER_OUTPUT
from loopaudit.model import BUCKETS, UsageMark
from loopaudit.money import PriceBook, is_model, usd
from loopaudit.money.rates import mode_of
from loopaudit.replay.results import MARKS, UNKNOWN, Listed, RunResult, StepColumns
from loopaudit.settings import Settings

_REPORTED = MARKS.index(UsageMark.REPORTED)
_ABSENT = MARKS.index(UsageMark.ABSENT)
_LOWER = MARKS.index(UsageMark.LOWER_BOUND)
_ESTIMATED = MARKS.index(UsageMark.ESTIMATED)
_READ, _OUTPUT, _REASONING = (BUCKETS.index(n) for n in ("cache_read", "output", "reasoning"))
_WRITES = tuple(BUCKETS.index(n) for n in BUCKETS if n.startswith("cache_write"))

#: said of usage in which an estimate stands for a placeholder
ESTIMATED_OUTPUT = "output from its visible characters, four a token"
#: ways in which usage is estimated here, not by the log
_WAYS = (ESTIMATED_OUTPUT, *WAYS, SPREAD)


@dataclass(slots=True)
class Priced:
    """Money of one run: picodollars a step, `UNKNOWN` where it cannot be told."""

    cost: array[int]
    own: Sequence[int]  # steps that count here: not inherited, within the time window
    counts: Container[int]  # the same, for asking
    caveats: list[tuple[int, str]]  # (step, what its price rests on that the log does not tell)
    modes: dict[int, str]  # step -> the mode (fast, batch …) that its model has no price for
    outputs: dict[int, int] = field(default_factory=dict)  # of steps redundant in part: see below

    def of(self, entry: WasteStep, table: StepColumns) -> int:
        """Picodollars of the redundant part of a step. Of a part it is output that is redundant:
        a share of what the output cost, which is dearer than the input."""
        total, output = table.total[entry.step], table.buckets[_OUTPUT][entry.step]
        dear = self.outputs.get(entry.step)
        if entry.part == 1 or dear is None or output <= 0:
            return round(self.cost[entry.step] * entry.part)
        return round(dear * min(1.0, entry.part * total / output))


class Gap(StrEnum):
    """Why the usage of a response is no full count; the value follows its number of responses."""

    ABSENT = "without usage"
    LOWER = "whose output was written before it ended"
    HALF = "that tell only input or only output"
    ESTIMATED = "with estimated usage"


@dataclass(slots=True)
class Ledger:
    """Everything the totals need to say beside the sums."""

    unpriced: dict[str, int] = field(default_factory=dict)  # model -> tokens
    gaps: dict[Gap, int] = field(default_factory=dict)  # responses
    estimated: dict[str, int] = field(default_factory=dict)  # how, where it was done here
    caveats: dict[str, int] = field(default_factory=dict)  # why money may be off -> responses
    no_model: int = 0  # tokens of responses that name no model


def estimated_tokens(characters: int) -> int:
    """Tokens of a text by its length, at four characters each."""
    return -(-characters // 4)


def estimate_outputs(found: RunResult) -> None:
    """Replace outputs that were written before the stream ended by what can be seen of them.

    The estimate is the larger of the recorded number and a quarter of the visible characters (text
    and arguments of calls). Hidden reasoning is not in it.
    """
    table = found.columns
    column = array("q", table.buckets[_OUTPUT])
    table.buckets = (*table.buckets[:_OUTPUT], column, *table.buckets[_OUTPUT + 1 :])
    table.total, table.note = array("q", table.total), array("i", table.note)
    for i in range(len(table)):
        if table.marks[i] == _LOWER and 0 <= column[i] <= PLACEHOLDER_OUTPUT:
            more = max(0, estimated_tokens(table.said[i]) - column[i])
            column[i] += more
            table.total[i] += more
            table.marks[i] = _ESTIMATED
            note = table.notes[table.note[i]]
            table.note[i] = _note(
                found, f"{note}; {ESTIMATED_OUTPUT}" if note else ESTIMATED_OUTPUT
            )


def _note(found: RunResult, note: str) -> int:
    notes = found.columns.notes
    if note not in notes:
        notes.append(note)
    return notes.index(note)


def price_book(settings: Settings) -> PriceBook:
    """The list under the user's table. Raises `ConfigError`."""
    return PriceBook(settings.table("prices"), place=partial(settings.place, "prices"))


def price(
    found: RunResult,
    book: PriceBook,
    window: tuple[float | None, float | None],
    by: bytes = b"",
) -> Priced:
    """What each step of a run cost by the list, and which steps count.

    `by` names the user's table: prices that were found with it before are taken as they are.
    """
    table = found.columns
    since, until = window
    own: Sequence[int] = range(len(table))
    counts: Container[int] = own
    if found.inherited or since is not None or until is not None:
        own = [i for i in own if i not in found.inherited and _inside(table.at[i], since, until)]
        counts = frozenset(own)
    known = found.listed
    if known is None or not by or known.by != by:
        known = listed(found, book)
    return Priced(known.cost, own, counts, known.caveats, known.modes, known.outputs)


def listed(found: RunResult, book: PriceBook, by: bytes = b"") -> Listed:
    """What each step of a run costs by the list."""
    table = found.columns
    cost = array("q", [UNKNOWN]) * len(table)
    caveats: list[tuple[int, str]] = []
    modes: dict[int, str] = {}
    models, services = table.models, table.services
    in_part = {w.step for f in found.findings for w in f.waste.steps if w.part < 1}
    outputs: dict[int, int] = {}
    rows = zip(table.at, table.marks, table.model, table.service, strict=True)
    for i, (at, mark, of_model, of_service) in enumerate(rows):
        model = models[of_model]
        if mark == _ABSENT or model is None:
            continue
        rates = book.rates(model, None if at != at else at, services[of_service])
        usage = table.usage(i)
        if rates is not None and usage is not None:
            amount = rates.cost(usage)
            if amount is None:
                mode = mode_of(usage.note or "")
                if mode is not None and mode not in rates.modes and mode != rates.mode:
                    modes[i] = mode
            else:
                cost[i] = amount
                if i in in_part:
                    rest = replace(usage, output=0, reasoning=0)
                    outputs[i] = amount - (rates.cost(rest) or 0)
                if usage.cache_write_unsplit or usage.web_searches:
                    caveats += [(i, what) for what in rates.caveats(usage)]
    return Listed(by, cost, caveats, modes, outputs)


def is_dated(found: RunResult) -> bool:
    """Whether all responses that have a price have a time: else they cost what they do today."""
    table = found.columns
    return not any(
        at != at and mark != _ABSENT for at, mark in zip(table.at, table.marks, strict=True)
    )


def _inside(at: float, since: float | None, until: float | None) -> bool:
    if at != at:  # no time known: cannot be excluded
        return True
    return (since is None or at >= since) and (until is None or at < until)


def run_tokens(found: RunResult, steps: Iterable[int]) -> Tokens:
    """Sums over `steps`; None in a bucket that no step reports."""
    table = found.columns
    sums: list[int | None] = [None] * len(BUCKETS)
    chosen = steps if isinstance(steps, Sequence) else list(steps)
    for place, column in enumerate(table.buckets):
        sums[place] = _sum(column, chosen)
    total = _sum(table.total, chosen)
    writes = [w for w in (sums[p] for p in _WRITES) if w is not None]
    return Tokens(
        fresh_input=sums[0],
        cache_read=sums[_READ],
        cache_write=sum(writes) if writes else None,
        output=sums[_OUTPUT],
        reasoning=sums[_REASONING],
        total=total,
    )


def add_tokens(a: Tokens, b: Tokens) -> Tokens:
    def plus(x: int | None, y: int | None) -> int | None:
        return y if x is None else x if y is None else x + y

    return Tokens(
        *(
            plus(getattr(a, n), getattr(b, n))
            for n in ("fresh_input", "cache_read", "cache_write", "output", "reasoning", "total")
        )
    )


def run_usd(priced: Priced, steps: Iterable[int]) -> Decimal | None:
    known = _sum(priced.cost, steps)
    return None if known is None else usd(known)


def run_sum(column: Sequence[int], steps: Sequence[int]) -> int:
    """The sum of `column` over `steps`; all of it is known."""
    return sum(column) if steps == range(len(column)) else sum(column[i] for i in steps)


def run_pico(priced: Priced, steps: Iterable[int]) -> int | None:
    return _sum(priced.cost, steps)


def recorded_usd(found: RunResult, steps: Iterable[int]) -> Decimal | None:
    known = _sum(found.columns.cost, steps)
    return None if known is None else usd(known)


def _sum(column: array[int], steps: Iterable[int]) -> int | None:
    """Sum of what is known in `column` over `steps`; None if nothing is."""
    if steps == range(len(column)):
        unknown = column.count(UNKNOWN)
        return sum(column) - unknown * UNKNOWN if unknown < len(column) else None
    total, known = 0, False
    for i in steps:
        value = column[i]
        if value != UNKNOWN:
            total += value
            known = True
    return total if known else None


def gap_of(table: StepColumns, step: int) -> Gap | None:
    """What the usage of a response lacks; None: nothing. A compaction may well have no usage."""
    mark = table.marks[step]
    if mark == _ABSENT:
        return None if table.compaction[step] else Gap.ABSENT
    if mark == _LOWER:
        return Gap.LOWER
    if mark == _ESTIMATED:
        return Gap.ESTIMATED
    one_sided = table.buckets[_OUTPUT][step] == UNKNOWN or table.buckets[0][step] == UNKNOWN
    return Gap.HALF if one_sided else None


def _is_full(table: StepColumns) -> bool:
    """Whether no response lacks anything."""
    return (
        table.marks.count(_REPORTED) == len(table)
        and UNKNOWN not in table.buckets[_OUTPUT]
        and UNKNOWN not in table.buckets[0]
    )


def unpriced_tokens(table: StepColumns, priced: Priced, step: int) -> int:
    """Tokens of a response that have no price; what is no model needs none."""
    tokens = table.total[step]
    if table.marks[step] == _ABSENT or priced.cost[step] != UNKNOWN or tokens <= 0:
        return 0
    model = table.models[table.model[step]]
    return tokens if model is None or is_model(model) else 0


def note_gaps(found: RunResult, priced: Priced, ledger: Ledger) -> None:
    """Count what the figures of a run leave out or only bound."""
    table = found.columns
    for step, caveat in priced.caveats:
        if step in priced.counts:
            ledger.caveats[caveat] = ledger.caveats.get(caveat, 0) + 1
    if _is_full(table) and UNKNOWN not in priced.cost:
        return
    for i in priced.own:
        gap = gap_of(table, i)
        if gap is Gap.ESTIMATED:
            note = table.notes[table.note[i]] or ""
            how = next((way for way in _WAYS if note.endswith(way)), "")
            ledger.estimated[how] = ledger.estimated.get(how, 0) + 1
        elif gap is not None:
            ledger.gaps[gap] = ledger.gaps.get(gap, 0) + 1
        tokens = unpriced_tokens(table, priced, i)
        if tokens:
            model = table.models[table.model[i]]
            if model is None:
                ledger.no_model += tokens
            else:
                if i in priced.modes:
                    model = f"{model} ({priced.modes[i]})"
                ledger.unpriced[model] = ledger.unpriced.get(model, 0) + tokens


def charge(
    steps: Sequence[WasteStep], found: RunResult, priced: Priced, run_total: int | None
) -> Waste:
    """The waste of redundant steps in tokens and money; inherited steps are never charged."""
    waste = Waste()
    tokens = read = money = 0
    known_tokens = known_money = False
    for entry in steps:
        if entry.step not in priced.counts:
            continue
        waste.steps.append(entry)
        total = found.columns.total[entry.step]
        if total != UNKNOWN:
            known_tokens = True
            tokens += round(total * entry.part)
            cached = found.columns.buckets[_READ][entry.step]
            if cached != UNKNOWN and entry.part == 1:  # else it is output that is redundant
                read += cached
            mark = found.columns.marks[entry.step]
            waste.estimated |= mark in (_LOWER, _ESTIMATED) or entry.part < 1
        if priced.cost[entry.step] != UNKNOWN:
            known_money = True
            money += priced.of(entry, found.columns)
    if known_tokens or not waste.steps:
        waste.tokens, waste.cache_read = tokens, read
    if known_money:
        waste.usd = usd(money)
    if waste.tokens is not None and run_total:
        waste.share = waste.tokens / run_total
    return waste


def union(findings: Iterable[Finding]) -> list[WasteStep]:
    """Redundant steps of several findings, each once, with the largest part."""
    parts: dict[tuple[str, int], float] = {}
    for finding in findings:
        for entry in finding.waste.steps:
            place = (entry.run, entry.step)
            parts[place] = max(parts.get(place, 0.0), entry.part)
    return [WasteStep(run, step, part) for (run, step), part in sorted(parts.items())]


def conclude(totals: Totals, ledger: Ledger, lost: list[str]) -> None:
    """Say how complete the totals are, worst mark first, with every reason."""
    reasons = list(lost)
    reasons += [f"{_count(ledger.gaps[g], 'response')} {g.value}" for g in Gap if g in ledger.gaps]
    if ledger.unpriced:
        totals.unpriced_models = sorted(ledger.unpriced)
        totals.unpriced_tokens = sum(ledger.unpriced.values())
        models = _count(len(ledger.unpriced), "model")
        reasons.append(f"{totals.unpriced_tokens:,} tokens of {models} not priced")
    if ledger.no_model:
        totals.unpriced_tokens += ledger.no_model
        reasons.append(f"{ledger.no_model:,} tokens name no model and are not priced")
    for how, number in sorted(ledger.estimated.items()):
        text = f"{_count(number, 'response')} {Gap.ESTIMATED.value}"
        reasons.append(f"{text}: {how}" if how else text)
    reasons += [f"{_count(n, 'response')}: {what}" for what, n in sorted(ledger.caveats.items())]
    totals.reasons = reasons
    if lost:
        totals.completeness = Completeness.PARTIAL
    elif ledger.gaps or ledger.unpriced or ledger.no_model:
        totals.completeness = Completeness.LOWER_BOUND
    elif ledger.estimated or ledger.caveats:
        totals.completeness = Completeness.ESTIMATED


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
