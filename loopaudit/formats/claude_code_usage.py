"""Usage of one response as Anthropic's API reports it, in the buckets of the neutral record."""

from __future__ import annotations

from typing import Any

from loopaudit.formats.shapes import Json, count, shown
from loopaudit.model import Usage, UsageMark

_TIERS = (None, "", "standard", "default")
_PLACES = (None, "", "not_available", "global")


def usage_of(usage: Any) -> Usage:
    """Buckets of a `usage` object. `input_tokens` excludes the cache; the two lifetimes of cache
    writes are parts of `cache_creation_input_tokens`; what they leave over has no known lifetime.

    A value that is no count leaves its bucket None and marks the whole usage absent.
    """
    if type(usage) is not dict:
        return Usage(mark=UsageMark.ABSENT, note=f"usage unreadable: {shown(usage)}")
    bad: list[str] = []
    written = _count(usage, "cache_creation_input_tokens", bad)
    split = usage.get("cache_creation")
    short = long = None
    unsplit = written
    if type(split) is dict:
        short = _count(split, "ephemeral_5m_input_tokens", bad)
        long = _count(split, "ephemeral_1h_input_tokens", bad)
        told = (short or 0) + (long or 0)
        unsplit = None if written is None or told >= written else written - told
    details = usage.get("output_tokens_details")
    tools = usage.get("server_tool_use")
    result = Usage(
        fresh_input=_count(usage, "input_tokens", bad),
        cache_read=_count(usage, "cache_read_input_tokens", bad),
        cache_write_5m=short,
        cache_write_1h=long,
        cache_write_unsplit=unsplit,
        output=_count(usage, "output_tokens", bad),
        reasoning=_count(details, "thinking_tokens", bad) if type(details) is dict else None,
        web_searches=_count(tools, "web_search_requests", bad) if type(tools) is dict else None,
    )
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
    place, tier = usage.get("inference_geo"), usage.get("service_tier")
    if type(place) is str and place not in _PLACES:
        return place
    if type(tier) is str and tier not in _TIERS and tier != "batch":
        return tier
    return None


def _count(usage: Json, key: str, bad: list[str]) -> int | None:
    value = usage.get(key)
    if type(value) is int and 0 <= value < 1_000_000_000:
        return value
    if value is None:
        return None
    number = count(value)
    if number is None:
        bad.append(f"{key} {shown(value)}")
    return number
