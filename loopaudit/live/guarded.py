"""Guards around a running agent: the events of one run in, what to do out.

`Guarded` is what a user's own loop, the mock agent and the tests drive. It builds the run from the
same pieces that a reader of logs emits, with the same assembler, and feeds the same sessions in the
same order as the replay does; it holds no rule of its own.

    with Guarded("loopaudit") as guard:
        guard.user(question)
        while guard.proceed():
            messages += [{"role": "user", "content": note} for note in guard.notes()]
            reply = ask(messages)
            allowed = guard.response(reply.text, reply.calls, tokens=(reply.input, reply.output))
            if not reply.calls:
                break
            for call in allowed:
                guard.result(call.id, run(call))  # and into `messages`, as any loop does
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from contextvars import ContextVar, Token
from dataclasses import dataclass, field
from decimal import Decimal
from types import TracebackType
from typing import IO, Any, Self
from uuid import uuid4

from loopaudit.effects import ToolTable
from loopaudit.findings import Level, Trip
from loopaudit.formats.native.fields import VERSION
from loopaudit.formats.native.write import dump, record_of
from loopaudit.guards import presets
from loopaudit.guards.preset import Preset
from loopaudit.guards.service import ServiceSession
from loopaudit.guards.session import GuardSession
from loopaudit.ingest.results import Keep
from loopaudit.ingest.runs import RunAssembler
from loopaudit.live.words import said
from loopaudit.model import (
    AttemptPiece,
    BoundaryKind,
    BoundaryPiece,
    Call,
    CallPiece,
    CallStatus,
    Piece,
    ResponsePiece,
    ResultPiece,
    Run,
    RunPiece,
    Step,
    Usage,
)
from loopaudit.retry import DEFAULT, RetryPolicy

FORMAT = "loopaudit"

#: id of the run that this thread or task works for; see `RunIds`
run_id: ContextVar[str | None] = ContextVar("loopaudit_run", default=None)


class RunIds(logging.Filter):
    """Puts the id of the run at work on every log record, as `record.run` ("-": none)."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.run = run_id.get() or "-"
        return True


@dataclass(frozen=True, slots=True)
class Action:
    """One verdict of a guard, and what was said to the model about it."""

    guard: str
    trip: Trip
    message: str
    tool: str | None = None


@dataclass(slots=True)
class _Open:
    """The step that is under way."""

    step: Step
    notes: list[Action] = field(default_factory=list)  # said once the step is over


