"""Inspect AI eval logs: `.json`, and `.eval` archives, which open as one member a line.

One sample is one run; an agent that another starts within it is a run of its own. What stands in
`events` counts: `messages` is only the last history, which a compaction shortens. Model calls of
scorers are no work of the agent: they are left out and counted by name, so sums can be smaller than
the log's own `model_usage`. Samples without events are read from their messages; their usage is
the sample's total, shared out.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from loopaudit.formats.base import Format, Sample
from loopaudit.formats.evals.inspect_events import Events
from loopaudit.formats.evals.inspect_values import (
    Values,
    calls_of,
    inspect_usage,
    message_text,
    result_piece,
    thinking_of,
)
from loopaudit.formats.graded import graded
from loopaudit.formats.logreader import LogReader
from loopaudit.formats.shapes import Json, described, name, rows, seconds, shown, table, words
from loopaudit.formats.totals import share_usage
from loopaudit.model import (
    BUCKETS,
    AttemptPiece,
    BoundaryKind,
    BoundaryPiece,
    Piece,
    ResponsePiece,
    RunPiece,
    Usage,
    add,
)

_EVENTS = frozenset(
    (
        *("model", "tool", "sample_init", "span_begin", "span_end", "step", "state", "score"),
        *("info", "error", "logger", "sample_limit", "store"),
    )
)


class InspectReader(LogReader):
    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._header: Json = {}

    def read(self, line: int, record: Any) -> Iterable[Piece]:
        if not isinstance(record, dict):
            return self.reject(line, "no part of an Inspect log")
        if "member" in record:
            return self._member(line, record)
        if "eval" in record:
            return self._document(line, record)
        if isinstance(record.get("events"), list):
            self.used += 1
            return self._sample(line, record)
        return self.reject(line, "no part of an Inspect log: neither eval nor events")

    def _member(self, line: int, record: Json) -> Iterable[Piece]:
        """One member of an archive; the line is its number."""
        member = name(record.get("member")) or ""
        if "lost" in record:
            return self.reject(line, f"{member}: {shown(record['lost'])}")
        value = record.get("value")
        if value is None:
            self.ignored["journal" if member.startswith("_journal/") else "summary"] += 1
            return ()
        if not isinstance(value, dict):
            return self.reject(line, f"{member}: no JSON object")
        self.used += 1
        if member.startswith("samples/"):
            return self._sample(line, value)
        self._header = value
        return ()

    def _document(self, line: int, record: Json) -> Iterable[Piece]:
        self._header = record
        self.used += 1
        samples = record.get("samples")
        if not isinstance(samples, list):
            self.ignored["log without samples"] += 1
            return
        for index, sample in enumerate(samples):
            place = self.place(line, "samples", index)
            if isinstance(sample, dict):
                yield from self._sample(place, sample)
            else:
                self.reject(place, "no sample")

    def _sample(self, line: int, sample: Json) -> Iterable[Piece]:
        told = table(self._header, "eval")
        label = "/".join(filter(None, (name(sample.get("id")), name(sample.get("epoch")))))
        batch = name(told.get("run_id")) or name(told.get("eval_id"))
        own = name(sample.get("uuid")) or (f"{batch}/{label}" if batch and label else label)
        run = self.new_run(own)
        values = Values(sample)
        outcome, source = _outcome(sample)
        steps = rows(table(self._header, "plan").get("steps"))
        yield RunPiece(
            run,
            line,
            session=name(told.get("run_id")),
            agent=name(told.get("solver")) or (name(steps[-1].get("solver")) if steps else None),
            task_type=name(told.get("task")),
            metadata=described(sample.get("metadata"), told.get("metadata"), tags=told.get("tags")),
            outcome=outcome,
            outcome_source=source,
            version=name(table(told, "packages").get("inspect_ai")),
            model=name(told.get("model")),
            at=seconds(sample.get("started_at")),
        )
        for number, attempt in enumerate(rows(sample.get("error_retries")), 1):
            message = words(attempt.get("message"))
            yield AttemptPiece(run, line, message=message, number=number, layer="sample")
        events = Events(run, line, values, self.ignored)
        if rows(sample.get("events")):
            yield from self.emit(events.pieces(sample["events"]))
        else:
            yield from self.emit(_from_messages(sample, values), run, line)
        yield from self.emit(events.limit(sample.get("limit")))


def _from_messages(sample: Json, values: Values) -> list[Piece]:
    """Pieces of a sample without events: its last history."""
    pieces: list[Piece] = []
    answers: list[ResponsePiece] = []
    for message in rows(sample.get("messages")):
        role = message.get("role")
        if role == "assistant":
            piece = ResponsePiece(
                "",
                0,
                id=name(message.get("id")),
                model=name(message.get("model")),
                text=message_text(message, values),
                thinking_chars=thinking_of(message, values),
                calls=calls_of(message, values),
            )
            answers.append(piece)
            pieces.append(piece)
        elif role == "tool":
            pieces.append(result_piece("", 0, message, values))
        elif role == "user":
            real = message.get("source") in ("input", "operator", None)
            kind = BoundaryKind.USER if real else BoundaryKind.REMINDER
            pieces.append(BoundaryPiece("", 0, kind, None, message_text(message, values)))
    total: Usage | None = None
    for value in table(sample, "model_usage").values():
        usage = inspect_usage(value)
        if usage is not None and total is not None:
            for bucket in BUCKETS:
                setattr(total, bucket, add(getattr(total, bucket), getattr(usage, bucket)))
        total = total or usage
    if total is not None and not table(sample, "role_usage"):
        share_usage(total, answers)
    return pieces


def _outcome(sample: Json) -> tuple[str | None, str | None]:
    """The first score that is a grade; else that the sample failed, or which limit ended it."""
    scores = sample.get("scores")
    if not isinstance(scores, dict) or not scores:
        scores = {"score": sample.get("score")}
    for scorer, score in scores.items():
        value = score.get("value") if isinstance(score, dict) else None
        source = f"score {str(scorer)[:80]}"
        for grade in value.values() if isinstance(value, dict) else [value]:
            outcome, found = graded(grade, source)
            if outcome is not None:
                return outcome, found
    if isinstance(sample.get("error"), dict):
        return "error", "sample error"
    limit = name(table(sample, "limit").get("type"))
    return (f"{limit} limit", "sample limit") if limit else (None, None)


def sniff(sample: Sample) -> float:
    if not sample.records or not isinstance(sample.records[0], dict):
        return 0.0
    record = sample.records[0]
    if "member" in record and isinstance(record.get("value"), dict):
        return 0.99 if "eval" in record["value"] else 0.0
    if isinstance(record.get("eval"), dict) and "version" in record:
        return 0.98 if any(key in record for key in ("status", "plan", "samples")) else 0.5
    events = record.get("events")
    if isinstance(events, list) and events and len(sample.records) == 1:
        known = [e for e in events[:64] if isinstance(e, dict) and _is_event(e.get("event"))]
        return 0.9 if len(known) == len(events[:64]) else 0.0
    return 0.0


def _is_event(kind: Any) -> bool:
    return isinstance(kind, str) and kind in _EVENTS


FORMAT = Format(
    name="inspect",
    title="Inspect AI eval logs",
    sniff=sniff,
    reader=InspectReader,
    describes=(
        "Logs of Inspect AI, `.json` and `.eval` (of the latter, `file:N` means its N-th member: "
        "header, then samples by name). A sample is a run, its score the outcome; agents started "
        "by agents are runs of their own. Model calls of scorers are not counted."
    ),
)
