"""The JSON Schema of the JSON report, version 1. Further keys may be added; none goes away."""

from __future__ import annotations

from loopaudit.findings import Completeness, EndedBy, Level, OutcomeBy, Retryable
from loopaudit.render.schema_parts import (
    COUNT,
    DRAFT,
    FLAG,
    LINE,
    MONEY,
    NUMBER,
    SECONDS,
    SHARE,
    TEXT,
    TIME,
    Schema,
    list_of,
    maybe,
    one_of,
    record,
)


def report_schema() -> Schema:
    """A schema of draft 2020-12 that every report of `--format json` fulfils."""
    return {
        "$schema": DRAFT,
        "title": "loopaudit report, version 1",
        "description": (
            "Steps and calls are 0-based within their run, lines 1-based. Money is an exact decimal"
            " in USD. Times are ISO 8601 with zone. null: not known."
        ),
        **record(
            {
                "schema_version": {"const": "1"},
                "tool_version": TEXT,
                "inputs": list_of(_INPUT),
                "skips": list_of(_SKIP, "Input that was lost, and why; line null: the whole file."),
                "totals": _TOTALS,
                "runs": list_of(_RUN),
                "findings": list_of(_FINDING, "By wasted money, then tokens, then place."),
                "not_loops": list_of(_NOT_LOOP, "Looked at and not counted."),
                "guards": list_of(_GUARD),
                "spin": _SPIN,
                "tools": list_of(_TOOL, "Tools with redundant calls, worst first."),
                "labels": maybe(_LABELS, "What became of a labels file of runs."),
                "failures": list_of(_FAILURE, "What of loopaudit or an extension broke."),
            }
        ),
    }


_MISSING = list_of(
    one_of(("results", "times", "usage", "arguments")), "Fields that this log cannot tell."
)

_TOKENS = record(
    {
        "fresh_input": maybe(COUNT),
        "cache_read": maybe(COUNT),
        "cache_write": maybe(COUNT),
        "output": maybe(COUNT),
        "reasoning": maybe(COUNT, "Inside output."),
        "total": maybe(COUNT),
    },
    "Disjoint buckets.",
)

_INPUT = record(
    {
        "path": TEXT,
        "format": TEXT,
        "confidence": SHARE,
        "lines": COUNT,
        "records_used": COUNT,
        "records_ignored": COUNT,
        "records_ignored_by_name": {"type": "object", "additionalProperties": COUNT},
        "skips": COUNT,
        "runs": COUNT,
        "missing": _MISSING,
        "bytes": COUNT,
    }
)

_SKIP = record({"path": TEXT, "line": maybe(LINE), "reason": TEXT})

_WASTE_SUM: dict[str, Schema] = {
    "tokens": maybe(COUNT),
    "cache_read": maybe(COUNT),
    "usd": maybe(MONEY),
    "share": maybe(SHARE),
    "estimated": FLAG,
}

_WASTE = record({"steps": COUNT, **_WASTE_SUM}, "Redundant steps, each counted once.")

_TOTALS = record(
    {
        "runs": COUNT,
        "responses": COUNT,
        "calls": COUNT,
        "calls_failed": COUNT,
        "duplicates_removed": COUNT,
        "tokens": _TOKENS,
        "inherited_tokens": maybe(COUNT),
        "usd": maybe(MONEY, "At list prices; not a bill."),
        "recorded_usd": maybe(MONEY, "As the logs themselves say."),
        "price_date": maybe(TEXT),
        "unpriced": record({"tokens": COUNT, "models": list_of(TEXT)}),
        "completeness": one_of(Completeness),
        "reasons": list_of(TEXT),
        "waste": _WASTE,
    }
)

_RUN = record(
    {
        "id": TEXT,
        "parent": maybe(TEXT),
        "session": maybe(TEXT),
        "path": TEXT,
        "format": TEXT,
        "agent": maybe(TEXT),
        "agent_version": maybe(TEXT),
        "models": list_of(TEXT),
        "project": maybe(TEXT),
        "task_type": maybe(TEXT),
        "task_type_source": maybe(TEXT, "The log, a labels file, or the rule that gave it."),
        "outcome": record(
            {
                "label": maybe(TEXT),
                "source": maybe(TEXT, "Who says so, and where or by which rule."),
                "by": maybe(TEXT, f"One of: {', '.join(OutcomeBy)}."),
            }
        ),
        "steps": COUNT,
        "calls": COUNT,
        "calls_failed": COUNT,
        "started": maybe(TIME),
        "ended": maybe(TIME),
        "still_running": FLAG,
        "tokens": _TOKENS,
        "inherited_tokens": maybe(COUNT),
        "usd": maybe(MONEY),
        "recorded_usd": maybe(MONEY),
        "waste": _WASTE,
        "missing": _MISSING,
    }
)

