"""Labelled runs: one run a line with its calls, their results and whether it reached its goal.

The plainest form in which recorded runs are kept for measuring guards: no model responses, no
usage, no times. Each call is a step of its own. Labels beside the outcome (where a run went wrong,
whether somebody saw a loop) are for those who measure, and are not read.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from loopaudit.formats.base import Format, Sample
from loopaudit.formats.graded import graded
from loopaudit.formats.logreader import LogReader
from loopaudit.formats.shapes import arguments, name, output_of
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


class LabelledReader(LogReader):
    flags_failures = True

    def read(self, line: int, record: Any) -> Iterable[Piece]:
        calls = record.get("calls") if isinstance(record, dict) else None
        if not isinstance(calls, list):
            return self.reject(line, "no labelled run: it has no list of calls")
        if not calls:
            self.ignored["run without calls"] += 1
            return ()
        self.used += 1
        outcome, source = graded(record.get("success"), "success")
        pieces: list[Piece] = [
            RunPiece(
                "",
                0,
                agent=name(record.get("group")),
                task_type=name(record.get("task")),
                outcome=outcome,
                outcome_source=source,
            )
        ]
        broken = 0
        for item in calls:
            tool = name(item.get("tool")) if isinstance(item, dict) else None
            if tool is None:
                broken += 1
                continue
            pieces.append(ResponsePiece("", 0, calls=(CallPiece(None, tool, _arguments(item)),)))
            if "result" in item or "error" in item:
                pieces.append(_result(item))
        if broken:
            self.reject(line, f"{broken} of {len(calls)} calls have no tool")
        if record.get("halted") is True:
            pieces.append(BoundaryPiece("", 0, BoundaryKind.LIMIT))
        return self.emit(pieces, self.new_run(name(record.get("id"))), line)


def _arguments(item: dict[str, Any]) -> Any:
    return arguments(item["args"]) if "args" in item else None


def _result(item: dict[str, Any]) -> ResultPiece:
    text, flag = output_of(item.get("result")), item.get("error")
    if isinstance(flag, bool):
        status = CallStatus.ERROR if flag else CallStatus.OK
    elif flag:  # the error itself
        status, text = CallStatus.ERROR, flag if text is None else text
    else:
        status = status_of(text)
    return ResultPiece("", 0, None, text, status=status)


def sniff(sample: Sample) -> float:
    records = sample.records
    if not records or not all(isinstance(r, dict) and _is_run(r) for r in records):
        return 0.0
    return 0.95 if any(r["calls"] for r in records) else 0.5


def _is_run(record: dict[str, Any]) -> bool:
    calls = record.get("calls")
    return (
        isinstance(calls, list)
        and isinstance(record.get("success"), bool)
        and "id" in record
        and "type" not in record
        and all(isinstance(c, dict) and "tool" in c and "args" in c for c in calls[:8])
    )


FORMAT = Format(
    name="labelled_runs",
    title="labelled runs, one a line",
    sniff=sniff,
    reader=LabelledReader,
    describes=(
        "One run a line, as recorded runs are kept to measure guards by: id, group (the agent or "
        "setting), task, success, and calls with tool, args, result and error. No model responses: "
        "each call is a step. `halted: true` says that a limit of the harness ended the run."
    ),
    lacks=frozenset(("usage", "times")),
    example=(
        '{"id": "kitchen/7", "group": "small-model", "task": "recipes", "success": false,'
        ' "calls": [{"tool": "search", "args": {"q": "rye bread"}, "result": "nothing found",'
        ' "error": false}]}',
    ),
)
