"""Points of time, durations and rates."""

from __future__ import annotations

import re

_ZONE = r"(?:\s?(?:Z|UTC|GMT|[A-Z]{3,4}(?= [0-9])|[+-][0-9]{2}:?[0-9]{2})(?![0-9A-Za-z:]))?"
_HALF = r"(?:\s?[AaPp]\.?[Mm]\b)?"
CLOCK = rf"[0-9]{{1,2}}:[0-9]{{2}}(?::[0-9]{{2}}(?:[.,][0-9]{{1,9}})?)?(?![0-9]){_HALF}"
_JOINED = (  # also as in file names: T21_03_11_123Z, -21-03-11
    r"[0-9]{1,2}[:_-][0-9]{2}(?:[:_-][0-9]{2}(?:[.,:_-][0-9]{1,9}(?![0-9A-Ya-z]))?)?(?![0-9])"
)
# `[0-9](?<!x.)`: a digit not behind x. Said so, `re` can skip to the next digit by itself.
_DATED = re.compile(
    r"[0-9](?<![0-9].)(?:[0-9]{3}[-/.][0-9]{1,2}[-/.][0-9]{1,2}|[0-9]?[/.][0-9]{1,2}[/.][0-9]{4})"
    rf"(?:[T_-]{_JOINED}|,?\s{{1,2}}{CLOCK}){_ZONE}(?: m=[+-][0-9.]{{1,20}})?"
    r"|20(?<![0-9]..)[0-9]{6}[Tt_-]?[0-9]{6}(?:\.[0-9]{1,9})?Z?(?![0-9A-Za-z])"
)
_MONTHS = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}\.?"
_YEAR = r"[0-9]{4}(?![0-9])"
_DAY = r"(?:0?[1-9]|[12][0-9]|3[01])(?:st|nd|rd|th)?"
_NAMED = re.compile(
    rf"{_MONTHS}\s{{1,2}}{_DAY},?\s(?:{_YEAR},?\s)?(?:at\s)?{CLOCK}{_ZONE}(?:\s{_YEAR}{_ZONE})?"
)
_DAY_FIRST = re.compile(
    rf"[0-3]?[0-9](?<![0-9]..)[ /-]{_MONTHS}[ /-]{_YEAR},?[: ](?:at\s)?{CLOCK}{_ZONE}"
)
_WEEKDAY = re.compile(r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]{0,6},?\s(?=<time>)")
_METER = re.compile(r"\[[0-9:]{4,9}<[0-9:?]{1,9}(?=[,\]])")  # tqdm: [00:12<00:15, 3.2it/s]
_CURL = re.compile(  # the right half of curl's progress table: rates and times
    r"\s[0-9.]{1,9}[kMGT]?\s{1,9}[0-9.]{1,9}[kMGT]?"
    r"(?:\s{1,3}(?:[0-9]{1,3}:[0-9]{2}:[0-9]{2}|--:--:--)){3}\s{1,9}[0-9.]{1,9}[kMGT]?"
)
_SECONDS = re.compile(
    r"[0-9](?<![0-9A-Za-z_.:/].)[0-9]{0,2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]{1,9})?Z?"
    rf"(?![0-9A-Za-z_:]){_HALF}"
)
_MINUTES = re.compile(
    r"[0-9](?<![0-9A-Za-z_:./-].)[0-9]{0,2}:[0-9]{2}(?:\.[0-9]{1,3})?(?![0-9A-Za-z_:])"
    r"(\s?[AaPp]\.?[Mm]\b| total| elapsed)?"
)
_BEFORE_MINUTES = ("[", "at ", "At ", "ETA ", "eta ", "since ", "elapsed ", ",  ", "up  ", "up ")
_MONTH_GUARDS = (b"0 00:00", b"0 0:00", b"0:00:00:00", b" at ")


def mask_clocks(text: str, shape: bytes) -> str:
    """Everything with hours and minutes, from the most telling form to the least."""
    if b"--:--:--" in shape:
        text = _CURL.sub(" <rate>", text)
    text = _DATED.sub("<time>", text)
    if any(guard in shape for guard in _MONTH_GUARDS):
        text = _DAY_FIRST.sub("<time>", _NAMED.sub("<time>", text))
        if "<time>" in text:
            text = _WEEKDAY.sub("", text)
    if b"0:00" in shape:
        if b"0<0" in shape:
            text = _METER.sub("[<time>", text)
        if b"0:00:00" in shape:
            text = _SECONDS.sub("<time>", text)
        text = _MINUTES.sub(_minutes, text)
    return text


