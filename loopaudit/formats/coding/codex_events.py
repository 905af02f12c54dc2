"""Codex `event_msg` lines that tell more than the items: ends of calls, failures, other threads."""

from __future__ import annotations

import re
from typing import NamedTuple

from loopaudit.formats.shapes import Json, number, whole, words
from loopaudit.model import AttemptPiece, CallStatus, RunPiece

_RETRY = re.compile(
    r"(?:retrying|reconnecting)\D{0,12}(\d+)/(\d+)(?:\s+in\s+([\d.]+)\s*(ms|s)\b)?", re.I
)
_STATUS = re.compile(r"\b(?:status|http)\D{0,12}([45]\d\d)\b", re.IGNORECASE)
_DECLINED = ("declined", "rejected", "denied")


class Ended(NamedTuple):
    """How a call ended, from an event beside its output."""

    status: CallStatus | None = None
    exit_code: int | None = None
    duration: float | None = None


class Thread(NamedTuple):
    """What the first `session_meta` line says."""

    id: str | None
    session: str | None
    parent: str | None  # the thread that spawned this one
    forked_from: str | None
    agent: str | None


def thread_facts(payload: Json) -> Thread:
    source = payload.get("source")
    sub = source.get("subagent") if type(source) is dict else None
    spawn = _table(sub, "thread_spawn") if type(sub) is dict else {}
    parent = words(payload.get("parent_thread_id")) or words(spawn.get("parent_thread_id"))
    agent = (
        words(spawn.get("agent_role"))
        or words(spawn.get("agent_nickname"))
        or words(payload.get("agent_role"))
        or words(payload.get("agent_nickname"))
        or words(sub)
    )
    thread = words(payload.get("id")) or words(payload.get("session_id"))
    return Thread(
        id=thread or None,
        session=words(payload.get("session_id")) or thread or None,
        parent=parent or None,
        forked_from=words(payload.get("forked_from_id")) or None,
        agent=agent or None,
    )


def spawned_agent(kind: str, payload: Json, run: str, line: int) -> RunPiece | None:
    """The parent's side of a sub-agent: which call started which thread."""
    item = payload
    if kind == "item_completed":
        item = _table(payload, "item")
        if item.get("type") != "SubAgentActivity":
            return None
    child = words(item.get("new_thread_id")) or words(item.get("agent_thread_id"))
    if not child or child == run or item.get("kind") not in (None, "started"):
        return None
    call = words(item.get("call_id")) or words(item.get("event_id")) or words(item.get("id"))
    return RunPiece(
        child,
        line,
        parent=run,
        parent_call=call,
        agent=words(item.get("new_agent_role")) or words(item.get("new_agent_nickname")),
        prompt=words(item.get("prompt")),
    )


def ended_call(kind: str, payload: Json) -> tuple[str | None, Ended] | None:
    """Call id and end of a call; None where the event tells of none."""
    item = payload
    if kind == "item_completed":
        item = _table(payload, "item")
        if item.get("type") not in ("CommandExecution", "McpToolCall", "FileChange"):
            return None
    call = words(item.get("call_id")) or words(item.get("callId")) or words(item.get("id"))
    code = whole(item.get("exit_code"))
    state = words(item.get("status")) or ""
    status = CallStatus.OK
    result = item.get("result")
    if state in _DECLINED:
        status = CallStatus.REJECTED
    elif code or state in ("failed", "error") or item.get("success") is False:
        status = CallStatus.ERROR
    elif type(result) is dict and "Err" in result:
        refused = "rejected" in (words(result["Err"]) or "")
        status = CallStatus.REJECTED if refused else CallStatus.ERROR
    elif type(result) is dict and _table(result, "Ok").get("isError") is True:
        status = CallStatus.ERROR
    return call, Ended(status, code, _duration(item.get("duration")))


def failed_attempt(
    line: int, run: str, at: float | None, payload: Json, gave_up: bool
) -> AttemptPiece:
    """A failed API call: `stream_error` is tried again, `error` ends the turn."""
    nested = payload.get("error")
    facts = nested if type(nested) is dict else payload
    info = payload.get("codex_error_info") or facts.get("codex_error_info")
    code = words(info) or words(facts.get("kind")) or words(facts.get("code"))
    status = whole(facts.get("http_status_code")) or whole(facts.get("status"))
    if type(info) is dict:
        for kind, inner in info.items():
            code = code or words(kind)
            if type(inner) is dict:
                status = status or whole(inner.get("http_status_code"))
    message = words(facts.get("message"))
    details = words(payload.get("additional_details"))
    text = " ".join(part for part in (message, details) if part)
    retry = _RETRY.search(text)
    told = _STATUS.search(text) if status is None else None
    wait = None
    if retry and retry.group(3):
        wait = float(retry.group(3).rstrip(".") or 0) / (1000 if retry.group(4) == "ms" else 1)
    return AttemptPiece(
        run=run,
        line=line,
        at=at,
        http_status=status or (int(told.group(1)) if told else None),
        code=code,
        message=text or None,
        wait=number(wait),
        number=int(retry.group(1)) if retry and len(retry.group(1)) < 9 else None,
        limit=int(retry.group(2)) if retry and len(retry.group(2)) < 9 else None,
        gave_up=gave_up,
    )


def _duration(value: object) -> float | None:
    if type(value) is dict:
        secs, nanos = number(value.get("secs")), number(value.get("nanos"))
        return None if secs is None else secs + (nanos or 0) / 1e9
    return number(value)


def _table(value: Json, key: str) -> Json:
    found = value.get(key)
    return found if type(found) is dict else {}
