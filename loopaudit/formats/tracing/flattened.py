"""Messages that are flattened into attributes, `llm.input_messages.0.message.role` and the like."""

from __future__ import annotations

from typing import Any

from loopaudit.formats.shapes import Json

_MOST = 1_000_000  # messages; a larger index is damage


def numbered(attributes: Json, prefix: str, wrap: str = "") -> list[Json]:
    """The messages under `<prefix>.N.`, or the list under `<prefix>`, in the order of their
    numbers, which may have gaps. `wrap` is a name that stands around each (`message`)."""
    listed = attributes.get(prefix)
    if isinstance(listed, list):  # not flattened, or nested again by an exporter
        return [_unwrapped(_nested(item), wrap) for item in listed if isinstance(item, dict)]
    start = prefix + "."
    found: dict[int, Json] = {}
    for key, value in attributes.items():
        if not key.startswith(start):
            continue
        number, _, rest = key[len(start) :].partition(".")
        if number.isascii() and number.isdigit() and len(number) < 8 and int(number) < _MOST:
            found.setdefault(int(number), {})[rest] = value
    return [_unwrapped(_nested(found[number]), wrap) for number in sorted(found)]


def _nested(flat: Json) -> Json:
    """Dotted keys as objects; keys that are numbers as lists in the order of the numbers."""
    out: Json = {}
    for key, value in flat.items():
        here = out
        *path, last = str(key).split(".")
        for part in path[:16]:
            inner = here.get(part)
            if not isinstance(inner, dict):
                inner = here[part] = {}
            here = inner
        if isinstance(value, list):
            value = [_nested(v) if isinstance(v, dict) else v for v in value]
        here[last] = value
    return {key: _listed(value) for key, value in out.items()}


def _listed(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if value and all(key.isascii() and key.isdigit() and len(key) < 8 for key in value):
        return [_listed(value[key]) for key in sorted(value, key=int)]
    return {key: _listed(inner) for key, inner in value.items()}


def _unwrapped(message: Json, wrap: str) -> Json:
    """One message in the OpenAI spelling."""
    inner = message.get(wrap) if wrap else None
    if isinstance(inner, dict):
        message = inner
    calls = message.get("tool_calls")
    if isinstance(calls, list):
        message["tool_calls"] = [
            call["tool_call"]
            if isinstance(call, dict) and isinstance(call.get("tool_call"), dict)
            else call
            for call in calls
        ]
    parts = message.get("contents")
    if isinstance(parts, list) and message.get("content") is None:
        message["content"] = [_part(part) for part in parts if isinstance(part, dict)]
    return message


def _part(part: Json) -> Json:
    inner = part.get("message_content")
    return inner if isinstance(inner, dict) else part
