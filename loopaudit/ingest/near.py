"""Which formats a log that no reader knows comes nearest to, and what it lacks of them.

`near.toml` holds the keys that records of each format have, taken from the sample logs (its test
does that). Keys that many formats share tell little, and weigh little.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.resources import files
from itertools import islice
from typing import Any, NamedTuple

_RECORDS = 64
_KEYS = 200  # of one log
_LEAST = 0.25  # below, nothing is near
#: against a key that no other format has: one that the format has not, one that the log has not
#: (formats have records of many kinds)
_OTHER, _LACKING = 0.2, 0.05
_MOST = 3  # formats, and keys of one


class Near(NamedTuple):
    format: str
    has: tuple[str, ...]
    lacks: tuple[str, ...]

    def __str__(self) -> str:
        lacks = f", not {', '.join(self.lacks[:_MOST])}" if self.lacks else ""
        return f"{self.format} (has {', '.join(self.has[:_MOST])}{lacks})"


@cache
def known() -> dict[str, frozenset[str]]:
    """Format -> keys of its records, those one level down with a dot."""
    text = (files("loopaudit.ingest") / "near.toml").read_text("utf-8")
    return {name: frozenset(keys) for name, keys in tomllib.loads(text).items()}


def keys_of(records: Iterable[Any]) -> set[str]:
    """The keys of records, those of tables in them with a dot; of a list those of its parts."""
    found: set[str] = set()
    for value in islice(_tables(records), _RECORDS):
        for key, below in islice(value.items(), _KEYS):
            if isinstance(key, str) and len(key) <= 40:
                found.add(key)
                if isinstance(below, dict):
                    found |= {
                        f"{key}.{name}"
                        for name in islice(below, _KEYS)
                        if isinstance(name, str) and len(name) <= 40
                    }
    return found


def _tables(records: Iterable[Any]) -> Iterator[dict[Any, Any]]:
    for record in records:
        for part in record if isinstance(record, list) else (record,):
            if isinstance(part, dict):
                yield part


def nearest(records: Iterable[Any]) -> list[Near]:
    """At most three formats, the nearest first; none where nothing telling is shared."""
    mine = keys_of(records)
    shared = Counter(key for keys in known().values() for key in keys)

    def weight(keys: Iterable[str]) -> float:
        return sum(1 / (shared[key] or 1) for key in keys)

    ranked = []
    for name, keys in known().items():
        both = mine & keys
        if both:
            other = _OTHER * len(mine - keys) + _LACKING * len(keys - mine)
            near = weight(both) / (weight(both) + other)
            ranked.append((near, name, both, keys - mine))
    ranked.sort(key=lambda one: (-one[0], one[1]))

    def telling(keys: set[str] | frozenset[str]) -> tuple[str, ...]:
        return tuple(sorted(keys, key=lambda key: (key.count("."), shared[key], key)))

    return [
        Near(name, telling(has), telling(lacks))
        for near, name, has, lacks in ranked[:_MOST]
        if near >= _LEAST
    ]
