"""Jobs over processes: largest files first, results in the order of the inputs."""

from __future__ import annotations

import gc
import multiprocessing
import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from traceback import extract_tb
from typing import Any

from loopaudit import files
from loopaudit.errors import LoopauditError
from loopaudit.files import evidence
from loopaudit.files.evidence import Evidence
from loopaudit.findings import Failure
from loopaudit.ingest.sources import Source
from loopaudit.model import Skip
from loopaudit.replay.results import JobResult
from loopaudit.replay.worker import Plan, lasts, run_job

#: below this many bytes starting a process costs more than it saves
SERIAL_BYTES = 24 << 20
#: files are handed out in lots of at most about this size, several for each worker
LOT_BYTES = 16 << 20
LOTS = 4
#: signals by which a user or a supervisor ends a program
_ENDS = {getattr(signal, n) for n in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, n)}
_PROTOCOL = 5
_KILLED = "the process that read it was killed, most likely for want of memory"

Progress = Callable[[int], None]  # bytes read since the last call
#: takes a result that may be kept: number of the job, what was looked at, the result, and pickled
Keep = Callable[[int, Evidence, JobResult, bytes], None]
#: a result pickled, and what was looked at; None: it is not to be kept
_Answer = tuple[bytes, Evidence | None]


def run_jobs(
    jobs: Sequence[list[Source]],
    plan: Plan,
    processes: int | None = None,
    progress: Progress | None = None,
    meanwhile: Callable[[], object] | None = None,
    keep: Keep | None = None,
) -> list[JobResult]:
    """The result of each job, in the order of `jobs`, however many processes work.

    `meanwhile` is called here once they are at work.
    """
    sizes = [sum(s.size for s in job) for job in jobs]
    workers = min(processes or os.cpu_count() or 1, len(jobs))
    tell = progress or (lambda size: None)
    done: dict[int, JobResult] = {}
    if workers > 1 and (processes is not None or sum(sizes) >= SERIAL_BYTES):
        lots = _lots(sizes, min(LOT_BYTES, sum(sizes) // (workers * LOTS)))
        if len(lots) > 1:
            done = _parallel(workers, lots, jobs, plan, lambda i: tell(sizes[i]), meanwhile, keep)
    _expect([job for i, job in enumerate(jobs) if i not in done])
    for i, job in enumerate(jobs):
        if i not in done:
            done[i], seen = _quietly(job, plan)
            if keep is not None and seen is not None:
                keep(i, seen, done[i], pickle.dumps(done[i], _PROTOCOL))
            tell(sizes[i])
    return [done[i] for i in range(len(jobs))]


def _lots(sizes: list[int], least: int) -> list[list[int]]:
    """Numbers of jobs in lots of `least` bytes or a little more, the largest jobs first."""
    lots: list[list[int]] = []
    open_lot: list[int] = []
    filled = 0
    for i in sorted(range(len(sizes)), key=lambda i: -sizes[i]):
        open_lot.append(i)
        filled += sizes[i]
        if filled >= least:
            lots.append(open_lot)
            open_lot, filled = [], 0
    return [*lots, open_lot] if open_lot else lots


def _parallel(
    workers: int,
    lots: list[list[int]],
    jobs: Sequence[list[Source]],
    plan: Plan,
    progress: Callable[[int], None],
    meanwhile: Callable[[], object] | None = None,
    keep: Keep | None = None,
) -> dict[int, JobResult]:
    """Results by number of job, without those for which no process could be started.

    A lot whose worker is killed is given out again job by job; a job that kills its own is lost.
    """
    done: dict[int, JobResult] = {}
    left = lots[::-1]
    busy: dict[Any, tuple[BaseProcess, list[int]]] = {}  # by connection
    try:
        while left or busy:
            while left and len(busy) < workers:
                started = _started(plan)
                if started is None:
                    break
                process, link = started
                busy[link] = process, _give(link, left.pop(), jobs)
            if not busy:
                break  # this machine gives no process at all
            if meanwhile is not None:
                meanwhile()
                meanwhile = None
            ready: Any
            for ready in wait(list(busy)):
                process, lot = busy[ready]
                answer = _answer(ready)
                if isinstance(answer, Exception):
                    raise answer
                if answer is None and len(lot) > 1:
                    left += [[i] for i in reversed(lot)]
                else:
                    answers = answer or [_lost(jobs[i]) for i in lot]
                    for i, (data, seen) in zip(lot, answers, strict=True):
                        done[i] = pickle.loads(data)
                        if keep is not None and seen is not None:
                            keep(i, seen, done[i], data)
                        progress(i)
                if answer is not None and left:
                    busy[ready] = process, _give(ready, left.pop(), jobs)
                else:
                    del busy[ready]
                    _end(process, ready)
    finally:
        for process, _ in busy.values():
            process.terminate()
        for link, (process, _) in busy.items():
            _end(process, link)
    return done


def _started(plan: Plan) -> tuple[BaseProcess, Connection] | None:
    """A worker that waits for lots; None where this machine gives no more."""
    # fork starts at once and shares what is imported; elsewhere it is not safe or not there, nor
    # is it once the client of an object store has threads
    fork = sys.platform == "linux" and "obstore" not in sys.modules
    context: Any = multiprocessing.get_context("fork" if fork else "spawn")
    sys.stdout.flush()  # or a fork would write it too
    try:
        ours, theirs = context.Pipe()
    except OSError:
        return None
    try:
        process: BaseProcess = context.Process(target=_work, args=(theirs, plan), daemon=True)
        with _held():
            process.start()
    except OSError:
        ours.close()
        return None
    finally:
        theirs.close()
    return process, ours


@contextmanager
def _held() -> Iterator[None]:
    """Signals wait meanwhile: a fork must not run a handler of its parent."""
    mask = getattr(signal, "pthread_sigmask", None)
    if mask is None:
        yield
        return
    before = mask(signal.SIG_BLOCK, _ENDS)
    try:
        yield
    finally:
        mask(signal.SIG_SETMASK, before)


def _give(link: Connection, lot: list[int], jobs: Sequence[list[Source]]) -> list[int]:
    with suppress(OSError):  # killed already: its answer will be none
        link.send([jobs[i] for i in lot])
    return lot


def _answer(link: Connection) -> list[_Answer] | Exception | None:
    """What a worker sends; None where it was killed."""
    try:
        answer: list[_Answer] | Exception = link.recv()
    except (EOFError, OSError):
        return None
    return answer


def _end(process: BaseProcess, link: Connection) -> None:
    with suppress(OSError):
        link.send(None)
    process.join(5)
    link.close()


def _lost(job: list[Source]) -> _Answer:
    lost = JobResult(
        skips=[Skip(source.path, None, _KILLED) for source in job],
        failures=[Failure("worker process", None, source.path, _KILLED) for source in job],
    )
    return pickle.dumps(lost, _PROTOCOL), None


# -- in the worker --------------------------------------------------------------------------------


def _work(link: Connection, plan: Plan) -> None:
    for number in _ENDS:  # the parent is told by Ctrl-C too, and ends its workers itself
        signal.signal(number, signal.SIG_IGN if number == signal.SIGINT else signal.SIG_DFL)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDS)
    threading.Thread(target=_follow_parent, daemon=True).start()
    gc.disable()  # see `_quietly`
    while (lot := link.recv()) is not None:
        answer: list[_Answer] | Exception
        _expect(lot)
        try:
            answer = []
            for job in lot:
                result, seen = _quietly(job, plan)
                answer.append((pickle.dumps(result, _PROTOCOL), seen))
        except (LoopauditError, OSError) as error:
            answer = error
        except Exception as error:  # its traceback cannot be sent
            place = extract_tb(error.__traceback__)[-1]
            where = f"{os.path.basename(place.filename)}:{place.lineno}"
            answer = RuntimeError(f"{type(error).__name__} in {where}: {error}")
        link.send(answer)


def _follow_parent() -> None:
    """Ends a worker whose parent was killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _expect(jobs: Sequence[list[Source]]) -> None:
    """Objects in stores are fetched while those before them are read."""
    remote = [s for job in jobs for s in job if files.is_remote(s.real)]
    if remote:
        from loopaudit.files.objects import Object
        from loopaudit.files.streams import expect

        expect([Object(s.path, s.size, s.etag, s.mtime) for s in remote])


def _quietly(job: list[Source], plan: Plan) -> tuple[JobResult, Evidence | None]:
    """Run a job without the cyclic collector: nothing it builds is cyclic, and it costs a third.

    With what was looked at for it, where the same files will always give the same result.
    """
    try:
        with uncollected(), evidence.watching() as seen:
            result = run_job(job, plan)
        return result, seen if seen.sound and lasts(result) else None
    except MemoryError:
        lost = JobResult(skips=[Skip(s.path, None, "not enough memory to read it") for s in job])
        return lost, None


@contextmanager
def uncollected() -> Iterator[None]:
    """No cyclic collector meanwhile."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
