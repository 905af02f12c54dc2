"""Shapes shared by the formats: token counts, times, texts, arguments, and usage of each family.

Every function takes whatever stood in the log and never raises: what cannot be used is None.
"""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any

import orjson

from loopaudit.model import (
    BoundaryKind,
)

Json = dict[str, Any]

_from_iso = datetime.fromisoformat

#: more tokens than any one response can hold; beyond it a number is damage, not a count
_MOST_TOKENS = 10**12
#: the same of US dollars; picodollars of it fit 64 bits
_MOST_DOLLARS = 10**6
#: values of metadata that are taken of one run
_MOST_TOLD = 100


def count(value: Any) -> int | None:
    """A whole number of tokens or requests, 0 or more. True, "12", NaN, -5 are none."""
    if type(value) is int:
        return value if 0 <= value <= _MOST_TOKENS else None
    if type(value) is float and value.is_integer() and 0 <= value <= _MOST_TOKENS:
        return int(value)
    return None


def seconds(value: Any) -> float | None:
    """Seconds since the epoch from ISO 8601 text or an epoch number (s, ms, us or ns by size)."""
    if isinstance(value, str):
        try:
            moment = _from_iso(value)
            if moment.tzinfo is UTC:  # nearly all logs
                stamp = moment.timestamp()
                return stamp if stamp >= 0 else None
            return _utc(moment)
        except ValueError:
            pass
        try:
            value = float(value)
        except ValueError:
            return None
    elif isinstance(value, datetime):
        return _utc(value)
    elif isinstance(value, date):
        return _utc(datetime(value.year, value.month, value.day))
    elif isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    if not 0 <= number < 1e20:  # also drops NaN
        return None
    for limit, unit in ((1e11, 1.0), (1e14, 1e3), (1e17, 1e6)):
        if number < limit:
            return number / unit
    return number / 1e9


def _utc(moment: datetime) -> float | None:
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    try:
        stamp = moment.timestamp()
    except (OverflowError, ValueError):
        return None
    return stamp if stamp >= 0 else None


def number(value: Any) -> float | None:
    """A finite number of 0 or more, as of seconds of duration."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        value = float(value)
    except OverflowError:
        return None
    return value if 0 <= value < math.inf else None


def dollars(value: Any) -> Decimal | None:
    """Money as an exact decimal of 0 or more, from a number or its text."""
    if isinstance(value, bool) or not isinstance(value, int | float | str | Decimal):
        return None
    try:
        amount = Decimal(str(value))
    except (InvalidOperation, ValueError):
        return None
    return amount if amount.is_finite() and 0 <= amount <= _MOST_DOLLARS else None


def name(value: Any) -> str | None:
    """An id or a name: text that is not empty, or a whole number written as text."""
    if isinstance(value, str):
        return value or None
    return str(value) if type(value) is int and abs(value) < 10**30 else None


def words(value: Any) -> str | None:
    """Text as it stands; empty stays empty, anything else is None."""
    return value if isinstance(value, str) else None


def whole(value: Any) -> int | None:
    """A whole number of any sign that fits 64 bits, as of exit codes and HTTP statuses."""
    return value if type(value) is int and -(2**63) <= value < 2**63 else None


def table(value: Any, key: str) -> Json:
    """The JSON object under `key`, or an empty one."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def rows(value: Any) -> list[Json]:
    """The JSON objects of a list; everything else is left out."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def shown(value: Any) -> str:
    """A few characters of a value, for a message; safe for any value."""
    if isinstance(value, str):
        return repr(value[:40])
    if value is None or type(value) in (bool, float):
        return str(value)
    if type(value) is int and abs(value) < 10**30:
        return str(value)
    return f"a value of type {type(value).__name__}"


# -- messages -------------------------------------------------------------------------------------

_TEXT_PARTS = frozenset(("text", "input_text", "output_text", "refusal", None))


def text_of(content: Any) -> str | None:
    """Visible text of a message's content: a text, a list of parts, one part, or None.

    Parts that are no text (pictures, files, reasoning, calls) are left out.
    """
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        content = [content]
    if not isinstance(content, list):
        return None
    texts = []
    for part in content:
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, dict):
            kind = part.get("type")
            if kind is None or (isinstance(kind, str) and kind in _TEXT_PARTS):
                text = part.get("text", part.get("refusal"))
                if isinstance(text, str):
                    texts.append(text)
    return "\n".join(texts) if texts else None


def output_of(content: Any) -> Any:
    """Content of a tool result: text where all of it is text, else the value as it stands."""
    if isinstance(content, list) and content:
        texts = []
        for part in content:
            text = part.get("text") if isinstance(part, dict) else part
            if not isinstance(text, str):
                return content
            texts.append(text)
        return "\n".join(texts)
    return content


def arguments(value: Any) -> Any:
    """Arguments of a call: JSON text is parsed (twice where encoded twice), other text stays.

    Empty text means no arguments, as several servers write it for tools without parameters.
    """
    for _ in range(2):
        if not isinstance(value, str):
            return value
        text = value.strip()
        if not text or text == "null":
            return {}
        if text[0] not in '{["':
            return value
        try:
            value = orjson.loads(text)
        except (ValueError, UnicodeEncodeError):
            return value
    return value


def described(*tables: Any, tags: Any = None) -> dict[str, str]:
    """Plain values of tables of metadata as texts, the first table before the others; tags, which
    are a list of texts, stand under "tags" with commas between."""
    found: dict[str, str] = {}
    words_of = [tag[:100] for tag in tags if isinstance(tag, str)] if isinstance(tags, list) else []
    if words_of:
        found["tags"] = ", ".join(words_of[:_MOST_TOLD])
    for told in tables:
        for key, value in told.items() if isinstance(told, dict) else ():
            if len(found) >= _MOST_TOLD:
                break
            if isinstance(key, str) and isinstance(value, str | bool | int | float):
                text = value if isinstance(value, str) else _plain_text(value)
                if text:
                    found.setdefault(key[:100], text[:500])
    return found


def _plain_text(value: bool | int | float) -> str:
    """`true`, `7`, `0.5`; empty for a number of thousands of digits."""
    try:
        return str(value).lower()
    except ValueError:
        return ""


def user_kind(text: str | None) -> BoundaryKind:
    """A user message is real unless it is marked as put in by the harness."""
    if text is not None and text.startswith("<system-reminder>"):
        return BoundaryKind.REMINDER
    return BoundaryKind.USER
