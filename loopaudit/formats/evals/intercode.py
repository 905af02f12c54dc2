"""InterCode results: one document of tasks, each with its turns and the reward of every turn.

A turn is an action and what the environment answered (a shell, a database, Python, a CTF). Actions
of the ReAct agent are written `execute[…]`. `valid_action` false is a command that failed; where it
is not told, the words of the answer count. The best reward is the outcome, 1 being success.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from typing import Any

from loopaudit.formats.base import Format, Sample
from loopaudit.formats.graded import SUCCESS, graded
from loopaudit.formats.logreader import LogReader
from loopaudit.formats.shapes import Json, count, name, shown, table, words
from loopaudit.formats.tool_messages import status_of
from loopaudit.model import (
    BoundaryKind,
    BoundaryPiece,
    CallPiece,
    CallStatus,
    Piece,
    ResponsePiece,
    ResultPiece,
    RunPiece,
)

#: environments and the tool that they are
_TOOLS = {"ic_bash": "bash", "ic_sql": "sql", "ic_python": "python", "ic_ctf": "ctf"}
_EXECUTE = re.compile(r"\s*execute\[(.*)\]\s*\Z", re.DOTALL)
_LONGEST_REPR = 20_000  # characters of a Python dict that is read as one


class InterCodeReader(LogReader):
    def read(self, line: int, record: Any) -> Iterable[Piece]:
        if isinstance(record, dict) and "turn_history" in record:
            record, keyed = {"": record}, False
        elif isinstance(record, dict) and isinstance(record.get("task"), dict):
            task = {
                **record["task"],
                "summary": record.get("summary", record["task"].get("summary")),
            }
            record, keyed = {"": task}, False
        else:
            keyed = True
        if isinstance(record, list):
            record = dict(enumerate(record))
        if not isinstance(record, dict) or not record:
            self.reject(line, "no InterCode result")
            return
        for key, task in record.items():
            keys = (key,) if keyed else ()
            if isinstance(task, dict) and isinstance(task.get("turn_history"), dict):
                self.used += 1
                yield from self._task(line, str(key), task, keys)
            else:
                self.reject(self.place(line, *keys), f"no task of InterCode: {shown(task)}")

    def _task(self, line: int, key: str, task: Json, keys: tuple[Any, ...]) -> list[Piece]:
        run = self.new_run(key or name(task.get("task_id")))
        place = self.place(line, *keys)
        summary, turns = table(task, "summary"), table(task, "turn_history")
        environment = name(task.get("environment"))
        outcome, source = graded(summary.get("max_reward"), "max_reward")
        pieces: list[Piece] = [
            RunPiece(run, place, task_type=environment, outcome=outcome, outcome_source=source)
        ]
        question = words(task.get("query"))
        if question:
            pieces.append(BoundaryPiece(run, place, BoundaryKind.USER, text=question))
        tool = _TOOLS.get(environment or "", environment or "execute")
        actions = _list(turns, "actions")
        answers, thoughts = _list(turns, "observations"), _list(turns, "thoughts")
        valid = _list(turns, "valid_action")
        for index, action in enumerate(actions):
            at = self.place(line, *keys, "turn_history", "actions", index)
            call = _call(tool, action)
            thought = words(thoughts[index]) if index < len(thoughts) else None
            pieces.append(ResponsePiece(run, at, text=thought, calls=(call,)))
            if index < len(answers):
                flag = valid[index] if index < len(valid) else None
                at = self.place(line, *keys, "turn_history", "observations", index)
                pieces.append(_result(run, at, answers[index], flag))
        most = count(summary.get("turns_max"))
        if most and len(actions) >= most and outcome != SUCCESS:
            pieces.append(BoundaryPiece(run, place, BoundaryKind.LIMIT, text=f"{most} turns"))
        return self.emit(pieces)


def _list(turns: Json, key: str) -> list[Any]:
    value = turns.get(key)
    return value if isinstance(value, list) else []


def _call(tool: str, action: Any) -> CallPiece:
    text = words(action)
    if text is not None:
        inside = _EXECUTE.match(text)
        text = inside.group(1) if inside else text
        if text.strip() == "submit":
            return CallPiece(None, "submit", {})
    key = "command" if tool == "bash" else "query" if tool == "sql" else "code"
    return CallPiece(None, tool, {key: action if text is None else text})


def _result(run: str, line: int, answer: Any, valid: Any) -> ResultPiece:
    text = answer
    if isinstance(answer, str) and answer.startswith("{'output'") and len(answer) < _LONGEST_REPR:
        try:  # a dict as Python prints it
            text = ast.literal_eval(answer)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            text = answer
    status = status_of(text)
    if valid is False:
        status = CallStatus.ERROR
    return ResultPiece(run, line, None, text, status=status)


def sniff(sample: Sample) -> float:
    record = sample.records[0] if sample.records else None
    if not isinstance(record, dict):
        return 0.0
    if "turn_history" in record:
        tasks: list[Any] = [record]
    elif isinstance(record.get("task"), dict):
        tasks = [record["task"]]
    else:
        tasks = list(record.values())[:8]
    fits = [
        isinstance(task, dict)
        and isinstance(task.get("turn_history"), dict)
        and "actions" in task["turn_history"]
        for task in tasks
    ]
    return 0.96 if fits and all(fits) else 0.0


FORMAT = Format(
    name="intercode",
    title="InterCode results",
    sniff=sniff,
    reader=InterCodeReader,
    describes=(
        "Result files of InterCode: a JSON document of tasks with turn_history (actions, "
        "observations, rewards). The best reward is the outcome, the environment the type of task. "
        "Neither usage nor times nor the model are recorded."
    ),
    lacks=frozenset(("usage", "times")),
)
