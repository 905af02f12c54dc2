"""Request/response logs and HTTP cassettes of the OpenAI, Anthropic and Gemini APIs.

One call a line, a document or a cassette's interaction. Every request holds the whole history: only
what is new against the call before in its conversation is told, and results of calls come with the
next request. Conversations are told apart by their history (see `conversations`) unless the log
names them. Failed calls are attempts. Requests to anything but a generating endpoint are ignored by
name. A file with one call only, as OpenHands writes them, tells its history too, under ids made
from call ids, so that the files of one conversation can be put together.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from loopaudit.formats.apis import sse
from loopaudit.formats.apis.http_families import RESPONSES, Answer, Family, family_of
from loopaudit.formats.apis.http_records import (
    Exchange,
    exchange_of,
    http_date,
    interactions_of,
    is_exchange,
    retry_after,
)
from loopaudit.formats.apis.openai_chat import OTHER_CHOICES
from loopaudit.formats.base import Format, Sample
from loopaudit.formats.conversations import Conversation, Conversations, Match, telling
from loopaudit.formats.logreader import LogReader
from loopaudit.formats.shapes import Json, count, dollars, name, rows
from loopaudit.keys import call_key, canonical, digest
from loopaudit.model import (
    AttemptPiece,
    BoundaryPiece,
    Piece,
    ResponsePiece,
    RunPiece,
    UsageMark,
)

#: response ids kept in mind to follow `previous_response_id`
MAX_CHAINED = 100_000

CUT = "the stream was cut before its final usage"


class HttpReader(LogReader):
    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._talks = Conversations(self.new_run)
        self._responses: dict[str, tuple[Conversation, int]] = {}
        self._first: tuple[int, Json] | None = None  # held back until a second call is seen
        self._calls = 0

    def read(self, line: int, record: Any) -> Iterable[Piece]:
        several = interactions_of(record)
        key = "interactions" if isinstance(record, dict) and "interactions" in record else None
        if several is None and isinstance(record, list):
            several = record
        elif several is not None and key is None:
            key = "http_interactions"
        if several is None:
            return self._one(line, record)
        out: list[Piece] = []
        for index, item in enumerate(several):
            place = self.place(line, *([key] if key else []), index)
            out += self._one(place, item)
        return out

    def end(self) -> Iterable[Piece]:
        out: list[Piece] = []
        if self._first is not None:
            out = self._call(*self._first, alone=True)
            self._first = None
        super().end()
        return out

    def _one(self, line: int, record: Any) -> list[Piece]:
        if not is_exchange(record):
            self.reject(line, "no request with its response")
            return []
        self._calls += 1
        if self._calls == 1:
            self._first = (line, record)
            return []
        out: list[Piece] = []
        if self._first is not None:
            out = self._call(*self._first)
            self._first = None
        return out + self._call(line, record)

    def _call(self, line: int, record: Json, *, alone: bool = False) -> list[Piece]:
        call = exchange_of(record)
        family = family_of(call)
        if family is None:
            kind = call.path.rpartition("/")[2] if call.path.count("/") == 2 else "other"
            self.ignored[f"{kind} request to {call.host or 'unknown host'}"[:80]] += 1
            return []
        if call.problem is not None:
            self.reject(line, call.problem)
            return []
        body, complete = _body(call, family)
        before = family.request(call.request)
        failure = _failure(call, body)
        answer: Answer = ([], [])
        if failure is None or _has_answer(body):
            answer = family.answer(body) if body else answer
        for piece in answer[1]:
            _complete(piece, call, complete)
        if not answer[0] and failure is None:
            self.reject(line, "a request without a readable answer")
        else:
            self.used += 1
        if alone:
            told = self._alone(before, answer, failure)
            if told is not None:
                return self.emit(told[1], told[0], line)
        match = self._match(call, family, before, body)
        out: list[Piece] = []
        if match.forked_from is not None:
            out.append(RunPiece("", 0, forked_from=match.forked_from))
        out += match.new
        if failure is not None:
            out.append(failure)
        out += answer[0]
        self._remember(match, answer, chains=family is RESPONSES)
        return self.emit(out, match.run, line)

    def _match(self, call: Exchange, family: Family, before: list[Piece], body: Json) -> Match:
        known = self._responses.get(name(call.request.get("previous_response_id")) or "")
        if known is None and not before:  # a response asked for again by its id
            known = self._responses.get(name(body.get("id")) or "")
        if known is not None:
            return self._talks.follow(*known, before)
        system = digest(family.system(call.request) or "")
        return self._talks.match(before, own=call.own, system=system, requests=True)

    def _remember(self, match: Match, answer: Answer, *, chains: bool) -> None:
        choices = answer[1]
        if len(choices) > 1:
            self.ignored[OTHER_CHOICES] += len(choices) - 1
        self._talks.extend(match, choices)
        if chains and choices and choices[0].id is not None:
            self._responses[choices[0].id] = (match.conversation, match.conversation.heads[0])
            if len(self._responses) > MAX_CHAINED:
                del self._responses[next(iter(self._responses))]

    def _alone(
        self, before: list[Piece], answer: Answer, failure: AttemptPiece | None
    ) -> tuple[str, list[Piece]] | None:
        """Run and pieces of a file with one call, where call ids tell its conversation.

        Its history stands in the files before it, so steps get ids made from their calls: the same
        in each file. Of user messages only those of this call are told, of answers without calls
        only this one: nothing would make them known again.
        """
        pieces = [*before, *answer[0]]
        ids = [step_id(piece) for piece in pieces if isinstance(piece, ResponsePiece)]
        first = next((key for key in ids if key is not None), None)
        if first is None:
            return None
        run = first.partition("/")[0]
        last = max((i for i, p in enumerate(before) if isinstance(p, ResponsePiece)), default=-1)
        told: list[Piece] = [RunPiece(run, 0, session=run)]
        for index, piece in enumerate(before):
            if isinstance(piece, ResponsePiece):
                piece.id = step_id(piece)
                if piece.id is None:
                    self.ignored["answer of an earlier call"] += 1
                    continue
            elif isinstance(piece, BoundaryPiece) and index < last:
                continue
            told.append(piece)
        if failure is not None:
            told.append(failure)
        for piece in answer[0]:
            if isinstance(piece, ResponsePiece):
                piece.id = step_id(piece) or piece.id
            told.append(piece)
        return run, told


def step_id(piece: ResponsePiece) -> str | None:
    """An id for a response from its first telling call: `<call id>/<digest of the call>`."""
    for call in piece.calls:
        if telling(call):
            return f"{call.id}/{call_key(call.tool, canonical(call.args)):x}"
    return None


def _body(call: Exchange, family: Family) -> tuple[Json, bool]:
    """The answer as one body, and whether it is whole."""
    body = call.body
    if isinstance(body, list):
        return family.stream(rows(body))
    if isinstance(body, str):
        return family.stream(sse.events(body)) if sse.is_stream(body) else ({}, False)
    return (body, True) if isinstance(body, dict) else ({}, True)


def _has_answer(body: Json) -> bool:
    """Whether a failed call still brought (and billed) something, as a stream broken off does."""
    usage = body.get("usage")
    return bool(usage) or bool(body.get("choices")) or bool(body.get("candidates"))


def _failure(call: Exchange, body: Json) -> AttemptPiece | None:
    error = body.get("error")
    failed = call.status is not None and call.status >= 400
    if error is None and not failed:
        error = call.error
    if not (error or failed) or body.get("object") == "response":
        return None
    detail = error if isinstance(error, dict) else {}
    code = detail.get("code")
    if not isinstance(code, str):
        code = detail.get("status") or detail.get("type")
    texts = (detail.get("message"), error, body.get("message"), body.get("detail"), call.body)
    message = next((text for text in texts if isinstance(text, str) and text), None)
    tries = call.asked.get("x-stainless-retry-count")
    number = count(int(tries)) if isinstance(tries, str) and tries.isdigit() else count(tries)
    return AttemptPiece(
        "",
        0,
        at=call.at or http_date(call.headers.get("date")),
        http_status=call.status or count(detail.get("code")),
        code=name(code),
        message=message[:2000] if message else None,
        retry_after=retry_after(call),
        number=None if number is None else number + 1,
    )


def _complete(piece: ResponsePiece, call: Exchange, complete: bool) -> None:
    """What the log tells beside the body: times, cost, and that a stream was cut."""
    if call.at is not None:
        piece.at = call.at
    elif piece.at is None:
        piece.at = http_date(call.headers.get("date"))
    if call.ended is not None:
        piece.ended = call.ended
    if piece.usage is not None and piece.cost is None:
        piece.cost = dollars(call.cost)
    if piece.model is None:
        piece.model = name(call.request.get("model"))
    usage = piece.usage
    if not complete and usage is not None and usage.mark is UsageMark.REPORTED:
        usage.mark, usage.note = UsageMark.LOWER_BOUND, CUT


# -- sniffing -------------------------------------------------------------------------------------

_FOREIGN = frozenset(
    ("trace_id", "run_type", "uuid", "parentUuid", "observations", "resourceSpans")
)


def sniff(sample: Sample) -> float:
    records = sample.records
    if not records:
        return 0.0
    if all(interactions_of(record) is not None for record in records):
        calls = [item for record in records for item in interactions_of(record) or ()]
        known = any(is_exchange(c) and family_of(exchange_of(c)) is not None for c in calls[:64])
        return 0.97 if known else 0.4
    if sample.document and isinstance(records[0], list):
        records = records[0][:64]
    if not records or not all(is_exchange(r) and _FOREIGN.isdisjoint(r) for r in records):
        return 0.0
    known = any(family_of(exchange_of(record)) is not None for record in records)
    return 0.97 if known else 0.4


FORMAT = Format(
    name="http_log",
    title="API request/response log or HTTP cassette",
    sniff=sniff,
    reader=HttpReader,
    describes=(
        "Logs of API calls with request and response (one a line, a JSON array, one a file as "
        "OpenHands and LiteLLM write them) and VCR cassettes, for OpenAI chat completions and "
        "Responses, Anthropic Messages and Gemini, streamed or not. The only logs that hold failed "
        "attempts; results of the last calls are missing, as no request brings them back."
    ),
)
