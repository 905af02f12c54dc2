"""What was used up so far: tokens, money, steps, wall time. Plain sums; limits are the preset's.

What a log does not tell is not counted as 0: without any usage there is no reading, and after a
step without usage the sum is a lower bound, which the reading says in its note.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import ClassVar

from loopaudit.detectors.base import NONE, Detector
from loopaudit.findings import Reading, Rule
from loopaudit.model import Boundary, BoundaryKind, Step, StepKind, UsageMark

TOKENS = "token_budget"
MONEY = "money"
STEPS = "steps"
WALL_TIME = "wall_time"

RULES: tuple[Rule, ...] = (
    Rule(
        id="token-budget",
        title="The token budget is spent",
        looks_for=(
            "Input (fresh, cache reads and writes) and output tokens of all responses, "
            "compactions included, over all requests of the session."
        ),
        not_counted="Responses copied from another run, which owns their tokens.",
        evidence="fuses: 15,000 (demo), 50,000, and 500,000 for coding agents (guards.md §1).",
        remedy="Raise the budget on purpose, or split the task; cut what is sent with each step.",
        signal=TOKENS,
        cause="no-limit",
        needs=frozenset({"usage"}),
        family="budget",
    ),
    Rule(
        id="money-budget",
        title="The money budget is spent",
        looks_for="Recorded costs, or list prices where none is recorded, of all responses.",
        not_counted="Responses without a price: the sum is then a lower bound, never 0.",
        evidence="backstop: $1.00 for the service, alert at 60 %, stop at 100 % (guards.md §3).",
        remedy="Find the loop or the large context that spent it; then set the budget per task.",
        signal=MONEY,
        cause="no-limit",
        needs=frozenset({"usage"}),
        family="budget",
    ),
    Rule(
        id="step-limit",
        title="The request used up its steps",
        looks_for="Model responses since the last real user message.",
        not_counted="Compactions, and responses copied from another run.",
        evidence="backstop: 5 to 30 steps by type of task, message at 70 % (guards.md §3).",
        remedy="Ask to converge before the limit and answer from what is there at the limit.",
        signal=STEPS,
        cause="no-limit",
        family="budget",
    ),
    Rule(
        id="wall-time",
        title="The request took too long",
        looks_for="Seconds since the last real user message, or since the first event.",
        not_counted="The time that the user took to write.",
        evidence="backstop: 120 s (demo), 1,800 s; 20 slow calls pass a step limit (guards.md §3).",
        remedy="Give each call a time-out and the task a deadline that the agent can see.",
        signal=WALL_TIME,
        cause="no-limit",
        needs=frozenset({"times"}),
        family="budget",
    ),
)


class TokenBudget(Detector):
    """`token_budget`: tokens billed so far, over all requests; never reset."""

    signals = (TOKENS,)
    needs = frozenset({"usage"})

    def __init__(self) -> None:
        self._used = 0
        self._known = False
        self._bounds = 0  # responses whose usage is absent or a lower bound

    def step_ended(self, step: Step) -> Sequence[Reading]:
        if step.inherited:
            return NONE
        usage = step.usage
        total = None if usage is None else usage.total
        if usage is None or total is None or usage.mark is UsageMark.ABSENT:
            self._bounds += 1
            return NONE
        if usage.mark is UsageMark.LOWER_BOUND:
            self._bounds += 1
        self._used += total
        note = f"lower bound: usage of {self._bounds} responses missing" if self._bounds else None
        return (Reading(TOKENS, self._used, step.index, note=note),)


class ServiceTokenBudget(TokenBudget):
    """The same over all runs of a service."""

    scope = "service"


Price = Callable[[Step], Decimal | None]


class Money(Detector):
    """`money`: USD so far, over all requests; never reset.

    The recorded cost of a step counts; else `price(step)`, where a pricing function is given (it
    answers None for a step that it cannot price).
    """

    signals = (MONEY,)
    needs = frozenset({"usage"})

    def __init__(self, price: Price | None = None) -> None:
        self.price = price
        self._spent = Decimal(0)
        self._bounds = 0  # responses without cost and price, or with a part of their usage only

    def step_ended(self, step: Step) -> Sequence[Reading]:
        if step.inherited:
            return NONE
        cost = step.cost
        if cost is None and self.price is not None:
            cost = self.price(step)
        if cost is None:
            self._bounds += 1
            return NONE
        if step.cost is None and step.usage is not None:
            self._bounds += step.usage.mark is UsageMark.LOWER_BOUND
        self._spent += cost
        note = f"lower bound: price of {self._bounds} responses missing" if self._bounds else None
        return (Reading(MONEY, float(self._spent), step.index, note=note),)


class ServiceMoney(Money):
    """The same over all runs of a service."""

    scope = "service"


class _Request(Detector):
    """Counts within one request: from a real user message to the next."""

    def __init__(self, per_request: bool = True) -> None:
        self.per_request = per_request
        self._request = 0
        self._step = 0  # newest step

    def boundary(self, boundary: Boundary) -> Sequence[Reading]:
        if boundary.kind is not BoundaryKind.USER or not self.per_request:
            return NONE
        self._request += 1
        return self._restart(boundary)

    def _restart(self, boundary: Boundary) -> Sequence[Reading]:
        raise NotImplementedError


class StepCount(_Request):
    """`steps`: model responses so far, of this request or (`per_request=False`) of the run."""

    signals = (STEPS,)

    def __init__(self, per_request: bool = True) -> None:
        super().__init__(per_request)
        self._steps = 0

    def _restart(self, boundary: Boundary) -> Sequence[Reading]:
        if not self._steps:
            return NONE
        self._steps = 0
        # said at once: a limit judged before the next step must not hold the old count against it
        return (Reading(STEPS, 0, self._step, group=self._request),)

    def step_ended(self, step: Step) -> Sequence[Reading]:
        self._step = step.index
        if step.inherited or step.kind is not StepKind.MODEL:
            return NONE
        self._steps += 1
        return (Reading(STEPS, self._steps, step.index, group=self._request),)


class WallTime(_Request):
    """`wall_time`: seconds so far, of this request or (`per_request=False`) of the run."""

    signals = (WALL_TIME,)
    needs: ClassVar = frozenset({"times"})

    def __init__(self, per_request: bool = True) -> None:
        super().__init__(per_request)
        self._began: float | None = None

    def boundary(self, boundary: Boundary) -> Sequence[Reading]:
        if self._began is None:
            self._began = boundary.at
        return super().boundary(boundary)

    def _restart(self, boundary: Boundary) -> Sequence[Reading]:
        self._began = boundary.at
        return NONE

    def step_started(self, step: Step) -> Sequence[Reading]:
        if self._began is None and not step.inherited:
            self._began = step.at
        return NONE

    def step_ended(self, step: Step) -> Sequence[Reading]:
        now = step.at if step.ended is None else step.ended
        if now is None or self._began is None or step.inherited or not now >= self._began:
            return NONE
        seconds = round(now - self._began, 3)
        return (Reading(WALL_TIME, seconds, step.index, group=self._request),)
