"""Codex rollouts: wrapped lines `{timestamp, type, payload}` and the older bare items.

One file is one thread and one run, named by `session_meta.id` (`session_id` is shared by a tree of
agents). See `codex_steps` for how responses are cut, `codex_usage` for counters, copies and forks,
`codex_text` for injected text and outputs. `event_msg` lines repeat what `response_item` lines say;
of those only what the items lack is read: user messages, usage, failures, how calls ended.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from loopaudit.formats.base import Format, Reader, Sample
from loopaudit.formats.coding.codex_calls import answer_of, call_of, own_tool
from loopaudit.formats.coding.codex_events import (
    Ended,
    ended_call,
    failed_attempt,
    spawned_agent,
    thread_facts,
)
from loopaudit.formats.coding.codex_steps import Open, Steps
from loopaudit.formats.coding.codex_text import joined, user_text
from loopaudit.formats.coding.codex_usage import Counters, Lineage, Told
from loopaudit.formats.logreader import stem
from loopaudit.formats.shapes import Json, seconds, table, words
from loopaudit.model import BoundaryKind, BoundaryPiece, Piece, RunPiece

_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)
_NAMES = 200  # names of ignored kinds that are told apart
_WAITING = 256  # ends of calls that wait for their output
#: turn_aborted reasons that are no interruption
_LIMITS = frozenset(("budget_limited", "max_turns", "token_budget"))
_WRAPPED = frozenset(
    (
        *("session_meta", "turn_context", "response_item", "event_msg", "compacted"),
        *("token_usage_record", "world_state", "inter_agent_communication"),
        *("inter_agent_communication_metadata", "realtime_item", "retained_context"),
    )
)
_BARE = frozenset(
    (
        *("message", "reasoning", "function_call", "function_call_output", "local_shell_call"),
        *("custom_tool_call", "custom_tool_call_output", "web_search_call"),
    )
)
Handler = Callable[[int, float | None, Json, list[Piece]], str | None]


class CodexReader(Reader):
    """Reads one rollout. Handlers answer with the name under which a line is ignored, or None."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        found = _UUID.findall(stem(path))
        self.run = found[-1].lower() if found else stem(path)
        self._steps = Steps(self.run)
        self._counters = Counters()
        self._lineage = Lineage(self.run)
        self._named = False  # the first session_meta was read
        self._child = False  # a sub-agent's thread: its parent speaks, no person
        self._started = False  # an item or a usage event was read
        self._prompted = False
        self._provider: str | None = None
        self._said: list[str] = []  # user messages since the last model item, from items
        self._echo: str | None = None  # the same, from the event beside them
        self._failure: str | None = None  # message of the last failure since the last item
        self._ends: dict[str, Ended] = {}
        self._calls = self._results = 0
        self._lines: dict[str, Handler] = {
            "session_meta": self._meta,
            "turn_context": self._context,
            "response_item": self._item,
            "event_msg": self._event,
            "compacted": self._compacted,
            "token_usage_record": self._record,
        }
        self._items: dict[str, Handler] = {
            "message": self._message,
            "reasoning": self._reasoning,
            "function_call": self._call,
            "custom_tool_call": self._call,
            "tool_call": self._call,
            "local_shell_call": self._call,
            "tool_search_call": self._call,
            "web_search_call": self._own_tool,
            "image_generation_call": self._own_tool,
            "function_call_output": self._output,
            "custom_tool_call_output": self._output,
            "local_shell_call_output": self._output,
            "tool_search_output": self._output,
            "tool_result": self._output,
            "agent_message": self._relayed,
        }
        self._events: dict[str, Handler] = {
            "token_count": self._token_count,
            "user_message": self._user_message,
            "turn_aborted": self._aborted,
            "task_started": self._turn,
            "task_complete": self._turn,
            "context_compacted": self._compacted,
            "error": self._failed,
            "stream_error": self._failed,
            "thread_settings_applied": self._settings,
            "item_completed": self._ended,
            "mcp_tool_call_end": self._ended,
            "exec_command_end": self._ended,
            "patch_apply_end": self._ended,
            "dynamic_tool_call_response": self._ended,
            "collab_agent_spawn_end": self._spawned,
            "sub_agent_activity": self._spawned,
        }

    def feed(self, line: int, record: Any) -> Iterable[Piece]:
        if type(record) is not dict:
            self.rejected.append((line, "not a JSON object"))
            return ()
        kind, payload = record.get("type"), record.get("payload")
        at = seconds(record.get("timestamp"))
        ready: list[Piece] = []
        if type(kind) is str and type(payload) is dict:
            handler = self._lines.get(kind)
            ignored = handler(line, at, payload, ready) if handler else _unknown(kind, _WRAPPED)
        elif type(kind) is str and kind in self._items and "payload" not in record:
            ignored = self._items[kind](line, at, record, ready)
        elif kind is None and "id" in record and "timestamp" in record:
            ignored = self._meta(line, at, record, ready)  # first line of a bare log
        elif "record_type" in record:
            ignored = f"record_type {str(record['record_type'])[:40]}"
        else:
            self.rejected.append((line, "no rollout line"))
            return ()
        if ignored is None:
            self.used += 1
        else:
            if len(self.ignored) >= _NAMES and ignored not in self.ignored:
                ignored = "other unknown types"
            self.ignored[ignored] += 1
        return ready

    def end(self) -> Iterable[Piece]:
        ready: list[Piece] = []
        self._steps.end(ready)
        if self._calls > 1 and not self._results:
            self.missing.add("results")
        return ready

    # -- the thread -------------------------------------------------------------------------------

    def _meta(self, line: int, at: float | None, payload: Json, ready: list[Piece]) -> str | None:
        facts = thread_facts(payload)
        self._steps.close()
        if self._named:
            if facts.id and facts.id != self.run:
                if not self._started:
                    self._lineage.embedded(facts.id)
                return "session_meta of another thread (copied history)"
            return "session_meta repeated"
        self._named = True
        if facts.id:
            self.run = self._steps.run = facts.id
        self._child = facts.parent is not None
        started = seconds(payload.get("timestamp"))
        self._lineage = Lineage(self.run, facts.forked_from or facts.parent, at or started)
        self._provider = words(payload.get("model_provider"))
        self._steps.service = self._provider if self._provider != "openai" else None
        self._steps.model = words(payload.get("model")) or self._steps.model
        ready.append(
            RunPiece(
                self.run,
                line,
                session=facts.session,
                parent=facts.parent,
                agent=facts.agent,
                project=words(payload.get("cwd")),
                version=words(payload.get("cli_version")),
                forked_from=facts.forked_from,
                at=started if started is not None else at,
            )
        )
        return None

    def _context(self, line: int, at: float | None, payload: Json, ready: list[Piece]) -> None:
        """Holds from here on. Some versions write it after every call: it starts no turn."""
        self._steps.model = words(payload.get("model")) or self._steps.model

    def _settings(self, line: int, at: float | None, payload: Json, ready: list[Piece]) -> None:
        settings = table(payload, "thread_settings")
        self._steps.model = words(settings.get("model")) or self._steps.model
        tier = words(settings.get("service_tier"))
        provider = words(settings.get("model_provider_id")) or self._provider
        if tier and tier not in ("default", "auto", "standard"):
            self._steps.service = tier
        else:
            self._steps.service = provider if provider != "openai" else None

    def _turn(self, line: int, at: float | None, payload: Json, ready: list[Piece]) -> str | None:
        self._steps.close()
        if type(payload.get("error")) is dict:
            return self._failed(line, at, payload, ready)
        return f"event_msg/{payload['type']}"

    # -- items ------------------------------------------------------------------------------------

    def _item(self, line: int, at: float | None, payload: Json, ready: list[Piece]) -> str | None:
        kind = payload.get("type")
        handler = self._items.get(kind) if type(kind) is str else None
        if handler is None:
            return f"response_item/{kind[:40] if type(kind) is str else '?'}"
        return handler(line, at, payload, ready)

    def _message(self, line: int, at: float | None, item: Json, ready: list[Piece]) -> str | None:
        role = item.get("role")
        if role == "assistant":
            text = joined(item.get("content"))
            step = self._begun(line, at, item, ready)
            if type(text) is str and text:
                step.texts.append(text)
            return None
        if role != "user":
            return f"message of the role {str(role)[:20]}"
        content = item.get("content")
        for part in content if type(content) is list else [content]:
            text = joined(part)
            if type(text) is not str or not text:
                continue
            if self._echo is not None and text in self._echo:
                continue  # the event told of it
            self._said.append(text)
            self._user(line, at, text, ready)
        return None

    def _reasoning(self, line: int, at: float | None, item: Json, ready: list[Piece]) -> None:
        step = self._begun(line, at, item, ready)
        thought = joined(item.get("summary"))
        step.thinking += len(thought) if type(thought) is str else 0

    def _call(self, line: int, at: float | None, item: Json, ready: list[Piece]) -> None:
        self._begun(line, at, item, ready).calls.append(call_of(item, line, at))
        self._calls += 1

    def _own_tool(self, line: int, at: float | None, item: Json, ready: list[Piece]) -> None:
        step = self._begun(line, at, item, ready)
        call, answer = own_tool(item, line, at, self.run)
        step.calls.append(call)
        if call.tool == "web_search":
            step.searches += table(item, "action").get("type") in (None, "search")
        self._steps.beside(answer, ready)

    def _output(self, line: int, at: float | None, item: Json, ready: list[Piece]) -> None:
        self._results += 1
        call = words(item.get("call_id"))
        ended = self._ends.pop(call, None) if call else None
        self._steps.result(answer_of(item, line, at, self.run, ended), ready)

    def _begun(self, line: int, at: float | None, item: Json, ready: list[Piece]) -> Open:
        """The step of a model item."""
        self._started = True
        self._failure = self._echo = None
        self._said.clear()
        step = self._steps.item(line, at, ready)
        if step.item is None:
            ident = words(item.get("call_id")) or words(item.get("id"))
            step.item = f"{self._lineage.name}:{ident}" if ident else None
        return step

    # -- usage ------------------------------------------------------------------------------------

    def _token_count(
        self, line: int, at: float | None, payload: Json, ready: list[Piece]
    ) -> str | None:
        info = table(payload, "info")
        if not self._counters.tells(info):
            return "token_count without figures"
        if self._lineage.look(at, info, self._counters):
            ready.append(RunPiece(self.run, line, forked_from=self._lineage.name))
        told = self._counters.token_count(info)
        if told is None:
            return "token_count repeated"
        self._usage(line, at, told, words(info.get("model")), ready)
        return None

    def _record(self, line: int, at: float | None, payload: Json, ready: list[Piece]) -> str | None:
        told = self._counters.record(payload)
        if told is None:
            return "token_usage_record beside token_count"
        self._usage(line, at, told, words(payload.get("model")), ready)
        return None

    def _usage(
        self, line: int, at: float | None, told: Told, model: str | None, ready: list[Piece]
    ) -> None:
        self._started = True
        if model:
            self._steps.model = model
        ident = f"{self._lineage.name}:{told.key}" if told.key else None
        self._steps.told(line, at, told.usage, ident, ready)

    # -- what stands between ----------------------------------------------------------------------

    def _event(self, line: int, at: float | None, payload: Json, ready: list[Piece]) -> str | None:
        kind = payload.get("type")
        handler = self._events.get(kind) if type(kind) is str else None
        if handler is None:
            return f"event_msg/{kind[:40] if type(kind) is str else '?'}"
        return handler(line, at, payload, ready)

    def _user_message(
        self, line: int, at: float | None, payload: Json, ready: list[Piece]
    ) -> str | None:
        text = words(payload.get("message"))
        if not text or payload.get("kind") not in (None, "plain"):
            return "event_msg/user_message injected"
        if any(said in text for said in self._said):
            return "event_msg/user_message beside its item"
        self._echo = text
        self._user(line, at, text, ready)
        return None

    def _user(self, line: int, at: float | None, text: str, ready: list[Piece]) -> None:
        part = user_text(text)
        if part is None:
            return
        kind, text = part
        if kind is BoundaryKind.USER:
            if not self._prompted:
                self._prompted = True
                ready.append(RunPiece(self.run, line, prompt=text))
            if self._child:
                kind = BoundaryKind.REMINDER
        self._steps.boundary(BoundaryPiece(self.run, line, kind, at, text), ready)

    def _relayed(self, line: int, at: float | None, item: Json, ready: list[Piece]) -> None:
        """A message from another agent."""
        text = words(joined(item.get("content")))
        piece = BoundaryPiece(self.run, line, BoundaryKind.REMINDER, at, text)
        self._steps.boundary(piece, ready)

    def _aborted(self, line: int, at: float | None, payload: Json, ready: list[Piece]) -> None:
        reason = words(payload.get("reason")) or "turn aborted"
        kind = BoundaryKind.LIMIT if reason in _LIMITS else BoundaryKind.INTERRUPT
        self._steps.boundary(BoundaryPiece(self.run, line, kind, at, reason), ready)

    def _compacted(
        self, line: int, at: float | None, payload: Json, ready: list[Piece]
    ) -> str | None:
        text = words(payload.get("message")) or None
        piece = BoundaryPiece(self.run, line, BoundaryKind.COMPACTION, at, text)
        return None if self._steps.compacted(piece, ready) else "compaction told twice"

    def _failed(self, line: int, at: float | None, payload: Json, ready: list[Piece]) -> str | None:
        gave_up = payload.get("type") != "stream_error"
        piece = failed_attempt(line, self.run, at, payload, gave_up)
        if gave_up and piece.message is not None and piece.message == self._failure:
            return "failure told twice"
        self._failure = piece.message if gave_up else None
        self._steps.close()
        self._steps.beside(piece, ready)
        return None

    def _ended(self, line: int, at: float | None, payload: Json, ready: list[Piece]) -> str | None:
        kind = str(payload["type"])
        if kind == "item_completed":
            agent = spawned_agent(kind, payload, self.run, line)
            if agent is not None:
                ready.append(agent)
                return None
        told = ended_call(kind, payload)
        if told is None or not told[0]:
            return f"event_msg/{kind}"
        self._ends[told[0]] = told[1]
        if len(self._ends) > _WAITING:
            del self._ends[next(iter(self._ends))]
        return None

    def _spawned(
        self, line: int, at: float | None, payload: Json, ready: list[Piece]
    ) -> str | None:
        kind = str(payload["type"])
        agent = spawned_agent(kind, payload, self.run, line)
        if agent is None:
            return f"event_msg/{kind}"
        ready.append(agent)
        return None


