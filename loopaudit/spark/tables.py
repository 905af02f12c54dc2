"""Whole sessions in an Arrow table -> their results in an Arrow table. Knows nothing of Spark.

A unit is what is read as one: a log, or several that hold parts of the same runs. All rows of a
unit are in the table, in any order.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from loopaudit.ingest.parquet import record_of
from loopaudit.ingest.sources import Source
from loopaudit.model import Run
from loopaudit.replay import kept, stored
from loopaudit.replay.merge import claims, mention_ties, ties, unite
from loopaudit.replay.pool import run_jobs
from loopaudit.replay.results import JobResult, RunResult
from loopaudit.replay.stored import COLUMNS, Row
from loopaudit.replay.worker import Plan

_KINDS = {"int": pa.int64(), "float": pa.float64(), "text": pa.string(), "bytes": pa.large_binary()}
TOKENS = ("fresh_input", "cache_read", "cache_write", "output", "reasoning", "tokens")
#: beside records: which belong together, and in what order
PATH, ORDER = "loopaudit_path", "loopaudit_order"
#: `part` is the place of a log in its unit, from 0; `line` counts from 1
LINES = pa.schema(
    {
        "unit": pa.int64(),
        "part": pa.int64(),
        "path": pa.string(),
        "line": pa.int64(),
        "text": pa.binary(),
    }
)
INPUTS = pa.schema(
    {
        "unit": pa.int64(),
        "part": pa.int64(),
        "path": pa.string(),
        "size": pa.int64(),
        "mtime": pa.float64(),
        "etag": pa.string(),
        "named": pa.bool_(),
    }
)
#: the columns of results; of a unit: ids of runs that it holds parts of, and when it begins; `ties`
#: are numbers of which rows that must be looked at together share one
RESULTS = pa.schema(
    {name: _KINDS[kind] for name, kind in COLUMNS.items()}
    | {"claims": pa.list_(pa.string()), "began": pa.float64(), "ties": pa.list_(pa.int64())}
)


def audit_lines(table: pa.Table, plan: Plan, made: str) -> pa.Table:
    """The results of logs whose lines are in `table` (`LINES`)."""
    table = _ordered(table, ("unit", "part", "line"))
    with tempfile.TemporaryDirectory(prefix="loopaudit-lines-") as folder:
        jobs: dict[int, list[Source]] = {}
        for number, (unit, log) in enumerate(_logs(table)):
            source = _spooled(log, os.path.join(folder, str(number)))
            jobs.setdefault(unit, []).append(source)
        return _results(jobs, plan, made)


def audit_inputs(table: pa.Table, plan: Plan, made: str) -> pa.Table:
    """The results of logs that are named in `table` (`INPUTS`) and read from where they lie."""
    jobs: dict[int, list[Source]] = {}
    for row in _ordered(table, ("unit", "part")).to_pylist():
        source = Source(row["path"], row["size"], row["named"], "", row["mtime"], etag=row["etag"])
        jobs.setdefault(row["unit"], []).append(source)
    return _results(jobs, plan, made)


def record_lines(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Our own records, a row each, as JSON lines; the columns `PATH` and `ORDER` stand beside."""
    for batch in batches:
        rows = batch.to_pylist()
        paths = [str(row.pop(PATH)) for row in rows]
        order = [row.pop(ORDER) for row in rows]
        texts = [orjson.dumps(record_of(row)) for row in rows]
        columns = [pa.array(paths), pa.array(order, pa.int64()), pa.array(texts, pa.binary())]
        yield pa.RecordBatch.from_arrays(columns, names=["path", "line", "text"])


def to_table(told: Iterable[Row]) -> pa.Table:
    return pa.Table.from_pylist(list(told), schema=RESULTS)


def own(table: pa.Table) -> pa.Table:
    """The same rows, with what is each run's own among them: a response counts once."""
    found: dict[int, RunResult] = {}
    mentioned: list[Run] = []
    out = table.to_pylist()
    for number, row in enumerate(out):
        if row["run"] is None:
            mentioned += kept.loads(row["result"])[0].mentioned
        else:
            found[number] = kept.loads(row["result"])
    united, _ = unite(list(found.values()), mentioned)
    originals = {id(run) for run in united}
    for number, run in found.items():
        told = stored.own(run, copy=id(run) not in originals)
        names = ("responses", "calls", *TOKENS, "inherited")
        out[number] |= {name: told[name] for name in names}
    return pa.Table.from_pylist(out, schema=RESULTS)


def told(unit: int, job: Sequence[Source], result: JobResult, made: str) -> list[Row]:
    """The rows of one job, with what it claims and what ties it to others."""
    first, *others = stored.rows(unit, job, result, made)
    names, began = claims(result)
    first |= {"claims": sorted(set(names)), "began": began}
    first["ties"] = _signed(mention_ties(result.mentioned))
    tied = [_signed(ties(found)) for found in result.runs]
    return [first, *({**row, "ties": some} for row, some in zip(others, tied, strict=True))]


def _signed(numbers: Iterable[int]) -> list[int]:
    """Numbers of 64 bits as a column of integers holds them."""
    return sorted({number - (1 << 64) if number >> 63 else number for number in numbers})


def _results(jobs: dict[int, list[Source]], plan: Plan, made: str) -> pa.Table:
    found = run_jobs(list(jobs.values()), plan, processes=1)
    return to_table(
        row
        for (unit, job), result in zip(jobs.items(), found, strict=True)
        for row in told(unit, job, result, made)
    )


def _ordered(table: pa.Table, keys: Sequence[str]) -> pa.Table:
    """Sorted; a table that is sorted already is not copied."""
    order = pc.sort_indices(table.select(keys), [(key, "ascending") for key in keys])
    if pc.all(pc.equal(order, pa.array(range(len(order)), order.type))).as_py() is not False:
        return table
    return table.take(order)


def _logs(table: pa.Table) -> Iterator[tuple[int, pa.Table]]:
    """(unit, lines) of each log of a sorted table."""
    marks = list(zip(table["unit"].to_pylist(), table["part"].to_pylist(), strict=True))
    start = 0
    for end in range(1, len(marks) + 1):
        if end == len(marks) or marks[end] != marks[start]:
            yield marks[start][0], table.slice(start, end - start)
            start = end


def _spooled(log: pa.Table, file: str) -> Source:
    """A log as a file. Its last line has no end: nobody knows if it had one."""
    path = log["path"][0].as_py()
    size, last = 0, 0
    with open(file, "wb") as stream:
        for number, text in zip(log["line"].to_pylist(), log["text"], strict=True):
            data = text.as_py() or b""
            data = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
            gap = b"\n" * (number - max(last, 1))  # lines that were left out, too
            stream.write(gap + data)
            size += len(gap) + len(data)
            last = number
    return Source(path, size + 1, True, file)
