"""Costs as JSON, CSV and Parquet: full figures, exact money in USD, null where nothing is known.

CSV and Parquet hold one flat record a row and no total: it is the sum of the rows.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, BinaryIO, NamedTuple, TextIO

from loopaudit.cost.amounts import Amounts, dollars
from loopaudit.cost.attribution import Costs
from loopaudit.cost.budgets import Crossing, Spending, Unit
from loopaudit.cost.dimensions import NAMES
from loopaudit.cost.reconcile import Line, Reconciliation, Side
from loopaudit.findings import Report
from loopaudit.render.figures import exact, iso
from loopaudit.render.tables import csv_text
from loopaudit.render.text import json_inert, valid

SCHEMA_VERSION = "1"

Record = dict[str, Any]

_BUCKETS = (
    "fresh_input",
    "cache_read",
    "cache_write",
    "cache_write_5m",
    "cache_write_1h",
    "cache_write_unsplit",
    "output",
    "reasoning",
)
_LABELS = frozenset((*(name.replace("-", "_") for name in NAMES), "completeness"))
_PARQUET_MONEY = 12  # decimals, as exact as a picodollar


class Flat(NamedTuple):
    """Records without levels, and the names of their columns, which stand where there are none."""

    columns: list[str]
    rows: list[Record]


def of_costs(costs: Costs) -> Flat:
    """The dimensions of a row, then its numbers; money as `Decimal`."""
    labels = [name.replace("-", "_") for name in costs.by]
    rows = []
    for row in costs.rows:
        record: Record = dict(zip(labels, row.key, strict=True)) | _flat(row.amounts)
        if row.below is not None:
            record["with_sub_agents_tokens"] = row.below.tokens
            record["with_sub_agents_usd"] = row.below.usd
        rows.append(record)
    return Flat(list(rows[0]) if rows else [*labels, *_flat(Amounts())], rows)


def of_lines(found: Reconciliation) -> Flat:
    rows = [{"day": line.day, "model": line.model, **_compared(line)} for line in found.lines]
    return Flat(["day", "model", *_compared(Line("", ""))], rows)


def _flat(amounts: Amounts) -> Record:
    return {
        "responses": amounts.responses,
        "calls": amounts.calls,
        **{f"{name}_tokens": getattr(amounts, name) for name in _BUCKETS},
        "tokens": amounts.tokens,
        "web_searches": amounts.web_searches,
        "usd": amounts.usd,
        "recorded_usd": dollars(amounts.recorded_pico),
        "listed_less_recorded_usd": amounts.difference,
        "waste_steps": amounts.waste_steps,
        "waste_tokens": amounts.waste_tokens,
        "waste_usd": dollars(amounts.waste_pico),
        "carried_tokens_estimated": amounts.carried_tokens,
        "carried_usd_estimated": dollars(amounts.carried_pico),
        "unpriced_tokens": amounts.unpriced_tokens,
        "inherited_tokens": amounts.inherited_tokens,
        "completeness": str(amounts.completeness),
        "responses_without_usage": amounts.absent,
        "responses_lower_bound": amounts.lower_bound,
        "responses_one_sided": amounts.halves,
        "responses_estimated": amounts.estimated,
        "responses_priced_by_assumption": amounts.caveats,
    }


def _compared(line: Line) -> Record:
    mine, theirs = line.logs or Side(0, 0), line.export or Side(0, 0)
    return {
        "logs_tokens": mine.tokens,
        "export_tokens": theirs.tokens,
        "difference_tokens": line.difference("tokens"),
        "logs_usd": dollars(mine.pico),
        "export_usd": dollars(theirs.pico),
        "difference_usd": dollars(line.difference("pico")),
    }


# -- JSON -----------------------------------------------------------------------------------------


def write_json(
    costs: Costs, spendings: Sequence[Spending], report: Report, zone: str, stream: TextIO
) -> None:
    totals = report.totals
    _dump(
        {
            "schema_version": SCHEMA_VERSION,
            "tool_version": report.tool_version,
            "by": list(costs.by),
            "not_in_these_logs": costs.nowhere,
            "zone": zone,
            "price_date": totals.price_date,
            "completeness": str(totals.completeness),
            "reasons": totals.reasons,
            "duplicates_removed": totals.duplicates_removed,
            "unpriced_models": totals.unpriced_models,
            "total": _flat(costs.total),
            "rows": of_costs(costs).rows,
            "budgets": [_spending(spending) for spending in spendings],
        },
        stream,
    )


def _spending(spending: Spending) -> Record:
    budget, unit = spending.budget, spending.budget.unit
    return {
        "scope": budget.scope.value,
        "task_type": budget.task_type,
        "key": spending.key,
        "unit": unit.value,
        "limit": _amount(budget.limit, unit),
        "spent": _amount(spending.spent, unit),
        "over": spending.spent > budget.limit,
        "verdict": spending.verdict.value,
        "steps": spending.steps,
        "unpriced_tokens": spending.unpriced_tokens,
        "responses_without_usage": spending.absent,
        "responses_lower_bound": spending.lower_bound,
        "warned": _crossing(spending.warned, unit),
        "reached": _crossing(spending.reached, unit),
    }


def _crossing(crossing: Crossing | None, unit: Unit) -> Record | None:
    if crossing is None:
        return None
    return {
        "percent": float(crossing.percent),
        "run": crossing.run,
        "step": crossing.step,
        "path": crossing.path,
        "line": crossing.line,
        "at": iso(crossing.at),
        "spent": _amount(crossing.spent, unit),
        "spent_after": _amount(crossing.after, unit),
        "steps_after": crossing.steps_after,
    }


def _amount(number: int, unit: Unit) -> Decimal | int | None:
    return dollars(number) if unit is Unit.USD else number


def write_reconciliation_json(
    found: Reconciliation, spendings: Sequence[Spending], report: Report, stream: TextIO
) -> None:
    _dump(
        {
            "schema_version": SCHEMA_VERSION,
            "tool_version": report.tool_version,
            "zone": "UTC",
            "price_date": report.totals.price_date,
            "export": found.export.path,
            "columns": found.export.columns,
            "export_priced_by_list": found.priced_here,
            "total": _compared(Line("", "", found.logs, found.billed)),
            "unexplained": _side(Side(found.unexplained("tokens"), found.unexplained("pico"))),
            "not_in_export": _side(Side(found.surplus("tokens"), found.surplus("pico"))),
            "outside_of_export": _side(found.outside),
            "without_time": _side(found.undated),
            "unreadable": [{"line": line, "reason": why} for line, why in found.export.unreadable],
            "rows": of_lines(found).rows,
            "budgets": [_spending(spending) for spending in spendings],
        },
        stream,
    )


def _side(side: Side) -> Record:
    return {"tokens": side.tokens, "usd": dollars(side.pico)}


def _dump(document: Mapping[str, Any], stream: TextIO) -> None:
    """One row a line, like the report."""
    stream.write("{")
    for number, (key, value) in enumerate(document.items()):
        stream.write(f"{',' if number else ''}\n{_text(key)}: ")
        if isinstance(value, list) and value and isinstance(value[0], dict):
            stream.write("[\n" + ",\n".join(map(_text, value)) + "\n]")
        else:
            stream.write(_text(value))
    stream.write("\n}\n")


def _text(value: Any) -> str:
    text = json.dumps(
        value, default=exact, ensure_ascii=False, allow_nan=False, separators=(",", ":")
    )
    return json_inert(text)


# -- CSV and Parquet ------------------------------------------------------------------------------


def write_csv(flat: Flat, stream: TextIO) -> None:
    """RFC 4180, but lines end with a line feed alone."""
    out = csv.writer(stream, lineterminator="\n")
    out.writerow(flat.columns)
    for row in flat.rows:
        out.writerow([_cell(row[name]) for name in flat.columns])


def _cell(value: Any) -> Any:
    if isinstance(value, Decimal):
        return exact(value)
    return csv_text(value) if isinstance(value, str) else value


def write_parquet(flat: Flat, stream: BinaryIO) -> None:
    """Money as decimals, other numbers as Int64, labels as text."""
    from io import BytesIO

    import polars as pl

    money = pl.Decimal(38, _PARQUET_MONEY)
    schema = {
        name: pl.String if name in _LABELS else money if "usd" in name else pl.Int64
        for name in flat.columns
    }
    data = {
        name: [valid(v) if isinstance(v := row[name], str) else v for row in flat.rows]
        for name in flat.columns
    }
    whole = BytesIO()  # the engine hides errors of the stream in its own
    pl.DataFrame(data, schema=schema).write_parquet(whole)
    stream.write(whole.getbuffer())
