"""Where each key of a TOML text stands: the standard parser does not tell.

The text has been parsed before, so it is valid; only keys and the extent of values are read here.
"""

from __future__ import annotations

import re
from contextlib import suppress
from functools import lru_cache

Keys = tuple[str | int, ...]

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_SPACE = re.compile(r"[ \t]*")
_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_PLAIN = re.compile(r"[^,\]}#\r\n]*")
_STRINGS = (
    re.compile(r'"""(?:\\.|[^\\])*?"{3,5}', re.S),
    re.compile(r"'''.*?'{3,5}", re.S),
    re.compile(r'"(?:\\.|[^"\\])*"'),
    re.compile(r"'[^']*'"),
)


@lru_cache(maxsize=16)
def positions(text: str) -> dict[Keys, int]:
    """Path of keys -> 1-based line of its first mention. Lists count from 0."""
    scanner = _Scanner(text)
    with suppress(RecursionError):  # what lies so deep is a value, no setting
        scanner.scan()
    return scanner.found


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.counted, self.line = 0, 1  # newlines are counted once, going forward
        self.found: dict[Keys, int] = {}
        self.arrays: dict[Keys, int] = {}  # array of tables -> index of its newest

    def scan(self) -> None:
        table: Keys = ()
        while self.skip(_BLANK) < len(self.text):
            if self.text.startswith("[[", self.at):
                table = self.array_header()
            elif self.text[self.at] == "[":
                self.at += 1
                table = self.header()
                self.at = self.text.index("]", self.at) + 1
            else:
                self.pair(table)

    def array_header(self) -> Keys:
        self.at += 2
        line = self.here()
        keys = self.keys()
        parent = self.resolve(keys[:-1], line)
        path = (*parent, keys[-1])
        self.arrays[path] = self.arrays.get(path, -1) + 1
        self.at = self.text.index("]]", self.at) + 2
        self.found.setdefault(path, line)
        self.found[(*path, self.arrays[path])] = line
        return (*path, self.arrays[path])

    def header(self) -> Keys:
        line = self.here()
        return self.resolve(self.keys(), line)

    def resolve(self, keys: list[str], line: int) -> Keys:
        """A header's path with the index of the newest element of each array of tables in it."""
        path: Keys = ()
        for key in keys:
            path = (*path, key)
            self.found.setdefault(path, line)
            if path in self.arrays:
                path = (*path, self.arrays[path])
        return path

    def pair(self, table: Keys) -> None:
        line = self.here()
        path = table
        for key in self.keys():
            path = (*path, key)
            self.found.setdefault(path, line)
        self.at = self.text.index("=", self.at) + 1
        self.skip(_SPACE)
        self.value(path)

    def value(self, path: Keys) -> None:
        for string in _STRINGS:
            match = string.match(self.text, self.at)
            if match:
                self.at = match.end()
                return
        if self.text.startswith("[", self.at):
            self.items(path)
        elif self.text.startswith("{", self.at):
            self.inline(path)
        else:
            self.skip(_PLAIN)

    def items(self, path: Keys) -> None:
        self.at += 1
        number = 0
        while self.text[self.skip(_BLANK)] != "]":
            item = (*path, number)
            self.found.setdefault(item, self.here())
            self.value(item)
            number += 1
            if self.text[self.skip(_BLANK)] == ",":
                self.at += 1
        self.at += 1

    def inline(self, path: Keys) -> None:
        self.at += 1
        while self.text[self.skip(_BLANK)] != "}":
            self.pair(path)
            if self.text[self.skip(_BLANK)] == ",":
                self.at += 1
        self.at += 1

    def keys(self) -> list[str]:
        """A dotted key; quoted parts without their quotes."""
        found = []
        while True:
            self.skip(_SPACE)
            match = _BARE.match(self.text, self.at)
            if match:
                found.append(match[0])
            else:
                match = next(m for s in _STRINGS[2:] if (m := s.match(self.text, self.at)))
                found.append(_unquoted(match[0]))
            self.at = match.end()
            self.skip(_SPACE)
            if not self.text.startswith(".", self.at):
                return found
            self.at += 1

    def skip(self, what: re.Pattern[str]) -> int:
        match = what.match(self.text, self.at)
        self.at = match.end() if match else self.at
        return self.at

    def here(self) -> int:
        self.line += self.text.count("\n", self.counted, self.at)
        self.counted = self.at
        return self.line


def _unquoted(key: str) -> str:
    if key[0] == "'" or "\\" not in key:
        return key[1:-1]
    import tomllib

    return next(iter(tomllib.loads(f"{key} = 0")))
