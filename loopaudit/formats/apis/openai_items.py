"""Items and response objects of the OpenAI Responses API as pieces.

Calls and results pair by `call_id`, never by `id`. Consecutive items that a model writes are one
response (`provider_data.response_id`, where the Agents SDK wrote it, decides). Tools that run on
the server have call and result in one item.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from loopaudit.formats.apis.openai_chat import call_id
from loopaudit.formats.shapes import (
    Json,
    arguments,
    name,
    output_of,
    rows,
    seconds,
    table,
    text_of,
    user_kind,
    whole,
    words,
)
from loopaudit.formats.tool_messages import status_of
from loopaudit.formats.usages import openai_usage
from loopaudit.model import (
    AttemptPiece,
    BoundaryKind,
    BoundaryPiece,
    CallPiece,
    CallStatus,
    Piece,
    ResponsePiece,
    ResultPiece,
    StepKind,
)

#: calls answered by a later item: type -> where the arguments stand
_CLIENT_CALLS: dict[str, tuple[str, ...]] = {
    "function_call": ("arguments",),
    "custom_tool_call": ("input",),
    "local_shell_call": ("action",),
    "shell_call": ("action",),
    "apply_patch_call": ("operation",),
    "computer_call": ("action", "actions"),
    "tool_search_call": ("arguments", "query"),
    "program": ("arguments", "code"),
}
#: calls run by the server: type -> where the arguments, and where the result stands
_SERVER_CALLS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "mcp_call": (("arguments",), ("output", "error")),
    "web_search_call": (("action", "query"), ("results",)),
    "file_search_call": (("queries",), ("results",)),
    "code_interpreter_call": (("code",), ("outputs",)),
    "image_generation_call": (("revised_prompt",), ()),
}
_OUTPUTS = frozenset(f"{kind}_output" for kind in _CLIENT_CALLS)
BY_MODEL = frozenset((*_CLIENT_CALLS, *_SERVER_CALLS, "reasoning"))
_QUIET = frozenset(
    ("item_reference", "mcp_list_tools", "mcp_approval_request", "mcp_approval_response")
)
ITEM_TYPES = BY_MODEL | _OUTPUTS | _QUIET | {"message", "compaction"}


def item_pieces(items: Iterable[tuple[int, Any]]) -> Iterable[Piece]:
    """Pieces of (line, item) pairs, run still empty. Unknown items give none."""
    response: ResponsePiece | None = None
    results: list[ResultPiece] = []
    for line, item in items:
        if not isinstance(item, dict):
            continue
        if by_model(item):
            key = response_id(item)
            if response is None or (key is not None and response.id not in (None, key)):
                if response is not None:
                    yield response
                    yield from results
                response, results = ResponsePiece("", line, id=key), []
            _add(response, results, line, item)
            continue
        pieces = _others(line, item)
        if response is not None and pieces:
            yield response
            yield from results
            response, results = None, []
        yield from pieces
    if response is not None:
        yield response
        yield from results


def response_id(item: Json) -> str | None:
    """Id of the response an item belongs to, where the Agents SDK noted it."""
    return call_id(table(item, "provider_data").get("response_id"))


def by_model(item: Json) -> bool:
    kind = item.get("type")
    if kind == "message" or kind is None:
        return item.get("role") == "assistant"
    return isinstance(kind, str) and kind in BY_MODEL


def _add(response: ResponsePiece, results: list[ResultPiece], line: int, item: Json) -> None:
    """Adds an item that the model wrote to its response."""
    kind = item.get("type")
    if response.model is None:
        response.model = name(table(item, "provider_data").get("model"))
    if response.id is None:
        response.id = response_id(item)
    if kind == "message" or kind is None:
        text = text_of(item.get("content"))
        if text is not None:
            response.text = text if response.text is None else f"{response.text}\n{text}"
    elif kind == "reasoning":
        parts = (*rows(item.get("summary")), *rows(item.get("content")))
        response.thinking_chars += sum(len(text_or_empty(part)) for part in parts)
    elif kind in _CLIENT_CALLS:
        given = _first(item, _CLIENT_CALLS[str(kind)])
        tool = name(item.get("name")) or str(kind).removesuffix("_call")
        call = CallPiece(call_id(item.get("call_id")), tool, arguments(given), line=line)
        response.calls += (call,)
    else:
        where, answers = _SERVER_CALLS[str(kind)]
        tool = name(item.get("name")) or str(kind).removesuffix("_call")
        key = call_id(item.get("id")) or call_id(item.get("call_id"))
        response.calls += (CallPiece(key, tool, arguments(_first(item, where)), line=line),)
        failed = item.get("error") is not None or item.get("status") == "failed"
        if failed or item.get("status") in (None, "completed"):
            status = CallStatus.ERROR if failed else CallStatus.OK
            output = output_of(_first(item, answers))
            results.append(ResultPiece("", line, key, output, status=status, tool=tool))


def text_or_empty(part: Json) -> str:
    text = part.get("text")
    return text if isinstance(text, str) else ""


def _first(item: Json, keys: tuple[str, ...]) -> Any:
    for key in keys:
        if item.get(key) is not None:
            return item[key]
    return None


def _others(line: int, item: Json) -> list[Piece]:
    """Items that the model did not write: user messages, results, compaction."""
    kind = item.get("type")
    if kind == "message" or kind is None:
        if item.get("role") != "user":
            return []
        text = text_of(item.get("content"))
        return [BoundaryPiece("", line, user_kind(text), text=text)]
    if kind == "compaction":
        return [BoundaryPiece("", line, BoundaryKind.COMPACTION)]
    if isinstance(kind, str) and kind in _OUTPUTS:
        return [_result(line, item)]
    return []


def _result(line: int, item: Json) -> ResultPiece:
    output = output_of(item.get("output"))
    piece = ResultPiece("", line, call_id(item.get("call_id")), output, status=status_of(output))
    if item.get("status") == "failed" or item.get("is_error") is True:
        piece.status = CallStatus.ERROR
    exits = [table(part, "outcome") for part in rows(item.get("output"))]
    if isinstance(item.get("output"), str) and item.get("type") == "local_shell_call_output":
        exits.append(table(arguments(item["output"]), "metadata"))
    for outcome in exits:
        code = whole(outcome.get("exit_code"))
        if code is not None:
            piece.exit_code = code
        if code or outcome.get("type") == "timeout":
            piece.status = CallStatus.ERROR
    if exits and isinstance(output, list):
        texts = [part.get(k) for part in rows(output) for k in ("stdout", "stderr")]
        piece.text = "\n".join(text for text in texts if isinstance(text, str) and text)
    return piece


def _searches(items: Any) -> int | None:
    """Web searches that the server ran and bills by number; to open a page or look through it is
    none. None: not one such call."""
    calls = [item for item in rows(items) if item.get("type") == "web_search_call"]
    kinds = [table(call, "action").get("type") for call in calls]
    return sum(kind in (None, "search") for kind in kinds) if calls else None


def response_pieces(body: Json, line: int = 0) -> list[Piece]:
    """Pieces of a response object: one response, results of tools run by the server, a failure."""
    items = body.get("output")
    found = list(item_pieces([(line, item) for item in items] if isinstance(items, list) else ()))
    answer = ResponsePiece("", line)
    results: list[Piece] = []
    texts = []
    for piece in found:
        if isinstance(piece, ResponsePiece):
            answer.calls += piece.calls
            answer.thinking_chars += piece.thinking_chars
            answer.model = answer.model or piece.model
            answer.id = answer.id or piece.id
            texts += [piece.text] if piece.text is not None else []
        elif isinstance(piece, ResultPiece):
            results.append(piece)
    answer.text = "\n".join(texts) if texts else None
    answer.id = call_id(body.get("id")) or call_id(body.get("response_id")) or answer.id
    answer.at = seconds(body.get("created_at"))
    answer.ended = seconds(body.get("completed_at"))
    answer.model = name(body.get("model")) or answer.model
    answer.usage = openai_usage(body.get("usage"))
    if answer.usage is not None:
        answer.usage.web_searches = _searches(items)
    reason = name(table(body, "incomplete_details").get("reason"))
    answer.finish = reason or name(body.get("status"))
    answer.service = name(body.get("service_tier"))
    if body.get("object") == "response.compaction":
        answer.kind = StepKind.COMPACTION
    error = body.get("error")
    if body.get("status") == "failed" and isinstance(error, dict):
        code, message = name(error.get("code")), words(error.get("message"))
        attempt = AttemptPiece("", line, answer.at, code=code, message=message)
        return [answer, *results, attempt] if found or answer.usage else [attempt]
    return [answer, *results]
