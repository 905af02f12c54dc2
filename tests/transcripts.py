"""Short transcripts for tests, in our own event lines, read and judged by the real path.

    found = judged(
        step(900, call("read_doc")),
        *(step(1_000 + 100 * i, call("send", {"to": "ops"}, f"id m-10{i}")) for i in range(5)),
    )

Steps in expected values are counted from 1, as in the cases and on screen.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from loopaudit.findings import Finding, NotLoop, Reading, Trip
from loopaudit.formats.native.events import FORMAT
from loopaudit.guards import presets
from loopaudit.guards.session import GuardSession
from loopaudit.ingest.runs import RunAssembler
from loopaudit.model import Run
from loopaudit.replay.chains import Chains
from loopaudit.replay.hindsight import judge
from loopaudit.replay.replay import replay_run

Record = dict[str, Any]


def call(tool: str, args: Any = None, result: Any = "ok", **more: Any) -> Record:
    """A call with its answer; `error=True`, `status=…`, `http_status=…`, `at=…` as fields."""
    return {"tool": tool, "args": {} if args is None else args, "result": result, **more}


def failing(tool: str, args: Any = None, result: str = "failed", **more: Any) -> Record:
    return call(tool, args, result, error=True, **more)


def unanswered(tool: str, args: Any = None, **more: Any) -> Record:
    return {"tool": tool, "args": {} if args is None else args, **more}


def step(tokens: int | None, *calls: Record, text: str | None = None, **more: Any) -> Record:
    record: Record = {"type": "response", "calls": list(calls), **more}
    if tokens is not None:
        record["usage"] = {"fresh_input": tokens - tokens // 10, "output": tokens // 10}
    if text is not None:
        record["text"] = text
    return record


def compaction(tokens: int) -> Record:
    return step(tokens, kind="compaction", text="Summary of what was done so far.")


def boundary(kind: str, text: str | None = None) -> Record:
    return {"type": "boundary", "kind": kind, **({"text": text} if text else {})}


def user(text: str = "please go on") -> Record:
    return boundary("user", text)


def runs_of(*records: Record, path: str = "log.jsonl", ids: bool = True) -> list[Run]:
    """Records to runs, by the reader of our own format and the assembler. Ids are filled in."""
    numbers = count(1)
    reader, assembler = FORMAT.reader(path), RunAssembler(path, FORMAT.name)
    for line, record in enumerate(records, 1):
        if ids and record["type"] == "response":
            record = {"id": f"m{line}", **record}
            record["calls"] = [{"id": f"t{next(numbers)}", **c} for c in record.get("calls", [])]
        for piece in reader.feed(line, record):
            assembler.add(piece)
    for piece in reader.end():
        assembler.add(piece)
    assert not reader.rejected, reader.rejected
    return assembler.finish(reader.missing)


def run_of(*records: Record, **more: Any) -> Run:
    (run,) = runs_of(*records, **more)
    return run


@dataclass
class Judged:
    run: Run
    findings: list[Finding]
    not_loops: list[NotLoop]
    readings: list[Reading] = field(default_factory=list)
    trips: list[Trip] = field(default_factory=list)

    @property
    def only(self) -> Finding:
        assert len(self.findings) == 1, self.findings
        return self.findings[0]

    @property
    def total(self) -> int:
        return sum(s.usage.total or 0 for s in self.run.steps if s.usage is not None)

    @property
    def kinds(self) -> set[str]:
        """Kinds of what was looked at and not counted."""
        return {near.kind for near in self.not_loops}

    def count_of(self, signal: str) -> float:
        """The greatest count of a signal; 0 if it never spoke."""
        return max((r.count for r in self.readings if r.signal == signal), default=0)


def judge_run(run: Run, user_guards: Mapping[str, Any] | None = None) -> Judged:
    """A run through the default guard set and hindsight."""
    preset = presets.load("loopaudit", user_guards)
    readings: list[Reading] = []
    counted = Chains(preset.for_task(run.task_type))

    def observe(reading: Reading) -> None:
        readings.append(copy(reading))
        counted.add(readings[-1])

    session = GuardSession(preset, task_type=run.task_type, missing=run.missing, observe=observe)
    (trips,) = replay_run(run, [session])
    findings, near = judge(run, counted, session.dismissed())
    return Judged(run, findings, near, readings, trips)


def judged(*records: Record, **more: Any) -> Judged:
    return judge_run(run_of(*records, **more))


def shape(finding: Finding) -> tuple[int, int, list[int], int | None, str]:
    """(first, onset, charged steps, wasted tokens, retryable), steps counted from 1."""
    return (
        finding.first_seen.step + 1,
        finding.onset.step + 1,
        [entry.step + 1 for entry in finding.waste.steps],
        finding.waste.tokens,
        finding.retryable.value,
    )
