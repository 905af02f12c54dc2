"""Amp threads: one JSON document a thread, `T-<uuid>.json`.

Usage stands on the message and, for what was billed, in a ledger of events that name a message.
They are the same tokens: the ledger's input and output count, with the cache figures of the
message.
Credits are not dollars and are left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from loopaudit.formats.base import Format, Sample
from loopaudit.formats.coding.blocks import read_blocks
from loopaudit.formats.coding.sessions import SessionReader
from loopaudit.formats.shapes import Json, count, name, rows, seconds, shown, table
from loopaudit.formats.usages import named_usage
from loopaudit.model import (
    BoundaryKind,
    BoundaryPiece,
    CallStatus,
    Piece,
    ResponsePiece,
    RunPiece,
    Usage,
)


class AmpReader(SessionReader):
    def read(self, line: int, record: Any) -> Iterable[Piece]:
        if not isinstance(record, dict) or not isinstance(record.get("messages"), list):
            return self.reject(line, "no thread with messages")
        self.used += 1
        run = name(record.get("id")) or self.new_run()
        ledger = _ledger(record)
        tools: dict[str, str] = {}  # of calls, by id
        pieces: list[Piece] = [self._facts(run, line, record)]
        for index, message in enumerate(record["messages"]):
            place = self.place(line, "messages", index)
            if not isinstance(message, dict) or message.get("role") not in ("user", "assistant"):
                self.reject(place, f"no message: {shown(message)}")
                continue
            key = name(message.get("messageId"))
            key = key if key is not None else str(index)
            pieces += self._message(run, place, key, message, ledger.pop(key, None), tools)
        for key, event in sorted(ledger.items()):  # billed, with no message in the thread
            usage = _usage({}, event)
            if usage is not None:
                at = seconds(event.get("timestamp"))
                model = name(event.get("model"))
                pieces.append(
                    ResponsePiece(run, line, f"{run}/{key}", at, model=model, usage=usage)
                )
        return self.emit(pieces)

    def _facts(self, run: str, line: int, record: Json) -> RunPiece:
        initial = table(table(record, "env"), "initial")
        trees = rows(initial.get("trees"))
        parent = record.get("mainThreadID", record.get("parentThreadID"))
        return self.begun(
            run,
            line,
            parent=name(parent),
            agent=name(record.get("agentMode")),
            project=(name(trees[0].get("uri")) or "").removeprefix("file://") if trees else None,
            version=name(table(initial, "platform").get("clientVersion")),
            at=seconds(record.get("created")),
        )

    def _message(
        self,
        run: str,
        line: int,
        key: str,
        message: Json,
        event: Json | None,
        tools: dict[str, str],
    ) -> list[Piece]:
        spent = table(message, "usage")
        at = seconds(table(message, "meta").get("sentAt"))
        at = at or seconds(spent.get("timestamp")) or seconds((event or {}).get("timestamp"))
        found = read_blocks(run, line, at, message.get("content"), tools)
        if message.get("role") == "user":
            results = [r for r in found.results if r.status is not CallStatus.UNANSWERED]
            pieces: list[Piece] = [*results]
            if found.texts or found.pictures or not found.results:
                pieces.append(self.said(run, line, at, found.text))
            if table(message, "interrupted") or message.get("interrupted") is True:
                pieces.append(BoundaryPiece(run, line, BoundaryKind.INTERRUPT, at))
            return pieces
        state = table(message, "state")
        answer = ResponsePiece(
            run,
            line,
            id=f"{run}/{key}",
            at=at,
            model=name(spent.get("model")) or name((event or {}).get("model")),
            text=found.text,
            thinking_chars=found.thinking,
            calls=tuple(found.calls),
            usage=_usage(spent, event),
            finish=name(state.get("stopReason")),
        )
        pieces = [answer, *found.results]
        if state.get("type") == "cancelled":
            pieces.append(BoundaryPiece(run, line, BoundaryKind.INTERRUPT, at))
        return pieces


def _ledger(record: Json) -> dict[str, Json]:
    """Ledger events by the message that they paid for; several for one are added up."""
    found: dict[str, Json] = {}
    for index, event in enumerate(rows(table(record, "usageLedger").get("events"))):
        key = name(event.get("toMessageId"))
        key = key if key is not None else f"event {index}"
        known = found.setdefault(key, {**event, "tokens": {}})
        for side, amount in table(event, "tokens").items():
            tokens = count(amount)
            if tokens is not None:
                known["tokens"][side] = known["tokens"].get(side, 0) + tokens
    return found


def _usage(spent: Json, event: Json | None) -> Usage | None:
    merged = dict(spent)
    billed = table(event, "tokens")
    for theirs, ours in (("input", "inputTokens"), ("output", "outputTokens")):
        if count(billed.get(theirs)) is not None:
            merged[ours] = billed[theirs]
    return named_usage(
        merged,
        fresh="inputTokens",
        read="cacheReadInputTokens",
        write="cacheCreationInputTokens",
        output="outputTokens",
    )


def sniff(sample: Sample) -> float:
    for record in sample.records[:1]:
        if isinstance(record, dict) and isinstance(record.get("messages"), list):
            thread = (name(record.get("id")) or "").startswith("T-")
            if "usageLedger" in record:
                return 0.97 if thread else 0.9
            return 0.95 if thread and ("created" in record or "env" in record) else 0.0
    return 0.0


FORMAT = Format(
    name="amp",
    title="Amp threads",
    sniff=sniff,
    reader=AmpReader,
    describes=(
        "~/.local/share/amp/threads/T-<id>.json, one document a thread; new versions keep threads "
        "on the server. Times stand with messages of users and with billed responses. Spend is "
        "recorded in credits only."
    ),
)
