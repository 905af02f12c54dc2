"""Cuts what cannot matter off Claude Code lines before they are parsed.

Claude Code writes each tool result twice, in `message.content` and in `toolUseResult`; the second
copy is about 40 % of all bytes. A quote inside a JSON string is escaped, so `,"toolUseResult":` is
always a key; where it is not a key of the line itself the cut leaves the braces unbalanced and the
parser refuses the line, which is then read whole.
"""

from __future__ import annotations

_COPY = b',"toolUseResult":'
_HEAD = 640  # bytes in which `type` stands; deeper folders only cost speed
_WORTH = 1024  # shorter copies are parsed: the second search would cost as much
_ENDS = (b"}\n", b"}", b"}\r\n")
#: whole sub-agent messages stand inside these; all other progress lines only repeat output
KEPT_PROGRESS = frozenset((b"agent_progress", b"skill_progress"))
_SNAPSHOT = b'{"type":"file-history-snapshot"'
_PROGRESS = b'"data":{"type":"'


def trim(raw: bytes) -> bytes:
    """`raw` without the second copy of a tool result; a stub for lines that hold no data.

    Left whole: unfinished lines, lines in which another record follows, and copies that tell more
    than the first one (sub-agent ids, interruptions, how an exit code is meant, denials).
    """
    if len(raw) < _WORTH:
        return raw
    at = raw.find(b'"type":"', 0, _HEAD)
    if at < 0:
        return raw
    kind = raw[at + 8 : at + 12]
    if kind == b"user":
        return _without_copy(raw, at)
    if kind == b"prog":
        start = raw.find(_PROGRESS, at, at + 40)
        if start < 0:
            return raw
        start += len(_PROGRESS)
        name = raw[start : raw.find(b'"', start)]
        if name in KEPT_PROGRESS or b"\\" in name or not _whole(raw, at):
            return raw
        return b'{"type":"progress","data":{"type":"' + name + b'"}}'
    if raw.startswith(_SNAPSHOT) and _whole(raw, at):
        return _SNAPSHOT + b"}"
    return raw


def _without_copy(raw: bytes, at: int) -> bytes:
    if raw.find(b'"message":', at, at + 32) < 0:
        return raw  # another order of keys: the message may stand behind the copy
    cut = raw.find(_COPY, at)
    if cut < 0 or len(raw) - cut < _WORTH:
        return raw
    if raw.find(b'"timestamp":"', cut - 64, cut) < 0 or not raw.endswith(_ENDS):
        return raw
    if raw.find(b'"agentId":', cut, cut + 256) > 0 or raw.find(b'"prompt":', cut, cut + 64) > 0:
        return raw
    last = raw[-640:]
    if b'"interrupted":true' in last or b'"returnCode' in last or b'"toolDenialKind":"' in last:
        return raw
    if b'"totalToolUseCount":' in last or raw.find(b'"uuid":"', cut) > 0:
        return raw  # a sub-agent's result; another record in the same line
    return raw[:cut] + b"}"


def _whole(raw: bytes, at: int) -> bool:
    """Whether the line ends and holds one record only."""
    return raw.endswith(_ENDS) and raw.find(b'}{"', at) < 0
