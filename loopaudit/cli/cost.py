"""`loopaudit cost`: what tokens and money went to, budgets, and logs beside a provider's export."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from loopaudit.cli.app import command
from loopaudit.cli.flags import (
    Agents,
    Config,
    Labels,
    LogFormat,
    Mapping,
    NoCache,
    Paths,
    Processes,
    Quiet,
    Since,
    TaskType,
    Until,
)
from loopaudit.errors import UsageError

if TYPE_CHECKING:
    from loopaudit.cost.budgets import Budget

app = typer.Typer(
    **command(
        "What tokens and money went to, at list prices (not a bill). The cost of a response is"
        " split evenly over its tool calls for --by tool; responses without calls stand under (no"
        " tool). Waste is what loops cost; carried cost is what later responses re-sent because of"
        " them until the next compaction: characters / 4, at the cache-read price where the"
        " response read from a cache, an estimate that lies outside the waste. Ends with 0 even"
        " where a budget is spent."
    )
)


class Format(StrEnum):
    TEXT = "text"
    JSON = "json"
    CSV = "csv"
    PARQUET = "parquet"


class Per(StrEnum):
    RUN = "run"
    TASK_TYPE = "task-type"
    DAY = "day"
    SERVICE = "service"


@app.command()
def cost(
    paths: Paths = None,
    by: Annotated[
        str,
        typer.Option(
            "--by",
            metavar="WHAT[,WHAT]",
            help="session, request (user message), run, agent, project, user, host, model,"
            " task-type, tool, format, outcome, day, week or month; several with commas.",
        ),
    ] = "session",
    format: Annotated[Format, typer.Option("--format", "-f", help="Kind of output.")] = Format.TEXT,
    output: Annotated[
        str | None, typer.Option("-o", "--output", metavar="FILE", help="Write to a file.")
    ] = None,
    top: Annotated[int, typer.Option(min=0, metavar="N", help="Rows on screen; 0 for all.")] = 20,
    agent: Agents = None,
    budget: Annotated[
        str | None, typer.Option(metavar="USD", help="Show what reached 60 % and 100 % of it.")
    ] = None,
    budget_tokens: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="The same in tokens.")
    ] = None,
    budget_per: Annotated[
        Per, typer.Option(help="What these budgets are for: each of these has its own.")
    ] = Per.SERVICE,
    reconcile: Annotated[
        str | None,
        typer.Option(
            metavar="EXPORT.csv",
            help="Set the logs beside a provider's usage or cost export, per UTC day and model.",
        ),
    ] = None,
    estimate: Annotated[
        bool,
        typer.Option(
            "--estimate",
            help="Where an output was written before it ended, take a quarter of its visible"
            " characters (still low: hidden reasoning is not seen); where a log has no usage, count"
            " its texts.",
        ),
    ] = False,
    since: Since = None,
    until: Until = None,
    tz: Annotated[
        str | None,
        typer.Option(metavar="ZONE", help="Of days: UTC, local, Europe/Berlin …  [default: UTC]"),
    ] = None,
    task_type: TaskType = None,
    labels: Labels = None,
    mapping: Mapping = None,
    log_format: LogFormat = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="End with 3 where input is partial.")
    ] = False,
    processes: Processes = None,
    no_cache: NoCache = False,
    config: Config = None,
    quiet: Quiet = False,
) -> int:
    import time
    from functools import partial
    from itertools import chain

    from loopaudit import settings
    from loopaudit.cli import options as given
    from loopaudit.cli.auditing import analysed, exit_code
    from loopaudit.cli.output import check, coloured, opened, width
    from loopaudit.cost import budgets
    from loopaudit.cost.attribution import attribute
    from loopaudit.cost.exports import read_export
    from loopaudit.cost.reconcile import reconcile as compare
    from loopaudit.money import PriceBook
    from loopaudit.render import cost_budgets, cost_export, cost_reconcile, cost_table
    from loopaudit.render.screen import Screen, put

    check(output)
    if format is Format.PARQUET and output in (None, "-") and sys.stdout.isatty():
        raise UsageError("--format parquet is not for the screen", "-o FILE")
    dimensions = _dimensions(by)
    flags = _flags(budget, budget_tokens, per=budgets.Scope(budget_per))
    now = time.time()
    chosen = settings.load(config)
    preferred = given.preferences(chosen)
    zone_name = tz or preferred.zone_name
    zone = given.zone(zone_name)
    limits = budgets.with_flags(budgets.read(chosen), flags)
    export = None if reconcile is None else read_export(reconcile, chosen)
    options = given.audit_options(
        paths or [],
        chosen,
        agents=agent or (),
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
    book = PriceBook(chosen.table("prices"), place=partial(chosen.place, "prices"))
    costs = attribute(audited, dimensions, zone, book, found)
    spent = budgets.spend(audited, limits, zone, book)
    beside = None if export is None else compare(audited, export, chosen, book)
    with opened(output) as stream:
        if format is Format.TEXT:
            screen = Screen(width(stream), coloured(stream), zone, str(zone))
            if beside is None:
                text = cost_table.lines(costs, found.totals, screen, top)
            else:
                text = cost_reconcile.lines(beside, found.totals, screen, top)
            put(chain(text, cost_budgets.lines(spent, screen)), stream)
        elif format is Format.JSON and beside is None:
            cost_export.write_json(costs, spent, found, str(zone), stream)
        elif format is Format.JSON and beside is not None:
            cost_export.write_reconciliation_json(beside, spent, found, stream)
        else:
            flat = cost_export.of_costs(costs) if beside is None else cost_export.of_lines(beside)
            if format is Format.CSV:
                cost_export.write_csv(flat, stream)
            else:
                cost_export.write_parquet(flat, stream.buffer)
    return exit_code(found, strict=strict or preferred.strict, quiet=quiet)


def _dimensions(text: str) -> tuple[str, ...]:
    """What `--by` names, each once. Raises `UsageError`."""
    from loopaudit.cost.dimensions import NAMES
    from loopaudit.settings.values import closest

    names = tuple(dict.fromkeys(part.strip().lower().replace("_", "-") for part in text.split(",")))
    for name in names:
        if name not in NAMES:
            raise UsageError(f"--by {name}: unknown", closest(name, NAMES, ", ".join(NAMES)))
    return names


def _flags(usd: str | None, tokens: int | None, per: str) -> list[Budget]:
    """Budgets given on the command line. Raises `UsageError`."""
    from decimal import Decimal, InvalidOperation

    from loopaudit.cost.budgets import Budget, Scope, Unit
    from loopaudit.money import pico

    found = []
    if usd is not None:
        try:
            amount = Decimal(usd.strip().removeprefix("$"))
        except InvalidOperation:
            amount = Decimal("NaN")
        if not amount.is_finite() or not 0 < amount < 10**12:
            raise UsageError(f"--budget {usd}: no amount of money", "e.g. --budget 5.00")
        found.append(Budget(Scope(per), Unit.USD, pico(amount)))
    if tokens is not None:
        found.append(Budget(Scope(per), Unit.TOKENS, tokens))
    return found
