"""Bills worked out by hand: mixtures of forks, resumes, side chains, counters and price rules.

Each test says in words what was bought. List prices a million tokens (input / output / cache read /
5-minute write / 1-hour write): Opus 4.5 5 / 25 / 0.50 / 6.25 / 10, Haiku 4.5 1 / 5 / 0.10 / 1.25 /
2, Sonnet 4.5 3 / 15 / 0.30 / 3.75 / 6 and above 200,000 tokens of input 6 / 22.50 / 0.60 / 7.50 /
12, GPT-5 1.25 / 10 / 0.125, Gemini 2.5 Pro 1.25 / 10 / 0.31 and above 200,000 2.50 / 15.
"""

from __future__ import annotations

import gzip
import itertools
import json
import shutil
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from builders import Line, put, report

OPUS, HAIKU, SONNET = "claude-opus-4-5-20251101", "claude-haiku-4-5-20251001", "claude-sonnet-4-5"


def said(session: str, ident: str, second: int, usage: Line, **more: Any) -> Line:
    """A Claude Code line of a response; ids are as long as real ones."""
    usage = {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, **usage}
    message = {
        "id": f"msg_{ident:0>24}",
        "type": "message",
        "role": "assistant",
        "model": more.pop("model", OPUS),
        "content": more.pop("content", [{"type": "text", "text": f"answer {ident}"}]),
        "stop_reason": more.pop("stop", "end_turn"),
        "usage": usage,
    }
    at = more.pop("at", f"2026-01-05T10:{second // 60:02d}:{second % 60:02d}.000Z")
    return {
        "type": "assistant",
        "sessionId": session,
        "requestId": f"req_{ident:0>24}",
        "uuid": f"{session}-{ident}-{second}",
        "timestamp": at,
        "version": "2.1.40",
        "cwd": "/home/noor/app",
        "message": message,
        **more,
    }


def spent(fresh: int, output: int, read: int = 0, short: int = 0, long: int = 0) -> Line:
    return {
        "input_tokens": fresh,
        "output_tokens": output,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": short + long,
        "cache_creation": {"ephemeral_5m_input_tokens": short, "ephemeral_1h_input_tokens": long},
    }


def bill(*paths: Path) -> tuple[int | None, Decimal | None]:
    """Tokens and dollars of the totals."""
    totals = report(*paths)["totals"]
    return totals["tokens"]["total"], None if totals["usd"] is None else Decimal(totals["usd"])


def every_order(paths: Sequence[Path]) -> list[tuple[int | None, Decimal | None]]:
    return [bill(*order) for order in itertools.permutations(paths)]


# -- Claude Code: who owns what -------------------------------------------------------------------


def test_resumed_forked_and_resumed_again(tmp_path: Path) -> None:
    """A buys 1 and 2; B resumes A and buys 3; C forks A after 1 and buys 4; D resumes B, buys 5.

    Each: 1,000 fresh at $5 and 100 out at $25 = $0.0075; five of them: 5,500 tokens, $0.0375.
    """
    one = spent(1_000, 100)
    sessions = {"A": "12", "B": "123", "C": "14", "D": "1235"}
    paths = []
    for session, bought in sessions.items():
        lines = [said(session, ident, int(ident), one) for ident in bought]
        paths.append(put(tmp_path / f"{session}.jsonl", lines))
    assert set(every_order(paths)) == {(5_500, Decimal("0.0375"))}
    found = report(*paths)
    own = {run["id"]: run["tokens"]["total"] for run in found["runs"]}
    assert own == {"A": 2_200, "B": 1_100, "C": 1_100, "D": 1_100}
    handed_down = {run["id"]: run["inherited_tokens"] or 0 for run in found["runs"]}
    assert handed_down == {"A": 0, "B": 2_200, "C": 1_100, "D": 3_300}


