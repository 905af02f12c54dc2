"""How each API family writes requests, answers and streams, and which one a call belongs to."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from loopaudit.formats.apis import sse
from loopaudit.formats.apis.anthropic_messages import message_pieces as anthropic_pieces
from loopaudit.formats.apis.gemini_generate import content_pieces, contents_of, system_of
from loopaudit.formats.apis.gemini_generate import response_pieces as gemini_response
from loopaudit.formats.apis.http_records import Exchange
from loopaudit.formats.apis.openai_chat import completion_pieces
from loopaudit.formats.apis.openai_chat import message_pieces as chat_pieces
from loopaudit.formats.apis.openai_items import item_pieces
from loopaudit.formats.apis.openai_items import response_pieces as responses_response
from loopaudit.formats.shapes import Json, rows, text_of, words
from loopaudit.model import Piece, ResponsePiece


def _chat_request(request: Json) -> list[Piece]:
    prompt = request.get("prompt")  # the older completions endpoint
    messages = rows(request.get("messages"))
    if isinstance(prompt, str) and not messages:
        messages = [{"role": "user", "content": prompt}]
    return [piece for message in messages for piece in chat_pieces(message)]


def _responses_request(request: Json) -> list[Piece]:
    given = request.get("input")
    if isinstance(given, str):
        given = [{"role": "user", "content": given}]
    items = given if isinstance(given, list) else []
    return list(item_pieces((0, item) for item in items))


def _anthropic_request(request: Json) -> list[Piece]:
    return [p for message in rows(request.get("messages")) for p in anthropic_pieces(message)]


def _gemini_request(request: Json) -> list[Piece]:
    return [p for content in contents_of(request) or () for p in content_pieces(content)]


def _chat_system(request: Json) -> str | None:
    texts = [
        text_of(message.get("content"))
        for message in rows(request.get("messages"))
        if message.get("role") in ("system", "developer")
    ]
    return "\n".join(text for text in texts if text)


Answer = tuple[list[Piece], list[ResponsePiece]]  # pieces to tell, and the alternatives


def _chat_answer(body: Json) -> Answer:
    choices = completion_pieces(body)
    return [choices[0]], choices


def _plain_answer(pieces: list[Piece]) -> Answer:
    answers = [p for p in pieces if isinstance(p, ResponsePiece)]
    return pieces, answers[-1:]


class Family:
    """How one API writes its requests, answers and streams."""

    def __init__(
        self,
        request: Callable[[Json], list[Piece]],
        system: Callable[[Json], str | None],
        answer: Callable[[Json], Answer],
        stream: Callable[[Iterable[Json]], sse.Body],
    ) -> None:
        self.request, self.system, self.answer, self.stream = request, system, answer, stream


CHAT = Family(_chat_request, _chat_system, _chat_answer, sse.chat_body)
RESPONSES = Family(
    _responses_request,
    lambda request: words(request.get("instructions")),
    lambda body: _plain_answer(responses_response(body)),
    sse.responses_body,
)
ANTHROPIC = Family(
    _anthropic_request,
    lambda request: text_of(request.get("system")),
    lambda body: _plain_answer(anthropic_pieces({**body, "role": "assistant"})),
    sse.anthropic_body,
)
GEMINI = Family(_gemini_request, system_of, gemini_response, sse.gemini_body)


_NOT_GENERATING = ("/embeddings", "/count_tokens", "/input_tokens", "/moderations", ":countTokens")


def family_of(call: Exchange) -> Family | None:
    """By the end of the URL where it tells, else by the shape of request and answer."""
    path, request = call.path, call.request
    if path.endswith(_NOT_GENERATING):
        return None
    if path.endswith((":generateContent", ":streamGenerateContent")):
        return GEMINI
    if path.endswith("/responses") or "/responses/" in path:
        return RESPONSES
    if path.endswith("/messages"):
        return ANTHROPIC if isinstance(request.get("messages"), list) else None
    if path.endswith("/completions"):
        return CHAT
    found = _by_shape(request, call.body)
    failed = isinstance(call.body, dict) and "error" in call.body
    if found is None and call.url is None and failed:
        return CHAT  # a failure tells no family, and needs none
    return found


def _by_shape(request: Json, body: Any) -> Family | None:
    stream = body[:4000] if isinstance(body, str) else ""
    told = body if isinstance(body, dict) else {}
    if contents_of(request) is not None or "candidates" in told:
        return GEMINI
    if isinstance(request.get("messages"), list):
        anthropic = told.get("type") == "message" or '"message_start"' in stream
        if anthropic or ("stop_reason" in told and "content" in told):
            return ANTHROPIC
        if "choices" in told or "chat.completion" in stream:
            return CHAT
        return ANTHROPIC if "system" in request or "anthropic_version" in request else CHAT
    if told.get("object") == "response" or '"response.created"' in stream:
        return RESPONSES
    if "input" in request and ("instructions" in request or "previous_response_id" in request):
        return RESPONSES
    if isinstance(told.get("choices"), list):
        return CHAT
    return ANTHROPIC if told.get("type") == "message" and "stop_reason" in told else None
