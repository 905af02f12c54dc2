"""The same results by Spark: logs in, a data frame of results out.

First every log is read by itself, many at once. Then the engine brings together those that hold
parts of the same runs, and they are read again as one. Which responses stand in several runs is
found by the engine too; each counts for the run that owns it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from loopaudit.ingest.sources import Found, Source
from loopaudit.replay.merge import joint
from loopaudit.replay.pool import run_jobs
from loopaudit.replay.results import JobResult
from loopaudit.replay.stored import Row, made_with
from loopaudit.replay.worker import Plan
from loopaudit.spark import tables

#: bytes of logs in a partition
PARTITION = 128 << 20
#: whole units are handed to the pure function together up to so many bytes
_AT_ONCE = 16 << 20
_ORDER, _PATH = tables.ORDER, tables.PATH
_DDL = {
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.float64(): "double",
    pa.string(): "string",
    pa.binary(): "binary",
    pa.large_binary(): "binary",
    pa.bool_(): "boolean",
    pa.list_(pa.string()): "array<string>",
    pa.list_(pa.int64()): "array<bigint>",
}
Audit = Callable[[pa.Table, Plan, str], pa.Table]


def of_inputs(
    spark: SparkSession, found: Found, plan: Plan, paths: Sequence[str], partitions: int | None
) -> DataFrame:
    """The results of all inputs; the executors read them from where they lie.

    What lies on this machine alone (standard input, copies of databases) is read here.
    """
    made = made_with(plan, paths, found.other_files)
    sources = found.sources
    far = {n: [source] for n, source in enumerate(sources) if not (source.file or source.store)}
    near = {n: [source] for n, source in enumerate(sources) if n not in far}
    size = sum(source.size for source in sources)
    wanted = partitions or max(size // PARTITION, 4 * spark.sparkContext.defaultParallelism)

    def audited(units: dict[int, list[Source]]) -> DataFrame:
        return _audited(_inputs(spark, units, wanted), tables.audit_inputs, plan, made)

    single = audited(far).persist(StorageLevel.DISK_ONLY)
    told = tables.told(-1, [], JobResult(skips=found.skips), made) + _near(near, plan, made)
    single = single.unionByName(_frame(spark, told, tables.RESULTS))
    groups = _joint(single)
    if not groups:
        return _owned(single)
    first = len(sources)
    again = {n: [sources[unit] for unit in group] for n, group in enumerate(groups, first)}
    here = {n: job for n, job in again.items() if any(s.file or s.store for s in job)}
    there = {n: job for n, job in again.items() if n not in here}
    joined = audited(there).unionByName(_frame(spark, _near(here, plan, made), tables.RESULTS))
    return _owned(_without(spark, single, groups).unionByName(joined))


def of_lines(lines: DataFrame, plan: Plan, partitions: int | None = None) -> DataFrame:
    """The results of logs whose lines are in `lines`: `path`, `line` from 1, `text`."""
    made = made_with(plan, [], 0)
    lines = lines.select("path", F.col("line").cast("bigint"), F.col("text").cast("binary"))
    paths = sorted(row.path for row in lines.select("path").distinct().collect())

    def audited(units: dict[int, list[str]]) -> DataFrame:
        placed = _by_unit(lines, units, partitions)
        return _audited(placed, tables.audit_lines, plan, made)

    single = audited({n: [path] for n, path in enumerate(paths)}).persist(StorageLevel.DISK_ONLY)
    groups = _joint(single)
    if not groups:
        return _owned(single)
    first = len(paths)
    again = {n: [paths[unit] for unit in group] for n, group in enumerate(groups, first)}
    return _owned(_without(lines.sparkSession, single, groups).unionByName(audited(again)))


def _near(units: dict[int, list[Source]], plan: Plan, made: str) -> list[Row]:
    """What is read on this machine."""
    results = run_jobs(list(units.values()), plan)
    told: list[Row] = []
    for (unit, job), result in zip(units.items(), results, strict=True):
        told += tables.told(unit, job, result, made)
    return told


def _owned(found: DataFrame) -> DataFrame:
    """What is each run's own: runs with a response in common are looked at together."""
    found = found.persist(StorageLevel.DISK_ONLY)
    tied = found.select(
        F.struct("unit", F.coalesce("run", F.lit("")).alias("run")).alias("row"),
        F.explode("ties").alias("tie"),
    )
    pairs = (
        tied.groupBy("tie")
        .agg(F.collect_set("row").alias("rows"))
        .where(F.size("rows") > 1)
        .select(F.array_min("rows").alias("first"), F.explode("rows").alias("row"))
        .where("first != row")
        .distinct()
        .collect()
    )
    if not pairs:
        return found
    keys = sorted({tuple(row) for pair in pairs for row in pair})
    number = {key: n for n, key in enumerate(keys)}
    cluster = list(range(len(keys)))

    def root(n: int) -> int:
        while cluster[n] != n:
            cluster[n] = cluster[cluster[n]]
            n = cluster[n]
        return n

    for first, row in pairs:
        cluster[root(number[tuple(row)])] = root(number[tuple(first)])
    schema = pa.schema({"unit": pa.int64(), "key": pa.string(), "cluster": pa.int64()})
    rows = [{"unit": unit, "key": run, "cluster": root(n)} for (unit, run), n in number.items()]
    where = F.broadcast(_frame(found.sparkSession, rows, schema))
    keyed = found.withColumn("key", F.coalesce("run", F.lit("")))
    alone = keyed.join(where, ["unit", "key"], "left_anti").select(tables.RESULTS.names)
    placed = keyed.join(where, ["unit", "key"]).repartition("cluster")
    placed = placed.sortWithinPartitions("cluster", "unit", "key")
    names = ["cluster", *tables.RESULTS.names]
    return alone.unionByName(placed.select(names).mapInArrow(_own, _ddl(tables.RESULTS)))


