"""Typed reading of one table of settings, with messages that name file, line, table and key."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from loopaudit.errors import ConfigError

#: keys below a table -> path and line of what the user wrote
Place = Callable[..., tuple[str, int | None]]


class Table:
    """A table as written, read key by key; whatever cannot be used raises `ConfigError`.

    `name` is how it is written, `[report]` or `[[prices.model]]`; `keys` lead to it from where
    `place` starts.
    """

    def __init__(
        self, values: Any, name: str, place: Place | None = None, keys: tuple[str | int, ...] = ()
    ) -> None:
        self.name, self._place, self._keys = name, place, keys
        if not isinstance(values, Mapping):
            raise self.wrong(None, f"must be a table, not {_shown(values)}")
        self.values: Mapping[str, Any] = values

    def wrong(self, key: str | int | None, message: str, hint: str = "") -> ConfigError:
        """The error for a key, to be raised by the caller."""
        path, line = self.at() if key is None else self.at(key)
        return ConfigError(f"{self.name} {message}", hint, path=path, line=line)

    def at(self, *keys: str | int) -> tuple[str, int | None]:
        """Path and line of a key, or of the table."""
        return self._place(*self._keys, *keys) if self._place else ("", None)

    def only(self, known: Iterable[str]) -> None:
        """Refuse keys that nobody reads."""
        known = tuple(known)
        for key in self.values:
            if key not in known:
                hint = closest(key, known, f"known: {', '.join(known)}")
                raise self.wrong(key, f"has no key {key!r}", hint)

    def integer(self, key: str, default: int | None = None, least: int | None = None) -> int | None:
        value = self.values.get(key, default)
        if value is None or (type(value) is int and (least is None or value >= least)):
            return value
        words = {
            None: "a whole number",
            0: "a whole number, 0 or more",
            1: "a positive whole number",
        }
        wanted = words.get(least, f"a whole number, {least} or more")
        raise self.wrong(key, f"{key} must be {wanted}, not {_shown(value)}")

    def number(
        self,
        key: str,
        default: float | None = None,
        least: float = -math.inf,
        most: float = math.inf,
    ) -> float | None:
        """A finite number, whole or not, within [least, most]."""
        value = self.values.get(key, default)
        if value is None:
            return None
        right = isinstance(value, int | float) and not isinstance(value, bool)
        if right and math.isfinite(value) and least <= value <= most:
            return float(value) if isinstance(value, float) else value
        span = f" from {least:g}" if least > -math.inf else ""
        span += f" up to {most:g}" if most < math.inf else ""
        raise self.wrong(key, f"{key} must be a number{span}, not {_shown(value)}")

    def text(self, key: str, default: str | None = None, choices: Iterable[str] = ()) -> str | None:
        value = self.values.get(key, default)
        if value is None:
            return None
        if not isinstance(value, str) or not value.strip():
            raise self.wrong(key, f"{key} must be a text, not {_shown(value)}")
        known = tuple(choices)
        if known and value not in known:
            raise self.wrong(key, f"{key} must be one of {', '.join(known)}, not {_shown(value)}")
        return value

    def texts(self, key: str, default: tuple[str, ...] = ()) -> tuple[str, ...]:
        """A list of texts; a single one stands for a list of one."""
        value = self.values.get(key)
        if value is None:
            return default
        many = value if isinstance(value, list | tuple) else [value]
        for item in many:
            if not isinstance(item, str) or not item.strip():
                raise self.wrong(key, f"{key} must be a list of texts, not {_shown(value)}")
        return tuple(many)

    def flag(self, key: str, default: bool = False) -> bool:
        value = self.values.get(key, default)
        if not isinstance(value, bool):
            raise self.wrong(key, f"{key} must be true or false, not {_shown(value)}")
        return value

    def table(self, key: str) -> Table:
        """The table below `key`, empty where there is none."""
        name = f"{self.name.strip('[]')}.{key}"
        return Table(self.values.get(key, {}), f"[{name}]", self._place, (*self._keys, key))

    def tables(self, key: str) -> list[Table]:
        """The list of tables below `key`."""
        name = f"[[{self.name.strip('[]')}.{key}]]"
        value = self.values.get(key, [])
        if not isinstance(value, list | tuple):
            raise self.wrong(key, f"{key} must be a list of tables, written {name}")
        keys = (*self._keys, key)
        return [Table(v, name, self._place, (*keys, n)) for n, v in enumerate(value)]


def closest(name: str, known: Iterable[str], otherwise: str) -> str:
    """A hint with the nearest of the known names."""
    from difflib import get_close_matches

    near = get_close_matches(name[:80], tuple(known), 1)
    return f"did you mean {near[0]!r}?" if near else otherwise


def _shown(value: Any) -> str:
    try:
        text = repr(value)
    except (RecursionError, ValueError):  # nested too deeply; an integer of thousands of digits
        return f"this {type(value).__name__}"
    return text if len(text) <= 60 else text[:57] + "…"