def test_sub_agent_in_its_own_file_in_progress_lines_and_copied_by_a_resume(tmp_path: Path) -> None:
    """A main response of 500 + 50 (Opus: $0.00375), a sub-agent's of 2,000 + 200 (Haiku: $0.003).

    The sub-agent stands in the parent's progress lines (placeholder of 1), in a file of its own
    (final), and the parent was resumed under another name. Once each: 2,750 tokens, $0.00675.
    """
    main = said("M", "1", 1, spent(500, 50))
    sub = said("M", "2", 2, spent(2_000, 200), model=HAIKU, isSidechain=True, agentId="a1")
    early = said("M", "2", 2, spent(2_000, 1), model=HAIKU, stop=None)
    inner = {key: early[key] for key in ("type", "timestamp", "message", "uuid", "requestId")}
    data = {"type": "agent_progress", "agentId": "a1", "message": inner}
    progress = {**main, "type": "progress", "uuid": "p1", "data": data}
    del progress["message"]
    (tmp_path / "M" / "subagents").mkdir(parents=True)
    paths = [
        put(tmp_path / "M.jsonl", [main, progress]),
        put(tmp_path / "M" / "subagents" / "agent-a1.jsonl", [sub]),
        put(tmp_path / "N.jsonl", [said("N", "1", 1, spent(500, 50))]),
    ]
    assert set(every_order(paths)) == {(2_750, Decimal("0.00675"))}


def test_the_usage_grows_over_the_lines_of_a_response_and_over_its_copies(tmp_path: Path) -> None:
    """Output is written as 1, 8 and 640; the copy in another file was taken at 8. 10,000 read from
    the cache at $0.50, 640 out at $25: $0.005 + $0.016; 3 fresh: $0.000015."""
    lines = [said("A", "1", n, spent(3, out, 10_000)) for n, out in ((1, 1), (2, 8), (3, 640))]
    copy = [said("B", "1", 1, spent(3, 1, 10_000)), said("B", "1", 2, spent(3, 8, 10_000))]
    paths = [put(tmp_path / "A.jsonl", lines), put(tmp_path / "B.jsonl", copy)]
    assert set(every_order(paths)) == {(10_643, Decimal("0.021015"))}


def test_both_lifetimes_and_a_rest_without_one(tmp_path: Path) -> None:
    """3,000 written: 1,000 for 5 minutes, 1,500 for an hour, 500 not told (taken as 5 minutes).

    1,500 at $6.25 + 1,500 at $10 = $0.009375 + $0.015; 10 out at $25 = $0.00025.
    """
    usage = spent(0, 10, 0, 1_000, 1_500)
    usage["cache_creation_input_tokens"] = 3_000
    path = put(tmp_path / "a.jsonl", [said("A", "1", 1, usage)])
    assert bill(path) == (3_010, Decimal("0.024625"))
    assert report(path)["totals"]["completeness"] == "estimated"


@pytest.mark.parametrize(
    ("fresh", "read", "written", "usd"),
    [
        # 200,000 exactly: 100,000 x 3 + 60,000 x 0.30 + 40,000 x 3.75 + 1,000 x 15
        (100_000, 60_000, 40_000, "0.483"),
        # one more of any kind: all of the request at the higher price
        (100_001, 60_000, 40_000, "0.958506"),
        (100_000, 60_001, 40_000, "0.9585006"),
        (100_000, 60_000, 40_001, "0.9585075"),
    ],
)
def test_long_context_is_a_matter_of_the_request(
    tmp_path: Path, fresh: int, read: int, written: int, usd: str
) -> None:
    line = said("A", "1", 1, spent(fresh, 1_000, read, written), model=SONNET)
    path = put(tmp_path / "a.jsonl", [line])
    assert bill(path) == (fresh + read + written + 1_000, Decimal(usd))


def test_two_requests_below_the_limit_are_not_one_above(tmp_path: Path) -> None:
    """2 x 150,000 fresh at $3: $0.90."""
    lines = [said("A", n, int(n), spent(150_000, 0), model=SONNET) for n in "12"]
    assert bill(put(tmp_path / "a.jsonl", lines)) == (300_000, Decimal("0.90"))


