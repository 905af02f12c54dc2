"""The JSON Schema of `cost --format json`, version 1; rows are the columns of CSV and Parquet."""

from __future__ import annotations

from loopaudit.cost.budgets import Scope, Unit, Verdict
from loopaudit.cost.dimensions import NAMES
from loopaudit.findings import Completeness
from loopaudit.render.schema_parts import (
    COUNT,
    DRAFT,
    LINE,
    MONEY,
    NUMBER,
    TEXT,
    TIME,
    Schema,
    list_of,
    maybe,
    one_of,
    record,
)


def cost_schema() -> Schema:
    """A schema of draft 2020-12 for `cost --format json`, with and without `--reconcile`."""
    return {
        "$schema": DRAFT,
        "title": "loopaudit cost, version 1",
        "description": (
            "Token buckets are disjoint, reasoning lies inside output. Money is an exact decimal in"
            " USD. Times are ISO 8601 with zone. null: not known, never 0. Steps are 0-based."
        ),
        "oneOf": [_COSTS, _RECONCILIATION],
    }


def _labels() -> dict[str, Schema]:
    """The dimensions that `--by` asks for stand first in a row; none is in every row."""
    says = "null: the log does not say"
    return {name.replace("-", "_"): maybe(TEXT, says) for name in NAMES}


_MARKS: dict[str, Schema] = {
    "completeness": one_of(Completeness, "The worst mark of this row."),
    "responses_without_usage": COUNT,
    "responses_lower_bound": {**COUNT, "description": "Output written before it ended."},
    "responses_one_sided": {**COUNT, "description": "Only input or only output is told."},
    "responses_estimated": COUNT,
    "responses_priced_by_assumption": {
        **COUNT,
        "description": "The price rests on something that the log does not tell.",
    },
}

_AMOUNTS: dict[str, Schema] = {
    "responses": {**COUNT, "description": "Model responses, without compactions."},
    "calls": COUNT,
    "fresh_input_tokens": maybe(COUNT, "Input that was neither read from nor written to a cache."),
    "cache_read_tokens": maybe(COUNT),
    "cache_write_tokens": maybe(COUNT, "The sum of the next three."),
    "cache_write_5m_tokens": maybe(COUNT),
    "cache_write_1h_tokens": maybe(COUNT),
    "cache_write_unsplit_tokens": maybe(COUNT, "The log does not tell the lifetime."),
    "output_tokens": maybe(COUNT),
    "reasoning_tokens": maybe(COUNT, "Inside output."),
    "tokens": maybe(COUNT, "Fresh input, cache reads and writes, output."),
    "web_searches": maybe(COUNT, "Requests."),
    "usd": maybe(MONEY, "At list prices of the response's own time; not a bill."),
    "recorded_usd": maybe(MONEY, "As the logs themselves say."),
    "listed_less_recorded_usd": maybe(MONEY, "Over the responses that have both."),
    "waste_steps": {**COUNT, "description": "Redundant responses, each once."},
    "waste_tokens": maybe(COUNT),
    "waste_usd": maybe(MONEY),
    "carried_tokens_estimated": maybe(COUNT, "Re-sent later because of a loop; beside the waste."),
    "carried_usd_estimated": maybe(MONEY),
    "unpriced_tokens": COUNT,
    "inherited_tokens": maybe(COUNT, "Of copied responses; counted where they belong."),
    **_MARKS,
}

#: of rows by agent or run
_BELOW: dict[str, Schema] = {
    "with_sub_agents_tokens": maybe(COUNT, "With all that it started."),
    "with_sub_agents_usd": maybe(MONEY),
}

_TOTAL = record(_AMOUNTS)
_ROW: Schema = {
    **_TOTAL,
    "properties": {**_labels(), **_AMOUNTS, **_BELOW},
    "additionalProperties": False,
}

_SPENT: Schema = {
    "type": ["integer", "string", "null"],
    "description": "Tokens, or an exact decimal in USD, by `unit`.",
}

_CROSSING: Schema = {
    **record(
        {
            "percent": NUMBER,
            "run": TEXT,
            "step": COUNT,
            "path": TEXT,
            "line": LINE,
            "at": maybe(TIME),
            "spent": _SPENT,
            "spent_after": _SPENT,
            "steps_after": COUNT,
        },
        "The step with which the share was reached; null: it was not.",
    ),
    "type": ["object", "null"],
}

_BUDGET = record(
    {
        "scope": one_of(Scope),
        "task_type": maybe(TEXT, "Only runs of this type."),
        "key": maybe(TEXT, "The run, type of task or day."),
        "unit": one_of(Unit),
        "limit": _SPENT,
        "spent": _SPENT,
        "over": {"type": "boolean", "description": "More than the limit; equal to it is within."},
        "verdict": one_of(Verdict),
        "steps": COUNT,
        "unpriced_tokens": COUNT,
        "responses_without_usage": COUNT,
        "responses_lower_bound": COUNT,
        "warned": _CROSSING,
        "reached": _CROSSING,
    }
)

_HEAD: dict[str, Schema] = {
    "schema_version": {"const": "1"},
    "tool_version": TEXT,
    "zone": {**TEXT, "description": "Of days, weeks and months."},
    "price_date": maybe(TEXT, "Of the newest price when the last response was made."),
}

_COSTS = record(
    {
        **_HEAD,
        "by": list_of(one_of(NAMES)),
        "not_in_these_logs": list_of(one_of(NAMES), "Dimensions that no log tells."),
        "completeness": one_of(Completeness),
        "reasons": list_of(TEXT),
        "duplicates_removed": COUNT,
        "unpriced_models": list_of(TEXT),
        "total": _TOTAL,
        "rows": list_of(_ROW, "Dearest first; they add up to the total."),
        "budgets": list_of(_BUDGET, "Worst verdict first."),
    }
)

_DIFFERENCE: Schema = {"type": ["integer", "null"], "description": "Export less logs."}
_SIDES: dict[str, Schema] = {
    "logs_tokens": maybe(COUNT),
    "export_tokens": maybe(COUNT),
    "difference_tokens": _DIFFERENCE,
    "logs_usd": maybe(MONEY),
    "export_usd": maybe(MONEY),
    "difference_usd": maybe(MONEY, "Export less logs."),
}
_SIDE = record({"tokens": maybe(COUNT), "usd": maybe(MONEY)})

_RECONCILIATION = record(
    {
        **_HEAD,
        "export": TEXT,
        "columns": {"type": "object", "additionalProperties": TEXT},
        "export_priced_by_list": {"type": "boolean"},
        "total": record(_SIDES),
        "unexplained": {**_SIDE, "description": "Billed, and in no log."},
        "not_in_export": {**_SIDE, "description": "In the logs, and not billed."},
        "outside_of_export": {**_SIDE, "description": "Of days that the export does not cover."},
        "without_time": _SIDE,
        "unreadable": list_of(record({"line": LINE, "reason": TEXT})),
        "rows": list_of(record({"day": TEXT, "model": maybe(TEXT), **_SIDES})),
        "budgets": list_of(_BUDGET),
    }
)
