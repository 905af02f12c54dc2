"""Class of an error and wait intervals. Messages are written in the style of each vendor."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopaudit import retry
from loopaudit.model import ErrorClass
from loopaudit.retry import (
    BACKSTOP,
    DEFAULT,
    FUSES,
    RetryPolicy,
    classify,
    delays,
    original_status,
    retryable,
    should_retry,
    status_in,
    wait_interval,
)

TRANSIENT = ErrorClass.TRANSIENT
THROTTLED = ErrorClass.THROTTLED
QUOTA = ErrorClass.QUOTA
PERMANENT = ErrorClass.PERMANENT
OVERFLOW = ErrorClass.CONTEXT_OVERFLOW
UNKNOWN = ErrorClass.UNKNOWN


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, PERMANENT),
        (401, PERMANENT),
        (402, QUOTA),
        (403, PERMANENT),
        (404, PERMANENT),
        (408, TRANSIENT),
        (409, PERMANENT),
        (422, PERMANENT),
        (429, THROTTLED),
        (499, PERMANENT),
        (500, TRANSIENT),
        (502, TRANSIENT),
        (503, TRANSIENT),
        (504, TRANSIENT),
        (529, TRANSIENT),
        (599, TRANSIENT),
        ("503", TRANSIENT),
        # no failure by themselves, or no status at all
        (200, UNKNOWN),
        (302, UNKNOWN),
        (0, UNKNOWN),
        (600, UNKNOWN),
        (-429, UNKNOWN),
        (True, UNKNOWN),
        ("abc", UNKNOWN),
        (float("nan"), UNKNOWN),
        (10**400, UNKNOWN),
        ([429], UNKNOWN),
    ],
)
def test_status(status: Any, error: ErrorClass) -> None:
    assert classify(http_status=status) is error


@pytest.mark.parametrize(
    ("status", "code", "text", "error"),
    [
        (429, "rate_limit_exceeded", "Rate limit reached for requests", THROTTLED),
        (429, "insufficient_quota", None, QUOTA),
        (429, None, "You exceeded your current quota, please check your plan", QUOTA),
        (429, "rate_limit_error", "Number of requests has exceeded your rate limit", THROTTLED),
        (429, "enforced_spend_limit_reached", "", QUOTA),
        (429, "RESOURCE_EXHAUSTED", "Resource has been exhausted.", THROTTLED),
        (429, "RESOURCE_EXHAUSTED", "Quota exceeded for metric: requests PerDay", QUOTA),
        (429, "RESOURCE_EXHAUSTED", "Quota exceeded: 15 requests per minute", THROTTLED),
        (429, None, "Token quota exceeded. Please retry in 12.4s.", THROTTLED),
        (429, None, "Too many tokens per day, try tomorrow", QUOTA),
        (429, None, "请求过于频繁，请稍后重试", THROTTLED),
        (429, None, "账户余额不足", QUOTA),
        (400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000", OVERFLOW),
        (400, "context_length_exceeded", None, OVERFLOW),
        (400, "invalid_request_error", "Your credit balance is too low to access the API", QUOTA),
        (400, "invalid_request_error", "messages: roles must alternate", PERMANENT),
        (413, "request_too_large", None, OVERFLOW),
        (400, "ValidationException", "Input is too long for requested model.", OVERFLOW),
        # the status decides over words that belong to another class
        (503, None, "permission denied while contacting the upstream", TRANSIENT),
        (404, None, "request timed out while looking", PERMANENT),
        # an error inside a stream comes with status 200
        (200, "overloaded_error", "Overloaded", TRANSIENT),
        (200, None, "stream error: connection reset by peer", TRANSIENT),
    ],
)
def test_status_with_body(status: Any, code: Any, text: Any, error: ErrorClass) -> None:
    assert classify(http_status=status, code=code, text=text) is error


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("rate_limit_exceeded", THROTTLED),
        ("rate_limit_error", THROTTLED),
        ("ThrottlingException", THROTTLED),
        ("RESOURCE_EXHAUSTED", THROTTLED),
        ("insufficient_quota", QUOTA),
        ("credit_balance_exhausted", QUOTA),
        ("UsageLimitReached", QUOTA),
        ("billing_error", QUOTA),
        ("overloaded_error", TRANSIENT),
        ("api_error", TRANSIENT),
        ("server_error", TRANSIENT),
        ("ServiceUnavailableException", TRANSIENT),
        ("DEADLINE_EXCEEDED", TRANSIENT),
        ("ECONNRESET", TRANSIENT),
        ("EPIPE", TRANSIENT),
        ("empty_output", TRANSIENT),
        ("context_length_exceeded", OVERFLOW),
        ("ContextWindowExceeded", OVERFLOW),
        ("invalid_request_error", PERMANENT),
        ("authentication_error", PERMANENT),
        ("NOT_FOUND", PERMANENT),
        ("AccessDeniedException", PERMANENT),
        ("ENOENT", PERMANENT),
        ("EACCES", PERMANENT),
        ("FileNotFoundError", PERMANENT),
        (429, THROTTLED),
        ("503", TRANSIENT),
        # nothing known
        ("some_new_code", UNKNOWN),
        ("", UNKNOWN),
        (7, UNKNOWN),
        (None, UNKNOWN),
        ({"code": 429}, UNKNOWN),
    ],
)
def test_code(code: Any, error: ErrorClass) -> None:
    assert classify(code=code) is error


@pytest.mark.parametrize(
    ("text", "error"),
    [
        # statuses in status-like places
        ("503", TRANSIENT),
        ("HTTP 503", TRANSIENT),
        ("HTTP/1.1 502 Bad Gateway", TRANSIENT),
        ("Request failed with status code 404", PERMANENT),
        ("status code: 429", THROTTLED),
        ("Error 529", TRANSIENT),
        ('API Error: 529 {"type":"error","error":{"type":"overloaded_error"}}', TRANSIENT),
        ('529 {"type":"error","error":{"type":"overloaded_error"}}', TRANSIENT),
        ("Not Found (404)", PERMANENT),
        ("the request ended in a 500 error", TRANSIENT),
        ("503 after 3 attempts", TRANSIENT),
        ("503 Service Unavailable", TRANSIENT),
        ("<html><head><title>504 Gateway Time-out</title></head>", TRANSIENT),
        ("the server responded with 500", TRANSIENT),
        ('{"ok": false, "status": 503}', TRANSIENT),
        ("请求失败，状态码：502", TRANSIENT),
        (
            "Error code: 429 - {'error': {'message': 'You exceeded your current quota', "
            "'type': 'insufficient_quota', 'code': 'insufficient_quota'}}",
            QUOTA,
        ),
        (
            "Error code: 400 - {'error': {'code': 'context_length_exceeded', 'message': '…'}}",
            OVERFLOW,
        ),
        # codes in the body
        ('{"type":"error","error":{"type":"overloaded_error","message":"…"}}', TRANSIENT),
        ('{"error":{"type":"invalid_request_error","code":"insufficient_quota"}}', QUOTA),
        ('{"error":{"status":"RESOURCE_EXHAUSTED","message":"slow"}}', THROTTLED),
        ('{"type":"timeout","message":"…"}', TRANSIENT),
        # words
        ("read ECONNRESET", TRANSIENT),
        ("connection reset by peer", TRANSIENT),
        ("write: broken pipe", TRANSIENT),
        ("Command timed out after 2m 0.0s", TRANSIENT),
        ("TypeError: fetch failed", TRANSIENT),
        ("network error", TRANSIENT),
        ("the model returned an empty response", TRANSIENT),
        ("curl: (6) Could not resolve host: api.example.test", TRANSIENT),
        ("terminated", TRANSIENT),
        ("Too many requests, please try again later.", THROTTLED),
        ("Rate limit exceeded", THROTTLED),
        ("Claude usage limit reached. Your limit resets at 3pm.", QUOTA),
        ("Budget has been exceeded! Current cost: 10.2, Max budget: 10.0", QUOTA),
        ("Rate limit reached on tokens per min (TPM): Limit 10000. Try again in 6ms.", THROTTLED),
        ("This model's maximum context length is 8192 tokens", OVERFLOW),
        ("input length and max_tokens exceed context limit: 199000 + 8192 > 200000", OVERFLOW),
        ("ENOENT: no such file or directory, open '/w/timeout.js'", PERMANENT),
        ("bash: frobnicate: command not found", PERMANENT),
        ("cat: /root/x: Permission denied", PERMANENT),
        ("String to replace not found in file.", PERMANENT),
        ("old text not found", PERMANENT),
        ("No such tool available: web_fetch", PERMANENT),
        ("invalid argument: limit", PERMANENT),
        ("Error: unknown city: Oz", PERMANENT),
        ("Error: non-pending order cannot be cancelled", PERMANENT),
        ("Table 'shop.orders' doesn't exist", PERMANENT),
        ("Unknown column 'nme' in 'field list'", PERMANENT),
        # Chinese
        ("请求超时", TRANSIENT),
        ("服务暂不可用", TRANSIENT),
        ("网络错误，请检查网络连接", TRANSIENT),
        ("连接被重置", TRANSIENT),
        ("触发限流", THROTTLED),
        ("请求过于频繁，请稍后再试", THROTTLED),
        ("余额不足，请充值", QUOTA),
        ("本月额度已用完", QUOTA),
        ("额度查询受限", QUOTA),
        ("输入过长，超出上下文长度", OVERFLOW),
        ("文件未找到", PERMANENT),
        ("没有权限访问该目录", PERMANENT),
        ("该操作需要管理员权限", PERMANENT),
        ("参数错误：city 不能为空", PERMANENT),
        # nothing that can be told
        ("", UNKNOWN),
        ("   ", UNKNOWN),
        ("Exit code 1", UNKNOWN),
        ("An unknown error occurred", UNKNOWN),
        ("invalid response from server", UNKNOWN),
        ("Request was aborted", UNKNOWN),
        ("2 failed: t_a,t_b", UNKNOWN),
        ("1 failed: t_x", UNKNOWN),
        ("FAIL src/fetch.test.ts\n  expected status 200, got 503", UNKNOWN),
        ("FAILED tests/test_net.py::test_retry - AssertionError: 404 != 200", UNKNOWN),
        ("src/a.ts(404,2): error TS2339: Property 'x' does not exist on type 'Y'", UNKNOWN),
    ],
)
def test_text(text: str, error: ErrorClass) -> None:
    assert classify(text=text) is error


@pytest.mark.parametrize(
    "text",
    [
        "took 1500 ms",
        "404 tokens used",
        "used 529 tokens",
        "Error: 500 lines exceed the limit",
        "Traceback at line 404",
        "listening on localhost:503",
        "port 429 is taken",
        "2024-05-04 12:00:00.503 started",
        "12:404:30",
        "main.c(404)",
        "found results (500)",
        "returned 500 rows in 2 s",
        "500 errors found",
        "v4.29.503",
        "/srv/404/index",
        "id=abc503",
        "15.429 seconds",
        "exit code 137",
        "503%",
        "error rate 4.29",
        "issue #404",
    ],
)
def test_no_status(text: str) -> None:
    assert status_in(text) is None


def test_echoed_code_is_not_read() -> None:
    echo = "<tool_use_error>String to replace not found in file.\nString: if (status == 503) …"
    assert classify(text=echo) is PERMANENT
    echo = "old text not found in a.py\n  if response.status: 503\n  raise ETIMEDOUT"
    assert classify(text=echo) is PERMANENT


def test_traceback_is_read_at_its_end() -> None:
    text = (
        "Traceback (most recent call last):\n"
        '  File "net.py", line 503, in get\n'
        "    except TimeoutError: raise NotFound from None\n"
        "openai.RateLimitError: Error code: 429 - {'error': {'code': 'rate_limit_exceeded'}}\n"
        "Command exited with code 1"
    )
    assert classify(text=text) is THROTTLED


def test_only_the_ends_of_a_long_text_are_read() -> None:
    filler = "lorem ipsum\n" * 1_000
    assert classify(text=filler + "HTTP 503\n" + filler) is UNKNOWN
    assert classify(text="HTTP 503\n" + filler) is TRANSIENT
    assert classify(text=filler + "HTTP 503") is TRANSIENT


@pytest.mark.parametrize(
    ("exit_code", "text", "error"),
    [
        (1, "", UNKNOWN),
        (2, "make: *** [all] Error 2", UNKNOWN),
        (0, "", UNKNOWN),
        (124, "", TRANSIENT),
        (126, "", PERMANENT),
        (127, "", PERMANENT),
        (137, "Killed", UNKNOWN),
        (1, "connection refused", TRANSIENT),
        (127, "2 failed", UNKNOWN),
        (True, "", UNKNOWN),
        ("127", "", UNKNOWN),
    ],
)
def test_exit_code(exit_code: Any, text: str, error: ErrorClass) -> None:
    assert classify(exit_code=exit_code, text=text) is error


_ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)
_WORDY = st.lists(
    st.sampled_from(
        [
            "HTTP",
            "status",
            "(",
            ")",
            "429",
            "503",
            "404",
            "quota",
            "\n",
            "{",
            '"code":',
            "超时",
            "é",
        ]
    )
    | st.text()
).map(" ".join)


@given(_WORDY | st.text())
def test_never_raises_on_text(text: str) -> None:
    assert isinstance(classify(text=text), ErrorClass)


@given(_ANY, _ANY, _ANY, _ANY)
def test_never_raises_on_anything(status: Any, code: Any, text: Any, exit_code: Any) -> None:
    error = classify(http_status=status, code=code, text=text, exit_code=exit_code)
    assert isinstance(error, ErrorClass)


# -- policy ---------------------------------------------------------------------------------------


def test_retryable() -> None:
    assert retryable(None) is None
    assert [error for error in ErrorClass if retryable(error)] == [TRANSIENT, THROTTLED]
    assert retryable(UNKNOWN) is False


def test_fuses_retries_every_429() -> None:
    spent = {"http_status": 429, "code": "insufficient_quota"}
    assert should_retry(FUSES, **spent)
    assert not should_retry(DEFAULT, **spent)
    # a spent quota under another status is a 4xx like any other
    assert not should_retry(FUSES, http_status=400, text="credit balance is too low")
    assert should_retry(FUSES, text="429 Too Many Requests: insufficient quota")


def test_original_reading() -> None:
    assert original_status("took 1500 ms") == 150
    assert original_status("404 tokens used") == 404
    assert original_status("HTTP 503") == 503
    assert original_status("no figures") is None
    original = RetryPolicy(every_429=True, original_reading=True)
    # the first three digits found win, even over what really happened
    assert not should_retry(original, text="404 tokens used, then connection reset")
    assert should_retry(FUSES, text="404 tokens used, then connection reset")
    assert should_retry(original, text="took 1500 ms, then connection reset")
    assert should_retry(original, text="wrote 529 lines: invalid argument")
    assert not should_retry(FUSES, text="wrote 529 lines: invalid argument")


@pytest.mark.parametrize(
    ("n", "low", "high"),
    [
        (1, 0.375, 0.625),
        (2, 0.75, 1.25),
        (3, 1.5, 2.5),
        (4, 3.0, 5.0),
        (5, 6.0, 10.0),
        (6, 12.0, 20.0),
        (7, 22.5, 37.5),  # the cap comes before the jitter
        (8, 22.5, 37.5),
        (1_000_000, 22.5, 37.5),
    ],
)
def test_wait_interval(n: int, low: float, high: float) -> None:
    assert wait_interval(n) == (low, high)


def test_other_backoffs() -> None:
    # ×2 from 5 s up to 30 s, ±30 %
    assert wait_interval(2, base=5, cap=30, jitter=0.3) == pytest.approx((7.0, 13.0))
    assert wait_interval(1, jitter=0) == (0.5, 0.5)


@given(st.integers(0, 2**31))
def test_delays_lie_in_their_intervals(seed: int) -> None:
    waits = list(delays(DEFAULT, random.Random(seed).uniform))
    assert len(waits) == 3
    for n, wait in enumerate(waits, 1):
        low, high = wait_interval(n)
        assert low <= wait <= high


def test_policies() -> None:
    assert (FUSES.retries, BACKSTOP.retries) == (3, 2)
    assert len(list(delays(BACKSTOP, random.Random(1).uniform))) == 2


# -- phrases are looked up by their words ---------------------------------------------------------


@pytest.mark.parametrize("table", [retry._WORDS, retry._GENERAL])
def test_no_phrase_that_stands_in_a_text_is_left_out(table: Any) -> None:
    around = [
        ("", ""),
        ("x ", " y"),
        ("1", "2"),
        ("_", "ed"),
        ("é", "é"),
        ("a\n", "s"),
        ("中", "中"),
    ]
    around += [("some", "thing")]  # inside a word
    for word, inside, _ in table._phrases:
        for before, after in around:
            text = f"{before}{word}{after}"
            if inside or not before[-1:].isascii() or not before[-1:].isalpha():
                assert word in [p[0] for p in table.possible(retry._held(text))], text


@given(st.lists(st.sampled_from([p[0] for p in retry._PHRASES] + ["x", " ", "\n", "é", "中", "1"])))
def test_the_first_phrase_is_that_of_a_plain_search(parts: list[str]) -> None:
    words = "".join(parts)
    places = []
    for rank, (word, inside, error) in enumerate(retry._PHRASES):
        at = words.find(word)
        while at > 0 and not inside and "a" <= words[at - 1] <= "z":
            at = words.find(word, at + 1)
        if at >= 0:
            places.append((at, rank, word, error))
    first = min(places, default=None)
    found = retry._first(retry._WORDS, words, retry._held(words))
    assert found[1:] == ((None, None) if first is None else first[2:])