def test_searches_are_bought_once_whatever_the_number_of_lines(tmp_path: Path) -> None:
    """3 searches at $10 a thousand, on each of four lines; 100 fresh and 10 out."""
    usage = {**spent(100, 10), "server_tool_use": {"web_search_requests": 3}}
    path = put(tmp_path / "a.jsonl", [said("A", "1", n, usage) for n in range(4)])
    assert bill(path) == (110, Decimal("0.03075"))


def test_batch_region_and_fast(tmp_path: Path) -> None:
    """1,000 fresh and 100 out, four times: plain $0.0075, in a batch half of it, in the US alone
    1.1 times, and Opus 4.6 in fast mode at $30 / $150: $0.045."""
    kinds: list[tuple[Line, str, Decimal]] = [
        ({}, OPUS, Decimal("0.0075")),
        ({"service_tier": "batch"}, OPUS, Decimal("0.00375")),
        ({"inference_geo": "us"}, "claude-opus-4-6", Decimal("0.00825")),
        ({"speed": "fast"}, "claude-opus-4-6", Decimal("0.045")),
    ]
    paths = []
    for number, (more, model, usd) in enumerate(kinds):
        usage = {**spent(1_000, 100), **more}
        line = said(
            f"S{number}", str(number), number, usage, model=model, at="2026-05-05T10:00:00Z"
        )
        paths.append(put(tmp_path / f"{number}.jsonl", [line]))
        assert bill(paths[-1]) == (1_100, usd)
    assert bill(*paths) == (4_400, Decimal("0.06450"))


def test_a_mode_without_a_price_is_said_and_not_guessed(tmp_path: Path) -> None:
    """Haiku has no fast mode: $0.0015 of the plain response are known, 1,100 tokens are not."""
    lines = [
        said("A", "1", 1, spent(1_000, 100), model=HAIKU),
        said("A", "2", 2, {**spent(1_000, 100), "speed": "fast"}, model=HAIKU),
    ]
    totals = report(put(tmp_path / "a.jsonl", lines))["totals"]
    assert (totals["usd"], totals["unpriced"]["tokens"]) == ("0.0015", 1_100)
    assert totals["unpriced"]["models"] == [f"{HAIKU} (fast)"]
    assert totals["completeness"] == "lower_bound"


def test_what_the_server_bills_beside_the_response(tmp_path: Path) -> None:
    """A compaction of 180,000 + 3,500 and a response of 23,000 + 1,000, on two lines each.

    Opus: 203,000 at $5 + 4,500 at $25 = $1.015 + $0.1125. An advisor (Opus) asked by Haiku:
    823 + 1,612 at $5 / $25 = $0.044415, Haiku's own 412 + 531 at $1 / $5 = $0.003067.
    """
    parts = [
        {"type": "compaction", "input_tokens": 180_000, "output_tokens": 3_500},
        {"type": "message", "input_tokens": 23_000, "output_tokens": 1_000},
    ]
    usage = {**spent(23_000, 1_000), "iterations": parts}
    asked = [
        {"type": "message", "input_tokens": 412, "output_tokens": 531},
        {"type": "advisor_message", "model": OPUS, "input_tokens": 823, "output_tokens": 1_612},
    ]
    advised = {**spent(412, 531), "iterations": asked}
    lines = [said("A", "1", n, usage) for n in (1, 2)]
    lines += [said("A", "2", n, advised, model=HAIKU) for n in (3, 4)]
    path = put(tmp_path / "a.jsonl", lines)
    assert bill(path) == (207_500 + 943 + 2_435, Decimal("1.174982"))


