"""Our own event lines: the pieces of a run, one JSON object a line. Read, written, and its schema.

    {"loopaudit": 1}
    {"type": "run", "run": "r1", "agent": "main", "task_type": "research"}
    {"type": "boundary", "kind": "user", "text": "what is the weather?"}
    {"type": "response", "id": "m1", "model": "gpt-5", "usage": {"fresh_input": 90, "output": 20},
     "calls": [{"id": "t1", "tool": "weather", "args": {"city": "Rome"}, "result": "14 C"}]}
    {"type": "attempt", "http_status": 429, "retry_after": 2}
    {"type": "result", "call": "t1", "result": "unknown city", "error": true}

(each on one line). The first line is optional. A line without `run` belongs to the run of the last
line above that named one, else to the file's name. A call with `result` (or `error`, `status`)
holds its answer; one without is answered by a later `result` line, or never. Lines of one run with
the same response `id` are one response. Unknown fields are left alone. `schema()` tells the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from loopaudit.formats.base import Format, Reader, Sample
from loopaudit.formats.logreader import Tally, stem
from loopaudit.formats.native.fields import (
    MARK,
    PLAIN,
    RENAMED,
    TYPES,
    VERSION,
)
from loopaudit.formats.native.schema import schema
from loopaudit.formats.native.write import pieces_of, write
from loopaudit.formats.shapes import count, name, seconds, shown
from loopaudit.formats.usages import TOTAL_ONLY
from loopaudit.model import (
    BUCKETS,
    BoundaryPiece,
    CallPiece,
    CallStatus,
    Piece,
    ResponsePiece,
    ResultPiece,
    Usage,
    UsageMark,
)

__all__ = ["FORMAT", "NativeReader", "pieces_of", "schema", "write"]

#: a call that holds one of these holds its answer
_ANSWER_KEYS = ("result", "error", "status")


class NativeReader(Reader):
    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._run = stem(path)
        self._tally = Tally()

    def feed(self, line: int, record: Any) -> Iterable[Piece]:
        if not isinstance(record, dict):
            return self._reject(line, "not a JSON object")
        kind = record.get("type")
        piece_type = TYPES.get(kind) if isinstance(kind, str) else None
        if piece_type is None:
            return self._header(line, record)
        self._run = run = name(record.get("run")) or self._run
        fields = _fields(piece_type, record)
        pieces: list[Piece]
        if piece_type is ResponsePiece:
            response = ResponsePiece(run, line, **fields)
            response.usage = read_usage(record.get("usage"))
            pieces = [response]
            calls = record.get("calls")
            if calls is not None:
                problem = self._calls(response, calls, pieces)
                if problem:
                    self.rejected.append((line, problem))
        elif piece_type is ResultPiece:
            pieces = [_answer(record, ResultPiece(run, line, None), fields)]
        elif piece_type is BoundaryPiece and "kind" not in fields:
            return self._reject(line, f"unknown kind of boundary: {shown(record.get('kind'))}")
        else:
            pieces = [piece_type(run, line, **fields)]
        self.used += 1
        self._tally.add(pieces)
        return pieces

    def end(self) -> Iterable[Piece]:
        self.missing |= self._tally.missing()
        return ()

    def _calls(self, response: ResponsePiece, calls: Any, pieces: list[Piece]) -> str | None:
        """Calls of a response, and the answers written inside them; what is wrong, if anything."""
        if not isinstance(calls, list):
            return "calls is not a list"
        found: list[CallPiece] = []
        problem = None
        for index, item in enumerate(calls):
            tool = name(item.get("tool")) if isinstance(item, dict) else None
            if tool is None:
                problem = "a call without a tool name"
                continue
            fields = _fields(CallPiece, item)
            call = CallPiece(fields.pop("id", None), tool, item.get("args"), **fields)
            if any(key in item for key in _ANSWER_KEYS):
                if call.id is None:  # its own answer must not go to an older open call
                    call.id = f"{response.id or f'line {response.line}'}/{index}"
                answer = {**_fields(ResultPiece, item), "tool": None, "call_id": call.id}
                answer["at"] = seconds(item.get("ended"))
                pieces.append(_answer(item, ResultPiece(response.run, response.line, None), answer))
            found.append(call)
        response.calls = tuple(found)
        return problem

    def _header(self, line: int, record: dict[str, Any]) -> Iterable[Piece]:
        version = record.get("loopaudit")
        if version is None:
            return self._reject(line, f"unknown type of line: {shown(record.get('type'))}")
        if version != VERSION:
            return self._reject(line, f"version {shown(version)} of this format is not known")
        self.ignored["header"] += 1
        return ()

    def _reject(self, line: int, reason: str) -> Iterable[Piece]:
        self.rejected.append((line, reason))
        return ()


def _fields(piece_type: type, record: Mapping[str, Any]) -> dict[str, Any]:
    out = {}
    for key, clean in PLAIN[piece_type].items():
        if key in record:
            value = clean(record[key])
            if value is not None:
                out[RENAMED.get(key, key)] = value
    return out


def _answer(record: Mapping[str, Any], piece: ResultPiece, fields: dict[str, Any]) -> ResultPiece:
    for key, value in fields.items():
        setattr(piece, key, value)
    piece.flagged = fields.get("status") is CallStatus.OK
    error = record.get("error")
    piece.text = record.get("result")
    if error:
        if "status" not in fields:
            piece.status = CallStatus.ERROR
        if piece.text is None and error is not True:
            piece.text = error
    return piece


def read_usage(value: Any) -> Usage | None:
    """Usage from its fields. A bare number, or only `total`, is kept as fresh input, estimated."""
    if value is None:
        return None
    if not isinstance(value, dict):
        value = {"total": value}
    usage = Usage()
    bad = []
    for key in (*BUCKETS, "input", "cache_write", "total"):
        if value.get(key) is None:
            continue
        tokens = count(value[key])
        if tokens is None:
            bad.append(key)
        elif key in BUCKETS:
            setattr(usage, key, tokens)
        elif key == "input" and usage.fresh_input is None:
            usage.fresh_input = tokens
        elif key == "cache_write" and usage.cache_write is None:
            usage.cache_write_unsplit = tokens
        elif key == "total" and usage.total is None:
            usage.fresh_input, usage.mark, usage.note = tokens, UsageMark.ESTIMATED, TOTAL_ONLY
    if bad:
        known = usage.total is not None
        usage.mark = UsageMark.LOWER_BOUND if known else UsageMark.ABSENT
        usage.note = f"not a count of tokens: {', '.join(bad)}"
    usage.mark = MARK(value.get("mark")) or usage.mark
    usage.note = name(value.get("note")) or usage.note
    return usage


def sniff(sample: Sample) -> float:
    """Certain by the header; without it every line must look like one of ours."""
    records = [r for r in sample.records if isinstance(r, dict)]
    if not records or len(records) != len(sample.records):
        return 0.0
    kind = records[0].get("type")
    if "loopaudit" in records[0] and (kind is None or (isinstance(kind, str) and kind in TYPES)):
        return 1.0
    return 0.9 if all(map(_looks_ours, records)) else 0.0


_HINTS: dict[Any, frozenset[str]] = {
    "run": frozenset({"run"}),
    "response": frozenset({"calls", "usage", "text"}),
    "result": frozenset({"call", "result", "status"}),
    "attempt": frozenset({"http_status", "code", "message"}),
    "boundary": frozenset({"kind"}),
}
_FOREIGN = frozenset({"message", "session_id", "sessionId", "uuid", "subtype", "payload"})


def _looks_ours(record: dict[str, Any]) -> bool:
    kind = record.get("type")
    hints = _HINTS.get(kind) if isinstance(kind, str) else None
    if hints is None or hints.isdisjoint(record):
        return False
    return kind == "attempt" or _FOREIGN.isdisjoint(record)


FORMAT = Format(
    name="loopaudit",
    title="loopaudit event lines",
    sniff=sniff,
    reader=NativeReader,
    describes=(
        "loopaudit's own event lines (JSONL): runs, responses with their calls, results, failed "
        "API attempts and boundaries, tokens in disjoint buckets. Written by hand or by your own "
        "agent; `loopaudit schema log` prints the JSON Schema of a line."
    ),
    example=(
        '{"loopaudit": 1}',
        '{"type": "boundary", "kind": "user", "text": "what is the weather?"}',
        '{"type": "response", "id": "m1", "at": "2026-05-01T13:30:11Z", "model": "gpt-5",'
        ' "usage": {"fresh_input": 90, "output": 20},'
        ' "calls": [{"id": "t1", "tool": "weather", "args": {"city": "Rome"}}]}',
        '{"type": "result", "call": "t1", "result": "unknown city", "error": true}',
    ),
)
