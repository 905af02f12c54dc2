"""Divides the costs of an audit by one or several dimensions; the rows add up to its totals."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import tzinfo

from loopaudit.cost.amounts import Amounts, Columns, columns_of, split, sums, telling
from loopaudit.cost.dimensions import Label, Labels, Runs, tools_of
from loopaudit.findings import Completeness, Report
from loopaudit.money import PriceBook
from loopaudit.replay.audit import AuditedRun, lost_records

#: dimensions in which a row has others below it
_NESTED = ("agent", "run")

Key = tuple[Label, ...]


@dataclass(slots=True)
class Row:
    """What one value of each dimension cost. `below` also counts the sub-agents it started."""

    key: Key
    amounts: Amounts
    below: Amounts | None = None


@dataclass(slots=True)
class Costs:
    """Rows, most expensive first, and their sum. `nowhere`: dimensions that no log tells."""

    by: tuple[str, ...]
    rows: list[Row] = field(default_factory=list)
    total: Amounts = field(default_factory=Amounts)
    nowhere: list[str] = field(default_factory=list)


def attribute(
    audited: Sequence[AuditedRun],
    by: Sequence[str],
    zone: tzinfo,
    book: PriceBook,
    report: Report | None = None,
) -> Costs:
    """Costs by the dimensions `by`. With the `report`, rows of logs that lost records say so."""
    broken = {skip.path for skip in lost_records(report)} if report is not None else set()
    runs = Runs(audited, zone)
    found: dict[Key, Amounts] = {}
    holders: dict[Key, list[int]] = {}
    for number, item in enumerate(audited):
        table = item.found.columns
        partial = not {item.found.run.path, *table.paths.values()}.isdisjoint(broken)
        for key, amounts in _of_run(runs, number, tuple(by), book).items():
            amounts.partial = partial
            found.setdefault(key, Amounts()).add(amounts)
            holders.setdefault(key, []).append(number)
    costs = Costs(tuple(by))
    for key, amounts in found.items():
        costs.total.add(amounts)
        costs.rows.append(Row(key, amounts))
    if len(by) == 1 and by[0] in _NESTED:
        _add_below(costs.rows, holders, runs, book)
    for row in costs.rows:
        row.amounts.settle()
    costs.total.settle()
    if report is not None and report.totals.completeness is Completeness.PARTIAL:
        costs.total.partial = True  # files may have been lost as a whole
    costs.rows.sort(key=_dearest_first)
    costs.nowhere = [
        name for place, name in enumerate(by) if all(row.key[place] is None for row in costs.rows)
    ]
    return costs


def _of_run(runs: Runs, number: int, by: tuple[str, ...], book: PriceBook) -> dict[Key, Amounts]:
    """The amounts of one run by key."""
    item = runs.audited[number]
    columns: Columns = telling(columns_of(item, book))
    step_of: Sequence[int] = range(len(item.found.columns))  # of every entry of the columns
    tools: Labels = None
    if "tool" in by:
        pieces, tools = tools_of(item)
        columns = split(columns, pieces)
        step_of = [step for step, count in enumerate(pieces) for _ in range(count)]
    labels = [
        tools if name == "tool" else _spread(runs.labels(name, number), step_of) for name in by
    ]

    def keyed(steps: Collection[int]) -> Iterator[tuple[Key, list[int]]]:
        groups: dict[Key, list[int]] = {}
        wanted = steps if isinstance(steps, range) else set(steps)
        for place, step in enumerate(step_of):
            if step in wanted:
                key = tuple(x if x is None or type(x) is str else x[place] for x in labels)
                groups.setdefault(key, []).append(place)
        yield from groups.items()

    found = {key: sums(columns, places) for key, places in keyed(item.priced.own)}
    copied = {"inherited_tokens": columns["tokens"]} if "tokens" in columns else {}
    for key, places in keyed(item.found.inherited):
        found.setdefault(key, Amounts()).add(sums(copied, places))
    return found


def _spread(labels: Labels, step_of: Sequence[int]) -> Labels:
    """Labels of steps as labels of the entries of columns."""
    if labels is None or isinstance(labels, str):
        return labels
    return [labels[step] for step in step_of]


def _add_below(
    rows: Sequence[Row], holders: dict[Key, list[int]], runs: Runs, book: PriceBook
) -> None:
    own = [sums(telling(columns_of(item, book)), item.priced.own) for item in runs.audited]
    for row in rows:
        members = set[int]().union(*(runs.below(number) for number in holders[row.key]))
        row.below = Amounts()
        for number in sorted(members):
            row.below.add(own[number])
        row.below.settle()


def _dearest_first(row: Row) -> tuple[int, int, tuple[str, ...]]:
    amounts = row.amounts
    return (
        -(amounts.pico or 0),
        -(amounts.tokens or 0),
        tuple(label or "" for label in row.key),
    )
