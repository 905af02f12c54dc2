"""Runs, steps and findings as polars frames: for CSV, Parquet, notebooks and SQL.

Money is an exact decimal with twelve places, times are UTC, unknown is null. Steps and calls count
from 1, as on screen. `steps` holds what each run paid for itself: copied steps are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from loopaudit.findings import Report
from loopaudit.model import BUCKETS
from loopaudit.render.text import valid
from loopaudit.replay.audit import AuditedRun
from loopaudit.replay.results import MARKS, UNKNOWN

MONEY = pl.Decimal(38, 12)
TIME = pl.Datetime("us", "UTC")

#: columns of the tables, in order
RUNS: dict[str, Any] = {
    "run": pl.String,
    "parent": pl.String,
    "session": pl.String,
    "path": pl.String,
    "format": pl.String,
    "agent": pl.String,
    "version": pl.String,
    "models": pl.String,
    "project": pl.String,
    "task_type": pl.String,
    "task_type_source": pl.String,
    "outcome": pl.String,
    "outcome_by": pl.String,
    "outcome_source": pl.String,
    "steps": pl.Int64,
    "calls": pl.Int64,
    "calls_failed": pl.Int64,
    "started": TIME,
    "ended": TIME,
    "fresh_input": pl.Int64,
    "cache_read": pl.Int64,
    "cache_write": pl.Int64,
    "output": pl.Int64,
    "reasoning": pl.Int64,
    "tokens": pl.Int64,
    "usd": MONEY,
    "recorded_usd": MONEY,
    "waste_steps": pl.Int64,
    "waste_tokens": pl.Int64,
    "waste_usd": MONEY,
    "loops": pl.Int64,
}
FINDINGS: dict[str, Any] = {
    "finding": pl.String,
    "rule": pl.String,
    "run": pl.String,
    "tool": pl.String,
    "key": pl.String,
    "path": pl.String,
    "first_seen_step": pl.Int64,
    "onset_step": pl.Int64,
    "onset_line": pl.Int64,
    "onset_at": TIME,
    "last_step": pl.Int64,
    "occurrences": pl.Int64,
    "period": pl.Int64,
    "ended_by": pl.String,
    "retryable": pl.String,
    "confidence": pl.Float64,
    "waste_steps": pl.Int64,
    "waste_tokens": pl.Int64,
    "waste_usd": MONEY,
    "waste_share": pl.Float64,
    "estimated": pl.Boolean,
}
STEPS: dict[str, Any] = {
    "run": pl.String,
    "step": pl.Int64,
    "line": pl.Int64,
    "at": TIME,
    "model": pl.String,
    "compaction": pl.Boolean,
    "calls": pl.Int64,
    "failed": pl.Int64,
    **dict.fromkeys(BUCKETS, pl.Int64),
    "tokens": pl.Int64,
    "usage": pl.String,
    "usd": MONEY,
    "wasted_part": pl.Float64,
}


def runs(report: Report) -> pl.DataFrame:
    """One row a run."""
    loops: dict[str, int] = {}
    for finding in report.findings:
        loops[finding.run] = loops.get(finding.run, 0) + 1
    rows = [
        (
            run.id,
            run.parent,
            run.session,
            run.path,
            run.format,
            run.agent,
            run.version,
            ", ".join(run.models) or None,
            run.project,
            run.task_type,
            run.task_type_source,
            run.outcome,
            None if run.outcome_by is None else run.outcome_by.value,
            run.outcome_said,
            run.steps,
            run.calls,
            run.calls_failed,
            _micro(run.started),
            _micro(run.ended),
            run.tokens.fresh_input,
            run.tokens.cache_read,
            run.tokens.cache_write,
            run.tokens.output,
            run.tokens.reasoning,
            run.tokens.total,
            run.usd,
            run.recorded_usd,
            len(run.waste.steps),
            *run.waste.amounts,
            loops.get(run.id, 0),
        )
        for run in report.runs
    ]
    return _frame(rows, RUNS)


def findings(report: Report) -> pl.DataFrame:
    """One row a loop, most expensive first."""
    rows = [
        (
            finding.id,
            finding.rule,
            finding.run,
            finding.tool,
            finding.key,
            finding.onset.path,
            finding.first_seen.step + 1,
            finding.onset.step + 1,
            finding.onset.line,
            _micro(finding.onset.at),
            finding.last.step + 1,
            finding.occurrences,
            finding.period,
            finding.ended_by.value,
            finding.retryable.value,
            finding.confidence,
            len(finding.waste.steps),
            *finding.waste.amounts,
            finding.waste.share,
            finding.waste.estimated,
        )
        for finding in report.findings
    ]
    return _frame(rows, FINDINGS)


def steps(audited: Sequence[AuditedRun]) -> pl.DataFrame:
    """One row a model response that the run itself paid for."""
    frames = [_steps(item) for item in audited if len(item.found.columns)]
    if not frames:
        return pl.DataFrame(schema=STEPS)
    numbers = (*BUCKETS, "tokens", "usd")
    frame = pl.concat(frames).with_columns(
        pl.when(pl.col(name) != UNKNOWN).then(pl.col(name)).alias(name) for name in numbers
    )
    return frame.with_columns(
        (pl.col("usd").cast(MONEY) / pl.lit(10**12).cast(MONEY)).cast(MONEY),
        pl.col("at").cast(TIME),
    )


def _steps(item: AuditedRun) -> pl.DataFrame:
    table, own = item.found.columns, list(item.priced.own)
    waste = {entry.step: entry.part for entry in item.summary.waste.steps}
    models = [None if name is None else valid(name) for name in table.models]
    columns: dict[str, Any] = {
        "run": [valid(item.summary.id)] * len(table),
        "step": range(1, len(table) + 1),
        "line": table.line,
        "at": [None if at != at else round(at * 1e6) for at in table.at],
        "model": [models[number] for number in table.model],
        "compaction": [bool(value) for value in table.compaction],
        "calls": table.calls,
        "failed": table.failed,
        **dict(zip(BUCKETS, table.buckets, strict=True)),
        "tokens": table.total,
        "usage": [MARKS[mark].value for mark in table.marks],
        "usd": item.priced.cost,
        "wasted_part": [waste.get(step, 0.0) for step in range(len(table))],
    }
    frame = pl.DataFrame(
        {name: list(values) for name, values in columns.items()},
        schema={name: pl.Int64 if name in ("usd", "at") else kind for name, kind in STEPS.items()},
    )
    return frame[own] if len(own) < len(table) else frame


def _frame(rows: list[tuple[Any, ...]], schema: dict[str, Any]) -> pl.DataFrame:
    plain = {name: pl.Int64 if kind == TIME else kind for name, kind in schema.items()}
    data = {
        name: [valid(v) if isinstance(v := row[place], str) else v for row in rows]
        for place, name in enumerate(plain)
    }
    frame = pl.DataFrame(data, schema=plain)
    times = [name for name, kind in schema.items() if kind == TIME]
    return frame.with_columns(pl.col(name).cast(TIME) for name in times)


def _micro(at: float | None) -> int | None:
    return None if at is None else round(at * 1e6)