def _own(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """In the executor: clusters, one or some at once."""
    for table in _whole(batches, "cluster"):
        yield from tables.own(table.drop_columns("cluster")).to_batches()


def _by_unit(lines: DataFrame, units: dict[int, list[str]], partitions: int | None) -> DataFrame:
    """All lines of a unit in one partition, and in order."""
    rows = [
        {"unit": unit, "part": part, "path": path}
        for unit, paths in units.items()
        for part, path in enumerate(paths)
    ]
    schema = pa.schema([tables.LINES.field(name) for name in ("unit", "part", "path")])
    where = _frame(lines.sparkSession, rows, schema)
    by = ("unit",) if partitions is None else (partitions, "unit")
    placed = lines.join(F.broadcast(where), "path").repartition(*by)
    return placed.sortWithinPartitions("unit", "part", "line").select(tables.LINES.names)


def _audited(frame: DataFrame, do: Audit, plan: Plan, made: str) -> DataFrame:
    return frame.mapInArrow(partial(_mapped, do=do, plan=plan, made=made), _ddl(tables.RESULTS))


def _mapped(
    batches: Iterable[pa.RecordBatch], do: Audit, plan: Plan, made: str
) -> Iterator[pa.RecordBatch]:
    """In the executor: whole units, some at once, through the pure function."""
    for table in _whole(batches):
        yield from do(table, plan, made).to_batches()


def _whole(batches: Iterable[pa.RecordBatch], by: str = "unit") -> Iterator[pa.Table]:
    """Rows that are sorted by `by`, in tables in which all rows of one are together."""
    held: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        if batch.num_rows == 0:
            continue
        held.append(batch)
        size += batch.nbytes
        if size < _AT_ONCE:
            continue
        table = pa.Table.from_batches(held)
        numbers = table[by].to_pylist()
        begun = numbers.index(numbers[-1])  # of the last one more may come
        if begun:
            yield table.slice(0, begun)
        held = table.slice(begun).to_batches()
        size = sum(one.nbytes for one in held)
    if held:
        yield pa.Table.from_batches(held)


def _joint(single: DataFrame) -> list[list[int]]:
    """Groups of units whose logs hold parts of the same runs; the engine finds who shares one."""
    claimed = single.where("claims is not null").select(
        "unit", "path", "began", F.explode("claims").alias("claim")
    )
    shared = (
        claimed.groupBy("claim")
        .agg(F.collect_list(F.struct("unit", "path", "began")).alias("holders"))
        .where(F.size("holders") > 1)
        .collect()
    )
    names: dict[int, list[str]] = {}
    began: dict[int, tuple[float, str]] = {}
    for row in sorted(shared, key=lambda row: str(row.claim)):
        for holder in row.holders:
            names.setdefault(holder.unit, []).append(row.claim)
            began[holder.unit] = (holder.began, holder.path)
    units = sorted(names)
    groups = joint([names[unit] for unit in units], [began[unit] for unit in units])
    return [[units[n] for n in group] for group in groups]


def _without(spark: SparkSession, single: DataFrame, groups: list[list[int]]) -> DataFrame:
    gone = _frame(
        spark, [{"unit": n} for group in groups for n in group], pa.schema({"unit": pa.int64()})
    )
    return single.join(F.broadcast(gone), "unit", "left_anti").select(tables.RESULTS.names)


def _lots(sizes: dict[int, int], number: int) -> dict[int, int]:
    """unit -> partition, so that all hold about the same number of bytes."""
    import heapq

    heap = [(0, n) for n in range(max(number, 1))]
    lots: dict[int, int] = {}
    for unit in sorted(sizes, key=lambda unit: -sizes[unit]):
        filled, lot = heapq.heappop(heap)
        lots[unit] = lot
        heapq.heappush(heap, (filled + sizes[unit], lot))
    return lots


def _inputs(spark: SparkSession, units: dict[int, list[Source]], wanted: int) -> DataFrame:
    """The inputs of units, each unit in its partition and in order."""
    number = max(1, min(wanted, len(units)))
    lots = _lots({unit: sum(s.size for s in job) for unit, job in units.items()}, number)
    names = [name for name in tables.INPUTS.names if name not in ("unit", "part")]
    rows = [
        {"lot": lots[unit], "unit": unit, "part": part, **{n: getattr(s, n) for n in names}}
        for unit, job in units.items()
        for part, s in enumerate(job)
    ]
    frame = _frame(spark, rows, pa.schema([pa.field("lot", pa.int32()), *tables.INPUTS]))
    if hasattr(frame, "repartitionById"):  # from Spark 4.1 on
        frame = frame.repartitionById(number, F.col("lot"))
    else:
        frame = frame.repartition(number, "lot")
    return frame.sortWithinPartitions("unit", "part").select(tables.INPUTS.names)


def _frame(spark: SparkSession, rows: list[dict[str, Any]], schema: pa.Schema) -> DataFrame:
    return spark.createDataFrame(
        [tuple(row.get(name) for name in schema.names) for row in rows], _ddl(schema)
    )


def _ddl(schema: pa.Schema) -> str:
    return ", ".join(f"`{field.name}` {_DDL[field.type]}" for field in schema)


def as_lines(records: DataFrame, path: str, order: str | None) -> DataFrame:
    """Our own records as lines of logs, numbered in their order."""
    rising = F.monotonically_increasing_id() if order is None else F.col(order)
    numbered = records.withColumn(_ORDER, rising).withColumn(_PATH, F.col(path))
    lines = numbered.mapInArrow(tables.record_lines, "path string, line bigint, text binary")
    within = Window.partitionBy("path").orderBy("line")
    return lines.withColumn("line", F.row_number().over(within))


def absolute(paths: Iterable[str]) -> list[str]:
    """Executors have working folders of their own."""
    from loopaudit import files

    return [p if files.is_remote(p) or p == "-" else os.path.abspath(files.local(p)) for p in paths]


__all__ = ["absolute", "as_lines", "of_inputs", "of_lines"]
