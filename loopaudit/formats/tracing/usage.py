"""Token counts of spans as disjoint buckets, where the log does not say what includes what.

The conventions count cached tokens inside the input and reasoning inside the output; many writers
hand on what their provider told, in which they lie beside each other. The total decides where it is
told; else parts larger than their whole lie beside it.
"""

from __future__ import annotations

from typing import Any

from loopaudit.formats.shapes import count, table
from loopaudit.formats.usages import openai_usage
from loopaudit.model import Usage


def span_usage(
    sent: Any,
    output: Any,
    *,
    read: Any = None,
    written: Any = None,
    reasoning: Any = None,
    total: Any = None,
    beside: bool = False,
) -> Usage | None:
    """Usage from counts as they stand in the log. `beside`: without a total to decide it, caches
    and reasoning lie beside input and output, as the writer is known to split them off."""
    sent, output, read, written, reasoning, total = (
        _number(value) for value in (sent, output, read, written, reasoning, total)
    )
    whole, said = count(sent), count(output)
    cached = (count(read) or 0) + (count(written) or 0)
    thought = count(reasoning) or 0
    if whole is not None and cached:
        sums = count(total)
        outputs = {said or 0, (said or 0) + thought}
        apart = beside if sums is None else all(whole + o != sums for o in outputs)
        apart = apart and (sums is None or any(whole + cached + o == sums for o in outputs))
        if apart or cached > whole:
            sent = whole + cached
    if beside and thought and said is not None and count(total) is None:
        output = said + thought
    detail = {"cached_tokens": read, "cache_write_tokens": written}
    if total is not None and count(total) in (whole, said) and None in (whole, said):
        total = None  # the sum of what is known
    return openai_usage(
        {
            "input_tokens": sent,
            "output_tokens": output,
            "total_tokens": total if sent is None or output is None or thought else None,
            "input_tokens_details": {k: v for k, v in detail.items() if v is not None},
            "output_tokens_details": {} if reasoning is None else {"reasoning_tokens": reasoning},
        }
    )


def _number(value: Any) -> Any:
    """A count that was written as text, as attributes often are."""
    plain = isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 16
    return int(value) if plain else value


def more(told: Usage | None, other: Usage | None) -> Usage | None:
    """One usage of two that were told of the same response: details that the first lacks come from
    the other, where both have the same total."""
    if told is None or other is None:
        return told or other
    if told.total is None or told.total != other.total:
        return told
    if told.cache_read is None and told.cache_write is None:
        told.cache_read, told.cache_write_unsplit = other.cache_read, other.cache_write_unsplit
        told.cache_write_5m, told.cache_write_1h = other.cache_write_5m, other.cache_write_1h
        told.fresh_input = other.fresh_input
    if told.reasoning is None:
        told.reasoning = other.reasoning
    return told


def langchain_usage(value: Any) -> Usage | None:
    """`usage_metadata`: totals with their parts inside."""
    if not isinstance(value, dict) or "input_tokens" not in value:
        return None
    sent, said = table(value, "input_token_details"), table(value, "output_token_details")
    five = count(sent.get("ephemeral_5m_input_tokens"))
    hour = count(sent.get("ephemeral_1h_input_tokens"))
    written = sent.get("cache_creation") or (five or 0) + (hour or 0) or sent.get("cache_creation")
    usage = span_usage(
        value.get("input_tokens"),
        value.get("output_tokens"),
        read=sent.get("cache_read"),
        written=written,
        reasoning=said.get("reasoning"),
        total=value.get("total_tokens"),
    )
    if usage is not None and (five or hour):
        usage.cache_write_5m, usage.cache_write_1h = five, hour
        rest = (usage.cache_write_unsplit or 0) - (five or 0) - (hour or 0)
        usage.cache_write_unsplit = rest if rest > 0 else None
    return usage
