"""OpenAI Agents SDK: exported trace lines, and lists of raw model responses.

Usage stands on generation and response spans, and again summed on `turn` and `task` spans: only
the leaves count, a turn's only where it has no leaf with usage. A function span has no call id; it
is paired by tool and arguments. Where the model's spans do not tell their calls (response spans, or
content switched off), the function spans are the calls. One trace is one run, sub-agents and
hand-overs included. Spans are written when they end, which is the order in which things happened,
but logs of several exporters are mixed: spans are held until the end, and told by their times.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from loopaudit.formats.apis.openai_chat import message_pieces as chat_pieces
from loopaudit.formats.apis.openai_items import item_pieces
from loopaudit.formats.apis.openai_items import response_pieces as model_response_pieces
from loopaudit.formats.base import Format, Sample
from loopaudit.formats.conversations import Conversations
from loopaudit.formats.logreader import LogReader
from loopaudit.formats.shapes import Json, arguments, name, output_of, rows, seconds, shown, table
from loopaudit.formats.usages import openai_usage
from loopaudit.keys import canonical
from loopaudit.model import (
    BoundaryPiece,
    CallPiece,
    CallStatus,
    Piece,
    ResponsePiece,
    ResultPiece,
    RunPiece,
)


@dataclass(slots=True)
class _Trace:
    run: str
    talks: Conversations
    open: list[tuple[str, bytes, str | None]] = field(default_factory=list)  # tool, args, call id
    last: dict[str | None, str] = field(default_factory=dict)  # parent span -> its last response
    priced: set[str | None] = field(default_factory=set)  # parent spans with leaf usage
    latest: str | None = None
    told: bool = False  # some model span told its calls


class AgentsReader(LogReader):
    holds_all = True

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._traces: dict[str, _Trace] = {}
        self._held: list[tuple[tuple[float, bool, float, int], str, Json]] = []  # order, kind, span
        self._spans = {
            "generation": self._generation,
            "response": self._response,
            "function": self._function,
            "custom": self._custom,
        }

    def read(self, line: int, record: Any) -> Iterable[Piece]:
        if isinstance(record, list):
            return self._raw(line, record)
        if not isinstance(record, dict):
            return self.reject(line, "no trace or span")
        if record.get("object") == "trace":
            return self._trace_line(line, record)
        if record.get("object") != "trace.span":
            return self.reject(line, f"no trace or span: object {shown(record.get('object'))}")
        data = table(record, "span_data")
        kind = data.get("type")
        if not isinstance(kind, str) or kind not in self._spans:
            self.ignored[f"{kind if isinstance(kind, str) else 'unknown'} span"] += 1
            return ()
        self._trace(name(record.get("trace_id")) or self.stem)
        start, end = seconds(record.get("started_at")), seconds(record.get("ended_at"))
        before = self._held[-1][0][0] if self._held else 0.0
        at = end or start or before
        self._held.append(((at, kind == "custom", start or at, line), kind, record))
        return ()

    def end(self) -> Iterable[Piece]:
        out: list[Piece] = []
        for (*_, line), kind, record in sorted(self._held, key=lambda held: held[0]):
            trace = self._trace(name(record.get("trace_id")) or self.stem)
            pieces = list(self._spans[kind](trace, record, table(record, "span_data")))
            if pieces:
                self.used += 1
                out += self.emit(pieces, trace.run, line)
            else:
                self.ignored[f"{kind} span"] += 1
        self._held = []
        super().end()
        return out

    def _trace(self, key: str) -> _Trace:
        trace = self._traces.get(key)
        if trace is None:
            run = self.new_run(key)
            trace = self._traces[key] = _Trace(run, Conversations(lambda _: run))
        return trace

    def _trace_line(self, line: int, record: Json) -> list[Piece]:
        self.used += 1
        trace = self._trace(name(record.get("id")) or self.stem)
        session = name(record.get("group_id"))
        agent = name(record.get("workflow_name"))
        return self.emit([RunPiece(trace.run, line, session=session, agent=agent)])

    # -- spans ------------------------------------------------------------------------------------

    def _generation(self, trace: _Trace, span: Json, data: Json) -> Iterable[Piece]:
        before = [p for m in rows(data.get("input")) for p in chat_pieces(m)]
        match = trace.talks.match(before, requests=True)
        for piece in match.new:
            if isinstance(piece, BoundaryPiece) or (
                isinstance(piece, ResultPiece) and self._still_open(trace, piece)
            ):
                yield piece
        answer = ResponsePiece("", 0)
        for message in rows(data.get("output")):
            for piece in chat_pieces({**message, "role": "assistant"}):
                if isinstance(piece, ResponsePiece):
                    answer.text = piece.text if answer.text is None else answer.text
                    answer.calls += piece.calls
                    answer.thinking_chars += piece.thinking_chars
        trace.talks.extend(match, [answer])
        yield from self._answer(trace, span, data, answer)

    def _response(self, trace: _Trace, span: Json, data: Json) -> Iterable[Piece]:
        body = table(data, "response")
        pieces = model_response_pieces(body) if body else []
        results = [piece for piece in pieces if isinstance(piece, ResultPiece)]
        answers = [piece for piece in pieces if isinstance(piece, ResponsePiece)]
        answer = answers[0] if answers else ResponsePiece("", 0)
        answer.id = name(data.get("response_id")) or answer.id
        given = data.get("input")
        items = given if isinstance(given, list) else [{"role": "user", "content": given}]
        before = list(item_pieces((0, item) for item in items)) if given else []
        if before:
            match = trace.talks.match(before, requests=True)
            trace.talks.extend(match, [answer])
            yield from (p for p in match.new if isinstance(p, BoundaryPiece))
        yield from self._answer(trace, span, data, answer)
        yield from results

    def _answer(
        self, trace: _Trace, span: Json, data: Json, answer: ResponsePiece
    ) -> Iterable[Piece]:
        parent = name(span.get("parent_id"))
        key = answer.id or name(span.get("id"))
        answer.id = key
        answer.at, answer.ended = seconds(span.get("started_at")), seconds(span.get("ended_at"))
        answer.model = name(data.get("model")) or answer.model
        answer.usage = openai_usage(data.get("usage")) or answer.usage
        if key is not None:
            trace.last[parent] = trace.latest = key
        if answer.usage is not None:
            trace.priced.add(parent)
        if answer.calls:
            trace.told = True
            trace.open += [(c.tool, canonical(c.args), c.id) for c in answer.calls]
        yield answer

    def _function(self, trace: _Trace, span: Json, data: Json) -> Iterable[Piece]:
        tool = name(data.get("name")) or "unknown"
        args = arguments(data.get("input"))
        parent = name(span.get("parent_id"))
        at = seconds(span.get("started_at"))
        key, known = self._close(trace, tool, canonical(args), bare=data.get("input") is None)
        response = trace.last.get(parent, trace.latest)
        if not known and response is not None and not trace.told:
            key = name(span.get("id"))
            call = CallPiece(key, tool, args if data.get("input") is not None else None, at)
            yield ResponsePiece("", 0, id=response, calls=(call,))
        error = span.get("error")
        piece = ResultPiece(
            "",
            0,
            key,
            output_of(data.get("output")),
            seconds(span.get("ended_at")),
            CallStatus.ERROR if error else CallStatus.OK,
            tool,
        )
        if piece.text is None and isinstance(error, dict):
            piece.text = error.get("message")
        if at is not None and piece.at is not None and piece.at >= at:
            piece.duration = piece.at - at
        yield piece

    def _custom(self, trace: _Trace, span: Json, data: Json) -> Iterable[Piece]:
        """A turn's sum, where none of its leaves told their usage. A task sums up turns."""
        key = name(span.get("id"))
        response = trace.last.get(key)
        inner = table(data, "data")
        if data.get("name") == "turn" and response is not None and key not in trace.priced:
            usage = openai_usage(inner.get("usage"))
            if usage is not None:
                yield ResponsePiece("", 0, id=response, usage=usage)

    def _close(
        self, trace: _Trace, tool: str, args: bytes, *, bare: bool
    ) -> tuple[str | None, bool]:
        """The id of the oldest open call of that tool with those arguments, and whether there is
        one. Spans without content have no arguments to compare."""
        for index, (name_, args_, key) in enumerate(trace.open):
            if name_ == tool and (bare or args_ == args):
                del trace.open[index]
                return key, True
        return None, False

    def _still_open(self, trace: _Trace, piece: ResultPiece) -> bool:
        """Whether no function span has told this result: hand-overs, and tools without spans."""
        for index, (_, _, key) in enumerate(trace.open):
            if key == piece.call_id:
                del trace.open[index]
                return True
        return False

    # -- raw responses ----------------------------------------------------------------------------

    def _raw(self, line: int, responses: list[Any]) -> list[Piece]:
        """A list of ModelResponse: the calls of one run, without their results."""
        run = self.new_run()
        out: list[Piece] = []
        for index, body in enumerate(responses):
            place = self.place(line, index)
            if isinstance(body, dict) and isinstance(body.get("output"), list):
                self.used += 1
                out += self.emit(model_response_pieces(body), run, place)
            else:
                self.reject(place, "no model response")
        return out


def sniff(sample: Sample) -> float:
    records = sample.records
    if sample.document and isinstance(records[0], list):
        return 0.95 if records[0] and all(map(_is_raw, records[0][:64])) else 0.0
    if not records or not all(isinstance(r, dict) for r in records):
        return 0.0
    kinds = [r.get("object") for r in records]
    return 0.98 if all(kind in ("trace", "trace.span") for kind in kinds) else 0.0


def _is_raw(record: Any) -> bool:
    return (
        isinstance(record, dict)
        and isinstance(record.get("output"), list)
        and "response_id" in record
        and "usage" in record
        and "object" not in record
    )


FORMAT = Format(
    name="openai_agents",
    title="OpenAI Agents SDK traces",
    sniff=sniff,
    reader=AgentsReader,
    describes=(
        "Exported traces of the OpenAI Agents SDK (trace and trace.span lines, one run a trace), "
        "and raw_responses lists. Response spans do not tell calls; raw responses hold no results."
    ),
)
