"""Numbers for people: right to the last digit shown, and never 0 for what is not known."""

from __future__ import annotations

from datetime import UTC
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest

from loopaudit.render import figures as f


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        (None, "unknown"),
        (0, "0"),
        (9_999, "9,999"),
        (10_000, "10.0 k"),
        (99_950, "100 k"),
        (999_499, "999 k"),
        (999_950, "1.00 M"),
        (18_214_002, "18.2 M"),
        (344_000_000, "344 M"),
        (3_440_000_000, "3.44 B"),
    ],
)
def test_short(number: int | None, shown: str) -> None:
    assert f.short(number) == shown


def test_the_full_number_stands_beside_the_short_one() -> None:
    assert f.both(18_214_002) == "18,214,002 (18.2 M)"
    assert f.both(1_204) == "1,204"


@pytest.mark.parametrize(
    ("amount", "shown"),
    [
        (None, "unknown"),
        ("0", "$0.00"),
        ("0.000001", "<$0.0001"),
        ("0.0004", "$0.0004"),
        ("0.0099", "$0.0099"),
        ("0.00999", "$0.01"),
        ("0.01", "$0.01"),
        ("61.3987", "$61.40"),
        ("1234567.005", "$1,234,567.00"),  # half to even
        ("1E+2", "$100.00"),
        ("-0.001", "-$0.0010"),
    ],
)
def test_money(amount: str | None, shown: str) -> None:
    assert f.money(None if amount is None else Decimal(amount)) == shown


@pytest.mark.parametrize(
    ("amount", "shown"),
    [
        ("0.0225", "0.0225"),
        ("22.50", "22.5"),
        ("100", "100"),
        ("1E+2", "100"),
        ("0E-12", "0"),
        ("1E-12", "0.000000000001"),
    ],
)
def test_exact(amount: str, shown: str) -> None:
    assert f.exact(Decimal(amount)) == shown


@pytest.mark.parametrize(
    ("part", "shown"),
    [
        (None, "unknown"),
        (float("nan"), "unknown"),
        (0, "0 %"),
        (0.004, "<1 %"),
        (0.494, "49 %"),
        (0.996, ">99 %"),
        (1.0, "100 %"),
    ],
)
def test_share(part: float | None, shown: str) -> None:
    assert f.share(part) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (None, "unknown"),
        (float("inf"), "unknown"),
        (0, "0 s"),
        (0.0004, "<0.1 s"),
        (0.42, "0.4 s"),
        (12, "12 s"),
        (119.6, "2 min"),
        (2829, "47 min"),
        (7500, "2 h 05 min"),
        (3 * 86400 + 4 * 3600, "3 d 4 h"),
        (-5, "-5 s"),
    ],
)
def test_duration(seconds: float | None, shown: str) -> None:
    assert f.duration(seconds) == shown


def test_moments_are_shown_in_the_zone_asked_for() -> None:
    at = 1_774_740_600.0  # 2026-03-28T23:30Z, half an hour before Berlin's 29th
    assert f.moment(at, UTC) == "2026-03-28 23:30:00"
    assert f.moment(at, ZoneInfo("Europe/Berlin")) == "2026-03-29 00:30:00"
    assert f.moment(1e300, UTC) == "time unknown"
    assert f.moment(None, UTC) == "time unknown"


def test_iso_is_utc_and_null_where_there_is_no_time() -> None:
    assert f.iso(1_777_644_451.0) == "2026-05-01T14:07:31Z"
    assert f.iso(1_777_644_451.25) == "2026-05-01T14:07:31.250000Z"
    assert f.iso(None) is None
    assert f.iso(float("nan")) is None
