"""Cuts a Codex log into model responses.

Codex writes the items of a response (reasoning, messages, calls) one by one and nothing that says
where a response ends. These rules do:
- Items share one step until an output or anything from outside (a user message, a new turn, a
  compaction) has come in between; the next item then begins another step.
- A usage event belongs to one response and closes it. Logs since about 0.50 write it after the
  items, older ones before them; which order a file keeps is seen at its first event and remembered.
- In the later order a usage event without items is a response that left none: that of a compaction
  where a compaction stands next to it.

A step is held until it is closed, so what comes after its items (outputs, messages) is held, too.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from loopaudit.model import (
    BoundaryPiece,
    CallPiece,
    Piece,
    ResponsePiece,
    ResultPiece,
    StepKind,
    Usage,
)


@dataclass(slots=True)
class Open:
    """A response under construction."""

    line: int
    at: float | None
    ended: float | None
    id: str | None = None  # by its usage event
    item: str | None = None  # id of its first item that has one
    model: str | None = None
    service: str | None = None
    texts: list[str] = field(default_factory=list)
    thinking: int = 0
    calls: list[CallPiece] = field(default_factory=list)
    searches: int = 0
    usage: Usage | None = None
    kind: StepKind = StepKind.MODEL
    items: int = 0
    answered: bool = False  # an output came
    closed: bool = False  # something from outside came
    after: list[Piece] = field(default_factory=list)


class Steps:
    """Puts items, usage and what lies between into pieces, in order."""

    def __init__(self, run: str) -> None:
        self.run = run
        self.model: str | None = None
        self.service: str | None = None
        self._open: Open | None = None
        self._usage_last: bool | None = None  # None: not seen yet
        self._compacted = False  # a compaction since the last item

    def item(self, line: int, at: float | None, ready: list[Piece]) -> Open:
        """The response that a model item belongs to. A response that ends here goes to `ready`."""
        step = self._open
        if step is not None:
            over = step.closed
            if step.usage is None:
                over = over or step.answered
            elif not step.items and not over:
                over = self._usage_last is True
                if not over:
                    self._usage_last = False
            if over:
                self._flush(ready)
                step = None
        if step is None:
            step = self._open = Open(line, at, at, model=self.model, service=self.service)
        self._compacted = False
        step.items += 1
        if at is not None:
            step.ended = at
        return step

    def told(
        self, line: int, at: float | None, usage: Usage, ident: str | None, ready: list[Piece]
    ) -> None:
        """The usage of a response."""
        step = self._open
        late = step is not None and step.closed and self._usage_last is False
        if step is not None and step.usage is None and step.items and not late:
            step.usage, step.id = usage, ident
            step.model = step.model or self.model
            if at is not None and not step.answered and not step.closed:
                step.ended = at
            self._usage_last = True
            self._flush(ready)
            return
        self._flush(ready)
        step = Open(line, at, at, id=ident, model=self.model, service=self.service, usage=usage)
        if self._compacted and self._usage_last:
            step.kind = StepKind.COMPACTION
        self._open = step

    def result(self, piece: ResultPiece, ready: list[Piece]) -> None:
        if self._open is None:
            ready.append(piece)
        else:
            self._open.answered = True
            self._open.after.append(piece)

    def beside(self, piece: Piece, ready: list[Piece]) -> None:
        """A piece that neither answers nor closes the response."""
        if self._open is None:
            ready.append(piece)
        else:
            self._open.after.append(piece)

    def boundary(self, piece: BoundaryPiece, ready: list[Piece]) -> None:
        self.close()
        self.beside(piece, ready)

    def close(self) -> None:
        """Something from outside came: the next item belongs to another response."""
        if self._open is not None:
            self._open.closed = True

    def compacted(self, piece: BoundaryPiece, ready: list[Piece]) -> bool:
        """A compaction, told by up to three lines. False where it was told before."""
        if self._compacted:
            return False
        step = self._open
        if step is not None and step.usage is not None and not step.items:
            step.kind = StepKind.COMPACTION
        self.boundary(piece, ready)
        self._compacted = True
        return True

    def end(self, ready: list[Piece]) -> None:
        self._flush(ready)

    def _flush(self, ready: list[Piece]) -> None:
        step, self._open = self._open, None
        if step is None:
            return
        if step.usage is not None and step.searches:
            step.usage.web_searches = step.searches
        ready.append(
            ResponsePiece(
                run=self.run,
                line=step.line,
                id=step.id or step.item,
                at=step.at,
                ended=step.ended,
                model=step.model,
                text="\n".join(step.texts) if step.texts else None,
                thinking_chars=step.thinking,
                calls=tuple(step.calls),
                usage=step.usage,
                kind=step.kind,
                service=step.service,
            )
        )
        ready += step.after
