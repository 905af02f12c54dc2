"""Who includes what: the usage of each family as disjoint buckets, worked out by hand."""

import pytest

from loopaudit.formats.usages import anthropic_usage, gemini_usage, openai_usage, vercel_usage
from loopaudit.model import Usage, UsageMark


def test_one_truth_in_three_spellings():  # C7
    chat = openai_usage(
        {
            "prompt_tokens": 10_000,
            "completion_tokens": 500,
            "total_tokens": 10_500,
            "prompt_tokens_details": {"cached_tokens": 8000},
            "completion_tokens_details": {"reasoning_tokens": 300},
        }
    )
    gemini = gemini_usage(
        {
            "promptTokenCount": 10_000,
            "cachedContentTokenCount": 8000,
            "candidatesTokenCount": 200,
            "thoughtsTokenCount": 300,
            "totalTokenCount": 10_500,
        }
    )
    claude = anthropic_usage(
        {"input_tokens": 2000, "cache_read_input_tokens": 8000, "output_tokens": 500}
    )
    for usage in (chat, gemini, claude):
        assert (usage.fresh_input, usage.cache_read, usage.output) == (2000, 8000, 500)
        assert usage.total == 10_500
        assert usage.mark is UsageMark.REPORTED
    assert chat.reasoning == gemini.reasoning == 300


def test_a_total_is_not_one_more_part():  # S13
    usage = openai_usage({"prompt_tokens": 700, "completion_tokens": 300, "total_tokens": 1000})
    assert usage == Usage(fresh_input=700, output=300)
    assert openai_usage({"input_tokens": 700, "output_tokens": 300, "total_tokens": 1000}) == usage


def test_responses_spelling_with_cache_writes():
    usage = openai_usage(
        {
            "input_tokens": 1000,
            "input_tokens_details": {
                "cached_tokens": 600,
                "cache_write_tokens": 300,
                "cache_write_tokens_details": {"ttl_30m_tokens": 300},
            },
            "output_tokens": 50,
            "output_tokens_details": {"reasoning_tokens": 0},
        }
    )
    assert usage == Usage(
        fresh_input=100, cache_read=600, cache_write_unsplit=300, output=50, reasoning=0
    )


def test_caches_larger_than_the_input_stand_beside_it():
    def cached(prompt):
        value = {"prompt_tokens": prompt, "completion_tokens": 5}
        return openai_usage({**value, "prompt_tokens_details": {"cached_tokens": 11_932}})

    beside, inside = cached(3), cached(11_935)
    for usage in (beside, inside):
        assert (usage.fresh_input, usage.cache_read, usage.total) == (3, 11_932, 11_940)
    # litellm writes Anthropic's names beside OpenAI's, with an input that includes them
    both = openai_usage(
        {
            "prompt_tokens": 1000,
            "completion_tokens": 1,
            "cache_read_input_tokens": 700,
            "cache_creation_input_tokens": 200,
        }
    )
    assert both == Usage(fresh_input=100, cache_read=700, cache_write_unsplit=200, output=1)


def test_reasoning_beside_the_completion_is_added():
    # xAI: total = prompt + completion + reasoning
    beside = openai_usage(
        {
            "prompt_tokens": 100,
            "completion_tokens": 20,
            "total_tokens": 420,
            "completion_tokens_details": {"reasoning_tokens": 300},
        }
    )
    assert (beside.output, beside.reasoning, beside.total) == (320, 300, 420)
    inside = openai_usage(
        {
            "prompt_tokens": 100,
            "completion_tokens": 320,
            "total_tokens": 420,
            "completion_tokens_details": {"reasoning_tokens": 300},
        }
    )
    assert (inside.output, inside.reasoning, inside.total) == (320, 300, 420)


def test_gemini_adds_thoughts_and_tool_prompts():
    # 91 + 16 + 48 = 155, as the API sums it up
    usage = gemini_usage(
        {
            "promptTokenCount": 91,
            "candidatesTokenCount": 16,
            "thoughtsTokenCount": 48,
            "totalTokenCount": 155,
        }
    )
    assert (usage.total, usage.output, usage.reasoning) == (155, 64, 48)
    usage = gemini_usage(
        {"promptTokenCount": 10, "toolUsePromptTokenCount": 5, "candidatesTokenCount": 2}
    )
    assert usage == Usage(fresh_input=15, output=2)
    # a version that counts thoughts inside says so by its total
    usage = gemini_usage(
        {
            "promptTokenCount": 91,
            "candidatesTokenCount": 64,
            "thoughtsTokenCount": 48,
            "totalTokenCount": 155,
        }
    )
    assert usage.total == 155
    # all thinking, no answer
    usage = gemini_usage({"promptTokenCount": 10, "thoughtsTokenCount": 7, "totalTokenCount": 17})
    assert (usage.output, usage.total) == (7, 17)


