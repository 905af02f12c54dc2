"""OpenAI Responses API: lists of items, one item a line, and response objects.

Calls and results pair by `call_id`, never by `id`. Consecutive items that a model writes are one
response (`provider_data.response_id`, where the Agents SDK wrote it, decides). Tools that run on
the server have call and result in one item. Items alone hold neither usage nor times; both belong
to response objects, which in turn do not hold the results of client-side calls.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from loopaudit.formats.base import Format, Sample
from loopaudit.formats.logreader import LogReader
from loopaudit.formats.openai_chat import FOREIGN, call_id
from loopaudit.formats.shapes import (
    Json,
    arguments,
    name,
    output_of,
    rows,
    seconds,
    shown,
    status_of,
    table,
    text_of,
    user_kind,
    whole,
    words,
)
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
_BY_MODEL = frozenset((*_CLIENT_CALLS, *_SERVER_CALLS, "reasoning"))
_QUIET = frozenset(
    ("item_reference", "mcp_list_tools", "mcp_approval_request", "mcp_approval_response")
)
ITEM_TYPES = _BY_MODEL | _OUTPUTS | _QUIET | {"message", "compaction"}


def item_pieces(items: Iterable[tuple[int, Any]]) -> Iterable[Piece]:
    """Pieces of (line, item) pairs, run still empty. Unknown items give none."""
    response: ResponsePiece | None = None
    results: list[ResultPiece] = []
    for line, item in items:
        if not isinstance(item, dict):
            continue
        if _is_models(item):
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


def _is_models(item: Json) -> bool:
    kind = item.get("type")
    if kind == "message" or kind is None:
        return item.get("role") == "assistant"
    return isinstance(kind, str) and kind in _BY_MODEL


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


def is_response(record: Any) -> bool:
    """Whether a record is a response object, or a ModelResponse of the Agents SDK."""
    return (
        isinstance(record, dict)
        and isinstance(record.get("output"), list)
        and (record.get("object") in ("response", "response.compaction") or "response_id" in record)
    )


class ResponsesReader(LogReader):
    """Responses chain by `previous_response_id` or `conversation`; without either, those of one
    file are taken for one run, until one that names no predecessor follows a chain."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._run: str | None = None
        self._of: dict[str, str] = {}  # response or conversation id -> run
        self._chained = False
        self._open: list[tuple[int, Json]] = []  # items of the response being read, line by line

    def read(self, line: int, record: Any) -> Iterable[Piece]:
        if isinstance(record, list):
            return self._array(line, record)
        if is_response(record):
            return [*self._close(), *self._response(line, record)]
        if isinstance(record, dict):
            if isinstance(record.get("items"), list):
                return [*self._close(), *self._array(line, record["items"], "items")]
            if _known(record):
                return self._item(line, record)
            kind = record.get("type", record.get("role"))
            return self.reject(line, f"unknown type of item: {shown(kind)}")
        return self.reject(line, "no item of the Responses API")

    def end(self) -> Iterable[Piece]:
        pieces = self._close()
        super().end()
        return pieces

    def _array(self, line: int, items: list[Any], *keys: str) -> list[Piece]:
        self._run = None
        out: list[Piece] = []
        known: list[tuple[int, Any]] = []
        for index, item in enumerate(items):
            place = self.place(line, *keys, index)
            if is_response(item):
                out += self._response(place, item)
            elif isinstance(item, dict) and _known(item):
                self.used += 1
                known.append((place, item))
            else:
                kind = item.get("type") if isinstance(item, dict) else item
                self.reject(place, f"unknown type of item: {shown(kind)}")
        return out + self._emit(item_pieces(known))

    def _emit(self, pieces: Iterable[Piece]) -> list[Piece]:
        found = list(pieces)
        if found and self._run is None:
            self._run = self.new_run()
        for piece in found:
            piece.run = self._run or ""
        return self.emit(found)

    def _item(self, line: int, item: Json) -> list[Piece]:
        """One item a line: a response is complete when an item that is not the model's follows."""
        self.used += 1
        first = self._open[0][1] if self._open else None
        ends = not _is_models(item) or (first is not None and _part(first, item))
        out = self._close() if ends else []
        if _is_models(item):
            self._open.append((line, item))
            return out
        return out + self._emit(item_pieces([(line, item)]))

    def _close(self) -> list[Piece]:
        items, self._open = self._open, []
        return self._emit(item_pieces(items))

    def _response(self, line: int, body: Json) -> list[Piece]:
        self.used += 1
        before = name(body.get("previous_response_id"))
        conversation = body.get("conversation")
        talk = name(conversation.get("id") if isinstance(conversation, dict) else conversation)
        run = self._of.get(talk or "") or self._of.get(before or "")
        if run is None and not (talk or before or self._chained):
            run = self._run
        if run is None:
            run = self.new_run(talk)
        self._chained |= before is not None
        self._run = run
        pieces = response_pieces(body, line)
        for key in (talk, name(body.get("id"))):
            if key is not None:
                self._of[key] = run
        for piece in pieces:
            piece.run = run
        return self.emit(pieces)


def _part(first: Json, item: Json) -> bool:
    """Whether the SDK noted different responses for two items."""
    a, b = response_id(first), response_id(item)
    return a is not None and b is not None and a != b


def _known(item: Json) -> bool:
    kind = item.get("type")
    if kind is None:
        return isinstance(item.get("role"), str) and "content" in item
    return isinstance(kind, str) and kind in ITEM_TYPES


# -- sniffing -------------------------------------------------------------------------------------


def sniff(sample: Sample) -> float:
    records = sample.records
    if sample.document and isinstance(records[0], list):
        records = records[0][:64]
    elif sample.document and isinstance(records[0], dict) and "items" in records[0]:
        records = rows(records[0]["items"])[:64]
    if not records or not all(isinstance(record, dict) for record in records):
        return 0.0
    if not all(map(FOREIGN.isdisjoint, records)):
        return 0.0
    if all(is_response(r) for r in records):
        return 0.95 if all("object" in r for r in records) else 0.4
    if not all(_known(record) for record in records):
        # Codex's older session files hold such items below a header and between state records
        return 0.2 if any(map(_known, records)) else 0.0
    return 0.9 if any(_telling(record) for record in records) else 0.0


def _telling(item: Json) -> bool:
    kind = item.get("type")
    if isinstance(kind, str) and kind != "message":
        return True
    parts = rows(item.get("content"))
    return any(part.get("type") in ("input_text", "output_text") for part in parts)


FORMAT = Format(
    name="openai_responses",
    title="OpenAI Responses API",
    sniff=sniff,
    reader=ResponsesReader,
    describes=(
        "Items of the Responses API (a JSON array such as the Agents SDK's to_input_list(), or one "
        "item a line) and response objects, chained by previous_response_id. Items hold no usage "
        "and no times; response objects hold no results of client-side tools."
    ),
)
