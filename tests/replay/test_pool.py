"""Workers that are killed, and machines that give none: what can be read is read."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from loopaudit.ingest.runs import RunAssembler
from loopaudit.ingest.sources import Source
from loopaudit.model import ResponsePiece, Run
from loopaudit.replay import pool, worker
from loopaudit.replay.audit import AuditOptions, audit, make_plan
from loopaudit.replay.results import JobResult, RunResult
from loopaudit.replay.worker import Plan

LINE = (
    '{"loopaudit": 1}\n{"type": "response", "run": "%s", "id": "%s-response-0001", "text": "x"}\n'
)


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    for name in "abcde":
        (tmp_path / f"{name}.jsonl").write_text(LINE % (name, name), encoding="utf-8")
    return tmp_path


def test_a_job_that_kills_its_worker_is_lost_alone(
    logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_job = pool.run_job

    def deadly(sources: list[Source], plan: Plan) -> JobResult:
        if "c.jsonl" in sources[0].path:
            os.kill(os.getpid(), signal.SIGKILL)
        return run_job(sources, plan)

    monkeypatch.setattr(pool, "run_job", deadly)
    report = audit(AuditOptions([str(logs)], processes=2))
    assert [run.id[-1] for run in report.runs] == ["a", "b", "d", "e"]
    assert [os.path.basename(skip.path) for skip in report.skips] == ["c.jsonl"]
    assert "killed" in report.failures[0].message
    assert report.totals.completeness == "partial"


def test_no_process_can_be_started(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> int:
        raise BlockingIOError("no more processes")

    monkeypatch.setattr(os, "fork", refuse)
    assert len(audit(AuditOptions([str(logs)], processes=2)).runs) == 5


@pytest.mark.parametrize("where", ["reader", "replay"])
def test_want_of_memory_loses_one_input(
    logs: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    replay, response = worker.replay, RunAssembler._response

    def greedy_replay(run: Run, plan: Plan) -> RunResult:
        if run.id == "c":
            raise MemoryError
        return replay(run, plan)

    def greedy_response(self: RunAssembler, piece: ResponsePiece) -> None:
        if piece.run == "c":
            raise MemoryError
        response(self, piece)

    if where == "replay":
        monkeypatch.setattr(worker, "replay", greedy_replay)
    else:
        monkeypatch.setattr(RunAssembler, "_response", greedy_response)
    for processes in (1, 2):
        report = audit(AuditOptions([str(logs)], processes=processes))
        assert len(report.runs) == 4
        assert [skip.reason for skip in report.skips] == ["not enough memory to read it"]
        assert not report.failures


def test_a_fault_of_the_program_names_its_place(
    logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "run_job", lambda sources, plan: 1 // 0)
    options = AuditOptions([str(logs)])
    jobs = [[Source(str(path), 1, False)] for path in logs.iterdir()]
    with pytest.raises(RuntimeError, match=r"ZeroDivisionError in test_pool\.py:\d+"):
        pool.run_jobs(jobs, make_plan(options), 2)


def test_progress_counts_every_byte_once(logs: Path) -> None:
    jobs = [[Source(str(path), path.stat().st_size, False)] for path in logs.iterdir()]
    for processes in (1, 2):
        told: list[int] = []
        pool.run_jobs(jobs, make_plan(AuditOptions([])), processes, told.append)
        assert sorted(told) == sorted(job[0].size for job in jobs)
