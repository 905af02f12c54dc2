"""LangSmith runs: exports of the API and SDK, one run a line or in a list, and SDK batches.

A batch holds a run twice, as posted and as patched; both are put together. Tokens on chains are
sums made by the server: only runs of type `llm` count. `session_id` is the project; a conversation
is told by the metadata alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from loopaudit.formats.base import Format, Sample
from loopaudit.formats.shapes import Json, dollars, name, seconds, shown, table, words
from loopaudit.formats.tracing.answers import answer_pieces
from loopaudit.formats.tracing.conventions import tool_arguments, tool_result
from loopaudit.formats.tracing.messages import loaded, message_pieces, request_messages
from loopaudit.formats.tracing.span_reader import SpanReader
from loopaudit.formats.tracing.spans import Kind, Span
from loopaudit.formats.tracing.usage import langchain_usage, more, span_usage
from loopaudit.model import Piece, ResponsePiece, Usage

_KINDS = {"llm": Kind.MODEL, "tool": Kind.TOOL}
_SESSIONS = ("thread_id", "session_id", "conversation_id")
_LISTS = ("runs", "post", "patch")
_RAISED = re.compile(r"([A-Za-z_][\w.]{0,80})\(")


class LangsmithReader(SpanReader):
    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._unfinished: dict[str, tuple[int, Json]] = {}  # posted runs that wait for their patch

    def read(self, line: int, record: Any) -> Iterable[Piece]:
        known = False
        for path, run in _runs(record):
            known, here = True, self.place(line, *path)
            own = name(run.get("id"))
            if own is None:
                self.reject(here, "a run without an id")
                continue
            first, before = self._unfinished.pop(own, (here, {}))
            whole = {**before, **{k: v for k, v in run.items() if v not in (None, {}, [])}}
            for key in ("inputs", "outputs", "extra", "feedback_stats"):
                whole[key] = loaded(whole.get(key, run.get(key)))  # a text in Parquet exports
            if whole.get("end_time") is None or whole.get("run_type") is None:
                self._unfinished[own] = (first, whole)
            else:
                self._span(first, own, whole)
        if not known:
            self.reject(line, f"no run: {shown(record)}")
        return ()

    def end(self) -> Iterable[Piece]:
        for own, (line, run) in self._unfinished.items():
            self._span(line, own, run)
        self._unfinished = {}
        return super().end()

    def _span(self, line: int, own: str, run: Json) -> None:
        extra = table(run, "extra")
        about = table(extra, "metadata")
        above, top = _lineage(run)
        span = Span(top or own, own, line, words(run.get("name")) or "", above)
        if above is None:
            self.describe(span.trace, about, tags=run.get("tags"))
        span.start, span.end = seconds(run.get("start_time")), seconds(run.get("end_time"))
        kind = run.get("run_type")
        span.kind = _KINDS.get(kind, Kind.OTHER) if isinstance(kind, str) else Kind.OTHER
        span.what = kind[:40] if isinstance(kind, str) else "unknown"
        span.session = next((s for k in _SESSIONS if (s := name(about.get(k)))), None)
        span.user = name(about.get("user_id"))
        span.project = name(run.get("session_name"))
        span.agent = name(about.get("lc_agent_name"))
        error = words(run.get("error"))
        span.failed = bool(error) or run.get("status") == "error"
        if error:
            span.error = error.partition("Traceback (most recent call last)")[0].strip() or error
            raised = _RAISED.match(error)
            span.code = raised[1] if raised else None
        if span.kind is Kind.MODEL:
            self._model(span, run, about)
        elif span.kind is Kind.TOOL:
            span.tool = span.name or "unknown"
            span.call_id = name(extra.get("tool_call_id"))
            inputs = run.get("inputs")
            bare = inputs.get("input") if isinstance(inputs, dict) and len(inputs) == 1 else None
            span.args = tool_arguments(bare if isinstance(bare, str) else inputs)
            span.result = tool_result(run.get("outputs") or None)
            span.call_id = span.call_id or name(
                table(table(run, "outputs"), "output").get("tool_call_id")
            )
        else:
            if span.agent is not None and span.agent == span.name:
                span.kind, span.what = Kind.AGENT, "agent"
            if above is None:
                _, span.prompt = request_messages(run.get("inputs"))
                for score, value in _feedback(run):
                    self.grade(span.trace, value, score)
        self.add(span)

    def _model(self, span: Span, run: Json, about: Json) -> None:
        messages, span.prompt = request_messages(run.get("inputs"))
        if messages is not None:
            span.history = self.histories.read(messages, message_pieces)
        outputs = run.get("outputs") or None
        answer, span.results = answer_pieces(outputs)
        answer = span.answer = answer or ResponsePiece("", 0)
        answer.model = answer.model or name(about.get("ls_model_name"))
        answer.service = answer.service or name(about.get("ls_provider"))
        answer.cost = dollars(run.get("total_cost")) or answer.cost
        span.usage = more(answer.usage, _usage(run, about))
        if name(run.get("parent_run_id")) is None:
            for score, value in _feedback(run):
                self.grade(span.trace, value, score)


def _usage(run: Json, about: Json) -> Usage | None:
    """Usage as the SDK or the server noted it beside the response."""
    outputs = table(run, "outputs")
    told = langchain_usage(outputs.get("usage_metadata")) or langchain_usage(
        about.get("usage_metadata")
    )
    if told is not None:
        return told
    inside, said = table(run, "prompt_token_details"), table(run, "completion_token_details")
    return span_usage(
        run.get("prompt_tokens") or None,
        run.get("completion_tokens") if run.get("prompt_tokens") else None,
        read=inside.get("cache_read"),
        written=inside.get("cache_creation"),
        reasoning=said.get("reasoning"),
        total=run.get("total_tokens"),
    )


def _feedback(run: Json) -> Iterable[tuple[str, Any]]:
    for score, stats in table(run, "feedback_stats").items():
        if isinstance(stats, dict):
            yield str(score), stats.get("avg")


def _lineage(run: Json) -> tuple[str | None, str | None]:
    """(parent, root) of a run; `dotted_order` names all above it, `<time>Z<id>` each."""
    path = [part.partition("Z")[2] for part in (words(run.get("dotted_order")) or "").split(".")]
    above = name(run.get("parent_run_id")) or (path[-2] if len(path) > 1 else None)
    return above or None, name(run.get("trace_id")) or path[0] or None


def _runs(record: Any) -> Iterable[tuple[tuple[Any, ...], Json]]:
    if isinstance(record, list):
        for index, item in enumerate(record):
            if isinstance(item, dict):
                yield (index,), item
    elif isinstance(record, dict) and is_run(record):
        yield (), record
    elif isinstance(record, dict):
        for key in _LISTS:
            for index, item in enumerate(record[key] if isinstance(record.get(key), list) else ()):
                if isinstance(item, dict):
                    yield (key, index), item


def is_run(record: Json) -> bool:
    return "id" in record and ("run_type" in record or "dotted_order" in record)


def sniff(sample: Sample) -> float:
    records = sample.records[:16]
    if not records:
        return 0.0
    for record in records:
        found = [run for _, run in _runs(record)][:16]
        if not found or not all(is_run(run) for run in found):
            return 0.0
    return 0.97


FORMAT = Format(
    name="langsmith",
    title="LangSmith runs",
    sniff=sniff,
    reader=LangsmithReader,
    describes=(
        "Runs of LangSmith as JSON: API and SDK exports (one run a line, or a list) and the "
        "batches that the SDK sends (`post`, `patch`), and bulk exports in Parquet. "
        "Retries inside a client leave no run."
    ),
)
