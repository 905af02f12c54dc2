"""Jobs over processes: largest files first, results in the order of the inputs."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool

from loopaudit.errors import ExtensionError
from loopaudit.ingest.sources import Source
from loopaudit.model import Skip
from loopaudit.replay.results import JobResult
from loopaudit.replay.worker import Plan, run_job

#: below this many bytes starting a process costs more than it saves
SERIAL_BYTES = 24 << 20
#: files are handed out in lots of about this size
LOT_BYTES = 16 << 20

Progress = Callable[[int], None]  # bytes read since the last call


def run_jobs(
    jobs: Sequence[list[Source]],
    plan: Plan,
    processes: int | None = None,
    progress: Progress | None = None,
) -> list[JobResult]:
    """The result of each job, in the order of `jobs`, however many processes work."""
    sizes = [sum(s.size for s in job) for job in jobs]
    workers = min(processes or os.cpu_count() or 1, len(jobs))
    if workers > 1 and (processes is not None or sum(sizes) >= SERIAL_BYTES):
        lots = _lots(sizes)
        pool = _pool(min(workers, len(lots)), plan)
        if pool is not None:
            return _parallel(pool, lots, jobs, sizes, progress)
    results = []
    for job, size in zip(jobs, sizes, strict=True):
        results.append(_quietly(job, plan))
        if progress is not None:
            progress(size)
    return results


def _pool(workers: int, plan: Plan) -> ProcessPoolExecutor | None:
    """Workers that have started; None where this machine gives no more processes or semaphores."""
    # fork starts at once and shares what is imported; elsewhere it is not safe or not there
    method = "fork" if sys.platform == "linux" else "spawn"
    pool = None
    try:
        pool = ProcessPoolExecutor(
            workers,
            mp_context=multiprocessing.get_context(method),
            initializer=_start,
            initargs=(plan,),
        )
        pool.submit(os.getpid)
    except (OSError, ImportError, NotImplementedError):
        if pool is not None:
            _terminate(pool)
            pool.shutdown(wait=False, cancel_futures=True)
        return None
    return pool


def _terminate(pool: ProcessPoolExecutor) -> None:
    for process in list((pool._processes or {}).values()):
        process.terminate()


def _lots(sizes: list[int]) -> list[list[int]]:
    """Numbers of jobs in lots of about one size, the largest jobs first."""
    lots: list[list[int]] = []
    open_lot: list[int] = []
    filled = 0
    for i in sorted(range(len(sizes)), key=lambda i: -sizes[i]):
        open_lot.append(i)
        filled += sizes[i]
        if filled >= LOT_BYTES:
            lots.append(open_lot)
            open_lot, filled = [], 0
    return [*lots, open_lot] if open_lot else lots


def _parallel(
    pool: ProcessPoolExecutor,
    lots: list[list[int]],
    jobs: Sequence[list[Source]],
    sizes: list[int],
    progress: Progress | None,
) -> list[JobResult]:
    done: dict[int, JobResult] = {}
    try:
        pending: dict[Future[list[JobResult]], list[int]] = {
            pool.submit(_lot, [jobs[i] for i in lot]): lot for lot in lots
        }
        for future in as_completed(pending):
            lot = pending[future]
            for i, result in zip(lot, future.result(), strict=True):
                done[i] = result
            if progress is not None:
                progress(sum(sizes[i] for i in lot))
    except BrokenProcessPool as error:
        raise ExtensionError(
            "a worker process was killed, most likely for want of memory",
            "try --processes 1, or fewer files at once",
        ) from error
    except BaseException:
        _terminate(pool)
        raise
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
    return [done[i] for i in range(len(jobs))]


_plans: list[Plan] = []  # the plan of this worker, handed over once


def _start(plan: Plan) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends its workers itself
    for number in (signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)):
        signal.signal(number, signal.SIG_DFL)
    threading.Thread(target=_follow_parent, daemon=True).start()
    _plans.append(plan)


def _follow_parent() -> None:
    """Ends a worker whose parent was killed: it would wait for work for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _lot(jobs: list[list[Source]]) -> list[JobResult]:
    return [_quietly(job, _plans[-1]) for job in jobs]


def _quietly(job: list[Source], plan: Plan) -> JobResult:
    """Run a job without the cyclic collector: nothing it builds is cyclic, and it costs a third."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        return run_job(job, plan)
    except MemoryError:
        return JobResult(skips=[Skip(s.path, None, "not enough memory to read it") for s in job])
    finally:
        if enabled:
            gc.enable()
