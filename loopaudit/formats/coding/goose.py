"""goose sessions: `sessions.db` (since 1.10), or one JSONL file a session.

Calls and results are content blocks; results stand in the next message of the user. Usage is told
with each message, or in a ledger that has a row each model call, or only as accumulated totals of
the session, which are then spread over its responses: the first that is there counts, and no other.
`total_tokens` and its kin of a session are those of its last call.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from loopaudit.formats.base import Format, Sample, Table
from loopaudit.formats.coding.outputs import ended
from loopaudit.formats.coding.sessions import SessionReader, load, spread
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
from loopaudit.formats.usages import named_usage
from loopaudit.model import (
    BUCKETS,
    AttemptPiece,
    BoundaryKind,
    BoundaryPiece,
    CallPiece,
    CallStatus,
    Piece,
    ResponsePiece,
    ResultPiece,
    StepKind,
    Usage,
)

_CALLS = ("toolRequest", "frontendToolRequest")
_COMPACTED = re.compile(r"conversation (?:was|has been) (?:compacted|summarized)", re.IGNORECASE)
_LEDGER = "usage_ledger"
_HEADER = ("working_dir", "description", "message_count", "accumulated_total_tokens")


class GooseReader(SessionReader):
    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._run = self.stem
        self._models: dict[str, str | None] = {}
        self._totals: dict[str, tuple[int, Json]] = {}  # session -> row, its columns
        self._responses: dict[str, list[str]] = {}  # session -> ids of its responses
        self._tools: dict[str, str] = {}  # of calls, by id
        self._metered: set[str] = set()  # sessions whose messages tell usage
        self._ledger: dict[str, list[tuple[int, Json]]] = {}  # session -> a row each model call

    def read(self, line: int, record: Any) -> Iterable[Piece]:
        if not isinstance(record, dict):
            return self.reject(line, "not a JSON object")
        row = record.get("row")
        if isinstance(row, dict):
            if record.get("table") == "sessions":
                return self._session(line, row)
            if record.get("table") == _LEDGER:
                self.used += 1
                run = name(row.get("session_id")) or self.stem
                self._ledger.setdefault(run, []).append((line, row))
                return ()
            inner = {
                **row,
                "id": row.get("message_id") or f"row {line}",
                "content": load(row.get("content_json")),
                "created": row.get("created_timestamp"),
                "metadata": load(row.get("metadata_json")),
            }
            return self._message(name(row.get("session_id")) or self.stem, line, inner)
        if isinstance(record.get("role"), str):
            return self._message(self._run, line, record)
        if record.keys() & set(_HEADER):
            return self._session(line, record)
        return self.reject(line, "neither a message nor the head of a session")

    def end(self) -> Iterable[Piece]:
        pieces: list[Piece] = []
        for run, (line, row) in self._totals.items():
            ids = self._responses.get(run, [])
            cost = dollars(row.get("accumulated_cost")) or None
            if run in self._metered or run not in self._ledger:
                total = None if run in self._metered else _accumulated(row)
                pieces += self.emit(spread(run, line, ids, total, cost))
            else:
                pieces += self.emit(_by_ledger(run, self._ledger[run], ids, cost))
        super().end()
        return pieces

    def _session(self, line: int, row: Json) -> Iterable[Piece]:
        run = self._run = name(row.get("id")) or self._run
        config = load(row.get("model_config_json", row.get("model_config")))
        model = name(config.get("model_name")) if isinstance(config, dict) else None
        self.used += 1
        self._models[run] = model
        self._totals[run] = (line, row)
        kind = name(row.get("session_type"))
        return self.emit(
            [
                self.begun(
                    run,
                    line,
                    session=None,  # "20260816_3" is given on every machine
                    parent=name(row.get("parent_session_id")),
                    agent=kind if kind not in ("user", None) else None,
                    project=name(row.get("working_dir")),
                    model=model,
                    at=seconds(row.get("created_at")),
                )
            ]
        )

    def _message(self, run: str, line: int, message: Json) -> Iterable[Piece]:
        role, content = message.get("role"), message.get("content")
        if role not in ("user", "assistant") or not isinstance(content, list):
            return self.reject(line, f"no message: role {shown(role)}")
        self.used += 1
        at = seconds(message.get("created"))
        blocks = rows(content)
        facts = table(message, "metadata")
        pieces: list[Piece] = []
        if role == "assistant":
            pieces += self._answer(run, line, at, message, facts, blocks)
        for block in blocks:
            if block.get("type") == "toolResponse":
                pieces.append(_result(run, line, at, block, self._tools))
            elif block.get("type") == "systemNotification" and _COMPACTED.search(
                words(block.get("msg")) or ""
            ):
                pieces.append(BoundaryPiece(run, line, BoundaryKind.COMPACTION, at))
        if role == "user":
            texts = [t for b in blocks if b.get("type") == "text" and (t := text_of(b))]
            if texts or not pieces:
                hidden = facts.get("userVisible") is False
                text = "\n".join(texts) if texts else None
                pieces.append(self.said(run, line, at, text, inserted=hidden))
        return self.emit(pieces)

    def _answer(
        self, run: str, line: int, at: float | None, message: Json, facts: Json, blocks: list[Json]
    ) -> list[Piece]:
        calls: list[CallPiece] = []
        failed: list[Piece] = []
        texts: list[str] = []
        thinking = 0
        for block in blocks:
            kind = block.get("type")
            if isinstance(kind, str) and kind in _CALLS:
                asked = _value(block.get("toolCall"))
                own = name(block.get("id"))
                tool = name(asked.get("name")) or "unknown"
                calls.append(CallPiece(own, tool, asked.get("arguments"), at))
                self._tools[own or ""] = tool
                if _failed(block.get("toolCall")):  # a call that could not be read is not made
                    said = _error(block.get("toolCall"))
                    failed.append(ResultPiece(run, line, own, said, at, CallStatus.ERROR))
            elif kind == "thinking":
                thinking += len(words(block.get("thinking")) or "")
            elif kind == "error":
                said = words(block.get("message", block.get("error")))
                failed.append(AttemptPiece(run, line, at, message=said, gave_up=True))
            elif kind == "text" and isinstance(block.get("text"), str):
                texts.append(block["text"])
        usage = named_usage(
            facts.get("usage"),
            whole="inputTokens",
            read="cacheReadInputTokens",
            write="cacheWriteInputTokens",
            output="outputTokens",
            total="totalTokens",
        )
        if usage is not None:
            self._metered.add(run)
        inference = table(facts, "inference")
        key = name(message.get("id")) or f"line {line}"
        self._responses.setdefault(run, []).append(key)
        answer = ResponsePiece(
            run,
            line,
            id=key,
            at=at,
            model=name(inference.get("model", inference.get("requestedModel")))
            or (None if run in self._ledger else self._models.get(run)),  # a row tells its own
            text="\n".join(texts) or None,
            thinking_chars=thinking,
            calls=tuple(calls),
            usage=usage,
            service=name(inference.get("provider")),
        )
        return [answer, *failed]


def _value(envelope: Any) -> Json:
    """What a `{status, value}` (or the older `{Ok: value}`) envelope holds."""
    for key in ("value", "Ok"):
        found = table(envelope, key)
        if found:
            return found
    return envelope if isinstance(envelope, dict) and "name" in envelope else {}


def _failed(envelope: Any) -> bool:
    return isinstance(envelope, dict) and (envelope.get("status") == "error" or "Err" in envelope)


def _error(envelope: Any) -> Any:
    return envelope.get("error", envelope.get("Err")) if isinstance(envelope, dict) else None


def _result(
    run: str, line: int, at: float | None, block: Json, tools: dict[str, str]
) -> ResultPiece:
    envelope = block.get("toolResult")
    own = name(block.get("id"))
    if isinstance(envelope, dict) and _failed(envelope):
        said = _error(envelope)
        status, code = ended(said if isinstance(said, str) else text_of(said), True)
        return ResultPiece(run, line, own, said, at, status, exit_code=code)
    value: Any = _value(envelope)
    facts = table(value, "structuredContent")
    content = value.get("content") if isinstance(value, dict) else None
    if content is None and isinstance(envelope, dict):
        content = envelope.get("value", envelope.get("Ok"))
    content = [c for c in content if not _for_user(c)] if isinstance(content, list) else content
    text = output_of(content)
    flag = value.get("isError")
    status, code = ended(text, flag if isinstance(flag, bool) else None, tools.get(own or ""))
    told = whole(facts.get("exit_code", facts.get("exitCode")))
    if told is not None:
        code = told
        if told and status is CallStatus.OK:
            status = CallStatus.ERROR
    return ResultPiece(run, line, own, text, at, status, exit_code=code)


def _for_user(content: Any) -> bool:
    """Whether a part of a result is shown to the user only: the model's part says the same."""
    audience = table(content, "annotations").get("audience")
    return isinstance(audience, list) and audience == ["user"]


