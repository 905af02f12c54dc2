"""List prices: vendors' published figures, dates, hours, and which names mean which model."""

from __future__ import annotations

import pickle
import random
import subprocess
import sys
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from loopaudit.errors import ConfigError
from loopaudit.model import Usage
from loopaudit.money import PriceBook, is_model, usd

BOOK = PriceBook(today=date(2026, 11, 30))


def at(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def prices(model: str, when: str, service: str | None = None) -> list[tuple[float | None, ...]]:
    """(over, input, output, read, 5-minute write, 1-hour write) in USD per million tokens."""
    rates = BOOK.rates(model, at(when), service)
    assert rates is not None, model
    return [(t.over, *(None if p is None else p / 10**6 for p in t[1:])) for t in rates.tiers]


ANTHROPIC = {
    "claude-opus-4-5-20251101": (5, 25, 0.5, 6.25, 10),
    "claude-opus-4-1-20250805": (15, 75, 1.5, 18.75, 30),
    "claude-opus-4-20250514": (15, 75, 1.5, 18.75, 30),
    "claude-sonnet-4-20250514": (3, 15, 0.3, 3.75, 6),
    "claude-3-7-sonnet-20250219": (3, 15, 0.3, 3.75, 6),
    "claude-3-5-sonnet-20241022": (3, 15, 0.3, 3.75, 6),
    "claude-haiku-4-5-20251001": (1, 5, 0.1, 1.25, 2),
    "claude-3-5-haiku-20241022": (0.8, 4, 0.08, 1, 1.6),
}


@pytest.mark.parametrize("model", ANTHROPIC)
def test_anthropic(model: str) -> None:
    assert prices(model, "2025-12-01") == [(-1, *ANTHROPIC[model])]


def test_sonnet_4_5_above_200k() -> None:
    assert prices("claude-sonnet-4-5-20250929", "2025-12-01") == [
        (-1, 3, 15, 0.3, 3.75, 6),
        (200_000, 6, 22.5, 0.6, 7.5, 12),
    ]


OTHERS = {
    "gpt-5": (1.25, 10, 0.125),
    "gpt-5-codex": (1.25, 10, 0.125),
    "gpt-5-mini": (0.25, 2, 0.025),
    "gpt-5-nano": (0.05, 0.4, 0.005),
    "gpt-5.1-codex": (1.25, 10, 0.125),
    "gpt-5.2-codex": (1.75, 14, 0.175),
    "gpt-4.1": (2, 8, 0.5),
    "gpt-4o": (2.5, 10, 1.25),
    "gpt-4o-mini": (0.15, 0.6, 0.075),
    "codex-mini-latest": (1.5, 6, 0.375),
    "gemini-2.5-flash": (0.3, 2.5, 0.03),
    "gemini-3-flash-preview": (0.5, 3, 0.05),
    "grok-code-fast-1": (0.2, 1.5, 0.02),
    "kimi-k2-0905-preview": (0.6, 2.5, 0.15),
    "glm-4.6": (0.6, 2.2, 0.11),
    "deepseek-chat": (0.28, 0.42, 0.028),
}


@pytest.mark.parametrize("model", OTHERS)
def test_other_vendors(model: str) -> None:
    ((_, *found),) = prices(model, "2026-01-15")
    assert tuple(found[:3]) == OTHERS[model]


def test_gemini_tiers() -> None:
    for model, low, high in (
        ("gemini-2.5-pro", (1.25, 10, 0.125), (2.5, 15, 0.25)),
        ("gemini-3-pro-preview", (2, 12, 0.2), (4, 18, 0.4)),
    ):
        first, second = prices(model, "2026-01-15")
        assert (first[:4], second[:4]) == ((-1, *low), (200_000, *high))


def test_price_of_the_responses_own_time() -> None:
    assert prices("o3", "2025-06-09T23:59:59")[0][1:3] == (10, 40)
    assert prices("o3", "2025-06-10")[0][1:3] == (2, 8)


def test_a_long_context_price_that_ended() -> None:
    assert len(prices("claude-opus-4-6", "2026-03-12T23:59:59")) == 2
    assert prices("claude-opus-4-6", "2026-03-13") == [(-1, 5, 25, 0.5, 6.25, 10)]


def test_deepseek_dates_and_hours() -> None:
    chat = "deepseek-chat"
    assert prices(chat, "2025-06-01T12:00")[0][1:4] == (0.27, 1.1, 0.07)
    assert prices(chat, "2025-06-01T16:30")[0][1:4] == (0.135, 0.55, 0.035)
    assert prices(chat, "2025-06-01T00:29")[0][1:4] == (0.135, 0.55, 0.035)
    assert prices(chat, "2025-06-01T00:30")[0][1:4] == (0.27, 1.1, 0.07)
    assert prices(chat, "2025-09-28T23:59")[0][1:4] == (0.57, 1.68, 0.07)
    assert prices(chat, "2025-09-29T20:00")[0][1:4] == (0.28, 0.42, 0.028)


def test_peak_hours_are_tied_to_their_dates() -> None:
    """The package gives .30/1.20 at 02:00 on 2026-09-01; right is twice .22/.66 (its issue 571)."""
    flash = "deepseek-v4-flash"
    assert prices(flash, "2026-09-01T02:00")[0][1:3] == (0.44, 1.32)
    assert prices(flash, "2026-09-01T05:00")[0][1:3] == (0.22, 0.66)
    assert prices(flash, "2026-09-05T02:00")[0][1:3] == (0.22, 0.66)  # a Saturday
    assert prices(flash, "2026-06-01T02:00")[0][1:3] == (0.14, 0.28)
    assert prices(flash, "2026-09-15T02:00")[0][1:3] == (0.3, 1.2)
    assert prices(flash, "2026-10-01T02:00")[0][1:3] == (0.15, 0.6)  # a public holiday


def test_qwen_has_tiers() -> None:
    found = prices("qwen3-coder-plus", "2026-01-15")
    assert [tier[:4] for tier in found] == [
        (-1, 1, 5, 0.2),
        (32_000, 1.8, 9, 0.36),
        (128_000, 3, 15, 0.6),
        (256_000, 6, 60, 1.2),
    ]


def mode_price(model: str, mode: str, when: str) -> list[tuple[float, ...]] | None:
    rates = BOOK.rates(model, at(when))
    assert rates is not None
    special = rates.modes.get(mode)
    return special and [(t.over, *(p / 10**6 for p in t[1:])) for t in special.tiers]  # type: ignore[return-value, operator]


def test_fast_mode() -> None:
    flat = [(-1, 30, 150, 3, 37.5, 60)]
    assert mode_price("claude-opus-4-6", "fast", "2026-02-10") == [
        *flat,
        (200_000, 60, 225, 6, 75, 120),
    ]
    assert mode_price("claude-opus-4-6", "fast", "2026-03-13") == flat
    assert mode_price("claude-opus-5", "fast", "2026-10-01") == [(-1, 10, 50, 1, 12.5, 20)]
    assert mode_price("claude-haiku-4-5", "fast", "2026-10-01") is None


def test_batch_is_half_also_before_the_list_checked_it() -> None:
    half = [(-1, 2.5, 12.5, 0.25, 3.125, 5)]
    assert mode_price("claude-opus-4-5", "batch", "2026-11-01") == half
    assert mode_price("claude-opus-4-5", "batch", "2025-12-01") == half
    assert mode_price("claude-opus-4-1", "batch", "2025-09-01") == [
        (-1, 7.5, 37.5, 0.75, 9.375, 15)
    ]


def test_a_mode_does_not_reach_back_beyond_another_price() -> None:
    """Batch of o3 was checked at 2/8; at 10/40 it must have been another price."""
    assert mode_price("o3", "batch", "2025-07-01") is not None
    assert mode_price("o3", "batch", "2025-05-01") is None


def test_a_mode_inherits_only_cache_prices_that_the_list_has() -> None:
    """OpenAI lists a cached price for GPT-5 batches, and never one of writing: that is input."""
    batch = PriceBook().rates("gpt-5", at("2026-06-01"))
    assert batch is not None
    tier = batch.modes["batch"].tiers[0]
    assert (tier.input, tier.cache_read, tier.cache_write_5m) == (625_000, 62_500, 625_000)
    read = PriceBook().rates("gpt-4o", at("2026-06-01"))  # reads in batches: the standard price
    assert read is not None
    assert read.modes["batch"].tiers[0].cache_read == 1_250_000


def test_inference_in_the_us_alone() -> None:
    assert prices("claude-opus-4-6", "2026-11-01", "us") == [(-1, 5.5, 27.5, 0.55, 6.875, 11)]
    assert prices("claude-opus-4-6", "2026-11-01", "global")[0][1] == 5
    assert prices("claude-opus-4-6", "2026-11-01", "us batch")[0][1:3] == (2.75, 13.75)
    assert prices("gpt-5", "2026-11-01", "us")[0][1] == 1.25


def test_service_names_a_mode_or_provider() -> None:
    assert prices("claude-opus-4-5", "2026-11-01", "batch")[0][1:3] == (2.5, 12.5)
    assert prices("claude-opus-4-5", "2026-11-01", "standard")[0][1:3] == (5, 25)
    assert prices("claude-opus-4-5", "2026-11-01", "priority")[0][1:3] == (5, 25)
    assert prices("gpt-5", "2026-11-01", "openai/priority")[0][1:3] == (2.5, 20)
    assert BOOK.rates("claude-haiku-4-5", at("2026-11-01"), "fast") is None
    assert prices("gpt-4o", "2026-01-15", "azure")[0][1:3] == (2.5, 10)
    # a host of open models has prices of its own: never the maker's
    assert BOOK.rates("deepseek-chat", at("2026-01-15"), "groq") is None


SAME = {
    "claude-sonnet-4-5[1m]": "claude-sonnet-4-5",
    "claude-sonnet-4-5-latest": "claude-sonnet-4-5",
    "anthropic/claude-sonnet-4.5": "claude-sonnet-4-5",
    "litellm_proxy/claude-sonnet-4-20250514": "claude-sonnet-4-20250514",
    "vertex_ai/claude-sonnet-4-5@20250929": "claude-sonnet-4-5",
    "claude-haiku-4-5@20251001": "claude-haiku-4-5",
    "global.anthropic.claude-opus-4-5-20251101-v1:0": "claude-opus-4-5",
    "us.anthropic.claude-sonnet-4-20250514-v1:0": "claude-sonnet-4-20250514",
    "anthropic.claude-3-5-sonnet-20241022-v2:0": "claude-3-5-sonnet-20241022",
    "models/gemini-2.5-flash": "gemini-2.5-flash",
    "gemini/gemini-2.5-flash": "gemini-2.5-flash",
    "google/gemini-2.5-flash": "gemini-2.5-flash",
    "openai/gpt-5": "gpt-5",
    "azure/gpt-4o": "gpt-4o",
    "gpt-5.2-20251211": "gpt-5.2",
    "  GPT-5  ": "gpt-5",
    "x-ai/grok-4": "grok-4",
    "grok-4.1-fast": "grok-4-1-fast",
    "z-ai/glm-4.6": "glm-4.6",
    "qwen/qwen3-max": "qwen3-max",
    "moonshot-ai/kimi-k2.7-code": "kimi-k2.7-code",
}


@pytest.mark.parametrize("name", SAME)
def test_names_resolved_by_a_stated_rule(name: str) -> None:
    found, wanted = prices(name, "2026-01-15"), prices(SAME[name], "2026-01-15")
    assert [tier[:5] for tier in found] == [tier[:5] for tier in wanted]
    rates = BOOK.rates(name, at("2026-01-15"))
    assert rates is not None
    assert rates.rule


def test_a_bedrock_region_costs_what_bedrock_lists() -> None:
    """Regional ids of 4.5 and later are 10 % dearer than the vendor's own (so says ccusage too)."""
    name = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
    assert prices(name, "2026-01-15") == [(-1, 3.3, 16.5, 0.33, 4.125, 6.6)]
    rates = BOOK.rates(name, at("2026-01-15"))
    assert rates is not None
    assert "Bedrock" in rates.rule


def test_the_rule_is_shown() -> None:
    lines = BOOK.explain("claude-sonnet-4-5-20250929[1m]", at("2026-01-15"))
    text = "\n".join(lines)
    assert "claude-sonnet-4-5 of anthropic, by genai-prices" in text
    assert "`[1m]` marks the context window" in text
    assert "standard above 200,000 input tokens" in text
    assert "input $3.00, output $15.00, cache read $0.30" in text
    assert "unpriced, never as 0" in BOOK.explain("glm-x:thinking")[0]
    assert "not a model" in BOOK.explain("<synthetic>")[0]


UNKNOWN = [
    "<synthetic>",
    "glm-x:thinking",
    "glm-4.6:thinking",
    "claude-sonnet-4-5:thinking",
    "claude-sonnet-4-5-TEE",
    "claude-opus-4-55",
    "claude-opus-9",
    "claude",
    "opus",
    "sonnet",
    "gpt-5-high",
    "gpt-5.9",
    "gpt-5-foo",
    "gpt-50",
    "gpt",
    "my-gateway/gpt-5",
    "ollama/llama3.1",
    "llama3.1:8b",
    "deepseek-r1:8b",
    "qwen3:32b",
    "gpt-oss:20b",
    "gemma3",
    "coder-model",
    "cursor-auto",
    "codex-auto-review",
    "unknown",
    "model",
    "mockllm/model",
    "openrouter/nobody/nothing",
    "gemini-2.5-flash-image",  # its output price depends on what a log does not tell
    "us.anthropic.",
    "/",
    "anthropic/",
    "[1m]",
    "@",
    "-v1:0",
    "😀" * 30,
]


@pytest.mark.parametrize("name", UNKNOWN)
def test_unknown_names_stay_unknown(name: str) -> None:
    assert BOOK.rates(name, at("2026-01-15")) is None
    assert BOOK.explain(name)


@pytest.mark.parametrize(
    "name", [None, "", " ", 7, 1.5, True, b"gpt-5", ["gpt-5"], {}, "x" * 10_000]
)
def test_hostile_names(name: object) -> None:
    assert BOOK.rates(name, None) is None  # type: ignore[arg-type]
    assert is_model(name) is (isinstance(name, str) and name.startswith("x"))


def test_is_model() -> None:
    assert not is_model("<synthetic>")
    assert not is_model(" <anything>")
    assert is_model("glm-x:thinking")


@pytest.mark.parametrize(
    "moment", [float("nan"), float("inf"), -float("inf"), 1e300, True, "2026", [], None, 10**400]
)
def test_hostile_times_are_priced_as_of_today(moment: object) -> None:
    rates = BOOK.rates("gpt-5", moment)  # type: ignore[arg-type]
    assert rates is not None
    assert rates.tiers[0].input == 1_250_000


def test_hostile_services() -> None:
    for service in ("", " / ", "nobody", 7, ["x"], "x" * 10_000):
        assert BOOK.rates("gpt-5", at("2026-01-15"), service) is not None  # type: ignore[arg-type]


# -- a user's table --------------------------------------------------------------------------------


def test_user_rows_by_glob_and_date() -> None:
    book = PriceBook(
        [
            {"model": "claude-*", "input": 1, "output": 2},
            {"model": "claude-*", "input": 3, "output": 4, "from": date(2026, 1, 2)},
            {"model": "*-opus-*", "input": 5, "output": 6, "until": "2026-01-02"},
        ]
    )

    def found(model: str, when: str) -> int | None:
        rates = book.rates(model, at(when))
        assert rates is not None
        return rates.tiers[0].input

    assert found("claude-x", "2026-01-01T23:59:59") == 1_000_000
    assert found("claude-x", "2026-01-02") == 3_000_000
    assert found("us.anthropic.claude-x-v1:0", "2026-01-02") == 3_000_000  # as normalised
    assert found("Claude-OPUS-4-5", "2026-01-02T23:59:59") == 5_000_000  # until: that day included
    assert found("claude-opus-4-5", "2026-01-03") == 3_000_000
    assert book.rates("gpt-5", at("2026-01-03")).source.startswith("genai")  # type: ignore[union-attr]


def test_user_row_by_service() -> None:
    book = PriceBook([{"model": "gpt-5", "service": "azure*", "input": 9, "output": 9}])
    assert book.rates("gpt-5", at("2026-01-03"), "azure-openai").tiers[0].input == 9_000_000  # type: ignore[union-attr]
    assert book.rates("gpt-5", at("2026-01-03")).tiers[0].input == 1_250_000  # type: ignore[union-attr]


def test_user_rows_never_price_what_is_no_model() -> None:
    assert PriceBook([{"model": "*", "input": 1, "output": 1}]).rates("<synthetic>", None) is None


def test_a_user_table_needs_no_package() -> None:
    code = (
        "import sys; from loopaudit.money import PriceBook;"
        "b = PriceBook([{'model': 'm*', 'input': 1, 'output': 2}]);"
        "assert b.rates('m1', 1.7e9).tiers[0].input == 10**6;"
        "assert not {'genai_prices', 'pydantic', 'httpx2', 'polars'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"input": 1, "output": 1}, "model is missing"),
        ({"model": "m", "output": 1}, "input is missing"),
        ({"model": "m", "input": 1}, "output is missing"),
        ({"model": "m", "input": -1, "output": 1}, "input must be a number from 0"),
        ({"model": "m", "input": "1", "output": 1}, "input must be a number"),
        ({"model": "m", "input": True, "output": 1}, "input must be a number"),
        ({"model": "m", "input": float("nan"), "output": 1}, "input must be a number"),
        ({"model": "m", "input": 1, "output": 1, "cached": 1}, "no key 'cached'"),
        ({"model": "m", "input": 1, "output": 1, "from": "soon"}, "from must be a date"),
        (
            {"model": "m", "input": 1, "output": 1, "from": "2026-02-01", "until": "2026-01-01"},
            "until lies before",
        ),
        ({"model": "m", "input": 1, "output": 1, "hours": "morning"}, "hours must be"),
        ({"model": "m", "input": 1, "output": 1, "mode": "turbo"}, "mode must be one of"),
        ({"model": "m", "input": 1, "output": 1, "over": [{"input": 2}]}, "tokens must be there"),
        ({"model": 7, "input": 1, "output": 1}, "model must be a list of texts"),
        ("m", "must be a table"),
    ],
)
def test_a_wrong_row_is_named(row: object, words: str) -> None:
    with pytest.raises(ConfigError, match="prices.toml:3: .*prices.model.*" + words):
        PriceBook([row], place=lambda *keys: ("prices.toml", 3))