def test_cost_written_by_the_client_stands_once_beside_the_computed_one(tmp_path: Path) -> None:
    """Old clients wrote `costUSD` on each line. $0.009 recorded, $0.0075 at list price."""
    lines = [said("A", "1", n, spent(1_000, 100), costUSD=0.009) for n in (1, 2, 3)]
    lines += [said("A", "2", 4, spent(1_000, 100))]
    path = put(tmp_path / "a.jsonl", lines)
    copy = put(tmp_path / "b.jsonl", [said("B", "1", 1, spent(1_000, 100), costUSD=0.009)])
    for given in ([path], [path, copy], [copy, path]):
        totals = report(*given)["totals"]
        assert (totals["recorded_usd"], totals["usd"]) == ("0.009", "0.015")


def test_money_recorded_as_a_binary_fraction_loses_no_picodollar(tmp_path: Path) -> None:
    """Clients sum floats: 0.1 + 0.2, and 0.00022499999999999994 for nine quarters of a tenth."""
    lines = [
        said("A", "1", 1, spent(10, 1), costUSD=0.1 + 0.2),
        said("A", "2", 2, spent(10, 1), costUSD=0.00022499999999999994),
        said("A", "3", 3, spent(10, 1), costUSD=3e-07),
    ]
    totals = report(put(tmp_path / "a.jsonl", lines))["totals"]
    assert totals["recorded_usd"] == "0.3002253"


def test_an_archive_beside_its_original(tmp_path: Path) -> None:
    """The same session as it is, packed, and packed under another name; then one line more in the
    original only. 2 x (1,000 + 100): $0.015."""
    lines = [said("A", "1", 1, spent(1_000, 100))]
    path = put(tmp_path / "a.jsonl", lines)
    packed = tmp_path / "a.jsonl.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    shutil.copy(packed, tmp_path / "old.jsonl.gz")
    put(path, [*lines, said("A", "2", 2, spent(1_000, 100))])
    assert bill(tmp_path) == (2_200, Decimal("0.015"))
    assert set(every_order(sorted(tmp_path.iterdir()))) == {(2_200, Decimal("0.015"))}


def test_messages_of_the_client_cost_nothing_and_lack_no_price(tmp_path: Path) -> None:
    """`<synthetic>` with zeros between two responses of Opus, one of a model nobody sells."""
    lines = [
        said("A", "1", 1, spent(1_000, 100)),
        said("A", "2", 2, spent(0, 0), model="<synthetic>"),
        said("A", "3", 3, spent(50, 5), model="glm-x:thinking"),
    ]
    totals = report(put(tmp_path / "a.jsonl", lines))["totals"]
    assert (totals["tokens"]["total"], totals["usd"]) == (1_155, "0.0075")
    assert totals["unpriced"] == {"tokens": 55, "models": ["glm-x:thinking"]}


# -- Codex: counters ------------------------------------------------------------------------------

THREAD, CHILD, OTHER = (f"019f3a6e-0000-7000-8000-00000000000{n}" for n in "abc")


def counter(second: int, whole: int, last: int | None = None, cached: int = 0) -> Line:
    """A token count: nine tenths input, of which `cached`, one tenth output."""

    def usage(n: int, read: int) -> Line:
        return {
            "input_tokens": n * 9 // 10,
            "cached_input_tokens": read,
            "output_tokens": n // 10,
            "reasoning_output_tokens": n // 100,
            "total_tokens": n,
        }

    info = {"total_token_usage": usage(whole, cached)}
    if last is not None:
        info["last_token_usage"] = usage(last, cached)
    return entry(second, "event_msg", type="token_count", info=info)


def entry(second: int, kind: str, **payload: Any) -> Line:
    at = f"2026-01-05T10:{second // 60:02d}:{second % 60:02d}.000Z"
    return {"timestamp": at, "type": kind, "payload": payload}


def answer(second: int) -> Line:
    part = {"type": "output_text", "text": f"answer at {second}"}
    return entry(second, "response_item", type="message", role="assistant", content=[part])


