"""Messages and parts of opencode as pieces."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from loopaudit.formats.coding.outputs import ended
from loopaudit.formats.coding.spoken import spoken
from loopaudit.formats.shapes import Json, count, dollars, name, seconds, table, whole, words
from loopaudit.formats.usages import named_usage
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
    StepKind,
    Usage,
)

_ABORTED = "MessageAbortedError"
_ENDED = ("completed", "success", "error")


def message_pieces(run: str, line: int, info: Json, parts: list[Json]) -> list[Piece]:
    """Pieces of a message and its parts, in the order in which they are kept."""
    if info.get("role") == "user":
        return _user(run, line, info, parts)
    steps = [part for part in parts if part.get("type") == "step-finish" and _tokens(part)]
    if len(steps) > 1:
        return _several(run, line, info, parts)
    pieces = _answer(run, line, info, parts)
    return [*pieces, *_failed(run, line, info, pieces)]


def _user(run: str, line: int, info: Json, parts: list[Json]) -> list[Piece]:
    at = seconds(table(info, "time").get("created"))
    texts = {True: [], False: []}  # type: dict[bool, list[str]]
    pieces: list[Piece] = []
    for part in parts:
        if part.get("type") == "compaction":
            pieces.append(BoundaryPiece(run, line, BoundaryKind.COMPACTION, at))
        elif part.get("type") == "text" and isinstance(part.get("text"), str):
            texts[bool(part.get("synthetic") or part.get("ignored"))].append(part["text"])
    if texts[True]:
        text = "\n".join(texts[True])
        pieces.append(BoundaryPiece(run, line, BoundaryKind.REMINDER, at, text))
    if texts[False]:
        kind, own = spoken("\n".join(texts[False]))
        pieces.append(BoundaryPiece(run, line, kind, at, own))
    if not pieces:
        title = words(table(info, "summary").get("body"))
        pieces.append(BoundaryPiece(run, line, BoundaryKind.USER, at, title))
    return pieces


def _answer(
    run: str,
    line: int,
    info: Json,
    parts: list[Json],
    key: str | None = None,
    spent: Json | None = None,
) -> list[Piece]:
    """One response from a message, or from the parts of one of its steps."""
    times = table(info, "time")
    at = seconds(times.get("created")) if spent is None else _start(parts)
    before: list[Piece] = []
    after: list[Piece] = []
    answer = ResponsePiece(
        run,
        line,
        id=key or name(info.get("id")),
        at=at,
        ended=seconds(times.get("completed")) if spent is None else None,
        model=name(info.get("modelID")) or name(table(info, "model").get("modelID")),
        usage=_tokens(info if spent is None else spent),
        cost=_cost(info if spent is None else spent),
        finish=name(info.get("finish")) if spent is None else name(spent.get("reason")),
        service=name(info.get("providerID")) or name(table(info, "model").get("providerID")),
    )
    if info.get("summary") is True or info.get("mode") == "compaction":
        answer.kind = StepKind.COMPACTION
        after.append(BoundaryPiece(run, line, BoundaryKind.COMPACTION, at))
    if answer.ended is not None and at is not None and answer.ended < at:
        answer.ended = None
    texts: list[str] = []
    for part in parts:
        kind = part.get("type")
        if kind == "text" and isinstance(part.get("text"), str):
            texts.append(part["text"])
        elif kind == "reasoning":
            answer.thinking_chars += len(words(part.get("text")) or "")
        elif kind == "tool":
            call, *rest = part_pieces(run, line, part)
            assert isinstance(call, ResponsePiece)
            answer.calls += call.calls
            after += rest
        elif kind == "retry":
            before.append(_retry(run, line, part))
        elif kind == "compaction":
            before.append(BoundaryPiece(run, line, BoundaryKind.COMPACTION, at))
    answer.text = "\n".join(texts) or None
    empty = answer.usage is None and not answer.calls and not answer.text
    if empty and isinstance(info.get("error"), dict):
        return before
    return [*before, answer, *after]


def _several(run: str, line: int, info: Json, parts: list[Json]) -> list[Piece]:
    """A message of an early version, which holds all responses of a turn."""
    pieces: list[Piece] = []
    step: list[Json] = []
    number = 0
    for part in parts:
        if part.get("type") == "step-finish":
            key = f"{name(info.get('id')) or line}/{number}"
            pieces += _answer(run, line, info, step, key, part)
            step, number = [], number + 1
        else:
            step.append(part)
    if any(part.get("type") in ("tool", "text") for part in step):
        pieces += _answer(run, line, info, step, f"{name(info.get('id')) or line}/{number}", {})
    return [*pieces, *_failed(run, line, info, pieces)]


def _start(parts: list[Json]) -> float | None:
    for part in parts:
        times = table(part, "time") or table(table(part, "state"), "time")
        at = seconds(times.get("start"))
        if at is not None:
            return at
    return None


def _failed(run: str, line: int, info: Json, pieces: list[Piece]) -> list[Piece]:
    """How a message ended that did not come to its end."""
    error = info.get("error")
    if not isinstance(error, dict):
        return []
    times, data = table(info, "time"), table(error, "data")
    at = seconds(times.get("completed", times.get("created")))
    said, kind = words(data.get("message")) or words(error.get("message")), name(error.get("name"))
    if kind == _ABORTED:
        return [BoundaryPiece(run, line, BoundaryKind.INTERRUPT, at, said)]
    status = whole(data.get("statusCode"))
    attempt = AttemptPiece(run, line, at, status, kind, said, gave_up=True)
    return [attempt]


def _retry(run: str, line: int, part: Json) -> AttemptPiece:
    error = table(part, "error")
    data = table(error, "data")
    headers = table(data, "responseHeaders")
    asked = words(headers.get("retry-after"))
    return AttemptPiece(
        run,
        line,
        seconds(table(part, "time").get("created")),
        http_status=whole(data.get("statusCode")),
        code=name(error.get("name")),
        message=words(data.get("message")) or words(error.get("message")),
        retry_after=float(asked) if asked and asked.isdecimal() and len(asked) < 8 else None,
        number=count(part.get("attempt")),
        layer="opencode",
    )


def part_pieces(run: str, line: int, part: Json) -> list[Piece]:
    """A tool part: a response with its call, then the result and the run of a sub-agent."""
    state = table(part, "state")
    times, facts = table(state, "time"), table(state, "metadata")
    own = name(part.get("callID")) or name(part.get("id"))
    tool = name(part.get("tool")) or "unknown"
    given = state.get("input")
    start = seconds(times.get("start"))
    call = CallPiece(own, tool, given, start)
    pieces: list[Piece] = [
        ResponsePiece(run, line, id=name(part.get("messageID")), at=start, calls=(call,))
    ]
    child = name(facts.get("sessionId", facts.get("sessionID")))
    if child is not None and child != run:
        agent = name(given.get("subagent_type")) if isinstance(given, dict) else None
        pieces.append(RunPiece(child, line, parent=run, parent_call=own, agent=agent))
    if state.get("status") in _ENDED:
        pieces.append(_result(run, line, own, tool, state, facts, seconds(times.get("end"))))
    return pieces


def _result(
    run: str,
    line: int,
    own: str | None,
    tool: str,
    state: Json,
    facts: Json,
    at: float | None,
) -> ResultPiece:
    failed = state.get("status") == "error"
    text: Any = state.get("error") if failed else None
    if text is None:
        text = state.get("output")
    exit_code = whole(facts.get("exit", facts.get("exitCode")))
    status, told = ended(text, True) if failed else (CallStatus.OK, None)
    if exit_code and status is CallStatus.OK:
        status = CallStatus.ERROR
    if failed and facts.get("interrupted") is True:
        status = CallStatus.INTERRUPTED
    code = exit_code if exit_code is not None else told
    return ResultPiece(run, line, own, text, at, status, tool, exit_code=code)


def _tokens(holder: Json) -> Usage | None:
    tokens = table(holder, "tokens")
    cache = table(tokens, "cache")
    flat = {**tokens, "read": cache.get("read"), "write": cache.get("write")}
    return named_usage(
        flat,
        fresh="input",
        read="read",
        write="write",
        output="output",
        reasoning="reasoning",
        beside=True,
    )


def _cost(holder: Json) -> Decimal | None:
    return dollars(holder.get("cost")) or None  # 0 stands for models without a price
