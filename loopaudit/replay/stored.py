"""Results of jobs as rows of a table, made anywhere and read here as if the logs had just been.

A row is a run, in columns that any program reads, with its whole result as bytes; or a job: one
input, or several that hold parts of the same runs. A job's row tells what it was made with: results
of other guards, masks or another version are refused, not mixed. The rows of a folder belong
together; their order does not matter.
"""

from __future__ import annotations

import io
import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache
from typing import Any

import orjson

from loopaudit import __version__, files
from loopaudit.errors import InputError, LoopauditError, UsageError
from loopaudit.ingest.parquet import MAGIC
from loopaudit.ingest.sources import Found, Source
from loopaudit.replay import kept
from loopaudit.replay.results import JobResult, RunResult
from loopaudit.replay.totals import run_tokens
from loopaudit.replay.worker import Plan
from loopaudit.store.digests import NotPlain, digest

#: column -> kind; `unit` numbers the jobs in their order, `run` is None in the row of a job itself
COLUMNS: dict[str, str] = {
    "unit": "int",
    "run": "text",
    "session": "text",
    "parent": "text",
    "path": "text",
    "format": "text",
    "agent": "text",
    "task_type": "text",
    "outcome": "text",
    "started": "float",  # seconds since the epoch
    "ended": "float",
    # what is the run's own, so that sums over runs count nothing twice
    "responses": "int",
    "calls": "int",
    "fresh_input": "int",
    "cache_read": "int",
    "cache_write": "int",
    "output": "int",
    "reasoning": "int",
    "tokens": "int",
    "inherited": "int",  # steps that another run owns
    "findings": "int",
    "made_with": "text",
    "result": "bytes",
}
_SUFFIX = ".parquet"
Row = dict[str, Any]


# -- to rows --------------------------------------------------------------------------------------


def made_with(plan: Plan, paths: Sequence[str], other_files: int) -> str:
    """What decides the results, and what was asked for, as JSON."""
    told = {
        "loopaudit": __version__,
        "shape": _shape(),
        "guards": {preset.name: _digest(preset) for preset in (plan.default, *plan.guards)},
        "traced": {preset.name: _digest(preset) for preset in plan.traced},
        "rest": _rest(plan),
        "paths": list(paths),
        "other_files": other_files,
    }
    return orjson.dumps(told).decode()


def rows(unit: int, job: Sequence[Source], result: JobResult, made: str) -> list[Row]:
    """The rows of one job; that of the job itself comes first."""
    about = kept.dumps((replace(result, runs=[]), [_row_of(source) for source in job]))
    first = dict.fromkeys(COLUMNS) | {"unit": unit, "made_with": made, "result": about}
    first["path"] = job[0].path if job else None
    return [first, *({**own(found), "unit": unit} for found in result.runs)]


def own(found: RunResult, *, copy: bool = False) -> Row:
    """The row of a run, its `unit` left open. Of a `copy` nothing is its own."""
    run, table = found.run, found.columns
    steps = range(len(table))
    mine = [] if copy else [step for step in steps if step not in found.inherited]
    tokens = run_tokens(found, mine)
    row: Row = {
        "run": run.id,
        "session": run.session,
        "parent": run.parent,
        "path": run.path,
        "format": run.format,
        "agent": run.agent,
        "task_type": run.task_type,
        "outcome": run.outcome,
        "started": run.started,
        "ended": run.ended,
        "responses": sum(not table.compaction[step] for step in mine),
        "calls": sum(table.calls[step] for step in mine),
        "fresh_input": tokens.fresh_input,
        "cache_read": tokens.cache_read,
        "cache_write": tokens.cache_write,
        "output": tokens.output,
        "reasoning": tokens.reasoning,
        "tokens": tokens.total,
        "inherited": len(steps) - len(mine),
        "findings": len(found.findings),
        "result": kept.dumps(found),
    }
    return {name: _whole(row.get(name)) for name in COLUMNS}


def _whole(cell: Any) -> Any:
    """Text with half an emoji in it is no text of a table."""
    if isinstance(cell, str):
        return cell.encode("utf-8", "replace").decode()
    return None if isinstance(cell, float) and not math.isfinite(cell) else cell


def _row_of(source: Source) -> tuple[Any, ...]:
    return source.path, source.size, source.named, source.mtime, source.etag


def _rest(plan: Plan) -> dict[str, str]:
    """Digests of what else decides a result once a log is read, by field of the plan."""
    given = replace(plan, keep=replace(plan.keep, vectors=False))  # follows from the guards
    names = [field.name for field in fields(plan)]
    return {
        name: _digest(getattr(given, name))
        for name in names
        if name not in ("guards", "default", "traced", "log_format", "formats")
    }


