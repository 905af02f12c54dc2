"""Request/response logs and cassettes: each trap with a twin that must not be caught."""

import base64
import gzip
import json
import zlib

import pytest
from api_files import feed, form
from api_samples import ANTHROPIC, CHAT, GEMINI, HTTP, ITEMS
from backports import zstd

from loopaudit.formats.apis.http_records import decoded, exchange_of, is_exchange
from loopaudit.formats.base import Sample
from loopaudit.model import (
    AttemptPiece,
    BoundaryPiece,
    ResponsePiece,
    ResultPiece,
    RunPiece,
    UsageMark,
)

CHAT_URL = "https://api.example.com/v1/chat/completions"


def read(*records):
    return feed("http_log", records)


def of(kind, pieces):
    return [piece for piece in pieces if isinstance(piece, kind)]


def completion(message, key="chatcmpl-1", **extra):
    usage = {"prompt_tokens": 10, "completion_tokens": 5}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return {
        "id": key,
        "created": 1700000000,
        "model": "m-1",
        "choices": [choice],
        "usage": usage,
    } | extra


def ask(messages, answer, status=200, **extra):
    request = {"model": "m", "messages": messages}
    return {"url": CHAT_URL, "request": request, "status": status, "response": answer, **extra}


def user(text="go"):
    return {"role": "user", "content": text}


def says(text):
    return {"role": "assistant", "content": text}


GO = ask([user()], completion(says("ok")))


def test_the_history_is_sent_again_and_told_once():
    reader, pieces = read(*HTTP)
    assert [type(p) for p in pieces] == [
        *(RunPiece, BoundaryPiece, ResponsePiece, ResultPiece, ResponsePiece),
        *(ResultPiece, ResponsePiece),
    ]
    assert [p.line for p in pieces] == [1, 1, 1, 2, 2, 3, 3]
    assert [p.usage.total for p in of(ResponsePiece, pieces)] == [120] * 3
    assert [p.at for p in of(ResponsePiece, pieces)] == [1700000002.0, 1700000004.0, 1700000006.0]
    assert (reader.used, reader.missing) == (3, set())


def test_unrelated_calls_are_runs_of_their_own():
    _, pieces = read(GO, ask([user()], completion(says("ok"), "chatcmpl-2")))
    assert [p.run for p in of(ResponsePiece, pieces)] == ["night#1", "night#2"]


def test_failed_calls_are_attempts_of_the_call_that_follows():
    throttled = {
        "error": {"message": "slow down", "type": "requests", "code": "rate_limit_exceeded"}
    }
    headers = {"Retry-After": "2", "Date": "Tue, 14 Nov 2023 22:13:20 GMT"}
    log = [
        ask([user()], throttled, 429, response_headers=headers),
        ask([user()], "upstream connect error", 503),
        ask([user()], None, None, error="Connection reset by peer"),
        GO,
    ]
    reader, pieces = read(*log)
    assert {p.run for p in pieces} == {"night#1"}
    assert of(AttemptPiece, pieces) == [
        AttemptPiece(
            "night#1",
            1,
            at=1700000000.0,
            http_status=429,
            code="rate_limit_exceeded",
            message="slow down",
            retry_after=2.0,
        ),
        AttemptPiece("night#1", 2, http_status=503, message="upstream connect error"),
        AttemptPiece("night#1", 3, message="Connection reset by peer"),
    ]
    assert len(of(BoundaryPiece, pieces)) == 1
    assert len(of(ResponsePiece, pieces)) == 1
    assert reader.used == 4


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"Retry-After-Ms": "1500", "Retry-After": "2"}, 1.5),
        ({"retry-after": ["3"]}, 3.0),
        (
            {
                "Retry-After": "Tue, 14 Nov 2023 22:14:20 GMT",
                "Date": "Tue, 14 Nov 2023 22:13:20 GMT",
            },
            60.0,
        ),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-4"}, None),
        ({}, None),
    ],
)
def test_retry_after_in_any_form(headers, seconds):
    _, pieces = read(ask([user()], {"error": {}}, 429, response_headers=headers))
    assert of(AttemptPiece, pieces)[0].retry_after == seconds


