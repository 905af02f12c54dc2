"""Reads a provider's usage or cost export (CSV): tokens and money per UTC day and model.

Columns are found by the names that the consoles of Anthropic and OpenAI use, or as settings say:

    [reconcile]
    day = "usage_date_utc"              # a date, a time or seconds since the epoch
    model = "model"
    cost = "cost_usd"                   # USD
    fresh_input = "input"               # outside the cache …
    input_with_cache = "input_tokens"   # … or all of it
    cache_read = "…"                    # also cache_write, cache_write_5m, cache_write_1h, output
    tokens = "total_tokens"             # where there is nothing but a total
    [reconcile.models]
    "Our model" = "name-in-the-logs"
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from pathlib import Path

from loopaudit.errors import InputError
from loopaudit.model import Usage
from loopaudit.money import pico
from loopaudit.settings import Settings

#: names of columns in the exports of Anthropic's console (usage, cost) and OpenAI's (usage of
#: completions, costs), spaces written as `_`; the first one there counts
GUESSES: dict[str, tuple[str, ...]] = {
    "day": ("usage_date_utc", "usage_date_(utc)", "start_time_iso", "start_time", "date", "day"),
    "model": ("model_version", "model", "model_name", "line_item"),
    "cost": ("cost_usd", "cost_(usd)", "amount_value", "cost", "amount"),
    "currency": ("amount_currency", "currency"),
    "fresh_input": ("usage_input_tokens_no_cache", "uncached_input_tokens", "input_tokens"),
    "input_with_cache": ("input_tokens",),
    "cache_read": (
        "usage_input_tokens_cache_read",
        "input_cached_tokens",
        "cache_read_input_tokens",
    ),
    "cache_write_5m": ("usage_input_tokens_cache_write_5m",),
    "cache_write_1h": ("usage_input_tokens_cache_write_1h",),
    "cache_write": (
        "usage_input_tokens_cache_write",
        "input_cache_write_tokens",
        "cache_creation_input_tokens",
    ),
    "output": ("usage_output_tokens", "output_tokens"),
    "tokens": ("total_tokens", "tokens"),
}
#: OpenAI counts cached tokens inside the input; its exports are known by this column
_CACHED_INSIDE = "input_cached_tokens"
_NO_TOKENS = ("day", "model", "cost", "currency")
_DAY = re.compile(r"(\d{4})[-/](\d{1,2})[-/](\d{1,2})", re.ASCII)


@dataclass(slots=True)
class Billed:
    """What an export says of one day and model; money in picodollars."""

    tokens: int | None = None
    pico: int | None = None
    usage: Usage = field(default_factory=Usage)


@dataclass(slots=True)
class Export:
    path: str
    columns: dict[str, str]  # what is read -> name of its column
    billed: dict[tuple[str, str], Billed] = field(default_factory=dict)  # by day and model as named
    unreadable: list[tuple[int, str]] = field(default_factory=list)  # line, reason

    @property
    def has_money(self) -> bool:
        return "cost" in self.columns

    @property
    def has_tokens(self) -> bool:
        return any(name not in _NO_TOKENS for name in self.columns)


def read_export(path: str, settings: Settings) -> Export:
    """Raises `InputError` where the file cannot be used, `ConfigError` for a wrong setting."""
    try:
        with Path(path).open(encoding="utf-8-sig", errors="replace", newline="") as stream:
            rows = csv.reader(stream)
            header = next(rows, [])
            export = Export(path, _columns(path, header, settings))
            places = {what: header.index(name) for what, name in export.columns.items()}
            for row in rows:
                if any(cell.strip() for cell in row):
                    _add(export, places, row, rows.line_num)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
    except csv.Error as error:
        raise InputError(f"{path}: no CSV: {error}") from None
    return export


def _columns(path: str, header: Sequence[str], settings: Settings) -> dict[str, str]:
    """What is read from which column."""
    table = settings.reader("reconcile")
    table.only((*GUESSES, "models"))
    found: dict[str, str] = {}
    for what in GUESSES:
        name = table.text(what)
        if name is not None:
            if name not in header:
                raise table.wrong(what, f"{what}: {path} has no column {name!r}", _shown(header))
            found[what] = name
    plain = {name.strip().lower().replace(" ", "_"): name for name in reversed(header)}
    own = set(found)
    for what, names in GUESSES.items():
        guess = next((plain[name] for name in names if name in plain), None)
        if what not in own and guess is not None:
            found[what] = guess
    inside = "input_with_cache" in own or ("fresh_input" not in own and _CACHED_INSIDE in plain)
    found.pop("fresh_input" if inside else "input_with_cache", None)
    for what in ("day", "model"):
        if what not in found:
            raise InputError(
                f"{path}: no column for the {what}", f"{_shown(header)}; name it in [reconcile]"
            )
    if all(what in ("day", "model", "currency") for what in found):
        raise InputError(
            f"{path}: no column with tokens or cost", f"{_shown(header)}; name it in [reconcile]"
        )
    return found


def _shown(header: Sequence[str]) -> str:
    names = ", ".join(header[:12])
    return f"its columns: {names}{' …' if len(header) > 12 else ''}" if names else "it is empty"


def _add(export: Export, places: Mapping[str, int], row: Sequence[str], line: int) -> None:
    cells = {what: row[place].strip() if place < len(row) else "" for what, place in places.items()}
    day = _day(cells["day"])
    if day is None:
        export.unreadable.append((line, f"no day: {cells['day'][:40]!r}"))
        return
    currency = cells.get("currency", "")
    if currency and currency.lower() != "usd":
        export.unreadable.append((line, f"not in USD: {currency[:40]!r}"))
        return
    numbers: dict[str, Decimal] = {}
    for what in cells.keys() - {"day", "model", "currency"}:
        value = _number(cells[what])
        if value is None:
            export.unreadable.append((line, f"{export.columns[what]}: {cells[what][:40]!r}"))
            return
        numbers[what] = value
    model = cells["model"]
    if export.columns["model"].strip().lower() == "line_item":
        model = model.partition(",")[0].strip()  # "gpt-4o-2024-08-06, cached input"
    billed = export.billed.setdefault((day, model), Billed())
    if "cost" in numbers:
        billed.pico = (billed.pico or 0) + pico(numbers.pop("cost"))
    if numbers:
        _count(billed, {what: int(value) for what, value in numbers.items()})


def _count(billed: Billed, tokens: dict[str, int]) -> None:
    usage = billed.usage
    if "input_with_cache" in tokens:
        inside = ("cache_read", "cache_write", "cache_write_5m", "cache_write_1h")
        cached = sum(tokens.get(what, 0) for what in inside)
        tokens["fresh_input"] = max(tokens.pop("input_with_cache") - cached, 0)
    if "cache_write" in tokens:
        tokens["cache_write_unsplit"] = tokens.pop("cache_write")
    total = tokens.pop("tokens", None)
    for bucket, number in tokens.items():
        setattr(usage, bucket, (getattr(usage, bucket) or 0) + number)
    if tokens:
        total = sum(tokens.values())
    billed.tokens = (billed.tokens or 0) + (total or 0)


def _day(text: str) -> str | None:
    """The UTC day of a date, a time, or seconds since the epoch."""
    try:
        if re.fullmatch(r"\d{9,11}(\.\d+)?", text, re.ASCII):
            return datetime.fromtimestamp(float(text), UTC).date().isoformat()
        if "T" in text or ":" in text:
            at = datetime.fromisoformat(text)
            return (at.astimezone(UTC) if at.tzinfo else at).date().isoformat()
        match = _DAY.fullmatch(text)
        if match:
            return datetime(int(match[1]), int(match[2]), int(match[3])).date().isoformat()
    except (ValueError, OverflowError):
        pass
    return None


def _number(text: str) -> Decimal | None:
    """A number with or without thousands separators or a dollar sign; an empty cell is 0."""
    try:
        value = Decimal(text.replace(",", "").replace("$", "").strip() or 0)
    except InvalidOperation:
        return None
    return value if value.is_finite() and abs(value) < 10**18 else None
