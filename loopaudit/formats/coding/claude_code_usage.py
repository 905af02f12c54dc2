"""Usage of one response as Anthropic's API reports it, in the buckets of the neutral record."""

from __future__ import annotations

from typing import Any

from loopaudit.formats.shapes import Json, count, shown
from loopaudit.model import Usage, UsageMark

_MOST = 1_000_000_000  # more tokens than a response can hold
_TIERS = frozenset(("", "standard", "default", "batch"))
_PLACES = frozenset(("", "not_available", "global"))


def usage_of(usage: Any) -> Usage:
    """Buckets of a `usage` object. `input_tokens` excludes the cache; the two lifetimes of cache
    writes are parts of `cache_creation_input_tokens`; what they leave over has no known lifetime.

    A value that is no count leaves its bucket None and marks the whole usage absent.
    """
    if type(usage) is not dict:
        return Usage(mark=UsageMark.ABSENT, note=f"usage unreadable: {shown(usage)}")
    bad: list[str] = []
    fresh = _count(usage, "input_tokens", bad)
    read = _count(usage, "cache_read_input_tokens", bad)
    output = _count(usage, "output_tokens", bad)
    written = _count(usage, "cache_creation_input_tokens", bad)
    short = long = None
    unsplit = written
    split = usage.get("cache_creation")
    if type(split) is dict:
        short = _count(split, "ephemeral_5m_input_tokens", bad)
        long = _count(split, "ephemeral_1h_input_tokens", bad)
        told = (short or 0) + (long or 0)
        unsplit = written - told if written is not None and written > told else None
    result = Usage(fresh, read, short, long, unsplit, output)
    details = usage.get("output_tokens_details")
    if type(details) is dict:
        result.reasoning = _count(details, "thinking_tokens", bad)
    tools = usage.get("server_tool_use")
    if type(tools) is dict:
        result.web_searches = _count(tools, "web_search_requests", bad)
    if bad:
        result.mark = UsageMark.ABSENT
        result.note = "usage unreadable: " + ", ".join(bad)
    elif usage.get("speed") == "fast":
        result.note = "fast"
    elif usage.get("service_tier") == "batch":
        result.note = "batch"
    return result


def service(usage: Json) -> str | None:
    """The region or tier that changes the price, where the log names one."""
    place = usage.get("inference_geo")
    if type(place) is str and place not in _PLACES:
        return place
    tier = usage.get("service_tier")
    return tier if type(tier) is str and tier not in _TIERS else None


def _count(usage: Json, key: str, bad: list[str]) -> int | None:
    value = usage.get(key)
    if type(value) is int and 0 <= value < _MOST:
        return value
    if value is None:
        return None
    number = count(value)
    if number is None or number >= _MOST:
        bad.append(f"{key} {shown(value)}")
        return None
    return number
