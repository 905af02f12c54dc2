"""Puts streamed answers together: server-sent events of each API family become its plain body.

Each function takes the events' data in order and answers with the body that the API would have
sent without streaming, and whether the stream came to its proper end. An error inside the stream is
kept as `error` of the body.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import orjson

from loopaudit.formats.shapes import Json, rows, table

Body = tuple[Json, bool]


def is_stream(text: str) -> bool:
    head = text[:64].lstrip("\ufeff\r\n ")
    return head.startswith(("data:", "event:", "id:", "retry:", ":"))


def events(text: str) -> Iterator[Json]:
    """The JSON objects of a stream's `data` fields. What is cut or no JSON is left out."""
    for block in text.replace("\r\n", "\n").split("\n\n"):
        lines = [line[5:].removeprefix(" ") for line in block.split("\n") if line[:5] == "data:"]
        if not lines:
            continue
        try:
            value = orjson.loads("\n".join(lines))
        except (ValueError, UnicodeEncodeError):
            continue
        if isinstance(value, dict):
            yield value
        elif isinstance(value, list):
            yield from rows(value)


def chat_body(chunks: Iterable[Json]) -> Body:
    """Chunks of chat completions: deltas by choice; usage comes with the last chunk, or never."""
    body: Json = {}
    messages: dict[Any, Json] = {}
    choices: dict[Any, Json] = {}
    for chunk in chunks:
        for key in ("id", "created", "model", "service_tier", "usage", "error"):
            if chunk.get(key) is not None:
                body[key] = chunk[key]
        for choice in rows(chunk.get("choices")):
            index = choice.get("index")
            index = index if isinstance(index, int) else 0
            message = messages.setdefault(index, {"role": "assistant"})
            whole = choices.setdefault(index, {"index": index, "message": message})
            if choice.get("finish_reason") is not None:
                whole["finish_reason"] = choice["finish_reason"]
            _join(whole, choice, "text")
            _delta(message, table(choice, "delta") or table(choice, "message"))
    for index, choice in choices.items():
        _settle(choice)
        _settle(messages[index])
        for call in messages[index].get("tool_calls", ()):
            for inner in call.values():
                if isinstance(inner, dict):
                    _settle(inner)
        _settle(table(messages[index], "function_call"))
    body["choices"] = [choices[index] for index in sorted(choices)]
    return body, any("finish_reason" in choice for choice in choices.values())


def _delta(message: Json, delta: Json) -> None:
    for key in ("content", "refusal", "reasoning_content", "reasoning"):
        _join(message, delta, key)
    legacy = table(delta, "function_call")
    if legacy:
        call = message.setdefault("function_call", {})
        call["name"] = legacy.get("name") or call.get("name")
        _join(call, legacy, "arguments")
    for part in rows(delta.get("tool_calls")):
        call = _call(message.setdefault("tool_calls", []), part)
        for key in ("id", "type"):
            if part.get(key):
                call[key] = part[key]
        for key in ("function", "custom"):
            inner = table(part, key)
            if inner:
                whole = call.setdefault(key, {})
                if inner.get("name"):
                    whole["name"] = inner["name"]
                _join(whole, inner, "arguments")
                _join(whole, inner, "input")


def _call(calls: list[Json], part: Json) -> Json:
    """The call that a delta belongs to: the last one of its index. Some shims number all calls 0;
    then another id with a name begins another call."""
    index, key = part.get("index"), part.get("id")
    for call in reversed(calls):
        if index is None or call.get("index") == index:
            named = table(part, "function").get("name") or table(part, "custom").get("name")
            if key and named and call.get("id") and call["id"] != key:
                break
            return call
    call = {"index": index}
    calls.append(call)
    return call


