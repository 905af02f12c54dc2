"""MLflow traces: `Trace.to_json()`, the artifact `traces.json`, and rows of `search_traces()`.

Values of attributes are JSON text once more. The sum on the trace is not added to what its spans
tell. Version 2 keeps ids under `context` and times in `start_time` (ns).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from loopaudit.formats.base import Format, Sample
from loopaudit.formats.shapes import Json, name, rows, seconds, shown, table, words
from loopaudit.formats.tracing.conventions import error_of, fill
from loopaudit.formats.tracing.messages import loaded
from loopaudit.formats.tracing.span_reader import SpanReader
from loopaudit.formats.tracing.spans import Span
from loopaudit.model import Piece


class MlflowReader(SpanReader):
    def read(self, line: int, record: Any) -> Iterable[Piece]:
        if isinstance(record, list):
            for index, item in enumerate(record):
                self._trace(self.place(line, index), item, (index,), line)
        else:
            self._trace(line, record, (), line)
        return ()

    def _trace(self, here: int, record: Any, path: tuple[Any, ...], line: int) -> None:
        found = _spans_of(record)
        if found is None:
            self.reject(here, f"no MLflow trace: {shown(record)}")
            return
        where, spans, info = found
        if not spans:
            self.ignored["trace without spans"] += 1
        trace = name(info.get("trace_id")) or name(info.get("request_id"))
        about = table(info, "trace_metadata") or table(info, "request_metadata")
        for index, raw in enumerate(spans):
            place = self.place(line, *path, *where, index) if where else here
            if isinstance(raw, dict):
                self._span(place, raw, trace, about)
            else:
                self.reject(place, "no span")
        if trace is not None:
            self.describe(trace, info.get("tags"), about)
            for item in rows(info.get("assessments")):
                value = table(item, "feedback").get("value", item.get("value"))
                self.grade(
                    trace, value, name(item.get("name")) or name(item.get("assessment_name")) or ""
                )

    def _span(self, line: int, raw: Json, trace: str | None, about: Json) -> None:
        context = table(raw, "context") or raw
        own = name(context.get("span_id"))
        if own is None:
            self.reject(line, "a span without an id")
            return
        attributes = {str(key): loaded(value) for key, value in _plain(raw).items()}
        # the trace itself names itself best: its spans carry the same id in another spelling
        asked = name(attributes.get("mlflow.traceRequestId"))
        trace = trace or asked or name(context.get("trace_id")) or self.stem
        above = name(raw.get("parent_span_id")) or name(raw.get("parent_id"))
        span = Span(trace, own, line, words(raw.get("name")) or "", above)
        span.start = _time(raw, "start_time_unix_nano", "start_time_ns", "start_time")
        span.end = _time(raw, "end_time_unix_nano", "end_time_ns", "end_time")
        status = raw.get("status")
        code = status.get("code", status.get("status_code")) if isinstance(status, dict) else status
        code = raw.get("status_code") if code is None else code
        span.failed = isinstance(code, str) and code.upper().endswith("ERROR")
        message = (
            status.get("message", status.get("description"))
            if isinstance(status, dict)
            else raw.get("status_message")
        )
        span.error = words(message) or None
        span.session = name(about.get("mlflow.trace.session"))
        span.user = name(about.get("mlflow.trace.user"))
        events = [
            (words(e.get("name")) or "", table(e, "attributes")) for e in rows(raw.get("events"))
        ]
        error_of(span, attributes, events)
        fill(span, attributes, self.histories)
        self.add(span)


def _plain(raw: Json) -> Json:
    """Attributes; version 2 has inputs and outputs beside them, too."""
    attributes = table(raw, "attributes")
    beside = {
        "mlflow.spanInputs": raw.get("inputs"),
        "mlflow.spanOutputs": raw.get("outputs"),
        "mlflow.spanType": raw.get("span_type"),
    }
    extra = {key: value for key, value in beside.items() if value is not None}
    return {**extra, **attributes}


def _time(raw: Json, *keys: str) -> float | None:
    return next((seconds(raw[key]) for key in keys if raw.get(key) is not None), None)


def _spans_of(record: Any) -> tuple[tuple[Any, ...], list[Any], Json] | None:
    """Path of the spans in the record (empty where they lie in a text), the spans, the trace."""
    if not isinstance(record, dict):
        return None
    inside = table(record, "data").get("spans")
    if isinstance(inside, list):
        return ("data", "spans"), inside, table(record, "info")
    whole = loaded(record.get("trace"))
    spans = loaded(record.get("spans"))
    if isinstance(whole, dict) and isinstance(table(whole, "data").get("spans"), list):
        if not isinstance(spans, list) or not spans:
            return (), table(whole, "data")["spans"], table(whole, "info")
        record = {**table(whole, "info"), **record}
    if isinstance(spans, list):
        at = ("spans",) if isinstance(record.get("spans"), list) else ()
        return at, spans, record
    return None


def sniff(sample: Sample) -> float:
    records = sample.records[:8]
    if len(records) == 1 and isinstance(records[0], list):
        records = records[0][:8]
    return 0.97 if records and all(map(_is_trace, records)) else 0.0


def _is_trace(record: Any) -> bool:
    found = _spans_of(record)
    if found is None or not isinstance(record, dict):
        return False
    _, spans, info = found
    known = "trace_metadata" in info or "request_metadata" in info or "trace_location" in info
    return known or any(
        str(key).startswith("mlflow.") for span in rows(spans)[:4] for key in _plain(span)
    )


FORMAT = Format(
    name="mlflow",
    title="MLflow traces",
    sniff=sniff,
    reader=MlflowReader,
    describes=(
        "Traces of MLflow: `Trace.to_json()`, the artifact `traces.json` under "
        "`mlruns/<experiment>/traces/<id>/artifacts/`, rows of `search_traces()` as JSON, versions "
        "2 and 3. Retries inside a client leave no span."
    ),
)