def rollout(folder: Path, thread: str, *lines: Line, second: int = 0, **meta: Any) -> Path:
    at = entry(second, "")["timestamp"]
    start = entry(second, "session_meta", id=thread, timestamp=at, cwd="/w", **meta)
    body = [start, entry(second, "turn_context", model="gpt-5"), *lines]
    return put(folder / f"rollout-2026-01-05T10-00-00-{thread}.jsonl", body)


def test_a_counter_that_starts_again_after_a_compaction(tmp_path: Path) -> None:
    """1,000, then 3,000 (2,000 more), compaction, the counter begins anew at 500, then 800.

    By `last`: 1,000 + 2,000 + 500 + 300 = 3,800; 3,420 in at $1.25 and 380 out at $10.
    """
    path = rollout(
        tmp_path,
        THREAD,
        answer(1),
        counter(2, 1_000, 1_000),
        answer(3),
        counter(4, 3_000, 2_000),
        entry(5, "compacted", message="what was done"),
        answer(6),
        counter(7, 500, 500),
        answer(8),
        counter(9, 800, 300),
    )
    assert bill(path) == (3_800, Decimal("0.008075"))


def test_reasoning_and_cached_tokens_lie_inside(tmp_path: Path) -> None:
    """1,000,000: 900,000 in, of which 800,000 cached, 100,000 out, of which 10,000 reasoning.

    100,000 at $1.25 + 800,000 at $0.125 + 100,000 at $10 = $0.125 + $0.10 + $1.00.
    """
    path = rollout(tmp_path, THREAD, answer(1), counter(2, 1_000_000, 1_000_000, cached=800_000))
    assert bill(path) == (1_000_000, Decimal("1.225"))


def test_the_counter_is_written_again_between_and_after_the_turns(tmp_path: Path) -> None:
    """Each count twice, once more without news at the end, and one event without any count."""
    lines = [answer(1), counter(2, 1_000, 1_000), counter(3, 1_000, 1_000)]
    lines += [entry(4, "event_msg", type="token_count", info=None), answer(5)]
    lines += [counter(6, 1_500, 500), counter(7, 1_500, 500), counter(90, 1_500, 500)]
    assert bill(rollout(tmp_path, THREAD, *lines)) == (1_500, Decimal("0.0031875"))


def test_both_kinds_of_forks_of_one_parent(tmp_path: Path) -> None:
    """The parent buys 1,000 and 600; a fork that replays both buys 400; one from zero 300.

    2,300 tokens: 2,070 at $1.25 + 230 at $10 = $0.0025875 + $0.0023.
    """
    past = [answer(1), counter(2, 1_000, 1_000), answer(3), counter(4, 1_600, 600)]
    replay = [answer(60), counter(60, 1_000, 1_000), answer(60), counter(60, 1_600, 600)]
    paths = [
        rollout(tmp_path, THREAD, *past),
        rollout(
            tmp_path,
            CHILD,
            *replay,
            answer(90),
            counter(91, 2_000, 400),
            second=60,
            forked_from_id=THREAD,
        ),
        rollout(
            tmp_path, OTHER, answer(92), counter(93, 300, 300), second=70, forked_from_id=THREAD
        ),
    ]
    assert set(every_order(paths)) == {(2_300, Decimal("0.0048875"))}


# -- APIs: who includes what ----------------------------------------------------------------------


def exchange(url: str, request: Line, response: Line | None, status: int = 200) -> Line:
    return {
        "url": url,
        "method": "POST",
        "time": "2026-01-05T10:00:00.000Z",
        "request": request,
        "status": status,
        "response": response,
    }


CHAT = "https://api.openai.com/v1/chat/completions"
ASK = {"role": "user", "content": "How deep is the lake?"}


def chat(ident: str, usage: Line, asked: Sequence[Line] = (ASK,), **more: Any) -> Line:
    message = {"role": "assistant", "content": f"answer {ident}"}
    choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
    response = {
        "id": f"chatcmpl-{ident:0>20}",
        "object": "chat.completion",
        "created": 1_767_607_200,
        "model": "gpt-5-2025-08-07",
        "choices": choices,
        "usage": usage,
        **more,
    }
    return exchange(CHAT, {"model": "gpt-5", "messages": list(asked)}, response)


