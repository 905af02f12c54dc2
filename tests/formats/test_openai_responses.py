"""OpenAI Responses: each trap of the format with a twin that must not be caught."""

from api_files import feed, form
from api_samples import ITEMS

from loopaudit.formats.base import Sample
from loopaudit.model import (
    AttemptPiece,
    BoundaryKind,
    BoundaryPiece,
    CallPiece,
    CallStatus,
    ResponsePiece,
    ResultPiece,
    Usage,
)


def items(*records):
    return feed("openai_responses", records)


def of(kind, pieces):
    return [piece for piece in pieces if isinstance(piece, kind)]


def call(key="c1", name="f", args="{}", **extra):
    return {"type": "function_call", "call_id": key, "name": name, "arguments": args, **extra}


def output(key="c1", text="ok", **extra):
    return {"type": "function_call_output", "call_id": key, "output": text, **extra}


def said(text="done"):
    return {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": text}],
    }


def response(key, *parts, **extra):
    body = {"id": key, "object": "response", "created_at": 1700000000, "status": "completed"}
    usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
    return {**body, "model": "m-1", "output": list(parts), "usage": usage, **extra}


def test_array_and_lines_tell_the_same():
    _, lines = items(*ITEMS)
    _, array = items(ITEMS)
    for piece in (*lines, *array):
        piece.line = 0
        for one in getattr(piece, "calls", ()):
            one.line = None
    assert lines == array
    assert len(of(ResponsePiece, lines)) == 3


def test_lines_of_calls_are_their_own():
    _, pieces = items({"role": "user", "content": "go"}, call("a"), call("b"), output("b"))
    (answer,) = of(ResponsePiece, pieces)
    assert (answer.line, [c.line for c in answer.calls]) == (2, [2, 3])


def test_items_pair_by_call_id_not_by_id():
    _, pieces = items([call("c9", id="fc_1"), output("c9", id="fco_1")])
    assert pieces[0].calls[0].id == pieces[1].call_id == "c9"
    _, pieces = items([call("__fake_id__"), output("__fake_id__")])
    assert pieces[0].calls[0].id is pieces[1].call_id is None


def test_consecutive_items_of_the_model_are_one_response():
    _, pieces = items([said("a"), call("x"), call("y"), output("x"), output("y"), said("b")])
    assert [len(p.calls) for p in of(ResponsePiece, pieces)] == [2, 0]
    # unless the SDK noted that they are two
    first = {**said("a"), "provider_data": {"response_id": "resp_1", "model": "m"}}
    second = {**call("x"), "provider_data": {"response_id": "resp_2", "model": "m"}}
    for log in ([first, second], [[first, second]]):
        _, pieces = items(*log)
        assert [(p.id, p.model) for p in of(ResponsePiece, pieces)] == [
            ("resp_1", "m"),
            ("resp_2", "m"),
        ]


def test_easy_messages_and_system_items():
    log = [
        {"role": "developer", "content": "rules"},
        {"role": "user", "content": [{"type": "input_text", "text": "go"}]},
        {"role": "assistant", "content": "ok"},
        {"type": "item_reference", "id": "x"},
    ]
    reader, pieces = items(log)
    assert [type(p) for p in pieces[1:]] == [BoundaryPiece, ResponsePiece]
    assert reader.used == 4


def test_tools_that_run_on_the_server_have_call_and_result_in_one_item():
    search = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"q": "x"}}
    good = {
        "type": "mcp_call",
        "id": "mcp_1",
        "name": "roll",
        "arguments": '{"n":1}',
        "output": "6",
    }
    bad = {**good, "id": "mcp_2", "output": None, "error": "no dice"}
    code = {"type": "code_interpreter_call", "id": "ci_1", "code": "1/0", "status": "failed"}
    busy = {**search, "id": "ws_2", "status": "in_progress"}
    _, pieces = items(response("r1", search, good, bad, code, busy, said()))
    (answer,) = of(ResponsePiece, pieces)
    tools = [c.tool for c in answer.calls]
    assert tools == ["web_search", "roll", "roll", "code_interpreter", "web_search"]
    found = [(p.call_id, p.status.value, p.text) for p in of(ResultPiece, pieces)]
    assert found == [
        ("ws_1", "ok", None),
        ("mcp_1", "ok", "6"),
        ("mcp_2", "error", "no dice"),
        ("ci_1", "error", None),
    ]


