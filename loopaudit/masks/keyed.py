"""`key: value` and `key=value`: what the key says decides whether the value is volatile."""

from __future__ import annotations

import re
from functools import lru_cache

# a value that holds a digit, after ":" or "="; its key is looked up by `_kind`
_VALUE = re.compile(
    r"[:=：][ \t]{0,2}(?:\\?[\"'])?"
    r"([A-Za-z_-]{0,40}[0-9][0-9A-Za-z_.+/=-]{0,127})(?![0-9A-Za-z_(-])"
)
_BEFORE_KEY = re.compile(r".*[^\w .-]", re.DOTALL)
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[\u4e00-\u9fff]+")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: an id of one of these names a single passing thing: masked whatever it looks like
_MESSAGE = _words(
    "request req message msg trace span parent correlation session run thread conversation response"
    " completion invocation execution operation event delivery transaction tx txn attempt tool call"
    " log process connection conn worker container chunk lease receipt ack use exec"
)
_CHINESE_MESSAGE = ("消息", "请求", "会话", "跟踪", "追踪", "流水", "事务", "执行")
_DURATION = _words("duration elapsed took latency uptime runtime walltime eta retryafter")
_TIMED = _words(  # "<word> time" is a duration
    "response total execution processing load query cpu user sys system real build render compile"
    " queue wait process server request connect import setup teardown run wall elapsed exec"
)
_STAMP = _words(  # a bare date under these is a stamp too
    "updated created modified generated checked fetched retrieved today now timestamp stamp seen"
    " started finished completed refreshed synced"
)
_TIME = _STAMP | _words(
    "time date epoch since until expires ended mtime ctime atime reset ts iat exp nbf datetime"
)
_ATTEMPT = _words("attempt attempts retry retries tries attemptsmade retrycount")
_ATTEMPT_PAIRS = _words(
    "retry-count attempt-count attempts-made attempts-left retries-left attempts-remaining"
    " retries-remaining attempt-number retry-number retry-attempt tries-left"
)
_PORT = _words("port")
_PID = _words("pid ppid tid")
_ID = _words("id uuid guid ulid ref reference token csrf nonce confirmation reservation tracking")
_MESSAGE_KEYS = _words("traceparent sid jsessionid phpsessid requestid sessionid traceid messageid")
_CHINESE = (  # endings of a Chinese key
    ("duration", ("耗时", "用时", "运行时间", "等待时间", "响应时间", "持续时间", "执行时间")),
    ("stamp", ("更新时间", "生成时间", "创建时间", "时间戳", "更新", "生成于")),
    ("time", ("时间", "日期")),
    ("attempt", ("重试次数", "尝试次数", "重试", "尝试")),
    ("port", ("端口", "端口号")),
    ("pid", ("进程", "进程号")),
    ("message", tuple(a + b for a in _CHINESE_MESSAGE for b in ("编号", "号"))),
    ("id", ("编号", "单号")),
)
_SHORT_UNITS = _words("ms s sec secs seconds us ns millis milliseconds")
_SETTING = _words("max maximum min minimum default limit allowed")
_UNITS = _words("s ms us µs ns sec secs second seconds m min mins minute minutes h hr hrs hours d")


@lru_cache(4096)
def _kind(key: str) -> str:
    """The kind of value that a key announces; "" if none that is volatile."""
    words = [word.lower() for word in _WORD.findall(key)]
    if not words:
        return ""
    last = words[-1]
    before = words[-2] if len(words) > 1 else ""
    if last[0] >= "一":
        return next((kind for kind, endings in _CHINESE if last.endswith(endings)), "")
    if last == "id" and before.endswith(_CHINESE_MESSAGE):
        return "message"
    if not _SETTING.isdisjoint(words[-3:]):  # MAX_RETRIES=3
        return ""
    if last in _SHORT_UNITS and before:  # duration_ms, elapsedSeconds, totalTimeMs
        third = words[-3] if len(words) > 2 else ""
        if before in _DURATION or (before == "time" and third in _TIMED):
            return "duration"
        return "time" if before in _TIME else ""
    if (
        last in _DURATION
        or (last == "time" and before in _TIMED)
        or (before, last)
        == (
            "retry",
            "after",
        )
    ):
        return "duration"
    if before == "time" and last in ("total", "connect", "namelookup", "starttransfer", "elapsed"):
        return "duration"  # curl -w
    if last in _PID:
        return "pid"
    if last in _PORT:
        return "port"
    if last in _ATTEMPT or f"{before}-{last}" in _ATTEMPT_PAIRS:
        return "attempt"
    if "ratelimit" in words or (before == "limit" and "rate" in words):
        return "quota" if last in ("remaining", "reset", "used") else ""
    if last == "seed":
        return "seed"
    if last in _MESSAGE_KEYS:
        return "message"
    if last in ("id", "uuid") and before in _MESSAGE:
        return "message"
    if last in _ID:
        return "id"
    if last == "at" and before:
        return "stamp"
    return "stamp" if last in _STAMP else "time" if last in _TIME else ""


