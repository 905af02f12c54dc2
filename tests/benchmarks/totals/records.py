"""Usage as the lines of Claude Code and Codex logs tell it, read by nothing of loopaudit.

A second reading of the same files, so that what a peer counts otherwise can be named by file and
line: each record of usage with its place, and a few facts by which a peer takes or leaves it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

FIELDS = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")
LONG_ID = 16  # characters: shorter ids ("msg_001") also need an equal time and model


@dataclass(frozen=True, slots=True)
class Record:
    """One line that tells usage. `key` is the same for all lines of one response."""

    path: str
    line: int
    key: object
    model: str | None
    at: float | None
    fresh: int = 0
    read: int = 0
    write: int = 0
    write_1h: int = 0  # of `write`
    split: bool = True  # whether the lifetimes of `write` are told
    output: int = 0
    searches: int = 0
    fast: bool = False
    in_us: bool = False
    progress: bool = False  # a sub-agent's response inside an `agent_progress` line
    spaced: bool = False  # `"usage": {` with a blank
    typed: bool = True  # says `"type": "assistant"`
    ident: object = None  # the id as written; a short one may stand in unrelated logs

    @property
    def place(self) -> str:
        return f"{self.path}:{self.line}"


def number(value: object) -> int:
    return value if type(value) is int and value > 0 else 0


def moment(text: object) -> float | None:
    try:
        return datetime.fromisoformat(str(text).replace("Z", "+00:00")).timestamp()
    except ValueError:
        return None


def lines(logs: Path) -> Iterator[tuple[str, int, str, dict[str, Any]]]:
    """Path below `logs`, number, text and value of each line that is an object."""
    for path in sorted(logs.rglob("*.jsonl")):
        with path.open(encoding="utf-8", errors="replace") as stream:
            for count, text in enumerate(stream, 1):
                try:
                    value = json.loads(text)
                except ValueError:
                    continue
                if isinstance(value, dict):
                    yield str(path.relative_to(logs)), count, text, value


def claude(logs: Path) -> Iterator[Record]:
    """Lines of Claude Code sessions. Messages that the client made are no responses."""
    first: dict[tuple[str, str], object] = {}
    for path, count, text, value in lines(logs):
        data = value.get("data")
        inner = data.get("message") if isinstance(data, dict) else None
        progress = isinstance(inner, dict)
        line = inner if isinstance(inner, dict) else value
        message = line.get("message")
        usage = message.get("usage") if isinstance(message, dict) else None
        if not isinstance(usage, dict) or message.get("model") == "<synthetic>":
            continue
        fresh, read, write, output = (number(usage.get(field)) for field in FIELDS)
        split = usage.get("cache_creation")
        tool = usage.get("server_tool_use")
        at = moment(line.get("timestamp") or value.get("timestamp"))
        ident = message.get("id")
        key = ident or (path, count)
        if ident and len(str(ident)) < LONG_ID:
            key = first.setdefault((path, ident), (ident, message.get("model"), at))
        yield Record(
            path,
            count,
            key,
            message.get("model"),
            at,
            fresh,
            read,
            write,
            number(split.get("ephemeral_1h_input_tokens")) if isinstance(split, dict) else 0,
            isinstance(split, dict),
            output,
            number(tool.get("web_search_requests")) if isinstance(tool, dict) else 0,
            fast=usage.get("speed") == "fast",
            in_us=usage.get("inference_geo") == "us",
            progress=progress,
            spaced='"usage": {' in text,
            typed=line.get("type") == "assistant",
            ident=ident or (path, count),
        )


def codex(logs: Path) -> Iterator[Record]:
    """`token_count` events of Codex rollouts whose counter has moved, with their last usage."""
    file, model, counter, searches = "", None, None, 0
    for path, count, _, value in lines(logs):
        if path != file:
            file, model, counter, searches = path, None, None, 0
        payload = value.get("payload")
        if not isinstance(payload, dict):
            continue
        if value.get("type") == "turn_context":
            model = payload.get("model") or model
        searches += payload.get("type") == "web_search_call"
        info = payload.get("info")
        if payload.get("type") != "token_count" or not isinstance(info, dict):
            continue
        last, total = info.get("last_token_usage"), info.get("total_token_usage")
        if not isinstance(last, dict) or total == counter:
            continue
        counter = total
        cached = number(last.get("cached_input_tokens"))
        yield Record(
            path,
            count,
            (path, count),
            info.get("model") or model,
            moment(value.get("timestamp")),
            number(last.get("input_tokens")) - cached,
            cached,
            output=number(last.get("output_tokens")),
            searches=searches,
        )
        searches = 0
