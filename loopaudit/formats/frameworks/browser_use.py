"""browser-use histories (`save_to_file`): steps with what the model decided and what came of it.

An action is `{"<name>": {…}}` and answers go by index; where a batch stops early, the rest was not
run. A step with an error and no output of the model is a failed call of the model. Usage is not
saved. Whether the goal was reached is what a judge said, else what the agent itself claimed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from loopaudit.formats.base import Format, Sample
from loopaudit.formats.graded import graded
from loopaudit.formats.logreader import LogReader
from loopaudit.formats.shapes import Json, name, rows, seconds, table, words
from loopaudit.model import (
    AttemptPiece,
    CallPiece,
    CallStatus,
    Piece,
    ResponsePiece,
    ResultPiece,
    RunPiece,
)


class BrowserReader(LogReader):
    flags_failures = True

    def read(self, line: int, record: Any) -> Iterable[Piece]:
        if not isinstance(record, dict) or not isinstance(record.get("history"), list):
            return self.reject(line, "no browser-use history")
        run = self.new_run(name(record.get("session_id")) or name(record.get("agent_id")))
        steps = record["history"]
        outcome, source = _outcome(rows(steps))
        pieces: list[Piece] = [
            RunPiece(run, line, agent="browser-use", outcome=outcome, outcome_source=source)
        ]
        for index, step in enumerate(steps):
            place = self.place(line, "history", index)
            if not isinstance(step, dict):
                self.reject(place, "no step")
                continue
            self.used += 1
            for piece in _step(step, index):
                piece.run, piece.line = run, place
                pieces.append(piece)
        if not steps:
            self.ignored["history without steps"] += 1
        return self.emit(pieces)


def _step(step: Json, index: int) -> Iterable[Piece]:
    told = table(step, "metadata")
    at, ended = seconds(told.get("step_start_time")), seconds(told.get("step_end_time"))
    results = step.get("result")
    answers = results if isinstance(results, list) else []
    output = step.get("model_output")
    if not isinstance(output, dict):
        errors = [text for answer in rows(answers) if (text := words(answer.get("error")))]
        yield AttemptPiece("", 0, at, message=errors[0] if errors else None)
        return
    mind = table(output, "current_state") or output
    text = words(mind.get("next_goal")) or words(mind.get("memory"))
    thinking = words(output.get("thinking"))
    calls = tuple(
        _call(action, f"{index}.{number}")
        for number, action in enumerate(rows(output.get("action")))
    )
    yield ResponsePiece(
        "",
        0,
        at=at,
        ended=ended,
        text=text,
        thinking_chars=len(thinking) if thinking else 0,
        calls=calls,
    )
    stopped = any(isinstance(a, dict) and a.get("error") for a in answers)
    for number, call in enumerate(calls):
        if number < len(answers) and isinstance(answers[number], dict):
            yield _result(answers[number], call, ended)
        elif stopped:
            yield ResultPiece("", 0, call.id, None, ended, CallStatus.SIBLING, call.tool)


def _call(action: Json, key: str) -> CallPiece:
    """The one name in an action that has something; dumps may hold the others as null."""
    for tool, given in action.items():
        if given is not None and tool != "interacted_element":
            args = given
            if isinstance(given, dict):
                args = {k: v for k, v in given.items() if v is not None}
            return CallPiece(key, name(tool) or "unknown", args)
    return CallPiece(key, name(next(iter(action), None)) or "unknown", {})


def _result(answer: Json, call: CallPiece, at: float | None) -> ResultPiece:
    error = words(answer.get("error"))
    text = error or words(answer.get("extracted_content")) or words(answer.get("long_term_memory"))
    status = CallStatus.ERROR if error else CallStatus.OK
    return ResultPiece("", 0, call.id, text or "", at, status, call.tool)


def _outcome(steps: list[Json]) -> tuple[str | None, str | None]:
    answers = [answer for step in steps for answer in rows(step.get("result"))]
    for answer in reversed(answers):
        outcome, source = graded(table(answer, "judgement").get("verdict"), "judgement")
        if outcome is not None:
            return outcome, source
    if answers and answers[-1].get("is_done") is True:
        return graded(answers[-1].get("success"), "the agent's own claim")
    return None, None


def sniff(sample: Sample) -> float:
    record = sample.records[0] if sample.records else None
    steps = record.get("history") if isinstance(record, dict) else None
    if not isinstance(steps, list) or not steps:
        return 0.0
    fits = [isinstance(s, dict) and "model_output" in s and "result" in s for s in steps[:8]]
    return 0.97 if all(fits) else 0.0


FORMAT = Format(
    name="browser_use",
    title="browser-use histories",
    sniff=sniff,
    reader=BrowserReader,
    describes=(
        "AgentHistoryList.save_to_file of browser-use: one JSON document a run. Usage is not saved "
        "in it, nor the model; the task is not told. The outcome is a judge's verdict, else what "
        "the agent claimed."
    ),
    lacks=frozenset(("usage",)),
)
