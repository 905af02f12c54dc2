"""Tokens of a Copilot session: outputs by response, inputs from the totals at shutdown."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from loopaudit.formats.shapes import Json, count, table
from loopaudit.formats.usages import SPREAD, named_usage
from loopaudit.model import BUCKETS, ResponsePiece, Usage, UsageMark, add

_SHORT = f"the total does not hold all responses; {SPREAD}"
_INPUTS = tuple(name for name in BUCKETS if name not in ("output", "reasoning", "web_searches"))


@dataclass(slots=True)
class _Response:
    run: str
    line: int
    model: str | None
    output: int | None = None


class Spent:
    def __init__(self) -> None:
        self._responses: dict[tuple[str, str], _Response] = {}
        self._done: dict[str | None, Usage] = {}  # totals before the last compaction, by model
        self._last: dict[str | None, Usage] = {}  # of the newest shutdown since then
        self._gap = False  # spent between a shutdown and the compaction after it: never told
        self._open = False  # responses since the newest shutdown

    def response(self, run: str, line: int, key: str, model: str | None, output: Any) -> None:
        known = self._responses.setdefault((run, key), _Response(run, line, model))
        known.model = known.model or model
        tokens = count(output)
        if tokens is not None and tokens > (known.output or 0):
            known.output = tokens
        self._open = True

    def shutdown(self, line: int, data: Json) -> None:
        """Take the totals of a shutdown event; they hold those of earlier ones."""
        totals: dict[str | None, Usage] = {}
        for model, facts in table(data, "modelMetrics").items():
            usage = named_usage(
                table(facts, "usage"),
                whole="inputTokens",
                read="cacheReadTokens",
                write="cacheWriteTokens",
                output="outputTokens",
            )
            if usage is not None:
                totals[model] = usage
        if not totals:
            kinds = table(data, "tokenDetails")
            flat = {kind: table(kinds, kind).get("tokenCount") for kind in kinds}
            usage = named_usage(
                flat, fresh="input", read="cache_read", write="cache_write", output="output"
            )
            if usage is not None:
                totals[None] = usage
        if totals:
            self._last, self._open = totals, False

    def restart(self) -> None:
        """The counters begin anew."""
        self._gap = self._gap or self._open
        for model, usage in self._last.items():
            self._done[model] = _sum(self._done.get(model), usage)
        self._last = {}

    def told(self, *, estimate: bool) -> Iterable[ResponsePiece]:
        """The usage of each response, as pieces that go on with it; inputs are estimated or left
        out."""
        totals = dict(self._done) if estimate else {}
        for model, usage in self._last.items() if estimate else ():
            totals[model] = _sum(totals.get(model), usage)
        short = self._gap or self._open  # the totals leave something out
        groups: dict[str | None, list[tuple[str, _Response]]] = {}
        for (_, key), response in self._responses.items():
            model = None if None in totals else response.model
            groups.setdefault(model, []).append((key, response))
        for model, members in groups.items():
            total = totals.get(model)
            for index, (key, response) in enumerate(members):
                usage = Usage(output=response.output)
                if total is not None:
                    for name in _INPUTS:
                        amount = getattr(total, name)
                        if amount is not None:
                            each, rest = divmod(amount, len(members))
                            setattr(usage, name, each + (index < rest))
                    usage.mark, usage.note = UsageMark.ESTIMATED, _SHORT if short else SPREAD
                if usage.total is not None:
                    yield ResponsePiece(response.run, response.line, id=key, usage=usage)


def _sum(a: Usage | None, b: Usage) -> Usage:
    total = Usage()
    for name in BUCKETS:
        setattr(total, name, add(getattr(a, name, None), getattr(b, name)))
    return total
