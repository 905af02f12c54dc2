"""The same kinds of volatile parts in Chinese text."""

from __future__ import annotations

import re

from loopaudit.masks.times import CLOCK

_N = r"[0-9]{1,12}(?:\.[0-9]{1,9})?\s?"
_TIME = re.compile(
    r"(?:[0-9]{4}年)?(?:[0-9]{1,2}月[0-9]{1,2}日\s?)?(?:(?:星期|周)[一二三四五六日天]\s?)?"
    rf"(?:(?:上午|下午|晚上|凌晨|中午)\s?(?:{CLOCK}|[0-9]{{1,2}}[时点](?:[0-9]{{1,2}}分)?)"
    rf"|(?<=[日 一二三四五六天]){CLOCK}|[0-9]{{1,2}}[时点][0-9]{{1,2}}分(?:[0-9]{{1,2}}秒)?)"
)
_DURATION = re.compile(
    rf"(?<![0-9.])(?:{_N}(?:天|个?小时|分钟?|时)\s?){{0,3}}{_N}(?:毫秒|微秒|秒钟?)(?:前|后)?"
    rf"|(?<![0-9.]){_N}(?:天|个?小时|分钟|周|个月)(?:之?前|后)"
    rf"|(?:(?<=耗时)|(?<=用时)|(?<=耗时[:： ])|(?<=用时[:： ])|(?<=已运行))\s?{_N}"
    r"(?:天|个?小时|分钟?|ms|s)?"
)
_ATTEMPT = re.compile(
    r"第\s?(?:[0-9]{1,6}(?:\s?/\s?[0-9]{1,6})?|[一二三四五六七八九十百]{1,5})\s?次"
    r"|(?:重试|尝试)(?:次数)?\s?[:：(（]?\s?[0-9]{1,6}(?:\s?/\s?[0-9]{1,6})?(?:\s?次)?"
    r"|[0-9]{1,6}\s?次(?:重试|尝试)|(?:剩余|还剩)\s?[0-9]{1,6}\s?次"
)
#: what every time and every duration holds: asked first, as it takes a tenth of the time
_HAS_TIME = re.compile(r"[0-9](?::[0-9]|[时点])")
_HAS_DURATION = re.compile(r"[0-9]\s?[天个小分时毫微秒周]|[耗用]时|已运行")
_PID = re.compile(r"(进程\s?(?:号|ID|id)?\s?)[0-9]{1,10}")
_PORT = re.compile(r"(端口号?\s?)[0-9]{4,5}(?![0-9])")
_LEADS = bytes(range(0xE3, 0xEA))  # first bytes of Chinese characters in UTF-8


def mask_chinese(text: str, shape: bytes) -> str:
    """Times, durations, counters of attempts, pids and ports in Chinese words."""
    if len(shape.translate(None, delete=_LEADS)) == len(shape):
        return text
    if "次" in text or "试" in text:
        text = _ATTEMPT.sub("<attempt>", text)
    if any(word in text for word in "日午时点晚晨") and _HAS_TIME.search(text):
        text = _TIME.sub("<time>", text)
    if any(unit in text for unit in "秒时天周月钟") and _HAS_DURATION.search(text):
        text = _DURATION.sub("<duration>", text)
    if "进程" in text:
        text = _PID.sub(r"\1<pid>", text)
    if "端口" in text:
        text = _PORT.sub(r"\1<port>", text)
    return text
