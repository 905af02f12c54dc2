"""Writes numbers for people: counts, tokens, money, shares, durations and times.

What is not known is said in words, never written as 0.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime, tzinfo
from decimal import ROUND_HALF_EVEN, Decimal

UNKNOWN = "unknown"
_CENT, _LEAST = Decimal("0.01"), Decimal("0.0001")
_UNITS = ((10**9, "B"), (10**6, "M"), (10**3, "k"))


def full(number: int | None) -> str:
    """18,214,002"""
    return UNKNOWN if number is None else f"{number:,}"


def short(number: int | None) -> str:
    """18.2 M: three digits. Below 10,000 as it stands."""
    if number is None:
        return UNKNOWN
    if abs(number) < 10_000:
        return f"{number:,}"
    for unit, letter in _UNITS:
        # 999,950 is 1.00 M, not 1000 k
        if abs(number) >= unit * 0.9995:
            value = number / unit
            digits = 2 if abs(value) < 9.995 else 1 if abs(value) < 99.95 else 0
            return f"{value:,.{digits}f} {letter}"
    return f"{number:,}"


def both(number: int) -> str:
    """The full number with the short one beside it, where that is easier to read."""
    return full(number) if abs(number) < 100_000 else f"{full(number)} ({short(number)})"


def count(number: int, noun: str, plural: str | None = None) -> str:
    """1 step, 2 steps"""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def money(amount: Decimal | None) -> str:
    """Dollars and cents, small sums to a hundredth of a cent; a sum is never shown as $0.00."""
    if amount is None:
        return UNKNOWN
    if amount < 0:
        return "-" + money(-amount)
    if 0 < amount < _CENT:
        small = amount.quantize(_LEAST, ROUND_HALF_EVEN)
        if small < _CENT:
            return f"${small:f}" if small else f"<${_LEAST}"
    return f"${amount.quantize(_CENT, ROUND_HALF_EVEN):,f}"


def exact(amount: Decimal) -> str:
    """The exact decimal, without exponent or trailing zeros."""
    text = f"{amount:f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


def share(part: float | None) -> str:
    """49 %. Neither 0 nor 100 unless it is just that."""
    if part is None or not math.isfinite(part):
        return UNKNOWN
    percent = part * 100
    if 0 < percent < 1:
        return "<1 %"
    if 99 < percent < 100:
        return ">99 %"
    return f"{percent:.0f} %"


def duration(seconds: float | None) -> str:
    """0.4 s, 12 s, 47 min, 2 h 05 min, 3 d 4 h"""
    if seconds is None or not math.isfinite(seconds):
        return UNKNOWN
    if seconds < 0:
        return "-" + duration(-seconds)
    if 0 < seconds < 0.05:
        return "<0.1 s"
    if seconds < 9.95:
        return f"{seconds:.1f} s".replace(".0 s", " s")
    if round(seconds) < 120:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 120:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes:02d} min"
    days, hours = divmod(round(seconds / 3600), 24)
    return f"{days} d {hours} h"


def moment(at: float | None, zone: tzinfo, *, date: bool = True, seconds: bool = True) -> str:
    """2026-05-01 14:07:31, in `zone`. Times outside of the calendar are unknown."""
    when = _datetime(at, zone)
    if when is None:
        return "time unknown"
    pattern = ("%Y-%m-%d " if date else "") + ("%H:%M:%S" if seconds else "%H:%M")
    return when.strftime(pattern)


def iso(at: float | None) -> str | None:
    """ISO 8601 in UTC, to the microsecond; None stays None."""
    when = _datetime(at, UTC)
    return None if when is None else when.isoformat().replace("+00:00", "Z")


def _datetime(at: float | None, zone: tzinfo) -> datetime | None:
    if at is None or not math.isfinite(at):
        return None
    try:
        return datetime.fromtimestamp(at, zone)
    except (OverflowError, ValueError, OSError):
        return None
