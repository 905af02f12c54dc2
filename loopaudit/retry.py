"""Class of an error, and how long and how often to retry: pure functions, no clock, no I/O.

What is known comes first: a structured status, then a structured code, then a status written in a
status-like place of the text, then words (English and Chinese), then the exit code. "took 1500 ms",
"404 tokens used", line numbers, ports and dates are no status.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

from loopaudit.model import ErrorClass

TRANSIENT = ErrorClass.TRANSIENT
THROTTLED = ErrorClass.THROTTLED
QUOTA = ErrorClass.QUOTA
PERMANENT = ErrorClass.PERMANENT
OVERFLOW = ErrorClass.CONTEXT_OVERFLOW
UNKNOWN = ErrorClass.UNKNOWN

#: characters looked at, at each end of a longer text: an error says what it is first or last
EDGE = 500


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and after what wait a failed call is made again. Times in seconds.

    The numbers are those of the `fuses` set (guards.md §1): 3 retries a step, 500 ms doubled up to
    30 s, ±25 %.
    """

    retries: int = 3
    base: float = 0.5
    factor: float = 2.0
    cap: float = 30.0
    jitter: float = 0.25
    retried: frozenset[ErrorClass] = frozenset({TRANSIENT, THROTTLED})
    every_429: bool = False  # retry a 429 that names a spent quota too, as `fuses` does
    original_reading: bool = False  # read the status as `fuses` did: see `original_status`


DEFAULT = RetryPolicy()
FUSES = RetryPolicy(every_429=True)
#: line 3 of `backstop`: a transient error is retried twice (guards.md §3)
BACKSTOP = RetryPolicy(retries=2)


def classify(
    *,
    http_status: Any = None,
    code: Any = None,
    text: Any = None,
    exit_code: Any = None,
) -> ErrorClass:
    """Class of a failure. Any value is accepted; what cannot be used counts as absent.

    `http_status`: structured status; `code`: error code or type of the body, exception or errno
    name; `text`: the message; `exit_code`: of a command, which alone says little.
    """
    words = _edges(text) if isinstance(text, str) else ""
    status = _status(http_status)
    if status is not None and status >= 400:
        return _by_status(status, code, words)
    # an error inside a stream comes with status 200: go on as if there were none
    by_code = _by_code(code)
    if by_code is not None:
        return _refine(by_code, words) if by_code in _VAGUE else by_code
    by_text = _by_text(words) if words else None
    if by_text is not None:
        return by_text
    return _EXIT_CODES.get(exit_code, UNKNOWN) if type(exit_code) is int else UNKNOWN


def retryable(
    error: ErrorClass | None, policy: RetryPolicy = DEFAULT, http_status: int | None = None
) -> bool | None:
    """Whether the same call is likely to work later. None: nothing failed. Unknown: no.

    `http_status` matters to a policy that retries every 429 only.
    """
    if error is None:
        return None
    if http_status == 429 and policy.every_429:
        return True
    return error in policy.retried


def should_retry(
    policy: RetryPolicy,
    *,
    http_status: Any = None,
    code: Any = None,
    text: Any = None,
    exit_code: Any = None,
) -> bool:
    """`classify` and `retryable` in one, with the policy's own way to read a status."""
    status = _status(http_status)
    if status is None and isinstance(text, str):
        status = original_status(text) if policy.original_reading else status_in(text)
    if policy.original_reading and status is not None and 400 <= status < 600:
        return status in (408, 429) or status >= 500
    error = classify(http_status=http_status, code=code, text=text, exit_code=exit_code)
    return bool(retryable(error, policy, status))


def original_status(text: str) -> int | None:
    """The first three digits found anywhere: how `fuses` read a status, kept for comparison.

    It reads 150 out of "took 1500 ms" and 404 out of "404 tokens used"; nothing else uses it.
    """
    found = _THREE_DIGITS.search(text)
    return int(found[0]) if found else None


def status_in(text: str) -> int | None:
    """The first HTTP error status (400-599) that stands in a status-like place, else None."""
    found = _status_in(_edges(text).lower())
    return found[0] if found else None


# -- waits ----------------------------------------------------------------------------------------


def wait_interval(
    n: int, *, base: float = 0.5, factor: float = 2.0, cap: float = 30.0, jitter: float = 0.25
) -> tuple[float, float]:
    """Shortest and longest wait before retry `n` (1-based), in seconds."""
    try:
        wait = min(base * factor ** (max(n, 1) - 1), cap)
    except OverflowError:
        wait = cap
    return wait * (1 - jitter), wait * (1 + jitter)


def policy_interval(n: int, policy: RetryPolicy) -> tuple[float, float]:
    """`wait_interval` with the numbers of a policy."""
    return wait_interval(
        n, base=policy.base, factor=policy.factor, cap=policy.cap, jitter=policy.jitter
    )


