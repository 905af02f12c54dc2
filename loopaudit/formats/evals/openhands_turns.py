"""Events of OpenHands V0 to pieces: responses told on each of their events, and how calls ended."""

from __future__ import annotations

from collections import Counter as Counts
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from loopaudit.formats.apis.openai_chat import call_id
from loopaudit.formats.evals.openhands_metrics import Counter
from loopaudit.formats.shapes import (
    Json,
    arguments,
    dollars,
    name,
    rows,
    seconds,
    table,
    text_of,
    whole,
    words,
)
from loopaudit.formats.tool_messages import status_of
from loopaudit.formats.usages import openai_usage
from loopaudit.model import (
    AttemptPiece,
    BoundaryKind,
    BoundaryPiece,
    CallPiece,
    CallStatus,
    Piece,
    ResponsePiece,
    ResultPiece,
)

#: what agents do that is no call of a tool
_SILENT = frozenset(("recall", "system", "change_agent_state", "null", "start", "pause", "resume"))
_CONDENSED = frozenset(("condensation", "condensation_request", "condense"))
#: observations that answer nothing
_NOTES = frozenset(("null", "recall", "agent_state_changed", "system", "condense", "think_log"))
#: arguments that say how an action is shown, not what it does
_NOTED = frozenset(
    (
        *("thought", "blocking", "hidden", "confirmation_state", "is_confirmed", "action_risk"),
        *("keep_prompt", "security_risk", "kernel_init_code", "action", "message", "images_urls"),
        *("image_urls", "wait_for_response", "impl_source", "is_static", "include_extra"),
    )
)
_EVENT = frozenset(("id", "timestamp", "source", "timeout", "tool_call_metadata", "llm_metrics"))