def test_errors_of_each_family():
    anthropic = {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}
    google = {
        "error": {
            "code": 429,
            "status": "RESOURCE_EXHAUSTED",
            "message": "quota",
            "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34s"}],
        }
    }
    log = [
        {"url": "https://x/v1/messages", "request": {"messages": []}, "status": 529}
        | {"response": anthropic},
        {"url": "https://x/v1beta/models/g:generateContent", "request": {"contents": []}}
        | {"response": google},
        ask([], {"detail": "not allowed"}, 403),
    ]
    _, pieces = read(*log)
    found = [(p.http_status, p.code, p.message, p.retry_after) for p in of(AttemptPiece, pieces)]
    assert found == [
        (529, "overloaded_error", "busy", None),
        (429, "RESOURCE_EXHAUSTED", "quota", 34.0),
        (403, None, "not allowed", None),
    ]


def test_the_number_of_an_attempt_that_the_sdk_tells():
    record = ask([user()], {"error": {}}, 500)
    record["request"] = {
        "url": CHAT_URL,
        "headers": {"X-Stainless-Retry-Count": "2"},
        "body": record["request"],
    }
    _, pieces = read(record)
    assert of(AttemptPiece, pieces)[0].number == 3


def test_requests_to_other_endpoints_are_ignored_by_name():
    def other(url, **request):
        return {"url": url, "request": request, "status": 200, "response": {"data": []}}

    reader, pieces = read(
        other("https://api.example.com/v1/embeddings", input="x", model="e"),
        other("https://api.example.com/v1/models"),
        other("https://trace.example.org/runs/batch", post=[]),
        other("https://api.example.com/v1/messages/count_tokens", messages=[]),
    )
    assert pieces == []
    assert reader.ignored == {
        "embeddings request to api.example.com": 1,
        "models request to api.example.com": 1,
        "batch request to trace.example.org": 1,
        "other request to api.example.com": 1,
    }


def sse(*values):
    return "".join(f"data: {json.dumps(v)}\n\n" for v in values) + "data: [DONE]\n\n"


def chunk(delta, finish=None, **extra):
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "chatcmpl-1", "created": 1700000000, "model": "m", "choices": [choice]} | extra


def test_a_stream_with_and_without_usage():
    usage = {"prompt_tokens": 10, "completion_tokens": 5}
    tail = {"id": "chatcmpl-1", "choices": [], "usage": usage}
    _, pieces = read(
        ask([user()], sse(chunk({"content": "o"}), chunk({"content": "k"}, "stop"), tail))
    )
    (answer,) = of(ResponsePiece, pieces)
    assert (answer.text, answer.usage.total, answer.usage.mark) == ("ok", 15, UsageMark.REPORTED)
    reader, pieces = read(ask([user()], sse(chunk({"content": "ok"}, "stop"))))
    assert of(ResponsePiece, pieces)[0].usage is None
    assert reader.missing == {"usage"}
    # already parsed chunks
    _, pieces = read(ask([user()], [chunk({"content": "ok"}, "stop"), tail]))
    assert of(ResponsePiece, pieces)[0].usage.total == 15


def anthropic_stream(*more):
    usage = {"input_tokens": 30, "output_tokens": 1}
    message = {"id": "msg_1", "role": "assistant", "model": "m", "usage": usage}
    return sse({"type": "message_start", "message": message}, *more)


def claude(messages, answer, **extra):
    url = "https://api.example.com/v1/messages"
    return {
        "url": url,
        "request": {"messages": messages},
        "status": 200,
        "response": answer,
        **extra,
    }


def test_a_stream_that_was_cut_is_a_lower_bound():  # S2
    _, pieces = read(claude([user()], anthropic_stream()))
    usage = of(ResponsePiece, pieces)[0].usage
    assert (usage.total, usage.mark) == (31, UsageMark.LOWER_BOUND)
    end = {"type": "message_delta", "delta": {}, "usage": {"output_tokens": 50}}
    _, pieces = read(claude([user()], anthropic_stream(end)))
    usage = of(ResponsePiece, pieces)[0].usage
    assert (usage.total, usage.mark) == (80, UsageMark.REPORTED)


