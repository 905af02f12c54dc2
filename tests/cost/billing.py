"""Small logs in our own format, audited by the real path, with prices that are easy to add up."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, tzinfo
from decimal import Decimal
from pathlib import Path
from typing import Any

from loopaudit.cost.amounts import Amounts
from loopaudit.cost.attribution import Costs, Row, attribute
from loopaudit.findings import Report
from loopaudit.money import PriceBook
from loopaudit.replay.audit import AuditedRun, AuditOptions, analyse
from loopaudit.settings import Settings

Record = dict[str, Any]

#: USD per million tokens: input 1, output 10, cache read 0.1
PRICES = {"model": [{"model": "m1", "input": 1, "output": 10, "cache_read": 0.1}]}


def settings(**tables: Any) -> Settings:
    return Settings(values={"prices": PRICES, **tables})


def run(name: str, **more: Any) -> Record:
    return {"type": "run", "run": name, **more}


def user(at: str | float | None = None) -> Record:
    return {"type": "boundary", "kind": "user", "text": "please", "at": at}


def compacted() -> Record:
    return {"type": "boundary", "kind": "compaction"}


def said(
    name: str,
    fresh: int | None = None,
    output: int = 0,
    *tools: str,
    read: int | None = None,
    model: str | None = "m1",
    result: str = "ok",
    **more: Any,
) -> Record:
    """A response with one call a tool; arguments differ, so that nothing repeats by chance."""
    calls = [
        {"id": f"{name}-{n}", "tool": tool, "args": {"n": f"{name}-{n}"}, "result": result}
        for n, tool in enumerate(tools)
    ]
    record: Record = {"type": "response", "id": name, "model": model, "calls": calls, **more}
    if fresh is not None:
        record["usage"] = {"fresh_input": fresh, "output": output}
        if read is not None:
            record["usage"]["cache_read"] = read
    return record


def log(folder: Path, name: str, records: Iterable[Record]) -> Path:
    path = folder / f"{name}.jsonl"
    lines = [json.dumps({"loopaudit": 1}), *(json.dumps(record) for record in records)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def audited(
    *paths: Path, chosen: Settings | None = None, **more: Any
) -> tuple[Report, list[AuditedRun]]:
    chosen = chosen or settings()
    return analyse(AuditOptions([str(p) for p in paths], settings=chosen, now=0.0, **more))


def book(chosen: Settings | None = None) -> PriceBook:
    return PriceBook((chosen or settings()).table("prices"))


def costs(*paths: Path, by: str | Sequence[str], zone: tzinfo = UTC, **more: Any) -> Costs:
    report, runs = audited(*paths, **more)
    names = (by,) if isinstance(by, str) else tuple(by)
    found = attribute(runs, names, zone, book(), report)
    agrees(found.total, report)
    adds_up(found.rows, found.total)
    return found


def by_label(found: Costs) -> dict[Any, Amounts]:
    """Amounts by label; by tuple of labels where there are several dimensions."""
    single = len(found.by) == 1
    return {row.key[0] if single else row.key: row.amounts for row in found.rows}


def agrees(total: Amounts, report: Report) -> None:
    """The total line is the totals of the report."""
    totals = report.totals
    tokens = totals.tokens
    assert total.responses == totals.responses
    assert total.calls == totals.calls
    assert total.fresh_input == tokens.fresh_input
    assert total.cache_read == tokens.cache_read
    assert total.cache_write == tokens.cache_write
    assert total.output == tokens.output
    assert total.reasoning == tokens.reasoning
    assert total.tokens == tokens.total
    assert total.usd == totals.usd
    assert _usd(total.recorded_pico) == totals.recorded_usd
    assert total.unpriced_tokens == totals.unpriced_tokens
    assert (total.inherited_tokens or 0) == (totals.inherited_tokens or 0)
    assert total.waste_steps == len(totals.waste.steps)
    if total.waste_steps:
        assert total.waste_tokens == totals.waste.tokens
        assert _usd(total.waste_pico) == totals.waste.usd
    else:
        assert total.waste_tokens == total.waste_pico == 0
    assert total.completeness is totals.completeness


def adds_up(rows: Sequence[Row], total: Amounts) -> None:
    """Every number of the total is the sum of the rows."""
    for name in Amounts.__dataclass_fields__:
        parts = [getattr(row.amounts, name) for row in rows]
        if name != "partial":
            assert sum(part or 0 for part in parts) == (getattr(total, name) or 0), name
    for row in rows:
        carried = (row.amounts.waste_tokens or 0) + (row.amounts.carried_tokens or 0)
        assert carried <= (row.amounts.tokens or 0)


def _usd(amount: int | None) -> Decimal | None:
    return None if amount is None else Decimal(amount).scaleb(-12).normalize()