def test_openai_counts_everything_inside(tmp_path: Path) -> None:
    """10,000 in (8,000 cached), 500 out (300 reasoning), total 10,500; then a refusal (429) and an
    exact copy of the first exchange, as loggers that retry write it.

    2,000 at $1.25 + 8,000 at $0.125 + 500 at $10 = $0.0025 + $0.001 + $0.005.
    """
    usage = {
        "prompt_tokens": 10_000,
        "completion_tokens": 500,
        "total_tokens": 10_500,
        "prompt_tokens_details": {"cached_tokens": 8_000, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 300},
    }
    limit = {"error": {"message": "Rate limit reached", "code": "rate_limit_exceeded"}}
    refused = exchange(CHAT, {"model": "gpt-5", "messages": [ASK]}, limit, 429)
    path = put(tmp_path / "a.jsonl", [chat("1", usage), refused, chat("1", usage)])
    assert bill(path) == (10_500, Decimal("0.0085"))
    flex = put(tmp_path / "b.jsonl", [chat("2", usage, service_tier="flex")])
    assert bill(flex) == (10_500, Decimal("0.00425"))  # half
    paid = put(tmp_path / "c.jsonl", [chat("3", usage, service_tier="priority")])
    assert bill(paid) == (10_500, Decimal("0.017"))  # twice: 2.50 / 0.25 / 20


def responded(ident: str, *output: Line, **more: Any) -> Line:
    """A Responses exchange: 1,000 in (400 cached), 100 out."""
    usage = {
        "input_tokens": 1_000,
        "input_tokens_details": {"cached_tokens": 400},
        "output_tokens": 100,
        "output_tokens_details": {"reasoning_tokens": 50},
        "total_tokens": 1_100,
    }
    response = {
        "id": f"resp_{ident:0>24}",
        "object": "response",
        "created_at": 1_767_607_200,
        "model": "gpt-5-2025-08-07",
        "status": "completed",
        "output": list(output),
        "usage": usage,
        **more,
    }
    url = "https://api.openai.com/v1/responses"
    return exchange(url, {"model": "gpt-5", "input": "how deep?"}, response)


def web(kind: str | None, ident: str) -> Line:
    action = {"type": kind, "query": "lake"} if kind else {"query": "lake"}
    return {"type": "web_search_call", "id": ident, "status": "completed", "action": action}


@pytest.mark.parametrize(
    ("output", "usd"),
    [
        # 600 at $1.25 + 400 at $0.125 + 100 at $10
        ((), "0.0018"),
        # and two searches at $10 a thousand; pages opened on the way cost nothing
        ((web("search", "w1"), web("open_page", "w2"), web(None, "w3")), "0.0218"),
        ((web("find_in_page", "w1"),), "0.0018"),
    ],
)
def test_searches_of_the_responses_api(tmp_path: Path, output: tuple[Line, ...], usd: str) -> None:
    line = responded("1", *output)
    polled = put(tmp_path / "a.jsonl", [line, line])  # the same response, fetched twice
    assert bill(polled) == (1_100, Decimal(usd))


@pytest.mark.parametrize(
    ("whole", "cached", "usd"),
    [
        (200_000, 50_000, "0.19385"),  # 150,000 x 1.25 + 50,000 x 0.125 + 10 x 10
        (200_001, 50_000, "0.3876525"),  # 150,001 x 2.50 + 50,000 x 0.25 + 10 x 15
    ],
)
def test_the_long_context_of_gemini_counts_its_cache(
    tmp_path: Path, whole: int, cached: int, usd: str
) -> None:
    content = {"role": "model", "parts": [{"text": "40 m"}]}
    usage = {"promptTokenCount": whole, "cachedContentTokenCount": cached}
    usage |= {"candidatesTokenCount": 10, "totalTokenCount": whole + 10}
    response = {
        "candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
        "usageMetadata": usage,
        "modelVersion": "gemini-2.5-pro",
        "responseId": "q7Xk1q7Xk1q7Xk1q7Xk1",
    }
    request = {"contents": [{"role": "user", "parts": [{"text": "How deep?"}]}]}
    url = "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-pro:generateContent"
    path = put(tmp_path / "a.jsonl", [exchange(url, request, response)])
    assert bill(path) == (whole + 10, Decimal(usd))


