"""What later responses re-sent because of a loop: its output and results stay in the context.

A redundant step leaves its output and its results (characters / 4) in the context. Every later
response of the run sends them again, until a compaction. What redundant responses themselves send
again is in the waste already and not counted here, so that waste and carried cost can be added. No
response carries more than its whole input. An estimate, always.
"""

from __future__ import annotations

from dataclasses import replace

from loopaudit.model import BUCKETS, Usage
from loopaudit.money import PriceBook
from loopaudit.replay.audit import AuditedRun
from loopaudit.replay.results import UNKNOWN
from loopaudit.replay.totals import estimated_tokens

_OUTPUT = BUCKETS.index("output")
#: from which bucket re-sent tokens are taken: what was sent before is read from a cache, if any
_ORDER = ("cache_read", "fresh_input", "cache_write_5m", "cache_write_1h", "cache_write_unsplit")


def carried(item: AuditedRun, book: PriceBook) -> tuple[list[int], list[int]]:
    """Tokens and picodollars that each step of a run carries; `UNKNOWN` where there are none."""
    table = item.found.columns
    tokens, money = [UNKNOWN] * len(table), [UNKNOWN] * len(table)
    redundant = {entry.step: entry.part for entry in item.summary.waste.steps}
    load, memory = 0, 0
    for i in item.priced.own if redundant else ():
        if table.memory[i] != memory:
            load, memory = 0, table.memory[i]
        part = redundant.get(i, 0.0)
        output = max(table.buckets[_OUTPUT][i], 0)
        if load and part < 1 and table.total[i] != UNKNOWN:
            tokens[i] = round(min(load, table.total[i] - output) * (1 - part))
            money[i] = _price(item, i, tokens[i], book)
        if part:
            said = output or estimated_tokens(table.said[i])
            load += round((said + estimated_tokens(table.heard[i])) * part)
    return tokens, money


def _price(item: AuditedRun, step: int, tokens: int, book: PriceBook) -> int:
    """What the response would have cost less without these tokens."""
    table, cost = item.found.columns, item.priced.cost[step]
    model, usage = table.models[table.model[step]], table.usage(step)
    if cost == UNKNOWN or model is None or usage is None:
        return UNKNOWN
    at = table.at[step]
    rates = book.rates(model, None if at != at else at, table.services[table.service[step]])
    without = None if rates is None else rates.cost(_less(usage, tokens))
    return UNKNOWN if without is None else max(0, cost - without)


def _less(usage: Usage, tokens: int) -> Usage:
    """`usage` with `tokens` taken out of its input."""
    rest = replace(usage)
    for name in _ORDER:
        there = getattr(rest, name)
        if there:
            taken = min(there, tokens)
            setattr(rest, name, there - taken)
            tokens -= taken
    return rest