def test_other_client_tools_and_exit_codes():
    shell = {"type": "shell_call", "call_id": "s1", "action": {"commands": ["false"]}}
    ended = {"stdout": "", "stderr": "boom", "outcome": {"type": "exit", "exit_code": 1}}
    fine = {"stdout": "hi", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}
    slow = {"stdout": "", "stderr": "", "outcome": {"type": "timeout"}}
    log = [
        shell,
        {"type": "shell_call_output", "call_id": "s1", "output": [ended]},
        {"type": "shell_call_output", "call_id": "s2", "output": [fine]},
        {"type": "shell_call_output", "call_id": "s3", "output": [slow]},
        {"type": "custom_tool_call", "call_id": "t1", "name": "sql", "input": "select 1"},
        {"type": "custom_tool_call_output", "call_id": "t1", "output": "1"},
        {"type": "apply_patch_call", "call_id": "p1", "operation": {"path": "a"}},
        {"type": "apply_patch_call_output", "call_id": "p1", "status": "failed", "output": "no"},
    ]
    _, pieces = items(log)
    assert [c.tool for p in of(ResponsePiece, pieces) for c in p.calls] == [
        *("shell", "sql", "apply_patch"),
    ]
    found = [(p.text, p.status.value, p.exit_code) for p in of(ResultPiece, pieces)]
    assert found == [
        *(("boom", "error", 1), ("hi", "ok", 0), ("", "error", None)),
        *(("1", "ok", None), ("no", "error", None)),
    ]


def test_a_failure_without_a_flag_only_by_its_stated_beginning():
    sorry = "An error occurred while running the tool. Please try again."
    _, pieces = items(
        [output("a", sorry), output("b", "it was an Error: no"), output("c", {"e": 1})]
    )
    assert [p.status for p in pieces] == [CallStatus.ERROR, CallStatus.OK, CallStatus.OK]


def test_response_objects():
    reader, pieces = items(response("resp_1", call()), response("resp_2", said()))
    assert pieces[0] == ResponsePiece(
        "night#1",
        1,
        id="resp_1",
        at=1700000000.0,
        model="m-1",
        calls=(CallPiece("c1", "f", {}, line=1),),
        usage=Usage(fresh_input=10, output=5),
        finish="completed",
    )
    assert pieces[1].run == "night#1"
    assert reader.missing == {"results"}


def test_responses_chain_and_a_chain_that_ends_is_followed_by_a_new_run():
    _, pieces = items(
        response("resp_1", call()),
        response("resp_2", said(), previous_response_id="resp_1"),
        response("resp_3", call()),
        response("resp_4", said(), previous_response_id="resp_3"),
        response("resp_5", said(), previous_response_id="resp_2"),
        response("resp_6", said(), previous_response_id="resp_unknown"),
    )
    assert [p.run for p in pieces] == [f"night#{n}" for n in (1, 1, 2, 2, 1, 3)]
    _, pieces = items(
        response("resp_1", said(), conversation={"id": "conv_abcdef"}),
        response("resp_2", said(), conversation={"id": "conv_other1"}),
        response("resp_3", said(), conversation="conv_abcdef"),
    )
    assert [p.run for p in pieces] == ["conv_abcdef", "conv_other1", "conv_abcdef"]


def test_one_response_with_several_items_has_its_usage_once():
    _, pieces = items(
        response("resp_1", {"type": "reasoning", "summary": []}, said("a"), said("b"))
    )
    (answer,) = of(ResponsePiece, pieces)
    assert answer.text == "a\nb"
    assert answer.usage.total == 15


def test_failed_and_incomplete_responses():
    error = {"code": "server_error", "message": "try later"}
    _, pieces = items(response("resp_1", status="failed", error=error, usage=None))
    assert pieces == [
        AttemptPiece("night#1", 1, at=1700000000.0, code="server_error", message="try later")
    ]
    _, pieces = items(
        response("resp_1", status="incomplete", incomplete_details={"reason": "max_output_tokens"})
    )
    assert [p.finish for p in pieces] == ["max_output_tokens"]


def test_compaction_is_a_boundary():
    log = [
        {"role": "user", "content": "go"},
        {"type": "compaction", "encrypted_content": "x"},
        said(),
    ]
    _, pieces = items(log)
    kinds = [p.kind for p in of(BoundaryPiece, pieces)]
    assert kinds == [BoundaryKind.USER, BoundaryKind.COMPACTION]


def test_unknown_items_are_rejected():
    reader, _ = items({"type": "teleport_call"}, {"role": "user"}, "x", [{"type": "y"}])
    assert [line for line, _ in reader.rejected] == [1, 2, 3, 4]


def test_sniff_before_chat_and_not_codex():
    sniff = form("openai_responses").sniff
    assert sniff(Sample("x", ITEMS)) == 0.9
    assert sniff(Sample("x", [ITEMS], True)) == 0.9
    assert sniff(Sample("x", [response("r1")])) == 0.95
    header = {"id": "0194", "timestamp": "2025-06-01T00:00:00Z", "instructions": None}
    assert sniff(Sample("x", [header, *ITEMS])) < 0.3
    assert sniff(Sample("x", [*ITEMS, {"record_type": "state"}])) < 0.3
    assert sniff(Sample("x", [{"role": "user", "content": "hi"}])) == 0
    wrapped = [{"timestamp": "x", "type": "response_item", "payload": ITEMS[1]}]
    assert sniff(Sample("x", wrapped)) == 0
