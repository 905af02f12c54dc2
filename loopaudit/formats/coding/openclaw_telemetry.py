"""OpenClaw telemetry: messages, starts and ends of agents and tools, one event a line.

An `agent.end` brings the whole conversation again, with usage: its responses are known again by
time and figures, and the tool events of that session before it are its calls told twice. Without it
there are only tool events: calls without ids, without results, and steps guessed from their order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from loopaudit.formats.base import Format, Sample
from loopaudit.formats.coding.pi_messages import message_pieces
from loopaudit.formats.coding.sessions import SessionReader
from loopaudit.formats.shapes import Json, name, number, rows, seconds, shown, words
from loopaudit.formats.usages import named_usage
from loopaudit.model import (
    AttemptPiece,
    BoundaryPiece,
    CallPiece,
    CallStatus,
    Piece,
    ResponsePiece,
    ResultPiece,
)

_TOLD = "tool event told again by agent.end"


class OpenClawTelemetryReader(SessionReader):
    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._held: dict[str, list[Piece]] = {}  # tool events of sessions, until `agent.end`
        self._lines: Counter[str] = Counter()  # of the held events
        self._prompts: dict[str, str | None] = {}  # newest prompt of each session
        self._users: set[tuple[str, float | None, str | None]] = set()
        self._started: set[tuple[str, str]] = set()  # prompts that `agent.start` told
        self._texts = False  # results with their text were met

    def read(self, line: int, record: Any) -> Iterable[Piece]:
        if not isinstance(record, dict) or not isinstance(record.get("type"), str):
            return self.reject(line, "no event")
        kind = record["type"]
        run = name(record.get("sessionKey")) or self.stem
        at = seconds(record.get("ts", record.get("timestamp")))
        if kind == "agent.start":
            self.used += 1
            return self.emit(self._start(run, line, at, record))
        if kind == "tool.start":
            self.used += 1
            self._lines[run] += 1
            self._call(run, line, at, record)
            return ()
        if kind == "tool.end":
            self.used += 1
            self._lines[run] += 1
            self._held.setdefault(run, []).append(self._result(run, line, at, record))
            return ()
        if kind == "agent.end":
            self.used += 1
            return self.emit(self._end(run, line, at, record))
        if kind == "llm.usage":
            return self._llm(run, line, at, record)
        return self.ignore(kind)

    def end(self) -> Iterable[Piece]:
        pieces = [piece for held in self._held.values() for piece in held]
        self._held = {}
        pieces.sort(key=lambda piece: piece.line)
        out = self.emit(pieces)
        super().end()
        if self._tally.results and not self._texts:
            self.missing.add("results")
        return out

    def _start(self, run: str, line: int, at: float | None, record: Json) -> list[Piece]:
        text = words(record.get("prompt"))
        if run in self._prompts and self._prompts[run] == text and not self._held.get(run):
            return []  # written once by each of two hooks
        self._prompts[run] = text
        pieces: list[Piece] = []
        if run not in self._told:
            sub = ":subagent:" in run
            agent = "subagent" if sub else name(record.get("agentId"))
            session = run if sub else None  # other keys are equal on every machine
            pieces.append(self.begun(run, line, agent=agent, at=at, session=session))
        said = self.said(run, line, at, text)
        if self._held.get(run):
            self._held[run].append(said)
            return pieces
        self._started.add((run, _head(said.text)))
        return [*pieces, said]

    def _call(self, run: str, line: int, at: float | None, record: Json) -> None:
        tool = name(record.get("toolName")) or "unknown"
        call = CallPiece(name(record.get("toolCallId")), tool, record.get("params"), at, line)
        held = self._held.setdefault(run, [])
        last = held[-1] if held else None
        if isinstance(last, ResponsePiece) and last.usage is None:  # called at the same time
            last.calls = (*last.calls, call)
        else:
            held.append(ResponsePiece(run, line, at=at, calls=(call,)))

    def _result(self, run: str, line: int, at: float | None, record: Json) -> ResultPiece:
        spent = number(record.get("durationMs"))
        failed = record.get("success") is False
        error = words(record.get("error"))
        return ResultPiece(
            run,
            line,
            name(record.get("toolCallId")),
            error if failed else None,
            at,
            CallStatus.ERROR if failed else CallStatus.OK,
            name(record.get("toolName")),
            duration=None if spent is None else spent / 1000,
        )

    def _llm(self, run: str, line: int, at: float | None, record: Json) -> Iterable[Piece]:
        usage = named_usage(
            record,
            fresh="inputTokens",
            read="cacheTokens",
            output="outputTokens",
            total="totalTokens",
        )
        if usage is None:
            return self.ignore("llm.usage without figures")
        self.used += 1
        self._lines[run] += 1
        model = name(record.get("model"))
        step = ResponsePiece(run, line, at=at, model=model, usage=usage)
        self._held.setdefault(run, []).append(step)
        return ()

    def _end(self, run: str, line: int, at: float | None, record: Json) -> list[Piece]:
        messages = rows(record.get("messages"))
        held, lines = self._held.pop(run, []), self._lines.pop(run, 0)
        pieces: list[Piece] = []
        if run not in self._told:
            session = run if ":subagent:" in run else None
            pieces.append(self.begun(run, line, at=at, session=session))
        if any(message.get("role") == "assistant" for message in messages):
            if lines:
                self.ignored[_TOLD] += lines
                self.used -= lines
        else:
            pieces += held
        for message in messages:
            found = message_pieces(run, line, seconds(message.get("timestamp")), message)
            if found is None:
                self.ignored[f"message of role {shown(message.get('role'))}"] += 1
            for piece in found or ():
                if isinstance(piece, BoundaryPiece):
                    known = (run, piece.at, piece.text)
                    told = (run, _head(piece.text)) in self._started
                    self._started.discard((run, _head(piece.text)))
                    if told or known in self._users:
                        self._users.add(known)
                        continue
                    self._users.add(known)
                self._texts |= isinstance(piece, ResultPiece)
                pieces.append(piece)
        if record.get("success") is False:
            said = words(record.get("error"))
            pieces.append(AttemptPiece(run, line, at, message=said, gave_up=True))
        return pieces


def _head(text: str | None) -> str:
    """What tells a prompt; `agent.start` cuts long ones."""
    return (text or "").strip()[:200]


_EVENTS = frozenset(
    (
        *("message.in", "message.out", "message.sending", "agent.start", "agent.end"),
        *("tool.start", "tool.end", "llm.usage"),
    )
)


def sniff(sample: Sample) -> float:
    found = 0
    for record in sample.records:
        if not isinstance(record, dict):
            return 0.0
        kind = record.get("type")
        known = isinstance(kind, str) and kind in _EVENTS
        found += known and bool(record.keys() & {"sessionKey", "agentId", "channel"})
    return 0.96 if found and found >= len(sample.records) / 2 else 0.0


FORMAT = Format(
    name="openclaw_telemetry",
    title="OpenClaw telemetry",
    sniff=sniff,
    reader=OpenClawTelemetryReader,
    describes=(
        "telemetry.jsonl of OpenClaw's telemetry plugin. Where agents end in the log, their "
        "conversations with usage, cost and results are there; else only calls, whether they "
        "succeeded and how long they took: a step is then what was called at the same time."
    ),
)