def _accumulated(row: Json) -> Usage | None:
    return named_usage(
        row,
        whole="accumulated_input_tokens",
        read="accumulated_cache_read_tokens",
        write="accumulated_cache_write_tokens",
        output="accumulated_output_tokens",
        total="accumulated_total_tokens",
    )


def _by_ledger(
    run: str, ledger: list[tuple[int, Json]], ids: list[str], cost: Decimal | None
) -> Iterable[ResponsePiece]:
    """Usage of the responses `ids` by the rows of their model calls, in order; where there are more
    or fewer rows, what they sum to is spread. Rows of compactions are steps of their own."""
    told = [
        ResponsePiece(
            run,
            line,
            id=f"{run}/{_LEDGER} {line}",
            at=seconds(row.get("created_timestamp")),
            model=name(row.get("model")),
            usage=named_usage(
                row,
                whole="input_tokens",
                read="cache_read_tokens",
                write="cache_write_tokens",
                output="output_tokens",
                total="total_tokens",
            ),
            cost=dollars(row.get("cost")) or None,
            kind=StepKind.COMPACTION if row.get("is_compaction") in (1, True) else StepKind.MODEL,
        )
        for line, row in ledger
    ]
    calls = [piece for piece in told if piece.kind is StepKind.MODEL]
    costs = [piece.cost for piece in calls if piece.cost is not None]
    if len(calls) == len(ids):
        for piece, key in zip(calls, ids, strict=True):
            piece.id, piece.at = key, None  # the message has its time
    elif ids:
        total = Usage()
        for bucket in BUCKETS:
            parts = [n for p in calls if p.usage and (n := getattr(p.usage, bucket)) is not None]
            setattr(total, bucket, sum(parts) if parts else None)
        line = ledger[-1][0]
        summed = sum(costs, Decimal(0)) if costs else cost
        yield from spread(run, line, ids, None if total.total is None else total, summed)
        told = [piece for piece in told if piece.kind is StepKind.COMPACTION]
    yield from told
    if len(calls) == len(ids) and not costs:
        yield from spread(run, ledger[-1][0], ids, None, cost)


