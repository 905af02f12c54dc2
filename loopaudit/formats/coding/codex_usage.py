"""Codex token counters: what one response used, which events repeat, which are copies of a fork.

`token_count` events carry a cumulative counter of the thread (`total`) and the figures of the last
response (`last`). The event is written again whenever rate limits are refreshed, so one whose
counter has not moved is no response. `token_usage_record` lines tell the same of the same response;
whichever of the two comes second is left out.

Ids. A response is known by its thread and the counter after it. A forked or spawned thread starts
with its parent's history (stamped anew at the time of the fork, or with the old times), so copied
events must get the parent's name. Two kinds of children are told apart at their first event:
- the counter equals the last response and the event lies more than `BURST` seconds behind the fork,
  and no parent's `session_meta` is embedded: the child counts from zero, under its own name;
- else the history was copied: all events are named after the origin (the last `session_meta`
  embedded in the copy, else `forked_from_id` or the parent thread), the child's own ones included,
  because a fork of the fork copies those, too, and cannot tell them apart. Should the counter drop
  after the copy, the child's own name is used from there.
A child's own response can then be taken for its parent's only where all five cumulative figures are
equal. Nothing is subtracted: a response counts its `last`, so a counter that was inherited whole
(one huge total at the start) does no harm.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from loopaudit.formats.shapes import Json, count, shown, words
from loopaudit.model import Usage, UsageMark

BURST = 5.0  # seconds; copies of 5,427 events were seen to take 2 (CodexBar#2108)

_INPUT, _CACHED, _WRITTEN, _OUTPUT, _REASONING, _TOTAL = range(6)
_KEYS = (
    "input_tokens",
    "cached_input_tokens",
    "cache_write_input_tokens",
    "output_tokens",
    "reasoning_output_tokens",
    "total_tokens",
)
Figures = tuple[int | None, ...]


@dataclass(slots=True)
class Told:
    """The usage of one response. `key` is the counter after it; None where the log has none."""

    usage: Usage
    key: str | None


def figures(value: Any, bad: list[str] | None = None) -> Figures | None:
    """The six counts of a usage object; None where it holds none of them."""
    if type(value) is not dict:
        return None
    counts: list[int | None] = []
    for key in _KEYS:
        found = value.get(key)
        number = count(found)
        counts.append(number)
        if found is not None and number is None and bad is not None:
            bad.append(f"{key} {shown(found)}")
    return tuple(counts) if any(c is not None for c in counts) or bad else None


def usage_of(value: Any) -> Usage | None:
    """Disjoint buckets: cached and written tokens lie inside the input, reasoning in the output."""
    bad: list[str] = []
    counts = figures(value, bad)
    if counts is None:
        return None
    whole, output = counts[_INPUT], counts[_OUTPUT]
    read, written = counts[_CACHED], counts[_WRITTEN]
    cached = (read or 0) + (written or 0)
    if whole is not None and cached > whole:
        bad.append(f"{cached:,} cached of {whole:,} input tokens")
    usage = Usage(
        fresh_input=whole - cached if whole is not None and cached <= whole else None,
        cache_read=read,
        cache_write_unsplit=written,
        output=output,
        reasoning=counts[_REASONING],
    )
    if bad:
        usage.mark, usage.note = UsageMark.ABSENT, "usage unreadable: " + ", ".join(bad)
    elif whole is None and output is None and counts[_TOTAL] is not None:
        usage.fresh_input, usage.mark = counts[_TOTAL], UsageMark.ESTIMATED
        usage.note = "only the total is known: counted as fresh input"
    return usage


class Counters:
    """The counters of one file, in the order of its lines."""

    def __init__(self) -> None:
        self._total: Figures | None = None
        self._restarts = 0
        self._single: tuple[str, Figures] | None = None  # kind and figures of an unpaired event

    def token_count(self, info: Json) -> Told | None:
        """The response that an event tells of; None where it only repeats the one before."""
        total, last = figures(info.get("total_token_usage")), info.get("last_token_usage")
        if total is not None and total == self._total:
            return None
        before = self._total
        if total is not None:
            self._move(total)
        if last is None and total is not None:  # only the counter: the difference is the response
            last = info.get("total_token_usage")
            if before is not None and all(
                (b or 0) <= (t or 0) for b, t in zip(before, total, strict=True)
            ):
                last = {
                    k: (t or 0) - (b or 0) for k, t, b in zip(_KEYS, total, before, strict=True)
                }
        usage = usage_of(last)
        if usage is None or self._paired("token_count", figures(last)):
            return None
        return Told(usage, self._key(total))

    def record(self, payload: Json) -> Told | None:
        """The response of a `token_usage_record`; None where a `token_count` told of it."""
        usage = usage_of(payload.get("usage"))
        if usage is None or self._paired("record", figures(payload.get("usage"))):
            return None
        total = figures(payload.get("thread_token_usage"))
        return Told(usage, self._key(total) or words(payload.get("response_id")))

    @staticmethod
    def tells(info: Json) -> bool:
        """Whether an event holds figures; many only refresh rate limits."""
        return any(
            figures(info.get(key), []) is not None
            for key in ("total_token_usage", "last_token_usage")
        )

    def restart(self) -> None:
        """Begin anew under another name."""
        self._total = None
        self._restarts = 0

    def drops(self, info: Json) -> bool:
        """Whether the counter of an event is lower than the one before."""
        total = figures(info.get("total_token_usage"))
        return total is not None and self._lower(total)

    def from_zero(self, info: Json) -> bool:
        """Whether an event is the first of its counter: the total is the last response."""
        total, last = figures(info.get("total_token_usage")), figures(info.get("last_token_usage"))
        return total is None or last is None or total[:_TOTAL] == last[:_TOTAL]

    def _move(self, total: Figures) -> None:
        self._restarts += self._lower(total)
        self._total = total

    def _lower(self, total: Figures) -> bool:
        before = self._total
        return before is not None and any(
            (t or 0) < (b or 0) for t, b in zip(total[:_TOTAL], before[:_TOTAL], strict=True)
        )

    def _key(self, total: Figures | None) -> str | None:
        if total is None:
            return None
        parts = (total[_TOTAL], total[_INPUT], total[_CACHED], total[_OUTPUT], total[_REASONING])
        key = ".".join("" if part is None else str(part) for part in parts)
        return f"{key}+{self._restarts}" if self._restarts else key

    def _paired(self, kind: str, told: Figures | None) -> bool:
        """Whether the other kind of event has just told of the same response."""
        single, known = self._single, told[:_TOTAL] if told else ()
        if single is not None and single[0] != kind and single[1] == known:
            self._single = None
            return True
        self._single = (kind, known)
        return False


class Lineage:
    """Under which thread's name a response goes."""

    def __init__(
        self, thread: str, origin: str | None = None, forked_at: float | None = None
    ) -> None:
        self.thread = thread
        self.name = origin or thread  # the name to use now
        self._origin = origin
        self._forked_at = forked_at
        self._copied = False  # a parent's session_meta stands in the file
        self._decided = origin is None

    def embedded(self, thread: str) -> None:
        """The `session_meta` of another thread: a copied history begins with it."""
        self._origin = self.name = thread
        self._copied = True
        self._decided = False

    def look(self, at: float | None, info: Json, counters: Counters) -> bool:
        """Decide at the usage event `info`, before it is counted, under which name it goes. True
        once: where the file turns out to begin with a copy of another thread."""
        if self._origin is None or self.name == self.thread:
            return False
        early = at is None or self._forked_at is None or at <= self._forked_at + BURST
        if not self._decided:
            self._decided = True
            if self._copied or early or not counters.from_zero(info):
                return True
            self.name = self.thread
        elif not early and counters.drops(info):
            self.name = self.thread
            counters.restart()
        return False