def test_a_stream_that_fails_inside_is_billed_and_an_attempt():
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}
    _, pieces = read(claude([user()], anthropic_stream(error)))
    assert [p.code for p in of(AttemptPiece, pieces)] == ["overloaded_error"]
    assert [p.usage.total for p in of(ResponsePiece, pieces)] == [31]


def test_each_family_by_url_and_by_shape():
    done = {"id": "msg_1", "type": "message", "model": "m", "stop_reason": "end_turn", "usage": {}}
    cases = {
        "anthropic": ({"messages": ANTHROPIC[:5]}, {**done, "content": ANTHROPIC[5]["content"]}),
        "gemini": (
            {"contents": GEMINI[:5], "systemInstruction": {"parts": [{"text": "x"}]}},
            {"candidates": [{"content": GEMINI[5]}]},
        ),
        "chat": ({"messages": CHAT[:6]}, completion(CHAT[6])),
        "responses": (
            {"input": ITEMS[:7], "instructions": "x"},
            {"id": "r", "object": "response", "output": ITEMS[7:]},
        ),
    }
    urls = {
        "anthropic": "https://x/v1/messages?beta=true",
        "gemini": "https://x/v1beta/models/g:generateContent",
        "chat": "https://x/openai/deployments/d/chat/completions?api-version=1",
        "responses": "https://x/v1/responses",
    }
    for family, (request, response) in cases.items():
        for url in (None, urls[family]):
            record = {"url": url, "request": request, "response": response}
            _, pieces = read(record, GO)
            mine = [p for p in pieces if p.run == "night#1"]
            texts = [p.text for p in of(ResponsePiece, mine)]
            assert texts == [None, "once more", "40 metres"], (family, url)
            statuses = [p.status.value for p in of(ResultPiece, mine)]
            assert statuses == ["error", "ok"], (family, url)


def responses(key, given, before=None, output=(), **extra):
    request = {"model": "m", "input": given, "previous_response_id": before}
    body = {"id": key, "object": "response", "status": "completed", "output": list(output)}
    body |= {"usage": {"input_tokens": 10, "output_tokens": 5}} | extra
    return {"url": "https://x/v1/responses", "request": request, "status": 200, "response": body}


def function(key):
    return {"type": "function_call", "call_id": key, "name": "f", "arguments": "{}"}


def returned(key):
    return {"type": "function_call_output", "call_id": key, "output": "ok"}


def test_responses_that_name_their_predecessor():
    reader, pieces = read(
        responses("resp_1", "go", output=[function("a")]),
        responses("resp_2", [returned("a")], "resp_1", [function("b")]),
        responses("resp_9", "something else"),
        responses("resp_3", [returned("b")], "resp_2"),
    )
    answers = [(p.run, p.id) for p in of(ResponsePiece, pieces)]
    assert answers == [
        *(("night#1", "resp_1"), ("night#1", "resp_2"), ("night#2", "resp_9")),
        ("night#1", "resp_3"),
    ]
    assert [p.call_id for p in of(ResultPiece, pieces)] == ["a", "b"]
    assert reader.missing == {"times"}


def test_a_chained_request_tried_again_and_a_fork():
    failed = responses("", [returned("a")], "resp_1")
    failed |= {"status": 500, "response": {"error": {"message": "x"}}}
    first = responses("resp_1", "go", output=[function("a")])
    again = responses("resp_2", [returned("a")], "resp_1")
    _, pieces = read(first, failed, again)
    assert {p.run for p in pieces} == {"night#1"}
    assert len(of(ResultPiece, pieces)) == 1
    fork = responses("resp_3", "another way", "resp_1")
    _, pieces = read(first, again, fork)
    assert [p.run for p in of(ResponsePiece, pieces)] == ["night#1", "night#1", "night#2"]
    assert [p.forked_from for p in of(RunPiece, pieces) if p.forked_from] == ["night#1"]


