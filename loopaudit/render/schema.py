"""The JSON Schema of the JSON report, version 1. Further keys may be added; none goes away."""

from __future__ import annotations

from typing import Any

from loopaudit.findings import Completeness, EndedBy, Level, Retryable

Schema = dict[str, Any]


def report_schema() -> Schema:
    """A schema of draft 2020-12 that every report of `--format json` fulfils."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "loopaudit report, version 1",
        "description": (
            "Steps and calls are 0-based within their run, lines 1-based. Money is an exact decimal"
            " in USD. Times are ISO 8601 with zone. null: not known."
        ),
        **_object(
            {
                "schema_version": {"const": "1"},
                "tool_version": _TEXT,
                "inputs": _list(_INPUT),
                "skips": _list(_SKIP, "Input that was lost, and why; line null: the whole file."),
                "totals": _TOTALS,
                "runs": _list(_RUN),
                "findings": _list(_FINDING, "By wasted money, then tokens, then place."),
                "not_loops": _list(_NOT_LOOP, "Looked at and not counted."),
                "guards": _list(_GUARD),
                "spin": _SPIN,
                "tools": _list(_TOOL, "Tools with redundant calls, worst first."),
                "failures": _list(_FAILURE, "What of loopaudit or an extension broke."),
            }
        ),
    }


def _object(properties: dict[str, Schema], says: str = "") -> Schema:
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return schema | ({"description": says} if says else {})


def _list(items: Schema, says: str = "") -> Schema:
    return {"type": "array", "items": items} | ({"description": says} if says else {})


def _maybe(schema: Schema, says: str = "") -> Schema:
    """The value, or null where it is not known."""
    maybe = dict(schema)
    maybe["type"] = [schema["type"], "null"]
    return maybe | ({"description": says} if says else {})


def _words(values: Any, says: str = "") -> Schema:
    words = {"type": "string", "enum": [str(value) for value in values]}
    return words | ({"description": says} if says else {})


_TEXT: Schema = {"type": "string"}
_FLAG: Schema = {"type": "boolean"}
_COUNT: Schema = {"type": "integer", "minimum": 0}
_LINE: Schema = {"type": "integer", "minimum": 1}
_NUMBER: Schema = {"type": "number"}
_SECONDS: Schema = {"type": "number", "minimum": 0}
_SHARE: Schema = {"type": "number", "minimum": 0, "maximum": 1}
_MONEY: Schema = {"type": "string", "pattern": r"^-?[0-9]+(\.[0-9]+)?$"}
_TIME: Schema = {
    "type": "string",
    "pattern": r"^[0-9]{4,}-[0-9]{2}-[0-9]{2}T[0-9:]{8}(\.[0-9]+)?(Z|[+-][0-9:]+)$",
}
_MISSING = _list(
    _words(("results", "times", "usage", "arguments")), "Fields that this log cannot tell."
)

_TOKENS = _object(
    {
        "fresh_input": _maybe(_COUNT),
        "cache_read": _maybe(_COUNT),
        "cache_write": _maybe(_COUNT),
        "output": _maybe(_COUNT),
        "reasoning": _maybe(_COUNT, "Inside output."),
        "total": _maybe(_COUNT),
    },
    "Disjoint buckets.",
)

_INPUT = _object(
    {
        "path": _TEXT,
        "format": _TEXT,
        "confidence": _SHARE,
        "lines": _COUNT,
        "records_used": _COUNT,
        "records_ignored": _COUNT,
        "records_ignored_by_name": {"type": "object", "additionalProperties": _COUNT},
        "skips": _COUNT,
        "runs": _COUNT,
        "missing": _MISSING,
        "bytes": _COUNT,
    }
)

_SKIP = _object({"path": _TEXT, "line": _maybe(_LINE), "reason": _TEXT})

_WASTE_SUM: dict[str, Schema] = {
    "tokens": _maybe(_COUNT),
    "cache_read": _maybe(_COUNT),
    "usd": _maybe(_MONEY),
    "share": _maybe(_SHARE),
    "estimated": _FLAG,
}

_WASTE = _object({"steps": _COUNT, **_WASTE_SUM}, "Redundant steps, each counted once.")

_TOTALS = _object(
    {
        "runs": _COUNT,
        "responses": _COUNT,
        "calls": _COUNT,
        "calls_failed": _COUNT,
        "duplicates_removed": _COUNT,
        "tokens": _TOKENS,
        "inherited_tokens": _maybe(_COUNT),
        "usd": _maybe(_MONEY, "At list prices; not a bill."),
        "recorded_usd": _maybe(_MONEY, "As the logs themselves say."),
        "price_date": _maybe(_TEXT),
        "unpriced": _object({"tokens": _COUNT, "models": _list(_TEXT)}),
        "completeness": _words(Completeness),
        "reasons": _list(_TEXT),
        "waste": _WASTE,
    }
)

_RUN = _object(
    {
        "id": _TEXT,
        "parent": _maybe(_TEXT),
        "session": _maybe(_TEXT),
        "path": _TEXT,
        "format": _TEXT,
        "agent": _maybe(_TEXT),
        "agent_version": _maybe(_TEXT),
        "models": _list(_TEXT),
        "project": _maybe(_TEXT),
        "task_type": _maybe(_TEXT),
        "outcome": _object({"label": _maybe(_TEXT), "source": _maybe(_TEXT)}),
        "steps": _COUNT,
        "calls": _COUNT,
        "calls_failed": _COUNT,
        "started": _maybe(_TIME),
        "ended": _maybe(_TIME),
        "still_running": _FLAG,
        "tokens": _TOKENS,
        "inherited_tokens": _maybe(_COUNT),
        "usd": _maybe(_MONEY),
        "recorded_usd": _maybe(_MONEY),
        "waste": _WASTE,
        "missing": _MISSING,
    }
)

_PLACE = _object(
    {
        "run": _TEXT,
        "step": _COUNT,
        "call": _maybe(_COUNT, "Index within the run."),
        "path": _TEXT,
        "line": _LINE,
        "at": _maybe(_TIME),
        "char_offset": _maybe(_COUNT),
    }
)

_STOP = _object(
    {
        "guard": _TEXT,
        "detector": _TEXT,
        "level": _words(Level),
        "threshold": _maybe(_NUMBER),
        "step": _COUNT,
        "saved_tokens_at_most": _maybe(_COUNT),
        "saved_usd_at_most": _maybe(_MONEY),
    },
    "What a guard would have done; savings count from this entry's own step.",
)

_ADVICE = _object(
    {"symptom": _TEXT, "cause": _TEXT, "find": _TEXT, "change": _TEXT},
    "In the order in which it is done; `find`: how to make sure in the log.",
)

_TOOL = _object({"tool": _TEXT, "calls": _COUNT, "redundant": _COUNT, "share": _SHARE})

_FINDING = _object(
    {
        "id": _TEXT,
        "rule": _TEXT,
        "run": _TEXT,
        "confidence": _SHARE,
        "confidence_reason": _maybe(_TEXT),
        "retryable": _words(Retryable),
        "call": _object({"tool": _maybe(_TEXT), "key": _maybe(_TEXT)}),
        "period": _maybe(_LINE),
        "occurrences": _COUNT,
        "first_seen": _PLACE,
        "onset": _PLACE,
        "last": _PLACE,
        "ended_by": _words(EndedBy),
        "waste": _object(
            {
                "steps": _list(_object({"run": _TEXT, "step": _COUNT, "part": _SHARE})),
                **_WASTE_SUM,
                "waited_seconds": _maybe(_SECONDS, "Between failed API attempts."),
                "resent_tokens": _maybe(_COUNT, "Input sent again by API attempts; no bill."),
                "unknown": _list(_TEXT, "What the log does not tell of it."),
            }
        ),
        "listed_steps": _list(_COUNT, "Redundant in part: listed, not charged."),
        "reasons": _list(_TEXT),
        "advice": _maybe(_TEXT, "What to change."),
        "advice_parts": _maybe(_ADVICE),
        "redundant": {
            "type": "object",
            "additionalProperties": _COUNT,
            "description": "Redundant calls by tool, charged or listed.",
        },
        "stops": _list(_STOP),
    }
)

_NOT_LOOP = _object(
    {
        "run": _TEXT,
        "kind": _TEXT,
        "step": _COUNT,
        "reason": _TEXT,
        "path": _maybe(_TEXT),
        "line": _maybe(_LINE),
    }
)

_VERDICT = _object(
    {
        "run": _TEXT,
        "step": _COUNT,
        "call": _maybe(_COUNT, "Position within the step; null: about the step."),
        "detector": _TEXT,
        "level": _words(Level),
        "count": _maybe(_NUMBER),
        "threshold": _maybe(_NUMBER),
        "reason": _TEXT,
        "recoverable": _maybe(_FLAG),
        "budget": _maybe({"type": "integer"}),
    }
)

_GUARD = _object(
    {
        "preset": _TEXT,
        "runs_stopped": _COUNT,
        "verdicts": _list(_VERDICT),
        "undecidable": _list(_object({"run": _TEXT, "detector": _TEXT, "needs": _TEXT})),
        "unreachable": _list(_TEXT, "Thresholds that their window can never reach."),
    }
)

_SPIN_MEANS: dict[str, Schema] = {
    "mean_steps_guarded": _maybe(_NUMBER),
    "tokens_saved_share": _maybe(_NUMBER),
}

_SPIN = _object(
    {
        "mean_steps_recorded": _maybe(_NUMBER, "Steps of a finding from onset to last."),
        **_SPIN_MEANS,
        "by_guard": _list(_object({"preset": _TEXT, **_SPIN_MEANS})),
    },
    "The plain keys speak of the guard named first.",
)

_FAILURE = _object({"owner": _TEXT, "run": _maybe(_TEXT), "path": _maybe(_TEXT), "message": _TEXT})
