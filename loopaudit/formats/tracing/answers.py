"""The answer of a model in any spelling: completions, candidates, generations, parts, text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from loopaudit.formats.apis import anthropic_messages, gemini_generate, openai_chat
from loopaudit.formats.apis.openai_items import response_pieces as responses_api
from loopaudit.formats.shapes import Json, name, rows, table, words
from loopaudit.formats.tracing.messages import is_item, loaded, message_of, message_pieces, role_of
from loopaudit.formats.tracing.usage import langchain_usage
from loopaudit.model import Piece, ResponsePiece, ResultPiece


def answer_pieces(value: Any) -> tuple[ResponsePiece | None, list[ResultPiece]]:
    """The answer in the output of a model, and results of tools that the server ran itself."""
    value = loaded(value)
    if isinstance(value, str):
        return (ResponsePiece("", 0, text=value) if value else None), []
    if isinstance(value, list):
        return _joined(_list(value))
    if not isinstance(value, dict):
        return None, []
    if isinstance(value.get("choices"), list):
        found = openai_chat.completion_pieces(value)[0]
        first = rows(value["choices"])[:1]
        told = first and isinstance(first[0].get("message"), dict)
        answer, results = (
            _joined(message_of({**first[0]["message"], "role": "assistant"}))
            if told
            else (found, [])
        )
        if answer is None:
            return found, results
        for key in ("id", "model", "finish", "usage", "cost", "service"):
            setattr(answer, key, getattr(found, key) or getattr(answer, key))
        answer.usage = langchain_usage(value.get("usage_metadata")) or answer.usage
        return answer, results
    if isinstance(value.get("candidates"), list):
        return _joined(gemini_generate.response_pieces(value)[0], value)
    if isinstance(value.get("generations"), list):
        return _generations(value)
    if isinstance(value.get("output"), list) and (
        "object" in value or any(is_item(item) for item in rows(value["output"]))
    ):
        return _joined(responses_api(value))
    if isinstance(value.get("messages"), list):
        return _joined(_list(value["messages"]))
    if value.get("type") == "message" and isinstance(value.get("content"), list):
        return _joined(anthropic_messages.message_pieces(value))
    for key in ("message", "output", "outputs", "response", "text", "content"):
        if role_of(value) is None and key in value and "finish_reason" not in value:
            inner = value[key]
            if isinstance(inner, list | dict | str):
                return answer_pieces(inner)
    if isinstance(value.get("role", "assistant"), str) and role_of(value) in (None, "assistant"):
        plain = value if role_of(value) or "message" in value else {**value, "role": "assistant"}
        return _joined(message_of(plain))
    return None, []


def _list(items: list[Any]) -> list[Piece]:
    if items and all(isinstance(i, dict) and "toolName" in i and "role" not in i for i in items):
        items = [{"role": "assistant", "toolCalls": items}]  # of the AI SDK
    pieces = message_pieces(items)
    last = max((i for i, p in enumerate(pieces) if isinstance(p, ResponsePiece)), default=None)
    if last is None:
        return []
    begin = last  # several messages of one answer stand in a row
    while begin > 0 and isinstance(pieces[begin - 1], ResponsePiece):
        begin -= 1
    return pieces[begin:]


def _joined(
    pieces: Iterable[Piece], body: Json | None = None
) -> tuple[ResponsePiece | None, list[ResultPiece]]:
    """One response of all in `pieces`, with the results among them."""
    answer: ResponsePiece | None = None
    results: list[ResultPiece] = []
    for piece in pieces:
        if isinstance(piece, ResultPiece):
            results.append(piece)
        elif isinstance(piece, ResponsePiece):
            if answer is None:
                answer = piece
                continue
            answer.calls += piece.calls
            answer.thinking_chars += piece.thinking_chars
            if piece.text:
                answer.text = f"{answer.text}\n{piece.text}" if answer.text else piece.text
            answer.finish = piece.finish or answer.finish
            answer.usage = answer.usage or piece.usage
    return answer, results


def _generations(value: Json) -> tuple[ResponsePiece | None, list[ResultPiece]]:
    """LangChain's `LLMResult`: the first generation of the first prompt."""
    batch = value["generations"][0] if value["generations"] else None
    first = batch[0] if isinstance(batch, list) and batch else batch
    if not isinstance(first, dict):
        return None, []
    message = first.get("message")
    if not isinstance(message, dict):
        text = words(first.get("text"))
        return (ResponsePiece("", 0, text=text) if text else None), []
    answer, results = _joined(message_of({"type": "ai", **message}))
    if answer is not None:
        info = table(first, "generation_info")
        answer.finish = answer.finish or name(info.get("finish_reason"))
    return answer, results
