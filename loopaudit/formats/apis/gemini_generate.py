"""Gemini generateContent: lists of contents, requests, and response objects with candidates.

Ids of function calls are optional; without them results pair by name and order. A function response
fails where it has `error` and no `output`, as the API asks tools to report it. Thoughts are billed
beside the candidates.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from loopaudit.formats.apis.openai_chat import FOREIGN, OTHER_CHOICES, call_id
from loopaudit.formats.base import Format, Sample
from loopaudit.formats.conversations import Conversations
from loopaudit.formats.logreader import LogReader
from loopaudit.formats.shapes import Json, name, rows, seconds, shown, table, user_kind, words
from loopaudit.formats.tool_messages import status_of
from loopaudit.formats.usages import gemini_usage
from loopaudit.model import (
    BoundaryPiece,
    CallPiece,
    CallStatus,
    Piece,
    ResponsePiece,
    ResultPiece,
)


def _part(part: Json, camel: str, snake: str) -> Json | None:
    """A field of a part: the wire writes camelCase, the Python SDK dumps snake_case."""
    found = part.get(camel, part.get(snake))
    return found if isinstance(found, dict) else None


def content_pieces(content: Json) -> list[Piece]:
    """Pieces of one content (`role`, `parts`), run and line still empty."""
    if content.get("role") == "model":
        return _model(content)
    pieces: list[Piece] = []
    texts: list[str] = []
    for part in rows(content.get("parts")):
        answer = _part(part, "functionResponse", "function_response")
        if answer is not None:
            pieces.append(_result(answer))
        elif isinstance(part.get("text"), str):
            texts.append(part["text"])
    if content.get("role") in ("user", None) and (texts or not pieces):
        text = "\n".join(texts) if texts else None
        pieces.append(BoundaryPiece("", 0, user_kind(text), text=text))
    return pieces


def _model(content: Json) -> list[Piece]:
    answer = ResponsePiece("", 0)
    results: list[Piece] = []
    texts: list[str] = []
    calls: list[CallPiece] = []
    for part in rows(content.get("parts")):
        call = _part(part, "functionCall", "function_call")
        code = _part(part, "executableCode", "executable_code")
        ran = _part(part, "codeExecutionResult", "code_execution_result")
        text = part.get("text")
        if call is not None:
            calls.append(
                CallPiece(
                    call_id(call.get("id")), name(call.get("name")) or "unknown", call.get("args")
                )
            )
        elif code is not None:
            calls.append(CallPiece(None, "code_execution", code.get("code")))
        elif ran is not None:
            bad = ran.get("outcome") not in ("OUTCOME_OK", None)
            status = CallStatus.ERROR if bad else CallStatus.OK
            results.append(
                ResultPiece("", 0, None, ran.get("output"), status=status, tool="code_execution")
            )
        elif isinstance(text, str):
            if part.get("thought") is True:
                answer.thinking_chars += len(text)
            else:
                texts.append(text)
    answer.calls = tuple(calls)
    answer.text = "".join(texts) if texts else None
    return [answer, *results]


def _result(answer: Json) -> ResultPiece:
    said = answer.get("response")
    status = CallStatus.OK
    if isinstance(said, dict):
        if said.get("error") is not None and "output" not in said:
            status = CallStatus.ERROR
        elif "output" not in said:  # home-made agents have one key for both
            status = status_of(said.get("result"))
    return ResultPiece(
        "", 0, call_id(answer.get("id")), said, status=status, tool=name(answer.get("name"))
    )


def response_pieces(body: Json) -> tuple[list[Piece], list[ResponsePiece]]:
    """Pieces of a response object, and its alternatives: the first candidate is the one taken."""
    candidates = rows(body.get("candidates"))
    found = [_model(table(candidate, "content")) for candidate in candidates]
    found = found or [[ResponsePiece("", 0)]]
    choices: list[ResponsePiece] = []
    for index, pieces in enumerate(found):
        answer = pieces[0]
        assert isinstance(answer, ResponsePiece)
        answer.id = call_id(body.get("responseId", body.get("response_id")))
        answer.at = seconds(body.get("createTime", body.get("create_time")))
        answer.model = name(body.get("modelVersion", body.get("model_version")))
        if candidates:
            reason = candidates[index].get("finishReason", candidates[index].get("finish_reason"))
            answer.finish = name(reason)
        choices.append(answer)
    choices[0].usage = gemini_usage(body.get("usageMetadata", body.get("usage_metadata")))
    if not candidates:
        choices[0].finish = words(table(body, "promptFeedback").get("blockReason"))
    return found[0], choices


def system_of(request: Json) -> str | None:
    """System instruction of a request."""
    system = request.get("systemInstruction", request.get("system_instruction"))
    if isinstance(system, dict):
        return "\n".join(p["text"] for p in rows(system.get("parts")) if _is_text(p))
    return words(system)


def _is_text(part: Json) -> bool:
    return isinstance(part.get("text"), str)


def contents_of(record: Json) -> list[Json] | None:
    """Contents of a request: a list, one content, or a bare prompt."""
    contents = record.get("contents")
    if isinstance(contents, str):
        return [{"role": "user", "parts": [{"text": contents}]}]
    if isinstance(contents, dict):
        return [contents]
    return rows(contents) if isinstance(contents, list) else None


class GeminiReader(LogReader):
    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._conversations = Conversations(self.new_run)
        self._run: str | None = None  # of single contents and response objects

    def read(self, line: int, record: Any) -> Iterable[Piece]:
        if isinstance(record, list):
            return self._array(line, record)
        if not isinstance(record, dict):
            return self.reject(line, "no content, request or response")
        if contents_of(record) is not None:
            return self._conversation(line, record, ("contents",))
        return self._single(line, record)

    def _array(self, line: int, items: list[Any]) -> list[Piece]:
        if items and all(isinstance(item, dict) and "parts" in item for item in items):
            return self._conversation(line, {"contents": items}, ())
        out: list[Piece] = []
        for index, item in enumerate(items):
            if isinstance(item, dict) and contents_of(item) is not None:
                out += self._conversation(line, item, (index, "contents"))
            elif isinstance(item, dict):
                out += self._single(self.place(line, index), item)
            else:
                self.reject(self.place(line, index), "no content, request or response")
        return out

    def _single(self, line: int, record: Json) -> Iterable[Piece]:
        if isinstance(record.get("candidates"), list):
            pieces, choices = response_pieces(record)
            if len(choices) > 1:
                self.ignored[OTHER_CHOICES] += len(choices) - 1
        elif isinstance(record.get("parts"), list):
            pieces = content_pieces(record)
        else:
            return self.reject(line, f"no contents, parts or candidates: {shown(record)}")
        self.used += 1
        self._run = self._run or self.new_run()
        return self.emit(pieces, self._run, line)

    def _conversation(self, line: int, record: Json, keys: tuple[Any, ...]) -> list[Piece]:
        """One conversation; where it only goes on with one seen before, its new end alone."""
        self.used += 1
        pieces: list[Piece] = []
        for index, content in enumerate(contents_of(record) or ()):
            place = self.place(line, *keys, index)
            for piece in content_pieces(content):
                piece.line = place
                pieces.append(piece)
        match = self._conversations.match(pieces, own=record.get("id"))
        for piece in match.new:
            piece.run = match.run
        return self.emit(match.new)


# -- sniffing -------------------------------------------------------------------------------------


def sniff(sample: Sample) -> float:
    records = sample.records
    if sample.document and isinstance(records[0], list):
        records = records[0][:64]
    if not records or not all(isinstance(r, dict) for r in records):
        return 0.0
    if any(not (FOREIGN - {"parts"}).isdisjoint(r) for r in records):
        return 0.0
    return 0.92 if all(_is_gemini(record) for record in records) else 0.0


def _is_gemini(record: Json) -> bool:
    contents = record.get("contents")
    if isinstance(contents, list) and contents:
        return all(_is_content(content) for content in contents[:16])
    if isinstance(record.get("candidates"), list):
        return True
    return _is_content(record)


def _is_content(content: Any) -> bool:
    """Parts without `type`: the AI SDK's UI messages have one."""
    if not isinstance(content, dict) or content.get("role") not in ("user", "model", "function"):
        return False
    parts = content.get("parts")
    return isinstance(parts, list) and all(
        isinstance(part, dict) and "type" not in part for part in parts
    )


FORMAT = Format(
    name="gemini_generate",
    title="Gemini generateContent",
    sniff=sniff,
    reader=GeminiReader,
    describes=(
        "Contents and candidates of the Gemini API: an array of contents, requests, or response "
        "objects. Contents alone hold neither usage nor times; function calls often have no id."
    ),
)
