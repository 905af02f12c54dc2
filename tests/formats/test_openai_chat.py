"""OpenAI chat: each trap of the format with a twin that must not be caught."""

from api_files import feed, form
from api_samples import CHAT

from loopaudit.formats.base import Sample
from loopaudit.model import (
    BoundaryKind,
    BoundaryPiece,
    CallPiece,
    CallStatus,
    ResponsePiece,
    ResultPiece,
    RunPiece,
    Usage,
)


def chat(*records):
    return feed("openai_chat", records)


def of(kind, pieces):
    return [piece for piece in pieces if isinstance(piece, kind)]


def user(text="go"):
    return {"role": "user", "content": text}


def assistant(text=None, *calls):
    message = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = [
            {"id": key, "type": "function", "function": {"name": tool, "arguments": args}}
            for key, tool, args in calls
        ]
    return message


def tool(key, text):
    return {"role": "tool", "tool_call_id": key, "content": text}


def test_a_conversation_to_the_letter():
    reader, pieces = chat({"messages": CHAT[:5]})
    assert pieces == [
        RunPiece("night#1", 1, prompt="How deep is the lake?"),
        BoundaryPiece("night#1", 1, BoundaryKind.USER, text="How deep is the lake?"),
        ResponsePiece("night#1", 1, calls=(CallPiece("c1", "depth", {"of": "lac"}),)),
        ResultPiece("night#1", 1, "c1", "Error: no such lake", status=CallStatus.ERROR),
        ResponsePiece(
            "night#1", 1, text="once more", calls=(CallPiece("c2", "depth", {"of": "lake"}),)
        ),
    ]
    assert reader.missing == {"usage", "times"}
    assert reader.used == 1


def test_one_conversation_a_line_and_an_array_of_them():
    lines = [{"messages": CHAT}, {"messages": CHAT, "id": "conversation-77"}]
    _, pieces = chat(*lines)
    assert sorted({p.run for p in pieces}) == ["conversation-77", "night#1"]
    _, pieces = chat(lines)
    assert sorted({p.run for p in pieces}) == ["conversation-77", "night#1"]


def test_a_short_id_is_told_apart_by_its_file_and_a_repeated_one_by_number():
    first, second = [user("a"), assistant("b")], [user("c"), assistant("d")]
    _, pieces = chat({"messages": first, "id": 7}, {"messages": second, "id": 7})
    assert {p.run for p in pieces} == {"night:7", "night:7#2"}


def test_a_line_that_goes_on_with_the_one_before_adds_only_its_end():
    _, pieces = chat({"messages": CHAT[:4]}, {"messages": CHAT})
    assert len({p.run for p in pieces}) == 1
    assert len(of(ResponsePiece, pieces)) == 3
    # twins: another beginning, or another id, is another run
    other = [user("something else"), *CHAT[2:]]
    _, pieces = chat({"messages": CHAT[:4]}, {"messages": other})
    assert len({p.run for p in pieces}) == 2
    _, pieces = chat({"messages": CHAT[:4], "id": "a"}, {"messages": CHAT, "id": "b"})
    assert len(of(ResponsePiece, pieces)) == 4
    # two attempts at one task that begin alike are two runs, each whole
    again = [*CHAT[:5], tool("c2", "41 m"), assistant("41")]
    _, pieces = chat({"messages": CHAT}, {"messages": again})
    assert len({p.run for p in pieces}) == 2
    assert len(of(ResponsePiece, pieces)) == 6


def test_single_messages_begin_a_new_run_with_a_system_message_after_an_answer():
    _, pieces = chat(*CHAT, *CHAT)
    assert [p.run for p in of(ResponsePiece, pieces)] == ["night#1"] * 3 + ["night#2"] * 3
    # twins: a system message in the middle of work, or right after the first one
    reminder = {"role": "system", "content": "hurry up"}
    _, pieces = chat(*CHAT[:4], reminder, *CHAT[4:])
    assert {p.run for p in pieces} == {"night#1"}
    _, pieces = chat(CHAT[0], reminder, *CHAT[1:])
    assert {p.run for p in pieces} == {"night#1"}
    # no system message at all: nothing tells runs apart
    _, pieces = chat(*CHAT[1:], *CHAT[1:])
    assert {p.run for p in pieces} == {"night#1"}