def test_the_settings_table_itself_will_do() -> None:
    book = PriceBook({"model": [{"model": "m", "input": 1, "output": 2}]})
    assert book.rates("m", None) is not None
    assert PriceBook({}).rates("m", None) is None
    with pytest.raises(ConfigError, match="no key 'models'"):
        PriceBook({"models": []})


# -- the whole ------------------------------------------------------------------------------------


def test_price_date_leaves_out_the_future() -> None:
    assert PriceBook(today=date(2025, 6, 30)).price_date() == "2025-06-10"
    assert BOOK.price_date() > "2026-01-01"  # type: ignore[operator]
    assert PriceBook().price_date(86_400.0) is None


def test_price_date_is_that_of_the_last_response() -> None:
    last = datetime(2025, 6, 30, tzinfo=UTC).timestamp()
    for today in (date(2025, 8, 1), date(2026, 11, 30), date(2031, 1, 1)):
        assert PriceBook(today=today).price_date(last) == "2025-06-10"
    assert PriceBook(today=date(2025, 6, 30)).price_date(last + 1e9) == "2025-06-10"


def test_the_list_is_named() -> None:
    assert BOOK.source.startswith("genai-prices ")


def test_can_be_sent_to_a_worker() -> None:
    book = PriceBook([{"model": "m", "input": 1, "output": 2}], today=date(2026, 1, 1))
    book.rates("gpt-5", None)
    again = pickle.loads(pickle.dumps(book))
    assert again.rates("m", None) == book.rates("m", None)
    assert again.rates("gpt-5", None) == book.rates("gpt-5", None)


