"""Usage buckets -> exact dollars: dated list prices under a user's table; unpriced is never 0.

`PriceBook(user_rows).rates(model, at, service)` finds the prices of a response, `Rates.cost(usage)`
gives picodollars (1e-12 USD, exact integers), `usd(pico)` the exact `Decimal`. `None`: no price.
Prices come from the user's table, else from `prices.toml` beside this file (what the package lacks
or has wrong), else from the maintained package `genai-prices`, imported when it is first needed and
never over the network. Nothing is ever priced by a default.
"""

from loopaudit.money.book import PriceBook, dates, prepare
from loopaudit.money.names import is_model
from loopaudit.money.rates import MODES, Rates, Tier, pico, usd

__all__ = ["MODES", "PriceBook", "Rates", "Tier", "dates", "is_model", "pico", "prepare", "usd"]
