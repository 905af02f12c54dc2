"""The user's own patterns: `[masks] extra = [...]` masks more, `keep = [...]` protects content.

A pattern sees one line at a time, and at most `LINE` characters of it, so that one whose time grows
with the square of the length (`\\d+ rows`) stays harmless. Steeper growth is refused.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from re import _constants as ops  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

from loopaudit.errors import ConfigError

LINE = 4_000  # characters
_SLOW = 0.1  # seconds of CPU on a line; a sound pattern needs about 1 ms, a quadratic one 15
_LONGEST = 2_000  # characters of one pattern
_MOST = 200  # patterns in one list

Place = Callable[..., tuple[str, int | None]]  # keys of a setting -> path, line


class Masks:
    """The built-in masks with the user's patterns around them. Picklable: patterns are text."""

    __slots__ = ("_extra", "_keep", "_mask", "extra", "keep")

    def __init__(
        self, mask: Callable[[str], str], extra: Iterable[str] = (), keep: Iterable[str] = ()
    ) -> None:
        self.extra = tuple(extra)
        self.keep = tuple(keep)
        self._mask = mask
        self._extra = [re.compile(pattern) for pattern in self.extra]
        self._keep = [re.compile(pattern) for pattern in self.keep]

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._mask, self.extra, self.keep)

    def __call__(self, text: str) -> str:
        """`text` masked: what `keep` matches stays, what `extra` matches becomes `<masked>`."""
        if not self._keep:
            return self._masked(text)
        parts: list[str] = []
        done = 0
        for start, end in sorted(self._kept(text)):
            if end > done:
                start = max(start, done)
                parts += (self._masked(text[done:start]), text[start:end])
                done = end
        return "".join([*parts, self._masked(text[done:])])

    def _masked(self, text: str) -> str:
        if self._extra:
            text = "".join(self._extra_masked(line) for line in _lines(text))
        return self._mask(text)

    def _extra_masked(self, line: str) -> str:
        for pattern in self._extra:
            line = pattern.sub("<masked>", line)
        return line

    def _kept(self, text: str) -> Iterator[tuple[int, int]]:
        at = 0
        for line in _lines(text):
            for pattern in self._keep:
                for match in pattern.finditer(line):
                    yield at + match.start(), at + match.end()
            at += len(line)


def _lines(text: str) -> Iterator[str]:
    """Lines and their ends; longer ones in pieces of `LINE` characters. Joined they are `text`."""
    first = True
    for line in text.split("\n"):
        if not first:
            yield "\n"
        first = False
        for at in range(0, len(line), LINE):
            yield line[at : at + LINE]


def check_settings(
    table: Mapping[str, Any], place: Place | None = None
) -> tuple[list[str], list[str]]:
    """The lists `extra` and `keep` of a settings table `[masks]`.

    Raises `ConfigError` with path and line for an unknown key, a pattern that does not compile, one
    that matches the empty text, and one whose time explodes on unlucky input.
    """
    for key in table:
        if key not in ("extra", "keep"):
            raise _error(f"unknown setting masks.{key}", "known: extra, keep", place, key)
    return _patterns(table, "extra", place), _patterns(table, "keep", place)


def _patterns(table: Mapping[str, Any], name: str, place: Place | None) -> list[str]:
    values = table.get(name, [])
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise _error(f"masks.{name} must be a list of strings", 'write ["…"]', place, name)
    if len(values) > _MOST:
        raise _error(f"masks.{name} holds more than {_MOST} patterns", "join some", place, name)
    for number, value in enumerate(values, 1):
        try:
            fault, hint = _fault(value)
        except (re.error, OverflowError, RecursionError, ValueError) as error:
            fault, hint = f"is no regular expression: {error}", "Python's syntax of `re`"
        if fault:
            raise _error(
                f"masks.{name}, pattern {number} ({value[:60]!r}) {fault}", hint, place, name
            )
    return values


def _error(message: str, hint: str, place: Place | None, *keys: str) -> ConfigError:
    path, line = place(*keys) if place else ("", None)
    return ConfigError(message, hint, path=path, line=line)


