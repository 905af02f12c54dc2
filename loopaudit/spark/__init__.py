"""Many machines, the same answer: logs out there, results in a table (the extra `spark`).

For notebooks: each function takes what a session of Spark holds and gives a data frame, one row a
run (and one an input, whose `run` is null). Written as Parquet it is what `loopaudit report`,
`tune`, `chart` and `check` read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from loopaudit.replay.audit import AuditOptions
    from loopaudit.replay.worker import Plan


def audit_paths(
    spark: SparkSession,
    paths: Sequence[str],
    *,
    guards: Sequence[str] = (),
    config: str | None = None,
    partitions: int | None = None,
) -> DataFrame:
    """The results of the logs behind `paths`, which the executors read themselves: URLs of object
    stores, or paths that all machines share. Raises `LoopauditError`."""
    return of_options(spark, options(paths, guards, config), partitions)


def audit_lines(
    lines: DataFrame,
    *,
    path: str = "path",
    line: str = "line",
    text: str = "text",
    guards: Sequence[str] = (),
    config: str | None = None,
    partitions: int | None = None,
) -> DataFrame:
    """The results of logs whose raw lines stand in the columns named: the log that a line is of,
    its number from 1, and its text or bytes. The rows may lie anywhere, in any order."""
    from pyspark.sql import functions as F

    from loopaudit.spark import engine

    named = lines.select(
        *(F.col(c).alias(n) for c, n in ((path, "path"), (line, "line"))), F.col(text).alias("text")
    )
    plan = _plan(options((), guards, config))
    return _shown(engine.of_lines(named, plan, partitions))


def audit_records(
    records: DataFrame,
    *,
    path: str = "run",
    order: str | None = None,
    guards: Sequence[str] = (),
    config: str | None = None,
    partitions: int | None = None,
) -> DataFrame:
    """The results of our own records, as `loopaudit convert` writes them to Parquet. `path` is the
    column that tells which belong together; `order` one that rises within them (by default the
    order in which the files hold them)."""
    from loopaudit.spark import engine

    plan = _plan(options((), guards, config))
    return _shown(engine.of_lines(engine.as_lines(records, path, order), plan, partitions))


def options(paths: Sequence[str], guards: Sequence[str], config: str | None) -> AuditOptions:
    """What is asked for. Guards: those named, else all that the settings name for a command; their
    counts are kept, so that `tune` can look thresholds up. Raises `LoopauditError`."""
    from loopaudit import settings
    from loopaudit.replay.audit import AuditOptions

    found = settings.load(config)
    return with_guards(AuditOptions(list(paths), settings=found, guards=tuple(guards)))


def with_guards(asked: AuditOptions) -> AuditOptions:
    """The same with all guards that `report`, `tune` and `check` would ask the results for."""
    from functools import partial

    from loopaudit.check import options as checking
    from loopaudit.guards import presets
    from loopaudit.settings import Settings
    from loopaudit.tune import options as tuning
    from loopaudit.tune.dimensions import LIMITS, limits
    from loopaudit.tune.tune import traced

    found = asked.settings or Settings()
    if not asked.guards:
        reported = found.reader("report").texts("guards")
        asked.guards = (*reported, *checking.read(found).guards, *tuning.read(found).guards)
    asked.guards = tuple(dict.fromkeys(name for name in asked.guards if name != LIMITS))
    user = found.table("guards")
    load = partial(presets.load, user=user, place=partial(found.place, "guards"))
    budget = found.reader("budgets").table("run").number("usd", least=0)
    asked.traced = traced([*map(load, asked.guards), limits(user, budget)])
    return asked


def of_options(
    spark: SparkSession, asked: AuditOptions, partitions: int | None = None
) -> DataFrame:
    """The results of what `asked` names. Raises `LoopauditError`."""
    from loopaudit.ingest.sources import discover
    from loopaudit.spark import engine

    asked.paths = engine.absolute(asked.paths)
    plan = _plan(asked)
    found = discover(asked.paths)
    return _shown(engine.of_inputs(spark, found, plan, asked.paths, partitions))


def _plan(asked: AuditOptions) -> Plan:
    from loopaudit.replay.audit import make_plan

    return make_plan(asked)


def _shown(results: Any) -> DataFrame:
    shown: DataFrame = results.drop("claims", "began", "ties")
    return shown
