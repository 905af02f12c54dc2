"""The three tables of an analysis, for commands that export or query them."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from loopaudit.errors import UsageError

if TYPE_CHECKING:
    from polars import DataFrame

    from loopaudit.findings import Report


def tables(
    paths: list[str] | None,
    config: str | None,
    *,
    agents: Sequence[str] = (),
    since: str | None = None,
    until: str | None = None,
    tz: str | None = None,
    task_type: str | None = None,
    log_format: str | None = None,
    labels: str | None = None,
    mapping: str | None = None,
    estimate: bool = False,
    processes: int | None = None,
    no_cache: bool = False,
    quiet: bool = False,
) -> tuple[Report, dict[str, DataFrame]]:
    """The report and its frames by name: runs, steps, findings."""
    import time

    from loopaudit import settings
    from loopaudit.cli import options as given
    from loopaudit.cli.auditing import analysed
    from loopaudit.render import frames

    now = time.time()
    chosen = settings.load(config)
    preferred = given.preferences(chosen)
    zone = given.zone(tz or preferred.zone_name)
    options = given.audit_options(
        paths or [],
        chosen,
        agents=agents,
        guards=preferred.guards,
        **given.window(since, until, zone, now),
        task_type=task_type,
        log_format=log_format,
        labels=labels,
        mapping=mapping,
        processes=processes,
        no_cache=no_cache,
        estimate=estimate,
        quiet=quiet,
    )
    if not paths and not quiet:
        print(f"loopaudit: reading {given.named(options.paths)}", file=sys.stderr)
    found, audited = analysed(options, quiet=quiet)
    return found, {
        "runs": frames.runs(found),
        "steps": frames.steps(audited),
        "findings": frames.findings(found),
    }


#: a table function of the engine that opens files or addresses; the engine takes its name in
#: quotes too, and comments before the bracket
_OPENS = re.compile(
    r"""\b(?:read|scan)_\w+["'`\]]?(?:\s|--[^\n]*\n|\#[^\n]*\n|//[^\n]*\n|/\*.*\*/)*\(""",
    re.IGNORECASE | re.DOTALL,
)


#: statements that would change a table, which is nobody's but the query's own
_CHANGES = re.compile(r"\s*(?:create|delete|drop|insert|truncate|update)\b", re.IGNORECASE)
#: where the engine's words on a fault end and its plan, or a list of all columns, begins
_MORE = re.compile(r"; valid columns:| Resolved plan until| This error occurred")
_HINT = "loopaudit schema tables tells the columns of runs, steps and findings"


def checked(sql: str) -> None:
    """Looks through a query before a log is read. Raises `UsageError`."""
    import polars

    from loopaudit.render import frames

    if not sql.strip():
        raise UsageError("query: it is empty", 'loopaudit query "SELECT * FROM findings" PATHS')
    if _OPENS.search(sql):
        raise UsageError(
            "query: no file or address is opened from SQL", "name logs as PATHS, after the query"
        )
    if _CHANGES.match(sql):
        raise UsageError("query: tables are read, not changed", "begin with SELECT, or WITH")
    kinds = {"runs": frames.RUNS, "steps": frames.STEPS, "findings": frames.FINDINGS}
    empty = {name: polars.LazyFrame(schema=schema) for name, schema in kinds.items()}
    try:
        with polars.SQLContext(frames=empty) as context:
            context.execute(sql).collect_schema()
    except Exception as error:  # the engine's own kinds of errors; the query is the user's
        raise _fault(error) from None


def answer(sql: str, frames: Mapping[str, DataFrame]) -> DataFrame:
    """What a query gives. Raises `UsageError`."""
    import polars

    checked(sql)
    try:
        with polars.SQLContext(frames=dict(frames), eager=True) as context:
            return context.execute(sql)
    except Exception as error:  # as above
        raise _fault(error) from None


def _fault(error: Exception) -> UsageError:
    words = _MORE.split(" ".join(str(error).split()))[0][:300]
    return UsageError(f"query: {words}", _HINT)


def for_csv(frame: DataFrame) -> DataFrame:
    """The same with texts of logs made inert, for terminals and for spreadsheets."""
    import polars

    from loopaudit.render.tables import csv_text

    return frame.with_columns(
        polars.col(polars.String).map_elements(csv_text, return_dtype=polars.String)
    )
