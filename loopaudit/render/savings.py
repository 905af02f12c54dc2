"""One sentence per guard: when it would have stepped in on a loop, and what that would save."""

from __future__ import annotations

from collections.abc import Sequence

from loopaudit.findings import Level, Stop
from loopaudit.render import figures as f
from loopaudit.render.text import inert

VERBS = {
    Level.WARN: "warned",
    Level.REPAIR: "asked for a repair",
    Level.CONVERGE: "asked it to converge",
    Level.ALERT: "raised an alert",
    Level.WITHDRAW: "withdrawn the tool",
    Level.STOP: "stopped it",
    Level.STOP_ALL: "stopped all runs",
}


def guard_sentence(stops: Sequence[Stop], onset: int) -> str:
    """What one guard would have done about one finding. `stops` are its entries, at least one.

    The savings are a range: from the first stop (warnings ignored) to the first intervention of
    any kind (obeyed at once). A run stopped before step `onset` never comes to this loop.
    """
    ordered = sorted(stops, key=lambda stop: (stop.step, stop.saves_from))
    before = next((item for item in ordered if item.level.stops and item.step < onset), None)
    later = [item for item in ordered if item is not before]
    if before is None:
        return _sentence(ordered)
    text = (
        f"a limit of {_limit(before)} would have stopped the run at step {before.step + 1:,}, "
        f"before this loop, {_savings(before, before)}"
    )
    return f"{text}; without it, {_sentence(later)}" if later else text


def _sentence(ordered: Sequence[Stop]) -> str:
    first = ordered[0]
    stop = next((item for item in ordered if item.level.stops), None)
    text = f"a limit of {_limit(first)} would have {VERBS[first.level]} at step {first.step + 1:,}"
    if stop is None:
        text += " and never stopped it"
    elif stop is not first:
        text += f" and one of {_limit(stop)} {VERBS[stop.level]} at step {stop.step + 1:,}"
    return f"{text}, {_savings(stop, first)}"


def _limit(stop: Stop) -> str:
    return f"{stop.threshold:g} ({inert(stop.detector)})"


def _savings(stop: Stop | None, first: Stop) -> str:
    low = None if stop is first else stop
    if not first.saved_usd_at_most and first.saved_tokens_at_most == 0:
        return "too late to save anything"
    if first.saved_usd_at_most is not None:
        high_text = f.money(first.saved_usd_at_most)
        low_text = f.money(low.saved_usd_at_most) if low else ""
    elif first.saved_tokens_at_most is not None:
        high_text = f"{f.full(first.saved_tokens_at_most)} tokens"
        low_text = f.full(low.saved_tokens_at_most) if low else ""
    else:
        return "savings unknown: the log has no usage"
    if low_text and low_text not in (high_text, f.UNKNOWN):
        return f"saving {low_text} to {high_text}"
    return f"saving up to {high_text}" + ("" if stop else " if obeyed")