def delays(policy: RetryPolicy, rng: Callable[[float, float], float]) -> Iterator[float]:
    """The waits before each retry, in seconds. `rng` is `random.Random(seed).uniform` or alike."""
    for n in range(1, policy.retries + 1):
        yield rng(*policy_interval(n, policy))


# -- status ---------------------------------------------------------------------------------------


def _status(value: Any) -> int | None:
    if type(value) is int:
        return value if 100 <= value < 600 else None
    if isinstance(value, str) and len(value) == 3 and value.isascii() and value.isdigit():
        return _status(int(value))
    return None


def _by_status(status: int, code: Any, words: str) -> ErrorClass:
    """Class of an HTTP error status; code and words tell a quota from a throttle."""
    if status == 408 or status >= 500:
        return TRANSIENT
    if status == 402:
        return QUOTA
    named = _by_code(code) if code is not None else _in_body(words) if "{" in words else None
    if named is QUOTA or named is OVERFLOW:
        return named
    return _refine(THROTTLED if status == 429 else PERMANENT, words)


def _refine(error: ErrorClass, words: str) -> ErrorClass:
    """A throttle or a refused request may be a spent quota or a full context in its words."""
    words = words.lower()
    if error is THROTTLED and _SHORT_WINDOW.search(words):
        return error
    if _SPENT.search(words) or any(word in words for word in _SPENT_WORDS):
        return QUOTA
    if any(word in words for word in _OVERFLOW_WORDS):
        return OVERFLOW
    return error


_THREE_DIGITS = re.compile(r"[0-9]{3}")
# a number that can be a status: no part of a word, path, version, decimal, clock time or percentage
# (the first figure goes before what may not precede it: a search then skips to it)
_CANDIDATE = re.compile(r"[45](?<![0-9a-z_./#\-].)[0-9]{2}(?![0-9a-z_%]|[.,:][0-9])")
# what may stand between the name of a status and its figure
_BETWEEN = r"(?:[\"']?[ \t]*[:=：]?[ \t]*[\"'(\[]?|[ \t]+(?:is|was|of)[ \t]+)\Z"
_NAMED = re.compile(
    r"(?:\bhttp(?:/[0-9](?:\.[0-9])?)?|status(?:[ _-]?code)?|error(?:[ _-]?code)?"
    r"|(?<!exit )(?<!exited with )(?<!area )(?<!zip )\bcode|\bresponse"
    r"|状态码?|错误码?|报错|响应码?)" + _BETWEEN
)
_ANSWERED = re.compile(
    r"(?:\b(?:returned|responded with|answered|replied|failed with|server said|got)(?: an?)?"
    r"|返回)" + _BETWEEN
)
_NUMBERED = re.compile(r"\b(?:lines?|ports?|rows?|col(?:umn)?|pages?|p?id|at)\s*\Z")
_REASON = re.compile(
    r"\s*[-:]?\s*(?:bad request|unauthori[sz]ed|payment required|forbidden|(?:page )?not found"
    r"|method not allowed|not acceptable|request time-?out|conflict|gone\b|payload too large"
    r"|request entity too large|unprocessable|too many requests|client error|server error"
    r"|internal (?:server )?error|not implemented|bad gateway|service (?:temporarily )?unavailable"
    r"|gateway time-?out|(?:site is )?overloaded|(?:error|response|status)\b)"
)
_UNIT = re.compile(
    r"\s*(?:ms|msec|secs?|seconds?|minutes?|mins?|hours?|days?|[kmg]i?b|bytes?|tokens?|lines?|rows?"
    r"|files?|items?|entries|records|results|chars?|characters|words?|tests?|times|users?|steps?"
    r"|errors|warnings?|pages?|px|points?|个|条|行|次|秒|毫秒|分钟|字节|元)(?![a-z])"
)
_ENDS = re.compile(r"\s*(?:$|[:;,.!{<)\]}\"'\n]|-\s|for\b|from\b|on\b|when\b|after\b)")
_AT_START = re.compile(r"\s*(?:$|[{<\n]|-\s|(?:after|from|on|at)\b)|:(?: \S|\s*[{\"]|$)")
_ERROR_LIKE = re.compile(
    r"error|fail|denied|http|status|unavailable|not found|refused|forbidden|unauthori|time-?out"
    r"|错误|失败|未找到"
)


def _status_in(words: str) -> tuple[int, int] | None:
    """The first status in a status-like place of lower-case text, and where it stands."""
    for found in _CANDIDATE.finditer(words):
        start, end = found.span()
        before, after = words[max(0, start - 32) : start], words[end : end + 32]
        if _UNIT.match(after) or _NUMBERED.search(before):
            continue
        if (
            _REASON.match(after)
            or _NAMED.search(before)
            or (_ANSWERED.search(before) and _ENDS.match(after))
            or (_AT_START.match(after) and not words[:start].strip())
            or (after[:1] == ")" and _in_brackets(words, start))
        ):
            return int(found[0]), start
    return None


