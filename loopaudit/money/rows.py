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
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fnmatch import fnmatchcase
from typing import Any

from loopaudit.errors import ConfigError
from loopaudit.money.offers import DAY, Offer
from loopaudit.money.rates import MODES, THINKING, Tier, per_thousand, per_token

#: (index of the row, key) -> file and line, for messages
Place = Callable[[int, str], tuple[str, int | None]]

_TOKEN_PRICES = ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h")
_PRICES = (*_TOKEN_PRICES, "cache_write", "web_search", "request")
_TERMS = ("model", "service", "mode", "from", "until", "hours", "weekdays", "over", "source")
_DEAREST = 10**6  # USD per million tokens: anything above is a mistake of units


@dataclass(frozen=True, slots=True)
class Row:
    """A price row: which models and services it fits, and its prices."""

    globs: tuple[str, ...]
    steps: tuple[tuple[int, Mapping[str, int | None]], ...]  # over how many tokens -> prices
    terms: Offer  # when it holds, and all that needs no tier
    service: str | None = None
    mode: str | None = None

    def fits(self, names: Iterable[str]) -> bool:
        return any(fnmatchcase(name, glob) for name in names for glob in self.globs)

    def offer(self, model: str) -> Offer:
        """The offer for a model; what the row leaves out follows the rules of `tier`."""
        return replace(self.terms, tiers=tuple(tier(over, model, p) for over, p in self.steps))


def read(rows: Any, source: str, place: Place | None = None) -> list[Row]:
    """Rows of a table. Raises `ConfigError` with the place of the first thing that is wrong."""
    if not isinstance(rows, Sequence) or isinstance(rows, str):
        raise _error(place, 0, "model", "[[prices.model]] must be a list of tables")
    return [_Reader(row, number, source, place).row() for number, row in enumerate(rows)]


def _error(place: Place | None, number: int, key: str, message: str, hint: str = "") -> ConfigError:
    path, line = place(number, key) if place else ("", None)
    where = "" if path else f"prices.model {number + 1}: "
    return ConfigError(where + message, hint, path=path, line=line)


