"""Langfuse traces: JSON of the API and the interface, exported rows, batches of the SDKs.

Observations come in no order. What `input` counts depends on who exported; generations may lie
within generations (only the innermost counts). Tools of LangGraph are plain spans whose output is a
tool message. Langfuse's own normalised messages (`chatml`, by observation) are read, too: they have
neither order nor times nor usage.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from loopaudit.formats.base import Format, Sample
from loopaudit.formats.shapes import Json, count, dollars, name, rows, seconds, shown, table, words
from loopaudit.formats.tracing.answers import answer_pieces
from loopaudit.formats.tracing.conventions import (
    agent_name,
    details_usage,
    fill,
    kind_of,
    tool_arguments,
    tool_result,
)
from loopaudit.formats.tracing.messages import (
    loaded,
    message_pieces,
    request_messages,
)
from loopaudit.formats.tracing.span_reader import SpanReader
from loopaudit.formats.tracing.spans import Kind, Span
from loopaudit.formats.tracing.usage import more, span_usage
from loopaudit.keys import canonical
from loopaudit.model import Piece, ResponsePiece, Usage

_KINDS = {"GENERATION": Kind.MODEL, "TOOL": Kind.TOOL, "AGENT": Kind.AGENT}
_TYPES = frozenset(
    (
        *("SPAN", "EVENT", "GENERATION", "AGENT", "TOOL", "CHAIN", "RETRIEVER", "EVALUATOR"),
        *("EMBEDDING", "GUARDRAIL"),
    )
)


class LangfuseReader(SpanReader):
    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._traces: dict[str, Json] = {}

    def read(self, line: int, record: Any) -> Iterable[Piece]:
        if _is_chatml(record):
            return self._chatml(line, record)
        found = False
        for path, kind, row in _rows(record):
            found = True
            here = self.place(line, *path)
            own = name(row.get("id"))
            if kind == "trace":
                self._trace(row)
                self.used += "observations" not in row and row is not table(record, "trace")
            elif kind == "score":
                self._score(row)
                self.used += 1
            elif own is None:
                self.reject(here, "an observation without an id")
            else:
                self._observation(here, own, row)
        if not found:
            self.reject(line, f"no trace or observation: {shown(record)}")
        return ()

    def end(self) -> Iterable[Piece]:
        for span in self.spans.values():
            trace = self._traces.get(span.trace, {})
            span.session = span.session or name(trace.get("session"))
            span.user = span.user or name(trace.get("user"))
            if span.kind is not Kind.MODEL or span.parent is None:
                span.prompt = span.prompt or trace.get("prompt")
        return super().end()

    def _trace(self, row: Json) -> None:
        key = name(row.get("id"))
        if key is None:
            return
        _, prompt = request_messages(row.get("input"))
        self._traces[key] = {
            "session": _get(row, "sessionId", "session_id"),
            "user": _get(row, "userId", "user_id"),
            "prompt": prompt,
        }
        self.describe(key, loaded(row.get("metadata")), tags=row.get("tags"))
        for score in rows(row.get("scores")):
            self._score({"traceId": key, **score})

    def _score(self, row: Json) -> None:
        trace = name(_get(row, "traceId", "trace_id"))
        value = _get(row, "stringValue", "string_value", "value")
        if _get(row, "dataType", "data_type") == "BOOLEAN":
            value = bool(row.get("value"))
        if trace is not None:
            self.grade(trace, value, name(row.get("name")) or "")

    def _observation(self, line: int, own: str, row: Json) -> None:
        trace = name(_get(row, "traceId", "trace_id")) or self.stem
        above = name(_get(row, "parentObservationId", "parent_observation_id"))
        span = Span(trace, own, line, words(row.get("name")) or "", above)
        span.start = seconds(_get(row, "startTime", "start_time"))
        span.end = seconds(_get(row, "endTime", "end_time"))
        span.failed = row.get("level") == "ERROR"
        span.error = words(_get(row, "statusMessage", "status_message")) or None
        about = loaded(row.get("metadata"))
        about = about if isinstance(about, dict) else {}
        attributes = {k: loaded(v) if k == "attributes" else v for k, v in about.items()}
        inside = attributes.get("attributes")
        fields: Json = inside if isinstance(inside, dict) else {}
        fill(span, fields, self.histories)
        kind = (words(row.get("type")) or "").upper()
        output = loaded(row.get("output"))
        if kind in _KINDS:
            span.kind, span.what = _KINDS[kind], _KINDS[kind].value
        elif span.kind is Kind.OTHER:
            span.what = "plain" if kind == "SPAN" else kind.lower()
            if _is_tool_message(output):
                span.kind, span.what = Kind.TOOL, "tool"
        span.session = span.session or name(_get(row, "sessionId", "session_id"))
        span.session = span.session or name(about.get("thread_id"))
        span.user = span.user or name(_get(row, "userId", "user_id"))
        if span.kind is Kind.MODEL:
            self._generation(span, row, fields)
        elif span.kind is Kind.TOOL:
            _tool(span, row, fields, output)
        elif span.kind is Kind.AGENT:
            span.agent = agent_name(span.agent or span.name)
            span.usage = span.usage or _usage(row)
        self.add(span)

    def _generation(self, span: Span, row: Json, fields: Json) -> None:
        if kind_of(span.name, fields)[0] is not Kind.MODEL:
            fill(span, {**fields, "gen_ai.operation.name": "chat"}, self.histories)
        messages, prompt = request_messages(row.get("input"))
        if messages:
            span.history = self.histories.read(messages, message_pieces) or span.history
        span.prompt = prompt or span.prompt
        answer, results = answer_pieces(row.get("output"))
        if answer is not None and (answer.calls or answer.text):
            before = span.answer
            span.answer, span.results = answer, results
            if before is not None:
                answer.calls = answer.calls or before.calls
                answer.finish = answer.finish or before.finish
        answer = span.answer = span.answer or ResponsePiece("", 0)
        if not answer.calls and isinstance(row.get("toolCalls"), list):
            listed = [loaded(call) for call in row["toolCalls"]]
            found = answer_pieces([{"role": "assistant", "tool_calls": listed}])[0]
            answer.calls = found.calls if found is not None else ()
        answer.model = name(row.get("model")) or answer.model
        answer.cost = _cost(row) or answer.cost
        span.usage = more(more(_usage(row), span.usage), answer.usage)

    def _chatml(self, line: int, record: Json) -> Iterable[Piece]:
        """Normalised input and output of each observation."""
        told: list[tuple[int, int, str, list[Piece] | None, ResponsePiece]] = []
        for number, (key, entry) in enumerate(record.items()):
            said = table(entry, "output").get("data") if _told(entry, "output") else None
            messages = rows(said)
            if not messages or any(m.get("role") != "assistant" for m in messages):
                self.ignored["observation without an answer of a model"] += 1
                continue
            answer = answer_pieces(messages)[0]
            if answer is None:
                self.ignored["observation without an answer of a model"] += 1
                continue
            asked = table(entry, "input").get("data") if _told(entry, "input") else None
            before = message_pieces(asked) if isinstance(asked, list) else None
            told.append((len(before or ()), number, key, before, answer))
        seen: set[bytes] = set()
        for _, _, key, before, answer in sorted(told, key=lambda t: (t[3] is None, t[0], t[1])):
            same = canonical([answer.text or "", [[c.id, c.tool] for c in answer.calls]])
            if same in seen:
                self.ignored["observation with the answer of another"] += 1
                continue
            seen.add(same)
            span = Span(self.stem, key, self.place(line, key), key, "top", Kind.MODEL, "model")
            span.history = self.histories.add(before) if before is not None else None
            span.answer = answer
            self.add(span)
        return ()


def _tool(span: Span, row: Json, fields: Json, output: Any) -> None:
    named = name(fields.get("gen_ai.tool.name")) or name(fields.get("tool.name"))
    span.tool = named or span.tool or span.name or "unknown"
    if named is None:
        for prefix in ("execute_tool ", "running tool: "):
            span.tool = span.tool.removeprefix(prefix)
    if row.get("input") is not None:
        span.args = tool_arguments(row["input"])
    if row.get("output") is not None:
        span.result = tool_result(row["output"])
    message = _message(output)
    if message is not None:
        span.call_id = span.call_id or name(message.get("tool_call_id"))
        span.failed = span.failed or message.get("status") == "error"


def _message(output: Any) -> Json | None:
    """The tool message in the output of a LangChain tool."""
    if not isinstance(output, dict):
        return None
    inner = output.get("kwargs") if "lc" in output else output
    return inner if isinstance(inner, dict) and "tool_call_id" in inner else None


def _is_tool_message(output: Any) -> bool:
    return _message(output) is not None


def _usage(row: Json) -> Usage | None:
    details = loaded(_get(row, "usageDetails", "usage_details"))
    if isinstance(details, dict) and any(count(value) for value in details.values()):
        return details_usage(details)
    usage = loaded(row.get("usage"))
    if isinstance(usage, dict) and any(count(value) for value in usage.values()):
        return span_usage(
            _get(usage, "input", "promptTokens"),
            _get(usage, "output", "completionTokens"),
            total=_get(usage, "total", "totalTokens"),
        )
    sums = [row.get(key) or None for key in ("inputUsage", "outputUsage", "totalUsage")]
    return span_usage(sums[0], sums[1], total=sums[2]) if any(sums) else None


def _cost(row: Json) -> Any:
    details = loaded(_get(row, "costDetails", "cost_details"))
    told = details.get("total") if isinstance(details, dict) else None
    for value in (told, _get(row, "totalCost", "total_cost"), row.get("calculatedTotalCost")):
        found = dollars(value)
        if found:
            return found
    return None


def _get(row: Json, *keys: str) -> Any:
    return next((row[key] for key in keys if row.get(key) not in (None, "")), None)


# -- containers -----------------------------------------------------------------------------------

_Row = tuple[tuple[Any, ...], str, Json]


def _rows(record: Any, path: tuple[Any, ...] = (), depth: int = 0) -> Iterator[_Row]:
    """Traces, observations and scores in a record, each with its path."""
    if isinstance(record, list) and depth < 3:
        for index, item in enumerate(record):
            yield from _rows(item, (*path, index), depth + 1)
    if not isinstance(record, dict):
        return
    observations = record.get("observations")
    if isinstance(observations, list) and any(isinstance(o, dict) for o in observations):
        trace = record.get("trace")
        yield path, "trace", trace if isinstance(trace, dict) else record
        for index, item in enumerate(observations):
            if isinstance(item, dict):
                yield (*path, "observations", index), "observation", item
    elif isinstance(record.get("trace"), dict) and isinstance(observations, list):
        yield path, "trace", record["trace"]
    elif is_observation(record):
        yield path, "observation", record
    elif _is_event(record):
        body = dict(record["body"])
        what = str(record["type"]).partition("-")[0]
        body.setdefault("type", what.upper() if what != "observation" else body.get("type"))
        kind = what if what in ("trace", "score") else "observation"
        yield (*path, "body"), kind, body
    elif "dataType" in record or "data_type" in record:
        yield path, "score", record
    elif _is_trace(record):
        yield path, "trace", record
    elif depth < 3:
        for key in ("batch", "data"):
            if isinstance(record.get(key), list):
                yield from _rows(record[key], (*path, key), depth + 1)


def is_observation(record: Json) -> bool:
    kind = record.get("type")
    return (
        isinstance(kind, str)
        and kind.upper() in _TYPES
        and ("traceId" in record or "trace_id" in record)
        and ("startTime" in record or "start_time" in record)
        and "context" not in record
    )


def _is_event(record: Json) -> bool:
    kind = record.get("type")
    ends = isinstance(kind, str) and kind.endswith(("-create", "-update"))
    return ends and isinstance(record.get("body"), dict)


def _is_trace(record: Json) -> bool:
    known = sum(k in record for k in ("sessionId", "session_id", "bookmarked", "public", "userId"))
    return known >= 2 and "timestamp" in record and "id" in record and "role" not in record


def _is_chatml(record: Any) -> bool:
    if not isinstance(record, dict) or not record:
        return False
    return all(
        isinstance(entry, dict)
        and set(entry) <= {"input", "output"}
        and all(isinstance(side, dict) and "success" in side for side in entry.values())
        for entry in list(record.values())[:64]
    )


def _told(entry: Json, side: str) -> bool:
    return table(entry, side).get("success") is True


def sniff(sample: Sample) -> float:
    records = sample.records[:16]
    if not records:
        return 0.0
    if all(_is_chatml(record) for record in records):
        return 0.9
    for record in records:
        found = [kind for _, kind, _ in _rows(record[:8] if isinstance(record, list) else record)]
        if not found:
            return 0.0
    return 0.96


FORMAT = Format(
    name="langfuse",
    title="Langfuse traces",
    sniff=sniff,
    reader=LangfuseReader,
    describes=(
        "Traces of Langfuse as JSON: of the API and the interface (`trace` with `observations`), "
        "exported rows of observations, traces and scores, batches of the SDKs, and messages as "
        "Langfuse normalises them. Call ids and the meaning of token counts depend on the library "
        "that wrote the trace."
    ),
)
