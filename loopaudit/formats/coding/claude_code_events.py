"""Claude Code lines that are neither response nor result: failed API calls, compaction, hooks."""

from __future__ import annotations

import re

from loopaudit.formats.coding.claude_code_text import result_text
from loopaudit.formats.shapes import Json, number, whole, words
from loopaudit.model import AttemptPiece, BoundaryKind

_STATUS = re.compile(r"API Error:?\s*\(?(\d{3})\b")
_ERROR_TYPE = re.compile(r'"error":\s*\{\s*"type":\s*"([^"]+)"')


def attempt(line: int, run: str, at: float | None, record: Json, gave_up: bool) -> AttemptPiece:
    """A failed API call. The error is written in several ways; the first figure found counts."""
    error = _table(record, "error")
    inner = _table(_table(error, "error"), "error") or _table(error, "error")
    cause = _table(record, "cause") or _table(error, "cause") or _table(error, "connection")
    asked = _table(error, "rateLimits").get("retryAfterSeconds")
    if asked is None:
        text = words(_table(error, "headers").get("retry-after")) or ""
        asked = int(text) if text.isdecimal() and len(text) < 9 else None
    wait = number(_first(record, "retryInMs", "retry_delay_ms"))
    return AttemptPiece(
        run=run,
        line=line,
        at=at,
        http_status=whole(error.get("status")) or whole(record.get("error_status")) or None,
        code=words(inner.get("type")) or words(cause.get("code")) or words(error.get("type")),
        message=words(inner.get("message"))
        or words(error.get("message"))
        or words(record.get("error")),
        wait=wait / 1000 if wait is not None else None,
        retry_after=number(asked),
        number=whole(_first(record, "retryAttempt", "attempt")),
        limit=whole(_first(record, "maxRetries", "max_retries")),
        gave_up=gave_up,
    )


def given_up(line: int, run: str, at: float | None, record: Json, text: str) -> AttemptPiece:
    """The message that the program shows when it has stopped trying."""
    status = _STATUS.search(text)
    code = _ERROR_TYPE.search(text)
    told = words(record.get("error"))
    return AttemptPiece(
        run=run,
        line=line,
        at=at,
        http_status=whole(record.get("apiErrorStatus"))
        or (int(status.group(1)) if status else None),
        code=code.group(1) if code else None if told == "unknown" else told,
        message=text or None,
        gave_up=True,
    )


def compaction(record: Json) -> str:
    """A compaction in words. Its boundary line does not tell what it cost."""
    facts = (
        _table(record, "compactMetadata")
        or _table(record, "microcompactMetadata")
        or _table(record, "compact_metadata")
    )
    before = whole(_first(facts, "preTokens", "pre_tokens"))
    saved = whole(facts.get("tokensSaved"))
    small = record.get("subtype") == "microcompact_boundary"
    parts = [words(facts.get("trigger")), "micro-compaction" if small else "compaction"]
    parts += [f"of {before:,} tokens"] if before else []
    parts += [f"saving {saved:,}"] if saved else []
    return " ".join(part for part in parts if part)


def stop_hooks(record: Json) -> str | None:
    """What stop hooks said to the model; None where they only ran."""
    said = [
        text
        for field in ("hookErrors", "hookAdditionalContext")
        for text in _list(record, field)
        if text and type(text) is str
    ]
    if not said and record.get("preventedContinuation"):
        return words(record.get("stopReason")) or None
    return "\n".join(said) or None


def attached(facts: Json) -> tuple[BoundaryKind, str] | None:
    """What an attachment line puts into the conversation, where it bears on guards."""
    kind = facts.get("type")
    if kind == "queued_command":  # typed while the agent was at work
        text = words(result_text(facts.get("prompt")))
        typed = facts.get("commandMode") in (None, "prompt") and not facts.get("isMeta")
        return (BoundaryKind.USER if typed else BoundaryKind.REMINDER, text) if text else None
    if kind == "max_turns_reached":
        return BoundaryKind.LIMIT, "max_turns_reached"
    said = None
    if kind == "hook_blocking_error":
        error = facts.get("blockingError")
        said = words(error.get("blockingError") if type(error) is dict else error)
    elif kind in ("hook_additional_context", "hook_success", "hook_stopped_continuation"):
        said = words(result_text(facts.get("content") or facts.get("message")))
    return (BoundaryKind.HOOK, said) if said else None


def _table(value: Json, key: str) -> Json:
    found = value.get(key)
    return found if type(found) is dict else {}


def _first(value: Json, *keys: str) -> object:
    return next((value[key] for key in keys if value.get(key) is not None), None)


def _list(value: Json, key: str) -> list[object]:
    found = value.get(key)
    return found if type(found) is list else []
