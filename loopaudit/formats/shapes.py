"""Shapes shared by the formats: token counts, times, texts, arguments, and usage of each family.

Every function takes whatever stood in the log and never raises: what cannot be used is None.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any

from loopaudit.model import Piece, ResponsePiece, ResultPiece

Json = dict[str, Any]

#: more tokens than any one response can hold; beyond it a number is damage, not a count
_MOST_TOKENS = 10**12


_ENDINGS = frozenset(
    ("gz", "bz2", "xz", "zst", "json", "jsonl", "ndjson", "yaml", "yml", "txt", "log")
)


def stem(path: str) -> str:
    """File name without folders and known endings; names runs that have no id of their own."""
    base = path.replace("\\", "/").rstrip("/").rpartition("/")[2]
    while True:
        rest, dot, ending = base.rpartition(".")
        if not (dot and rest and ending.lower() in _ENDINGS):
            return "stdin" if base in ("", "-") else base
        base = rest


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
            return _utc(datetime.fromisoformat(value))
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
    return amount if amount.is_finite() and amount >= 0 else None


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


def shown(value: Any) -> str:
    """A few characters of a value, for a message; safe for any value."""
    if isinstance(value, str):
        return repr(value[:40])
    if value is None or type(value) in (bool, float):
        return str(value)
    if type(value) is int and abs(value) < 10**30:
        return str(value)
    return f"a value of type {type(value).__name__}"


@dataclass(slots=True)
class Tally:
    """What a log holds, to tell at its end what it lacks."""

    responses: int = 0
    usages: int = 0
    times: int = 0
    calls: int = 0
    arguments: int = 0
    results: int = 0
    called: set[str] = field(default_factory=set)  # runs whose last response called something
    went_on: bool = False  # some run went on after a call that had no result

    def add(self, pieces: Iterable[Piece]) -> None:
        for piece in pieces:
            if isinstance(piece, ResponsePiece):
                self.responses += 1
                self.usages += piece.usage is not None
                self.times += piece.at is not None
                if not self.results and piece.run in self.called:
                    self.went_on = True
                if piece.calls:
                    self.calls += len(piece.calls)
                    if not self.arguments:
                        self.arguments += any(call.args is not None for call in piece.calls)
                    if not self.results:
                        self.called.add(piece.run)
            elif isinstance(piece, ResultPiece):
                self.results += 1

    def missing(self) -> set[str]:
        """Of "results", "times", "usage", "arguments". A last call may well be unanswered."""
        lacks = set()
        if self.responses and not self.usages:
            lacks.add("usage")
        if self.responses and not self.times:
            lacks.add("times")
        if self.calls and not self.arguments:
            lacks.add("arguments")
        if self.calls and not self.results and self.went_on:
            lacks.add("results")
        return lacks
