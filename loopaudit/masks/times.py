"""Points of time, durations and rates."""

from __future__ import annotations

import re

_ZONE = r"(?:\s?(?:Z|UTC|GMT|[A-Z]{3,4}(?= [0-9])|[+-][0-9]{2}:?[0-9]{2})(?![0-9A-Za-z:]))?"
_HALF = r"(?:\s?[AaPp]\.?[Mm]\b)?"
CLOCK = rf"[0-9]{{1,2}}:[0-9]{{2}}(?::[0-9]{{2}}(?:[.,][0-9]{{1,9}})?)?(?![0-9]){_HALF}"
_JOINED = (  # also as in file names: T21_03_11_123Z, -21-03-11
    r"[0-9]{1,2}[:_-][0-9]{2}(?:[:_-][0-9]{2}(?:[.,:_][0-9]{1,9})?)?(?![0-9])"
)
_DATED = re.compile(
    r"(?<![0-9])(?:[0-9]{4}[-/.][0-9]{1,2}[-/.][0-9]{1,2}|[0-9]{1,2}[/.][0-9]{1,2}[/.][0-9]{4})"
    rf"(?:[T_-]{_JOINED}|,?\s{{1,2}}{CLOCK}){_ZONE}(?: m=[+-][0-9.]{{1,20}})?"
    r"|(?<![0-9])20[0-9]{6}[Tt_-]?[0-9]{6}(?:\.[0-9]{1,9})?Z?(?![0-9A-Za-z])"
)
_MONTHS = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}\.?"
_YEAR = r"[0-9]{4}(?![0-9])"
_DAY = r"(?:0?[1-9]|[12][0-9]|3[01])(?:st|nd|rd|th)?"
_NAMED = re.compile(
    rf"\b{_MONTHS}\s{{1,2}}{_DAY},?\s(?:{_YEAR},?\s)?(?:at\s)?{CLOCK}{_ZONE}(?:\s{_YEAR}{_ZONE})?"
    rf"|(?<![0-9]){_DAY}[ /-]{_MONTHS}[ /-]{_YEAR},?[: ](?:at\s)?{CLOCK}{_ZONE}"
)
_WEEKDAY = re.compile(r"\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]{0,6},?\s(?=<time>)")
_METER = re.compile(r"\[[0-9:]{4,9}<[0-9:?]{1,9}(?=[,\]])")  # tqdm: [00:12<00:15, 3.2it/s]
_CURL = re.compile(  # the right half of curl's progress table: rates and times
    r"\s[0-9.]{1,9}[kMGT]?\s{1,9}[0-9.]{1,9}[kMGT]?"
    r"(?:\s{1,3}(?:[0-9]{1,3}:[0-9]{2}:[0-9]{2}|--:--:--)){3}\s{1,9}[0-9.]{1,9}[kMGT]?"
)
_SECONDS = re.compile(
    r"(?<![0-9A-Za-z_.:/])[0-9]{1,3}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]{1,9})?Z?(?![0-9A-Za-z_:])"
    + _HALF
)
_MINUTES = re.compile(
    r"(?<![0-9A-Za-z_:./-])[0-9]{1,3}:[0-9]{2}(?:\.[0-9]{1,3})?(?![0-9A-Za-z_:])"
    r"(\s?[AaPp]\.?[Mm]\b| total| elapsed)?"
)
_BEFORE_MINUTES = ("[", "at ", "At ", "ETA ", "eta ", "since ", "elapsed ", ",  ", "up  ", "up ")
_CLOCK_GUARDS = (b"0:00", b"0000t00", b"00-00", b"0_00")


def mask_clocks(text: str, shape: bytes) -> str:
    """Everything with hours and minutes, from the most telling form to the least."""
    if b"--:--:--" in shape:
        text = _CURL.sub(" <rate>", text)
    if not any(guard in shape for guard in _CLOCK_GUARDS):
        return text
    text = _DATED.sub("<time>", text)
    if b"0 00:00" in shape or b"0 0:00" in shape or b"0:00:00:00" in shape or b" at " in shape:
        text = _NAMED.sub("<time>", text)
        if "<time>" in text:
            text = _WEEKDAY.sub("", text)
    if b"0<0" in shape:
        text = _METER.sub("[<time>", text)
    if b"0:00:00" in shape:
        text = _SECONDS.sub("<time>", text)
    return _MINUTES.sub(_minutes, text)


def _minutes(match: re.Match[str]) -> str:
    """`12:34` is a time only with a sign: elsewhere it may be line and column."""
    start = match.start()
    if match[1] or match.string.endswith(_BEFORE_MINUTES, max(0, start - 8), start):
        return "<time>"
    return match[0]


