"""Gemini CLI sessions: one JSON document, or (since 2026) lines that rewrite messages as they grow.

A message of the model holds its calls with their results. In the line form a message is written
again in full whenever it changes: the last line of an id counts, so the newest message is held
until another one comes. `$set` merges metadata (and may bring all messages again); `$rewindTo`
takes messages back, whose tokens were spent all the same.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from loopaudit.formats.base import Format, Sample
from loopaudit.formats.coding.gemini_cli_stream import KINDS, Stream, is_stream
from loopaudit.formats.coding.outputs import ended
from loopaudit.formats.coding.sessions import SessionReader
from loopaudit.formats.coding.spoken import spoken
from loopaudit.formats.shapes import Json, name, rows, seconds, shown, table, text_of, words
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

_ENDED = {
    "success": CallStatus.OK,
    "error": CallStatus.ERROR,
    "cancelled": CallStatus.REJECTED,
    "canceled": CallStatus.REJECTED,
}
_CANCELLED = ("request cancelled", "user cancelled", "operation cancelled", "cancelled by user")


class GeminiCliReader(SessionReader):
    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._run: str | None = None
        self._stream: Stream | None = None  # of headless output
        self._held: tuple[int, Json] | None = None  # the newest message, which may still change
        self._seen: set[str] = set()  # ids of messages of users, errors and notices
        self._answered: set[tuple[str, str]] = set()  # message and call whose result was given

    def read(self, line: int, record: Any) -> Iterable[Piece]:
        if isinstance(record, list) and _prompts(record):
            return self.ignore("prompts (told by the sessions)")
        if not isinstance(record, dict):
            return self.reject(line, "not a JSON object")
        if isinstance(record.get("messages"), list):
            return self._session(line, record)
        if "$set" in record:
            return self._set(line, table(record, "$set"))
        if "$rewindTo" in record:
            return [*self._release(), *self.ignore("rewind (its tokens were spent)")]
        kind = record.get("type")
        if isinstance(kind, str) and "id" not in record and kind in KINDS:
            self._stream = self._stream or Stream(self.stem)
            self.used += 1
            return self.emit(self._stream.read(line, kind, record))
        if isinstance(record.get("type"), str) and "id" in record:
            return self._line(line, record)
        if name(record.get("sessionId")) or "projectHash" in record:
            self.used += 1
            return self.emit(self._facts(line, record))
        if isinstance(record.get("history"), list):
            return self._history(line, record)
        return self.reject(line, "neither a session, a message nor metadata")

    def end(self) -> Iterable[Piece]:
        pieces = self._release()
        if self._stream is not None:
            pieces += self.emit(self._stream.close())
        super().end()
        return pieces

    # -- sessions and lines -----------------------------------------------------------------------

    def _session(self, line: int, record: Json) -> list[Piece]:
        self.used += 1
        pieces = self._facts(line, record)
        for index, message in enumerate(record["messages"]):
            place = self.place(line, "messages", index)
            if isinstance(message, dict):
                pieces += self._message(place, message)
            else:
                self.reject(place, f"no message: {shown(message)}")
        return self.emit(pieces)

    def _history(self, line: int, record: Json) -> list[Piece]:
        """A saved chat of an early version: contents as the API takes them."""
        from loopaudit.formats.apis.gemini_generate import content_pieces

        self.used += 1
        run = self._run = self._run or self.new_run()
        pieces: list[Piece] = []
        for index, content in enumerate(rows(record["history"])):
            place = self.place(line, "history", index)
            if content.get("role") == "gemini":
                content = {**content, "role": "model"}
            for piece in content_pieces(content):
                piece.run, piece.line, piece.at = run, place, seconds(content.get("ts"))
                pieces.append(piece)
        return self.emit(pieces)

    def _facts(self, line: int, record: Json) -> list[Piece]:
        own = name(record.get("sessionId"))
        self._run = run = own or self._run or self.new_run()
        parent = None
        if record.get("kind") == "subagent":
            folder = os.path.basename(os.path.dirname(self.path))
            parent = folder if folder not in ("", "chats", own) else None
        return [
            self.begun(
                run,
                line,
                parent=parent,
                agent="subagent" if record.get("kind") == "subagent" else None,
                project=name(record.get("projectHash")),
                at=seconds(record.get("startTime")),
            )
        ]

    def _set(self, line: int, facts: Json) -> list[Piece]:
        self.used += 1
        pieces: list[Piece] = []
        if isinstance(facts.get("messages"), list):
            pieces += self._release()
            for message in rows(facts["messages"]):
                pieces += self.emit(self._message(line, message))
        return pieces

    def _line(self, line: int, record: Json) -> list[Piece]:
        self.used += 1
        held = self._held
        if held is not None and held[1].get("id") == record.get("id"):
            self._held = (held[0], record)
            return []
        pieces = self._release()
        self._held = (line, record)
        return pieces

    def _release(self) -> list[Piece]:
        held, self._held = self._held, None
        return [] if held is None else self.emit(self._message(*held))

    # -- messages ---------------------------------------------------------------------------------

    def _message(self, line: int, message: Json) -> list[Piece]:
        run = self._run = self._run or self.new_run()
        kind = message.get("type")
        if kind in ("gemini", "model", "qwen"):
            return self._answer(run, line, message)
        key = name(message.get("id"))
        if key is not None:
            if key in self._seen:
                return []
            self._seen.add(key)
        at = seconds(message.get("timestamp"))
        text = text_of(message.get("content"))
        if kind == "user":
            return self._user(run, line, at, message, text)
        if kind == "error":
            if (text or "").lower().startswith(_CANCELLED):
                return [BoundaryPiece(run, line, BoundaryKind.INTERRUPT, at, text)]
            return [AttemptPiece(run, line, at, message=text, gave_up=True)]
        if kind == "info" and (text or "").lower().startswith(_CANCELLED):
            return [BoundaryPiece(run, line, BoundaryKind.INTERRUPT, at, text)]
        if kind in ("info", "warning"):
            self.ignore(f"message of type {kind}")
        else:
            self.reject(line, f"a message of an unknown type: {shown(kind)}")
        return []

    def _user(
        self, run: str, line: int, at: float | None, message: Json, text: str | None
    ) -> list[Piece]:
        pieces: list[Piece] = []
        for part in rows(message.get("content")):
            answer = table(part, "functionResponse")
            if answer:  # tools that a client runs answer in the next message
                pieces.append(_result(run, line, at, name(answer.get("id")), [part], None))
        if text is not None or not pieces:
            kind, text = spoken(text)
            pieces.append(BoundaryPiece(run, line, kind, at, text))
        return pieces

    def _answer(self, run: str, line: int, message: Json) -> list[Piece]:
        at = seconds(message.get("timestamp"))
        key = name(message.get("id"))
        thoughts = rows(message.get("thoughts"))
        usage = named_usage(
            message.get("tokens"),
            whole="input",
            read="cached",
            output="output",
            reasoning="thoughts",
            beside=True,
            extra="tool",
            total="total",
        )
        calls: list[CallPiece] = []
        results: list[Piece] = []
        for call in rows(message.get("toolCalls")):
            own = name(call.get("id"))
            tool = name(call.get("name")) or "unknown"
            calls.append(CallPiece(own, tool, call.get("args"), at))
            status = call.get("status")
            if call.get("result") is None and status not in _ENDED:
                continue
            if key is not None and own is not None:
                if (key, own) in self._answered:
                    continue
                self._answered.add((key, own))
            done = seconds(call.get("timestamp"))
            flag = status if isinstance(status, str) else None
            results.append(_result(run, line, done, own, call.get("result"), flag, tool))
        answer = ResponsePiece(
            run,
            line,
            id=key,
            at=at,
            model=name(message.get("model")),
            text=text_of(message.get("content", message.get("parts"))) or None,
            thinking_chars=sum(len(words(t.get("description")) or "") for t in thoughts),
            calls=tuple(calls),
            usage=usage,
        )
        return [answer, *results]


def _result(
    run: str,
    line: int,
    at: float | None,
    key: str | None,
    result: Any,
    flag: str | None,
    tool: str | None = None,
) -> ResultPiece:
    """The answer to a call: a list of parts with a `functionResponse`."""
    said: Any = None
    failed: bool | None = None
    for part in rows(result):
        response = table(part, "functionResponse").get("response")
        if isinstance(response, dict):
            failed = "error" in response and "output" not in response
            said = response.get("error" if failed else "output", response)
        elif said is None:
            said = part.get("text")
    if said is None and result is not None:
        said = text_of(result) or (result or None)
    status = _ENDED.get(flag or "")
    if status is CallStatus.REJECTED:
        return ResultPiece(run, line, key, said, at, status, tool)
    wrong = status is CallStatus.ERROR or failed
    status, code = ended(said, True if wrong else None if status is None else False, tool)
    return ResultPiece(run, line, key, said, at, status, tool, exit_code=code)


def _prompts(record: list[Any]) -> bool:
    """Whether a list is `logs.json`, which holds the prompts of all sessions again."""
    some = rows(record[:16])
    return bool(some) and all({"sessionId", "messageId", "message"} <= item.keys() for item in some)


def sniff(sample: Sample) -> float:
    sure = False
    for record in sample.records:
        if isinstance(record, list):
            return 0.9 if _prompts(record) else 0.0
        if not isinstance(record, dict):
            return 0.0
        messages = record.get("messages")
        if "projectHash" in record and ("sessionId" in record or messages is not None):
            return 0.97
        if isinstance(messages, list) and "sessionId" in record:
            sure |= any(m.get("type") in ("gemini", "info", "warning") for m in rows(messages))
        elif isinstance(record.get("history"), list):
            sure |= any(m.get("role") == "gemini" for m in rows(record["history"]))
        else:
            sure |= is_stream(record)
            sure |= "$set" in record or "$rewindTo" in record
            sure |= record.get("type") == "gemini" and "id" in record and "timestamp" in record
    return 0.9 if sure else 0.0


FORMAT = Format(
    name="gemini_cli",
    title="Gemini CLI sessions",
    sniff=sniff,
    reader=GeminiCliReader,
    describes=(
        "~/.gemini/tmp/<project>/chats/session-*.json (one document) and *.jsonl (since 2026); "
        "sub-agents in chats/<parent session>/; the output of `gemini -p --output-format "
        "stream-json`. Cached tokens lie inside the input, thoughts beside the output. Retries and "
        "cost are not recorded; a message whose tokens are all 0 was not measured. Tool outputs "
        "are cut at 50 KB."
    ),
)
