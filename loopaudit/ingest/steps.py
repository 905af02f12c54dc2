"""What a run is told in pieces: figures of a response merged, the extent of a run, numbers."""

from __future__ import annotations

from loopaudit.model import BUCKETS, Run, Usage, UsageMark

#: Claude Code writes a placeholder of 1-8 output tokens before a stream has ended (measured on 273
#: sessions, versions 2.0.7x-2.1.4x); with no finish reason on any piece it is a lower bound.
PLACEHOLDER_OUTPUT = 8


def larger(a: Usage, b: Usage) -> Usage:
    """Field-wise maximum: early pieces carry placeholders, the last the final figures."""
    if a is b:
        return a
    for name in BUCKETS:
        new = getattr(b, name)
        if new is not None:
            old = getattr(a, name)
            if old is None or new > old:
                setattr(a, name, new)
    if a.mark is not b.mark and b.mark is UsageMark.REPORTED:
        a.mark = b.mark
    if a.note is None:
        a.note = b.note
    return a


def grown(old: object, new: object) -> bool:
    """Whether arguments are the same, written further: what was there begins what is there now."""
    if isinstance(old, str) and isinstance(new, str):
        return new.startswith(old)
    if isinstance(old, dict) and isinstance(new, dict):
        return all(key in new and grown(value, new[key]) for key, value in old.items())
    return old is None or old == new


def span(run: Run, at: float | None) -> None:
    """The run reaches to `at`."""
    if at is None:
        return
    if run.started is None or at < run.started:
        run.started = at
    if run.ended is None or at > run.ended:
        run.ended = at


def number(run: Run, placeholder_outputs: bool) -> None:
    flat = 0
    for index, step in enumerate(run.steps):
        step.index = index
        for position, call in enumerate(step.calls):
            call.index, call.step, call.position = flat, index, position
            flat += 1
            if call.ended is not None and (step.ended is None or call.ended > step.ended):
                step.ended = call.ended
        usage = step.usage
        if (
            placeholder_outputs
            and usage is not None
            and step.finish is None
            and usage.output is not None
            and usage.output <= PLACEHOLDER_OUTPUT
            and usage.mark is UsageMark.REPORTED
        ):
            usage.mark = UsageMark.LOWER_BOUND
            usage.note = usage.note or "output written before the stream ended"