def test_the_same_system_message_again_begins_a_new_run_though_the_last_was_cut():
    _, pieces = chat(*CHAT[:4], *CHAT)
    assert {p.run for p in pieces} == {"night#1", "night#2"}


def test_single_messages_with_a_conversation_id_may_be_mixed():
    def mine(message, key):
        return {**message, "conversation_id": key}

    pairs = [(m, k) for m in CHAT for k in ("conv-number-1", "conv-number-2")]
    _, pieces = chat(*[mine(*pair) for pair in pairs])
    runs = [p.run for p in of(ResponsePiece, pieces)]
    assert runs == ["conv-number-1", "conv-number-2"] * 3


def test_parallel_calls_stay_in_one_response_whatever_order_the_results_have():
    calls = [(f"c{i}", "read", f'{{"f": {i}}}') for i in range(3)]
    results = [tool(f"c{i}", str(i)) for i in (2, 0, 1)]
    _, pieces = chat({"messages": [user(), assistant("three", *calls), *results]})
    (response,) = of(ResponsePiece, pieces)
    assert [call.args for call in response.calls] == [{"f": 0}, {"f": 1}, {"f": 2}]
    assert [p.call_id for p in of(ResultPiece, pieces)] == ["c2", "c0", "c1"]


def test_repeated_ids_are_passed_on_and_placeholders_are_none():
    log = [assistant(None, ("call_0", "a", "{}")), tool("call_0", "x")] * 2
    _, pieces = chat({"messages": log})
    assert [p.calls[0].id for p in of(ResponsePiece, pieces)] == ["call_0", "call_0"]
    fake = [assistant(None, ("__fake_id__", "a", "{}")), tool("__fake_id__", "x")]
    _, pieces = chat({"messages": fake})
    assert pieces[0].calls[0].id is None
    assert pieces[1].call_id is None