def test_gemini_counts_thoughts_beside_and_tools_beside(tmp_path: Path) -> None:
    """Prompt 10,000 (8,000 cached), tool prompt 100, candidates 200, thoughts 300: 10,600.

    2,100 at $1.25 + 8,000 at $0.125 + 500 at $10 = $0.002625 + $0.001 + $0.005.
    """
    usage = {
        "promptTokenCount": 10_000,
        "cachedContentTokenCount": 8_000,
        "toolUsePromptTokenCount": 100,
        "candidatesTokenCount": 200,
        "thoughtsTokenCount": 300,
        "totalTokenCount": 10_600,
    }
    content = {"role": "model", "parts": [{"text": "40 m"}]}
    response = {
        "candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
        "usageMetadata": usage,
        "modelVersion": "gemini-2.5-pro",
        "responseId": "q7Xk0q7Xk0q7Xk0q7Xk0",
    }
    request = {"contents": [{"role": "user", "parts": [{"text": "How deep?"}]}]}
    url = "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-pro:generateContent"
    found = report(put(tmp_path / "a.jsonl", [exchange(url, request, response)]))["totals"]
    assert found["tokens"] == {
        "fresh_input": 2_100,
        "cache_read": 8_000,
        "cache_write": None,
        "output": 500,
        "reasoning": 300,
        "total": 10_600,
    }
    assert Decimal(found["usd"]) == Decimal("0.008625")


def test_a_stream_of_the_messages_api_counts_its_last_word(tmp_path: Path) -> None:
    """message_start says 1 out, two deltas say 40 and then 90 in all: 90, not 131.

    500 fresh, 4,000 read, 200 written (5 min): $0.0025 + $0.002 + $0.00125 + 90 x 25.
    """
    start = {
        "input_tokens": 500,
        "cache_read_input_tokens": 4_000,
        "cache_creation_input_tokens": 200,
        "cache_creation": {"ephemeral_5m_input_tokens": 200, "ephemeral_1h_input_tokens": 0},
        "output_tokens": 1,
    }
    message = {"id": "msg_01streamstreamstream", "type": "message", "role": "assistant"}
    events: list[Line] = [
        {
            "type": "message_start",
            "message": {**message, "model": OPUS, "content": [], "usage": start},
        },
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "hi"}},
        {"type": "message_delta", "delta": {}, "usage": {"output_tokens": 40}},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn"},
            "usage": {"output_tokens": 90},
        },
        {"type": "message_stop"},
    ]
    text = "".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events)
    line = exchange(
        "https://api.anthropic.com/v1/messages", {"model": OPUS, "messages": [ASK]}, None
    )
    line["response"] = text
    assert bill(put(tmp_path / "a.jsonl", [line])) == (4_790, Decimal("0.008"))


# -- traces: the same usage on several levels ------------------------------------------------------


def span(ident: int, parent: int | None, name: str, **attributes: Any) -> Line:
    def value(v: Any) -> Line:
        return {"intValue": str(v)} if isinstance(v, int) else {"stringValue": v}

    keys = [{"key": k.replace("__", "."), "value": value(v)} for k, v in attributes.items()]
    start = 1_767_607_200_000_000_000 + ident * 1_000_000_000
    found = {
        "traceId": "0af7651916cd43dd8448eb211c80319c",
        "spanId": f"{ident:016x}",
        "name": name,
        "kind": 3,
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(start + 500_000_000),
        "attributes": keys,
        "status": {},
    }
    return found if parent is None else {**found, "parentSpanId": f"{parent:016x}"}


