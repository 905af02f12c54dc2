"""Anthropic Messages: each trap of the format with a twin that must not be caught."""

from api_files import feed, form
from api_samples import ANTHROPIC

from loopaudit.formats.base import Sample
from loopaudit.model import (
    BoundaryKind,
    BoundaryPiece,
    CallPiece,
    CallStatus,
    ResponsePiece,
    ResultPiece,
    StepKind,
    Usage,
)


def read(*records):
    return feed("anthropic_messages", records)


def of(kind, pieces):
    return [piece for piece in pieces if isinstance(piece, kind)]


def assistant(*blocks, **extra):
    return {"role": "assistant", "content": list(blocks), **extra}


def use(key="t1", name="f", given=None, kind="tool_use"):
    return {"type": kind, "id": key, "name": name, "input": given or {}}


def result(key="t1", content="ok", **extra):
    return {"type": "tool_result", "tool_use_id": key, "content": content, **extra}


def text(value):
    return {"type": "text", "text": value}


def response(key, *blocks, **extra):
    usage = {"input_tokens": 3, "output_tokens": 5}
    body = {"id": key, "type": "message", "model": "claude-x", "stop_reason": "tool_use"}
    return {**assistant(*blocks), **body, "usage": usage, **extra}


def test_results_inside_a_user_message_are_no_user_message():
    _, pieces = read({"role": "user", "content": [result("a"), result("b", is_error=True)]})
    assert pieces == [
        ResultPiece("night#1", 1, "a", "ok"),
        ResultPiece("night#1", 1, "b", "ok", status=CallStatus.ERROR),
    ]
    # with words beside them it is one, unless the words are the harness's
    _, pieces = read({"role": "user", "content": [result("a"), text("and now stop")]})
    assert [p.kind for p in of(BoundaryPiece, pieces)] == [BoundaryKind.USER]
    note = text("<system-reminder>be quick</system-reminder>")
    _, pieces = read({"role": "user", "content": [result("a"), note]})
    assert [p.kind for p in of(BoundaryPiece, pieces)] == [BoundaryKind.REMINDER]


def test_parallel_calls_are_one_response_and_content_may_be_text():
    _, pieces = read(assistant(text("two"), use("a"), use("b", given={"x": 1})))
    (answer,) = pieces
    assert answer.calls == (CallPiece("a", "f", {}), CallPiece("b", "f", {"x": 1}))
    _, pieces = read({"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"})
    assert [p.text for p in pieces[1:]] == ["hello", "hi"]


def test_tools_that_run_on_the_server_stand_in_the_assistant_message():
    error = {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}
    hits = [{"type": "web_search_result", "title": "x", "url": "u"}]
    ran = {"type": "bash_code_execution_result", "stdout": "", "stderr": "x", "return_code": 2}
    _, pieces = read(
        assistant(
            use("s1", "web_search", {"query": "a"}, "server_tool_use"),
            result("s1", hits) | {"type": "web_search_tool_result"},
            use("s2", "web_search", {"query": "b"}, "server_tool_use"),
            result("s2", error) | {"type": "web_search_tool_result"},
            use("s3", "bash_code_execution", {"command": "x"}, "server_tool_use"),
            result("s3", ran) | {"type": "bash_code_execution_tool_result"},
            use("m1", "roll", {}, "mcp_tool_use"),
            result("m1", [text("6")], is_error=False) | {"type": "mcp_tool_result"},
            text("done"),
        )
    )
    answer, *results = pieces
    assert [c.id for c in answer.calls] == ["s1", "s2", "s3", "m1"]
    found = [(p.call_id, p.status.value, p.code, p.exit_code) for p in results]
    assert found == [
        ("s1", "ok", None, None),
        ("s2", "error", "max_uses_exceeded", None),
        ("s3", "error", None, 2),
        ("m1", "ok", None, None),
    ]
    assert (results[0].text, results[3].text) == (hits, "6")