def _in_brackets(words: str, start: int) -> bool:
    """ "Not Found (404)", but not "main.c(404)" and not "results (500)"."""
    before = words[max(0, start - 80) : start]
    if not before.endswith("(") or before[-2:-1].isalnum():
        return False
    return _ERROR_LIKE.search(before.rpartition("\n")[2]) is not None


# -- codes and words ------------------------------------------------------------------------------

_Phrase = tuple[str, bool, ErrorClass]  # may it stand inside a word?
_LETTERS = re.compile(r"[a-z]+")
_CHINESE = re.compile(r"[\u4e00-\u9fff]+")
_GLUED = 10  # letters at least of a phrase that may stand inside a word


def _phrases(table: dict[str, list[str]]) -> tuple[_Phrase, ...]:
    return tuple(
        (word.lstrip("*"), word[0] == "*" or not word[0].isascii(), ErrorClass(error))
        for error, words in table.items()
        for word in words
    )


_Held = tuple[set[str], str, str]


def _held(words: str) -> _Held:
    """What lower-case text holds: beginnings of its words, its long words, its Chinese."""
    runs = set(_LETTERS.findall(words))
    long = " ".join([run for run in runs if len(run) >= _GLUED])
    chinese = "" if words.isascii() else " ".join(_CHINESE.findall(words))
    return {run[:4] for run in runs}, long, chinese


class _Table:
    """Phrases, with a quick way to leave out most of those that a text does not hold."""

    def __init__(self, phrases: tuple[_Phrase, ...]) -> None:
        self._phrases = phrases
        self._any: list[int] = []  # numbers of phrases that any text may hold
        self._chinese: list[tuple[str, int]] = []
        self._glued: list[tuple[str, int]] = []  # that stand inside a run of letters
        # by the first four letters of its first word; the same of its other words
        self._by_stem: dict[str, list[tuple[frozenset[str], int]]] = {}
        for number, (word, inside, _) in enumerate(phrases):
            runs = _LETTERS.findall(word)
            if _CHINESE.fullmatch(word):
                self._chinese.append((word, number))
            elif inside and runs == [word] and len(word) >= _GLUED:
                self._glued.append((word, number))
            elif (
                inside
                or not word[0].isalpha()
                or not word.isascii()
                or (runs == [word] and len(word) < 4)
            ):
                self._any.append(number)
            else:  # it begins a word, and its last word may go on
                whole = {run[:4] for run in runs if len(run) >= 4 or not word.endswith(run)}
                first = runs[0][:4]
                self._by_stem.setdefault(first, []).append((frozenset(whole - {first}), number))

    def possible(self, held: _Held) -> list[_Phrase]:
        """The phrases that a text may hold, in the order of the table."""
        stems, long, chinese = held
        found = self._any.copy()
        for stem in self._by_stem.keys() & stems:
            found += [number for others, number in self._by_stem[stem] if others <= stems]
        if long:
            found += [number for word, number in self._glued if word in long]
        if chinese:
            found += [number for word, number in self._chinese if word in chinese]
        found.sort()
        return [self._phrases[number] for number in found]


_TABLE = tomllib.loads((files("loopaudit") / "retry.toml").read_text("utf-8"))
_CODES = {name: ErrorClass(error) for error, names in _TABLE["codes"].items() for name in names}
_EXACT = {text: ErrorClass(error) for error, texts in _TABLE["exact"].items() for text in texts}
_PHRASES = _phrases(_TABLE["words"])
_WORDS, _GENERAL = _Table(_PHRASES), _Table(_phrases(_TABLE["general"]))
_SPENT_WORDS = tuple(word for word, _, error in _PHRASES if error is QUOTA)
_OVERFLOW_WORDS = tuple(word for word, _, error in _PHRASES if error is OVERFLOW)