def traced(folder: Path, *spans: Line) -> Path:
    scope = {"scope": {"name": "opentelemetry.instrumentation.x"}, "spans": list(spans)}
    return put(folder / "t.jsonl", [{"resourceSpans": [{"resource": {}, "scopeSpans": [scope]}]}])


def use(read: int, whole: int, out: int) -> Line:
    return {
        "gen_ai__usage__input_tokens": whole,
        "gen_ai__usage__output_tokens": out,
        "gen_ai__usage__cache_read__input_tokens": read,
        "gen_ai__request__model": "gpt-5",
        "gen_ai__provider__name": "openai",
    }


def test_an_agent_span_with_the_sum_of_its_calls(tmp_path: Path) -> None:
    """Two calls of 1,000 + 100 (500 cached) under a span with their sum: 2,200, not 4,400.

    1,000 at $1.25 + 1,000 at $0.125 + 200 at $10.
    """
    path = traced(
        tmp_path,
        span(
            1, None, "invoke_agent a", gen_ai__operation__name="invoke_agent", **use(0, 2_000, 200)
        ),
        span(2, 1, "chat gpt-5", gen_ai__operation__name="chat", **use(500, 1_000, 100)),
        span(3, 1, "chat gpt-5", gen_ai__operation__name="chat", **use(500, 1_000, 100)),
    )
    assert bill(path) == (2_200, Decimal("0.003375"))


def test_an_agent_span_alone_is_all_there_is(tmp_path: Path) -> None:
    """Nothing below it: 2,000 at $1.25 + 200 at $10."""
    path = traced(
        tmp_path,
        span(
            1, None, "invoke_agent a", gen_ai__operation__name="invoke_agent", **use(0, 2_000, 200)
        ),
    )
    assert bill(path) == (2_200, Decimal("0.0045"))


def test_a_cache_larger_than_the_input_lies_beside_it(tmp_path: Path) -> None:
    """Input 3, cache read 11,932: the exporter counts the API's way. 11,945 tokens with 10 out."""
    model = use(11_932, 3, 10)
    path = traced(tmp_path, span(1, None, "chat", gen_ai__operation__name="chat", **model))
    assert bill(path)[0] == 11_945


# -- conversations without ids and times ----------------------------------------------------------


def talk(number: int, told: str = "") -> list[Line]:
    """Question and answer `number`; the answers of a conversation differ."""
    asked = {"role": "user", "content": f"question {number} about the lake{told}"}
    return [asked, {"role": "assistant", "content": f"answer {number}{told} is here"}]


def saved(folder: Path, name: str, *messages: Line) -> Path:
    path = folder / f"{name}.json"
    path.write_text(json.dumps({"messages": list(messages)}))
    return path


def test_a_conversation_saved_as_it_grows(tmp_path: Path) -> None:
    """Three checkpoints of one conversation: three responses, whatever the order."""
    whole = [message for n in range(3) for message in talk(n)]
    paths = [saved(tmp_path, f"c{n}", *whole[: 2 * n]) for n in (1, 2, 3)]
    for order in itertools.permutations(paths):
        totals = report(*order)["totals"]
        assert (totals["responses"], totals["duplicates_removed"]) == (3, 3)
    assert report(paths[2])["totals"]["responses"] == 3


def test_conversations_that_begin_alike_are_not_copies(tmp_path: Path) -> None:
    """Two trials of a task with the same first answer, both bought; and one in another folder."""
    saved(tmp_path, "a", *talk(1), *talk(2, " by boat"))
    saved(tmp_path, "b", *talk(1), *talk(2, " on foot"))
    assert report(tmp_path)["totals"]["responses"] == 4
    other = tmp_path / "other"
    other.mkdir()
    saved(other, "a", *talk(1))
    assert report(tmp_path)["totals"]["responses"] == 5
