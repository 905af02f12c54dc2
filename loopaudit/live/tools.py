"""What a tool is to the agent loop, and how the calls of one response run side by side."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextvars import copy_context
from dataclasses import dataclass, replace
from threading import Thread
from typing import Any, Protocol

from loopaudit.live.model import Offered

TIMED_OUT = "timed out after {seconds:g} s"


@dataclass(frozen=True, slots=True)
class Answered:
    """What came of a call, and the seconds it took (of a mock: that the caller has to spend)."""

    text: Any
    error: bool = False
    status: int | None = None  # HTTP
    code: str | None = None
    exit_code: int | None = None
    seconds: float = 0.0


class Tool(Protocol):
    """A tool. Two more attributes are optional: `timeout`, seconds after which a call is given up
    (default: never), and `scripted`: it answers at once and only tells how long it would take.
    """

    name: str
    offer: Offered

    def run(self, args: Any) -> Answered:
        """Answers; a failure is an answer too."""


def run_all(calls: Sequence[tuple[Tool | None, Any]]) -> list[Answered]:
    """The answers of calls that run side by side, in the order of the calls.

    Scripted tools answer in turn. Others run in threads of their own at the same time; one that
    passes its time-out is not waited for any longer.
    """
    began = time.monotonic()
    started = [
        None if tool is None or getattr(tool, "scripted", False) else _start(tool, args)
        for tool, args in calls
    ]
    answers = []
    for (tool, args), running in zip(calls, started, strict=True):
        if tool is None:
            answers.append(Answered("no such tool", True, None, "tool_not_found"))
        elif running is None:
            answers.append(_run(tool, args))
        else:
            answers.append(_finished(*running, getattr(tool, "timeout", None), began))
    return answers


def timed_out(seconds: float) -> Answered:
    """The answer to a call that took too long."""
    return Answered(TIMED_OUT.format(seconds=seconds), True, None, "timeout", None, seconds)


def _run(tool: Tool, args: Any) -> Answered:
    try:
        return tool.run(args)
    except Exception as error:  # a user's own tool: the model gets a sentence, not a trace
        return Answered(f"{type(error).__name__}: {error}", True)


def _start(tool: Tool, args: Any) -> tuple[Thread, list[Answered]]:
    """A call under way in a thread, with the run id of its caller; and where its answer will be."""
    answer: list[Answered] = []
    context = copy_context()
    thread = Thread(
        target=lambda: answer.append(context.run(_run, tool, args)), name=tool.name, daemon=True
    )
    thread.start()
    return thread, answer


def _finished(
    thread: Thread, answer: list[Answered], timeout: float | None, began: float
) -> Answered:
    left = None if timeout is None else max(0.0, timeout - (time.monotonic() - began))
    thread.join(left)
    found = answer[0] if answer else timed_out(timeout or 0.0)
    return replace(found, seconds=0.0)  # its time has passed already