def _fault(pattern: str) -> tuple[str, str]:
    """What is wrong with a pattern, with a hint; ("", "") if nothing."""
    if len(pattern) > _LONGEST:
        return f"is longer than {_LONGEST} characters", "split it"
    compiled = re.compile(pattern)
    if compiled.match("") or compiled.search("\0"):
        return "matches the empty text", "use + instead of *"
    for attack in _attacks(pattern):
        for text in attack:
            began = time.thread_time()
            compiled.search(text)
            if time.thread_time() - began > _SLOW:
                return (
                    f"is too slow: more than {_SLOW:g} s on {len(text):,} characters",
                    "bound its repeats ({1,80} instead of + or *), or start it with a fixed word",
                )
    return "", ""


def _attacks(pattern: str) -> Iterator[Iterator[str]]:
    """For each repeat in the pattern, texts of growing length on which it may have to go back."""
    for before, body in _repeats(parser.parse(pattern), ""):
        for end in ("\0", "\n!\n"):
            yield (before + body * n + end for n in _lengths(len(body)))


def _lengths(size: int) -> Iterator[int]:
    """1, 2, 3 … 40, then half as much again each time: an explosion is seen while it is small."""
    n = 1
    while size and n * size <= LINE:
        yield n
        n = n + 1 if n < 40 else n * 3 // 2


def _repeats(pattern: Any, before: str) -> Iterator[tuple[str, str]]:
    """(text that leads to a repeat, one round of it) for each repeat of more than 9 rounds."""
    for op, value in pattern:
        if op in (ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT):
            _, most, body = value
            if most > 9:
                for sample in _samples(body):
                    yield before, sample
            yield from _repeats(body, before)
        elif op is ops.BRANCH:
            for branch in value[1]:
                yield from _repeats(branch, before)
        elif op is ops.SUBPATTERN:
            yield from _repeats(value[3], before)
        elif op in (ops.ATOMIC_GROUP,):
            yield from _repeats(value, before)
        elif op in (ops.ASSERT, ops.ASSERT_NOT):
            yield from _repeats(value[1], before)
        before += next(iter(_samples([(op, value)])), "")


def _samples(pattern: Any) -> list[str]:
    """A few short texts that the pattern matches, at least roughly."""
    out = [""]
    for op, value in pattern:
        out = [a + b for a in out for b in _sample(op, value)][:8]
    return out


def _sample(op: Any, value: Any) -> list[str]:
    if op is ops.LITERAL:
        return [chr(value)]
    if op is ops.NOT_LITERAL:
        return ["a" if value != ord("a") else "b"]
    if op is ops.ANY:
        return ["a"]
    if op is ops.IN:
        return _members(value)
    if op is ops.BRANCH:
        return [text for branch in value[1] for text in _samples(branch)][:8]
    if op is ops.SUBPATTERN:
        return _samples(value[3])
    if op is ops.ATOMIC_GROUP:
        return _samples(value)
    if op in (ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT):
        least, _, body = value
        return [text * min(max(least, 1), 50) for text in _samples(body)]
    return [""]


def _members(items: Any) -> list[str]:
    """Members of a character class, one for each of its parts."""
    if items and items[0][0] is ops.NEGATE:
        return ["a", " ", "0"]
    out = []
    for op, value in items[:4]:
        if op is ops.LITERAL:
            out.append(chr(value))
        elif op is ops.RANGE:
            out.append(chr(value[0]))
        elif op is ops.CATEGORY:
            out.append(_CATEGORIES.get(value, "a"))
    return out or ["a"]


_CATEGORIES = {
    ops.CATEGORY_DIGIT: "0",
    ops.CATEGORY_NOT_DIGIT: "a",
    ops.CATEGORY_SPACE: " ",
    ops.CATEGORY_NOT_SPACE: "a",
    ops.CATEGORY_WORD: "a",
    ops.CATEGORY_NOT_WORD: " ",
}
