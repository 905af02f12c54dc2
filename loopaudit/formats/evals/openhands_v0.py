"""OpenHands up to 2025 (V0): event arrays, and the output.jsonl of evaluations and of the resolver.

An event is an action or an observation; `cause` names the action that it answers. The response of
the model stands, whole, on each of its actions and their observations alike: it counts once, by its
id. `llm_metrics` are counters that only grow; a response's part is the difference. Older histories
are pairs of action and observation, without ids. What the harness does itself (recall, state
changes) is no work of the agent.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from loopaudit.formats.base import Format, Sample
from loopaudit.formats.evals.openhands_metrics import give
from loopaudit.formats.evals.openhands_turns import Turns, ending
from loopaudit.formats.graded import graded
from loopaudit.formats.logreader import LogReader
from loopaudit.formats.shapes import (
    Json,
    name,
    shown,
    table,
    words,
)
from loopaudit.model import (
    Piece,
    RunPiece,
)


class OpenHandsReader(LogReader):
    def read(self, line: int, record: Any) -> Iterable[Piece]:
        if isinstance(record, dict) and isinstance(record.get("history"), list):
            return self._instance(line, record)
        if isinstance(record, dict) and _is_prediction(record):
            self.ignored["prediction (a patch, no transcript)"] += 1
            return ()
        if isinstance(record, list) and record and all(map(_is_prediction, record)):
            self.ignored["prediction (a patch, no transcript)"] += len(record)
            return ()
        if isinstance(record, list):
            self.used += 1
            return self._events(line, (), self.new_run(), record, {})
        if isinstance(record, dict) and isinstance(record.get("trajectory"), list):
            self.used += 1
            return self._events(line, ("trajectory",), self.new_run(), record["trajectory"], {})
        return self.reject(line, "no OpenHands events")

    def _instance(self, line: int, record: Json) -> Iterable[Piece]:
        self.used += 1
        issue = table(record, "issue")
        number = name(issue.get("number"))
        repository = "/".join(filter(None, (name(issue.get("owner")), name(issue.get("repo")))))
        own = name(record.get("instance_id")) or (f"{repository}#{number}" if number else None)
        run = self.new_run(own)
        told = table(record, "metadata")
        outcome, source = _outcome(record)
        yield RunPiece(
            run,
            line,
            agent=name(told.get("agent_class")),
            task_type=name(told.get("dataset")),
            outcome=outcome,
            outcome_source=source,
            project=repository or None,
            model=name(table(told, "llm_config").get("model")),
        )
        metrics = table(record, "metrics")
        yield from self._events(line, ("history",), run, record["history"], metrics)
        yield from ending(run, line, words(record.get("error")))

    def _events(
        self, line: int, keys: tuple[Any, ...], run: str, events: list[Any], metrics: Json
    ) -> list[Piece]:
        turns = Turns(self.ignored)
        pieces: list[Piece] = []
        for index, event in enumerate(events):
            place = self.place(line, *keys, index)
            for item in event if isinstance(event, list) else [event]:
                if not isinstance(item, dict):
                    self.reject(place, f"no event: {shown(item)}")
                    continue
                for piece in turns.pieces(item):
                    piece.run, piece.line = run, place
                    pieces.append(piece)
        give(metrics, turns.answers)
        return self.emit(pieces)


def _outcome(record: Json) -> tuple[str | None, str | None]:
    """What the evaluation found; else what the resolver's own judge did."""
    result = table(record, "test_result")
    for place, value in (
        ("report.resolved", table(record, "report").get("resolved")),
        ("test_result.report.resolved", table(result, "report").get("resolved")),
        ("test_result.resolved", result.get("resolved")),
        ("test_result.result", result.get("result")),
        ("success", record.get("success")),
    ):
        outcome, source = graded(value, place)
        if outcome is not None:
            return outcome, source
    return None, None


def _is_prediction(record: Any) -> bool:
    return isinstance(record, dict) and "instance_id" in record and "model_patch" in record


def _is_event(event: Any) -> bool:
    if not isinstance(event, dict) or "kind" in event:
        return False
    acts = isinstance(event.get("action"), str) and isinstance(event.get("args"), dict)
    sees = isinstance(event.get("observation"), str) and "content" in event
    return (acts or sees) and "source" in event


def sniff(sample: Sample) -> float:
    records = sample.records
    if not records:
        return 0.0
    if sample.document and isinstance(records[0], list):
        events = records[0][:64]
        if events and all(map(_is_event, events)):
            return 0.97
        return 0.9 if events and all(map(_is_prediction, events)) else 0.0
    if not all(isinstance(record, dict) for record in records):
        return 0.0
    exported = records[0].get("trajectory")
    if isinstance(exported, list) and exported and all(map(_is_event, exported[:64])):
        return 0.96
    if all(_is_instance(record) for record in records):
        return 0.95
    return 0.9 if all(map(_is_prediction, records)) else 0.0


def _is_instance(record: Json) -> bool:
    named = "instance_id" in record or "issue" in record
    told = any(key in record for key in ("instruction", "test_result", "git_patch"))
    return named and told and isinstance(record.get("history"), list)


FORMAT = Format(
    name="openhands_v0",
    title="OpenHands trajectories up to 2025 (V0)",
    sniff=sniff,
    reader=OpenHandsReader,
    describes=(
        "OpenHands V0: an exported trajectory (one JSON array of events), and output.jsonl of "
        "evaluations and of the issue resolver (one instance a line). The outcome is what the "
        "evaluation or the resolver found. LLM completion logs are read by `http_log`."
    ),
)