class Turns:
    """Events in order; keeps the responses, and which call an observation answers."""

    def __init__(self, ignored: Counts[str]) -> None:
        self.answers: list[ResponsePiece] = []
        self._ignored = ignored  # events left out, by name
        self._by_id: dict[str, ResponsePiece] = {}
        self._calls: dict[str, str] = {}  # id of an action event -> id of its call
        self._counter = Counter()
        self._spent = Decimal(0)  # the counter of money

    def pieces(self, event: Json) -> Iterable[Piece]:
        at = seconds(event.get("timestamp"))
        action = event.get("action")
        if isinstance(action, str):
            yield from self._action(event, action, at)
        elif isinstance(event.get("observation"), str):
            yield from self._observation(event, str(event["observation"]), at)
        elif isinstance(event.get("content"), str) and not self.answers:  # older histories
            yield BoundaryPiece("", 0, BoundaryKind.USER, at, event["content"])
        else:
            self._ignored["event that is neither action nor observation"] += 1

    def _action(self, event: Json, action: str, at: float | None) -> Iterable[Piece]:
        args = event.get("args")
        args = args if isinstance(args, dict) else {k: event[k] for k in event if k not in _EVENT}
        source = event.get("source")
        first = source is None and not self.answers  # older histories name no source
        if action == "message" and (source == "user" or first):
            yield BoundaryPiece("", 0, BoundaryKind.USER, at, words(args.get("content")))
            return
        if action in _CONDENSED:
            yield BoundaryPiece("", 0, BoundaryKind.COMPACTION, at)
            return
        if action == "change_agent_state" and args.get("agent_state") in ("stopped", "paused"):
            yield BoundaryPiece("", 0, BoundaryKind.INTERRUPT, at)
            return
        if action in _SILENT or source not in ("agent", None):
            self._ignored[f"action {action[:40]}"] += 1
            return
        yield self._answer(event, action, args, at)

    def _answer(self, event: Json, action: str, args: Json, at: float | None) -> ResponsePiece:
        told = table(event, "tool_call_metadata")
        model = table(told, "model_response")
        choices = rows(model.get("choices"))
        message = table(choices[0], "message") if choices else {}
        text = words(args.get("thought"))
        if action == "message":
            text = words(args.get("content"))
        piece = ResponsePiece(
            "",
            0,
            id=call_id(model.get("id")),
            at=at,
            model=name(model.get("model")),
            text=text or text_of(message.get("content")),
            usage=openai_usage(model.get("usage")),
            finish=name(choices[0].get("finish_reason")) if choices else None,
        )
        counted = table(event, "llm_metrics")
        piece.usage = piece.usage or self._counter.grown(counted.get("accumulated_token_usage"))
        spent = dollars(counted.get("accumulated_cost"))
        if spent is not None:
            piece.cost = spent - self._spent if spent > self._spent else None
            self._spent = spent
        if action != "message":
            key = call_id(told.get("tool_call_id"))
            number = name(event.get("id"))
            if key is None and number is not None:
                key = f"event {number}"
            if key is not None and number is not None:
                self._calls[number] = key
            tool = name(told.get("function_name")) or action or "unknown"
            piece.calls = (CallPiece(key, tool, _arguments(message, key, args), at),)
        first = self._by_id.get(piece.id) if piece.id is not None else None
        if first is None:
            self.answers.append(piece)
            if piece.id is not None:
                self._by_id[piece.id] = piece
        return piece

    def _observation(self, event: Json, kind: str, at: float | None) -> Iterable[Piece]:
        extras = table(event, "extras")
        text = event.get("content")
        if kind == "agent_state_changed":
            yield from _state(extras, at)
            return
        cause = name(event.get("cause"))
        key = call_id(table(event, "tool_call_metadata").get("tool_call_id"))
        key = key or self._calls.get(cause or "")
        answers = key is not None or (cause is None and "source" not in event)
        if kind in _NOTES or not answers:
            if kind == "error":
                yield BoundaryPiece("", 0, BoundaryKind.REMINDER, at, words(text))
            elif kind not in _NOTES:
                self._ignored[f"observation {kind[:40]} that answers nothing"] += 1
            return
        code = extras.get("exit_code", event.get("exit_code"))
        told = whole(table(extras, "metadata").get("exit_code", code))
        success = event.get("success")
        if kind == "user_rejected":
            status = CallStatus.REJECTED
        elif kind == "error" or success is False or (told or 0) > 0 or extras.get("error"):
            status = CallStatus.ERROR
        elif success is True or told is not None:
            status = CallStatus.OK
        else:
            status = status_of(text)
        yield ResultPiece("", 0, key, text, at, status, exit_code=told)


def _arguments(message: Json, key: str | None, args: Json) -> Any:
    """As the model wrote them, else as the harness understood them."""
    for item in rows(message.get("tool_calls")):
        if key is not None and item.get("id") == key:
            return arguments(table(item, "function").get("arguments"))
    return {k: v for k, v in args.items() if k not in _NOTED and v is not None}


def _state(extras: Json, at: float | None) -> Iterable[Piece]:
    state, reason = extras.get("agent_state"), words(extras.get("reason"))
    if state == "rate_limited":
        yield AttemptPiece("", 0, at, http_status=429, message=reason)
    elif state == "stopped":
        yield BoundaryPiece("", 0, BoundaryKind.INTERRUPT, at, reason)
    elif state == "error":
        for piece in ending("", 0, reason or "agent state: error"):
            if isinstance(piece, BoundaryPiece | AttemptPiece):
                piece.at = at
            yield piece


def ending(run: str, line: int, error: str | None) -> Iterable[Piece]:
    """What ended a run in an error: its own loop guard, a limit, or a fault."""
    if not error:
        return
    if "StuckInLoop" in error or "stuck in a loop" in error:
        yield BoundaryPiece(run, line, BoundaryKind.GUARD_STOP, text=error[:2000])
    elif "maximum iteration" in error or "budget" in error.lower():
        yield BoundaryPiece(run, line, BoundaryKind.LIMIT, text=error[:2000])
    else:
        yield AttemptPiece(run, line, message=error, gave_up=True)
