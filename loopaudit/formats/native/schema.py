"""JSON Schema (2020-12) of our own event lines."""

from __future__ import annotations

from typing import Any

from loopaudit.formats.native.fields import (
    PLAIN,
    TYPES,
    VERSION,
    Cleaner,
    tags,
    true,
)
from loopaudit.formats.shapes import count, dollars, name, number, seconds, whole, words
from loopaudit.formats.usages import TOTAL_ONLY
from loopaudit.model import (
    BUCKETS,
    BoundaryKind,
    BoundaryPiece,
    CallPiece,
    CallStatus,
    ResponsePiece,
    ResultPiece,
    RunPiece,
    StepKind,
    UsageMark,
)

_JSON_TYPES: dict[Cleaner, dict[str, Any]] = {
    name: {"type": "string", "minLength": 1},
    words: {"type": "string"},
    count: {"type": "integer", "minimum": 0},
    whole: {"type": "integer"},
    number: {"type": "number", "minimum": 0},
    seconds: {"$ref": "#/$defs/time"},
    dollars: {"$ref": "#/$defs/dollars"},
    true: {"type": "boolean"},
    tags: {"type": "object", "additionalProperties": {"type": "string"}},
    PLAIN[ResultPiece]["status"]: {"enum": [status.value for status in CallStatus]},
    PLAIN[ResponsePiece]["kind"]: {"enum": [kind.value for kind in StepKind]},
    PLAIN[BoundaryPiece]["kind"]: {"enum": [kind.value for kind in BoundaryKind]},
}

_MEANING = {
    "metadata": "tags and attributes",
    "streamed": "a call of it may be told again under its id, with more of its arguments",
    "parent": "run id of the run that started this one",
    "parent_call": "id of the call in the parent that started this run",
    "outcome": "label of the run, as passed or failed",
    "outcome_source": "who gave that label",
    "project": "working folder",
    "user": "who it ran for",
    "host": "machine it ran on",
    "version": "version of the agent program",
    "continues": "id of an earlier response that this one continues",
    "thinking_chars": "characters of hidden reasoning",
    "cost": "USD as charged",
    "service": "provider, service tier or region",
    "call": "id of the call answered; without it the oldest open call (of `tool`)",
    "wait": "seconds waited before the next attempt",
    "retry_after": "seconds the server asked for",
    "number": "1-based number of the attempt",
    "limit": "retries the policy allows",
    "layer": "which layer retried",
    "duration": "seconds",
    "fresh_input": "input neither read from nor written to a cache; `input` is short for it",
    "cache_write_unsplit": "cache write of unknown lifetime; `cache_write` is short for it",
    "reasoning": "lies inside `output`",
    "web_searches": "requests, not tokens",
}


def schema() -> dict[str, Any]:
    """JSON Schema (2020-12) of one line."""
    answer = {
        **_properties(ResultPiece, ("http_status", "code", "exit_code", "duration", "status")),
        "result": {"description": "text or any JSON value; null: answered, nothing recorded"},
        "error": {
            "type": ["boolean", "string"],
            "description": "true, or the error text: short for status `error`",
        },
    }
    call = {
        **_properties(CallPiece),
        "tool": _JSON_TYPES[name],
        "args": {"description": "arguments: any JSON value, or the raw text where it is no JSON"},
        "ended": {**_JSON_TYPES[seconds], "description": "when the result came"},
        **answer,
    }
    buckets = {key: _described(key, count) for key in (*BUCKETS, "input", "cache_write")}
    usage = {
        **buckets,
        "total": {**_JSON_TYPES[count], "description": f"used alone; {TOTAL_ONLY}"},
        "mark": {"enum": [mark.value for mark in UsageMark]},
        "note": {"type": "string", "description": "why it is not `reported`; `fast`, `batch`"},
    }
    response = {
        "calls": {"type": "array", "items": {"$ref": "#/$defs/call"}},
        "usage": {"$ref": "#/$defs/usage"},
    }
    extra = {RunPiece: {}, ResponsePiece: response, ResultPiece: answer}
    required = {BoundaryPiece: ["type", "kind"], RunPiece: ["type", "run"]}
    lines = {
        kind: {
            "type": "object",
            "properties": {
                "type": {"const": kind},
                "run": _JSON_TYPES[name],
                **_properties(piece),
                **extra.get(piece, {}),
            },
            "required": required.get(piece, ["type"]),
        }
        for kind, piece in TYPES.items()
    }
    header = {
        "type": "object",
        "properties": {"loopaudit": {"const": VERSION}},
        "required": ["loopaudit"],
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "loopaudit event line",
        "description": "One line of a log in loopaudit's own format. Absent means not known.",
        "oneOf": [{"$ref": f"#/$defs/{kind}"} for kind in ("header", *lines)],
        "$defs": {
            "header": header,
            **lines,
            "call": {"type": "object", "properties": call, "required": ["tool"]},
            "usage": {
                "type": "object",
                "description": "tokens of one response in disjoint buckets",
                "properties": usage,
            },
            "time": {
                "description": "ISO 8601 (UTC where it names no zone) or seconds since the epoch",
                "anyOf": [{"type": "string", "minLength": 10}, {"type": "number", "minimum": 0}],
            },
            "dollars": {
                "anyOf": [
                    {"type": "string", "pattern": r"^[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$"},
                    {"type": "number", "minimum": 0},
                ]
            },
        },
    }


def _properties(piece: type, only: tuple[str, ...] | None = None) -> dict[str, Any]:
    return {
        key: _described(key, clean)
        for key, clean in PLAIN[piece].items()
        if only is None or key in only
    }


def _described(key: str, clean: Cleaner) -> dict[str, Any]:
    meaning = _MEANING.get(key)
    return {**_JSON_TYPES[clean], **({"description": meaning} if meaning else {})}
