"""A real model: any server that speaks OpenAI's chat completions, through the maintained SDK.

The SDK's own retries are off: the loop retries by the policy under test. The key comes from
`OPENAI_API_KEY` only; it is never printed or recorded.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from loopaudit.errors import UsageError
from loopaudit.formats.shapes import count
from loopaudit.keys import canonical
from loopaudit.live.model import Asked, Delta, Message, ModelError, Offered
from loopaudit.model import Usage

if TYPE_CHECKING:
    from openai import OpenAI

#: seconds without any byte after which a server counts as hung
TIMEOUT = 120.0
KEY = "OPENAI_API_KEY"
#: of a stream that ends or breaks in the middle; `retry` knows it as passing
_STREAM = "stream_error"
_LONGEST = 500  # characters of an error


class Endpoint:
    """One model behind `base_url` (default: `OPENAI_BASE_URL`, else OpenAI's own)."""

    def __init__(self, name: str, base_url: str | None = None, timeout: float = TIMEOUT) -> None:
        self.name = name
        self._client = _client(base_url, timeout)

    def stream(self, messages: Sequence[Message], tools: Sequence[Offered]) -> Iterator[Delta]:
        """One attempt. Raises `ModelError`, also for a stream that breaks off."""
        import openai

        request: dict[str, Any] = {
            "model": self.name,
            "messages": [_message(message) for message in messages],
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if tools:
            request["tools"] = [_tool(tool) for tool in tools]
        try:
            chunks: Any = self._client.chat.completions.create(**request)
            yield from _deltas(chunks)
        except openai.APIStatusError as error:
            raise ModelError(
                _words(error.message),
                status=error.status_code,
                code=error.code if isinstance(error.code, str) else None,
                retry_after=_seconds(error.response.headers.get("retry-after")),
            ) from error
        except openai.APITimeoutError as error:
            raise ModelError("request timed out", code="timeout") from error
        except openai.APIConnectionError as error:
            raise ModelError(_words(f"connection error: {error.__cause__ or error}")) from error
        except openai.APIError as error:  # an error object inside a stream of status 200
            code = error.code if isinstance(error.code, str) else None
            raise ModelError(_words(error.message), code=code or _STREAM) from error
        except (OSError, ValueError) as error:
            raise ModelError(_words(f"stream broke: {error}"), code=_STREAM) from error
        except ModelError:
            raise
        except Exception as error:  # what the HTTP client raises while a stream is read
            code = "timeout" if "timeout" in type(error).__name__.lower() else _STREAM
            raise ModelError(_words(f"stream broke: {error}"), code=code) from error


def _client(base_url: str | None, timeout: float) -> OpenAI:
    try:
        from openai import OpenAI
    except ImportError:
        raise UsageError(
            "a real model needs the extra `live`", "pip install 'loopaudit[live]'"
        ) from None
    key = os.environ.get(KEY)
    if not key:
        raise UsageError(f"{KEY} is not set", "a local server takes any value")
    return OpenAI(api_key=key, base_url=base_url, timeout=timeout, max_retries=0)


def _deltas(chunks: Any) -> Iterator[Delta]:
    """Text as it comes; calls once the stream has ended, when their arguments are whole."""
    calls: dict[int, dict[str, str]] = {}
    finish = None
    for chunk in chunks:
        usage = _usage(chunk.usage)
        if usage is not None:
            yield Delta(usage=usage)
        for choice in chunk.choices or ():
            delta = choice.delta
            if delta is not None and delta.content:
                yield Delta(text=delta.content)
            for part in (delta.tool_calls or ()) if delta is not None else ():
                call = calls.setdefault(part.index, {"id": "", "name": "", "arguments": ""})
                call["id"] = part.id or call["id"]
                if part.function is not None:
                    call["name"] = part.function.name or call["name"]
                    call["arguments"] += part.function.arguments or ""
            finish = choice.finish_reason or finish
    if finish is None:
        raise ModelError("stream ended before it was finished", code=_STREAM)
    for index in sorted(calls):
        call = calls[index]
        yield Delta(call=Asked(call["id"] or f"call_{index}", call["name"], _args(call)))
    yield Delta(finish=finish)


def _args(call: dict[str, str]) -> Any:
    try:
        return json.loads(call["arguments"] or "{}")
    except ValueError:
        return call["arguments"]


def _usage(usage: Any) -> Usage | None:
    """OpenAI's input includes what was read from the cache."""
    if usage is None:
        return None
    sent = count(getattr(usage, "prompt_tokens", None))
    cached = count(getattr(getattr(usage, "prompt_tokens_details", None), "cached_tokens", None))
    thought = getattr(getattr(usage, "completion_tokens_details", None), "reasoning_tokens", None)
    fresh = None if sent is None else max(0, sent - (cached or 0))
    return Usage(
        fresh_input=fresh,
        cache_read=cached,
        output=count(getattr(usage, "completion_tokens", None)),
        reasoning=count(thought),
    )


def _message(message: Message) -> dict[str, Any]:
    out: dict[str, Any] = {"role": message.role, "content": message.text or ""}
    if message.call_id is not None:
        out["tool_call_id"] = message.call_id
    if message.calls:
        out["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {
                    "name": call.tool,
                    "arguments": canonical(call.args).decode("utf-8", "replace"),
                },
            }
            for call in message.calls
        ]
    return out


def _tool(tool: Offered) -> dict[str, Any]:
    about = {"name": tool.name, "description": tool.about, "parameters": dict(tool.schema)}
    return {"type": "function", "function": about}


def _seconds(value: str | None) -> float | None:
    try:
        seconds = float(value) if value is not None else -1.0
    except ValueError:
        return None  # a date: the policy's own wait holds
    return seconds if 0 <= seconds < 86_400 else None


def _words(text: str) -> str:
    """What an error says, without the key."""
    key = os.environ.get(KEY)
    return (text.replace(key, "***") if key else text)[:_LONGEST]
