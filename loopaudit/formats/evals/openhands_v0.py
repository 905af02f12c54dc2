"""OpenHands up to 2025 (V0): event arrays, and the output.jsonl of evaluations and of the resolver.

An event is an action or an observation; `cause` names the action that it answers. The response of
the model stands, whole, on each of its actions and their observations alike: it counts once, by its
id. `llm_metrics` are counters that only grow; a response's part is the difference. Older histories
are pairs of action and observation, without ids. What the harness does itself (recall, state
changes) is no work of the agent.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from loopaudit.formats.apis.openai_chat import call_id
from loopaudit.formats.base import Format, Sample
from loopaudit.formats.evals.openhands_metrics import Counter, give
from loopaudit.formats.graded import graded
from loopaudit.formats.logreader import LogReader
from loopaudit.formats.shapes import (
    Json,
    arguments,
    dollars,
    name,
    rows,
    seconds,
    shown,
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
    RunPiece,
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


class OpenHandsReader(LogReader):
    def read(self, line: int, record: Any) -> Iterable[Piece]:
        if isinstance(record, dict) and isinstance(record.get("history"), list):
            return self._instance(line, record)
        if isinstance(record, dict) and _is_prediction(record):
            self.ignored["prediction (a patch, no transcript)"] += 1
            return ()
        if isinstance(record, list) and record and all(map(_is_prediction, record)):
            self.ignored["prediction (a patch, no transcript)"] += len(record)
            return ()
        if isinstance(record, list):
            self.used += 1
            return self._events(line, (), self.new_run(), record, {})
        if isinstance(record, dict) and isinstance(record.get("trajectory"), list):
            self.used += 1
            return self._events(line, ("trajectory",), self.new_run(), record["trajectory"], {})
        return self.reject(line, "no OpenHands events")

    def _instance(self, line: int, record: Json) -> Iterable[Piece]:
        self.used += 1
        issue = table(record, "issue")
        number = name(issue.get("number"))
        repository = "/".join(filter(None, (name(issue.get("owner")), name(issue.get("repo")))))
        own = name(record.get("instance_id")) or (f"{repository}#{number}" if number else None)
        run = self.new_run(own)
        told = table(record, "metadata")
        outcome, source = _outcome(record)
        yield RunPiece(
            run,
            line,
            agent=name(told.get("agent_class")),
            task_type=name(told.get("dataset")),
            outcome=outcome,
            outcome_source=source,
            project=repository or None,
            model=name(table(told, "llm_config").get("model")),
        )
        metrics = table(record, "metrics")
        yield from self._events(line, ("history",), run, record["history"], metrics)
        yield from _end(run, line, words(record.get("error")))

    def _events(
        self, line: int, keys: tuple[Any, ...], run: str, events: list[Any], metrics: Json
    ) -> list[Piece]:
        turns = _Turns(self)
        pieces: list[Piece] = []
        for index, event in enumerate(events):
            place = self.place(line, *keys, index)
            for item in event if isinstance(event, list) else [event]:
                if not isinstance(item, dict):
                    self.reject(place, f"no event: {shown(item)}")
                    continue
                for piece in turns.pieces(item):
                    piece.run, piece.line = run, place
                    pieces.append(piece)
        give(metrics, turns.answers)
        return self.emit(pieces)


class _Turns:
    """Events in order; keeps the responses, and which call an observation answers."""

    def __init__(self, reader: OpenHandsReader) -> None:
        self.answers: list[ResponsePiece] = []
        self._reader = reader
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
            self._reader.ignored["event that is neither action nor observation"] += 1

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
            self._reader.ignored[f"action {action[:40]}"] += 1
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
                self._reader.ignored[f"observation {kind[:40]} that answers nothing"] += 1
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
        for piece in _end("", 0, reason or "agent state: error"):
            if isinstance(piece, BoundaryPiece | AttemptPiece):
                piece.at = at
            yield piece


def _end(run: str, line: int, error: str | None) -> Iterable[Piece]:
    """What ended a run in an error: its own loop guard, a limit, or a fault."""
    if not error:
        return
    if "StuckInLoop" in error or "stuck in a loop" in error:
        yield BoundaryPiece(run, line, BoundaryKind.GUARD_STOP, text=error[:2000])
    elif "maximum iteration" in error or "budget" in error.lower():
        yield BoundaryPiece(run, line, BoundaryKind.LIMIT, text=error[:2000])
    else:
        yield AttemptPiece(run, line, message=error, gave_up=True)


def _outcome(record: Json) -> tuple[str | None, str | None]:
    """What the evaluation found; else what the resolver's own judge did."""
    result = table(record, "test_result")
    for place, value in (
        ("report.resolved", table(record, "report").get("resolved")),
        ("test_result.report.resolved", table(result, "report").get("resolved")),
        ("test_result.resolved", result.get("resolved")),
        ("test_result.result", result.get("result")),
        ("success", record.get("success")),
    ):
        outcome, source = graded(value, place)
        if outcome is not None:
            return outcome, source
    return None, None


def _is_prediction(record: Any) -> bool:
    return isinstance(record, dict) and "instance_id" in record and "model_patch" in record


def _is_event(event: Any) -> bool:
    if not isinstance(event, dict) or "kind" in event:
        return False
    acts = isinstance(event.get("action"), str) and isinstance(event.get("args"), dict)
    sees = isinstance(event.get("observation"), str) and "content" in event
    return (acts or sees) and "source" in event


def sniff(sample: Sample) -> float:
    records = sample.records
    if not records:
        return 0.0
    if sample.document and isinstance(records[0], list):
        events = records[0][:64]
        if events and all(map(_is_event, events)):
            return 0.97
        return 0.9 if events and all(map(_is_prediction, events)) else 0.0
    if not all(isinstance(record, dict) for record in records):
        return 0.0
    exported = records[0].get("trajectory")
    if isinstance(exported, list) and exported and all(map(_is_event, exported[:64])):
        return 0.96
    if all(_is_instance(record) for record in records):
        return 0.95
    return 0.9 if all(map(_is_prediction, records)) else 0.0


def _is_instance(record: Json) -> bool:
    named = "instance_id" in record or "issue" in record
    told = any(key in record for key in ("instruction", "test_result", "git_patch"))
    return named and told and isinstance(record.get("history"), list)


FORMAT = Format(
    name="openhands_v0",
    title="OpenHands trajectories up to 2025 (V0)",
    sniff=sniff,
    reader=OpenHandsReader,
    describes=(
        "OpenHands V0: an exported trajectory (one JSON array of events), and output.jsonl of "
        "evaluations and of the issue resolver (one instance a line). The outcome is what the "
        "evaluation or the resolver found. LLM completion logs are read by `http_log`."
    ),
)
