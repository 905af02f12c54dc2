"""AG2 and AutoGen 0.2 chats: `chat_history`, alone or in a ChatResult.

Roles are those of the receiver's view: the question is `assistant` under the user's name, the final
answer `user` under the agent's. So names count: who speaks first is the user. Results of several
calls stand in one message (`tool_responses`); failures begin with "Error:". Usage is the total of
the chat, without what was answered from a cache, and is shared out over its responses.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from loopaudit.formats.apis.openai_chat import assistant_piece, call_id
from loopaudit.formats.base import Format, Sample
from loopaudit.formats.logreader import LogReader
from loopaudit.formats.shapes import Json, dollars, name, output_of, rows, shown, table, text_of
from loopaudit.formats.speakers import code_in
from loopaudit.formats.tool_messages import status_of
from loopaudit.formats.totals import share_cost, share_usage
from loopaudit.formats.usages import openai_usage
from loopaudit.model import (
    BUCKETS,
    BoundaryKind,
    BoundaryPiece,
    CallPiece,
    CallStatus,
    Piece,
    ResponsePiece,
    ResultPiece,
    RunPiece,
    Usage,
    add,
)

_RAN = "exitcode: "


class Ag2Reader(LogReader):
    def read(self, line: int, record: Any) -> Iterable[Piece]:
        if isinstance(record, list):
            if record and all(isinstance(r, dict) and "chat_history" in r for r in record):
                return self._several(line, record)
            return self._chat(line, (), record, {}, None)
        if not isinstance(record, dict) or not isinstance(record.get("chat_history"), list):
            return self.reject(line, "no AG2 chat: it has no chat_history")
        return self._result(line, (), record)

    def _several(self, line: int, results: list[Json]) -> Iterable[Piece]:
        for index, result in enumerate(results):
            if isinstance(result["chat_history"], list):
                yield from self._result(line, (index,), result)
            else:
                self.reject(self.place(line, index), "no AG2 chat")

    def _result(self, line: int, keys: tuple[Any, ...], record: Json) -> list[Piece]:
        own = name(record.get("chat_id"))
        inside = (*keys, "chat_history")
        return self._chat(line, inside, record["chat_history"], table(record, "cost"), own)

    def _chat(
        self, line: int, keys: tuple[Any, ...], messages: list[Any], cost: Json, own: str | None
    ) -> list[Piece]:
        self.used += 1
        run = self.new_run(own)
        told = [message for message in messages if isinstance(message, dict)]
        user = name(told[0].get("name")) if told else None
        names = {name(m.get("name")) for m in told if m.get("role") != "tool"} - {user, None}
        pieces: list[Piece] = [RunPiece(run, line, agent=names.pop() if len(names) == 1 else None)]
        answers: list[ResponsePiece] = []
        following = iter([*messages[1:], None])
        ran = False  # the code of the last answer was run
        for index, message in enumerate(messages):
            after = next(following, None)
            place = self.place(line, *keys, index)
            if not isinstance(message, dict):
                self.reject(place, f"no message: {shown(message)}")
                continue
            code = code_in(text_of(message.get("content")) or "") if _ran(after) else ""
            found = list(_message(message, index, user, ran, code))
            ran = bool(code)
            for piece in found:
                piece.run, piece.line = run, place
                if isinstance(piece, ResponsePiece):
                    answers.append(piece)
            pieces += found
        _share(answers, cost)
        return self.emit(pieces)


def _message(message: Json, index: int, user: str | None, ran: bool, code: str) -> Iterable[Piece]:
    role, text = message.get("role"), text_of(message.get("content"))
    several = message.get("tool_responses")
    if isinstance(several, list) or role in ("tool", "function"):
        items = rows(several) if isinstance(several, list) else [message]
        for item in items:
            output = output_of(item.get("content"))
            key = call_id(item.get("tool_call_id"))
            yield ResultPiece("", 0, key, output, status=status_of(output))
    elif message.get("tool_calls") or message.get("function_call"):
        yield assistant_piece(message)
    elif ran and text is not None and text.lstrip().startswith(_RAN):
        told = text.lstrip()[len(_RAN) :].split(None, 1)[:1]
        number = int(told[0]) if told and told[0].isdecimal() and len(told[0]) < 7 else None
        status = CallStatus.ERROR if number else CallStatus.OK
        yield ResultPiece("", 0, None, text, status=status, exit_code=number)
    elif index == 0 or (user is not None and message.get("name") == user):
        yield BoundaryPiece("", 0, BoundaryKind.USER, text=text)
    else:
        calls = (CallPiece(None, "execute_code", {"code": code}),) if code else ()
        yield ResponsePiece("", 0, text=text, calls=calls)


def _ran(message: Any) -> bool:
    """Whether a message is the outcome of code that was run."""
    content = message.get("content") if isinstance(message, dict) else None
    return isinstance(content, str) and content.lstrip().startswith(_RAN)


def _share(answers: list[ResponsePiece], cost: Json) -> None:
    """Totals by model, where the chat has them; what a cache answered was not paid."""
    told = table(cost, "usage_excluding_cached_inference")
    total: Usage | None = None
    models = []
    for model, value in told.items():
        usage = openai_usage(value) if isinstance(value, dict) else None
        if usage is None:
            continue
        models.append(str(model))
        if total is None:
            total = usage
        else:
            for bucket in BUCKETS:
                setattr(total, bucket, add(getattr(total, bucket), getattr(usage, bucket)))
    if total is not None:
        share_usage(total, answers)
    if len(models) == 1:
        for answer in answers:
            answer.model = answer.model or models[0]
    money = dollars(told.get("total_cost"))
    if money:
        share_cost(money, answers)


def sniff(sample: Sample) -> float:
    records = sample.records
    if not records:
        return 0.0
    first = records[0]
    if isinstance(first, dict):
        known = isinstance(first.get("chat_history"), list)
        return 0.97 if known and ("cost" in first or "summary" in first) else 0.0
    if not sample.document or not isinstance(first, list) or not first:
        return 0.0
    if all(isinstance(r, dict) and isinstance(r.get("chat_history"), list) for r in first[:8]):
        return 0.97
    messages = [m for m in first[:64] if isinstance(m, dict) and isinstance(m.get("role"), str)]
    answered = any(isinstance(m.get("tool_responses"), list) for m in messages)
    return 0.95 if answered and len(messages) == len(first[:64]) else 0.0


FORMAT = Format(
    name="ag2",
    title="AG2 (and AutoGen 0.2) chats",
    sniff=sniff,
    reader=Ag2Reader,
    describes=(
        "ChatResult of AG2 and AutoGen 0.2 as JSON, or its chat_history alone. Usage and cost are "
        "totals of the chat and are shared out over its responses; there are no times."
    ),
    lacks=frozenset(("times",)),
)