def _join(whole: Json, part: Json, key: str) -> None:
    """Collects the pieces of a text; `_settle` puts them together."""
    text = part.get(key)
    if isinstance(text, str):
        pieces = whole.setdefault(key, [])
        if isinstance(pieces, list):
            pieces.append(text)
    elif isinstance(text, dict) and key == "arguments":  # Ollama writes an object
        whole[key] = text


def _settle(whole: Json) -> None:
    for key, value in whole.items():
        if isinstance(value, list) and all(isinstance(piece, str) for piece in value):
            whole[key] = "".join(value)


def responses_body(stream: Iterable[Json]) -> Body:
    """Events of the Responses API: the closing event holds the whole response."""
    body: Json = {}
    items: dict[Any, Json] = {}
    for event in stream:
        kind = event.get("type")
        response = table(event, "response")
        if kind in ("response.completed", "response.incomplete", "response.failed"):
            return response, True
        if response:
            body = response
        elif kind == "response.output_item.done":
            index = event.get("output_index")
            items[index if isinstance(index, int) else len(items)] = table(event, "item")
        elif kind == "error":
            nested = table(event, "error")
            body = {**body, "status": "failed", "error": nested or event}
    if items:
        body = {**body, "output": [items[index] for index in sorted(items)]}
    return body, False


def anthropic_body(stream: Iterable[Json]) -> Body:
    """Events of the Messages API. Usage of a delta is the sum so far, not something to add."""
    body: Json = {}
    blocks: dict[Any, Json] = {}
    texts: dict[Any, list[str]] = {}
    done = False
    for event in stream:
        kind, index = event.get("type"), event.get("index")
        index = index if isinstance(index, int) else len(blocks)
        if kind == "message_start":
            body = dict(table(event, "message"))
            body["usage"] = dict(table(body, "usage"))
        elif kind == "content_block_start":
            blocks[index] = dict(table(event, "content_block"))
            for key in ("text", "thinking"):
                if key in blocks[index]:
                    blocks[index][key] = [str(blocks[index][key])]
        elif kind == "content_block_delta":
            delta = table(event, "delta")
            block = blocks.setdefault(index, {"type": "text"})
            for key in ("text", "thinking"):
                _join(block, delta, key)
            if isinstance(delta.get("partial_json"), str):
                texts.setdefault(index, []).append(delta["partial_json"])
        elif kind == "message_delta":
            body.update({k: v for k, v in table(event, "delta").items() if v is not None})
            told = {k: v for k, v in table(event, "usage").items() if v is not None}
            body["usage"] = {**table(body, "usage"), **told}
            done = done or "output_tokens" in told
        elif kind == "error":
            body["error"] = event.get("error")
    for index, parts in texts.items():
        blocks.setdefault(index, {"type": "tool_use"})["input"] = _arguments("".join(parts))
    for block in blocks.values():
        if block.get("type") in ("text", "thinking"):
            _settle(block)
    body["content"] = [blocks[index] for index in sorted(blocks)]
    return body, done


def _arguments(text: str) -> Any:
    try:
        return orjson.loads(text) if text.strip() else {}
    except (ValueError, UnicodeEncodeError):
        return text


def gemini_body(chunks: Iterable[Json]) -> Body:
    """Chunks of streamGenerateContent: parts add up, usage is the sum so far."""
    body: Json = {}
    candidates: dict[int, Json] = {}
    for chunk in chunks:
        for key, value in chunk.items():
            if key != "candidates" and value is not None:
                body[key] = value
        for candidate in rows(chunk.get("candidates")):
            index = candidate.get("index")
            index = index if isinstance(index, int) else 0
            parts: list[Any] = []
            whole = candidates.setdefault(index, {"content": {"role": "model", "parts": parts}})
            content = table(candidate, "content")
            whole["content"]["parts"] += rows(content.get("parts"))
            if candidate.get("finishReason") is not None:
                whole["finishReason"] = candidate["finishReason"]
    body["candidates"] = [candidates[index] for index in sorted(candidates)]
    return body, any("finishReason" in candidate for candidate in candidates.values())
