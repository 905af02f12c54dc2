"""OpenAI chat completions: conversations, single messages, arrays, and completion objects.

Accepted: one conversation a line (`{"messages": […]}`, as of fine-tuning sets), one message a line,
a bare array of messages or of conversations, and `chat.completion` objects. Such logs hold no usage
and no times but for completion objects. A tool message has no error flag: what says that it is an
error (see `tool_messages`), or is flagged by an extra `is_error`, counts as failed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from loopaudit.formats.base import Format, Sample
from loopaudit.formats.conversations import Conversations
from loopaudit.formats.logreader import LogReader
from loopaudit.formats.shapes import (
    Json,
    arguments,
    dollars,
    name,
    output_of,
    rows,
    seconds,
    shown,
    table,
    text_of,
    user_kind,
    words,
)
from loopaudit.formats.tool_messages import status_of
from loopaudit.formats.usages import openai_usage
from loopaudit.model import (
    BoundaryPiece,
    CallPiece,
    Piece,
    ResponsePiece,
    ResultPiece,
)

ROLES = ("system", "developer", "user", "assistant", "tool", "function")
#: ids that mean "none": every item of a log has the same
NO_IDS = frozenset(("__fake_id__", "null", "none", "undefined"))
OTHER_CHOICES = "other choices (n > 1)"


def call_id(value: Any) -> str | None:
    """A tool-call id as written; None for a placeholder that tells nothing."""
    found = name(value)
    return None if found is None or found.lower() in NO_IDS else found


def message_pieces(message: Json) -> list[Piece]:
    """Pieces of one message, run and line still empty. System messages give none."""
    role = message.get("role")
    at = seconds(message.get("timestamp", message.get("created_at")))
    if role == "assistant":
        return [assistant_piece(message, at)]
    if role == "tool" or role == "function":
        output = output_of(message.get("content"))
        flag = message.get("is_error")
        status = status_of(output if flag is None else "Error:" if flag is True else None)
        key = call_id(message.get("tool_call_id")) if role == "tool" else None
        tool = name(message.get("name"))
        return [ResultPiece("", 0, key, output, at, status, tool)]
    if role == "user":
        text = text_of(message.get("content"))
        return [BoundaryPiece("", 0, user_kind(text), at, text)]
    return []


def assistant_piece(message: Json, at: float | None = None) -> ResponsePiece:
    """An assistant message as a response."""
    text = text_of(message.get("content"))
    if text is None:
        text = words(message.get("refusal"))
    thinking = message.get("reasoning_content", message.get("reasoning"))
    return ResponsePiece(
        "",
        0,
        at=at,
        model=name(message.get("model")),
        text=text,
        thinking_chars=len(thinking) if isinstance(thinking, str) else 0,
        calls=tuple(_calls(message)),
        usage=openai_usage(message.get("usage")),
        finish=name(message.get("finish_reason")),
    )


def _calls(message: Json) -> Iterable[CallPiece]:
    for item in rows(message.get("tool_calls")):
        body = item.get("function")
        if not isinstance(body, dict):
            body = table(item, "custom")
        given = body.get("arguments", body.get("input"))
        yield CallPiece(
            call_id(item.get("id")), name(body.get("name")) or "unknown", arguments(given)
        )
    legacy = message.get("function_call")
    if isinstance(legacy, dict) and name(legacy.get("name")):
        yield CallPiece(None, str(legacy["name"]), arguments(legacy.get("arguments")))


def completion_pieces(body: Json) -> list[ResponsePiece]:
    """The choices of a completion object, as alternatives of one response: the first is the one
    taken unless the next request shows otherwise. Usage and cost stand on the first."""
    choices = rows(body.get("choices"))
    found = [_choice(body, choice) for choice in choices] or [_choice(body, {})]
    found[0].usage = openai_usage(body.get("usage"))
    cost = table(body, "usage").get("cost")
    if cost is None:
        cost = table(body, "_hidden_params").get("response_cost")
    found[0].cost = dollars(cost)
    return found


def _choice(body: Json, choice: Json) -> ResponsePiece:
    piece = assistant_piece(table(choice, "message"))
    if piece.text is None:
        piece.text = words(choice.get("text"))  # the older completions endpoint
    piece.id = call_id(body.get("id"))
    piece.at = seconds(body.get("created"))
    piece.model = name(body.get("model"))
    piece.finish = name(choice.get("finish_reason"))
    piece.service = name(body.get("service_tier"))
    return piece


class ChatReader(LogReader):
    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._lines: dict[str | None, _Thread] = {}  # one message a line: threads by their id
        self._conversations = Conversations(self.new_run)
        self._completions: str | None = None

    def read(self, line: int, record: Any) -> Iterable[Piece]:
        if isinstance(record, list):
            return self._array(line, record)
        if not isinstance(record, dict):
            return self.reject(line, "not a message or conversation")
        if isinstance(record.get("messages"), list):
            return self._conversation(line, record, ("messages",))
        if isinstance(record.get("choices"), list):
            return self._completion(line, record)
        if isinstance(record.get("role"), str):
            return self._message(line, record)
        return self.reject(line, "neither messages, choices nor a role")

    def _array(self, line: int, items: list[Any]) -> Iterable[Piece]:
        if any(isinstance(item, dict) and "role" in item for item in items):
            return self._conversation(line, {"messages": items}, ())
        out: list[Piece] = []
        for index, item in enumerate(items):
            place = self.place(line, index)
            if isinstance(item, dict) and isinstance(item.get("messages"), list):
                out += self._conversation(line, item, (index, "messages"))
            elif isinstance(item, dict) and isinstance(item.get("choices"), list):
                out += self._completion(place, item)
            else:
                self.reject(place, "neither messages nor choices")
        return out

    def _conversation(self, line: int, record: Json, keys: tuple[Any, ...]) -> list[Piece]:
        """One conversation; where it only goes on with one seen before, its new end alone."""
        self.used += 1
        pieces = self.messages(line, record["messages"], keys, ROLES, message_pieces)
        own = record.get("conversation_id", record.get("id"))
        match = self._conversations.match(pieces, own=own)
        for piece in match.new:
            piece.run = match.run
        out = self.emit(match.new)
        for index, choice in enumerate(rows(record.get("choices"))):
            if index == 0:
                out += self._answer(line, match.run, {**record, "choices": [choice]})
            else:
                self.ignored[OTHER_CHOICES] += 1
        return out

    def _completion(self, line: int, record: Json) -> list[Piece]:
        """A completion without its request: all of a file are taken for one run."""
        self.used += 1
        if self._completions is None:
            self._completions = self.new_run()
        return self._answer(line, self._completions, record)

    def _answer(self, line: int, run: str, record: Json) -> list[Piece]:
        first, *others = completion_pieces(record)
        if others:
            self.ignored[OTHER_CHOICES] += len(others)
        return self.emit([first], run, line)

    def _message(self, line: int, message: Json) -> Iterable[Piece]:
        role = message["role"]
        if role not in ROLES:
            return self.reject(line, f"no chat message: role {shown(role)}")
        self.used += 1
        key = name(message.get("conversation_id", message.get("session_id")))
        thread = self._lines.get(key)
        if thread is None or (key is None and thread.ends_before(message)):
            thread = self._lines[key] = _Thread(self.new_run(key))
        pieces = message_pieces(message)
        thread.note(message, pieces)
        return self.emit(pieces, thread.run, line)


class _Thread:
    """The conversation that single messages belong to, and whether it has come to its end."""

    def __init__(self, run: str) -> None:
        self.run = run
        self._system: str | None = None
        self._answered = False  # the last message was an answer without calls
        self._begun = False

    def ends_before(self, message: Json) -> bool:
        """A system message after a final answer, or the first one again, starts a new thread."""
        if message["role"] not in ("system", "developer") or not self._begun:
            return False
        text = text_of(message.get("content"))
        return self._answered or (text is not None and text == self._system)

    def note(self, message: Json, pieces: list[Piece]) -> None:
        if message["role"] in ("system", "developer"):
            if not self._begun and self._system is None:
                self._system = text_of(message.get("content"))
            return
        self._begun = True
        last = pieces[-1] if pieces else None
        self._answered = isinstance(last, ResponsePiece) and not last.calls


# -- sniffing -------------------------------------------------------------------------------------

#: keys that mark the conversations of other programs, which have or need a reader of their own
FOREIGN = frozenset(
    (
        *("info", "trajectory", "trajectory_format", "traj", "simulations", "termination_reason"),
        *("environment", "instance_id", "schema_version", "run_type", "trace_id", "observations"),
        *(
            "sessionId",
            "sessionID",
            "session_start",
            "projectHash",
            "uuid",
            "parentUuid",
            "message",
        ),
        *("stepNumber", "parts", "tool_responses", "models_usage", "mistake_step", "payload"),
        *("is_demo", "messages_display", "modelID", "messageID", "message"),
        *("request", "response", "kwargs"),
    )
)
_OTHER_PARTS = frozenset(
    (
        *("tool-call", "tool-result", "tool_use", "tool_result", "thinking", "input_text"),
        *("output_text", "reasoning", "redacted_thinking", "server_tool_use"),
    )
)


def sniff(sample: Sample) -> float:
    records = sample.records
    if not records or any(isinstance(r, dict) and not FOREIGN.isdisjoint(r) for r in records):
        return 0.2 if any(_is_conversation(r) for r in records) else 0.0
    if sample.document and isinstance(records[0], list):
        records = records[0][:64]
        if not all(isinstance(r, dict) and FOREIGN.isdisjoint(r) for r in records):
            return 0.0
    if not records:
        return 0.0
    if all(_is_conversation(r) for r in records):
        score = max(_messages(r["messages"] if isinstance(r, dict) else r) for r in records[:8])
        return 0.6 if score == 0.45 else score
    if all(_is_completion(r) for r in records):
        return 0.9
    return _messages(records)


def _is_conversation(record: Any) -> bool:
    messages = record.get("messages") if isinstance(record, dict) else record
    return isinstance(messages, list) and bool(messages) and _messages(messages[:8]) > 0


def _is_completion(record: Any) -> bool:
    return (
        isinstance(record, dict)
        and isinstance(record.get("choices"), list)
        and (str(record.get("object", "")).startswith("chat.completion") or "usage" in record)
    )


def _messages(messages: list[Any]) -> float:
    """0.9 where tools are called the OpenAI way, 0.45 for plain talk, 0 for anything else."""
    tools = False
    for message in messages[:64]:
        if not isinstance(message, dict) or message.get("role") not in ROLES:
            return 0.0
        if not FOREIGN.isdisjoint(message):
            return 0.0
        content = message.get("content")
        if not (content is None or isinstance(content, str | list | dict)):
            return 0.0
        for part in rows(content):
            kind = part.get("type")
            if isinstance(kind, str) and kind in _OTHER_PARTS:
                return 0.0
        calls = "tool_calls" in message or "function_call" in message
        if "content" not in message and not calls:
            return 0.0
        tools |= calls or message["role"] in ("tool", "function", "developer")
    return 0.9 if tools else 0.45


FORMAT = Format(
    name="openai_chat",
    title="OpenAI chat completions",
    sniff=sniff,
    reader=ChatReader,
    describes=(
        "Chat messages in the OpenAI spelling, as fine-tuning sets and many agents keep them: one "
        "conversation a line, one message a line (a new system message after a final answer "
        "starts a new run), a JSON array, or completion objects. Messages alone tell neither "
        "usage nor times, and results have no error flag."
    ),
)
