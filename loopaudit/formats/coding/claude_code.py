"""Claude Code session logs: main threads, sub-agents, embedded sub-agent messages, headless output.

One response stands in several lines, one for each content block, each with the same `message.id`
and usage; blocks of one response may be parted by results of its own calls. Each line becomes a
piece of its own and ingest puts the pieces together. See `claude_code_threads` for run ids and
`claude_code_text` for what a person wrote.

Each tool result stands twice in a line, in `message.content` and in `toolUseResult` (40 % of all
bytes). Cutting the second copy off before parsing was tried and dropped: orjson 3.13 reads 700 MB/s
here, and making sure that nothing is lost cost 15 to 20 % more than it saved. So were typed objects
of msgspec: they parse a line in 5 to 15 % less time, 1 % of the whole. Compiled with mypyc (reader,
ingest, detectors, masks, with constructors written out) reading and replay took 25 % less CPU time:
the rest is spent in the parser, in `re` and in hashing, which are compiled already.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from loopaudit.formats.base import Format, Reader, Sample
from loopaudit.formats.coding.claude_code_events import (
    attached,
    attempt,
    compaction,
    given_up,
    stop_hooks,
)
from loopaudit.formats.coding.claude_code_messages import Place, add_response, add_result
from loopaudit.formats.coding.claude_code_text import (
    CONTINUED,
    INTERRUPT,
    block_text,
    result_text,
    user_text,
)
from loopaudit.formats.coding.claude_code_threads import Threads
from loopaudit.formats.coding.claude_code_usage import UsageReader
from loopaudit.formats.shapes import Json, seconds, words
from loopaudit.model import BoundaryKind, Piece, RunPiece

SYNTHETIC = "<synthetic>"  # the model of messages that the program made itself
#: lines that hold nothing that a guard, a bill or a reader of the report could use
_IGNORED = frozenset(
    (
        *("summary", "file-history-snapshot", "queue-operation", "pr-link", "mode", "tag"),
        *("permission-mode", "last-prompt", "ai-title", "custom-title", "agent-name"),
        *("atis-latch", "bridge-session", "frame-link", "started", "relocated", "worktree-state"),
        *("stream_event", "rate_limit_event", "tool_progress", "tool_use_summary", "auth_status"),
        *("agent-setting", "agent-color", "content-replacement"),
    )
)
_OTHERS = frozenset(("task-notification", "hook", "channel", "agent", "teammate", "coordinator"))
_ATTEMPTS = frozenset(("api_error", "error", "api_retry"))
_EVENTS = _ATTEMPTS | {"compact_boundary", "microcompact_boundary", "init"}
_NAMES = 200  # names of ignored kinds that are told apart


class ClaudeCodeReader(Reader):
    """Reads one JSONL file (or the output of `claude -p --output-format stream-json`)."""

    #: outputs of 1-8 tokens without a stop reason are written before the stream ends
    placeholder_outputs = True
    streamed_calls = True
    flags_failures = True

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._threads = Threads(path)
        self._usages = UsageReader()
        self._calls = self._results = 0
        self._seen: set[str] = set()  # uuids of lines that became boundaries
        self._hooks: dict[str, list[str]] = {}  # hook texts since the last response, by run
        self._compacted: set[str] = set()  # runs compacted since their last response
        self._handlers = {
            "assistant": self._assistant,
            "user": self._user,
            "system": self._system,
            "progress": self._progress,
            "attachment": self._attachment,
            "result": self._outcome,
        }

    def feed(self, line: int, record: Any) -> Iterable[Piece]:
        if type(record) is not dict:
            return self._reject(line, "not a JSON object")
        kind = record.get("type")
        if type(kind) is str:
            handler = self._handlers.get(kind)
            if handler is not None:
                return handler(line, record)
            return self._ignore(kind if kind in _IGNORED else f"unknown type {kind[:40]}")
        message = record.get("message")
        role = message.get("role") if type(message) is dict else None
        if role == "assistant":  # logs cut down by other programs leave the type out
            return self._assistant(line, record)
        if role == "user":
            return self._user(line, record)
        if "agentType" in record:
            return self._ignore("sub-agent metadata (read with its transcript)")
        return self._reject(line, "no record type")

    def end(self) -> Iterable[Piece]:
        if self._calls > 1 and not self._results:
            self.missing.add("results")
        return self._threads.release()

    def _place(self, line: int, record: Json) -> Place:
        at = seconds(record.get("timestamp"))
        pieces: list[Piece] = []
        return Place(line, self._threads.run(line, record, at, pieces), at, pieces)

    # -- messages ---------------------------------------------------------------------------------

    def _assistant(self, line: int, record: Json) -> Iterable[Piece]:
        message = record.get("message")
        if type(message) is not dict:
            return self._reject(line, "an assistant line without message")
        place = self._place(line, record)
        if record.get("isApiErrorMessage") is True or message.get("model") == SYNTHETIC:
            self._made_up(place, record, message)
            return self._threads.hold(record, place.pieces)
        if not self._threads.started:
            place.pieces = self._threads.begin(record, place.run) + place.pieces
        self._response(place, record, message)
        return place.pieces

    def _response(self, place: Place, record: Json, message: Json) -> None:
        added = add_response(place, record, message, self._threads, self._usages)
        if added is None:
            self._reject(place.line, "a message without content and usage")
            return
        self.used += 1
        self._calls += added[0]
        self._results += added[1]
        if self._hooks:
            self._hooks.pop(place.run, None)
        if self._compacted:
            self._compacted.discard(place.run)

    def _made_up(self, place: Place, record: Json, message: Json) -> None:
        """A message that no model wrote: an API call given up, an interruption, a placeholder."""
        text = result_text(message.get("content"))
        text = text if type(text) is str else ""
        if record.get("isApiErrorMessage") is True:
            self.used += 1
            place.pieces.append(given_up(place.line, place.run, place.at, record, text))
        elif text.startswith(INTERRUPT):
            self.used += 1
            place.boundary(BoundaryKind.INTERRUPT, text)
        else:
            self._ignore("message made by the program")

    def _user(self, line: int, record: Json) -> Iterable[Piece]:
        message = record.get("message")
        if type(message) is not dict:
            return self._reject(line, "a user line without message")
        place = self._place(line, record)
        self._said(place, record, message)
        return place.pieces if self._threads.started else self._threads.hold(record, place.pieces)

    def _said(self, place: Place, record: Json, message: Json) -> None:
        """Add the results and texts of a message of the role "user"."""
        content = message.get("content")
        texts: list[str] = []
        answers = 0
        if type(content) is list:
            for block in content:
                if type(block) is dict and block.get("type") == "tool_result":
                    add_result(place, record, block, self._threads)
                    answers += 1
                elif type(block) is dict or type(block) is str:
                    texts.append(block_text(block))
        elif type(content) is str:
            texts.append(content)
        else:
            self._reject(place.line, "a user line without content")
            return
        if not answers and record.get("toolUseResult") is not None:
            self._reject(place.line, "a tool result without its block")
            return
        self.used += 1
        self._results += answers
        if texts and not self._repeated(record):
            self._texts(place, record, texts)

    def _texts(self, place: Place, record: Json, texts: list[str]) -> None:
        if record.get("isCompactSummary") or texts[0].startswith(CONTINUED):
            if place.run not in self._compacted:  # old logs: the summary is the only trace
                self._compacted.add(place.run)
                place.boundary(BoundaryKind.COMPACTION)
            return
        origin = record.get("origin")
        meta = bool(
            record.get("isMeta")
            or record.get("isVisibleInTranscriptOnly")
            or record.get("isSynthetic")
            or record.get("sourceToolUseID")
            or (type(origin) is dict and words(origin.get("kind")) in _OTHERS)
        )
        for text in texts:
            part = user_text(text, meta)
            if part is not None:
                self._boundary(place, *part)

    def _boundary(self, place: Place, kind: BoundaryKind, text: str) -> None:
        if kind is BoundaryKind.USER:
            self._threads.prompt(place.line, place.run, text, place.pieces)
            if "/" in place.run:
                kind = BoundaryKind.REMINDER  # to a sub-agent its parent speaks, no person
        elif kind is BoundaryKind.HOOK and self._known_hook(place.run, text):
            return
        place.boundary(kind, text)

    def _repeated(self, record: Json) -> bool:
        """Whether the line stands in the file already (replayed history)."""
        uuid = words(record.get("uuid"))
        if uuid is None or uuid not in self._seen:
            if uuid is not None:
                self._seen.add(uuid)
            return False
        return True

    def _known_hook(self, run: str, text: str) -> bool:
        """The words of one hook stand in up to three lines: feedback, summary, attachment."""
        known = self._hooks.setdefault(run, [])
        if any(text in other or other in text for other in known):
            return True
        known.append(text)
        return False

    # -- what else happens ------------------------------------------------------------------------

    def _system(self, line: int, record: Json) -> Iterable[Piece]:
        subtype = words(record.get("subtype")) or "?"
        said = stop_hooks(record) if subtype == "stop_hook_summary" else None
        if not (said or subtype in _EVENTS):
            return self._ignore(f"system/{subtype[:40]}")
        if subtype not in _ATTEMPTS and self._repeated(record):
            return self._ignore("repeated line")
        place = self._place(line, record)
        if said:
            self._boundary(place, BoundaryKind.HOOK, said)
        elif subtype in _ATTEMPTS:
            gave_up = subtype == "error"
            place.pieces.append(attempt(line, place.run, place.at, record, gave_up))
        elif subtype == "init":
            version, model = words(record.get("claude_code_version")), words(record.get("model"))
            place.pieces.append(RunPiece(place.run, line, version=version, model=model))
        else:
            # a micro-compaction clears old tool results: the model has forgotten them just as well
            self._compacted.add(place.run)
            place.boundary(BoundaryKind.COMPACTION, compaction(record))
        self.used += 1
        return self._threads.hold(record, place.pieces)

    def _attachment(self, line: int, record: Json) -> Iterable[Piece]:
        facts = record.get("attachment")
        if type(facts) is not dict:
            return self._reject(line, "an attachment line without attachment")
        said = attached(facts)
        if said is None or self._repeated(record):
            return self._ignore(f"attachment/{(words(facts.get('type')) or '?')[:40]}")
        kind, text = said
        place = self._place(line, record)
        if kind is BoundaryKind.USER:
            kind, text = user_text(text, False) or said
        self._boundary(place, kind, text)
        self.used += 1
        return self._threads.hold(record, place.pieces)

    def _progress(self, line: int, record: Json) -> Iterable[Piece]:
        """Lines that embed a message of a sub-agent; others only repeat what a tool prints."""
        data = record.get("data")
        data = data if type(data) is dict else {}
        envelope = data.get("message")
        message = envelope.get("message") if type(envelope) is dict else None
        if type(envelope) is not dict or type(message) is not dict:
            return self._ignore(f"progress/{(words(data.get('type')) or '?')[:40]}")
        agent = words(data.get("agentId"))
        if not agent:
            return self._reject(line, "a sub-agent message without agent id")
        at = seconds(envelope.get("timestamp") or record.get("timestamp"))
        place = Place(line, "", at)
        place.run = self._threads.embedded(line, record, data, agent, at, place.pieces)
        if "user" in (envelope.get("type"), message.get("role")):
            self._said(place, envelope, message)
        elif message.get("model") == SYNTHETIC or envelope.get("isApiErrorMessage") is True:
            self._made_up(place, envelope, message)
        else:
            self._response(place, envelope, message)
        return place.pieces

    def _outcome(self, line: int, record: Json) -> Iterable[Piece]:
        """The last line of headless output; lines of workflow journals have this type, too."""
        subtype = words(record.get("subtype"))
        if subtype is None:
            return self._ignore("result")
        place = self._place(line, record)
        source = "result line of headless output"
        place.pieces.append(RunPiece(place.run, line, outcome=subtype, outcome_source=source))
        if subtype.startswith("error_max_"):
            place.boundary(BoundaryKind.LIMIT, subtype)
        self.used += 1
        return self._threads.hold(record, place.pieces)

    def _ignore(self, kind: str) -> tuple[Piece, ...]:
        if len(self.ignored) >= _NAMES and kind not in self.ignored:
            kind = "other unknown types"
        self.ignored[kind] += 1
        return ()

    def _reject(self, line: int, reason: str) -> tuple[Piece, ...]:
        self.rejected.append((line, reason))
        return ()


def sniff(sample: Sample) -> float:
    """How sure the head of a log is Claude Code's: 0.6 and more where a message or event of a
    session stands in it, up to 0.8 for heads of summaries, snapshots and other minor lines."""
    sure = minor = 0
    for record in sample.records:
        if type(record) is not dict:
            continue
        kind = record.get("type")
        message = record.get("message")
        session = record.get("sessionId") or record.get("session_id")
        if type(message) is dict and session:
            if "parts" in message:
                return 0.0  # Qwen Code writes the same envelope
            sure += kind in ("user", "assistant", None)
        elif session and kind in ("system", "attachment", "progress"):
            sure += "subtype" in record or "attachment" in record or "data" in record
        elif _minor(record, kind, session):
            minor += 1
    share = (sure + minor) / (len(sample.records) or 1)
    return round(min(0.99, 0.6 + 0.4 * share if sure else 0.8 * share), 3)


def _minor(record: Json, kind: Any, session: Any) -> bool:
    if kind == "summary":
        return "leafUuid" in record
    if kind == "file-history-snapshot":
        return "snapshot" in record
    if kind in ("started", "result"):
        return ("agentId" in record and "key" in record) or (bool(session) and "subtype" in record)
    if "agentType" in record:
        return "toolUseId" in record or "spawnDepth" in record
    return bool(session) and type(kind) is str and kind in _IGNORED


FORMAT = Format(
    name="claude_code",
    title="Claude Code sessions",
    sniff=sniff,
    reader=ClaudeCodeReader,
    describes=(
        "JSONL files under ~/.claude/projects/<folder>/<session>.jsonl, sub-agents in "
        "agent-*.jsonl beside or below them, and the output of `claude -p --output-format "
        "stream-json`. Versions 2.0.7x-2.1.4x write a placeholder of 1-8 output tokens for most "
        "responses: such outputs are lower bounds. Tool results carry no exit code unless they "
        "failed. The cost of a compaction is recorded only where it has a transcript of its own."
    ),
)
