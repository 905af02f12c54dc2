"""The cases' arithmetic, tiers, cache lifetimes and modes, worked out by hand."""

from __future__ import annotations

from decimal import Decimal

import pytest

from loopaudit.model import Usage
from loopaudit.money import PriceBook, Rates, pico, usd

JAN_2026 = 1_767_268_800.0  # 2026-01-01T12:00Z


def own(**prices: object) -> Rates:
    """Rates of a table of one row, so that no package is involved."""
    rates = PriceBook([{"model": "m", **prices}]).rates("m", JAN_2026)
    assert rates is not None
    return rates


def dollars(rates: Rates | None, usage: Usage) -> Decimal | None:
    assert rates is not None
    amount = rates.cost(usage)
    return None if amount is None else usd(amount)


def test_backstop_arithmetic() -> None:
    """guards.md §3: $0.005 and $0.015 per 1,000; 3,000 in and 500 out a step."""
    rates = own(input=5, output=15)
    step = rates.cost(Usage(fresh_input=3_000, output=500))
    assert step is not None
    assert usd(step) == Decimal("0.0225")
    assert usd(100 * step) == Decimal("2.25")
    assert usd(1000 * step) == Decimal("22.50")


def test_money_stays_exact_where_floats_do_not() -> None:
    rates = own(input=0.1, output=0.2)
    step = rates.cost(Usage(fresh_input=1, output=1))
    assert step == 300_000  # 0.1 + 0.2 millionths of a dollar
    assert usd(10_000_000 * step) == Decimal("3.00")


# C1: one response in three lines; after merging: 10, write 2,000, read 8,000, output 350
def test_c1_one_response() -> None:
    usage = Usage(fresh_input=10, cache_read=8_000, cache_write_unsplit=2_000, output=350)
    assert usage.total == 10_360
    rates = own(input=3, output=15, cache_read=0.3, cache_write_5m=3.75, cache_write_1h=6)
    # 10·3 + 8000·0.3 + 2000·3.75 + 350·15 = 30 + 2400 + 7500 + 5250 millionths
    assert dollars(rates, usage) == Decimal("0.01518")


# C7: the same truth in three spellings, already in disjoint buckets
@pytest.mark.parametrize(
    "usage",
    [
        Usage(fresh_input=2_000, cache_read=8_000, output=500, reasoning=300),  # OpenAI
        Usage(fresh_input=2_000, cache_read=8_000, output=200 + 300, reasoning=300),  # Gemini
        Usage(fresh_input=2_000, cache_read=8_000, output=500),  # Claude
    ],
)
def test_c7_who_includes_what(usage: Usage) -> None:
    assert usage.total == 10_500
    # 2000·2 + 8000·0.2 + 500·10 millionths; reasoning lies inside output
    assert dollars(own(input=2, output=10, cache_read=0.2), usage) == Decimal("0.0106")


# C8: cache_creation 3,000 = 1,000 (5 min) + 2,000 (1 h), base $3
def test_c8_cache_writes_by_lifetime() -> None:
    split = Usage(cache_write_5m=1_000, cache_write_1h=2_000)
    assert split.total == 3_000
    for rates in (
        own(input=3, output=15, cache_write_5m=3.75, cache_write_1h=6),
        PriceBook([{"model": "claude-*", "input": 3, "output": 15}]).rates("claude-x", JAN_2026),
        PriceBook().rates("claude-sonnet-4-20250514", JAN_2026),
    ):
        assert dollars(rates, split) == Decimal("0.01575")  # 1000·3.75 + 2000·6


def test_c8_no_split_is_priced_at_5_minutes_and_said() -> None:
    rates = own(input=3, output=15, cache_write_5m=3.75, cache_write_1h=6)
    usage = Usage(cache_write_unsplit=3_000)
    assert dollars(rates, usage) == Decimal("0.01125")
    assert rates.caveats(usage) == ["cache write split unknown: taken at the 5-minute rate"]
    assert rates.caveats(Usage(cache_write_5m=3_000)) == []
    # where both lifetimes cost the same, nothing is left open
    assert own(input=3, output=15, cache_write_5m=3.75).caveats(usage) == []


# C10: a priced model, an unpriced one, and a message the client made
def test_c10_unpriced_is_not_zero() -> None:
    book = PriceBook([{"model": "m1", "input": 2.5, "output": 2.5}])
    known = book.rates("m1", JAN_2026)
    assert dollars(known, Usage(fresh_input=150_000, output=50_000)) == Decimal("0.50")
    assert book.rates("glm-x:thinking", JAN_2026) is None
    assert book.cost(Usage(fresh_input=1_000_000), "glm-x:thinking", JAN_2026) is None
    assert book.rates("<synthetic>", JAN_2026) is None


def test_usage_that_is_absent_has_no_cost() -> None:
    rates = own(input=3, output=15)
    assert rates.cost(Usage()) is None
    assert rates.cost(Usage(fresh_input=0, output=0)) == 0
    assert own(input=3, output=15, request=5).cost(Usage()) is None


def test_a_free_model_costs_nothing_because_the_user_says_so() -> None:
    assert own(input=0, output=0).cost(Usage(fresh_input=10, output=10)) == 0


