"""Gemini: each trap of the format with a twin that must not be caught."""

from api_files import feed, form
from api_samples import GEMINI

from loopaudit.formats.base import Sample
from loopaudit.model import (
    BoundaryPiece,
    CallPiece,
    CallStatus,
    ResponsePiece,
    ResultPiece,
    Usage,
)


def read(*records):
    return feed("gemini_generate", records)


def of(kind, pieces):
    return [piece for piece in pieces if isinstance(piece, kind)]


def model(*parts):
    return {"role": "model", "parts": list(parts)}


def test_calls_without_ids_are_answered_by_name_and_order():
    call = {"functionCall": {"name": "f", "args": {"a": 1}}}
    answer = {"functionResponse": {"name": "f", "response": {"output": "x"}}}
    _, pieces = read(model(call, call), {"role": "user", "parts": [answer, answer]})
    assert pieces[0].calls == (CallPiece(None, "f", {"a": 1}),) * 2
    assert [(p.call_id, p.tool) for p in pieces[1:]] == [(None, "f")] * 2
    assert of(BoundaryPiece, pieces) == []
    call["functionCall"]["id"] = answer["functionResponse"]["id"] = "x1"
    _, pieces = read(model(call), {"role": "user", "parts": [answer]})
    assert pieces[0].calls[0].id == pieces[1].call_id == "x1"


def test_a_response_fails_by_its_error_key_only():
    def answered(said):
        part = {"functionResponse": {"name": "f", "response": said}}
        return read({"role": "function", "parts": [part]})[1][0].status

    assert answered({"error": "no"}) is CallStatus.ERROR
    for fine in (
        {"output": "Error: x"},
        {"error": None},
        {"output": "x", "error": ""},
        "error",
        None,
    ):
        assert answered(fine) is CallStatus.OK


def test_thoughts_are_not_visible_text():
    _, (piece,) = read(model({"text": "hm", "thought": True}, {"text": "a"}, {"text": "b"}))
    assert (piece.text, piece.thinking_chars) == ("ab", 2)


def test_code_that_runs_on_the_server():
    code = {"executableCode": {"language": "PYTHON", "code": "1/0"}}
    bad = {"codeExecutionResult": {"outcome": "OUTCOME_FAILED", "output": "boom"}}
    _, pieces = read(model(code, bad))
    assert pieces[0].calls == (CallPiece(None, "code_execution", "1/0"),)
    assert (pieces[1].status, pieces[1].text) == (CallStatus.ERROR, "boom")


def test_response_objects_and_the_python_spelling():
    body = {
        "candidates": [{"content": model({"text": "hi"}), "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 91, "candidatesTokenCount": 16},
        "modelVersion": "gemini-x",
        "responseId": "r-1",
    }
    expected = ResponsePiece(
        "night#1",
        1,
        id="r-1",
        model="gemini-x",
        text="hi",
        usage=Usage(fresh_input=91, output=16),
        finish="STOP",
    )
    assert read(body)[1] == [expected]
    twice = {**body, "candidates": body["candidates"] * 2}
    reader, (piece,) = read(twice)
    assert piece.usage.total == 107
    assert reader.ignored.total() == 1
    snake = model({"function_call": {"name": "f", "args": {}}})
    assert read(snake)[1][0].calls == (CallPiece(None, "f", {}),)


def test_a_blocked_prompt_is_an_answer_without_text():
    _, (piece,) = read({"candidates": [], "promptFeedback": {"blockReason": "SAFETY"}})
    assert (piece.finish, piece.text) == ("SAFETY", None)


def test_requests_arrays_and_single_contents():
    for log in ([{"contents": GEMINI}], [GEMINI], GEMINI, [[{"contents": GEMINI}]]):
        _, pieces = read(*log)
        assert len(of(ResponsePiece, pieces)) == 3
        assert {p.run for p in pieces} == {"night#1"}
    # the history is sent again at every call
    _, pieces = read({"contents": GEMINI[:1]}, {"contents": GEMINI[:3]}, {"contents": GEMINI})
    assert len(of(ResponsePiece, pieces)) == 3
    assert len(of(ResultPiece, pieces)) == 2
    assert len(of(BoundaryPiece, pieces)) == 1


def test_sniff():
    sniff = form("gemini_generate").sniff
    assert sniff(Sample("x", GEMINI)) == 0.92
    assert sniff(Sample("x", [{"contents": GEMINI}])) == 0.92
    assert sniff(Sample("x", [{"candidates": []}])) == 0.92
    ui = {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "hi"}]}
    assert sniff(Sample("x", [ui])) == 0
    assert sniff(Sample("x", [{"sessionId": "s", "message": GEMINI[0]}])) == 0
