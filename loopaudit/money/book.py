"""Finds the prices of a response by model, time and service, and remembers them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, date, datetime, time
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loopaudit.model import Usage
from loopaudit.money.names import LONGEST, PROVIDERS, Candidate, candidates, is_model
from loopaudit.money.offers import Offer, Periods, holding
from loopaudit.money.rates import MODES, THINKING, Rates, Tier, usd
from loopaudit.money.rows import Row, read
from loopaudit.settings import Place

if TYPE_CHECKING:
    from loopaudit.money.listed import Listing, PriceList

_FAR = 2.5e11  # seconds: no log has a time beyond the year 9891
_WORDS = re.compile(r"[^\s,;/|]+")
_OVERLAY = "loopaudit's own table"
_USER = "your price table"


class PriceBook:
    """List prices under a user's table.

    `user_rows` is the settings table `[prices]`, or a list of its rows (see `rows`); `place` tells
    where a key of it stands. What cannot be used raises `ConfigError`. Responses without a time are
    priced as of `today`. Can be pickled; the price list stays behind.
    """

    def __init__(
        self, user_rows: Any = (), today: date | None = None, place: Place | None = None
    ) -> None:
        self._rows = read(user_rows, _USER, place)
        self._today = today
        moment = datetime.combine(today, time(), UTC) if today else datetime.now(UTC)
        self._now = moment.timestamp()
        self._timelines: dict[tuple[str, str | None], _Timeline] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self._rows, self._today)

    def rates(self, model: str, at: float | None, service: str | None = None) -> Rates | None:
        """Prices of `model` at a time (epoch seconds). None: no list knows this name."""
        if not (type(at) is float and -_FAR < at < _FAR):
            at = self._moment(at)
        if type(service) is not str:
            service = None
        if type(model) is not str or len(model) > LONGEST:
            return None
        timeline = self._timelines.get((model, service))
        if timeline is None:
            timeline = self._timelines[model, service] = _Timeline(self._rows, model, service)
        return timeline.at(at)

    def cost(
        self, usage: Usage, model: str, at: float | None, service: str | None = None
    ) -> int | None:
        """Picodollars of one response. None: unpriced, or no usage."""
        rates = self.rates(model, at, service)
        return None if rates is None else rates.cost(usage)

    def price_date(
        self, last: float | None = None, dates: Sequence[float] | None = None
    ) -> str | None:
        """ISO date of the newest price in the list when the last response was made (None: today).

        Not later: the same logs would be shown with another date each time a price changes.
        None where the list dates no price as early as that. `dates`: see `dates`, where known.
        """
        today = self._now if last is None else min(last, self._now)
        newest = max((at for at in _dates(dates) if at <= today), default=0.0)
        return datetime.fromtimestamp(newest, UTC).date().isoformat() if newest > 0 else None

    @property
    def source(self) -> str:
        """Name and version of the list."""
        return _price_list().source

    def explain(self, model: str, at: float | None = None, service: str | None = None) -> list[str]:
        """How a logged name is read and what it costs, one line each."""
        if not is_model(model):
            return [f"{model!r} is not a model: a message that the client made; it costs nothing"]
        rates = self.rates(model, at, service)
        if rates is None:
            return _unknown(model, service)
        lines = [
            f"{model} is {rates.model} of {rates.provider}, by {rates.source}",
            f"rule: {rates.rule}",
        ]
        for shown in (rates, *rates.modes.values()):
            for tier in shown.tiers:
                lines.append(_prices(shown.mode or "standard", tier))
        if rates.web_search is not None:
            lines.append(f"web search: ${usd(rates.web_search * 1000)} per 1,000")
        return lines

    def _moment(self, at: object) -> float:
        if isinstance(at, int | float) and not isinstance(at, bool) and -_FAR < at < _FAR:
            return float(at)
        return self._now


def _again(rows: list[Row], today: date | None) -> PriceBook:
    book = PriceBook(today=today)
    book._rows = rows
    return book


class _Timeline:
    """The prices of one logged name as served by one service, over time."""

    def __init__(self, rows: list[Row], model: str, service: str | None) -> None:
        provider, self._mode = read_service(service)
        self._in_us = "us" in _WORDS.findall(service.lower() if service else "")
        self._readings = candidates(model, provider)
        names = {model.strip().lower(), *(reading.id for reading in self._readings)}
        known = is_model(model)
        fitting = [r for r in rows if known and r.fits(names) and _serves(r, service, provider)]
        self._user = [(r.mode, r.offer(model.lower())) for r in fitting]
        self._found: tuple[Candidate, Listing] | None = None
        self._loaded = False
        self._periods = Periods(offer for _, offer in self._user)
        self._cache: dict[tuple[int, int, int], Rates | None] = {}

    def at(self, at: float) -> Rates | None:
        key = self._periods.key(at)
        try:
            return self._cache[key]
        except KeyError:
            pass
        standard = self._own(None, at)
        if standard is None and not self._loaded:
            self._load()
            key = self._periods.key(at)
        rates = self._listed(at) if standard is None else self._from_user(standard, at)
        if rates is not None and self._mode is not None:
            rates = rates.modes.get(self._mode)
        self._cache[key] = rates
        return rates

    def _own(self, mode: str | None, at: float) -> Offer | None:
        return holding((offer for of, offer in self._user if of == mode), at)

    def _load(self) -> None:
        """Look the name up in the lists. Only here is the package imported."""
        self._loaded = True
        self._found = _look_up(self._readings)
        self._cache.clear()
        self._periods = Periods(self._offers())

    def _offers(self) -> Iterator[Offer]:
        yield from (offer for _, offer in self._user)
        if self._found:
            listing = self._found[1]
            yield from listing.offers
            for offers in listing.modes.values():
                yield from offers

    def _from_user(self, offer: Offer, at: float) -> Rates:
        """The user's price; without a row for a mode it is meant for all of them."""
        rates = _rates(offer, "you", offer.label, f"your row {offer.label!r}")
        modes = {}
        for mode in (*MODES, THINKING):
            own = self._own(mode, at)
            if own is None and mode == THINKING:
                continue
            special = _rates(own, "you", own.label, f"your row {own.label!r}") if own else rates
            modes[mode] = special.as_mode(mode)
        return replace(rates, modes=modes)

    def _listed(self, at: float) -> Rates | None:
        if self._found is None:
            return None
        reading, listing = self._found
        offer = holding(listing.offers, at)
        if offer is None:
            return None
        steps = [*reading.rules]
        if listing.id.lower() != reading.id:
            steps.append(f"`{reading.id}` is a date, version or alias of the list's `{listing.id}`")
        rule = "; ".join(steps) or "the name as the list has it"
        rates = _rates(offer, listing.provider, listing.id, rule)
        modes = {}
        for mode in (*MODES, THINKING):
            special = self._own(mode, at) or listing.special(mode, at)
            if special is not None:
                modes[mode] = _rates(special, listing.provider, listing.id, rule).as_mode(mode)
        if listing.provider == "anthropic":
            # platform.claude.com: batches cost half, cache prices included; the priority tier is a
            # commitment, its list price the standard one; inference in the US alone costs 1.1 times
            half = _scaled(rates, 1, 2, "batches cost half")
            modes.setdefault("batch", half.as_mode("batch"))
            modes.setdefault("priority", rates.as_mode("priority"))
        rates = replace(rates, modes=modes)
        if listing.provider == "anthropic" and self._in_us:
            rates = _scaled(rates, 11, 10, "1.1 times for inference in the US alone")
        return rates