class Guarded:
    """One run under guard. Not for several threads at once: each agent has its own.

    `guards`: names ("fuses:demo") or presets; none: nothing is judged, the run is recorded all the
    same. `task_type` chooses limits; where none is told, a replay of the record infers one from the
    run as a whole, which a live guard cannot. `service`: meters shared by many runs. `record`: a
    binary stream that gets the transcript in our own format, line by line (`header`: its first line
    too). `clock` gives seconds since the epoch.
    """

    def __init__(
        self,
        *guards: str | Preset,
        task_type: str | None = None,
        id: str | None = None,
        agent: str | None = None,
        parent: str | None = None,
        service: Sequence[ServiceSession] = (),
        record: IO[bytes] | None = None,
        header: bool = True,
        tools: ToolTable | None = None,
        mask: Callable[[str], str] | None = None,
        clock: Callable[[], float] = time.time,
        language: str = "en",
    ) -> None:
        loaded = [presets.load(g) if isinstance(g, str) else g for g in guards]
        self.id = id or uuid4().hex
        self.stopped: Action | None = None  # the verdict that ended the run
        self.actions: list[Action] = []  # all verdicts so far, in order
        self.withdrawn: dict[str, str] = {}  # tools no longer offered, and why
        self.refused: list[tuple[Any, str]] = []  # calls of the last response, and their answer
        self.presets = loaded
        self._sessions = [(p.name, GuardSession(p, task_type=task_type)) for p in loaded]
        self._service = tuple(service)
        self._record = record
        self._clock = clock
        self._language = language
        self._line = 0
        self._flat = 0  # calls so far
        self._open: _Open | None = None
        self._notes: deque[str] = deque()
        self._again: dict[str, deque[str]] = {}  # id as given -> open ids of the last response
        self._closed = False
        self._token: Token[str | None] | None = None
        self._assembler = RunAssembler(
            "live",
            FORMAT,
            keep=Keep(vectors=any(preset.needs_text for preset in loaded)),
            tools=tools,
            mask=mask,
            live=True,
        )
        if record is not None and header:
            record.write(dump({"loopaudit": VERSION}) + b"\n")
            self._line = 1
        self._add(RunPiece(self.id, 0, agent=agent, parent=parent, task_type=task_type, at=clock()))

    # -- what the loop tells ----------------------------------------------------------------------

    def user(self, text: str, at: float | None = None) -> None:
        """A real user message. It opens a request, also after a stop that was not for all."""
        self.finish_step()
        if self.stopped is not None and self.stopped.trip.level is not Level.STOP_ALL:
            self.stopped = None
        self._boundary(BoundaryKind.USER, text, at)

    def proceed(self) -> bool:
        """Ends the step under way and judges whether another one may begin."""
        self.finish_step()
        if self.stopped is None:
            self._before_step()
        return self.stopped is None

    def notes(self) -> list[str]:
        """What the guards want said to the model (as a user message) since the last call."""
        out = list(self._notes)
        self._notes.clear()
        return out

    def attempt(
        self,
        *,
        http_status: int | None = None,
        code: str | None = None,
        message: str | None = None,
        wait: float | None = None,
        retry_after: float | None = None,
        number: int | None = None,
        limit: int | None = None,
        gave_up: bool = False,
        at: float | None = None,
    ) -> None:
        """An API attempt that failed. It is judged with the response that follows."""
        self._add(
            AttemptPiece(
                self.id,
                0,
                at=self._now(at),
                http_status=http_status,
                code=code,
                message=message,
                wait=wait,
                retry_after=retry_after,
                number=number,
                limit=limit,
                gave_up=gave_up,
            )
        )

    def response(
        self,
        text: str | None = None,
        calls: Iterable[Any] = (),
        *,
        tokens: tuple[int, int] | Usage | None = None,
        cost: Decimal | None = None,
        model: str | None = None,
        finish: str | None = None,
        id: str | None = None,
        started: float | None = None,
        ended: float | None = None,
    ) -> list[Any]:
        """A model response: those of `calls` that may run, as they were given.

        `calls` are (id, tool, arguments), or objects with `id`, `name` and `arguments`. `tokens` is
        (input, output) or a `Usage`. The others stand in `refused`, with what to tell the model.
        """
        self.finish_step()
        given = list(calls)
        now = self._now(ended)
        usage = tokens if isinstance(tokens, Usage) or tokens is None else _usage(*tokens)
        piece = ResponsePiece(
            self.id,
            0,
            id=id or f"{self.id}/{len(self.run.steps) + 1}",
            at=now if started is None else started,
            ended=now,
            model=model,
            text=text,
            calls=self._named([_call(call, now) for call in given]),
            usage=usage,
            cost=cost,
            finish=finish,
        )
        self._add(piece)
        step = self.run.steps[-1]
        step.index = len(self.run.steps) - 1
        for position, call in enumerate(step.calls):
            call.index, call.step, call.position = self._flat, step.index, position
            self._flat += 1
        self._open = _Open(step)
        self._judge("step_started", step)
        for call in step.calls:
            self._judge("call_proposed", call, call)
        return self._allowed(step, given)

    def _named(self, calls: list[CallPiece]) -> tuple[CallPiece, ...]:
        """The calls with ids that differ within the response; `_again` has the new ones."""
        self._again = {}
        for number, call in enumerate(calls):
            if call.id is not None:
                others = self._again.setdefault(call.id, deque())
                if any(call.id == other.id for other in calls[:number]):
                    call.id = f"{call.id}#{number + 1}"
                others.append(call.id)
        return tuple(calls)

    def _allowed(self, step: Step, given: list[Any]) -> list[Any]:
        self.refused = []
        allowed = []
        for call, own in zip(step.calls, given, strict=False):
            if self.stopped is not None:
                reason = _reason(self.stopped.trip)
            elif call.tool in self.withdrawn:
                reason = self.withdrawn[call.tool]
            else:
                allowed.append(own)
                continue
            text = said("refused", self._language, reason=reason)
            self.refused.append((own, text))
            self.result(call.id, text, status=CallStatus.BLOCKED)
        return allowed

    def result(
        self,
        call: str | None,
        text: Any,
        *,
        error: bool = False,
        status: CallStatus | None = None,
        http_status: int | None = None,
        code: str | None = None,
        exit_code: int | None = None,
        at: float | None = None,
    ) -> None:
        """The answer to a call, by its id. `text`: str or a JSON value."""
        if call is not None and self._again.get(call):
            call = self._again[call].popleft()
        self._add(
            ResultPiece(
                self.id,
                0,
                call,
                text=text,
                at=self._now(at),
                status=status or (CallStatus.ERROR if error else CallStatus.OK),
                http_status=http_status,
                code=code,
                exit_code=exit_code,
            )
        )

    def limit(self, text: str) -> None:
        """A bound of the agent itself ended the request."""
        self.finish_step()
        self._boundary(BoundaryKind.LIMIT, text)

    def finish_step(self) -> None:
        """Ends the step under way, if any: results are judged in the order of their calls."""
        if self._open is None:
            return
        under_way, step = self._open, self._open.step
        for call in step.calls:
            if call.ended is not None and (step.ended is None or call.ended > step.ended):
                step.ended = call.ended
            self._judge("call_ended", call, call)
        last = step.calls[-1] if step.calls else None
        self._judge("step_ended", step, last)
        for meter in self._service:
            for trip in meter.step_ended(self.id, step):
                self._act(meter.name, trip, last)
        self._open = None
        for action in under_way.notes:
            self._tell(action)

    def close(self, outcome: str | None = None) -> Run:
        """Ends the run; it takes no more events. What it was, as the replay would see it."""
        if self._closed:
            return self.run
        self.finish_step()
        if self.stopped is not None:
            self._boundary(BoundaryKind.GUARD_STOP, self.stopped.message)
            self._judge("before_step", len(self.run.steps))
        if outcome is not None:
            self._add(RunPiece(self.id, 0, outcome=outcome, outcome_source="live"))
        run = self.run
        self._judge("run_ended", run)
        self._closed = True
        return run

    # -- what is known ----------------------------------------------------------------------------

    @property
    def run(self) -> Run:
        """The run as far as it went."""
        return self._assembler.growing(self.id)

    @property
    def retry(self) -> RetryPolicy:
        """The retry policy of the first guard set, else the default one."""
        return self.presets[0].retry if self.presets else DEFAULT

    def trips(self, guard: str) -> list[Trip]:
        """Verdicts of one guard so far."""
        return [action.trip for action in self.actions if action.guard == guard]

    @property
    def budget(self) -> int | None:
        """Steps that the watchdog allows by now, None where none runs."""
        budgets = [s.budget for _, s in self._sessions if s.budget is not None]
        return min(budgets, default=None)

    # -- inside -----------------------------------------------------------------------------------

    def _now(self, at: float | None) -> float:
        return self._clock() if at is None else at

    def _add(self, piece: Piece) -> None:
        self._line += 1
        piece.line = self._line
        if self._record is not None:
            self._record.write(dump(record_of(piece)) + b"\n")
        self._assembler.add(piece)

    def _boundary(self, kind: BoundaryKind, text: str, at: float | None = None) -> None:
        self._add(BoundaryPiece(self.id, 0, kind, self._now(at), text))
        self._judge("boundary", self.run.after[-1])

    def _before_step(self) -> None:
        index = len(self.run.steps)
        self._judge("before_step", index)
        for meter in self._service:
            for trip in meter.before_step(self.id, index):
                self._act(meter.name, trip, None)

    def _judge(self, event: str, about: Any, call: Call | None = None) -> None:
        """Feeds one event to all sessions; `call`: whose tool a verdict is about."""
        for name, session in self._sessions:
            for trip in getattr(session, event)(about):
                self._act(name, trip, call)

    def _act(self, guard: str, trip: Trip, call: Call | None) -> None:
        tool = None if call is None else call.tool
        message = said(
            trip.level.value,
            self._language,
            guard=guard,
            tool=tool or "-",
            count=trip.count,
            threshold=trip.threshold,
            reason=_reason(trip),
        )
        action = Action(guard, trip, message, tool)
        self.actions.append(action)
        if self.stopped is not None:
            return
        if trip.level.stops:
            self.stopped = action
            return
        if trip.level is Level.WITHDRAW and tool is not None:
            self.withdrawn[tool] = message
        if self._open is not None:
            self._open.notes.append(action)
        else:
            self._tell(action)

    def _tell(self, action: Action) -> None:
        self._notes.append(action.message)
        self._boundary(BoundaryKind.GUARD, action.message)

    def __enter__(self) -> Self:
        self._token = run_id.set(self.id)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._token is not None:
            with suppress(ValueError):  # a generator that was left is closed in another context
                run_id.reset(self._token)
        self.close("error" if error is not None else None)


def _reason(trip: Trip) -> str:
    """Why, in words: what the guard set says, else the name of the signal."""
    return trip.reason if " " in trip.reason else trip.detector.replace("_", " ")


def _usage(tokens_in: int, tokens_out: int) -> Usage:
    return Usage(fresh_input=tokens_in, output=tokens_out)


def _call(call: Any, at: float) -> CallPiece:
    if isinstance(call, CallPiece):
        return call
    if isinstance(call, tuple):
        id, tool, args = call
    else:
        id, tool, args = call.id, call.name, call.arguments
    return CallPiece(id, tool, args, at=at)