def _digest(value: Any) -> str:
    try:
        return digest(value).hex()
    except NotPlain as error:
        raise UsageError(f"results of {error} cannot be kept", "it may change") from None


@cache
def _shape() -> str:
    """A digest of the data classes that results are made of."""
    known = sorted(kept.known().items())
    told = [
        (module, name, tuple(field.name for field in fields(kind)))
        for (module, name), kind in known
        if is_dataclass(kind)
    ]
    return digest(told).hex()


# -- and back -------------------------------------------------------------------------------------


@dataclass(slots=True)
class Stored:
    """Results, and the inputs that they are of."""

    results: list[JobResult]
    sources: list[Source]


def take(found: Found, plan: Plan) -> Stored:
    """Take results out of what was found. Raises `UsageError` for those of another plan, and
    `InputError` for those that are broken."""
    mine = [s for s in found.sources if s.path.endswith(_SUFFIX) and _is_results(s)]
    if not mine:
        return Stored([], [])
    gone = {source.path for source in mine}
    found.sources = [source for source in found.sources if source.path not in gone]
    units: dict[tuple[str, int], JobResult] = {}
    runs: dict[tuple[str, int], list[RunResult]] = {}
    sources: dict[str, Source] = {}
    others: dict[str, int] = {}
    for source in mine:
        for row in _rows(source, plan, others):
            key = os.path.dirname(source.path), row["unit"]
            try:
                result = kept.loads(row["result"])
                if row["run"] is not None:
                    assert isinstance(result, RunResult)
                    runs.setdefault(key, []).append(result)
                    continue
                units[key], told = result
                assert isinstance(units[key], JobResult)
                for path, size, named, mtime, etag in told:
                    sources[path] = Source(path, size, named, "", mtime, etag=etag)
            except (MemoryError, LoopauditError):
                raise
            except Exception as error:
                raise InputError(f"{source.path}: broken results ({error})") from None
    if set(runs) - set(units):
        raise InputError(f"{mine[0].path}: some results are missing", "name the whole folder")
    for key, some in runs.items():
        units[key].runs = some
        for run in some:  # what is asked for now, in that order, and no more
            run.trips = {one.name: run.trips[one.name] for one in plan.guards}
            run.undecidable = {one.name: run.undecidable[one.name] for one in plan.guards}
            run.crossings = {one.name: run.crossings[one.name] for one in plan.traced}
    found.other_files = sum(others.values()) + (found.other_files if found.sources else 0)
    return Stored([units[key] for key in sorted(units)], [sources[p] for p in sorted(sources)])


def _is_results(source: Source) -> bool:
    import polars as pl

    if not files.begins_with(source.real, MAGIC):
        return False
    try:
        return {"made_with", "result", "unit"} <= set(pl.read_parquet_schema(_opened(source)))
    except MemoryError:
        raise
    except Exception:  # no such table: told by whoever reads it as a log
        return False


def _opened(source: Source) -> Any:
    remote = files.is_remote(source.real)
    return io.BytesIO(files.whole(source.real)) if remote else source.real


def _rows(source: Source, plan: Plan, others: dict[str, int]) -> Iterable[Row]:
    import polars as pl

    try:
        table = pl.read_parquet(_opened(source), columns=["unit", "run", "made_with", "result"])
        made = {text: orjson.loads(text) for text in table["made_with"].drop_nulls().unique()}
    except MemoryError:
        raise
    except Exception as error:
        reason = " ".join(str(error).split())[:200]
        raise InputError(f"{source.path}: results that cannot be read ({reason})") from None
    for text, told in made.items():
        _check(source.path, told, plan)
        others[text] = told["other_files"]
    return table.iter_rows(named=True)


def _check(path: str, told: Any, plan: Plan) -> None:
    again = "make them again with the same settings and flags as here"
    if not isinstance(told, dict) or told.get("loopaudit") != __version__:
        raise UsageError(f"{path}: results of another version of loopaudit", again)
    if told.get("shape") != _shape():
        raise UsageError(f"{path}: results of another state of loopaudit's code", again)
    for kind, presets in (("guards", (plan.default, *plan.guards)), ("traced", plan.traced)):
        for preset in presets:
            there = told[kind].get(preset.name)
            if there is None:
                name = preset.name
                raise UsageError(f"{path}: made without {name}", f"make them with --guard {name}")
            if there != _digest(preset):
                raise UsageError(f"{path}: made with other thresholds of {preset.name}", again)
    for name, value in _rest(plan).items():
        if told["rest"].get(name) == value:
            continue
        if name == "keep":
            raise UsageError(f"{path}: made with or without --excerpts, unlike here", again)
        words = name.replace("_", " ")
        raise UsageError(f"{path}: made with other settings ({words})", again)