# long context: the tier is the request's own, by its whole input
TIERED = {
    "input": 3,
    "output": 15,
    "cache_read": 0.3,
    "over": [{"tokens": 200_000, "input": 6, "output": 22.5, "cache_read": 0.6}],
}


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        # exactly at the limit is the lower tier: 200000·3 + 1000·15
        (Usage(fresh_input=200_000, output=1_000), "0.615"),
        # one token more: all tokens at the higher tier: 200001·6 + 1000·22.5
        (Usage(fresh_input=200_001, output=1_000), "1.222506"),
        # cache reads count: 1·6 + 200000·0.6
        (Usage(fresh_input=1, cache_read=200_000), "0.120006"),
        # output does not: 100·3 + 300000·15
        (Usage(fresh_input=100, output=300_000), "4.5003"),
    ],
)
def test_long_context_tier(usage: Usage, expected: str) -> None:
    assert dollars(own(**TIERED), usage) == Decimal(expected)


def test_the_highest_tier_reached_counts() -> None:
    rates = own(
        input=1,
        output=1,
        over=[{"tokens": 10, "input": 2}, {"tokens": 20, "input": 3, "output": 5}],
    )
    assert [rates.cost(Usage(fresh_input=n)) for n in (10, 11, 20, 21)] == [
        10 * 10**6,
        22 * 10**6,
        40 * 10**6,
        63 * 10**6,
    ]
    # an output price that the first step leaves out stays
    assert rates.cost(Usage(fresh_input=11, output=1)) == 23 * 10**6


def test_cache_writes_count_toward_the_tier_and_follow_its_input() -> None:
    rates = own(**TIERED)
    # 200,001 written: no write price in the row, so the tier's input price
    assert dollars(rates, Usage(cache_write_5m=200_001)) == Decimal("1.200006")


def test_web_searches_by_request() -> None:
    rates = own(input=3, output=15, web_search=10)
    assert dollars(rates, Usage(fresh_input=0, output=0, web_searches=3)) == Decimal("0.03")
    without = own(input=3, output=15)
    usage = Usage(fresh_input=1_000_000, web_searches=3)
    assert dollars(without, usage) == Decimal("3.00")
    assert without.caveats(usage) == ["web searches have no price in the list"]


@pytest.mark.parametrize("note", ["batch", "Batch", "output is a placeholder; batch"])
def test_mode_in_the_note(note: str) -> None:
    rates = PriceBook(
        [
            {"model": "m", "input": 4, "output": 8},
            {"model": "m", "mode": "batch", "input": 2, "output": 4},
        ]
    ).rates("m", JAN_2026)
    assert dollars(rates, Usage(fresh_input=1_000_000, note=note)) == Decimal("2.00")


@pytest.mark.parametrize("note", ["the batch ended early", "fastened", "only the total is known"])
def test_other_notes_are_no_mode(note: str) -> None:
    book = PriceBook(
        [
            {"model": "m", "input": 4, "output": 8},
            {"model": "m", "mode": "batch", "input": 1, "output": 1},
        ]
    )
    rates = book.rates("m", JAN_2026)
    assert dollars(rates, Usage(fresh_input=1_000_000, note=note)) == Decimal("4.00")


def test_a_users_price_without_mode_is_meant_for_all() -> None:
    rates = own(input=4, output=8)
    assert dollars(rates, Usage(fresh_input=1_000_000, note="fast")) == Decimal("4.00")


def test_a_mode_without_a_list_price_is_unpriced() -> None:
    rates = PriceBook().rates("claude-sonnet-4-5", JAN_2026)
    assert rates is not None
    assert rates.cost(Usage(fresh_input=10, output=10)) is not None
    assert rates.cost(Usage(fresh_input=10, output=10, note="fast")) is None


def test_thinking_price_by_reasoning_tokens() -> None:
    rates = PriceBook().rates("qwen-plus", JAN_2026)
    assert dollars(rates, Usage(output=1_000_000)) == Decimal("1.20")
    assert dollars(rates, Usage(output=1_000_000, reasoning=1)) == Decimal("4.00")


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (0, "0.00"),
        (1, "0.000000000001"),
        (22_500_000_000, "0.0225"),
        (10**14, "100.00"),
        (123 * 10**30 + 1, "123000000000000000000.000000000001"),
        (-(10**12), "-1.00"),
    ],
)
def test_usd(amount: int, text: str) -> None:
    assert f"{usd(amount):f}" == text
    assert pico(Decimal(text)) == amount


def test_pico_rounds_to_even_only_beyond_picodollars() -> None:
    assert pico(Decimal("0.0000000000005")) == 0
    assert pico(Decimal("0.0000000000015")) == 2
    assert pico(Decimal("0.0000000000025")) == 2
    assert pico(Decimal("1E+3")) == 10**15
    with pytest.raises(ValueError, match="finite"):
        pico(Decimal("NaN"))


def test_fast_enough() -> None:
    """More than 500,000 costs a second are wanted; a tenth of that holds on a busy machine."""
    import time

    rates = own(**TIERED)
    usage = Usage(fresh_input=10, cache_read=8_000, cache_write_5m=2_000, output=350)
    start = time.process_time()
    for _ in range(20_000):
        rates.cost(usage)
    assert time.process_time() - start < 0.4
