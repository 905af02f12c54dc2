"""Jobs that were done before are not done again: their results, from the user's cache.

A result is kept under the paths that were asked for and everything that decides how they are read:
our own files, Python and installed packages, guards, masks, tools, rules, limits of text. With it
stands what was looked at, files beside the log included: each must be now what it was then. What
another's code had a hand in, standard input, and what failed for want of memory or rights is not
kept. Nothing that depends on the time of day is in a result.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from loopaudit import money
from loopaudit.files import evidence
from loopaudit.files.evidence import Evidence
from loopaudit.ingest.sources import PACKED_SUFFIXES, Source
from loopaudit.money import PriceBook
from loopaudit.replay import kept
from loopaudit.replay.pool import run_jobs, uncollected
from loopaudit.replay.results import JobResult
from loopaudit.replay.totals import is_dated, listed, price_book
from loopaudit.replay.worker import Plan
from loopaudit.settings import Settings
from loopaudit.store import Place, Shelf
from loopaudit.store.digests import NotPlain, digest, program

#: rooms that judge and show what a job gave; a job knows nothing of them
_LATER = ("cli", "render", "cost", "tune", "check", "live", "convert", "sample_logs")
#: packed logs take as long as so many times their size
_PACKED = 8
#: rows looked up, and bytes kept, at once
_ROWS, _BYTES = 256, 4 << 20
#: when this process began, or a little later: our files must be older, or it may run others
_BEGAN = time.time()
_MARGIN = 3.0

Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class KnownPrices:
    """What is known of prices without the list, which takes a tenth of a second to load.

    `by` names the user's table and this program with its list; the prices of runs bear that name
    (`RunResult.listed`).
    """

    by: bytes
    dates: tuple[float, ...]  # when prices of the list began


@dataclass(slots=True)
class Cache:
    """The results of one plan. `trouble` tells in one line why nothing is kept, if so."""

    plan: Plan
    prices: KnownPrices | None = None
    book: PriceBook | None = None  # prices that are kept with the results
    by: bytes = b""  # their name
    dates: bytes = b""  # key of the moments at which the list dates a price
    shelf: Shelf | None = None
    name: bytes = b""  # digest of all that decides how a log is read
    trouble: str = ""
    found: int = 0  # jobs that were not done again
    jobs: int = 0
    _rows: list[tuple[bytes, bytes, bytes]] = field(default_factory=list)
    _waiting: int = 0

    def run(
        self,
        jobs: Sequence[list[Source]],
        processes: int | None = None,
        progress: Progress | None = None,
        meanwhile: Callable[[], object] | None = None,
    ) -> list[JobResult]:
        """As `run_jobs`, in the order of `jobs`."""
        if self.shelf is None:
            return run_jobs(jobs, self.plan, processes, progress, meanwhile)
        with uncollected():
            done = self._known(jobs)
        self.found += len(done)
        self.jobs += len(jobs)
        if progress is not None and done:
            progress(sum(source.size for n in done for source in jobs[n]))
        left = [n for n in range(len(jobs)) if n not in done]
        if left:
            missing = [jobs[n] for n in left]

            def keep(number: int, seen: Evidence, result: JobResult, data: bytes) -> None:
                self._keep(missing[number], seen, result, data)

            try:
                fresh = run_jobs(missing, self.plan, processes, progress, meanwhile, keep)
            finally:
                self._write()
            done.update(zip(left, fresh, strict=True))
        if self.prices is None and self.by:
            self.prices = self._known_prices()
        return [done[n] for n in range(len(jobs))]

    @property
    def told(self) -> str:
        """What it had, or why it is not used, in words; empty where it does not pay."""
        if self.shelf is None or self.trouble:
            return f"not used: {self.trouble}" if self.trouble else ""
        return f"{self.found:,} of {self.jobs:,} inputs are as they were read before"

    def close(self) -> None:
        if self.shelf is not None:
            self.shelf.close()
            self.trouble = self.trouble or self.shelf.trouble

    def _known(self, jobs: Sequence[list[Source]]) -> dict[int, JobResult]:
        """Results of jobs whose files are what they were."""
        assert self.shelf is not None
        done: dict[int, JobResult] = {}
        keys = {self._key(job): n for n, job in enumerate(jobs) if _can_be_kept(job)}
        names = list(keys)
        for start in range(0, len(names), _ROWS):
            for key, (about, data) in self.shelf.get(names[start : start + _ROWS]).items():
                try:
                    if evidence.same(kept.loads(about)):
                        done[keys[key]] = self._made(data)
                except (MemoryError, KeyboardInterrupt):
                    raise
                except Exception:  # of another making than ours: done again, and replaced
                    continue
        self.shelf.release()  # not to be shared with processes that start now
        return done

    def _known_prices(self) -> KnownPrices | None:
        assert self.shelf is not None
        row = self.shelf.get([self.dates]).get(self.dates)
        try:
            if row is not None:
                return KnownPrices(self.by, kept.loads(row[1]))
            dates = tuple(money.dates())
        except Exception:  # told where a price is looked up
            return None
        self.shelf.put([(self.dates, b"", kept.dumps(dates))])
        return KnownPrices(self.by, dates)

    def _made(self, data: bytes) -> JobResult:
        result, prices = kept.loads_all(data, 2)
        for found, known in zip(result.runs, prices, strict=True):
            found.listed = known
        made: JobResult = result
        return made

    def _keep(self, job: list[Source], seen: Evidence, result: JobResult, data: bytes) -> None:
        if not _can_be_kept(job) or len(data) > _BYTES * 8:
            return
        for source in job:
            known = seen.marks.get(source.real)
            if known is None or known[0] != source.size:
                return
        if seen.holds():
            about = kept.dumps(tuple(seen.marks.items()))
            if self.book is not None:
                for found in result.runs:
                    if is_dated(found):
                        found.listed = listed(found, self.book, self.by)
            data += kept.dumps([found.listed for found in result.runs])
            self._rows.append((self._key(job), about, data))
            self._waiting += len(data)
            if self._waiting > _BYTES:
                self._write()

    def _write(self) -> None:
        rows, self._rows, self._waiting = self._rows, [], 0
        if self.shelf is not None and rows and _program() is not None:
            self.shelf.put(rows)

    def _key(self, job: list[Source]) -> bytes:
        paths = [source.path for source in job]
        here = "" if all(map(_is_absolute, paths)) else os.getcwd()
        return digest(self.name, here, paths)


def opened(plan: Plan, place: Place | None, sources: Sequence[Source], settings: Settings) -> Cache:
    """The cache of `plan`; one that keeps nothing where it is not wanted, or does not pay."""
    cache = Cache(plan)
    if place is None or not place.enabled or _cost(sources) < place.least:
        return cache
    if place.folder is None:
        cache.trouble = "no home folder"
        return cache
    ours = _program()
    if ours is None:
        cache.trouble = "loopaudit's own files have just been changed"
        return cache
    foreign = [
        rule.detector
        for preset in (*plan.guards, plan.default, *plan.traced)
        for rules in (preset.rules, *(more.rules.values() for more in preset.task_types.values()))
        for rule in rules
        if not rule.detector.startswith("loopaudit.")
    ]
    if foreign:
        cache.trouble = f"a guard uses {foreign[0]}, which may change"
        return cache
    try:
        cache.name = digest(ours, plan)
        os.getcwd()
    except (NotPlain, OSError) as error:
        cache.trouble = str(error)
        return cache
    cache.shelf = Shelf(place.folder, place.most)
    cache.dates = digest(ours, "dates of prices")
    with suppress(NotPlain):
        cache.by = digest(ours, settings.table("prices"))
    if cache.by and not plan.count_tokens:  # else outputs are estimated before they are priced
        cache.book = price_book(settings)
    return cache


def _program() -> bytes | None:
    """The digest of our own files; None where they changed since this process began, or so shortly
    before that it may not run what they say now."""
    found = program(_LATER)
    return None if found is None or found[1] > _BEGAN - _MARGIN else found[0]


def _cost(sources: Sequence[Source]) -> int:
    return sum(s.size * (_PACKED if s.path.endswith(PACKED_SUFFIXES) else 1) for s in sources)


def _can_be_kept(job: list[Source]) -> bool:
    """No standard input, which is a file of this process; no session in a folder of many files."""
    return not any(source.file or source.store for source in job)


def _is_absolute(path: str) -> bool:
    return os.path.isabs(path) or "://" in path