def test_cache_writes_by_lifetime():  # C8
    split = {"ephemeral_5m_input_tokens": 1000, "ephemeral_1h_input_tokens": 2000}
    base = {"input_tokens": 1, "output_tokens": 1, "cache_creation_input_tokens": 3000}
    usage = anthropic_usage({**base, "cache_creation": split})
    assert (usage.cache_write_5m, usage.cache_write_1h, usage.cache_write_unsplit) == (
        *(1000, 2000),
        None,
    )
    assert usage.total == 3002
    usage = anthropic_usage(base)
    assert (usage.cache_write_5m, usage.cache_write_unsplit, usage.total) == (None, 3000, 3002)
    usage = anthropic_usage({**base, "cache_creation": {"ephemeral_5m_input_tokens": 1000}})
    assert (usage.cache_write_5m, usage.cache_write_unsplit, usage.total) == (1000, 2000, 3002)
    nothing = {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0}
    usage = anthropic_usage({"input_tokens": 4, "output_tokens": 1, "cache_creation": nothing})
    assert (usage.cache_write, usage.total) == (0, 5)


def test_modes_and_searches_are_kept():
    base = {"input_tokens": 1, "output_tokens": 1}
    assert anthropic_usage({**base, "speed": "fast"}).note == "fast"
    assert anthropic_usage({**base, "service_tier": "batch"}).note == "batch"
    assert anthropic_usage({**base, "speed": "standard", "service_tier": "batch"}).note == "batch"
    assert anthropic_usage({**base, "service_tier": "standard"}).note is None
    search = {"server_tool_use": {"web_search_requests": 3}}
    assert anthropic_usage({**base, **search}).web_searches == 3


@pytest.mark.parametrize(
    "value",
    [
        {
            "inputTokens": 100,
            "inputTokenDetails": {
                "noCacheTokens": 36,
                "cacheReadTokens": 64,
                "cacheWriteTokens": 0,
            },
            "outputTokens": 20,
            "outputTokenDetails": {"textTokens": 16, "reasoningTokens": 4},
            "totalTokens": 120,
            "reasoningTokens": 4,
            "cachedInputTokens": 64,
        },
        {"inputTokens": 100, "cachedInputTokens": 64, "outputTokens": 20, "reasoningTokens": 4},
        {
            "inputTokens": {"total": 100, "noCache": 36, "cacheRead": 64},
            "outputTokens": {"total": 20, "text": 16, "reasoning": 4},
        },
    ],
)
def test_the_ai_sdk_in_its_versions(value):
    usage = vercel_usage(value)
    assert (usage.fresh_input, usage.cache_read) == (36, 64)
    assert (usage.output, usage.reasoning, usage.total) == (20, 4, 120)


def test_the_ai_sdk_version_4_and_the_exclusive_one():
    assert vercel_usage({"promptTokens": 9, "completionTokens": 2, "totalTokens": 11}) == Usage(
        fresh_input=9, output=2
    )
    beside = vercel_usage({"inputTokens": 4, "cachedInputTokens": 90, "outputTokens": 1})
    assert (beside.fresh_input, beside.total) == (4, 95)
    # unknown usage is written as NaN by version 4, as null in JSON
    assert vercel_usage({"promptTokens": None, "completionTokens": None}) is None


@pytest.mark.parametrize("read", [openai_usage, anthropic_usage, gemini_usage, vercel_usage])
def test_nothing_is_none_not_zero(read):
    for value in ({}, None, [], 5, "x", {"other": 1}):
        assert read(value) is None


def test_zero_is_zero_not_none():
    usage = openai_usage({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0})
    assert usage == Usage(fresh_input=0, output=0)


BAD = [float("nan"), float("inf"), -5, True, "12", [], {"a": 1}]


@pytest.mark.parametrize("bad", BAD, ids=repr)
@pytest.mark.parametrize(
    ("read", "key", "good"),
    [
        (openai_usage, "completion_tokens", {"prompt_tokens": 10}),
        (openai_usage, "output_tokens", {"input_tokens": 10}),
        (anthropic_usage, "output_tokens", {"input_tokens": 10}),
        (gemini_usage, "candidatesTokenCount", {"promptTokenCount": 10}),
        (vercel_usage, "completionTokens", {"inputTokens": 10}),
    ],
)
def test_a_bad_number_is_missing_and_marked(read, key, good, bad):  # E8
    usage = read({**good, key: bad})
    assert (usage.output, usage.total) == (None, 10)
    assert usage.mark is UsageMark.LOWER_BOUND
    assert key in usage.note
    usage = read({key: bad})
    assert usage.total is None
    assert usage.mark is UsageMark.ABSENT


def test_one_side_is_worked_out_from_the_total():
    assert openai_usage({"total_tokens": 50, "completion_tokens": 20}).fresh_input == 30
    assert openai_usage({"total_tokens": 50, "prompt_tokens": 20}).output == 30
    bare = openai_usage({"total_tokens": 50})
    assert (bare.total, bare.mark) == (50, UsageMark.ESTIMATED)
    assert openai_usage({"total_tokens": 5, "prompt_tokens": 20}).output is None
