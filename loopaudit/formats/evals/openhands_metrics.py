"""Metrics of OpenHands: what each response used and cost, from lists of parts and from counters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from loopaudit.formats.shapes import Json, count, dollars, name, rows, seconds, table
from loopaudit.formats.totals import share_cost, share_usage
from loopaudit.formats.usages import openai_usage
from loopaudit.model import Piece, ResponsePiece, RunPiece, StepKind, Usage

_COUNTS = ("prompt_tokens", "completion_tokens", "cache_read_tokens", "cache_write_tokens")


def token_usage(value: Any) -> Usage | None:
    """Tokens of one response: what was read from and written to caches lies inside the prompt."""
    if not isinstance(value, dict):
        return None
    return openai_usage(
        {
            "prompt_tokens": value.get("prompt_tokens"),
            "completion_tokens": value.get("completion_tokens"),
            "prompt_tokens_details": {
                "cached_tokens": value.get("cache_read_tokens"),
                "cache_write_tokens": value.get("cache_write_tokens"),
            },
            "completion_tokens_details": {"reasoning_tokens": value.get("reasoning_tokens")},
        }
    )


def parts(metrics: Json) -> list[ResponsePiece]:
    """A piece for each response that the metrics tell apart, run and line still empty."""
    usages = rows(metrics.get("token_usages"))
    costs = metrics.get("costs")
    prices = (
        costs if isinstance(costs, list) and len(costs) == len(usages) else [None] * len(usages)
    )
    found = []
    for usage, price in zip(usages, prices, strict=True):
        told = price if isinstance(price, dict) else {"cost": price}
        key = name(usage.get("response_id"))
        if key is not None:
            found.append(
                ResponsePiece(
                    "",
                    0,
                    id=key,
                    at=seconds(told.get("timestamp")),
                    model=name(usage.get("model")),
                    usage=token_usage(usage),
                    cost=dollars(told.get("cost")) or None,  # 0: no price was known
                )
            )
    return found


def give(metrics: Json, answers: Sequence[ResponsePiece]) -> None:
    """Fills in what the responses of a run, `answers`, used and cost where they do not tell."""
    known = {piece.id: piece for piece in parts(metrics)}
    for answer in answers:
        told = known.get(answer.id) if answer.id is not None else None
        if told is not None:
            answer.usage = answer.usage or told.usage
            answer.cost = answer.cost or told.cost
            answer.model = answer.model or told.model
    costs = metrics.get("costs")
    if all(answer.cost is None for answer in answers):
        if isinstance(costs, list) and len(costs) == len(answers):
            for answer, cost in zip(answers, costs, strict=True):
                told_cost = cost.get("cost") if isinstance(cost, dict) else cost
                answer.cost = dollars(told_cost) or None
        else:
            total = dollars(metrics.get("accumulated_cost"))
            if total:
                share_cost(total, answers)
    if answers and all(answer.usage is None for answer in answers):
        whole = token_usage(table(metrics, "accumulated_token_usage"))
        if whole is not None and whole.total:
            share_usage(whole, answers)


@dataclass(slots=True)
class Counter:
    """A counter that grows from record to record; `grown` is what came since the one before."""

    last: Json | None = None

    def grown(self, value: Any) -> Usage | None:
        if not isinstance(value, dict):
            return None
        before, self.last = self.last or {}, value
        now = {key: count(value.get(key)) for key in (*_COUNTS, "reasoning_tokens")}
        new = {
            key: None if tokens is None else tokens - (count(before.get(key)) or 0)
            for key, tokens in now.items()
        }
        if any(tokens is not None and tokens < 0 for tokens in new.values()):
            new = now  # it began anew
        return token_usage(new) if any(new.values()) else None


class Streamed:
    """Usage that a stream of events tells as counters, each time before the response it is of."""

    def __init__(self) -> None:
        self._counters: dict[str, Counter] = {}
        self._spent: dict[str, Decimal] = {}  # counters of money
        self._waiting: ResponsePiece | None = None  # counted, its event not yet seen

    def told(self, metrics: Json, line: int, at: float | None) -> Iterable[Piece]:
        """What the counters of one event add, by use. A condenser's share is no step."""
        for use, told in metrics.items():
            if not isinstance(told, dict):
                continue
            counter = self._counters.setdefault(use, Counter())
            grown = counter.grown(told.get("accumulated_token_usage"))
            if grown is None:
                continue
            spent = dollars(told.get("accumulated_cost")) or Decimal(0)
            cost = spent - self._spent.get(use, Decimal(0))
            self._spent[use] = spent
            piece = ResponsePiece("", line, at=at, usage=grown, cost=cost if cost > 0 else None)
            if "condenser" in use:
                piece.kind = StepKind.COMPACTION
                yield piece
            else:
                yield from self.rest()
                self._waiting = piece
            yield RunPiece("", line, model=name(told.get("model_name")))

    def take(self) -> tuple[Usage | None, Decimal | None]:
        """Usage and cost of the response whose event has come."""
        piece, self._waiting = self._waiting, None
        return (piece.usage, piece.cost) if piece is not None else (None, None)

    def rest(self) -> list[Piece]:
        """A response that was counted and of which no event tells."""
        piece, self._waiting = self._waiting, None
        return [] if piece is None else [piece]
