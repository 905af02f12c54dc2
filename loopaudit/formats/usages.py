"""Token usage of the API families, each in its own spelling, as disjoint buckets.

Who includes what: OpenAI (chat, Responses, Agents, most proxies) and the AI SDK count cached tokens
inside the input; Anthropic counts `input_tokens` beside both caches; Gemini counts thoughts beside
the candidates, all others reasoning inside the output. Where the parts are larger than the whole
that should hold them, the log counts the other way round, and is read so.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from loopaudit.formats.shapes import Json, count, name, rows, table
from loopaudit.model import StepKind, Usage, UsageMark

TOTAL_ONLY = "only the total is known: counted as fresh input"
#: of a log that tells only the total of a session
SPREAD = "the total of the session, spread evenly over its responses"
FROM_TOTAL = "one side is worked out from the total"


class _Fields:
    """Counts by key; a value that is no count is noted by its key and taken as missing."""

    def __init__(self, value: Json) -> None:
        self.value = value
        self.bad: list[str] = []

    def get(self, *keys: str) -> int | None:
        """The first of `keys` that is there."""
        return self.inside(self.value, *keys)

    def inside(self, value: Json, *keys: str) -> int | None:
        for key in keys:
            found = value.get(key)
            if found is not None:
                tokens = count(found)
                if tokens is None:
                    self.bad.append(key)
                return tokens
        return None

    def close(self, usage: Usage, total: int | None = None) -> Usage | None:
        """Fill one missing side from the total, and mark what is damaged. None: nothing there."""
        known, output = usage.input, usage.output
        if total is not None and known is None and output is None:
            usage.fresh_input = total
            usage.mark, usage.note = UsageMark.ESTIMATED, TOTAL_ONLY
        elif total is not None and known is None and output is not None and total >= output:
            usage.fresh_input, usage.note = total - output, FROM_TOTAL
        elif total is not None and output is None and known is not None and total >= known:
            usage.output, usage.note = total - known, FROM_TOTAL
        if self.bad:
            lost = usage.total is None
            usage.mark = UsageMark.ABSENT if lost else UsageMark.LOWER_BOUND
            usage.note = f"not a count of tokens: {', '.join(self.bad)}"
        return usage if self.bad or usage.total is not None else None


def _fresh(whole: int | None, read: int | None, written: int | None) -> int | None:
    """Input outside the caches, of an input that should hold them."""
    if whole is None:
        return None
    cached = (read or 0) + (written or 0)
    return whole - cached if cached <= whole else whole


def openai_usage(value: Any) -> Usage | None:
    """Usage as chat completions, Responses, the Agents SDK and OpenAI-like proxies write it."""
    if not isinstance(value, dict):
        return None
    fields = _Fields(value)
    inside = table(value, "prompt_tokens_details") or table(value, "input_tokens_details")
    if not inside and "prompt_tokens" not in value and "cache_read_input_tokens" in value:
        return anthropic_usage(value)
    read = fields.inside(inside, "cached_tokens")
    if read is None:
        keys = ("cache_read_input_tokens", "prompt_cache_hit_tokens", "cached_tokens")
        read = fields.get(*keys, "cached_input_tokens")
    written = fields.inside(inside, "cache_write_tokens", "cache_creation_tokens")
    if written is None:
        written = fields.get("cache_creation_input_tokens", "cache_write_input_tokens")
    whole = fields.get("prompt_tokens", "input_tokens")
    output = fields.get("completion_tokens", "output_tokens")
    detail = table(value, "completion_tokens_details") or table(value, "output_tokens_details")
    reasoning = fields.inside(detail, "reasoning_tokens")
    total = fields.get("total_tokens")
    if reasoning and output is not None:
        # xAI and some Gemini shims count reasoning beside the completion
        beside = output + reasoning
        if reasoning > output or (whole is not None and total == whole + beside):
            output = beside
    usage = Usage(
        fresh_input=_fresh(whole, read, written),
        cache_read=read,
        cache_write_unsplit=written,
        output=output,
        reasoning=reasoning,
    )
    return fields.close(usage, total)


def anthropic_usage(value: Any) -> Usage | None:
    """Usage of the Messages API: the three inputs lie beside each other."""
    if not isinstance(value, dict):
        return None
    fields = _Fields(value)
    split = table(value, "cache_creation")
    short = fields.inside(split, "ephemeral_5m_input_tokens")
    long = fields.inside(split, "ephemeral_1h_input_tokens")
    written = fields.get("cache_creation_input_tokens")
    rest = None
    if written is not None and (short is None or long is None or written > short + long):
        rest = written - (short or 0) - (long or 0)
        rest = rest if rest > 0 or (short is None and long is None) else None
    mode = value.get("speed")
    if mode in (None, "standard"):
        mode = value.get("service_tier")
    usage = Usage(
        fresh_input=fields.get("input_tokens"),
        cache_read=fields.get("cache_read_input_tokens"),
        cache_write_5m=short,
        cache_write_1h=long,
        cache_write_unsplit=rest,
        output=fields.get("output_tokens"),
        reasoning=fields.inside(table(value, "output_tokens_details"), "thinking_tokens"),
        web_searches=fields.inside(table(value, "server_tool_use"), "web_search_requests"),
        note=mode if mode in ("fast", "batch") else None,
    )
    return fields.close(usage)


class Beside(NamedTuple):
    """A sampling of its own within a response of the Messages API."""

    name: str  # within the response
    kind: StepKind
    model: str | None  # None: that of the response
    usage: Json


#: iterations that the usage of their response leaves out: the summary of a compaction, and what a
#: stronger model was asked (advisor tool); all others are parts of it
_LEFT_OUT = {"compaction": StepKind.COMPACTION, "advisor_message": StepKind.MODEL}


def beside(usage: Any) -> list[Beside]:
    """What is billed beside a response, by the `iterations` of its usage."""
    found: list[Beside] = []
    if not isinstance(usage, dict):
        return found
    for index, entry in enumerate(rows(usage.get("iterations"))):
        kind = _LEFT_OUT.get(str(entry.get("type")))
        if kind is not None:
            label = f"{entry.get('type')} {index}"
            found.append(Beside(label, kind, name(entry.get("model")), entry))
    return found


def gemini_usage(value: Any) -> Usage | None:
    """`usageMetadata`: thoughts lie beside the candidates, cached content inside the prompt."""
    if not isinstance(value, dict):
        return None
    fields = _Fields(value)
    read = fields.get("cachedContentTokenCount")
    whole = fields.get("promptTokenCount")
    tools = fields.get("toolUsePromptTokenCount")
    answer = fields.get("candidatesTokenCount", "responseTokenCount")
    thoughts = fields.get("thoughtsTokenCount")
    total = fields.get("totalTokenCount")
    output = answer if thoughts is None else (answer or 0) + thoughts
    if thoughts and answer is not None and thoughts <= answer and whole is not None:
        inside = total == whole + (tools or 0) + answer
        output = answer if inside else output
    fresh = _fresh(whole, read, None)
    if fresh is not None and tools is not None:
        fresh += tools
    usage = Usage(fresh_input=fresh, cache_read=read, output=output, reasoning=thoughts)
    return fields.close(usage, total)


def vercel_usage(value: Any) -> Usage | None:
    """Usage of the AI SDK, from version 4 (`promptTokens`) to 6 (`inputTokenDetails`)."""
    if not isinstance(value, dict):
        return None
    fields = _Fields(value)
    inside = table(value, "inputTokenDetails") or table(value, "inputTokens")
    read = fields.inside(inside, "cacheReadTokens", "cacheRead")
    if read is None:
        read = fields.get("cachedInputTokens")
    written = fields.inside(inside, "cacheWriteTokens", "cacheWrite")
    fresh = fields.inside(inside, "noCacheTokens", "noCache")
    if fresh is None:
        nested = isinstance(value.get("inputTokens"), dict)
        whole = (
            fields.inside(inside, "total") if nested else fields.get("inputTokens", "promptTokens")
        )
        fresh = _fresh(whole, read, written)
    detail = table(value, "outputTokenDetails") or table(value, "outputTokens")
    reasoning = fields.inside(detail, "reasoningTokens", "reasoning")
    if reasoning is None:
        reasoning = fields.get("reasoningTokens")
    if isinstance(value.get("outputTokens"), dict):
        output = fields.inside(detail, "total")
    else:
        output = fields.get("outputTokens", "completionTokens")
    usage = Usage(
        fresh_input=fresh,
        cache_read=read,
        cache_write_unsplit=written,
        output=output,
        reasoning=reasoning,
    )
    return fields.close(usage, fields.get("totalTokens"))


def named_usage(
    value: Any,
    *,
    fresh: str = "",
    whole: str = "",
    read: str = "",
    write: str = "",
    output: str = "",
    reasoning: str = "",
    beside: bool = False,
    extra: str = "",
    total: str = "",
) -> Usage | None:
    """Usage of a log with keys of its own. The keys: `fresh` input outside the caches, or `whole`
    with them inside; `extra` input on top; `reasoning` inside the output, or `beside` it.

    None where nothing is told, or all is 0: no response costs nothing, so it was not measured.
    """
    if not isinstance(value, dict):
        return None
    fields = _Fields(value)
    cached, written = fields.get(read), fields.get(write)
    sent = _fresh(fields.get(whole), cached, written) if whole else fields.get(fresh)
    more = fields.get(extra)
    answer, thought = fields.get(output), fields.get(reasoning)
    if beside and thought is not None:
        answer = (answer or 0) + thought
    usage = Usage(
        fresh_input=sent if more is None else (sent or 0) + more,
        cache_read=cached,
        cache_write_unsplit=written,
        output=answer,
        reasoning=thought,
    )
    if not fields.bad and not usage.total and not fields.get(total):
        return None
    return fields.close(usage, fields.get(total))