def test_a_response_in_the_background_is_fetched_later():
    waiting = responses("resp_1", "go", status="queued", usage=None)
    fetched = {
        "url": "https://x/v1/responses/resp_1",
        "method": "GET",
        "request": {},
        "status": 200,
        "response": responses("resp_1", "", output=[function("a")])["response"],
    }
    _, pieces = read(waiting, fetched)
    assert {(p.run, p.id) for p in of(ResponsePiece, pieces)} == {("night#1", "resp_1")}
    assert [p.usage and p.usage.total for p in of(ResponsePiece, pieces)] == [None, 15]


def test_other_choices_are_not_steps():
    body = completion(says("a"))
    body["choices"].append({"index": 1, "message": says("b"), "finish_reason": "stop"})
    reader, pieces = read(
        ask([user()], body), ask([user(), says("b"), user("x")], completion(says("c")))
    )
    assert {p.run for p in pieces} == {"night#1"}
    assert [(p.text, p.usage and p.usage.total) for p in of(ResponsePiece, pieces)] == [
        *(("a", 15), ("b", None)),
        ("c", 15),
    ]
    ids = [p.id for p in of(ResponsePiece, pieces)]
    assert ids[0] == ids[1]  # one response for `ingest`
    assert reader.ignored == {"other choices (n > 1)": 1}


def test_what_the_log_tells_beside_the_body():
    record = {
        "kwargs": {"model": "asked", "messages": [user()]},
        "response": completion(says("ok"), model=None),
        "start_time": "2026-01-01T00:00:00Z",
        "end_time": "2026-01-01T00:00:04Z",
        "cost": 0.25,
        "session_id": "session-4711",
    }
    _, pieces = read(record, GO)
    answer = of(ResponsePiece, pieces)[0]
    assert (answer.at, answer.ended) == (1767225600.0, 1767225604.0)
    assert (str(answer.cost), answer.model, answer.run) == ("0.25", "asked", "session-4711")


LONG = "call_0123456789abcdefgh"


def files(*histories):
    """One call a file: each with its whole history, answered by a call or by words."""
    for messages, answer in histories:
        record = {"messages": messages, "kwargs": {"tools": []}, "response": completion(answer)}
        yield feed("http_log", [record], f"x/{len(messages)}.json")[1]


def calling(key):
    function_ = {"name": "f", "arguments": "{}"}
    call = {"id": key, "type": "function", "function": function_}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def back(key):
    return {"role": "tool", "tool_call_id": key, "content": "ok"}


def test_one_call_a_file_is_known_by_its_call_ids():
    one, two = calling(LONG + "1"), calling(LONG + "2")
    start = [user()]
    first, second, third = files(
        (start, one),
        ([*start, one, back(LONG + "1")], two),
        ([*start, one, back(LONG + "1"), two, back(LONG + "2")], says("done")),
    )
    assert {p.run for p in (*first, *second, *third)} == {LONG + "1"}
    assert {p.session for p in of(RunPiece, third) if p.session} == {LONG + "1"}
    steps = [[p.id for p in of(ResponsePiece, pieces)] for pieces in (first, second, third)]
    assert steps[0] == steps[1][:1]
    assert steps[1] == steps[2][:2]
    assert steps[2][2] == "chatcmpl-1"
    # each user message is told by one file only
    assert [len(of(BoundaryPiece, p)) for p in (first, second, third)] == [1, 0, 0]
    assert [
        sum(r.usage is not None for r in of(ResponsePiece, p)) for p in (first, second, third)
    ] == [
        *(1, 1, 1),
    ]


def test_one_call_a_file_without_telling_ids_is_a_run_of_its_own():
    """Many samples of one question must not be taken for one conversation."""
    a, b = files(([user()], says("yes")), ([user()], says("yes")))
    for pieces in (a, b):
        assert {p.run for p in pieces} == {"1#1"}
        assert [p.session for p in of(RunPiece, pieces)] == [None]
    (c,) = files(([user(), calling("call_0"), back("call_0")], says("yes")))
    assert {p.run for p in c} == {"3#1"}
    assert len(of(ResponsePiece, c)) == 2


BODY = json.dumps(completion(says("ok")))
RAW = BODY.encode()


