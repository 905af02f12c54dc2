"""Reads the maintained price list, `genai-prices`: offline, strictly, as integers.

The package matches names by prefix and substring, so that a new or unknown model would get an older
one's price. Here what is left of a name beyond the matched part must be a date or a version.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from loopaudit.money.offers import DAY, Offer, holding
from loopaudit.money.rates import Tier, per_thousand, per_token
from loopaudit.money.rows import tier

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo, Provider

_REST = re.compile(
    r"(?:[-@](?:\d{8}|\d{4}-\d{2}-\d{2}|\d{2}-\d{2}|\d{2}-\d{4}|\d{3}|latest|preview|exp"
    r"|(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])|v\d))*(?::\d)?"
)
_COMPACT_DATE = re.compile(r"-(20\d\d)(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(?=$|-)")

#: prices of things that a log's token counts do not tell apart: such models stay unpriced
_NOT_TOLD = (
    "output_image_mtok",
    "output_audio_mtok",
    "output_video_mtok",
    "output_citation_mtok",
    "output_reasoning_mtok",
)
_MODES = {
    "batch": {"processing": "batch"},
    "fast": {"speed": "fast", "service_tier": "fast"},
    "flex": {"service_tier": "flex"},
    "priority": {"service_tier": "priority"},
}
_NAMES = {
    "input": "input_mtok",
    "output": "output_mtok",
    "cache_read": "cache_read_mtok",
    "cache_write_5m": "cache_write_mtok",
    "cache_write_1h": "cache_write_1h_mtok",
}


@dataclass(frozen=True, slots=True)
class Listing:
    """A model of a list: its standard offers, the last that holds counts, and those by mode."""

    provider: str
    id: str
    offers: tuple[Offer, ...]
    modes: Mapping[str, tuple[Offer, ...]]

    def special(self, mode: str, at: float) -> Offer | None:
        """The offer for a mode. The date of a mode is when the list checked its price, not when it
        began: it also holds before, as long as the standard price was the same as on that date."""
        offers = self.modes.get(mode, ())
        chosen = holding(offers, at)
        if chosen is not None:
            return chosen
        standard = holding(self.offers, at)
        for offer in offers:
            checked = holding(self.offers, offer.start) if at < offer.start else None
            if checked and standard and checked.tiers == standard.tiers:
                return offer
        return None


class PriceList:
    """The package's data. Creating it imports the package, which takes a quarter of a second."""

    def __init__(self) -> None:
        from importlib.metadata import version

        from genai_prices.data_snapshot import get_snapshot

        self.source = f"genai-prices {version('genai-prices')}"
        self._providers: dict[str, Provider] = {p.id: p for p in get_snapshot().providers}

    def find(self, provider: str, name: str) -> Listing | None:
        """The model that `provider` lists under exactly this name, dates and versions aside."""
        seller = self._providers.get(provider)
        if seller is None:
            return None
        dashed = _COMPACT_DATE.sub(r"-\1-\2-\3", name)
        for spelling in (name, dashed) if dashed != name else (name,):
            for model in seller.models:
                if model.id.lower() == spelling or fits(model.match, spelling):
                    return self._listing(provider, model)
        return None

    def starts(self) -> set[float]:
        """The moments at which the list dates a price."""
        found = set()
        for provider in self._providers.values():
            for model in provider.models:
                prices = model.prices if isinstance(model.prices, list) else []
                for dated in (*prices, *(model.price_variants or ())):
                    start = _start(dated.constraint)
                    if math.isfinite(start):
                        found.add(start)
        return found

    def _listing(self, provider: str, model: ModelInfo) -> Listing | None:
        dated = (
            [(c.constraint, c.prices) for c in model.prices]
            if isinstance(model.prices, list)
            else [(None, model.prices)]
        )
        if any(getattr(prices, key, None) is not None for _, prices in dated for key in _NOT_TOLD):
            return None
        offers = [self._offer(model.id, constraint, prices) for constraint, prices in dated]
        if not any(t.input is not None for offer in offers for t in offer.tiers):
            return None
        offers[0] = replace(offers[0], start=-math.inf, hours=())  # holds where no other does
        modes: dict[str, list[Offer]] = {}
        for variant in reversed(model.price_variants or []):  # of several, the first counts
            start = _start(variant.constraint)
            standard = holding(offers, start) or offers[0]
            for mode, wanted in _MODES.items():
                if all(wanted.get(key) == value for key, value in variant.when.items()):
                    special = self._offer(model.id, variant.constraint, variant.prices, standard)
                    modes.setdefault(mode, []).append(special)
        return Listing(
            provider, model.id, tuple(offers), {mode: tuple(o) for mode, o in modes.items()}
        )

    def _offer(
        self, model_id: str, constraint: Any, prices: Any, standard: Offer | None = None
    ) -> Offer:
        """An offer; prices that a mode does not name are those of the `standard` one."""
        values = {name: getattr(prices, key, None) for name, key in _NAMES.items()}
        starts = sorted({t.start for v in values.values() for t in getattr(v, "tiers", ())})
        if standard is not None:
            starts = sorted({*starts, *(t.over for t in standard.tiers[1:])})
        tiers = []
        for over in (-1, *starts):
            found: dict[str, int | None] = {}
            for name, value in values.items():
                found[name] = _at(value, over)
                if found[name] is None and standard is not None:
                    plain = _tier_of(standard, over)
                    # caches without a price of their own cost what the input of the mode costs
                    own = name in ("input", "output") or getattr(plain, name) != plain.input
                    found[name] = getattr(plain, name) if own else None
            tiers.append(tier(over, model_id.lower(), found))
        searches = getattr(prices, "web_searches_kcount", None)
        requests = getattr(prices, "requests_kcount", None)
        return Offer(
            tiers=tuple(tiers),
            source=self.source,
            web_search=_thousand(searches, standard.web_search if standard else None),
            request=_thousand(requests, standard.request if standard else 0) or 0,
            start=_start(constraint),
            hours=_hours(constraint),
            label=model_id,
        )