_EPOCH = re.compile(r"1[0-9]{9}(?:[0-9]{3}|[0-9]{6}|[0-9]{9})?(?:\.[0-9]{1,9})?\Z")
_DATE = re.compile(r"[0-9]{4}[-/][0-9]{2}[-/][0-9]{2}\Z")
_NUMBER = re.compile(r"[0-9]{1,20}(?:\.[0-9]{1,20})?\Z")
_COUNTER = re.compile(r"[0-9]{1,6}(?:/[0-9]{1,6})?\Z")
_PREFIXED = re.compile(
    r"(?:m|msg|message|r|req|request|evt|event|tr|trace|sp|span|s|sess|session|run|j|job|call|tc"
    r"|toolu|tx|txn|op|exec|resp|res|t|task|ack|log)[-_]?[0-9]{1,20}\Z",
    re.IGNORECASE,
)
_HEX = re.compile(r"[0-9a-fA-F]{12,128}\Z")
_SWITCH = re.compile(r"[a-z](?=[0-9A-Z])|[A-Z](?=[0-9])|[0-9](?=[A-Za-z])")


def machine_made(value: str) -> bool:
    """Whether an id looks as if a machine drew it; a small number or `ORD-4711` does not."""
    if value.isdigit():
        return len(value) >= 15
    if _PREFIXED.match(value) or _HEX.match(value):
        return True
    tail = re.split(r"[-_.]", value)[-1]
    return len(tail) >= 8 and len(_SWITCH.findall(tail)) >= 3


def _mark(kind: str, value: str, key: str) -> str:
    """The mark for a value of this kind, or "" where the value is not of it."""
    if kind == "message":
        return "<id>"
    if kind == "id":
        return "<id>" if machine_made(value) else ""
    if kind == "duration":
        number = value.rstrip("nµumsechrdaytig")
        return "<duration>" if _NUMBER.match(number) and _unit(value[len(number) :]) else ""
    if kind in ("time", "stamp"):
        if _EPOCH.match(value) or (kind == "stamp" and _DATE.match(value)):
            return "<time>"
        return (
            "<duration>" if key.lower() == "time" and "." in value and _NUMBER.match(value) else ""
        )
    if kind == "port":
        return "<port>" if value.isdigit() and 4 <= len(value) <= 5 else ""
    if kind == "attempt":
        return "<attempt>" if _COUNTER.match(value) else ""
    if kind == "seed":
        return "<seed>" if value.isdigit() and len(value) >= 4 else ""
    return f"<{kind}>" if _NUMBER.match(value) else ""


def _unit(text: str) -> bool:
    return not text or text in _UNITS


def mask_values(text: str) -> str:
    """Masks the volatile values of keys. All ids of a short acknowledgement count as volatile."""
    done = acknowledges(text)

    def value(match: re.Match[str]) -> str:
        at = match.start()
        key = _key(text, at)
        kind = _kind(key)
        if not kind:
            return match[0]
        found = match[1].rstrip(".")  # the end of a sentence
        mark = _mark(kind, found, key) or ("<id>" if done and kind == "id" else "")
        if not mark:
            return match[0]
        return text[at : match.start(1)] + mark + text[match.start(1) + len(found) : match.end()]

    text = _VALUE.sub(value, text)
    return _ACK_NUMBER.sub("<id>", text) if done else text


def _key(text: str, end: int) -> str:
    """The key that ends before `end`: at most 40 characters, without quotes around it."""
    while end and text[end - 1] in " \"'\\]":
        end -= 1
    if text.endswith(")", 0, end):  # duration (ms): 12
        end = max(text.rfind("(", max(0, end - 12), end), 0) or end
    start = max(0, end - 40)
    head = _BEFORE_KEY.match(text, start, end)
    return text[head.end() if head else start : end]


# -- acknowledgements -----------------------------------------------------------------------------

_DONE = (
    r"ok|success|succeeded|sent|delivered|queued|accepted|created|saved|posted|submitted|scheduled"
    r"|booked|confirmed|uploaded|inserted|published|stored|registered|reserved"
)
_ACK = re.compile(
    rf"[\"'](?:{_DONE})[\"']\s?:\s?(?:true|1)\b"
    rf"|[\"'](?:status|result|state|message|msg)[\"']\s?:\s?[\"'](?:{_DONE}|done|成功|已发送|已创建)\b"
    r"|[\"'](?:inserted|created|new|generated)_?[iI]d[\"']\s?:"
    rf"|\A[^{{\[\n]{{0,80}}\b(?:{_DONE}|opened|recorded)\b"
    r"|\A[^{\[\n]{0,40}(?:已|成功)(?:创建|发送|提交|发布|保存|预订|送达|排队)"
    r"|\A[^{\[\n]{0,40}(?:创建|发送|提交|发布|保存)成功",
    re.IGNORECASE,
)
_ACK_NUMBER = re.compile(
    r"(?:(?<=#)|(?<=\bid )|(?<=\bID )|(?<=message )|(?<=issue )|(?<=ticket )"
    r"|(?<=编号 )|(?<=编号[:：])|(?<=工单 )|(?<=消息 ))(?:[A-Za-z]{1,8}[-_])?[0-9]{1,20}\b"
    r"|(?<=\bas )[A-Za-z]{1,12}[-_][0-9A-Za-z]{0,40}[0-9][0-9A-Za-z]{0,40}\b(?![.][A-Za-z])"
    r"|(?<=<)[^<>@\s]{3,80}@[^<>@\s]{3,80}(?=>)"  # Message-ID of a mail
)


def acknowledges(text: str) -> bool:
    """Whether this is a short flat answer that only says that something was done."""
    return (
        len(text) <= 200
        and text.count("{") <= 2
        and text.count("\n") <= 8
        and "[" not in text
        and _ACK.search(text) is not None
    )
