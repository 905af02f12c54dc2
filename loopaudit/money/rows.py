"""Reads price rows as written in TOML, ours (`prices.toml`) and a user's `[[prices.model]]`.

A row has `model` (a glob, or a list of globs) and USD per million tokens for `input` and `output`
and, where the vendor has them, `cache_read`, `cache_write_5m` (or `cache_write`), `cache_write_1h`;
USD per 1,000 for `web_search` and `request`; `from` and `until` (a date is a whole day in UTC, both
days included; a date-time is a moment, `until` excluded); `hours = ["01:00-04:00"]` (UTC) and
`weekdays = true` for prices by the time of day; `over = [{ tokens = 200000, input = 6, … }]` for
requests whose whole input is larger; `mode` (batch, fast, flex, priority, thinking); `service`, a
glob on who served the request; `source`, a note. Of several rows that fit, the last holds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fnmatch import fnmatchcase
from typing import Any

from loopaudit.money.offers import DAY, Offer
from loopaudit.money.rates import MODES, THINKING, Tier, per_thousand, per_token
from loopaudit.settings import Place, Table

_BY_TOKEN = ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h", "cache_write")
_TERMS = ("model", "service", "mode", "from", "until", "hours", "weekdays", "over", "source")
_DEAREST = 10**6  # USD per million tokens: anything above is a mistake of units

#: USD per million tokens as integers; None where the row does not say
Prices = Mapping[str, int | None]


@dataclass(frozen=True, slots=True)
class Row:
    """A price row: which models and services it fits, and its prices."""

    globs: tuple[str, ...]
    steps: tuple[tuple[int, Prices], ...]  # over how many tokens -> prices
    terms: Offer  # when it holds, and all that needs no tier
    service: str | None = None
    mode: str | None = None

    def fits(self, names: Iterable[str]) -> bool:
        return any(fnmatchcase(name, glob) for name in names for glob in self.globs)

    def offer(self, model: str) -> Offer:
        """The offer for a model; what the row leaves out follows the rules of `tier`."""
        return replace(self.terms, tiers=tuple(tier(over, model, p) for over, p in self.steps))


def read(table: Any, source: str, place: Place | None = None) -> list[Row]:
    """Rows of `[prices]`, or of a list of such rows. Raises `ConfigError` at the first fault."""
    prices = Table(table if isinstance(table, Mapping) else {"model": table}, "[prices]", place)
    prices.only(("model",))
    return [_row(row, source) for row in prices.tables("model")]


def _row(row: Table, source: str) -> Row:
    row.only((*_TERMS, *_BY_TOKEN, "web_search", "request"))
    globs = tuple(glob.strip().lower() for glob in row.texts("model"))
    if not globs:
        raise row.wrong(None, "model is missing", "the name of a model, or a glob as claude-*")
    base = _prices(row)
    for key in ("input", "output"):
        if base[key] is None:
            raise row.wrong(None, f"{key} is missing", "0 says that it is free")
    service = row.text("service")
    terms = Offer(
        tiers=(),
        source=source,
        web_search=_amount(row, "web_search", per_thousand),
        request=_amount(row, "request", per_thousand) or 0,
        start=_moment(row, "from", -math.inf),
        end=_moment(row, "until", math.inf, whole_day=True),
        hours=tuple(_hours(row, span) for span in row.texts("hours")),
        weekdays=row.flag("weekdays"),
        label=globs[0],
    )
    if terms.start >= terms.end:
        raise row.wrong("until", "until lies before from")
    row.text("source")
    return Row(
        globs,
        _steps(row, base),
        terms,
        service.lower() if service else None,
        row.text("mode", choices=(*MODES, THINKING)),
    )


def _prices(row: Table) -> dict[str, int | None]:
    found = {key: _amount(row, key, per_token) for key in _BY_TOKEN}
    short = found.pop("cache_write")
    if found["cache_write_5m"] is None:
        found["cache_write_5m"] = short
    return found


def _amount(row: Table, key: str, scale: Callable[[Decimal], int]) -> int | None:
    value = row.number(key, least=0, most=_DEAREST)
    return None if value is None else scale(Decimal(str(value)))


def _steps(row: Table, base: Prices) -> tuple[tuple[int, Prices], ...]:
    steps = [(-1, base)]
    for step in row.tables("over"):
        step.only(("tokens", *_BY_TOKEN))
        size = step.integer("tokens", least=0)
        if size is None or size <= steps[-1][0]:
            raise step.wrong("tokens", "tokens must be there, and larger from step to step")
        given = {key: value for key, value in _prices(step).items() if value is not None}
        # a price that a step leaves out stays; cache prices follow an input price of its own
        kept = {"output": base["output"]} if "input" in given else base
        steps.append((size, {**kept, **given}))
    return tuple(steps)


def _moment(row: Table, key: str, default: float, whole_day: bool = False) -> float:
    """A date-time as it is, a date as its midnight in UTC, or as its end."""
    value = row.values.get(key)
    if value is None:
        return default
    if isinstance(value, str):
        with suppress(ValueError):
            value = (date if len(value) == 10 else datetime).fromisoformat(value)
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
    if isinstance(value, date):
        if whole_day and value == date.max:
            return math.inf
        day = value + timedelta(days=1) if whole_day else value
        return datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()
    raise row.wrong(key, f"{key} must be a date such as 2026-01-31, not {str(value)[:40]!r}")


def _hours(row: Table, span: str) -> tuple[int, int]:
    first, _, last = span.partition("-")
    try:
        return _second_of_day(first), _second_of_day(last)
    except ValueError:
        message = f'hours must be spans in UTC such as "01:00-04:00", not {span[:40]!r}'
        raise row.wrong("hours", message) from None


def _second_of_day(text: str) -> int:
    hour, _, minute = text.partition(":")
    second = int(hour) * 3600 + int(minute) * 60
    if not 0 <= int(minute) < 60 or not 0 <= second <= DAY:
        raise ValueError(text)
    return second


def tier(over: int, model: str, prices: Prices) -> Tier:
    """A tier whose missing cache prices follow stated rules.

    Claude: the vendor's published multiples of the input price (a read 0.1, a 5-minute write 1.25,
    a 1-hour write 2; platform.claude.com, prompt caching). Others: no cache price means neither
    discount nor surcharge, so the input price; a 1-hour write then costs what a 5-minute one does.
    """
    base = prices.get("input")
    read, short, long = (
        prices.get(key) for key in ("cache_read", "cache_write_5m", "cache_write_1h")
    )
    if base is not None and "claude" in model:
        read = base // 10 if read is None else read
        short = base * 5 // 4 if short is None else short
        long = base * 2 if long is None else long
    read = base if read is None else read
    short = base if short is None else short
    long = short if long is None else long
    return Tier(over, base, prices.get("output"), read, short, long)
