"""Whether two failures are one error, whatever words of the arguments stand in it."""

from __future__ import annotations

import re
from functools import lru_cache

from loopaudit.model import Call

_WORD = re.compile(r"[\w./~-]+")
_QUOTED = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"|`[^`\n]*`")
# words of an error that says no more than "exit code 1" or "no matches found"
_NO_HITS = frozenset(
    _WORD.findall(
        "no output command process exited failed with an exit code status 1 match matches result "
        "results file files hit hits nothing found was were"
    )
)
_TELLING = frozenset({"1", "found", "matches", "results", "hits"})
_SHORT = 100
_HEAD = 200  # characters of an error that are compared


_last: tuple[Call | None, Call | None, bool] = (None, None, False)  # several detectors ask


def same_error(a: Call, b: Call) -> bool:
    """Whether both are one error, apart from figures, quotations and words of the arguments."""
    global _last
    if a.error_key is not None and a.error_key == b.error_key:
        return True
    one, other, answer = _last
    if one is not a or other is not b:
        answer = _alike(a, b)
        _last = (a, b, answer)
    return answer


def _alike(a: Call, b: Call) -> bool:
    mine, its = _words(_message(a)), _words(_message(b))
    given, other = a.args or "", b.args or ""
    if mine == its:
        for word in mine:
            if word not in given and word not in other:
                return True
    known = given_words(given) | given_words(other)
    mine = [word for word in mine if word not in known]
    return bool(mine) and mine == [word for word in its if word not in known]


def _message(call: Call) -> str:
    text = (call.text or "")[:_HEAD]
    if call.mutates and call.target is not None:
        return text.partition("\n")[0]  # below stands what could not be changed
    return text


@lru_cache(1_000)  # an error is compared with the ones before it, by several detectors
def _words(text: str) -> list[str]:
    if text[:1] not in ("{", "[") and ("'" in text or '"' in text or "`" in text):
        text = _QUOTED.sub(" ", text)  # not in JSON: there the message itself is quoted
    return [w for w in _WORD.findall(text) if not w.isdigit()]


@lru_cache(1_000)
def given_words(args: str) -> frozenset[str]:
    """The words of arguments."""
    return frozenset(_WORD.findall(args))


def tried(call: Call) -> int:
    """The call; of a change to a file only the file: other words for it are no other try."""
    if call.mutates and call.target is not None:
        return hash((call.tool, call.target.path))
    return call.key


def found_nothing(call: Call) -> bool:
    """A search without hits ends with code 1 and says nothing else: an answer, not a failure."""
    text = call.text
    if not text:
        return call.exit_code == 1 and bool(call.blank)
    return len(text) <= _SHORT and _says_no_hits(text)


@lru_cache(1_000)
def _says_no_hits(text: str) -> bool:
    telling = False
    for found in _WORD.finditer(text.lower().rstrip(".")):
        word = found[0]
        if word not in _NO_HITS:
            return False
        telling = telling or word in _TELLING
    return telling
