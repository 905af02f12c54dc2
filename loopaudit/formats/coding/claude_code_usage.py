"""Usage of one response as Anthropic's API reports it, in the buckets of the neutral record."""

from __future__ import annotations

from typing import Any

from loopaudit.formats.shapes import Json, count, shown
from loopaudit.model import Usage, UsageMark

_MOST = 1_000_000_000  # more tokens than a response can hold
_TIERS = frozenset(("", "standard", "default", "batch"))
_PLACES = frozenset(("", "not_available", "global"))


class UsageReader:
    """Reads usage objects; one that stands in every line of its response is read once."""

    def __init__(self) -> None:
        self._place: tuple[str, str | None] | None = None  # run and response of the last one
        self._raw: Any = None
        self._read: tuple[Usage, str | None] = Usage(), None

    def read(self, run: str, response: str | None, raw: Any) -> tuple[Usage, str | None]:
        """Usage, and the region or tier that changes the price. Lines of one response that tell
        the same share one object."""
        if raw != self._raw or response is None or (run, response) != self._place:
            self._place, self._raw = (run, response), raw
            self._read = usage_of(raw), service_of(raw) if type(raw) is dict else None
        return self._read


def usage_of(usage: Any) -> Usage:
    """Buckets of a `usage` object. `input_tokens` excludes the cache; the two lifetimes of cache
    writes are parts of `cache_creation_input_tokens`; what they leave over has no known lifetime.

    A value that is no count leaves its bucket None and marks the whole usage absent.
    """
    if type(usage) is not dict:
        return Usage(mark=UsageMark.ABSENT, note=f"usage unreadable: {shown(usage)}")
    bad: list[str] = []
    get = usage.get
    fresh, read = get("input_tokens"), get("cache_read_input_tokens")
    output, written = get("output_tokens"), get("cache_creation_input_tokens")
    split = get("cache_creation")
    short = long = None
    if type(split) is dict:
        short, long = split.get("ephemeral_5m_input_tokens"), split.get("ephemeral_1h_input_tokens")
    for value in (fresh, read, output, written, short, long):
        if value is not None and not (type(value) is int and 0 <= value < _MOST):
            fresh = _count(fresh, "input_tokens", bad)
            read = _count(read, "cache_read_input_tokens", bad)
            output = _count(output, "output_tokens", bad)
            written = _count(written, "cache_creation_input_tokens", bad)
            short = _count(short, "ephemeral_5m_input_tokens", bad)
            long = _count(long, "ephemeral_1h_input_tokens", bad)
            break
    unsplit = written
    if written is not None and type(split) is dict:
        told = (short or 0) + (long or 0)
        unsplit = written - told if written > told else None
    result = Usage(fresh, read, short, long, unsplit, output)
    details = get("output_tokens_details")
    if type(details) is dict:
        result.reasoning = _count(details.get("thinking_tokens"), "thinking_tokens", bad)
    tools = get("server_tool_use")
    if type(tools) is dict:
        asked = tools.get("web_search_requests")
        result.web_searches = _count(asked, "web_search_requests", bad)
    if bad:
        result.mark = UsageMark.ABSENT
        result.note = "usage unreadable: " + ", ".join(bad)
    elif get("speed") == "fast":
        result.note = "fast"
    elif get("service_tier") == "batch":
        result.note = "batch"
    return result


def service_of(usage: Json) -> str | None:
    """The region or tier that changes the price, where the log names one."""
    place = usage.get("inference_geo")
    if type(place) is str and place not in _PLACES:
        return place
    tier = usage.get("service_tier")
    return tier if type(tier) is str and tier not in _TIERS else None


def _count(value: Any, key: str, bad: list[str]) -> int | None:
    if type(value) is int and 0 <= value < _MOST:
        return value
    if value is None:
        return None
    number = count(value)
    if number is None or number >= _MOST:
        bad.append(f"{key} {shown(value)}")
        return None
    return number