class _Reader:
    """One row being read, so that every complaint knows its place."""

    def __init__(self, row: Any, number: int, source: str, place: Place | None) -> None:
        self.number, self.source, self.place = number, source, place
        if not isinstance(row, Mapping):
            raise self.wrong("model", "a price must be a table")
        self.values = row

    def wrong(self, key: str, message: str, hint: str = "") -> ConfigError:
        return _error(self.place, self.number, key, f"[[prices.model]] {message}", hint)

    def row(self) -> Row:
        values = self.values
        for key in values:
            if key not in _PRICES and key not in _TERMS:
                known = ", ".join((*_TERMS, *_PRICES))
                raise self.wrong(key, f"has no key {key!r}", f"known: {known}")
        globs = self.texts("model", values.get("model"))
        mode = values.get("mode")
        if mode is not None and mode not in (*MODES, THINKING):
            known = ", ".join((*MODES, THINKING))
            raise self.wrong("mode", f"mode must be one of {known}, not {repr(mode)[:40]}")
        base = self.prices(values, "")
        for key in ("input", "output"):
            if base.get(key) is None:
                raise self.wrong(key if key in values else "model", f"{key} is missing")
        terms = Offer(
            tiers=(),
            source=self.source,
            web_search=self.optional("web_search", per_thousand),
            request=self.optional("request", per_thousand) or 0,
            start=self.moment("from", -math.inf, 0),
            end=self.moment("until", math.inf, 1),
            hours=self.hours(),
            weekdays=self.flag("weekdays"),
            label=globs[0],
        )
        if terms.start >= terms.end:
            raise self.wrong("until", "until lies before from")
        return Row(globs, self.steps(base), terms, self.text("service"), mode)

    def prices(self, values: Mapping[str, Any], where: str) -> dict[str, int | None]:
        found: dict[str, int | None] = {}
        for key in _TOKEN_PRICES:
            found[key] = self.amount(values, key, where, per_token)
        both = self.amount(values, "cache_write", where, per_token)
        if both is not None and found["cache_write_5m"] is None:
            found["cache_write_5m"] = both
        return found

    def amount(
        self, values: Mapping[str, Any], key: str, where: str, scale: Callable[[Decimal], int]
    ) -> int | None:
        value = values.get(key)
        if value is None:
            return None
        right = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
        if not right or not math.isfinite(value) or not 0 <= value <= _DEAREST:
            shown = repr(value)[:40]
            raise self.wrong(key, f"{where}{key} must be a price in USD, 0 or more, not {shown}")
        return scale(Decimal(str(value)))

    def optional(self, key: str, scale: Callable[[Decimal], int]) -> int | None:
        return self.amount(self.values, key, "", scale)

    def steps(
        self, base: Mapping[str, int | None]
    ) -> tuple[tuple[int, Mapping[str, int | None]], ...]:
        found = [(-1, base)]
        steps = self.values.get("over", [])
        if not isinstance(steps, list):
            raise self.wrong("over", "over must be a list of tables with `tokens`")
        for step in steps:
            if not isinstance(step, Mapping):
                raise self.wrong("over", "over must be a list of tables with `tokens`")
            for key in step:
                if key not in (*_TOKEN_PRICES, "cache_write", "tokens"):
                    raise self.wrong("over", f"over has no key {key!r}")
            size = step.get("tokens")
            if type(size) is not int or size <= found[-1][0]:
                raise self.wrong("over", "over.tokens must be whole numbers, each larger")
            given = {k: v for k, v in self.prices(step, "over.").items() if v is not None}
            # a price that a step does not name stays; a cache price follows its own input price
            kept = {"output": base["output"]} if "input" in given else base
            found.append((size, {**kept, **given}))
        return tuple(found)

    def texts(self, key: str, value: Any) -> tuple[str, ...]:
        many = value if isinstance(value, list) else [value]
        if not many or not all(isinstance(v, str) and v.strip() for v in many):
            raise self.wrong(key, f"{key} must be the name of a model, or a glob such as claude-*")
        return tuple(v.strip().lower() for v in many)

    def text(self, key: str) -> str | None:
        value = self.values.get(key)
        if value is not None and not (isinstance(value, str) and value.strip()):
            raise self.wrong(key, f"{key} must be a text")
        return value.strip().lower() if value else None

    def flag(self, key: str) -> bool:
        value = self.values.get(key, False)
        if not isinstance(value, bool):
            raise self.wrong(key, f"{key} must be true or false")
        return value

    def moment(self, key: str, default: float, days: int) -> float:
        """A date-time as it is; a date as its midnight in UTC, plus `days`."""
        value = self.values.get(key)
        if value is None:
            return default
        if isinstance(value, str):
            with suppress(ValueError):
                value = date.fromisoformat(value) if len(value) == 10 else _moment(value)
        if isinstance(value, datetime):
            return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
        if isinstance(value, date):
            midnight = datetime(value.year, value.month, value.day, tzinfo=UTC)
            if days and midnight.year == 9999:
                return math.inf
            return (midnight + timedelta(days=days)).timestamp()
        raise self.wrong(key, f"{key} must be a date such as 2026-01-31, not {repr(value)[:40]}")

    def hours(self) -> tuple[tuple[int, int], ...]:
        value = self.values.get("hours", [])
        found = []
        for span in value if isinstance(value, list) else [value]:
            first, _, last = str(span).partition("-")
            try:
                found.append((_second_of_day(first), _second_of_day(last)))
            except ValueError:
                message = f'hours must be spans in UTC such as "01:00-04:00", not {span!r}'
                raise self.wrong("hours", message) from None
        return tuple(found)


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _second_of_day(text: str) -> int:
    hour, colon, minute = text.strip().partition(":")
    second = int(hour) * 3600 + int(minute) * 60
    if not colon or not 0 <= second <= DAY or not 0 <= int(minute) < 60:
        raise ValueError(text)
    return second


def tier(over: int, model: str, prices: Mapping[str, int | None]) -> Tier:
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
