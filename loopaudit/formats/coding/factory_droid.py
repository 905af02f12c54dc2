"""Factory Droid: stored sessions, and the output of `droid exec --output-format stream-json`.

Neither tells the usage of a response. A stored session has `<id>.settings.json` beside it with the
total of the whole session, a stream ends with a `completion` that may have one: it is spread over
the responses.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from loopaudit.formats.base import Format, Sample
from loopaudit.formats.coding.blocks import read_blocks
from loopaudit.formats.coding.outputs import ended
from loopaudit.formats.coding.sessions import SessionReader, beside, spread
from loopaudit.formats.logreader import stem
from loopaudit.formats.shapes import Json, arguments, name, seconds, table, whole, words
from loopaudit.formats.usages import anthropic_usage, named_usage
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
    Usage,
)

_STREAM = frozenset(("system", "message", "tool_call", "tool_result", "completion", "error"))


class FactoryDroidReader(SessionReader):
    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._run = stem(path)
        self._model: str | None = None
        self._ids: list[str] = []  # of responses
        self._tools: dict[str, str] = {}  # of calls, by id
        self._answered = True  # a result came since the newest response of a stream
        self._total: tuple[int, Usage | None] = (1, None)

    def read(self, line: int, record: Any) -> Iterable[Piece]:
        if not isinstance(record, dict):
            return self.reject(line, "not a JSON object")
        kind = record.get("type")
        if kind == "session_start":
            self.used += 1
            return self.emit([self._start(line, record)])
        if kind == "message" and isinstance(record.get("message"), dict):
            self.used += 1
            return self.emit(self._stored(line, record, record["message"]))
        if isinstance(kind, str) and kind in _STREAM:
            self.used += 1
            return self.emit(self._streamed(line, kind, record))
        if kind in ("compaction_state", "compaction", "session_compacted"):
            self.used += 1
            at = seconds(record.get("timestamp"))
            return self.emit([BoundaryPiece(self._run, line, BoundaryKind.COMPACTION, at)])
        if isinstance(kind, str):
            return self.ignore(f"unknown type {kind}")
        if "tokenUsage" in record or "autonomyMode" in record:
            return self.ignore("settings of a session (read with it)")
        return self.reject(line, "no record type")

    def end(self) -> Iterable[Piece]:
        line, total = self._total
        if total is None and self._ids:
            file = os.path.basename(self.path)
            settings = beside(self.path, f"{file.removesuffix('.jsonl')}.settings.json")
            total = _settled(settings.get("tokenUsage"))
            self._model = self._model or name(settings.get("model"))
            if self._model is not None:
                yield RunPiece(self._run, line, model=self._model)
        yield from self.emit(spread(self._run, line, self._ids, total))
        super().end()

    # -- stored sessions --------------------------------------------------------------------------

    def _start(self, line: int, record: Json) -> RunPiece:
        self._run = name(record.get("id")) or self._run
        return self.begun(
            self._run,
            line,
            parent=name(record.get("callingSessionId", record.get("parentSessionId"))),
            parent_call=name(record.get("callingToolUseId")),
            project=name(record.get("cwd")),
        )

    def _stored(self, line: int, record: Json, message: Json) -> list[Piece]:
        run, at = self._run, seconds(record.get("timestamp"))
        found = read_blocks(run, line, at, message.get("content"), self._tools)
        if message.get("role") == "assistant":
            key = name(record.get("id")) or f"line {line}"
            self._ids.append(f"{run}/{key}")
            usage = anthropic_usage(message.get("usage"))
            answer = ResponsePiece(
                run,
                line,
                id=self._ids[-1],
                at=at,
                model=name(message.get("model")),
                text=found.text,
                thinking_chars=found.thinking,
                calls=tuple(found.calls),
                usage=usage,
            )
            return [answer, *found.results]
        pieces: list[Piece] = [*found.results]
        if found.texts or found.pictures or not pieces:
            pieces.append(self.said(run, line, at, found.text))
        return pieces

    # -- streams ----------------------------------------------------------------------------------

    def _streamed(self, line: int, kind: str, record: Json) -> list[Piece]:
        at = seconds(record.get("timestamp"))
        run = name(record.get("session_id")) or name(record.get("sessionId")) or self._run
        pieces: list[Piece] = []
        if run not in self._told:
            self._run = run
            pieces.append(self.begun(run, line))
        if kind == "system":
            self._model = name(record.get("model"))
            project = name(record.get("cwd"))
            return [*pieces, RunPiece(run, line, project=project, model=self._model)]
        if kind == "message" and record.get("role") == "user":
            return [*pieces, self.said(run, line, at, words(record.get("text")))]
        if kind == "message":
            return [*pieces, self._response(run, line, at, words(record.get("text")), ())]
        if kind == "tool_call":
            own = name(record.get("toolCallId")) or name(record.get("id"))
            tool = name(record.get("toolName")) or name(record.get("toolId")) or "unknown"
            call = CallPiece(own, tool, arguments(record.get("parameters")), at)
            self._tools[own or ""] = tool
            return [*pieces, self._response(run, line, at, None, (call,))]
        if kind == "tool_result":
            self._answered = True
            key = name(record.get("toolCallId")) or name(record.get("id")) or ""
            return [*pieces, _result(run, line, at, record, self._tools.get(key))]
        if kind == "error":
            said = words(record.get("message"))
            return [*pieces, AttemptPiece(run, line, at, message=said, gave_up=True)]
        self._total = (line, anthropic_usage(record.get("usage")))
        if words(record.get("finalText")) and self._answered:
            pieces.append(self._response(run, line, at, words(record.get("finalText")), ()))
        source = "completion event"
        return [*pieces, RunPiece(run, line, outcome="completion", outcome_source=source)]

    def _response(
        self, run: str, line: int, at: float | None, text: str | None, calls: tuple[CallPiece, ...]
    ) -> ResponsePiece:
        """What came since the last result is one response."""
        if self._answered or not self._ids:
            self._ids.append(f"{run}/response {len(self._ids) + 1}")
            self._answered = False
        return ResponsePiece(run, line, id=self._ids[-1], at=at, text=text, calls=calls)


def _result(run: str, line: int, at: float | None, record: Json, tool: str | None) -> ResultPiece:
    own = name(record.get("toolCallId")) or name(record.get("id"))
    value = record.get("value", record.get("result"))
    flag = record.get("isError", record.get("is_error"))
    code = whole(table(record, "value").get("exitCode"))
    text: Any = value
    if isinstance(value, dict):
        parts = [t for key in ("stdout", "stderr", "output") if (t := words(value.get(key)))]
        text = "\n".join(parts) if parts or "stdout" in value else value
    if isinstance(record.get("error"), dict) and text is None:
        text, flag = words(record["error"].get("message")), True
    status, told = ended(text, flag if isinstance(flag, bool) else None, tool)
    if code is not None:
        told = code
        status = CallStatus.ERROR if code and status is CallStatus.OK else status
    return ResultPiece(run, line, own, text, at, status, exit_code=told)


def _settled(value: Any) -> Usage | None:
    return named_usage(
        value,
        fresh="inputTokens",
        read="cacheReadTokens",
        write="cacheCreationTokens",
        output="outputTokens",
        reasoning="thinkingTokens",
    )


def sniff(sample: Sample) -> float:
    stored = streamed = 0
    for record in sample.records:
        if not isinstance(record, dict):
            return 0.0
        kind = record.get("type")
        if kind == "session_start" and "id" in record:
            return 0.97
        used = table(record, "tokenUsage")
        if "cacheCreationTokens" in used and "messages" not in record and len(sample.records) == 1:
            return 0.85
        message = record.get("message")
        if kind == "message" and isinstance(message, dict):
            stored += "parentId" in record and message.get("role") in ("user", "assistant")
        elif "session_id" in record or "sessionId" in record:
            streamed += kind in ("tool_call", "tool_result") and bool(
                record.keys() & {"toolName", "toolCallId", "toolId"}
            )
            streamed += kind == "message" and "text" in record and "role" in record
            streamed += kind == "completion" and "finalText" in record
    return 0.95 if streamed else 0.4 if stored else 0.0


FORMAT = Format(
    name="factory_droid",
    title="Factory Droid sessions",
    sniff=sniff,
    reader=FactoryDroidReader,
    describes=(
        "~/.factory/sessions/<folder>/<id>.jsonl with <id>.settings.json beside it, and the output "
        "of `droid exec -o stream-json`. Only the total of a whole session is recorded: it is "
        "spread evenly over the responses. Retries and cost are not recorded."
    ),
)