def _look_up(readings: list[Candidate]) -> tuple[Candidate, Listing] | None:
    """The first reading that a list knows; our own table comes before the package's."""
    from loopaudit.money.listed import Listing

    overlay = _overlay()
    for reading in readings:
        own = [r for r in overlay if r.service == reading.provider and r.fits((reading.id,))]
        offers = tuple(r.offer(reading.id) for r in own if r.mode is None)
        listing = Listing(reading.provider, reading.id, offers, {}) if offers else None
        listing = listing or _price_list().find(reading.provider, reading.id)
        if listing is None:
            continue
        extra = [r for r in overlay if r.service == reading.provider and r.mode is not None]
        modes = dict(listing.modes)
        for mode in (*MODES, THINKING):
            rows = [r.offer(listing.id) for r in extra if r.mode == mode and r.fits((listing.id,))]
            if rows:
                modes[mode] = (*modes.get(mode, ()), *rows)
        return reading, replace(listing, modes=modes)
    return None


def _rates(offer: Offer, provider: str, model: str, rule: str) -> Rates:
    return Rates(
        model=model,
        provider=provider,
        source=offer.source,
        rule=rule,
        tiers=offer.tiers,
        web_search=offer.web_search,
        request=offer.request,
    )


def _scaled(rates: Rates, up: int, down: int, why: str) -> Rates:
    """All token prices times up/down, those of modes too."""
    tiers = tuple(
        Tier(t.over, *(None if price is None else price * up // down for price in t[1:]))
        for t in rates.tiers
    )
    modes = {mode: _scaled(special, up, down, why) for mode, special in rates.modes.items()}
    return replace(rates, tiers=tiers, modes=modes, rule=f"{rates.rule}; {why}")


def read_service(service: str | None) -> tuple[str | None, str | None]:
    """The provider and the mode that a log's `service` names; other words say nothing of prices."""
    provider = mode = None
    for word in _WORDS.findall(service.lower() if service else ""):
        provider = provider or PROVIDERS.get(word)
        mode = mode or (word if word in MODES else None)
    return provider, mode


def _serves(row: Row, service: str | None, provider: str | None) -> bool:
    if row.service is None:
        return True
    return any(name and fnmatchcase(name.lower(), row.service) for name in (service, provider))


def _prices(mode: str, tier: Tier) -> str:
    named = zip(
        ("input", "output", "cache read", "5 min write", "1 h write"), tier[1:], strict=True
    )
    text = ", ".join(f"{name} ${usd(price * 10**6)}" for name, price in named if price is not None)
    above = f" above {tier.over:,} input tokens" if tier.over >= 0 else ""
    return f"{mode}{above}, per million tokens: {text}"


def _unknown(model: str, service: str | None) -> list[str]:
    lines = [f"{model} has no price: its tokens are counted as unpriced, never as 0"]
    provider, mode = read_service(service)
    readings: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for reading in candidates(model, provider):
        readings.setdefault((reading.id, reading.rules), []).append(reading.provider)
    for (name, rules), sellers in readings.items():
        why = f" ({'; '.join(rules)})" if rules else ""
        lines.append(f"not in the list: {name}{why}, of {', '.join(sellers)}")
    if mode:
        lines.append(f"or no price for {mode} mode")
    lines.append("a price of your own: [[prices.model]] in loopaudit.toml")
    return lines


def prepare() -> None:
    """Load what prices are looked up in, ahead of time; what goes wrong is told when it is used."""
    with suppress(Exception):
        _price_list()
        _overlay()


def dates() -> list[float]:
    """When the list says that a price began, epoch seconds, sorted."""
    return sorted(_price_list().starts())


def _dates(known: Sequence[float] | None) -> Sequence[float]:
    return dates() if known is None else known


@cache
def _price_list() -> PriceList:
    from loopaudit.money.listed import PriceList

    return PriceList()


@cache
def _overlay() -> list[Row]:
    import tomllib

    text = Path(__file__).with_name("prices.toml").read_text(encoding="utf-8")
    return read(tomllib.loads(text), _OVERLAY)