@pytest.mark.parametrize(
    "model",
    [
        "claude-sonnet-4-5",
        "claude-opus-4-5",
        "gpt-5",
        "gpt-5.6-sol",
        "gemini-2.5-pro",
        "o3",
        "grok-4.5",
    ],
)
def test_equal_to_the_packages_own_sum(model: str) -> None:
    """Another program's arithmetic on the same list: `calc_price`, whose input includes cache."""
    from genai_prices import Usage as TheirUsage
    from genai_prices import calc_price

    chance = random.Random(model)
    when = at("2026-10-20")
    for _ in range(40):
        fresh, read, output = (chance.choice((0, 1, 999, 199_999, 250_000)) for _ in range(3))
        short, long = (chance.choice((0, 1, 77_777)) for _ in range(2))
        theirs = calc_price(
            TheirUsage(
                input_tokens=fresh + read + short + long,
                cache_read_tokens=read,
                cache_write_tokens=short + long,
                cache_write_5m_tokens=short,
                cache_write_1h_tokens=long,
                output_tokens=output,
            ),
            model,
            genai_request_timestamp=datetime.fromtimestamp(when, UTC),
        )
        ours = BOOK.cost(
            Usage(fresh, read, short, long, output=output),
            model,
            when,
        )
        assert ours is not None
        assert usd(ours) == Decimal(theirs.total_price)
