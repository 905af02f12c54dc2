"""Whether a user's message asks to look at something again and again."""

from __future__ import annotations

import re

_ASKS_TO_POLL = re.compile(
    r"\b(?:keep|continue) (?:on )?(?:checking|polling|watching|monitoring|looking at|an eye)\b"
    r"|\bpoll\b|\bmonitor (?!s\b)|\bwatch (?:it|the|this|for|over)\b"
    r"|\bevery (?:few |couple of |\d+ |ten |thirty |half )?(?:seconds?|minutes?|hour)\b"
    r"|每隔|每(?:\d+|[一二三五十几半]+)\s?个?(?:秒|分钟|小时)|轮询|持续(?:检查|监控|监测|观察|关注)"
    r"|(?:一直|不断|反复)(?:检查|查询|监控|盯)|盯着|监控",
    re.IGNORECASE,
)
#: of which one stands in each such request, in lower case
_HINTS = ("keep", "cont", "poll", "mon", "watch", "every", *"每轮持一不反盯监")


def asks_to_poll(text: str | None) -> bool:
    if not text:
        return False
    lower = text.lower()
    return any(map(lower.__contains__, _HINTS)) and _ASKS_TO_POLL.search(text) is not None
