"""What a model is to the agent loop: messages and tools in, a stream of deltas out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from loopaudit.model import Usage


@dataclass(frozen=True, slots=True)
class Asked:
    """A call that the model asks for. `args`: the parsed value, or the raw text."""

    id: str
    tool: str
    args: Any = None


@dataclass(slots=True)
class Message:
    role: str  # "system", "user", "assistant", "tool"
    text: str | None = None
    calls: tuple[Asked, ...] = ()  # of the assistant
    call_id: str | None = None  # of a tool's answer
    injected: bool = False  # a guard said it, no user


@dataclass(frozen=True, slots=True)
class Offered:
    """A tool as the model sees it."""

    name: str
    about: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of a streamed response."""

    text: str | None = None
    call: Asked | None = None  # whole, once its arguments are complete
    usage: Usage | None = None
    finish: str | None = None


class ModelError(Exception):
    """An attempt that failed; what is known of it, structured where the server said so."""

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        code: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.code = code
        self.retry_after = retry_after


class Model(Protocol):
    name: str

    def stream(self, messages: Sequence[Message], tools: Sequence[Offered]) -> Iterator[Delta]:
        """One attempt. Raises `ModelError`, also in the middle of the stream."""


@dataclass(slots=True)
class Reply:
    """A whole response."""

    text: str | None = None
    calls: list[Asked] = field(default_factory=list)
    usage: Usage | None = None
    finish: str | None = None


#: an answer without text and calls is a failed attempt (guards.md §1)
EMPTY = "empty model output"


def gather(deltas: Iterable[Delta]) -> Reply:
    """All deltas of one attempt. Raises `ModelError`, also for an empty answer."""
    reply = Reply()
    text = []
    for delta in deltas:
        if delta.text:
            text.append(delta.text)
        if delta.call is not None:
            reply.calls.append(delta.call)
        if delta.usage is not None:
            reply.usage = delta.usage
        reply.finish = delta.finish or reply.finish
    reply.text = "".join(text) or None
    if reply.text is None and not reply.calls:
        raise ModelError(EMPTY, code="empty_output")
    return reply
