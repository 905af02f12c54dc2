"""Prices of one model at one time as integers, and the exact cost of a response."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

from loopaudit.model import Usage

#: how a request may be served, other than the standard way, at a price of its own
MODES = ("batch", "fast", "flex", "priority")

#: output at another price when the model reasons first: known by reasoning tokens, not by a note
THINKING = "thinking"

PICO = 12  # 1 USD is 10^12 picodollars
_PER_TOKEN = 6  # 1 USD per million tokens is 10^6 picodollars a token


class Tier(NamedTuple):
    """Picodollars a token, for requests whose whole input is more than `over` tokens.

    `over` is -1 for the lowest tier. A tier holds for every token of its request. `input` or
    `output` is None where the list has no such price.
    """

    over: int
    input: int | None
    output: int | None
    cache_read: int | None
    cache_write_5m: int | None
    cache_write_1h: int | None


@dataclass(frozen=True, slots=True)
class Rates:
    """What one model cost at one time, and by which rule the price was found."""

    model: str  # id in the price list, or the glob of the user's row
    provider: str
    source: str  # whose list
    rule: str  # how the logged name became that id, for `explain`
    tiers: tuple[Tier, ...]  # by rising `over`
    web_search: int | None = None  # picodollars a search
    request: int = 0  # picodollars a request
    mode: str | None = None
    modes: Mapping[str, Rates] = field(
        default_factory=dict
    )  # those of MODES, and THINKING, that have a price of their own

    def cost(self, usage: Usage) -> int | None:
        """Picodollars of one response. None: no usage, or a bucket or mode without a price."""
        if usage.note is not None:
            mode = mode_of(usage.note)
            if mode is not None and mode != self.mode:
                special = self.modes.get(mode)
                return None if special is None else special.cost(usage)
        if usage.reasoning and THINKING in self.modes:
            return self.modes[THINKING].cost(usage)
        fresh, read, output = usage.fresh_input, usage.cache_read, usage.output
        short, long, unsplit = (
            usage.cache_write_5m,
            usage.cache_write_1h,
            usage.cache_write_unsplit,
        )
        tiers = self.tiers
        tier = tiers[0]
        if len(tiers) > 1:
            size = (fresh or 0) + (read or 0) + (short or 0) + (long or 0) + (unsplit or 0)
            for higher in tiers[1:]:
                if size > higher.over:
                    tier = higher
        _, of_input, of_output, of_read, of_short, of_long = tier
        total = self.request
        if fresh:
            if of_input is None:
                return None
            total += fresh * of_input
        if output:
            if of_output is None:
                return None
            total += output * of_output
        if read:
            if of_read is None:
                return None
            total += read * of_read
        if short or unsplit:  # a write whose lifetime is not told is priced as a 5-minute one
            if of_short is None:
                return None
            total += ((short or 0) + (unsplit or 0)) * of_short
        if long:
            if of_long is None:
                return None
            total += long * of_long
        if usage.web_searches and self.web_search is not None:
            total += usage.web_searches * self.web_search
        if total == self.request and usage.total is None:
            return None
        return total

    def caveats(self, usage: Usage) -> list[str]:
        """Why the cost of this response may be too low, in words for a report."""
        found = []
        if usage.cache_write_unsplit and any(
            t.cache_write_1h != t.cache_write_5m for t in self.tiers
        ):
            found.append("cache write split unknown: taken at the 5-minute rate")
        if usage.web_searches and self.web_search is None:
            found.append("web searches have no price in the list")
        return found

    def as_mode(self, mode: str) -> Rates:
        """These prices, said to be those of `mode`."""
        return replace(self, mode=mode, modes={})


@lru_cache(maxsize=4096)
def mode_of(note: str) -> str | None:
    """The mode that a usage note names: the whole note, or one of its parts between `;` or `,`."""
    for part in note.replace(",", ";").split(";"):
        word = part.strip().lower()
        if word in MODES:
            return word
    return None


def per_token(price: Decimal) -> int:
    """USD per million tokens -> picodollars a token; finer prices are rounded to the nearest."""
    return to_integer(price, _PER_TOKEN)


def per_thousand(price: Decimal) -> int:
    """USD per 1,000 requests -> picodollars a request."""
    return to_integer(price, PICO - 3)


def pico(amount: Decimal) -> int:
    """USD -> picodollars, rounded to the nearest where the amount is finer."""
    return to_integer(amount, PICO)


def to_integer(amount: Decimal, places: int) -> int:
    """`amount` · 10^places as an integer; half to even. Exact whatever the size of the number."""
    sign, digits, exponent = amount.as_tuple()
    if not isinstance(exponent, int):
        raise ValueError(f"not a finite amount: {amount}")
    number = int("".join(map(str, digits)))
    shift = exponent + places
    if shift >= 0:
        number *= 10**shift
    else:
        number = _divide(number, 10**-shift)
    return -number if sign else number


def _divide(number: int, by: int) -> int:
    whole, rest = divmod(number, by)
    return whole + (2 * rest > by or (2 * rest == by and whole % 2 == 1))


def usd(amount: int) -> Decimal:
    """Picodollars -> exact USD, without superfluous zeros but never fewer than two decimals."""
    exponent = -PICO
    while exponent < -2 and amount % 10 == 0:
        amount //= 10
        exponent += 1
    sign = int(amount < 0)
    return Decimal((sign, tuple(map(int, str(abs(amount)))), exponent))
