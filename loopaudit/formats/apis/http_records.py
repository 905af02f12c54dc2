"""One API call from a request/response log or an HTTP cassette, in one shape whatever its file's.

Bodies may be JSON values, JSON text, server-sent events, bytes or base64, packed or not.
"""

from __future__ import annotations

import base64
import binascii
import gzip
import zlib
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from io import BytesIO
from typing import Any
from urllib.parse import urlsplit

import orjson

from loopaudit.formats.apis.sse import is_stream
from loopaudit.formats.shapes import Json, name, rows, seconds, table, whole

MAX_BODY = 256 << 20  # bytes of one unpacked body
UNREADABLE = "the body is packed in a way that cannot be read here"


@dataclass(slots=True)
class Exchange:
    """A request and what came back. `body` is a JSON value, the text of a stream, or other text."""

    request: Json
    body: Any = None
    url: str | None = None
    method: str | None = None
    status: int | None = None
    headers: Json = field(default_factory=dict)  # of the response, names in lower case
    asked: Json = field(default_factory=dict)  # headers of the request, names in lower case
    error: Any = None  # what the log says of a call that failed without an answer
    at: float | None = None
    ended: float | None = None
    cost: Any = None
    own: str | None = None  # the log's own id of the conversation
    problem: str | None = None  # why the body could not be read

    @property
    def path(self) -> str:
        return urlsplit(self.url or "").path.rstrip("/")

    @property
    def host(self) -> str:
        return urlsplit(self.url or "").hostname or ""


_REQUESTS = ("request", "kwargs", "body", "request_body")
_RESPONSES = ("response", "response_body")
_STARTED = (
    *("started_at", "start_time", "startTime", "timestamp", "time", "ts", "created_at"),
    "recorded_at",
)
_ENDED = ("ended_at", "end_time", "endTime", "completed_at")
_OWN = ("conversation_id", "session_id", "thread_id", "conversationId", "sessionId", "threadId")
_NESTED = ("url", "uri", "method", "headers", "status_code")
_BODIES = ("body", "json", "content", "data", "text")


def is_exchange(record: Any) -> bool:
    """Whether a record holds a request and the answer (or the failure) of one API call."""
    if not isinstance(record, dict):
        return False
    given = _first(record, _RESPONSES)
    if any(isinstance(record.get(key), dict) for key in _REQUESTS):
        return given is not None or record.get("error") is not None
    if isinstance(record.get("messages"), list):  # the request's fields beside its response
        return isinstance(given, dict) or (isinstance(given, str) and is_stream(given))
    return "custom_id" in record and isinstance(given, dict)  # results of OpenAI's batch API


def exchange_of(record: Json) -> Exchange:
    """The call that a record holds. Absent parts are empty or None."""
    asked = _first(record, _REQUESTS)
    given = _first(record, _RESPONSES)
    outer = asked if isinstance(asked, dict) else {}
    request: Any = outer
    found = Exchange({}, error=record.get("error"))
    found.asked = _headers(outer.get("headers", record.get("request_headers")))
    if any(key in outer for key in _NESTED) and _first(outer, _BODIES) is not None:
        request, problem = decoded(_first(outer, _BODIES))
        found.problem = problem
    if isinstance(record.get("messages"), list) and "messages" not in request:
        request = {**(request if isinstance(request, dict) else {}), "messages": record["messages"]}
    found.request = request if isinstance(request, dict) else {}
    found.url = name(_either(record, outer, "url")) or name(_either(record, outer, "uri"))
    found.method = name(_either(record, outer, "method"))
    _answer(found, record, given)
    found.at = _time(record, _STARTED)
    found.ended = _time(record, _ENDED)
    found.cost = record.get("cost", record.get("response_cost"))
    found.own = name(_first(record, _OWN))
    return found


def _answer(found: Exchange, record: Json, given: Any) -> None:
    status = _status(record)
    headers = record.get("response_headers", record.get("headers"))
    body = given
    if isinstance(given, dict) and _is_answer(given):
        status = _status(given) or status
        headers = given.get("headers", headers)
        body = _first(given, _BODIES)
    found.status, found.headers = status, _headers(headers)
    found.body, problem = decoded(body)
    found.problem = problem or found.problem


def _is_answer(given: Json) -> bool:
    """Whether it is an HTTP response around a body: a Responses object has `status` and `text`."""
    if "status_code" in given or isinstance(given.get("status"), int | dict):
        return True
    return isinstance(given.get("headers"), dict) or given.keys() == {"body"}


def interactions_of(record: Any) -> list[Any] | None:
    """Calls of a cassette (VCR in Python or Ruby, Betamax), or None."""
    if not isinstance(record, dict):
        return None
    found = record.get("interactions", record.get("http_interactions"))
    return found if isinstance(found, list) else None