#: classes whose codes are general: words say more ("invalid_request_error: prompt is too long")
_VAGUE = frozenset({THROTTLED, PERMANENT})
#: phrases of an API that refuses a request, which are as general
_VAGUE_WORDS = frozenset(
    {"invalid_request", "invalid request", "bad request", "validationexception"}
)
_NOT_LETTERS = re.compile(r"[^a-z0-9]+")
_EXIT_CODES = {
    124: TRANSIENT,  # timeout(1): the time was up
    126: PERMANENT,  # sh: found, but cannot be run
    127: PERMANENT,  # sh: command not found
}
_SPENT = re.compile(r"\bquota\b.{0,40}\b(?:exceeded|exhausted|spent|used up)|\bper ?day\b", re.S)
#: a limit that is over within a minute is a throttle, whatever it is called
_SHORT_WINDOW = re.compile(
    r"per[ _-]?(?:minute|min\b|second|sec\b)|\b[rt]pm\b|每分钟|每秒"
    r"|(?:try again|retry) (?:in|after) [0-9.]+ ?m?s"
)
#: a test or a compiler reports on the code: the same call fails until something is changed.
#: Each pattern with what stands in every text that it finds
_CODE_REPORTS = tuple(
    (hint, re.compile(pattern, re.MULTILINE))
    for hint, pattern in (
        ("fail", r"\b[0-9]+ (?:tests? |specs? |examples?, )?(?:failed|failing|failures?)\b"),
        ("FAIL", r"^\s*(?:FAIL|FAILED|--- FAIL:)(?:\s|$)"),
        ("AssertionError", r"\bAssertionError\b"),
        ("error TS", r"\berror TS[0-9]+:"),
        ("error[E", r"\berror\[E[0-9]+\]"),
        ("测试", r"个测试失败|测试未通过"),
    )
)
_PYTHON_ERROR = re.compile(r"^[A-Za-z_][\w.]*(?:Error|Exception|Timeout|Expired|Exit)\b.*$", re.M)
#: a code in the body of an error, as JSON or as Python prints it
_BODY_CODE = re.compile(
    r"""["'](?:code|type|error|error_type|error_code|kind|name|status|reason)["']\s*:\s*"""
    r"""["']([A-Za-z][\w .-]{2,60})["']"""
)
#: refusals in words; judged only in a text this short, as they stand in any longer log
_REFUSED = re.compile(
    r"\bunknown (?!error|exc|reason|fail|issue|problem|stat)[a-z]|\bmissing [a-z]"
    r"|\b(?:invalid|illegal) (?!response|json response|server|certificate|chunk|header|state)[a-z]"
    r"|\b(?:cannot|can not|can't) be [a-z]|\b(?:must|should) be\b|\bis ambiguous\b|\bnot enough\b"
)
_REFUSAL_SIZE = 300  # characters


def _by_code(code: Any) -> ErrorClass | None:
    if isinstance(code, str):
        error = _CODES.get(_NOT_LETTERS.sub("", code[:80].lower()))
        if error is not None:
            return error
    status = _status(code)
    return _by_status(status, None, "") if status is not None and status >= 400 else None


def _in_body(text: str) -> ErrorClass | None:
    """Class of the error codes written in a text; a spent quota or a full context goes first."""
    named = None
    for code in _BODY_CODE.findall(text):
        error = _by_code(code)
        if error is QUOTA or error is OVERFLOW:
            return error
        named = named or error
    return named


@lru_cache(maxsize=1024)  # the errors of a loop are alike
def _by_text(text: str) -> ErrorClass | None:
    if any(hint in text and pattern.search(text) for hint, pattern in _CODE_REPORTS):
        return UNKNOWN
    text = _statement(text)
    words = text.lower()
    held = _held(words)
    first, word, error = _first(_WORDS, words, held)
    status = _status_in(words)
    if status is not None and (word is None or "\n" not in words[first : status[1]]):
        return _by_status(status[0], None, text)
    named = _in_body(text) if "{" in text else None
    if named is not None:
        return _refine(named, words) if named in _VAGUE else named
    if error is THROTTLED or word in _VAGUE_WORDS:
        return _refine(error or PERMANENT, words)
    return error or _by_weak_words(words, held)


def _by_weak_words(words: str, held: _Held) -> ErrorClass | None:
    general = _first(_GENERAL, words, held)[2]
    if general is not None or len(words) > _REFUSAL_SIZE:
        return general
    if _REFUSED.search(words):
        return PERMANENT
    return _EXACT.get(words.strip(" .\n").removeprefix("error:").strip())


def _statement(text: str) -> str:
    """The part of an error text that says what is wrong; the rest may be echoed code."""
    if text.startswith("<tool_use_error>"):
        return text.partition("\n")[0]
    if "Traceback (most recent call last)" in text:
        raised = _PYTHON_ERROR.findall(text)
        if raised:
            return str(raised[-1])
    return text


def _first(table: _Table, words: str, held: _Held) -> tuple[int, str | None, ErrorClass | None]:
    """Where the first phrase of a table stands, the phrase, and its class."""
    best, which, error = len(words), None, None
    for word, inside, its_error in table.possible(held):
        at = words.find(word, 0, best + len(word) - 1)
        while at > 0 and not inside and "a" <= words[at - 1] <= "z":
            at = words.find(word, at + 1, best + len(word) - 1)
        if at >= 0:
            best, which, error = at, word, its_error
    return best, which, error


def _edges(text: str) -> str:
    """What of a text is looked at."""
    return text if len(text) <= 2 * EDGE else f"{text[:EDGE]}\n{text[-EDGE:]}"