@pytest.mark.parametrize(
    "body",
    [
        {"string": BODY},
        {"string": RAW},
        {"string": gzip.compress(RAW)},
        {"string": zlib.compress(RAW)},
        {"string": zstd.compress(RAW)},
        {"base64_string": base64.b64encode(gzip.compress(RAW)).decode(), "encoding": "utf-8"},
        {"string": base64.b64encode(RAW).decode()},
        {"string": "\ufeff" + json.dumps(completion(says("ok")), indent=2)},
    ],
    ids=["text", "bytes", "gzip", "zlib", "zstd", "base64 gzip", "base64", "bom"],
)
@pytest.mark.parametrize("container", ["interactions", "http_interactions"])
def test_cassettes_with_packed_bodies(body, container):
    request = json.dumps({"model": "m", "messages": [user()]})
    call = {
        "request": {"uri": CHAT_URL, "method": "POST", "body": request, "headers": {}},
        "response": {
            "status": {"code": 200, "message": "OK"},
            "headers": {"Date": ["Tue, 14 Nov 2023 22:13:21 GMT"]},
            "body": body,
        },
    }
    reader, pieces = read({container: [call, call], "version": 1})
    answers = of(ResponsePiece, pieces)
    assert [(p.text, p.usage.total) for p in answers] == [("ok", 15)] * 2
    assert (reader.used, reader.rejected) == (2, [])


def test_a_body_that_cannot_be_unpacked_is_rejected():
    call = {
        "request": {"uri": CHAT_URL, "method": "POST", "body": "{}"},
        "response": {"status": {"code": 200}, "body": {"string": b"\x8b\x02\x80\x00\xff\xfe\x00x"}},
    }
    reader, pieces = read({"interactions": [call, call]})
    assert pieces == []
    assert len(reader.rejected) == 2
    assert decoded(b"\x1f\x8bnot gzip")[1] is not None
    assert decoded("plain words")[0] == "plain words"
    assert decoded("abcdefgh" * 4)[0] == "abcdefgh" * 4  # base64 by chance


def test_results_of_the_batch_api():
    line = {
        "id": "batch_req_1",
        "custom_id": "a",
        "response": {"status_code": 200, "request_id": "x", "body": completion(says("ok"))},
        "error": None,
    }
    bad = {**line, "response": {"status_code": 429, "body": {"error": {"code": "rate_limit"}}}}
    _, pieces = read(line, bad)
    assert [p.usage.total for p in of(ResponsePiece, pieces)] == [15]
    assert [p.code for p in of(AttemptPiece, pieces)] == ["rate_limit"]


def test_what_is_no_call_is_rejected_by_line():
    reader, _ = read(
        5, {"request": {}}, {"messages": []}, {"messages": [], "response": "words"}, [3]
    )
    assert [line for line, _ in reader.rejected] == [1, 2, 3, 4, 5]
    reader, pieces = read(ask([user()], ""), GO)
    assert [line for line, _ in reader.rejected] == [1]
    assert len(of(ResponsePiece, pieces)) == 1


def test_a_responses_object_is_not_taken_for_an_http_response():
    body = {"id": "resp_1", "object": "response", "status": "completed", "text": {"format": {}}}
    call = exchange_of({"request": {"input": "x"}, "response": body})
    assert (call.body, call.status) == (body, None)
    call = exchange_of({"request": {}, "response": {"status_code": 201, "json": body}})
    assert (call.body, call.status) == (body, 201)


def test_sniff():
    sniff = form("http_log").sniff
    assert sniff(Sample("x", HTTP)) == 0.97
    assert sniff(Sample("x", [HTTP], True)) == 0.97
    assert sniff(Sample("x", [{"interactions": [HTTP[0]]}], True)) == 0.97
    other = {"url": "https://example.com/x", "request": {}, "response": {"a": 1}}
    assert sniff(Sample("x", [other])) == 0.4
    for record in ({"messages": CHAT}, {"trace_id": "t", "request": {}, "response": {}}, 5, []):
        assert sniff(Sample("x", [record])) == 0
    assert not is_exchange({"messages": [], "error": "x"})
