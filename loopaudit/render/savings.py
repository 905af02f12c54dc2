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
_ACTIONS = {
    Level.WARN: "warn",
    Level.REPAIR: "ask for a repair",
    Level.CONVERGE: "ask to converge",
    Level.ALERT: "alert",
    Level.WITHDRAW: "withdraw the tool",
    Level.STOP: "stop",
    Level.STOP_ALL: "stop all runs",
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
    text = f"{_action(before)}, before this loop: {_savings(before, before)}"
    return f"{text}; without that, {_sentence(later)}" if later else text


def _sentence(ordered: Sequence[Stop]) -> str:
    first = ordered[0]
    stop = next((item for item in ordered if item.level.stops), None)
    text = _action(first)
    if stop is None:
        text += ", never stop"
    elif stop is not first:
        text += f", {_action(stop, first.detector)}"
    return f"{text}: {_savings(stop, first)}"


def _action(stop: Stop, named: str = "") -> str:
    """`warn at step 15 (same-call-same-result, limit 2)`; a detector just named is not again."""
    limit = f"limit {number(stop.threshold)}"
    name = "" if stop.detector == named else f"{rule_name(stop.detector)}, "
    return f"{_ACTIONS[stop.level]} at step {stop.step + 1:,} ({name}{limit})"


def rule_name(detector: str) -> str:
    """Signals are named like rules."""
    return inert(detector).replace("_", "-")


def number(limit: int | float) -> str:
    return f"{limit:,}" if isinstance(limit, int) else f"{limit:,g}"


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
        return f"saves {low_text} to {high_text}"
    return f"saves up to {high_text}" + ("" if stop else " if obeyed")
