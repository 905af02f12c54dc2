"""What each span lies within: the agent or tool that holds its run, and spans of its own kind."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from loopaudit.formats.tracing.spans import Kind, Span


class Place(NamedTuple):
    """What a span lies within, up to the next span that holds a run of its own."""

    unit: Span | None = None
    model: Span | None = None
    tool: Span | None = None


_TOP = Place()


class SpanTree:
    """Parents of spans, and what lies between. Circles and missing parents end at the top."""

    def __init__(self, spans: dict[tuple[str, str], Span]) -> None:
        self._spans = spans
        self._places: dict[int, Place] = {}
        self._holds_model: set[int] = set()
        self.inner: dict[int, list[Span]] = {}  # id of a model span -> model spans right inside it
        self._told: set[int] = set()  # spans in which some model told its usage
        models = [span for span in spans.values() if span.kind is Kind.MODEL]
        for span in models:
            self._mark(span, self._holds_model)
        for span in models:
            outer = self.place(span).model
            if outer is not None:
                self.inner.setdefault(id(outer), []).append(span)
        for span in models:
            if span.usage is not None and id(span) not in self.inner:
                self.tell(span)

    def parent(self, span: Span) -> Span | None:
        return self._spans.get((span.trace, span.parent)) if span.parent else None

    def is_unit(self, span: Span) -> bool:
        """Whether what lies within is a run: an agent, or a tool that asks a model itself."""
        return span.kind is Kind.AGENT or (span.kind is Kind.TOOL and id(span) in self._holds_model)

    def place(self, span: Span) -> Place:
        path: list[Span] = []
        seen: set[int] = set()
        above: Span | None = span
        while above is not None and id(above) not in self._places and id(above) not in seen:
            path.append(above)
            seen.add(id(above))
            above = self.parent(above)
        for one in reversed(path):
            outer = self.parent(one)
            around = self._places.get(id(outer)) if outer is not None else None
            if outer is None or around is None:
                self._places[id(one)] = _TOP
            elif self.is_unit(outer):
                self._places[id(one)] = Place(outer)
            elif outer.kind is Kind.MODEL:
                self._places[id(one)] = around._replace(model=outer)
            elif outer.kind is Kind.TOOL:
                self._places[id(one)] = around._replace(tool=outer)
            else:
                self._places[id(one)] = around
        return self._places[id(span)]

    def caller(self, unit: Span) -> Span | None:
        """The tool span that a unit runs for."""
        return unit if unit.kind is Kind.TOOL else self.place(unit).tool

    def around(self, span: Span) -> list[Span]:
        """The spans around, from the innermost."""
        out: list[Span] = []
        seen = {id(span)}
        above = self.parent(span)
        while above is not None and id(above) not in seen:
            seen.add(id(above))
            out.append(above)
            above = self.parent(above)
        return out

    def tell(self, span: Span) -> None:
        """Note that usage is told within all that lies around."""
        self._mark(span, self._told)

    def told(self, span: Span) -> bool:
        return id(span) in self._told

    def _mark(self, span: Span, marks: set[int]) -> None:
        above = self.parent(span)
        while above is not None and id(above) not in marks:
            marks.add(id(above))
            above = self.parent(above)


def in_order(spans: Iterable[Span]) -> list[Span]:
    """By start; a model before a tool that begins in the same moment; else as they stand."""
    rank = {Kind.MODEL: 0, Kind.TOOL: 1}
    numbered = list(enumerate(spans))
    numbered.sort(
        key=lambda n: (
            n[1].start if n[1].start is not None else n[1].end or 0.0,
            rank.get(n[1].kind, 2),
            n[0],
        )
    )
    return [span for _, span in numbered]