def _unknown(kind: str, known: frozenset[str]) -> str:
    return kind if kind in known else f"unknown type {kind[:40]}"


def sniff(sample: Sample) -> float:
    """How sure the head of a log is a rollout: wrapped lines, or the head of a bare log with the
    items that follow it. Items alone belong to the Responses API, too: those are not claimed."""
    wrapped = bare = states = 0
    header = False
    for place, record in enumerate(sample.records):
        if type(record) is not dict:
            continue
        kind = record.get("type")
        if type(kind) is str and type(record.get("payload")) is dict:
            wrapped += kind in _WRAPPED
        elif record.get("record_type") == "state":
            states += 1
        elif type(kind) is str and kind in _BARE:
            bare += 1
        elif place == 0 and kind is None and {"id", "timestamp"} <= record.keys():
            header = bool(record.keys() & {"instructions", "git"})
    total = len(sample.records) or 1
    if wrapped:
        return round(min(0.99, 0.5 + 0.5 * wrapped / total if wrapped * 2 >= total else 0.4), 3)
    if header or states:
        return round(min(0.97, (bare + states + header) / total), 3)
    return 0.0


FORMAT = Format(
    name="codex",
    title="Codex rollouts",
    sniff=sniff,
    reader=CodexReader,
    describes=(
        "JSONL files under ~/.codex/sessions/YYYY/MM/DD/rollout-*.jsonl and archived_sessions/. "
        "Files from before September 2025 hold bare items without times and usage. Cost is never "
        "recorded. Failures of tools are read from the output, where the exit code stands; forked "
        "and spawned threads begin with a copy of their parent's history."
    ),
)