def _minutes(match: re.Match[str]) -> str:
    """`12:34` is a time only with a sign: elsewhere it may be line and column."""
    start = match.start()
    if match[1] or match.string.endswith(_BEFORE_MINUTES, max(0, start - 8), start):
        return "<time>"
    return match[0]


# -- durations ------------------------------------------------------------------------------------

_NUMBER = r"[0-9]{1,12}(?:[.,][0-9]{1,12})?"
_SHORT = r"(?:m?s|[nuµμ]s|(?:nano|micro|milli)?seconds?|m?secs?)(?![0-9A-Za-z_])"
_LONG = r"(?:hours?|hrs?|h|minutes?|mins?|months?|m|days?|d|weeks?|years?|y)"
_DURATION = re.compile(
    r"[0-9](?<![0-9A-Za-z_.,$€£¥#-].)[0-9]{0,11}(?:[.,][0-9]{1,12})?[ -]?(?:"
    rf"{_SHORT}|{_LONG}(?P<more>(?:,?\s?(?:and\s)?{_NUMBER}\s?(?:{_SHORT}|{_LONG})){{0,4}})"
    r"(?![0-9A-Za-z_])(?P<sign>\s(?:elapsed|remaining|left)\b)?)(?P<ago>\sago\b)?"
)
_HAS_SECONDS = re.compile(r"[0-9]\s?(?:m?s|sec|second|milli)")
_DECADE = re.compile(r"(?:1[5-9]|20)[0-9]0s")  # the 1990s
# a duration behind one of these is a setting, hence content
_SETTING = re.compile(
    r"(?:time-?out|ttl|interval|deadline|limit|max(?:imum)?|min(?:imum)?|budget|period|every|window"
    r"|threshold|retention|p[0-9]{2}|age|delay|超时时?间?|间隔|上限)[\"']?(?:\s(?:of|is|to|was))?"
    r"[\"']?\s?[:=：]?\s?[\"']?\Z",
    re.IGNORECASE,
)
# minutes and longer are a duration only behind one of these
_SPENT = re.compile(
    r"\b(?:took|in|after|elapsed|runtime|up)[:=]?\s(?:about |approximately |~)?\Z",
    re.IGNORECASE,
)
_ABOUT = re.compile(r"[Aa]bout an? (?:second|minute|hour|day|week)(?: ago\b)?")
_AGE = re.compile(r"(?<=\s\s)(?:[0-9]{1,4}[smhdy]){1,3}(?=\s|\Z)")  # kubectl's column AGE
_RATE = re.compile(
    r"[0-9](?<![0-9A-Za-z_.,].)[0-9]{0,8}(?:[.,][0-9]{1,9})?\s?(?:[KMGTkmgt]i?)?"
    r"(?:[Bb]|bytes|bits?|it|reqs?|requests|ops|rows|toks?|tokens|files|items|lines|steps?|tests)"
    r"(?:/s(?:ec(?:ond)?)?\b|ps\b)|[0-9](?<![0-9A-Za-z_.].)[0-9]{0,8}(?:\.[0-9]{1,9})?s/it\b"
)
_ZSH = re.compile(r"(?<= )[0-9]{1,4}% cpu [0-9.:]{1,12} total")  # zsh's `time`


def mask_durations(text: str, shape: bytes) -> str:
    """Durations with a unit or behind "took"."""
    if b"% cpu" in shape:
        text = _ZSH.sub("<cpu>", text)
    if b"   age" in shape:
        text = _AGE.sub("<duration>", text)
    return _DURATION.sub(_duration, text)


def mask_vague(text: str) -> str:
    """ "About a minute", as docker says it."""
    return _ABOUT.sub("<duration>", text)


def mask_rates(text: str) -> str:
    return _RATE.sub("<rate>", text)


def _duration(match: re.Match[str]) -> str:
    text, start = match.string, match.start()
    more = match["more"]
    if more is not None and not match["sign"] and not match["ago"]:
        # "5 minutes", "5 hours 30 minutes"; but "5h3m" is an age and "1 minute 3 seconds" was spent
        plain = not more or (" " in more and not _HAS_SECONDS.search(more))
        if plain and not _SPENT.search(text, max(0, start - 30), start):
            return match[0]
    elif _DECADE.fullmatch(match[0]):
        return match[0]
    if _SETTING.search(text, max(0, start - 24), start):
        return match[0]
    return "<duration>"
