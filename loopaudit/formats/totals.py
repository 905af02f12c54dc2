"""Totals of a run where the log has none of its parts: shared out evenly, so that sums are right.

Frameworks often tell only what a whole run used. Which response used how much is not known: each
gets an equal share, marked as an estimate; the shares add up to the total exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from loopaudit.model import BUCKETS, ResponsePiece, Usage, UsageMark

EVENLY = "the log tells only the total of the run: shared out evenly over its responses"
_PICO = Decimal("1e-12")


def share_usage(total: Usage, responses: Sequence[ResponsePiece]) -> None:
    """Gives each response an equal share of `total`. Earlier ones get what does not divide."""
    count = len(responses)
    for index, response in enumerate(responses):
        usage = Usage(mark=UsageMark.ESTIMATED, note=EVENLY) if count > 1 else total
        if count > 1:
            for bucket in BUCKETS:
                whole = getattr(total, bucket)
                if whole is not None:
                    setattr(usage, bucket, whole // count + (index < whole % count))
        response.usage = usage


def share_cost(total: Decimal, responses: Sequence[ResponsePiece]) -> None:
    """The same of recorded money, to a picodollar."""
    count = len(responses)
    if not count:
        return
    total = total.quantize(_PICO)  # a sum of floats has dust behind it
    share = (total / count).quantize(_PICO)
    for response in responses:
        response.cost = share
    responses[0].cost = total - share * (count - 1)
