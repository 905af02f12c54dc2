"""SWE-agent trajectories (`.traj`): one instance a file, from v0 (2024) to v1 with function calls.

A step of `trajectory` is one response with one call; `history` holds the same as messages, with the
ids of calls, and the examples that were shown to the model (`is_demo`), which are no work. An
answer that the harness could not read is asked for again and is no step; its tokens are in the
total. There are no times; usage is the run's total (`info.model_stats`), shared out, and all zeros
in replays, which is none. `total_cost` (older files) is that of the whole batch and is not read.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import orjson

from loopaudit.formats.base import Format, Sample
from loopaudit.formats.logreader import LogReader
from loopaudit.formats.shapes import (
    Json,
    arguments,
    count,
    dollars,
    name,
    number,
    rows,
    table,
    text_of,
    words,
)
from loopaudit.formats.tool_messages import status_of
from loopaudit.formats.totals import share_cost, share_usage
from loopaudit.model import (
    BoundaryKind,
    BoundaryPiece,
    CallPiece,
    Piece,
    ResponsePiece,
    ResultPiece,
    RunPiece,
    Usage,
)

#: commands of the agent's own interface: each is a tool, all else is the shell's
COMMANDS = frozenset(
    (
        *("open", "goto", "scroll_up", "scroll_down", "create", "edit", "insert", "append"),
        *("find_file", "search_dir", "search_file", "str_replace_editor", "submit", "filemap"),
        *("exit_forfeit", "decompile", "disassemble", "str_replace", "undo_edit", "view_image"),
    )
)
_LIMITS = ("exit_cost", "exit_context", "exit_total", "exit_api", "exit_command_timeout")


class SweReader(LogReader):
    def read(self, line: int, record: Any) -> Iterable[Piece]:
        if not isinstance(record, dict) or not isinstance(record.get("trajectory"), list):
            return self.reject(line, "no SWE-agent trajectory")
        self.used += 1
        run = self.new_run()
        info = table(record, "info")
        status = words(info.get("exit_status"))
        config = _config(record.get("replay_config"))
        pieces: list[Piece] = [
            RunPiece(
                run,
                line,
                agent=name(table(config, "agent").get("name")) or name(record.get("environment")),
                outcome=status or None,
                outcome_source="exit_status" if status else None,
                version=name(info.get("swe_agent_version")),
                model=_model(config),
            )
        ]
        ids = _ids(rows(record.get("history")))
        asked = _question(rows(record.get("history")))
        if asked is not None:
            pieces.append(BoundaryPiece(run, line, BoundaryKind.USER, text=asked))
        answers: list[ResponsePiece] = []
        for index, step in enumerate(record["trajectory"]):
            place = self.place(line, "trajectory", index)
            if not isinstance(step, dict):
                self.reject(place, "no step")
                continue
            for piece in _step(step, ids):
                piece.run, piece.line = run, place
                pieces.append(piece)
                if isinstance(piece, ResponsePiece):
                    answers.append(piece)
        _share(answers, table(info, "model_stats"))
        if status and any(limit in status for limit in _LIMITS):
            pieces.append(BoundaryPiece(run, line, BoundaryKind.LIMIT, text=status))
        return self.emit(pieces)


def _step(step: Json, ids: dict[str, list[list[CallPiece]]]) -> Iterable[Piece]:
    response, action = words(step.get("response")), words(step.get("action")) or ""
    if response is None and not action:
        return
    known = ids.get(_key(response, step.get("thought")))
    calls = tuple(known.pop(0)) if known else ()
    if not calls and action.strip():
        command = action.strip()
        word = command.split(None, 1)[0]
        tool = word if word in COMMANDS else "bash"
        calls = (CallPiece(None, tool, {"command": command}),)
    text = words(step.get("thought"))
    yield ResponsePiece("", 0, text=response if text is None else text, calls=calls)
    observation = step.get("observation")
    duration = number(step.get("execution_time"))
    for call in calls:
        yield ResultPiece(
            "",
            0,
            call.id,
            observation,
            status=status_of(observation),
            duration=duration or None,
        )


def _key(response: str | None, thought: Any) -> str:
    return (response or words(thought) or "").strip()


def _ids(history: list[Json]) -> dict[str, list[list[CallPiece]]]:
    """Calls as the model made them, by the text of their message: steps have commands only."""
    found: dict[str, list[list[CallPiece]]] = {}
    for message in history:
        if message.get("role") != "assistant" or message.get("is_demo"):
            continue
        calls = []
        for item in rows(message.get("tool_calls")):
            body = table(item, "function")
            tool = name(body.get("name")) or "unknown"
            calls.append(CallPiece(name(item.get("id")), tool, arguments(body.get("arguments"))))
        if calls:
            text = text_of(message.get("content"))
            found.setdefault(_key(text, message.get("thought")), []).append(calls)
    return found


def _question(history: list[Json]) -> str | None:
    """The first message that is neither an example nor the system's."""
    for message in history:
        if message.get("role") == "user" and not message.get("is_demo"):
            return text_of(message.get("content"))
    return None


def _share(answers: list[ResponsePiece], stats: Json) -> None:
    sent, received = count(stats.get("tokens_sent")), count(stats.get("tokens_received"))
    if sent or received:
        share_usage(Usage(fresh_input=sent, output=received), answers)
    cost = dollars(stats.get("instance_cost"))
    if cost:
        share_cost(cost, answers)


def _config(text: Any) -> Json:
    """`replay_config` is JSON in a string."""
    if isinstance(text, dict):
        return text
    try:
        value = orjson.loads(text) if isinstance(text, str) else None
    except (ValueError, UnicodeEncodeError):
        return {}
    return value if isinstance(value, dict) else {}


def _model(config: Json) -> str | None:
    found = name(table(table(config, "agent"), "model").get("name"))
    return None if found in ("replay", "human", "instant_empty_submit") else found


def sniff(sample: Sample) -> float:
    records = sample.records
    if not records or not isinstance(records[0], dict):
        return 0.0
    record = records[0]
    steps = record.get("trajectory")
    if not isinstance(steps, list) or not isinstance(record.get("info"), dict):
        return 0.0
    fits = all(isinstance(s, dict) and "action" in s and "observation" in s for s in steps[:8])
    return 0.97 if fits and (steps or "history" in record) else 0.0


FORMAT = Format(
    name="swe_agent",
    title="SWE-agent trajectories",
    sniff=sniff,
    reader=SweReader,
    describes=(
        "`.traj` files of SWE-agent: one instance each, named after it. The exit status is the "
        "outcome; whether the patch was right stands elsewhere. Neither times nor usage of each "
        "response are recorded; the run's totals are shared out over its responses."
    ),
    lacks=frozenset(("times",)),
)
