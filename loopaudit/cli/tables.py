"""The three tables of an analysis, for commands that export or query them."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from polars import DataFrame

    from loopaudit.findings import Report


def tables(
    paths: list[str] | None,
    config: str | None,
    *,
    since: str | None = None,
    until: str | None = None,
    tz: str | None = None,
    task_type: str | None = None,
    log_format: str | None = None,
    estimate: bool = False,
    processes: int | None = None,
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
        guards=preferred.guards,
        since=None if since is None else given.moment(since, zone, now, option="--since"),
        until=None if until is None else given.moment(until, zone, now, option="--until", end=True),
        task_type=task_type,
        log_format=log_format,
        processes=processes,
        estimate=estimate,
        quiet=quiet,
    )
    if not paths and not quiet:
        print(f"loopaudit: reading {', '.join(options.paths)}", file=sys.stderr)
    found, audited = analysed(options, quiet=quiet)
    return found, {
        "runs": frames.runs(found),
        "steps": frames.steps(audited),
        "findings": frames.findings(found),
    }


def answer(sql: str, frames: Mapping[str, DataFrame]) -> DataFrame:
    """What a query gives. Raises whatever the engine raises."""
    import polars

    with polars.SQLContext(frames=dict(frames), eager=True) as context:
        return context.execute(sql)
