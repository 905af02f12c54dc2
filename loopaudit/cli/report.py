"""`loopaudit report`: reads logs, replays guards, writes what was found."""

from __future__ import annotations

import sys
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from loopaudit.cli.app import command
from loopaudit.cli.flags import (
    Agents,
    Config,
    Labels,
    Mapping,
    NoCache,
    Paths,
    Processes,
    Quiet,
    Since,
    Until,
    Zone,
)
from loopaudit.errors import UsageError

if TYPE_CHECKING:
    from loopaudit.findings import Report
    from loopaudit.render.screen import Screen

app = typer.Typer(
    **command(
        "Where loops began, what they wasted and which guard would have stopped them. Without PATHS"
        " the usual places of coding agents are read. Ends with 0 even where loops are found."
    )
)


class Format(StrEnum):
    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"
    HTML = "html"


@app.command()
def report(
    paths: Paths = None,
    format: Annotated[Format, typer.Option("--format", "-f", help="Kind of output.")] = Format.TEXT,
    output: Annotated[
        str | None, typer.Option("-o", "--output", metavar="FILE", help="Write to a file.")
    ] = None,
    top: Annotated[
        int | None,
        typer.Option(min=0, metavar="N", help="Loops shown in full; 0 for all.  [default: 3]"),
    ] = None,
    why: Annotated[
        bool, typer.Option("--why", help="List what was not counted or not read, and why.")
    ] = False,
    agent: Agents = None,
    guard: Annotated[
        list[str] | None,
        typer.Option(
            "--guard",
            "-g",
            metavar="PRESET",
            help="Guard to replay, e.g. fuses:demo; see explain. Repeatable.",
        ),
    ] = None,
    incident: Annotated[
        str | None,
        typer.Option(
            metavar="RUN", help="One run as Markdown for an incident: under 40 lines, redacted."
        ),
    ] = None,
    since: Since = None,
    until: Until = None,
    tz: Zone = None,
    task_type: Annotated[
        str | None,
        typer.Option(metavar="TYPE", help="Judge every run as one of this type of task."),
    ] = None,
    labels: Labels = None,
    mapping: Mapping = None,
    log_format: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Read every input as this format (see explain)."),
    ] = None,
    excerpts: Annotated[
        bool,
        typer.Option("--excerpts", help="Text of calls in files too; it may hold secrets."),
    ] = False,
    follow: Annotated[
        bool, typer.Option("--follow", help="Keep watching, and show again when a log grows.")
    ] = False,
    estimate: Annotated[
        bool,
        typer.Option("--estimate", help="Estimate tokens that a log does not tell (see cost)."),
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="End with 3 where input is partial.")
    ] = False,
    processes: Processes = None,
    no_cache: NoCache = False,
    config: Config = None,
    quiet: Quiet = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Each input and its reader, on stderr.")
    ] = False,
) -> int:
    import time

    from loopaudit import settings
    from loopaudit.cli import options as given
    from loopaudit.cli import pages
    from loopaudit.cli.auditing import analysed, exit_code, studied
    from loopaudit.cli.catalog import titles
    from loopaudit.cli.output import check, opened
    from loopaudit.render.screen import Screen

    check(output)
    now = time.time()
    chosen = settings.load(config)
    preferred = given.preferences(chosen)
    zone_name = tz or preferred.zone_name
    zone = given.zone(zone_name)
    options = given.audit_options(
        paths or [],
        chosen,
        agents=agent or (),
        guards=guard or preferred.guards,
        **given.window(since, until, zone, now),
        task_type=task_type,
        log_format=log_format,
        labels=labels,
        mapping=mapping,
        processes=processes,
        no_cache=no_cache,
        excerpts=excerpts,
        estimate=estimate,
        quiet=quiet,
    )
    if not paths and not quiet:
        print(f"loopaudit: reading {given.named(options.paths)}", file=sys.stderr)
    screen = Screen(
        zone=zone,
        zone_name=given.zone_title(zone_name),
        top=preferred.top if top is None else top,
        why=why,
        titles=titles(),
    )
    if follow:
        from loopaudit.cli.follow import watch

        if format is not Format.TEXT or output not in (None, "-") or "-" in options.paths:
            raise UsageError("--follow shows text of files on the screen, nothing else")
        watch(options.paths, lambda: _again(analysed(options, quiet=True)[0], screen))
    if incident is not None and format not in (Format.TEXT, Format.MARKDOWN):
        raise UsageError("--incident is written as Markdown", "leave out --format")
    everything, found, audited = studied(options, quiet=quiet)
    if verbose:
        _inputs(found)
        if everything.cache:
            print(f"cache: {everything.cache}", file=sys.stderr)
    with opened(output) as stream:
        if format is Format.JSON:
            from loopaudit.render.json_report import write

            write(found, stream, excerpts=excerpts)
        elif incident is not None:
            pages.write_incident(found, audited, everything, incident, stream, excerpts)
        elif format is Format.MARKDOWN:
            pages.write_markdown(found, stream)
        elif format is Format.HTML:
            pages.write_page(found, audited, everything, stream, screen, excerpts)
        else:
            _text(found, stream, screen)
    said = format is Format.TEXT and incident is None and output in (None, "-")
    return exit_code(found, strict=strict or preferred.strict, quiet=quiet, said=said)


def _again(found: Report, screen: Screen) -> None:
    """One update of `--follow`, with its time."""
    from loopaudit.render.figures import moment

    at = f"{moment(found.meta.get('now'), screen.zone)} {screen.zone_name}"
    print(f"--- {at} ".ljust(72, "-"))
    _text(found, sys.stdout, screen)


def _text(found: Report, stream: TextIO, screen: Screen) -> None:
    from loopaudit.cli.output import coloured, plain, width
    from loopaudit.render.terminal import write

    seen = replace(screen, width=width(stream), colour=coloured(stream), ascii=plain(stream))
    write(found, stream, seen)


def _inputs(found: Report) -> None:
    from loopaudit.render.text import inert

    for item in found.inputs:
        missing = f", has no {' and no '.join(item.missing)}" if item.missing else ""
        print(
            f"{inert(item.path)}: {item.format} (confidence {item.confidence:.2f}),"
            f" {item.lines:,} lines, {item.records_used:,} records used,"
            f" {sum(item.records_ignored.values()):,} ignored, {item.skips:,} lost{missing}",
            file=sys.stderr,
        )