# -- durations ------------------------------------------------------------------------------------

_NUMBER = r"[0-9]{1,12}(?:[.,][0-9]{1,12})?"
_SHORT = r"(?:m?s|[nuµμ]s|(?:nano|micro|milli)?seconds?|m?secs?)\b"
_LONG = r"(?:h|hrs?|hours?|m|mins?|minutes?|d|days?|weeks?|months?|y|years?)"
_DURATION = re.compile(
    r"(?<![0-9A-Za-z_.,$€£¥#-])(?!(?:1[5-9]|20)[0-9]0s\b)[~≈<]?(?:"  # not the 1990s
    rf"{_NUMBER}[ -]?{_SHORT}(?:\sago\b)?"
    rf"|(?:{_NUMBER}\s?{_LONG},?\s?(?:and\s)?){{1,4}}{_NUMBER}\s?(?:{_SHORT}|{_LONG}\b)(?:\sago\b)?"
    rf"|(?P<long>{_NUMBER}[ -]?{_LONG}\b)(?P<sign>\s(?:ago|elapsed|remaining|left)\b)?)"
)
# a duration behind one of these is a setting, hence content
_SETTING = re.compile(
    r"(?:time-?out|ttl|interval|deadline|limit|max(?:imum)?|min(?:imum)?|budget|period|every|window"
    r"|threshold|retention|p[0-9]{2}|age|delay|超时时?间?|间隔|上限)[\"']?(?:\s(?:of|is|to|was))?"
    r"[\"']?\s?[:=：]?\s?[\"']?\Z",
    re.IGNORECASE,
)
# minutes and longer are a duration only behind one of these
_SPENT = re.compile(
    r"\b(?:took|in|after|elapsed|runtime|up|within)[:=]?\s(?:about |approximately |~)?\Z",
    re.IGNORECASE,
)
_HAS_UNIT = re.compile(
    rb"0[ -]?(?:[mnu]?s|\xc2\xb5s|\xce\xbcs|(?:nano|micro|milli)?sec|h|hr|hour|m|min|d|day|week|mon"
    rb"|y|year)(?:s|ond|onds|ute|utes|th|ths|0|\b)"
)
_TOOK = re.compile(r"(took[:=]?\s)[0-9]{1,9}(?:\.[0-9]{1,9})?(?![0-9A-Za-z%.]|\s[a-z])")
_ABOUT = re.compile(r"(?:about an?|less than an?) (?:second|minute|hour|day|week)(?: ago\b)?", re.I)
_AGE = re.compile(r"(?<=\s\s)(?:[0-9]{1,4}[smhdy]){1,3}(?=\s|\Z)")  # kubectl's column AGE
_RATE = re.compile(
    r"(?<![0-9A-Za-z_.,])[0-9]{1,9}(?:[.,][0-9]{1,9})?\s?(?:[KMGTkmgt]i?)?"
    r"(?:[Bb]|bytes|bits?|it|reqs?|requests|ops|rows|toks?|tokens|files|items|lines|steps?|tests)"
    r"(?:/s(?:ec(?:ond)?)?\b|ps\b)|(?<![0-9A-Za-z_.])[0-9]{1,9}(?:\.[0-9]{1,9})?s/it\b"
)
_RATE_GUARDS = (b"b/s", b"s/s", b"it/s", b"/sec", b"bps", b"s/it")
_ZSH = re.compile(r"(?<= )[0-9]{1,4}% cpu [0-9.:]{1,12} total")  # zsh's `time`


def mask_durations(text: str, shape: bytes) -> str:
    """Durations with a unit, and rates."""
    if b"/s" in shape or b"ps" in shape:
        for guard in _RATE_GUARDS:
            if guard in shape:
                text = _RATE.sub("<rate>", text)
                break
    if b"% cpu" in shape:
        text = _ZSH.sub("<cpu>", text)
    if _HAS_UNIT.search(shape):
        if b"   age" in shape:
            text = _AGE.sub("<duration>", text)
        text = _DURATION.sub(_duration, text)
    if b"took" in shape:
        text = _TOOK.sub(r"\1<duration>", text)
    if b"about a" in shape or b"less than a" in shape:
        text = _ABOUT.sub("<duration>", text)
    return text


def _duration(match: re.Match[str]) -> str:
    text, start = match.string, match.start()
    if match["long"] and not match["sign"] and not _SPENT.search(text, max(0, start - 30), start):
        return match[0]
    if _SETTING.search(text, max(0, start - 24), start):
        return match[0]
    return "<duration>"
