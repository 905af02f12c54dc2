"""DevAI trajectories (agent-as-a-judge): an array of steps with thought, action and answer.

Usage and cost stand on each step; `accumulated_usage` is the sum so far and is not read. An action
is text: "Running command: ls" is a call of a shell, other words before a colon name the tool.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from loopaudit.formats.base import Format, Sample
from loopaudit.formats.logreader import LogReader
from loopaudit.formats.shapes import Json, dollars, name, number, output_of, table, words
from loopaudit.formats.tool_messages import status_of
from loopaudit.formats.usages import openai_usage
from loopaudit.model import (
    BoundaryKind,
    BoundaryPiece,
    CallPiece,
    Piece,
    ResponsePiece,
    ResultPiece,
    RunPiece,
)

_NAMED = re.compile(r"([A-Za-z][\w ()-]{0,60}?):\s+")
_KNOWN = {
    "Running command": ("bash", "command"),
    "Running Python code interactively": ("python", "code"),
}


class DevAiReader(LogReader):
    def read(self, line: int, record: Any) -> Iterable[Piece]:
        if not isinstance(record, list):
            return self.reject(line, "no DevAI trajectory")
        run = self.new_run()
        pieces: list[Piece] = [RunPiece(run, line)]
        for index, step in enumerate(record):
            place = self.place(line, index)
            if not isinstance(step, dict):
                self.reject(place, "no step")
                continue
            self.used += 1
            for piece in _step(step):
                piece.run, piece.line = run, place
                pieces.append(piece)
        return self.emit(pieces)


def _step(step: Json) -> Iterable[Piece]:
    asked = words(step.get("user_message"))
    if asked:
        yield BoundaryPiece("", 0, BoundaryKind.USER, text=asked)
    agent, used = table(step, "agent"), table(step, "step_usage")
    if not agent and not used:
        return
    action = words(agent.get("action"))
    call = _call(action) if action else None
    yield ResponsePiece(
        "",
        0,
        model=name(used.get("model")),
        text=words(agent.get("thought")),
        calls=(call,) if call else (),
        usage=openai_usage(used),
        cost=dollars(used.get("cost")) or None,  # 0: no price was known
    )
    answer = step.get("environment")
    if call is not None and answer is not None:
        text = output_of(answer)
        duration = number(used.get("step_execution_time"))
        yield ResultPiece("", 0, None, text, status=status_of(text), duration=duration)


def _call(action: str) -> CallPiece:
    named = _NAMED.match(action)
    if named is None:
        return CallPiece(None, "action", action)
    tool, key = _KNOWN.get(named.group(1), (named.group(1), "action"))
    return CallPiece(None, tool, {key: action[named.end() :]})


def sniff(sample: Sample) -> float:
    records = sample.records
    if not sample.document or not records or not isinstance(records[0], list):
        return 0.0
    steps = records[0][:16]
    fits = all(isinstance(s, dict) and "step_usage" in s and "agent" in s for s in steps)
    return 0.97 if steps and fits else 0.0


FORMAT = Format(
    name="devai",
    title="DevAI trajectories",
    sniff=sniff,
    reader=DevAiReader,
    describes=(
        "Trajectories of the DevAI benchmark (agent-as-a-judge): one JSON array of steps, named "
        "after agent and task. Usage and cost are those of each step; there are no times and no "
        "outcome, and failures are told in words only."
    ),
    lacks=frozenset(("times",)),
)
