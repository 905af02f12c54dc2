"""Messages of pi and OpenClaw: calls, results, usage and cost, each as pieces.

A response has no id of its own in most versions. It is known again, in a branched session or in a
history that is sent again, by its time, model and figures.
"""

from __future__ import annotations

import re

from loopaudit.formats.coding.codex_text import joined
from loopaudit.formats.coding.outputs import ended
from loopaudit.formats.coding.spoken import spoken
from loopaudit.formats.shapes import Json, dollars, name, rows, seconds, table, text_of, words
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
)

_STATUS = re.compile(r"\s*(?:error:? )?([45]\d\d)\b", re.IGNORECASE)
_CODE = re.compile(r'"type"\s*:\s*"(\w+_error)"')


def message_pieces(
    run: str, line: int, at: float | None, message: Json, key: str | None = None
) -> list[Piece] | None:
    """Pieces of one message; None where its role is none of the three that matter.

    `at`: when it was written. `key`: the id of the entry that holds it, where there is one.
    """
    role = message.get("role")
    when = seconds(message.get("timestamp"))
    if role == "assistant":
        return _answer(run, line, when or at, at, message, key)
    if role == "user":
        kind, text = spoken(text_of(message.get("content")))
        return [BoundaryPiece(run, line, kind, when or at, text)]
    if role in ("toolResult", "tool"):
        return [_result(run, line, at or when, message)]
    return None


def _answer(
    run: str, line: int, at: float | None, ended_at: float | None, message: Json, key: str | None
) -> list[Piece]:
    content = message.get("content")
    texts: list[str] = [content] if isinstance(content, str) else []
    calls: list[CallPiece] = []
    thinking = 0
    for block in rows(content):
        kind = block.get("type")
        if kind == "toolCall":
            tool = name(block.get("name")) or "unknown"
            calls.append(CallPiece(name(block.get("id")), tool, block.get("arguments"), ended_at))
        elif kind == "thinking":
            thinking += len(words(block.get("thinking")) or "")
        elif kind == "text" and isinstance(block.get("text"), str):
            texts.append(block["text"])
    used = message.get("usage")
    usage = named_usage(
        used,
        fresh="input",
        read="cacheRead",
        write="cacheWrite",
        output="output",
        reasoning="reasoning",
        total="totalTokens",
    )
    stop = words(message.get("stopReason"))
    text = "\n".join(texts) or None
    pieces: list[Piece] = []
    if stop == "error":
        pieces.append(_attempt(run, line, ended_at or at, message))
    if usage is not None or text or calls or stop not in ("error", "aborted"):
        cost = dollars(table(used, "cost").get("total"))
        pieces.append(
            ResponsePiece(
                run,
                line,
                id=_identity(message, at, key),
                at=at,
                ended=ended_at if at is None or ended_at is None or ended_at >= at else None,
                model=name(message.get("model")),
                text=text,
                thinking_chars=thinking,
                calls=tuple(calls),
                usage=usage,
                cost=cost if cost else None,  # 0 stands for models without a price
                finish=stop,
                service=name(message.get("provider")),
            )
        )
    if stop == "aborted":
        said = words(message.get("errorMessage"))
        pieces.append(BoundaryPiece(run, line, BoundaryKind.INTERRUPT, ended_at or at, said))
    return pieces


def _identity(message: Json, at: float | None, key: str | None) -> str | None:
    own = name(message.get("responseId"))
    if own is not None:
        return own
    if at is None:
        return key
    used = message.get("usage")
    kinds = ("input", "output", "cacheRead", "cacheWrite")
    figures = ".".join(str(used.get(k)) for k in kinds) if isinstance(used, dict) else key
    return f"{at:.3f}|{name(message.get('model'))}|{figures}"


def _attempt(run: str, line: int, at: float | None, message: Json) -> AttemptPiece:
    said = words(message.get("errorMessage")) or ""
    status, code = _STATUS.match(said), _CODE.search(said[:2_000])
    return AttemptPiece(
        run,
        line,
        at,
        http_status=int(status.group(1)) if status else None,
        code=code.group(1) if code else None,
        message=said or None,
        gave_up=True,
    )


def _result(run: str, line: int, at: float | None, message: Json) -> ResultPiece:
    text = joined(message.get("content"))
    flag = message.get("isError")
    if flag is False:
        status, code = CallStatus.OK, None
    else:
        status, code = ended(text, True if flag is True else None)
    details = table(message, "details")
    if code is None and type(details.get("exitCode")) is int:
        code = details["exitCode"]
    return ResultPiece(
        run,
        line,
        name(message.get("toolCallId")),
        text,
        at,
        status,
        name(message.get("toolName")),
        exit_code=code,
    )
