"""Containers of OpenTelemetry data: where spans and log records stand, and how values are told.

OTLP/JSON in both spellings of its keys, older libraries' names, envelopes of tracing servers; spans
of the console exporters, of JavaScript dumps and of Phoenix, whose attributes are plain objects.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from loopaudit.formats.shapes import Json, name, rows, seconds, table, words
from loopaudit.formats.tracing.otel_others import is_jaeger, is_nested, jaeger, nested

TRACES = ("resourceSpans", "resource_spans", "batches")
_LOGS = ("resourceLogs", "resource_logs")
_SCOPES = (
    *("scopeSpans", "scope_spans", "instrumentationLibrarySpans", "instrumentation_library_spans"),
    *("scopeLogs", "scope_logs"),
)
OTHER_SIGNALS = ("resourceMetrics", "resource_metrics", "resourceProfiles")
CONTAINERS = frozenset((*TRACES, *_LOGS))
_Part = tuple[tuple[Any, ...], str, Json, Json]  # path, kind, value, resource attributes


def parts_of(record: Any, path: tuple[Any, ...] = (), depth: int = 0) -> Iterator[_Part]:
    """The spans and log records in a record, each with its path."""
    if isinstance(record, list) and depth < 4:
        for index, item in enumerate(record):
            yield from parts_of(item, (*path, index), depth + 1)
    if not isinstance(record, dict):
        return
    found = False
    for key in (*TRACES, *_LOGS):
        if isinstance(record.get(key), list):
            found = True
            for index, group in enumerate(record[key]):
                if isinstance(group, dict):
                    yield from _group(group, (*path, key, index))
    for key in OTHER_SIGNALS:
        if key in record:
            found = True
            yield path, "metrics record", {}, {}
    if found:
        return
    if _is_group(record):
        yield from _group(record, path)
    elif is_span(record):
        yield path, "span", record, attributes_of(table(record, "resource").get("attributes"))
    elif is_log(record):
        yield path, "log", record, {}
    elif is_jaeger(record):
        for number, span, about in jaeger(record):
            yield (*path, "spans", number), "span", span, about
    elif is_nested(record):
        for span in nested(record, record.get("trace_id")):
            yield path, "span", span, {}
    elif any(is_nested(item) for item in rows(record.get("spans"))[:4]):
        for number, item in enumerate(rows(record["spans"])):
            for span in nested(item, record.get("trace_id")):
                yield (*path, "spans", number), "span", span, {}
    elif depth < 4:
        for key in ("trace", "data", "result", "spans"):
            if isinstance(record.get(key), list | dict):
                yield from parts_of(record[key], (*path, key), depth + 1)


def _is_group(record: Json) -> bool:
    return any(isinstance(record.get(key), list) for key in _SCOPES)


def _group(group: Json, path: tuple[Any, ...]) -> Iterator[_Part]:
    """Spans and log records of one resource."""
    resource = attributes_of(table(group, "resource").get("attributes"))
    for key in _SCOPES:
        scopes = group.get(key)
        for index, scope in enumerate(scopes if isinstance(scopes, list) else ()):
            for inner, kind in (("spans", "span"), ("logRecords", "log"), ("log_records", "log")):
                items = scope.get(inner) if isinstance(scope, dict) else None
                for number, item in enumerate(items if isinstance(items, list) else ()):
                    if isinstance(item, dict):
                        yield (*path, key, index, inner, number), kind, item, resource


def is_span(record: Json) -> bool:
    """Whether this is one span: of OTLP, the console exporters, a JavaScript dump, Phoenix."""
    if not isinstance(record.get("name"), str):
        return False
    context = table(record, "context") or table(record, "spanContext") or record
    ids = get(context, "spanId", "span_id") and get(context, "traceId", "trace_id")
    timed = any(key in record for key in _STARTS)
    return bool(ids) and timed and isinstance(record.get("attributes"), dict | list | None)


def is_log(record: Json) -> bool:
    """Whether this is one log record of a console exporter, or a bare one of OTLP."""
    timed = get(record, "observedTimeUnixNano", "observed_timestamp", "timeUnixNano")
    severity = any(k in record for k in ("severity_number", "severityNumber", "severity_text"))
    return bool(timed or severity) and "attributes" in record and "body" in record


_STARTS = ("startTimeUnixNano", "start_time_unix_nano", "start_time", "startTime")


def get(value: Any, *keys: str) -> Any:
    if isinstance(value, dict):
        for key in keys:
            if value.get(key) is not None:
                return value[key]
    return None


def hex_id(value: Any) -> str | None:
    """An id as one spelling: without `0x`; all zeros are none."""
    found = name(value)
    if found is None:
        return None
    found = found.removeprefix("0x")
    return found if found.strip("0=A") or not found else None


def time_of(value: Any) -> float | None:
    """Seconds from nanoseconds (a number or its text), ISO text, or [seconds, nanoseconds]."""
    if isinstance(value, list) and len(value) == 2:
        whole, rest = value
        if isinstance(whole, int | float) and isinstance(rest, int | float):
            return seconds(whole + rest / 1e9) if not isinstance(whole, bool) else None
        return None
    return seconds(value)


def attributes_of(value: Any) -> Json:
    """Attributes as one flat object: of OTLP's list of pairs, or of a plain (nested) object."""
    if isinstance(value, list):
        return {
            pair["key"]: value_of(pair.get("value"))
            for pair in value
            if isinstance(pair, dict) and isinstance(pair.get("key"), str)
        }
    if not isinstance(value, dict):
        return {}
    if not any(isinstance(inner, dict) for inner in value.values()):
        return value
    flat: Json = {}
    stack = [("", value, 0)]
    while stack:
        prefix, table_, depth = stack.pop()
        for key, inner in table_.items():
            if isinstance(inner, dict) and depth < 8 and inner:
                stack.append((f"{prefix}{key}.", inner, depth + 1))
            flat[f"{prefix}{key}"] = inner
    return flat


def value_of(value: Any, depth: int = 0) -> Any:
    """A value of OTLP (`{"stringValue": …}`), whole numbers as text included."""
    if not isinstance(value, dict) or depth > 60:
        return value if not isinstance(value, dict) else None
    for key, inner in value.items():
        kind = str(key).replace("_", "").lower()
        if kind in ("stringvalue", "boolvalue", "doublevalue", "bytesvalue"):
            return inner
        if kind == "intvalue":
            text = inner.removeprefix("-") if isinstance(inner, str) else ""
            digits = text.isascii() and text.isdigit() and len(text) < 30
            return int(inner) if digits else inner
        if kind == "arrayvalue":
            return [value_of(item, depth + 1) for item in _items(inner)]
        if kind == "kvlistvalue":
            return {
                pair["key"]: value_of(pair.get("value"), depth + 1)
                for pair in _items(inner)
                if isinstance(pair, dict) and isinstance(pair.get("key"), str)
            }
    return None


def _items(value: Any) -> list[Any]:
    found = value.get("values") if isinstance(value, dict) else None
    return found if isinstance(found, list) else []


def events_of(value: Any) -> Iterator[tuple[str, float | None, Json]]:
    for event in rows(value):
        at = time_of(get(event, "timeUnixNano", "time_unix_nano", "timestamp", "time"))
        yield words(event.get("name")) or "", at, attributes_of(event.get("attributes"))
