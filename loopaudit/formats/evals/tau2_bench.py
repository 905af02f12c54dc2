"""tau2-bench results: simulations with rewards, usage and cost of each message.

The user is simulated by a model of its own: what it used stands on its messages and is not the
agent's, and where it calls tools (`requestor: user`) they are not the agent's either; both are
left out and counted by name, as is the greeting that the harness writes. Voice runs hold
ticks (spans of 0.2 s): neighbouring ticks in which the agent speaks are one response.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from loopaudit.formats.apis.openai_chat import call_id
from loopaudit.formats.base import Format, Sample
from loopaudit.formats.graded import graded
from loopaudit.formats.logreader import LogReader
from loopaudit.formats.shapes import (
    Json,
    arguments,
    dollars,
    name,
    output_of,
    rows,
    seconds,
    table,
    text_of,
    words,
)
from loopaudit.formats.tool_messages import status_of
from loopaudit.formats.usages import openai_usage
from loopaudit.model import (
    AttemptPiece,
    BoundaryKind,
    BoundaryPiece,
    CallPiece,
    CallStatus,
    Piece,
    ResponsePiece,
    ResultPiece,
    RunPiece,
)

#: reasons for an end that are a limit of the harness
_LIMITS = frozenset(("max_steps", "timeout", "too_many_errors", "context_window_exceeded"))
#: reasons that are a fault of the harness or of an API
_FAULTS = frozenset(("agent_error", "user_error", "infrastructure_error", "unexpected_error"))


class Tau2Reader(LogReader):
    def read(self, line: int, record: Any) -> Iterable[Piece]:
        if not isinstance(record, dict):
            return self.reject(line, "no tau2-bench result")
        if isinstance(record.get("messages"), list) or isinstance(record.get("ticks"), list):
            return self._simulation(line, record, {}, ())
        runs = record.get("simulations")
        if runs == []:
            self.ignored["result without simulations"] += 1
            return ()
        if isinstance(runs, list):
            return self._all(line, runs, table(record, "info"))
        if _is_index(record):
            self.ignored["index of simulations in files of their own"] += 1
            return ()
        return self.reject(line, "no tau2-bench result: it has no simulations")

    def _all(self, line: int, runs: list[Any], info: Json) -> Iterable[Piece]:
        for index, run in enumerate(runs):
            if isinstance(run, dict):
                yield from self._simulation(line, run, info, ("simulations", index))
            else:
                self.reject(self.place(line, "simulations", index), "no simulation")

    def _simulation(self, line: int, sim: Json, info: Json, keys: tuple[Any, ...]) -> list[Piece]:
        self.used += 1
        place = self.place(line, *keys)
        run = self.new_run(name(sim.get("id")))
        outcome, source = graded(table(sim, "reward_info").get("reward"), "reward")
        reason = name(sim.get("termination_reason"))
        if outcome is None and reason in _LIMITS | _FAULTS:
            outcome, source = reason, "termination_reason"
        agent = table(info, "agent_info")
        pieces: list[Piece] = [
            RunPiece(
                run,
                place,
                agent=name(agent.get("implementation")),
                task_type=name(table(info, "environment_info").get("domain_name")),
                outcome=outcome,
                outcome_source=source,
                model=name(agent.get("llm")),
                at=seconds(sim.get("start_time")),
            )
        ]
        ticks = sim.get("ticks")
        if isinstance(ticks, list):
            pieces += _ticks(run, place, rows(ticks))
        else:
            messages = rows(sim.get("messages"))
            measured = any(isinstance(message.get("usage"), dict) for message in messages)
            for index, message in enumerate(messages):
                if index == 0 and measured and _is_greeting(message):
                    self.ignored["greeting of the harness"] += 1
                    continue
                at = self.place(line, *keys, "messages", index)
                pieces += self._message(run, at, message)
        if reason in _LIMITS:
            ended = seconds(sim.get("end_time"))
            pieces.append(BoundaryPiece(run, place, BoundaryKind.LIMIT, ended, reason))
        elif reason in _FAULTS:
            pieces.append(AttemptPiece(run, place, message=reason, gave_up=True))
        return self.emit(pieces)

    def _message(self, run: str, line: int, message: Json) -> Iterable[Piece]:
        role, at = message.get("role"), seconds(message.get("timestamp"))
        if role == "assistant":
            yield _answer(run, line, message, at)
        elif role == "user":
            if rows(message.get("tool_calls")):
                self.ignored["tool calls of the simulated user"] += 1
            text = text_of(message.get("content"))
            if text:
                yield BoundaryPiece(run, line, BoundaryKind.USER, at, text)
        elif role == "tool" or isinstance(message.get("tool_messages"), list):
            several = message.get("tool_messages")
            for item in rows(several) if isinstance(several, list) else [message]:
                if item.get("requestor") == "user":
                    self.ignored["tool results of the simulated user"] += 1
                else:
                    yield _result(run, line, item, at)


def _is_greeting(message: Json) -> bool:
    """Whether the first words of the agent were put into its mouth."""
    empty = all(not message.get(key) for key in ("usage", "raw_data", "tool_calls"))
    return message.get("role") == "assistant" and empty


def _answer(run: str, line: int, message: Json, at: float | None) -> ResponsePiece:
    raw = table(message, "raw_data")
    calls = tuple(
        CallPiece(
            call_id(item.get("id")),
            name(item.get("name")) or "unknown",
            arguments(item.get("arguments")),
        )
        for item in rows(message.get("tool_calls"))
        if item.get("requestor") != "user"
    )
    usage = openai_usage(message.get("usage"))
    cost = dollars(message.get("cost")) or None  # 0: no model wrote it, or one without a price
    thinking = table(raw, "message").get("reasoning_content")
    return ResponsePiece(
        run,
        line,
        at=at,
        text=text_of(message.get("content")),
        thinking_chars=len(thinking) if isinstance(thinking, str) else 0,
        calls=calls,
        usage=usage,
        cost=cost,
        finish=name(raw.get("finish_reason")),
    )


def _result(run: str, line: int, item: Json, at: float | None) -> ResultPiece:
    text, flag = output_of(item.get("content")), item.get("error")
    status = status_of(text) if flag is None else CallStatus.OK
    if flag is True:
        status = CallStatus.ERROR
    key = call_id(item.get("id")) or call_id(item.get("tool_call_id"))
    return ResultPiece(run, line, key, text, seconds(item.get("timestamp")) or at, status)


def _ticks(run: str, line: int, ticks: list[Json]) -> Iterable[Piece]:
    """Voice: who speaks when. Calls and results stand in the tick in which they happened."""
    speaks = {"agent": False, "user": False}
    for tick in ticks:
        at = seconds(tick.get("timestamp"))
        said, calls, results = {}, tuple[CallPiece, ...](), list[ResultPiece]()
        for side in ("agent", "user"):
            chunk = table(tick, f"{side}_chunk")
            said[side] = chunk.get("contains_speech") is True or bool(words(chunk.get("content")))
            if side == "agent":
                told = {"tool_calls": tick.get("agent_tool_calls") or chunk.get("tool_calls")}
                calls = _answer(run, line, told, at).calls
                results = [
                    _result(run, line, item, at) for item in rows(tick.get("agent_tool_results"))
                ]
        if (said["agent"] and not speaks["agent"]) or calls:
            text = text_of(table(tick, "agent_chunk").get("content"))
            yield ResponsePiece(run, line, at=at, text=text or None, calls=calls)
        yield from results
        if said["user"] and not speaks["user"]:
            text = text_of(table(tick, "user_chunk").get("content"))
            yield BoundaryPiece(run, line, BoundaryKind.USER, at, text or None)
        speaks = said


def _is_index(record: Json) -> bool:
    info = record.get("info")
    return isinstance(info, dict) and "agent_info" in info and "environment_info" in info


def sniff(sample: Sample) -> float:
    record = sample.records[0] if sample.records else None
    if not isinstance(record, dict):
        return 0.0
    if _is_index(record):
        return 0.98 if isinstance(record.get("simulations"), list) else 0.9
    known = "termination_reason" in record and "task_id" in record
    return 0.95 if known and ("messages" in record or "ticks" in record) else 0.0


FORMAT = Format(
    name="tau2_bench",
    title="tau2-bench results",
    sniff=sniff,
    reader=Tau2Reader,
    describes=(
        "Results of tau2-bench: one JSON document with simulations, or a results.json with a "
        "folder of simulations beside it. The reward is the outcome, the domain the type of task. "
        "What the simulated user did and used is left out. Voice runs tell who spoke when, but "
        "neither words nor usage."
    ),
)
