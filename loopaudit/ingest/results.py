"""What a tool result says: its text, digests, emptiness, kind of failure."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from loopaudit.keys import canonical, digest
from loopaudit.masks import mask as default_mask
from loopaudit.model import Call, CallStatus
from loopaudit.retry import classify, retryable

#: an answer that says in words that nothing was found is an answer, not a loop (ggcode#419)
_NOTHING = re.compile(
    r"\b(?:no|0|zero)\s+(?:\w+\s+){0,2}?(?:matche?s?|results?|files?|hits?|entries|records|rows"
    r"|occurrences)\b|\bnothing found\b|\bnot found\b|未找到|没有找到|没有结果|无结果",
    re.IGNORECASE,
)
#: a change that was not made, said by tools whose log has no flag for failures: the words of
#: OpenHands and SWE-agent, Gemini CLI, Cline and Roo, Aider, opencode, MCP's file server, Codex
_NOT_DONE = re.compile(
    r"\A\W{0,4}(?:error|failed|failure|fatal|错误|失败|exception)\b|\A[^{\n]{0,40}(?:失败|出错)"
    r"|\bno (?:replacement|edits?|changes) (?:was|were|have been)?\s?(?:performed|made|applied)\b"
    r"|\b(?:did|does)(?: not|n't) (?:appear verbatim|match exactly|exist)\b|\bfailed to match\b"
    r"|\bno (?:exact |sufficiently similar )?match(?:es)? (?:was |were )?found\b"
    r"|\b0 occurrences found\b|\bcould not find (?:the )?(?:exact|old|string|text|search)"
    r"|\b(?:old_?(?:string|str|text)|(?:string|text|pattern) to (?:replace|find)|search (?:text|string))"
    r"[^\n]{0,40}\bnot found\b|\bSEARCH block\b|\A\W{0,4}invalid context\b"
    r"|\bpatch (?:does not apply|failed)\b|\bhunks? (?:#?\d+ )?failed\b"
    r"|[\"'](?:success|ok|applied)[\"']\s?:\s?false\b"
    r"|\A\s?\{\s?[\"'](?:error|err)[\"']\s?:\s?[\"'{]|未找到(?:要|需要)|找不到要|没有匹配到",
    re.IGNORECASE,
)
_SAID = 400  # characters at the start of a result that say so
#: an answer that it is not done yet: the call waits for something, whatever its name
_PENDING = re.compile(
    r"[\"']?\b(?:status|state|phase|stage)[\"']?\s?[:=]\s?[\"']?(?:still[ _-])?(?:running|pending"
    r"|in[ _-]?progress|processing|building|waiting|starting|provisioning|creating|deploying|started"
    r"|active)\b(?![ -]?\w)"
    r"|\bstill (?:running|processing|building|pending|waiting|in progress|deploying|working)\b"
    r"|\bnot (?:yet )?(?:ready|finished|done|complete|completed|available)(?: yet)?\b"
    r"|\A\W{0,3}(?:running|pending|in[ _-]progress|processing|building|please wait|waiting)\W{0,3}\Z"
    r"|\b(?:progress|complete|completed|done|downloaded|uploaded)\b\W{0,3}\d{1,2}(?:\.\d+)?\s?%"
    r"|\b\d{1,2}(?:\.\d+)?\s?% (?:complete|completed|done|finished)\b"
    r"|(?:状态|阶段)\s?[:：]\s?(?:运行|进行|处理|排队|等待|构建|部署)中|(?:仍在|正在)(?:运行|处理|构建|部署|进行|执行|排队)"
    r"|尚未(?:完成|结束|就绪)|进度\s?[:：]?\s?\d{1,2}(?:\.\d+)?\s?%|\A\W{0,3}(?:运行|处理|进行|排队|等待|构建)中\W{0,3}\Z",
    re.IGNORECASE,
)
#: characters of an error that tell which error it is; what follows is a trace or a listing
ERROR_HEAD = 400
_QUOTE = 200
_SHORT = 240  # characters; longer answers that mention "not found" hold content too


@dataclass(frozen=True, slots=True)
class Keep:
    """How much text to keep, in characters. Digests are always made of the whole."""

    args: int = 120
    result: int = 0
    error: int = 200
    text: int = 0
    vectors: bool = False  # text vectors of results, for guards that compare meaning


def result_text(value: Any) -> str:
    """The result as one text: strings as they stand, text blocks joined, other JSON canonical."""
    if type(value) is str:
        return value
    if isinstance(value, list):
        parts = []
        for block in value:
            if isinstance(block, str):
                parts.append(block)
            elif isinstance(block, dict) and isinstance(block.get("text"), str):
                parts.append(block["text"])
            else:
                return canonical(value).decode("utf-8", "surrogatepass")
        return "\n".join(parts)
    return canonical(value).decode("utf-8", "surrogatepass")


def mask_digest(text: str, mask: Callable[[str], str] | None = None) -> int:
    return digest((mask or default_mask)(text))


def quote(text: str) -> str:
    """The head and the tail of a result: programs sum up in their last line."""
    return text if len(text) <= 2 * _QUOTE else f"{text[:_QUOTE]}\n…\n{text[-_QUOTE:]}"


def fill_result(call: Call, text: str, keep: Keep) -> None:
    """Set everything of `call` that depends on the text of its result; `status` is set already."""
    call.result = digest(text)
    call.size = len(text)
    call.blank = not text or text.isspace()
    if call.mutates and call.status is CallStatus.OK and _NOT_DONE.search(text, 0, _SAID):
        call.status = CallStatus.ERROR
    if call.status is CallStatus.ERROR:
        call.error = classify(
            http_status=call.http_status, code=call.code, text=text, exit_code=call.exit_code
        )
        call.retryable = retryable(call.error)
        call.error_key = mask_digest(text[:ERROR_HEAD])
        call.text = text[: max(keep.error, keep.result)]
    else:
        if call.size <= _SHORT:
            call.nothing_found = _NOTHING.search(text) is not None
            if not (call.mutates or call.spawns or call.polls) and call.target is None:
                call.polls = _PENDING.search(text) is not None
        if keep.result:
            call.text = text[: keep.result]
    if keep.vectors:
        from loopaudit.similarity import vector

        call.vector = vector(text)
