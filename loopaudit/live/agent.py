"""The agent loop: model, tool calls, results, model; what the guards decide is carried out.

It holds no rule of its own: `Guarded` decides, with the objects of the replay. It yields what
happens and prints nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from random import Random

from loopaudit.findings import Level
from loopaudit.keys import canonical
from loopaudit.live.clock import Clock
from loopaudit.live.guarded import Action, Guarded
from loopaudit.live.model import Asked, Message, Model, ModelError, Reply, gather
from loopaudit.live.tools import Answered, Tool, run_all
from loopaudit.model import Run, Usage
from loopaudit.retry import delays, should_retry

Price = Callable[[Usage], Decimal | None]


@dataclass(frozen=True, slots=True)
class Requested:
    """A user message opens a request."""

    text: str


@dataclass(frozen=True, slots=True)
class Failed:
    """An API attempt failed; `wait` None: given up."""

    step: int
    error: ModelError
    number: int  # 1-based
    limit: int
    wait: float | None


@dataclass(frozen=True, slots=True)
class Responded:
    """The model answered; `step` is 0-based."""

    step: int
    reply: Reply
    cost: Decimal | None


@dataclass(frozen=True, slots=True)
class Called:
    """A call ran, or was refused (`answer` None)."""

    step: int
    call: Asked
    answer: Answered | None


@dataclass(frozen=True, slots=True)
class Acted:
    """A guard spoke."""

    step: int
    action: Action


@dataclass(frozen=True, slots=True)
class Ended:
    """A request is over. `how`: "answered", "stopped", "limit" or "error"."""

    step: int  # steps of the run so far
    how: str
    text: str | None = None


Event = Requested | Failed | Responded | Called | Acted | Ended


@dataclass(slots=True)
class Outcome:
    """What a run came to."""

    how: str = "answered"  # of its last request
    run: Run | None = None
    actions: list[Action] = field(default_factory=list)
    stopped: Action | None = None
    steps: int = 0
    tokens: int = 0
    usd: Decimal = Decimal(0)
    seconds: float = 0.0
    unpriced: int = 0  # responses without usage or price


def run_agent(
    guard: Guarded,
    model: Model,
    tools: Iterable[Tool],
    requests: Iterable[str],
    clock: Clock,
    *,
    cap: int = 100,
    price: Price | None = None,
    seed: int = 0,
    system: str | None = None,
    outcome: Outcome | None = None,
) -> Iterator[Event]:
    """Plays all `requests` of one run; fill `outcome` (if given) as it goes.

    `cap`: steps a request at most, the agent's own bound beside the guards'.
    """
    talk = Conversation(guard, model, list(tools), clock, price, Random(seed), outcome or Outcome())
    if system:
        talk.messages.append(Message("system", system))
    with guard:
        for text in requests:
            yield from talk.request(text, cap)
            if talk.over:
                break
        talk.finish()


@dataclass(slots=True)
class Conversation:
    """One run under way; `model` and `tools` may change between requests."""

    guard: Guarded
    model: Model
    tools: list[Tool]
    clock: Clock
    price: Price | None
    random: Random
    outcome: Outcome
    messages: list[Message] = field(default_factory=list)
    shown: int = 0  # actions already told

    @property
    def over(self) -> bool:
        """Whether no further request may begin."""
        stopped = self.guard.stopped
        if stopped is None:
            return self.outcome.how == "error"
        return stopped.trip.level is Level.STOP_ALL or stopped.trip.detector == "token_budget"

    def request(self, text: str, cap: int) -> Iterator[Event]:
        """A user message and what follows; at most `cap` steps, or what a guard set allows."""
        guard, began = self.guard, self.clock.now()
        own = (preset.limits.get("max_steps_per_request", cap) for preset in guard.presets)
        bound = int(min((cap, *own)))
        self.messages.append(Message("user", text))
        guard.user(text)
        yield Requested(text)
        steps = 0
        how = "answered"
        while True:
            guard.finish_step()
            if steps >= bound and guard.stopped is None:  # no further step is asked for
                yield from self._acted()
                guard.limit(f"{bound} steps a request")
                how = "limit"
                break
            going = guard.proceed()
            yield from self._acted()
            if not going:
                how = "stopped"
                break
            for note in guard.notes():
                self.messages.append(Message("user", note, injected=True))
            reply = yield from self._ask()
            if reply is None:
                how = "error"
                break
            steps += 1
            yield from self._step(reply)
            if guard.stopped is not None:
                how = "stopped"
                break
            if not reply.calls:
                break
        guard.finish_step()
        yield from self._acted()
        self.outcome.how = "stopped" if guard.stopped is not None else how
        self.outcome.seconds = round(self.outcome.seconds + self.clock.now() - began, 3)
        yield Ended(len(guard.run.steps), self.outcome.how, self._closing())

    def _ask(self) -> Generator[Event, None, Reply | None]:
        """One response, failed attempts retried; None when given up."""
        guard, policy = self.guard, self.guard.retry
        offered = [tool.offer for tool in self.tools if tool.name not in guard.withdrawn]
        waits = delays(policy, self.random.uniform)
        for number in range(1, policy.retries + 2):
            try:
                return gather(self.model.stream(self.messages, offered))
            except ModelError as error:
                again = should_retry(
                    policy, http_status=error.status, code=error.code, text=error.message
                )
                wait = next(waits, None) if again else None
                if wait is not None and error.retry_after is not None:
                    wait = max(wait, error.retry_after)
                guard.attempt(
                    http_status=error.status,
                    code=error.code,
                    message=error.message,
                    wait=wait,
                    retry_after=error.retry_after,
                    number=number,
                    limit=policy.retries,
                    gave_up=wait is None,
                    at=self.clock.now(),
                )
                yield Failed(len(guard.run.steps), error, number, policy.retries, wait)
                if wait is None:
                    return None
                self.clock.sleep(wait)
        return None

    def _step(self, reply: Reply) -> Iterator[Event]:
        guard = self.guard
        cost = None if reply.usage is None or self.price is None else self.price(reply.usage)
        self.messages.append(Message("assistant", reply.text, tuple(reply.calls)))
        allowed = guard.response(
            reply.text,
            [(call.id, call.tool, call.args) for call in reply.calls],
            tokens=reply.usage,
            cost=cost,
            model=self.model.name,
            finish=reply.finish,
        )
        self._spent(reply.usage, cost)
        step = len(guard.run.steps) - 1
        yield Responded(step, reply, cost)
        yield from self._acted()
        by_name = {tool.name: tool for tool in self.tools}
        answers = run_all([(by_name.get(tool), args) for _, tool, args in allowed])
        began = self.clock.now()
        self.clock.sleep(max((answer.seconds for answer in answers), default=0.0))
        for (call_id, _, _), answer in zip(allowed, answers, strict=True):
            guard.result(
                call_id,
                answer.text,
                error=answer.error,
                http_status=answer.status,
                code=answer.code,
                exit_code=answer.exit_code,
                at=round(began + answer.seconds, 3),
            )
        for (call_id, tool, args), answer in zip(allowed, answers, strict=True):
            self.messages.append(Message("tool", _text(answer.text), call_id=call_id))
            yield Called(step, Asked(call_id, tool, args), answer)
        for (call_id, tool, args), text in guard.refused:
            self.messages.append(Message("tool", text, call_id=call_id))
            yield Called(step, Asked(call_id, tool, args), None)

    def _spent(self, usage: Usage | None, cost: Decimal | None) -> None:
        self.outcome.steps += 1
        tokens = None if usage is None else usage.total
        self.outcome.tokens += tokens or 0
        if cost is None:
            self.outcome.unpriced += 1
        else:
            self.outcome.usd += cost

    def _acted(self) -> Iterator[Event]:
        step = max(0, len(self.guard.run.steps) - 1)
        while self.shown < len(self.guard.actions):
            self.shown += 1
            yield Acted(step, self.guard.actions[self.shown - 1])

    def _closing(self) -> str | None:
        """What the user gets: the last text, or what a guard said with the newest result kept."""
        stopped = self.guard.stopped
        said = next((m.text for m in reversed(self.messages) if m.role == "assistant"), None)
        if stopped is None:
            return said
        kept = next((m.text for m in reversed(self.messages) if m.role == "tool"), None)
        return stopped.message if kept is None else f"{stopped.message} [{kept[:120]}]"

    def finish(self) -> None:
        outcome, guard = self.outcome, self.guard
        outcome.run = guard.close(_LABELS.get(outcome.how))
        outcome.actions = guard.actions
        outcome.stopped = guard.stopped


def _text(result: object) -> str:
    return result if isinstance(result, str) else canonical(result).decode("utf-8", "replace")


_LABELS = {"answered": "success", "error": "error"}
