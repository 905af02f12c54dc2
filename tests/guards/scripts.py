"""Runs written out in a line or two, for the tests of guards."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from loopaudit import keys
from loopaudit.findings import Trip
from loopaudit.guards import presets
from loopaudit.guards.session import GuardSession
from loopaudit.model import (
    Boundary,
    BoundaryKind,
    Call,
    CallStatus,
    ErrorClass,
    Run,
    Step,
    StepKind,
    Target,
    Usage,
)
from loopaudit.replay.replay import replay_run

USER, HOOK, REMINDER = BoundaryKind.USER, BoundaryKind.HOOK, BoundaryKind.REMINDER
RESUME, GUARD = BoundaryKind.RESUME, BoundaryKind.GUARD
COMPACTION = StepKind.COMPACTION


class C:
    """A call as a script writes it: tool, arguments, result (None: unanswered)."""

    def __init__(
        self,
        tool: str,
        args: Any = None,
        result: Any = "ok",
        *,
        error: bool | ErrorClass = False,
        status: CallStatus | None = None,
        **more: Any,
    ) -> None:
        self.tool, self.args, self.result = tool, args, result
        if status is None:
            status = CallStatus.ERROR if error else CallStatus.OK
        if result is None:
            status = CallStatus.UNANSWERED
        self.more = {"status": status, **more}
        if isinstance(error, ErrorClass):
            self.more["error"] = error


#: calls of one step, or a boundary, or a kind of step
Item = Sequence[C] | BoundaryKind | StepKind


def run_of(items: Iterable[Item], usage: Sequence[int] = (), **more: Any) -> Run:
    """A run; `usage` gives each step's tokens."""
    run = Run(id="r", path="r.jsonl", format="test", **more)
    before: list[Boundary] = []
    index = 0
    for line, item in enumerate(items, 1):
        if isinstance(item, BoundaryKind):
            before.append(Boundary(item, line, run.path))
            continue
        step = Step(len(run.steps), run.path, line, before=before)
        before = []
        if step.index < len(usage):
            step.usage = Usage(fresh_input=usage[step.index], output=0)
        if isinstance(item, StepKind):
            step.kind = item
        else:
            for position, c in enumerate(item):
                step.calls.append(call_of(c, index, step.index, position, line))
                index += 1
        run.steps.append(step)
    run.after = before
    return run


def call_of(c: C, index: int, step: int, position: int, line: int = 1) -> Call:
    args = keys.canonical(c.args if c.args is not None else {})
    text = c.result if isinstance(c.result, str) else None
    digest = None if c.result is None else keys.digest(keys.canonical(c.result))
    fields = {
        "args": args.decode(),
        "result": digest,
        "text": text,
        "blank": None if c.result is None else not str(c.result).strip(),
        **c.more,
    }
    return Call(
        index, step, position, f"c{index}", c.tool, keys.call_key(c.tool, args), line, **fields
    )


def trips_of(run: Run, name: str, **options: Any) -> list[Trip]:
    return replay_run(run, [session_of(name, **options)])[0]


def session_of(name: str, **options: Any) -> GuardSession:
    user = options.pop("user", None)
    return GuardSession(presets.load(name, user, env={}), **options)


def rows(trips: Iterable[Trip]) -> list[tuple[Any, ...]]:
    """(step, call, level, detector, count) of each verdict."""
    return [(t.step, t.call, t.level.value, t.detector, t.count) for t in trips]


__all__ = ["Target"]