def decoded(body: Any) -> tuple[Any, str | None]:
    """A body as JSON value or text, and what is wrong with it."""
    if isinstance(body, dict) and not body.keys().isdisjoint(("string", "base64_string")):
        if isinstance(body.get("base64_string"), str):
            return decoded(_from_base64(body["base64_string"]) or body["base64_string"])
        return decoded(body.get("string"))
    if isinstance(body, str):
        return _from_text(body)
    if isinstance(body, bytes):
        unpacked = unpack(body)
        if unpacked is None:
            return None, UNREADABLE
        return _from_text(unpacked.decode("utf-8", "replace"))
    return body, None


def _from_text(text: str) -> tuple[Any, str | None]:
    head = text.lstrip("\ufeff \t\r\n")
    if head[:1] in ("{", "["):
        try:
            return orjson.loads(head), None
        except (ValueError, UnicodeEncodeError):
            return text, None
    if not is_stream(head):
        raw = _from_base64(head)
        if raw is not None:
            unpacked = unpack(raw)
            if unpacked is not None and unpacked.lstrip()[:1] in (b"{", b"[", b"d", b"e", b":"):
                return _from_text(unpacked.decode("utf-8", "replace"))
    return text, None


def _from_base64(text: str) -> bytes | None:
    text = text.strip()
    if len(text) < 8 or " " in text[:80]:
        return None
    try:
        return base64.b64decode(text.replace("\n", ""), validate=True)
    except (binascii.Error, ValueError):
        return None


def unpack(data: bytes) -> bytes | None:
    """Bytes unpacked by their magic (gzip, zlib, zstd), plain text as it stands, else None."""
    try:
        if data[:2] == b"\x1f\x8b":
            with gzip.GzipFile(fileobj=BytesIO(data)) as packed:
                return packed.read(MAX_BODY)
        if data[:2] in (b"\x78\x01", b"\x78\x9c", b"\x78\xda"):
            return zlib.decompressobj().decompress(data, MAX_BODY)
        if data[:4] == b"\x28\xb5\x2f\xfd":
            return _unpack_zstd(data)
    except (OSError, EOFError, zlib.error):
        return None
    return None if b"\0" in data[:64] or _binary(data[:64]) else data


def _binary(head: bytes) -> bool:
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start < len(head) - 4  # the head may end inside a character
    return False


def _unpack_zstd(data: bytes) -> bytes | None:
    try:
        from compression import zstd  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        try:
            from backports import zstd  # type: ignore[no-redef, unused-ignore]
        except ImportError:
            return None
    try:
        with zstd.ZstdFile(BytesIO(data)) as packed:
            found: bytes = packed.read(MAX_BODY)
            return found
    except (zstd.ZstdError, OSError, EOFError):
        return None


def retry_after(found: Exchange) -> float | None:
    """Seconds the server asked to wait, from its headers or, of Google, from the error."""
    milliseconds = _number(found.headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    text = found.headers.get("retry-after")
    wait = _number(text)
    if wait is None and isinstance(text, str):
        until, now = http_date(text), http_date(found.headers.get("date"))
        if until is not None and now is not None:
            wait = max(until - now, 0.0)
    for detail in rows(table(found.body, "error").get("details")):
        delay = detail.get("retryDelay")
        if wait is None and isinstance(delay, str) and delay.endswith("s"):
            wait = _number(delay[:-1])
    return wait


def http_date(text: Any) -> float | None:
    """Seconds since the epoch of a date as HTTP headers write it."""
    if not isinstance(text, str):
        return None
    try:
        return seconds(parsedate_to_datetime(text))
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _number(value: Any) -> float | None:
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return found if 0 <= found < 1e9 else None


def _headers(value: Any) -> Json:
    """Headers by their names in lower case; of several values the first."""
    pairs = value.items() if isinstance(value, dict) else ()
    found: Json = {}
    for key, text in pairs:
        if isinstance(key, str):
            found[key.lower()] = text[0] if isinstance(text, list) and text else text
    return found


def _status(value: Json) -> int | None:
    for key in ("status_code", "status", "http_status"):
        found = value.get(key)
        if isinstance(found, dict):
            found = found.get("code")
        number = whole(found)
        if number is not None and 100 <= number <= 599:
            return number
    return None


def _first(value: Json, keys: tuple[str, ...]) -> Any:
    for key in keys:
        if value.get(key) is not None:
            return value[key]
    return None


def _either(record: Json, inner: Json, key: str) -> Any:
    found = record.get(key)
    return inner.get(key) if found is None else found


def _time(record: Json, keys: tuple[str, ...]) -> float | None:
    for key in keys:
        found = seconds(record.get(key))
        if found is not None:
            return found
    return None
