"""What a tool result says: its text, digests, emptiness, kind of failure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from loopaudit.ingest.outcomes import not_yet, nothing_done, nothing_found, refused
from loopaudit.keys import canonical, digest
from loopaudit.masks import mask as default_mask
from loopaudit.model import Call, CallStatus
from loopaudit.retry import classify, retryable

#: characters of an error that tell which error it is; what follows is a trace or a listing
ERROR_HEAD = 400
_QUOTE = 200
_RAN = (CallStatus.OK, CallStatus.ERROR)


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


@lru_cache(maxsize=1024)  # the errors of a loop are alike
def _error_key(head: str) -> int:
    return mask_digest(head)


def quote(text: str) -> str:
    """The head and the tail of a result: programs sum up in their last line."""
    return text if len(text) <= 2 * _QUOTE else f"{text[:_QUOTE]}\n…\n{text[-_QUOTE:]}"


def fill_result(call: Call, text: str, keep: Keep, words: bool) -> None:
    """Set everything of `call` that depends on the text of its result; `status` is set already.

    `words`: the log does not flag failures, so a change that says it was not made has failed, and a
    call that says it was refused was refused.
    """
    call.result = digest(text)
    call.size = len(text)
    call.blank = not text or text.isspace()
    if (
        words
        and call.mutates
        and call.status is CallStatus.OK
        and call.exit_code != 0
        and nothing_done(text)
    ):
        call.status = CallStatus.ERROR
    if words and call.status in _RAN and call.exit_code is None and refused(text):
        call.status = CallStatus.REJECTED
    if call.status is CallStatus.ERROR:
        call.error = classify(
            http_status=call.http_status, code=call.code, text=text, exit_code=call.exit_code
        )
        call.retryable = retryable(call.error)
        call.error_key = _error_key(text[:ERROR_HEAD])
        call.text = text[: max(keep.error, keep.result)]
    else:
        call.nothing_found = nothing_found(text)
        if not (call.mutates or call.spawns or call.polls) and call.target is None:
            call.polls = not_yet(text)
        if keep.result:
            call.text = text[: keep.result]
    if keep.vectors:
        from loopaudit.similarity import vector

        call.vector = vector(text)