def test_the_flag_decides_and_words_where_an_agent_leaves_it_out():
    said = result("a", "Error: no such file")
    for flag, status in ((False, CallStatus.OK), (True, CallStatus.ERROR)):
        _, pieces = read({"role": "user", "content": [{**said, "is_error": flag}]})
        assert pieces[0].status is status
    _, pieces = read({"role": "user", "content": [said]})
    assert pieces[0].status is CallStatus.ERROR


def test_response_objects_hold_usage():
    reader, pieces = read(response("msg_1", use()), {"role": "user", "content": [result()]})
    assert pieces[0] == ResponsePiece(
        "night#1",
        1,
        id="msg_1",
        model="claude-x",
        calls=(CallPiece("t1", "f", {}),),
        usage=Usage(fresh_input=3, output=5),
        finish="tool_use",
    )
    assert reader.missing == {"times"}
    _, pieces = read(response("msg_1", usage={"input_tokens": 1, "service_tier": "batch"}))
    assert (pieces[0].service, pieces[0].usage.note) == ("batch", "batch")


def test_server_side_compaction_is_billed_beside_the_response():
    usage = {
        "input_tokens": 30,
        "output_tokens": 5,
        "iterations": [
            {"type": "compaction", "input_tokens": 9000, "output_tokens": 400},
            {"type": "message", "input_tokens": 30, "output_tokens": 5},
        ],
    }
    _, pieces = read(response("msg_1", text("on we go"), usage=usage))
    assert [(p.kind, p.usage.total) for p in pieces] == [
        (StepKind.COMPACTION, 9400),
        (StepKind.MODEL, 35),
    ]
    # twin: iterations without compaction are parts of the whole, not more
    usage["iterations"] = usage["iterations"][1:]
    _, pieces = read(response("msg_1", text("on we go"), usage=usage))
    assert [p.usage.total for p in pieces] == [35]


def test_a_stronger_model_asked_by_the_server_is_billed_as_itself():
    """The advisor tool: top-level usage holds the executor's tokens alone."""
    asked = {"type": "advisor_message", "model": "claude-opus-5", "input_tokens": 820}
    usage = {
        "input_tokens": 400,
        "output_tokens": 90,
        "iterations": [
            {"type": "message", "input_tokens": 400, "output_tokens": 90},
            {**asked, "output_tokens": 1600},
        ],
    }
    _, pieces = read(response("msg_1", text("on we go"), usage=usage))
    assert [(p.id, p.kind, p.usage.total) for p in pieces] == [
        ("msg_1/advisor_message 1", StepKind.MODEL, 2420),
        ("msg_1", StepKind.MODEL, 490),
    ]
    assert pieces[0].model == "claude-opus-5"
    for damaged in ("x", None, [None, 3], {"type": "compaction"}):
        _, pieces = read(response("msg_1", text("x"), usage={**usage, "iterations": damaged}))
        assert [p.usage.total for p in pieces] == [490]


def test_a_conversation_a_line_an_array_and_single_messages():
    for log in ([{"messages": ANTHROPIC}], [ANTHROPIC], ANTHROPIC, [[{"messages": ANTHROPIC}]]):
        _, pieces = read(*log)
        assert len(of(ResponsePiece, pieces)) == 3
        assert {p.run for p in pieces} == {"night#1"}
    _, pieces = read({"messages": ANTHROPIC[:4]}, {"messages": ANTHROPIC})
    assert len(of(ResponsePiece, pieces)) == 3


def test_sniff():
    sniff = form("anthropic_messages").sniff
    assert sniff(Sample("x", ANTHROPIC)) == 0.92
    assert sniff(Sample("x", [{"messages": ANTHROPIC}])) == 0.92
    assert sniff(Sample("x", [response("msg_1")])) == 0.92
    assert sniff(Sample("x", [{"role": "user", "content": "plain"}])) == 0
    claude_code = {"type": "assistant", "uuid": "u", "sessionId": "s", "message": ANTHROPIC[1]}
    assert sniff(Sample("x", [claude_code])) == 0
    assert sniff(Sample("x", [{**ANTHROPIC[1], "message": {}}])) == 0
