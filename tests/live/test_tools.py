"""Calls of one response side by side: order, time-outs, failures, the run id."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import Any

from loopaudit.live.agent import Outcome, run_agent
from loopaudit.live.clock import RealClock
from loopaudit.live.guarded import Guarded, run_id
from loopaudit.live.model import Asked, Delta, Offered
from loopaudit.live.tools import Answered, run_all
from loopaudit.model import CallStatus


@dataclass
class Slow:
    """Answers after `seconds` of real time."""

    name: str
    seconds: float
    timeout: float | None = None
    barrier: threading.Barrier | None = None

    @property
    def offer(self) -> Offered:
        return Offered(self.name, "", {"type": "object"})

    def run(self, args: Any) -> Answered:
        if self.barrier is not None:
            self.barrier.wait(10)
        time.sleep(self.seconds)
        if args == "fail":
            raise ValueError("bad argument")
        return Answered(f"{self.name} {args} {run_id.get()}")


def test_they_run_at_the_same_time_and_answer_in_the_order_of_the_calls() -> None:
    together = threading.Barrier(3)  # passed only if all three are under way at once
    tools = [
        Slow(name, wait, barrier=together) for name, wait in (("a", 0.2), ("b", 0), ("c", 0.1))
    ]
    answers = run_all([(tool, 1) for tool in tools])
    assert [answer.text for answer in answers] == ["a 1 None", "b 1 None", "c 1 None"]


def test_a_tool_that_hangs_is_given_up_and_the_others_answer() -> None:
    hung = Slow("hung", 30, timeout=0.2)
    answers = run_all([(hung, 1), (Slow("quick", 0), 2), (None, 3), (Slow("bad", 0), "fail")])
    assert [(a.text, a.error, a.code) for a in answers] == [
        ("timed out after 0.2 s", True, "timeout"),
        ("quick 2 None", False, None),
        ("no such tool", True, "tool_not_found"),
        ("ValueError: bad argument", True, None),
    ]


class Once:
    """A model that calls two tools side by side, then answers."""

    name = "once"

    def stream(self, messages: Any, tools: Any) -> Any:
        if any(message.role == "tool" for message in messages):
            yield Delta(text="done", finish="stop")
            return
        yield Delta(call=Asked("1", "quick", 1))
        yield Delta(call=Asked("2", "hung", 2))
        yield Delta(finish="tool_use")


def test_in_the_loop() -> None:
    clock, outcome = RealClock(), Outcome()
    guard = Guarded("loopaudit", id="mine", clock=clock.now)
    tools = [Slow("quick", 0), Slow("hung", 30, timeout=0.2)]
    list(run_agent(guard, Once(), tools, ["go"], clock, outcome=outcome))
    assert outcome.how == "answered"
    assert outcome.seconds < 5
    assert outcome.run is not None
    quick, hung = outcome.run.calls
    assert (quick.status, hung.status) == (CallStatus.OK, CallStatus.ERROR)
    assert quick.size == len("quick 1 mine")  # the run id has travelled into the thread
    assert hung.retryable
