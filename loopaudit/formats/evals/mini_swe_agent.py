"""mini-swe-agent trajectories (`.traj.json`): bare messages (v1), and messages with `extra` (v2).

v2 keeps the provider's whole response with each answer, and so usage, cost and time. An answer that
the harness could not use is taken out of the messages: what it cost stands on the complaint that
took its place (`extra.interrupt_type`), and is a response all the same. v1 has neither usage nor
times, and commands stand in the text. How a command ended is told by its return code.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from loopaudit.formats.apis.anthropic_messages import message_pieces as anthropic_pieces
from loopaudit.formats.apis.openai_chat import assistant_piece, call_id
from loopaudit.formats.base import Format, Sample
from loopaudit.formats.logreader import LogReader
from loopaudit.formats.shapes import (
    Json,
    dollars,
    name,
    output_of,
    rows,
    seconds,
    shown,
    table,
    text_of,
    whole,
    words,
)
from loopaudit.formats.text_actions import fenced
from loopaudit.formats.usages import openai_usage
from loopaudit.model import (
    BoundaryKind,
    BoundaryPiece,
    CallPiece,
    CallStatus,
    Piece,
    ResponsePiece,
    ResultPiece,
    RunPiece,
)

_BLOCKS = ("mswea_bash_command", "bash")
_CODE = re.compile(r"<returncode>\s*(-?\d{1,6})\s*</returncode>")
#: ends that are a limit of the harness
_LIMITS = frozenset(("LimitsExceeded", "TimeExceeded", "RepeatedFormatError"))


class MiniReader(LogReader):
    def read(self, line: int, record: Any) -> Iterable[Piece]:
        keys: tuple[Any, ...] = ()
        info: Json = {}
        messages = record
        if isinstance(record, dict):
            messages, keys, info = record.get("messages"), ("messages",), table(record, "info")
        if not isinstance(messages, list):
            return self.reject(line, "no mini-swe-agent trajectory: it has no messages")
        self.used += 1
        run = self.new_run()
        status = name(info.get("exit_status"))
        config = table(info, "config")
        pieces: list[Piece] = [
            RunPiece(
                run,
                line,
                agent=name(config.get("agent_type")),
                outcome=status,
                outcome_source="exit_status" if status else None,
                version=name(info.get("mini_version")),
                model=name(table(config, "model").get("model_name")),
            )
        ]
        open_calls, latest = 0, 0.0
        for index, message in enumerate(messages):
            place = self.place(line, *keys, index)
            if not isinstance(message, dict):
                self.reject(place, f"no message: {shown(message)}")
                continue
            found = list(_message(message, open_calls))
            for piece in found:
                piece.run, piece.line = run, place
                if isinstance(piece, ResponsePiece):
                    open_calls = len(piece.calls)
                    if piece.at is not None and piece.at < latest:
                        piece.at = None  # the provider's clock, not that of the log
                    latest = max(latest, piece.at or 0.0)
                elif isinstance(piece, ResultPiece):
                    open_calls -= 1
            pieces += found
        if status in _LIMITS:
            pieces.append(BoundaryPiece(run, line, BoundaryKind.LIMIT, text=status))
        return self.emit(pieces)


def _message(message: Json, open_calls: int) -> Iterable[Piece]:
    role, extra = message.get("role"), table(message, "extra")
    at = seconds(extra.get("timestamp"))
    text = text_of(message.get("content"))
    if role == "assistant":
        yield _answer(message, extra, at)
    elif role == "tool" or (role == "user" and open_calls > 0 and "interrupt_type" not in extra):
        yield _result(message, extra, at, text)
    elif role == "user":
        if "response" in extra:  # the answer that was taken out
            yield _answer(table(_choice(extra), "message"), extra, at)
        kind = BoundaryKind.REMINDER if "interrupt_type" in extra else BoundaryKind.USER
        yield BoundaryPiece("", 0, kind, at, text)


def _choice(extra: Json) -> Json:
    """The first choice of the provider's response."""
    choices = rows(table(extra, "response").get("choices"))
    return choices[0] if choices else {}


def _answer(message: Json, extra: Json, at: float | None) -> ResponsePiece:
    response = table(extra, "response")
    if isinstance(message.get("content"), list) and "tool_calls" not in message:
        told = anthropic_pieces({**message, "role": "assistant"})
        piece = next((p for p in told if isinstance(p, ResponsePiece)), assistant_piece(message))
    else:
        piece = assistant_piece(message)
    piece.id = call_id(response.get("id"))
    piece.at = at or seconds(response.get("created"))
    piece.model = name(response.get("model"))
    piece.usage = openai_usage(response.get("usage"))
    piece.cost = dollars(extra.get("cost")) or None  # 0: the model has no price there
    piece.finish = name(_choice(extra).get("finish_reason"))
    if "interrupt_type" in extra:
        piece.calls = ()  # refused before it ran
    elif not piece.calls:
        piece.calls = tuple(_commands(piece.text, extra))
    return piece


def _commands(text: str | None, extra: Json) -> Iterable[CallPiece]:
    """Commands as the harness found them, or as they stand in the text: exactly one, or none."""
    actions = rows(extra.get("actions"))
    for action in actions:
        key, command = call_id(action.get("tool_call_id")), words(action.get("command"))
        yield CallPiece(key, "bash", {"command": command})
    if not actions:
        blocks = fenced(text, *_BLOCKS)
        if len(blocks) == 1:
            yield CallPiece(None, "bash", {"command": blocks[0]})


def _result(message: Json, extra: Json, at: float | None, text: str | None) -> ResultPiece:
    code = whole(extra.get("returncode"))
    if code is None and text is not None:
        told = _CODE.search(text[:2000])
        code = int(told.group(1)) if told else None
    output = extra.get("raw_output", output_of(message.get("content")))
    failure = words(extra.get("exception_info"))
    status = CallStatus.ERROR if code or failure else CallStatus.OK
    key = call_id(message.get("tool_call_id"))
    return ResultPiece("", 0, key, output or failure or "", at, status, exit_code=code)


def sniff(sample: Sample) -> float:
    if not sample.records:
        return 0.0
    record = sample.records[0]
    if isinstance(record, dict):
        if str(record.get("trajectory_format", "")).startswith("mini-swe-agent"):
            return 0.99
        stats = table(record, "info").get("model_stats")
        return 0.9 if isinstance(stats, dict) and isinstance(record.get("messages"), list) else 0.0
    if not sample.document or not isinstance(record, list):
        return 0.0
    messages = rows(record[:64])
    if len(messages) != len(record[:64]) or any("tool_calls" in m for m in messages):
        return 0.0
    texts = [(m.get("role"), text_of(m.get("content")) or "") for m in messages]
    commands = sum(role == "assistant" and bool(fenced(t, *_BLOCKS)) for role, t in texts)
    codes = sum(role == "user" and _CODE.match(t) is not None for role, t in texts)
    return 0.92 if commands and codes else 0.0


FORMAT = Format(
    name="mini_swe_agent",
    title="mini-swe-agent trajectories",
    sniff=sniff,
    reader=MiniReader,
    describes=(
        "`.traj.json` files of mini-swe-agent, one instance each: bare messages (v1: neither usage "
        "nor times) or with `info` and `extra` (v2). The exit status is the outcome; whether the "
        "patch was right stands elsewhere. Answers that the harness refused are counted."
    ),
)
