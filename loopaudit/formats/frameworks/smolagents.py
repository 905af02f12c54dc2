"""smolagents memory: steps of a run (`get_full_steps`), and `RunResult` around them.

When a tool raises, the step's `tool_calls` are empty: the call stands only in what the model wrote,
so a loop of failures would look like none. Agents that write code make one call, of the Python
interpreter. Ids of calls come again from step to step. A step without any output of the model was
billed all the same where it tells its usage (the last answer of a run out of steps).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from loopaudit.formats.base import Format, Sample
from loopaudit.formats.logreader import LogReader
from loopaudit.formats.shapes import (
    Json,
    arguments,
    name,
    output_of,
    rows,
    seconds,
    table,
    text_of,
    words,
)
from loopaudit.formats.totals import share_usage
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

_STEP = frozenset(("step_number", "timing", "model_input_messages", "model_output", "token_usage"))


class SmolReader(LogReader):
    flags_failures = True

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._single: str | None = None

    def read(self, line: int, record: Any) -> Iterable[Piece]:
        if isinstance(record, dict) and isinstance(record.get("steps"), list):
            state = name(record.get("state"))
            return self._run(line, record["steps"], ("steps",), state, record.get("token_usage"))
        if isinstance(record, list):
            return self._run(line, record, (), None, None)
        if not isinstance(record, dict):
            return self.reject(line, "no step of smolagents")
        self.used += 1
        if self._single is None:
            self._single = self.new_run()
        return self.emit(_step(record), self._single, line)

    def _run(
        self, line: int, steps: list[Any], keys: tuple[Any, ...], state: str | None, total: Any
    ) -> list[Piece]:
        if not steps:
            self.ignored["run without steps"] += 1
            return []
        run = self.new_run()
        source = "state" if state else None
        pieces: list[Piece] = [RunPiece(run, line, outcome=state, outcome_source=source)]
        for index, step in enumerate(steps):
            place = self.place(line, *keys, index)
            if not isinstance(step, dict):
                self.reject(place, "no step")
                continue
            self.used += 1
            for piece in _step(step):
                piece.run, piece.line = run, place
                pieces.append(piece)
        answers = [piece for piece in pieces if isinstance(piece, ResponsePiece)]
        models = {answer.model for answer in answers if answer.model}
        if len(models) == 1:  # a last answer without output names none
            pieces.append(RunPiece(run, line, model=models.pop()))
        whole = openai_usage(total)
        if whole is not None and all(answer.usage is None for answer in answers):
            share_usage(whole, answers)
        return self.emit(pieces)


def _step(step: Json) -> Iterable[Piece]:
    if "task" in step and "step_number" not in step:
        yield BoundaryPiece("", 0, BoundaryKind.USER, text=words(step.get("task")))
        return
    if not _STEP & step.keys() and "model_output_message" not in step:
        return  # the system prompt, or the final answer that stands in the step before
    error = table(step, "error")
    kind = name(error.get("type")) or ""
    timing = table(step, "timing")
    ended = seconds(timing.get("end_time"))
    told = words(error.get("message"))
    answer = _answer(step, seconds(timing.get("start_time")), ended)
    if kind == "AgentMaxStepsError":  # it came before the last answer, which it forced
        yield BoundaryPiece("", 0, BoundaryKind.LIMIT, ended, told)
    if answer is not None:
        yield answer
    if kind == "AgentGenerationError":
        yield AttemptPiece("", 0, ended, message=told, gave_up=True)
    elif kind == "AgentMaxStepsError":
        return
    elif error and (answer is None or not answer.calls):
        yield BoundaryPiece("", 0, BoundaryKind.REMINDER, ended, told)
    elif answer is not None:
        output = told if error else output_of(step.get("observations"))
        if output is None:
            output = step.get("action_output")
        status = CallStatus.ERROR if error else CallStatus.OK
        for call in answer.calls:
            yield ResultPiece("", 0, call.id, output, ended, status, call.tool, code=kind or None)


def _answer(step: Json, at: float | None, ended: float | None) -> ResponsePiece | None:
    message = table(step, "model_output_message")
    raw = table(message, "raw")
    usage = openai_usage(raw.get("usage")) or openai_usage(step.get("token_usage"))
    usage = usage or openai_usage(message.get("token_usage"))
    written = tuple(_calls(message.get("tool_calls")))
    ran = tuple(_calls(step.get("tool_calls")))
    if not (message or usage or ran or step.get("model_output") or step.get("plan")):
        return None
    choices = rows(raw.get("choices"))
    return ResponsePiece(
        "",
        0,
        id=name(raw.get("id")),
        at=at,
        ended=ended,
        model=name(raw.get("model")),
        text=text_of(message.get("content")) or text_of(step.get("model_output")),
        calls=written or ran,
        usage=usage,
        finish=name(choices[0].get("finish_reason")) if choices else None,
    )


def _calls(items: Any) -> Iterable[CallPiece]:
    for item in rows(items):
        body = table(item, "function") or item
        given = arguments(body.get("arguments"))
        yield CallPiece(name(item.get("id")), name(body.get("name")) or "unknown", given)


def sniff(sample: Sample) -> float:
    records = sample.records
    if not records:
        return 0.0
    if isinstance(records[0], list) and sample.document:
        records = records[0][:32]
    elif isinstance(records[0], dict) and isinstance(records[0].get("steps"), list):
        if "state" not in records[0] and "timing" not in records[0]:
            return 0.0
        records = records[0]["steps"][:32]
    if not records or not all(isinstance(record, dict) for record in records):
        return 0.0
    steps = [r for r in records if "step_number" in r and "model_output_message" in r]
    rest = [r for r in records if "step_number" not in r]
    others = all("task" in r or "plan" in r or "system_prompt" in r or "output" in r for r in rest)
    return 0.97 if steps and others else 0.0


FORMAT = Format(
    name="smolagents",
    title="smolagents runs",
    sniff=sniff,
    reader=SmolReader,
    describes=(
        "Memory of smolagents agents: agent.memory.get_full_steps() or RunResult.dict() as JSON. "
        "The state of the result (success, max_steps_error) is the outcome. What tools an agent "
        "used inside the code that it wrote is not told."
    ),
)
