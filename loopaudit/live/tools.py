"""What a tool is to the agent loop, and how the calls of one response run side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from loopaudit.live.model import Offered


@dataclass(frozen=True, slots=True)
class Answered:
    """What came of a call, and the seconds it took."""

    text: Any
    error: bool = False
    status: int | None = None  # HTTP
    code: str | None = None
    exit_code: int | None = None
    seconds: float = 0.0


class Tool(Protocol):
    name: str
    offer: Offered

    def run(self, args: Any) -> Answered:
        """Answers; a failure is an answer too. Time that a mock takes is the caller's to spend."""


def run_all(calls: Sequence[tuple[Tool | None, Any]]) -> list[Answered]:
    """The answers of calls that run side by side, in the order of the calls."""
    answers = []
    for tool, args in calls:
        if tool is None:
            answers.append(Answered("no such tool", True, None, "tool_not_found"))
            continue
        try:
            answers.append(tool.run(args))
        except Exception as error:  # a user's own tool: the model gets a sentence, not a trace
            answers.append(Answered(f"{type(error).__name__}: {error}", True))
    return answers