_PLACE = record(
    {
        "run": TEXT,
        "step": COUNT,
        "call": maybe(COUNT, "Index within the run."),
        "path": TEXT,
        "line": LINE,
        "at": maybe(TIME),
        "char_offset": maybe(COUNT),
    }
)

_STOP = record(
    {
        "guard": TEXT,
        "detector": TEXT,
        "level": one_of(Level),
        "threshold": maybe(NUMBER),
        "step": COUNT,
        "saved_tokens_at_most": maybe(COUNT),
        "saved_usd_at_most": maybe(MONEY),
    },
    "What a guard would have done; savings count from this entry's own step.",
)

_ADVICE = record(
    {"symptom": TEXT, "cause": TEXT, "find": TEXT, "change": TEXT},
    "In the order in which it is done; `find`: how to make sure in the log.",
)

_TOOL = record({"tool": TEXT, "calls": COUNT, "redundant": COUNT, "share": SHARE})

_LABELS = record(
    {
        "file": TEXT,
        "rows": COUNT,
        "matched": COUNT,
        "runs": COUNT,
        "unmatched_lines": list_of(LINE),
        "disagreements": list_of(TEXT, "Rows that contradict each other, or a log."),
        "unread_columns": list_of(TEXT),
    }
)

_FINDING = record(
    {
        "id": TEXT,
        "rule": TEXT,
        "run": TEXT,
        "confidence": SHARE,
        "confidence_reason": maybe(TEXT),
        "retryable": one_of(Retryable),
        "call": record({"tool": maybe(TEXT), "key": maybe(TEXT)}),
        "period": maybe(LINE),
        "occurrences": COUNT,
        "first_seen": _PLACE,
        "onset": _PLACE,
        "last": _PLACE,
        "ended_by": one_of(EndedBy),
        "waste": record(
            {
                "steps": list_of(record({"run": TEXT, "step": COUNT, "part": SHARE})),
                **_WASTE_SUM,
                "waited_seconds": maybe(SECONDS, "Between failed API attempts."),
                "resent_tokens": maybe(COUNT, "Input sent again by API attempts; no bill."),
                "unknown": list_of(TEXT, "What the log does not tell of it."),
            }
        ),
        "listed_steps": list_of(COUNT, "Redundant in part: listed, not charged."),
        "interruptions": list_of(
            record({"first": COUNT, "last": COUNT}),
            "Stretches of other steps between onset and last.",
        ),
        "reasons": list_of(TEXT),
        "advice": maybe(TEXT, "What to change."),
        "advice_parts": maybe(_ADVICE),
        "redundant": {
            "type": "object",
            "additionalProperties": COUNT,
            "description": "Redundant calls by tool, charged or listed.",
        },
        "stops": list_of(_STOP),
    }
)

_NOT_LOOP = record(
    {
        "run": TEXT,
        "kind": TEXT,
        "step": COUNT,
        "reason": TEXT,
        "path": maybe(TEXT),
        "line": maybe(LINE),
    }
)

_VERDICT = record(
    {
        "run": TEXT,
        "step": COUNT,
        "call": maybe(COUNT, "Position within the step; null: about the step."),
        "detector": TEXT,
        "level": one_of(Level),
        "count": maybe(NUMBER),
        "threshold": maybe(NUMBER),
        "reason": TEXT,
        "recoverable": maybe(FLAG),
        "budget": maybe({"type": "integer"}),
    }
)

_GUARD = record(
    {
        "preset": TEXT,
        "runs_stopped": COUNT,
        "verdicts": list_of(_VERDICT),
        "undecidable": list_of(record({"run": TEXT, "detector": TEXT, "needs": TEXT})),
        "unreachable": list_of(TEXT, "Thresholds that their window can never reach."),
    }
)

_SPIN_MEANS: dict[str, Schema] = {
    "mean_steps_guarded": maybe(NUMBER),
    "tokens_saved_share": maybe(NUMBER),
}

_SPIN = record(
    {
        "mean_steps_recorded": maybe(NUMBER, "Steps of a finding from onset to last."),
        **_SPIN_MEANS,
        "by_guard": list_of(record({"preset": TEXT, **_SPIN_MEANS})),
    },
    "The plain keys speak of the guard named first.",
)

_FAILURE = record({"owner": TEXT, "run": maybe(TEXT), "path": maybe(TEXT), "message": TEXT})