def fits(clause: Any, name: str) -> bool:
    """Whether a matching clause of the package means this very name, dates and versions aside."""
    kind = type(clause).__name__
    if kind == "ClauseEquals":
        return bool(clause.equals.lower() == name)
    if kind == "ClauseOr":
        return any(fits(part, name) for part in clause.or_)
    if kind == "ClauseAnd":
        return bool(clause.is_match(name)) and any(fits(part, name) for part in clause.and_)
    if kind == "ClauseRegex":
        whole = clause.regex.startswith("^") and clause.regex.endswith("$")
        return whole and "(?!" not in clause.regex and bool(clause.is_match(name))
    if kind == "ClauseStartsWith":
        part = clause.starts_with.lower()
        return name.startswith(part) and _only_version(part, name[len(part) :])
    if kind == "ClauseEndsWith":
        part = clause.ends_with.lower()
        return name == part or name.endswith("/" + part)
    if kind == "ClauseContains":
        part = clause.contains.lower()
        head, found, rest = name.partition(part)
        return bool(found) and _is_region(head) and _only_version(part, rest)
    return False


def _only_version(matched: str, rest: str) -> bool:
    """Whether what follows the matched part is a date or version. A cut word counts whole."""
    if rest and rest[0].isalnum():
        rest = matched[matched.rfind("-") :] + rest if "-" in matched else "?" + rest
    return _REST.fullmatch(rest) is not None


def _is_region(head: str) -> bool:
    return not head or re.fullmatch(r"(?:[a-z-]+\.)*", head) is not None


def _at(price: Any, over: int) -> int | None:
    """A price in the tier above `over` tokens."""
    if price is None:
        return None
    if isinstance(price, Decimal):
        return per_token(price)
    chosen = price.base
    for step in price.tiers:
        if over >= step.start:
            chosen = step.price
    return per_token(chosen)


def _tier_of(offer: Offer, over: int) -> Tier:
    return next(t for t in reversed(offer.tiers) if t.over <= over)


def _thousand(price: Any, default: int | None) -> int | None:
    return per_thousand(price) if isinstance(price, Decimal) else default


def _start(constraint: Any) -> float:
    day = getattr(constraint, "start_date", None)
    if day is None:
        return -math.inf
    return datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()


def _hours(constraint: Any) -> tuple[tuple[int, int], ...]:
    """The daily interval of a constraint, in seconds of the UTC day."""
    if getattr(constraint, "start_time", None) is None:
        return ()
    seconds = []
    for time in (constraint.start_time, constraint.end_time):
        offset = time.utcoffset()
        second = time.hour * 3600 + time.minute * 60 + time.second
        seconds.append(int(second - (offset.total_seconds() if offset else 0)) % DAY)
    return ((seconds[0], seconds[1]),)
