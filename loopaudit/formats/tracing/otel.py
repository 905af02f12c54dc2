"""OpenTelemetry: OTLP/JSON traces and logs, console and JavaScript span dumps, Phoenix exports.

Containers only: what the attributes mean is told by `conventions`, what the spans amount to by
`spans`. Old GenAI conventions keep messages in log records, joined to spans by trace and span id;
they may lie in a file of their own, whose runs then have no usage but where its events tell it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from loopaudit.formats.base import Format, Sample
from loopaudit.formats.shapes import Json, name, shown, table, words
from loopaudit.formats.tracing.conventions import error_of, fill
from loopaudit.formats.tracing.messages import loaded
from loopaudit.formats.tracing.otel_parts import (
    CONTAINERS,
    OTHER_SIGNALS,
    attributes_of,
    events_of,
    get,
    hex_id,
    parts_of,
    time_of,
    value_of,
)
from loopaudit.formats.tracing.span_reader import SpanReader
from loopaudit.formats.tracing.spans import Kind, Span
from loopaudit.model import Piece

#: events of the GenAI conventions that hold one message, and its role
_MESSAGES = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}
_CHOICE = "gen_ai.choice"
#: events that hold what newer spans have as attributes
_DETAILS = frozenset(
    (
        *("gen_ai.client.inference.operation.details", "gen_ai.content.prompt"),
        *("gen_ai.content.completion", "gen_ai.client.operation.exception"),
    )
)
_GRADE = "gen_ai.evaluation.result"
_KNOWN = frozenset((*_MESSAGES, *_DETAILS, _CHOICE, _GRADE))


@dataclass(slots=True)
class _Told:
    """What events tell of one span."""

    line: int
    at: float | None = None
    until: float | None = None
    messages: list[tuple[float, int, bool, Json]] = field(default_factory=list)
    attributes: Json = field(default_factory=dict)

    def note(self, event: str, at: float | None, attributes: Json, body: Any) -> None:
        if at is not None:
            self.at = at if self.at is None else min(at, self.at)
            self.until = at if self.until is None else max(at, self.until)
        if event in _DETAILS:
            self.attributes.update(attributes)
            return
        body = body if isinstance(body, dict) else {"content": body}
        body = loaded(body.get("gen_ai.event.content", body))
        body = body if isinstance(body, dict) else {"content": body}
        if event == _CHOICE:
            said = body.get("message")
            said = loaded(said) if said is not None else body
            said = said if isinstance(said, dict) else {"content": said}
            finish = body.get("finish_reason")
            message = {**said, "role": "assistant", "finish_reason": finish}
        else:
            message = {**body, "role": _MESSAGES[event]}
            message.setdefault("tool_call_id", body.get("id"))
        message["tool_calls"] = loaded(message.get("tool_calls"))
        self.messages.append((at or 0.0, len(self.messages), event == _CHOICE, message))

    def add_to(self, attributes: Json) -> None:
        """Put it where newer spans have it, unless it stands there."""
        for key, value in self.attributes.items():
            attributes.setdefault(key, value)
        asked = [m for _, _, choice, m in sorted(self.messages, key=_when) if not choice]
        said = [m for _, _, choice, m in self.messages if choice]
        if asked:
            attributes.setdefault("gen_ai.input.messages", asked)
        if said:
            attributes.setdefault("gen_ai.output.messages", said[:1])


def _when(entry: tuple[float, int, bool, Json]) -> tuple[float, int]:
    return entry[:2]


class OtelReader(SpanReader):
    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._told: dict[tuple[str, str], _Told] = {}
        self._bare: dict[tuple[str, str], Json] = {}  # attributes of model spans without messages

    def read(self, line: int, record: Any) -> Iterable[Piece]:
        known = False
        for place, kind, value, resource in parts_of(record):
            known = True
            here = self.place(line, *place)
            if kind == "span":
                self._span(here, value, resource)
            elif kind == "log":
                self._log(here, value)
            else:
                self.ignored[kind] += 1
        if not known and isinstance(record, dict) and not CONTAINERS.isdisjoint(record):
            self.ignored["empty record"] += 1
        elif not known:
            keys = ", ".join(sorted(map(str, record))[:6]) if isinstance(record, dict) else ""
            self.reject(line, f"no span: {f'keys {shown(keys)}' if keys else shown(record)}")
        return ()

    # -- spans ------------------------------------------------------------------------------------

    def _span(self, line: int, raw: Json, resource: Json) -> None:
        context = table(raw, "context") or table(raw, "spanContext")
        trace = hex_id(get(raw, "traceId", "trace_id") or get(context, "traceId", "trace_id"))
        own = hex_id(get(raw, "spanId", "span_id") or get(context, "spanId", "span_id"))
        if own is None:
            self.reject(line, "a span without an id")
            return
        above = get(raw, "parentSpanId", "parent_span_id", "parent_id", "parentId")
        above = above or get(table(raw, "parentSpanContext"), "spanId")
        start = time_of(get(raw, "startTimeUnixNano", "start_time_unix_nano", "start_time"))
        end = time_of(get(raw, "endTimeUnixNano", "end_time_unix_nano", "end_time"))
        span = Span(trace or self.stem, own, line, words(raw.get("name")) or "", hex_id(above))
        span.start = start if start is not None else time_of(raw.get("startTime"))
        span.end = end if end is not None else time_of(raw.get("endTime"))
        attributes = attributes_of(raw.get("attributes"))
        status = raw.get("status")
        code = get(status, "code", "status_code") if isinstance(status, dict) else status
        code = raw.get("status_code", raw.get("statusCode")) if code is None else code
        span.failed = code == 2 or (isinstance(code, str) and code.upper().endswith("ERROR"))
        message = get(status, "message", "description") if isinstance(status, dict) else None
        span.error = words(message or raw.get("status_message")) or None
        events = list(events_of(raw.get("events")))
        told = _Told(line)
        for event, at, inside in events:
            if event == _GRADE:
                self._grade(span.trace, inside)
            elif event in _KNOWN:
                told.note(event, at, inside, inside)
        error_of(span, attributes, [(event, inside) for event, _, inside in events])
        _origin(span, resource)
        if span.trace not in self.about:
            self.describe(span.trace, resource)
        told.add_to(attributes)
        fill(span, attributes, self.histories)
        if span.kind is Kind.MODEL and span.history is None and not span.says:
            self._bare[(span.trace, own)] = attributes  # its messages may stand in log records
        self.add(span)

    # -- log records ------------------------------------------------------------------------------

    def _log(self, line: int, raw: Json) -> None:
        attributes = attributes_of(raw.get("attributes"))
        event = words(get(raw, "eventName", "event_name") or attributes.get("event.name")) or ""
        trace = hex_id(get(raw, "traceId", "trace_id"))
        own = hex_id(get(raw, "spanId", "span_id"))
        if event not in _KNOWN:
            self.ignored[f"{event[:40]} event" if event else "log record"] += 1
        elif trace is None or own is None:
            self.ignored["event without a span"] += 1
        elif event == _GRADE:
            self.used += 1
            self._grade(trace, attributes)
        else:
            self.used += 1
            at = time_of(get(raw, "timeUnixNano", "time_unix_nano", "timestamp"))
            at = at or time_of(get(raw, "observedTimeUnixNano", "observed_time_unix_nano"))
            body = raw.get("body")
            body = value_of(body) if isinstance(raw.get("attributes"), list) else body
            told = self._told.setdefault((trace, own), _Told(line))
            told.note(event, at, attributes, loaded(body))

    def end(self) -> Iterable[Piece]:
        for key, told in self._told.items():
            span = self.spans.get(key)
            attributes = self._bare.pop(key, None)
            if span is None:
                span = Span(*key, told.line, start=told.at, end=told.until)
                self.add(span)
                self.used -= 1  # its events are counted
                attributes = {"gen_ai.operation.name": "chat"}
            if attributes is not None:
                told.add_to(attributes)
                fill(span, attributes, self.histories)
        self._told, self._bare = {}, {}
        return super().end()

    def _grade(self, trace: str, attributes: Json) -> None:
        what = name(attributes.get("gen_ai.evaluation.name")) or "evaluation"
        for key in ("gen_ai.evaluation.score.label", "gen_ai.evaluation.score.value"):
            self.grade(trace, attributes.get(key), what)


def _origin(span: Span, resource: Json) -> None:
    span.host = name(resource.get("host.name"))
    span.version = name(resource.get("service.version"))
    span.project = name(resource.get("service.name"))
    if span.project is not None and span.project.startswith("unknown_service"):
        span.project = None


# -- sniffing -------------------------------------------------------------------------------------


def sniff(sample: Sample) -> float:
    records = sample.records[:16]
    if not records:
        return 0.0
    for record in records:
        if isinstance(record, dict) and any(key in record for key in OTHER_SIGNALS):
            continue
        part = next(parts_of(record[:4] if isinstance(record, list) else record), None)
        if part is None:
            return 0.0
        if part[1] == "span" and _is_mlflow(part[2]):
            return 0.4
    return 0.96


def _is_mlflow(span: Json) -> bool:
    attributes = span.get("attributes")
    return isinstance(attributes, dict) and any(str(k).startswith("mlflow.") for k in attributes)


FORMAT = Format(
    name="otel",
    title="OpenTelemetry spans with GenAI, OpenInference, OpenLLMetry or Vercel AI attributes",
    sniff=sniff,
    reader=OtelReader,
    describes=(
        "OTLP/JSON lines (traces and logs, as the Collector's file exporter and the SDKs write "
        "them), spans of the console exporters, JavaScript span dumps, Phoenix and Jaeger "
        "exports, with the attributes of the GenAI conventions (all three generations), "
        "OpenInference, OpenLLMetry, the Vercel AI SDK, MLflow or Langfuse. Content is off by "
        "default in many of "
        "these: then arguments and results are missing. Retries inside an SDK leave no span."
    ),
)
