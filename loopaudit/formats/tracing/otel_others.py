"""Spans of other tools in the keys of OTLP: Jaeger's JSON, and traces with nested child spans.

Jaeger: `{"data": [{"traceID", "spans": [{"operationName", "references", "tags"}], "processes"}]}`,
times in microseconds. Nested (TRAIL and exports like it): `child_spans` below a span with
`span_id`, `span_name`, `span_attributes`, a time and a duration such as `PT1.5S`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from loopaudit.formats.shapes import Json, name, number, rows, seconds, table, words

_DURATION = re.compile(
    r"P(?:([0-9.]+)D)?T?(?:([0-9.]+)H)?(?:([0-9.]+)M)?(?:([0-9.]+)S)?", re.IGNORECASE
)
_MOST = 1_000_000  # spans of one nested trace


def is_jaeger(record: Json) -> bool:
    spans = record.get("spans")
    first = spans[0] if isinstance(spans, list) and spans else None
    return isinstance(first, dict) and "operationName" in first and "spanID" in first


def jaeger(record: Json) -> Iterator[tuple[int, Json, Json]]:
    """(number, span, attributes of its resource) of one trace."""
    processes = table(record, "processes")
    for index, raw in enumerate(record["spans"]):
        if not isinstance(raw, dict):
            continue
        process = table(processes, name(raw.get("processID")) or "")
        resource = {**_tags(process.get("tags")), "service.name": process.get("serviceName")}
        yield index, _from_jaeger(raw), resource


def _from_jaeger(raw: Json) -> Json:
    attributes = _tags(raw.get("tags"))
    start, lasted = number(raw.get("startTime")), number(raw.get("duration"))
    above = next(
        (ref.get("spanID") for ref in rows(raw.get("references"))
         if ref.get("refType", "CHILD_OF") == "CHILD_OF"),
        None,
    )  # fmt: skip
    failed = attributes.get("error") in (True, "true")
    failed |= attributes.get("otel.status_code") == "ERROR"
    events = []
    for log in rows(raw.get("logs")):
        fields = _tags(log.get("fields"))
        events.append({"name": fields.pop("event", ""), "attributes": fields})
    return {
        "traceId": raw.get("traceID"),
        "spanId": raw.get("spanID"),
        "parentSpanId": above or raw.get("parentSpanID"),
        "name": raw.get("operationName"),
        "startTime": None if start is None else start / 1e6,
        "endTime": None if start is None or lasted is None else (start + lasted) / 1e6,
        "attributes": attributes,
        "status": {
            "code": 2 if failed else 0,
            "message": attributes.get("otel.status_description"),
        },
        "events": events,
    }


def _tags(tags: Any) -> Json:
    return {tag["key"]: tag.get("value") for tag in rows(tags) if isinstance(tag.get("key"), str)}


def is_nested(record: Json) -> bool:
    named = isinstance(record.get("span_name"), str) and "span_id" in record
    return named and ("span_attributes" in record or "child_spans" in record)


def nested(record: Json, trace: Any) -> Iterator[Json]:
    """A span and all below it."""
    stack = [(record, record.get("parent_span_id"))]
    told = 0
    while stack and told < _MOST:
        raw, above = stack.pop()
        told += 1
        own = raw.get("span_id")
        start = seconds(raw.get("timestamp") or raw.get("start_time"))
        lasted = _seconds(raw.get("duration"))
        yield {
            "traceId": raw.get("trace_id") or trace,
            "spanId": own,
            "parentSpanId": raw.get("parent_span_id") or above,
            "name": raw.get("span_name"),
            "startTime": start,
            "endTime": None if start is None or lasted is None else start + lasted,
            "attributes": table(raw, "span_attributes"),
            "status": {
                "code": raw.get("status_code"),
                "message": raw.get("status_message") or None,
            },
            "events": raw.get("events"),
        }
        below = [child for child in rows(raw.get("child_spans")) if is_nested(child)]
        stack += [(child, own) for child in reversed(below)]


def _seconds(value: Any) -> float | None:
    """Seconds of an ISO 8601 duration, or of a number."""
    text = words(value)
    if text is None:
        return number(value)
    match = _DURATION.fullmatch(text)
    if match is None or len(text) > 60:
        return None
    total = 0.0
    for part, unit in zip(match.groups(), (86_400, 3_600, 60, 1), strict=True):
        try:
            total += float(part) * unit if part else 0.0
        except ValueError:
            return None
    return total
