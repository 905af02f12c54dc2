"""Text that repeats itself inside one response: where that begins, and how often.

Two kinds. *Exact*: ten times or more the same stretch, wherever it began. *Near-verbatim*: prose
that goes on to the end of the text with hardly a new sequence of three words ("Attempt 7: let me
look again. Attempt 8: …"). Only the few texts that a cheap look makes suspect are read by words.
"""

from __future__ import annotations

import re
import zlib

from loopaudit.keys import digest
from loopaudit.model import Chant

#: repeats, and redundant characters, from which text is said to repeat itself
TIMES = 10
LEAST = 200
#: the same for blanks, rules and other stretches without a letter, and for near-verbatim text
LEAST_PLAIN = 1_000
_LONGEST = 2_000  # characters of one stretch
_PROBE = 32
_NEAR_FROM = 1_500  # characters of a text in which near-verbatim repeats are looked for
_PACKED = 0.25  # packed size of a suspect text; English prose packs to 0.4-0.5
_NOVEL = 0.15  # share of new sequences of three words; a file name in a sentence of ten makes 0.3
_APART = 5  # words between two figures that may be counters; nearer ones are data
_WORD = re.compile("[a-z0-9_'./-]{1,40}|[\u3040-\u30ff\u4e00-\u9fff]")
#: lines that are data, not prose: tables, lists, code
_DATA = re.compile(r"\s*(?:[|+>*#•-]|\d{1,4}[.)]\s)|\s{4}")


def chant(text: str) -> Chant | None:
    """The repetition in a visible text, None where there is none. Offsets in characters."""
    size = len(text)
    if size < LEAST:
        return None
    found = _exact(text, size - _PROBE)
    if found is None and size >= LEAST_PLAIN:
        for place in (size * 3 // 4, size // 2, size // 4):
            found = _exact(text, place)
            if found is not None:
                break
    if found is None and size >= _NEAR_FROM:
        return _near(text)
    return found


def _exact(text: str, place: int) -> Chant | None:
    """The stretch of equal parts around `place`."""
    probe = text[place : place + _PROBE]
    before = text.rfind(probe, max(0, place - _LONGEST), place + _PROBE - 1)
    if before < 0:
        return None
    period = place - before
    end = place + _PROBE + _common(text, place + _PROBE - period, place + _PROBE)
    start = before - _common_back(text, before, place)
    times, redundant = (end - start) // period, end - start - period
    unit = text[end - period : end]
    plain = not any(map(str.isalpha, unit))
    if times < TIMES or redundant < (LEAST_PLAIN if plain else LEAST):
        return None
    if end < len(text) and (plain or redundant < LEAST_PLAIN):
        return None  # a rule, a row of zeros, a refrain: and then the text went on
    return Chant(start + period, redundant, times, digest("".join(sorted(unit))))


def _common(text: str, a: int, b: int) -> int:
    """How far the text from `a` on equals that from `b` on (`a` < `b`)."""
    low, high = 0, len(text) - b
    while low < high:
        middle = (low + high + 1) // 2
        if text[a + low : a + middle] == text[b + low : b + middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _common_back(text: str, a: int, b: int) -> int:
    """How far the text before `a` equals that before `b` (`a` < `b`)."""
    low, high = 0, a
    while low < high:
        middle = (low + high + 1) // 2
        if text[a - middle : a - low] == text[b - middle : b - low]:
            low = middle
        else:
            high = middle - 1
    return low


def _near(text: str) -> Chant | None:
    tail = text[-4_000:].encode("utf-8", "surrogatepass")
    if len(zlib.compress(tail, 1)) > _PACKED * len(tail):
        return None
    words, places = _prose(text)
    if len(words) < 10 * TIMES:
        return None
    seen: dict[tuple[str, str, str], int] = {}
    novel: list[bool] = []
    for at in range(len(words) - 2):
        gram = (words[at], words[at + 1], words[at + 2])
        novel.append(gram not in seen)
        seen[gram] = seen.get(gram, 0) + 1
    begin = _dull_from(novel)
    known = sum(not new for new in novel[begin:])
    often = sorted((n for n in seen.values() if n >= TIMES), reverse=True)
    size = len(text) - places[begin]
    # a few sequences make up most of what follows, each of them often
    if size < LEAST_PLAIN or not often or sum(often) < 0.5 * (known or 1):
        return None
    return Chant(places[begin], size, often[0], digest("".join(sorted(set(words[begin:])))))


def _prose(text: str) -> tuple[list[str], list[int]]:
    """Words outside code fences, tables and lists, each with its place; counters are all one."""
    words: list[str] = []
    places: list[int] = []
    fenced, place, counter = False, 0, -_APART
    for line in text.splitlines(keepends=True):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced and not _DATA.match(line):
            for match in _WORD.finditer(line.lower()):
                word = match[0]
                if word.isdigit() and len(words) - counter >= _APART:
                    counter, word = len(words), "0"
                words.append(word)
                places.append(place + match.start())
        place += len(line)
    return words, places


def _dull_from(novel: list[bool]) -> int:
    """The first place from which at most `_NOVEL` of the sequences, to the end, are new."""
    new, begin = 0, len(novel)
    for at in range(len(novel) - 1, -1, -1):
        new += novel[at]
        if new <= _NOVEL * (len(novel) - at) and not novel[at]:
            begin = at
    return min(begin, len(novel) - 1)
