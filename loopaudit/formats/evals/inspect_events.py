"""Events of an Inspect sample to pieces: threads of agents, model calls, tools, limits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from loopaudit.formats.evals.inspect_values import (
    Values,
    calls_of,
    inspect_usage,
    message_text,
    result_piece,
    thinking_of,
)
from loopaudit.formats.shapes import Json, count, dollars, name, rows, seconds, shown, table, words
from loopaudit.model import (
    AttemptPiece,
    BoundaryKind,
    BoundaryPiece,
    Piece,
    ResponsePiece,
    RunPiece,
    Usage,
)

_DEEPEST = 20  # agents within agents
MOST_RETRIES = 1_000  # of one call that are told one by one

#: events that hold nothing of a run but the states of its harness
_OTHER = frozenset(
    (
        *("sample_init", "span_begin", "span_end", "step", "state", "store", "info", "logger"),
        *("sandbox", "approval", "score", "score_edit", "input", "checkpoint"),
    )
)


@dataclass(slots=True)
class Thread:
    """One agent of a sample."""

    run: str
    said: set[str] = field(default_factory=set)  # ids of messages of users and tools told so far
    calls: set[str] = field(default_factory=set)  # ids of calls made
    responses: set[str] = field(default_factory=set)
    last: str | None = None  # id of the last response
    begun: bool = False


class Events:
    """Turns the events of one sample into pieces. `ignored` counts what is left out, by name."""

    def __init__(
        self, run: str, line: int, values: Values, ignored: Counter[str], depth: int = 0
    ) -> None:
        self._depth = depth
        self.run, self.line, self.values, self.ignored = run, line, values, ignored
        self._threads: dict[str | None, Thread] = {None: Thread(run)}
        self._spans: dict[str, Json] = {}
        self._agent_of: dict[str, str | None] = {}  # span -> key of its thread
        self._scoring = 0  # depth of old-style scorer steps
        self._started_by: dict[str, str] = {}  # span of an agent -> call that started it
        self._ended_tools: set[str] = set()
        self._proposed: set[str] = set()  # ids of calls that a model made, before or later
        self._parts = 0  # nested subtasks
        self._limited = False

    def pieces(self, events: Any) -> Iterable[Piece]:
        found = rows(events)
        self._learn(found)
        for event in found:
            yield from self._event(event)

    def limit(self, limit: Any) -> Iterable[Piece]:
        """The limit that ended the sample, where no event has told it."""
        if isinstance(limit, dict) and not self._limited:
            text = f"{name(limit.get('type')) or 'unknown'} limit"
            yield BoundaryPiece(self.run, self.line, BoundaryKind.LIMIT, None, text)

    # -- threads ----------------------------------------------------------------------------------

    def _learn(self, events: list[Json]) -> None:
        for event in events:
            kind, key = event.get("event"), name(event.get("id"))
            if kind == "model":
                for choice in rows(table(event, "output").get("choices"))[:1]:
                    calls = rows(table(choice, "message").get("tool_calls"))
                    self._proposed.update(filter(None, (name(call.get("id")) for call in calls)))
            elif kind == "span_begin" and key is not None:
                self._spans.setdefault(key, event)
            elif kind == "tool":
                span = name(event.get("agent_span_id"))
                if span is not None and key is not None:
                    self._started_by[span] = key
                if key is not None and not event.get("pending"):
                    self._ended_tools.add(key)

    def _place(self, span: str | None) -> tuple[str | None, bool]:
        """The agent (a span within another agent's) that an event belongs to; whether it scores."""
        agents: list[str] = []
        seen: set[str] = set()
        scores = False
        while span is not None and span in self._spans and span not in seen:
            seen.add(span)
            begun = self._spans[span]
            if begun.get("type") == "agent":
                agents.append(span)
            scores = scores or begun.get("type") in ("scorer", "scorers")
            span = name(begun.get("parent_id"))
        return (agents[0] if len(agents) > 1 else None), scores

    def _thread(self, key: str | None) -> Thread:
        thread = self._threads.get(key)
        if thread is None:
            thread = self._threads[key] = Thread(f"{self.run}/{key}")
        return thread

    def _opened(self, thread: Thread, key: str | None, at: float | None) -> Iterable[Piece]:
        if thread.begun or key is None:
            return
        thread.begun = True
        begun = self._spans[key]
        above, _ = self._place(name(begun.get("parent_id")))
        yield RunPiece(
            thread.run,
            self.line,
            parent=self._thread(above).run,
            parent_call=self._started_by.get(key),
            agent=name(begun.get("name")),
            at=at,
        )

    # -- events -----------------------------------------------------------------------------------

    def _event(self, event: Json) -> Iterable[Piece]:
        kind = event.get("event")
        at = seconds(event.get("timestamp"))
        if kind == "step" and event.get("type") == "scorer":
            self._scoring += 1 if event.get("action") == "begin" else -1
        key, scores = self._place(name(event.get("span_id")))
        scores = scores or self._scoring > 0 or event.get("role") == "grader"
        if scores and kind in ("model", "tool"):
            self.ignored[f"{kind} event of a scorer"] += 1
            return
        thread = self._thread(key)
        if kind in ("model", "tool"):
            if event.get("pending"):
                self.ignored[f"pending {kind} event"] += 1
                return
            yield from self._opened(thread, key, at)
            reads = self._model if kind == "model" else self._tool
            yield from reads(thread, event, at)
        elif kind == "subtask" and rows(event.get("events")):  # as logs held it before 0.3.90
            self._parts += 1
            label = name(event.get("name"))
            part = f"{self.run}/{label or 'subtask'}#{self._parts}"
            yield from self._nested(thread, part, event, None, label, at)
        elif kind == "compaction":
            yield BoundaryPiece(thread.run, self.line, BoundaryKind.COMPACTION, at)
        elif kind == "interrupt":
            yield BoundaryPiece(thread.run, self.line, BoundaryKind.INTERRUPT, at)
        elif kind == "sample_limit":
            self._limited = True
            text = words(event.get("message")) or f"{name(event.get('type')) or 'unknown'} limit"
            yield BoundaryPiece(self.run, self.line, BoundaryKind.LIMIT, at, text)
        elif kind == "error":
            message = words(table(event, "error").get("message"))
            yield AttemptPiece(self.run, self.line, at, message=message, gave_up=True)
        elif not isinstance(kind, str) or kind not in _OTHER:
            self.ignored[f"unknown event {shown(kind)}"] += 1

    def _model(self, thread: Thread, event: Json, at: float | None) -> Iterable[Piece]:
        yield from self._heard(thread, event, at)
        retries = min(count(event.get("retries")) or 0, MOST_RETRIES)
        for number in range(1, retries + 1):
            yield AttemptPiece(thread.run, self.line, at, number=number, layer="inspect")
        output = table(event, "output")
        choices = rows(output.get("choices"))
        error = event.get("error") or output.get("error")
        if error and not choices:
            text = words(error) or words(table(event, "error").get("message"))
            yield AttemptPiece(thread.run, self.line, at, message=text, gave_up=True)
            return
        choice = choices[0] if choices else {}
        message = table(choice, "message")
        key = name(event.get("uuid")) or name(message.get("id"))
        if key is None or key in thread.responses:
            key = f"{self.line}/{len(thread.responses) + 1}"
        thread.responses.add(key)
        calls = calls_of(message, self.values)
        thread.calls.update(call.id for call in calls if call.id is not None)
        usage = inspect_usage(output.get("usage"), output.get("input_context_tokens"))
        cost = dollars(table(output, "usage").get("total_cost"))
        if event.get("cache") == "read":  # answered from a store on disk: nothing was sent
            usage, cost = Usage(fresh_input=0, output=0, note="from Inspect's cache"), None
        thread.last = key
        yield ResponsePiece(
            thread.run,
            self.line,
            id=key,
            at=at,
            ended=seconds(event.get("completed")),
            model=name(output.get("model")) or name(event.get("model")),
            text=message_text(message, self.values),
            thinking_chars=thinking_of(message, self.values),
            calls=calls,
            usage=usage,
            cost=cost,
            finish=name(choice.get("stop_reason")),
        )

    def _heard(self, thread: Thread, event: Json, at: float | None) -> Iterable[Piece]:
        """What is new in the messages sent: words of users, and results that no event tells."""
        first = not thread.said
        for index, message in enumerate(self.values.inputs(event)):
            role = message.get("role")
            if role == "tool":
                key = name(message.get("tool_call_id"))
                if key is None or key not in thread.calls or key in self._ended_tools:
                    continue
                if f"tool {key}" not in thread.said:
                    thread.said.add(f"tool {key}")
                    yield result_piece(thread.run, self.line, message, self.values)
            elif role == "user":
                text = message_text(message, self.values)
                key = name(message.get("id")) or f"{index} {text}"
                if key in thread.said:
                    continue
                thread.said.add(key)
                source = message.get("source")
                real = source in ("input", "operator") or (source is None and first)
                first = False
                kind = BoundaryKind.USER if real else BoundaryKind.REMINDER
                yield BoundaryPiece(thread.run, self.line, kind, at, text)

    def _tool(self, thread: Thread, event: Json, at: float | None) -> Iterable[Piece]:
        key = name(event.get("id"))
        if key is None or key not in thread.calls:
            owner = next((t for t in self._threads.values() if key in t.calls), None)
            if owner is not None:  # a nested thread made it
                thread = owner
            elif (
                key is None or key not in self._proposed
            ):  # made by the harness, not proposed by a model
                call = calls_of({"tool_calls": [event]}, self.values)
                if key is not None:
                    thread.calls.add(key)
                yield ResponsePiece(thread.run, self.line, id=thread.last, at=at, calls=call)
        yield result_piece(thread.run, self.line, event, self.values)
        if rows(event.get("events")):  # a sub-agent, as logs held it before 0.3.90
            agent = name(event.get("agent")) or name(event.get("function"))
            yield from self._nested(thread, f"{thread.run}/{key}", event, key, agent, at)

    def _nested(
        self,
        thread: Thread,
        run: str,
        event: Json,
        call: str | None,
        agent: str | None,
        at: float | None,
    ) -> Iterable[Piece]:
        """The events within an event, as a run of their own."""
        if self._depth >= _DEEPEST:
            self.ignored["events nested too deep"] += 1
            return
        yield RunPiece(run, self.line, parent=thread.run, parent_call=call, agent=agent, at=at)
        yield from Events(run, self.line, self.values, self.ignored, self._depth + 1).pieces(
            event["events"]
        )