def test_legacy_function_call_and_custom_tools():
    legacy = {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": ""}}
    answer = {"role": "function", "name": "f", "content": "done"}
    _, pieces = chat({"messages": [user(), legacy, answer], "functions": [{"name": "f"}]})
    assert of(ResponsePiece, pieces)[0].calls == (CallPiece(None, "f", {}),)
    assert of(ResultPiece, pieces) == [ResultPiece("night#1", 1, None, "done", tool="f")]
    custom = {"id": "c1", "type": "custom", "custom": {"name": "sql", "input": "select 1"}}
    _, pieces = chat({"messages": [{"role": "assistant", "tool_calls": [custom]}]})
    assert pieces[0].calls == (CallPiece("c1", "sql", "select 1"),)


def test_content_in_every_form():
    parts = [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": "…"}}]
    log = [
        user(parts),
        assistant([{"type": "text", "text": "b"}]),
        {"role": "assistant", "content": None, "refusal": "I will not"},
        {"role": "assistant", "content": ""},
        {"role": "assistant"},
        {"role": "assistant", "content": "x", "reasoning_content": "12345"},
    ]
    _, pieces = chat({"messages": log})
    assert of(BoundaryPiece, pieces)[0].text == "a"
    texts = [p.text for p in of(ResponsePiece, pieces)]
    assert texts == ["b", "I will not", "", None, "x"]
    assert pieces[-1].thinking_chars == 5


def test_developer_is_system_and_not_a_boundary():
    log = [{"role": "developer", "content": "rules"}, user(), assistant("ok")]
    _, pieces = chat({"messages": log})
    assert len(of(BoundaryPiece, pieces)) == 1


def test_results_without_content_and_with_an_extra_flag():
    log = [
        tool("a", None),
        tool("b", ""),
        tool("c", [{"type": "text", "text": "Error: x"}]),
        {**tool("d", "it broke"), "is_error": True},
        {**tool("e", "Error: x"), "is_error": False},
    ]
    _, pieces = chat({"messages": log})
    assert [p.text for p in pieces] == [None, "", "Error: x", "it broke", "Error: x"]
    failed = [p.status is CallStatus.ERROR for p in pieces]
    assert failed == [False, False, True, True, False]  # a flag is better than words


def completion(n=1, **extra):
    choices = [
        {
            "index": i,
            "message": assistant(None, (f"c{i}", "a", "{}")),
            "finish_reason": "tool_calls",
        }
        for i in range(n)
    ]
    body = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1700000000, "model": "m-1"}
    usage = {"prompt_tokens": 9, "completion_tokens": 4}
    return {**body, "choices": choices, "usage": usage, **extra}


def test_completion_objects_hold_usage_and_time():
    reader, pieces = chat(completion(), completion(id="chatcmpl-2"))
    assert pieces[0] == ResponsePiece(
        "night#1",
        1,
        id="chatcmpl-1",
        at=1700000000.0,
        model="m-1",
        calls=(CallPiece("c0", "a", {}),),
        usage=Usage(fresh_input=9, output=4),
        finish="tool_calls",
    )
    assert pieces[1].run == "night#1"
    assert reader.missing == {"results"}


def test_only_the_first_of_several_choices_was_carried_out():
    reader, (piece,) = chat(completion(n=3))
    assert [call.id for call in piece.calls] == ["c0"]
    assert piece.usage.total == 13  # once, not three times
    assert reader.ignored == {"other choices (n > 1)": 2}


def test_costs_that_proxies_add():
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "cost": 0.25}
    _, (piece,) = chat(completion(usage=usage))
    assert str(piece.cost) == "0.25"
    _, (piece,) = chat(completion(_hidden_params={"response_cost": 0.5}))
    assert str(piece.cost) == "0.5"
    _, (piece,) = chat(completion())
    assert piece.cost is None


def test_lines_of_a_document_come_from_the_opener():
    reader = form("openai_chat").reader("x.json")
    reader.locate = lambda *keys: 100 + keys[-1] if keys else 1
    pieces = reader.feed(1, CHAT)
    assert [p.line for p in pieces] == [101, 101, 102, 103, 104, 105, 106]
    reader = form("openai_chat").reader("x.json")
    reader.locate = lambda *keys: {(0, "messages", 1): 5}.get(keys)
    assert [p.line for p in reader.feed(1, [{"messages": [CHAT[0], user()]}])] == [5, 5]


def test_what_is_no_chat_is_rejected_by_line():
    reader, _ = chat(5, {"role": "wizard"}, {"foo": 1}, [3], {"messages": [{"role": "x"}, 4]})
    assert [line for line, _ in reader.rejected] == [1, 2, 3, 4, 5, 5]


def test_sniff():
    sniff = form("openai_chat").sniff
    talk = [user(), assistant("hello")]
    assert sniff(Sample("x", CHAT)) == 0.9
    assert sniff(Sample("x", [CHAT], True)) == 0.9
    assert sniff(Sample("x", [{"messages": CHAT}])) == 0.9
    assert sniff(Sample("x", [completion()])) == 0.9
    assert sniff(Sample("x", [{"messages": talk}])) == 0.6
    assert 0.3 <= sniff(Sample("x", talk)) < 0.5  # plain talk could be anybody's
    for other in (
        [{"messages": CHAT, "info": {}}],
        [{"role": "user", "message": {}}],
        [{"messages": CHAT, "response": {}}],
    ):
        assert sniff(Sample("x", other)) < 0.3
    for other in (
        [],
        [[]],
        [5],
        [{"role": "human", "content": "x"}],
        [{"role": [], "content": ""}],
    ):
        assert sniff(Sample("x", other)) == 0