def sniff(sample: Sample) -> float:
    if sample.tables:
        messages = sample.tables.get("messages", frozenset())
        return 0.98 if {"session_id", "role", "content_json"} <= messages else 0.0
    header = blocks = 0
    for record in sample.records:
        if not isinstance(record, dict):
            return 0.0
        header += "working_dir" in record and "role" not in record
        for block in rows(record.get("content")):
            kind = block.get("type")
            blocks += kind in ("toolRequest", "toolResponse") and (
                "toolCall" in block or "toolResult" in block
            )
    messages_there = any("created" in record and "role" in record for record in sample.records)
    if blocks and messages_there:
        return 0.96
    return 0.9 if header and messages_there else 0.75 if header else 0.0


FORMAT = Format(
    name="goose",
    title="goose sessions",
    sniff=sniff,
    reader=GooseReader,
    describes=(
        "~/.local/share/goose/sessions/sessions.db, or *.jsonl there before version 1.10. Versions "
        "that tell no usage with a message have a ledger of model calls, or only the accumulated "
        "totals of a session: they are spread evenly over its responses. Times are whole seconds. "
        "Lines of a database are rowids."
    ),
    tables=(
        Table("sessions", ("created_at",)),
        Table(_LEDGER, ("id",)),
        Table("messages", ("id",)),
    ),
)
