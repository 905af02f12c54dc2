"""Spans of any tracing system as runs: a neutral span, its tree, and what it says as pieces.

An adapter fills one `Span` for each span of its log; at the end the tree is put together, since
spans are written when they end, children before parents, or in no order at all. A span keeps its
answer but not its history: histories are re-sent at every call, so all of a file share one tree of
messages, and memory grows with what is new in each call, not with the file.

The rules, the same for all systems:
- Only the innermost model span is a response; sums on the spans around it count only where none
  inside tells its usage.
- A run is what one agent span holds, or the trace where there is none. An agent whose history goes
  on with another's (a hand-over) stays in its run; one below a tool span is a run of its own, its
  parent the run of that tool. Model spans without a parent belong together by their history.
- A history gives results and user messages that are new since the call before, never calls.
- A tool span is the execution of a call that the model told: by id, else by tool and arguments,
  else by tool. It tells how the call ended; what it does not tell of the result comes from the
  next history. A second execution of one call (a framework's retry) is a call of its own. Where the
  model's spans do not tell calls, the tool spans are the calls.
- A failed model span without an answer is a failed attempt.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from loopaudit.formats.graded import graded
from loopaudit.formats.logreader import LogReader
from loopaudit.formats.shapes import described
from loopaudit.formats.tracing.histories import Histories
from loopaudit.model import ResponsePiece, ResultPiece, Usage

#: names of scores that tell whether a run reached its goal
_OUTCOMES = re.compile(
    r"(?<!un)(?<!in)(?<!no)(?:success|correct|resolved|solved|pass(?:ed|_rate)?(?![a-z])|accura"
    r"|reward|goal|task.?complet|exact.?match)",
    re.IGNORECASE,
)


class Kind(StrEnum):
    MODEL = "model"
    TOOL = "tool"
    AGENT = "agent"
    OTHER = "other"


@dataclass(slots=True)
class Span:
    """One span. Times in seconds since the epoch; what the log does not tell is None."""

    trace: str
    id: str
    line: int
    name: str = ""
    parent: str | None = None
    kind: Kind = Kind.OTHER
    what: str = "other"  # names what is ignored: "chain span"
    start: float | None = None
    end: float | None = None
    failed: bool = False
    error: str | None = None  # message of the failure
    code: str | None = None  # its type
    http_status: int | None = None
    session: str | None = None
    user: str | None = None
    agent: str | None = None
    host: str | None = None
    version: str | None = None
    project: str | None = None
    prompt: str | None = None
    usage: Usage | None = None
    model: str | None = None  # of an agent's usage
    # of a model
    history: int | None = None  # node in `Histories`; None: the input is not told
    answer: ResponsePiece | None = None
    results: list[ResultPiece] = field(default_factory=list)  # of tools run by the server
    request: str | None = None  # the provider's id of the response
    # of a tool
    tool: str | None = None
    args: Any = None
    call_id: str | None = None
    result: Any = None

    @property
    def tells(self) -> bool:
        """Whether a model span holds anything that a response has."""
        return self.says or self.usage is not None

    @property
    def says(self) -> bool:
        """Whether a model span tells what the model answered."""
        return self.answer is not None and bool(self.answer.calls or self.answer.text)


class SpanStore(LogReader):
    """Collects spans. Memory: some kilobytes a span, and each message of
    the histories once."""

    holds_all = True

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.histories = Histories()
        self.spans: dict[tuple[str, str], Span] = {}
        self.outcomes: dict[str, tuple[str, str]] = {}  # trace -> outcome and its source
        self.about: dict[str, dict[str, str]] = {}  # trace -> its tags and attributes

    def add(self, span: Span) -> None:
        """Take a span. One that was dumped twice (at its start and its end) counts once."""
        key = (span.trace, span.id)
        known = self.spans.get(key)
        if known is None:
            self.spans[key] = span
            return
        self.ignored["span told twice"] += 1
        if known.end is None and span.end is not None:
            self.spans[key] = span

    def grade(self, trace: str, value: Any, source: str) -> None:
        """Take a score of a trace for its outcome, if its name says that it is one: most scores
        (toxicity, cost, style) are not. The first counts."""
        if not _OUTCOMES.search(source):
            self.ignored["score that tells no outcome"] += 1
            return
        outcome, told = graded(value, source)
        if outcome is not None and told is not None:
            self.outcomes.setdefault(trace, (outcome, told))

    def describe(self, trace: str, *tables: Any, tags: Any = None) -> None:
        """Take tags and attributes of a trace; what was told first of it counts."""
        told = described(*tables, tags=tags)
        if told:
            self.about[trace] = told | self.about.get(trace, {})
