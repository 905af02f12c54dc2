"""`loopaudit check`: the gate for CI."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from loopaudit.cli.app import command
from loopaudit.cli.flags import (
    Agents,
    CheckPaths,
    Config,
    Labels,
    LogFormat,
    Mapping,
    NoCache,
    Processes,
    Quiet,
    Since,
    TaskType,
    Until,
    Zone,
)
from loopaudit.errors import UsageError

if TYPE_CHECKING:
    from loopaudit.replay.audit import AuditOptions

app = typer.Typer(
    **command(
        "Replays logs against the settings of the repository and fails where a limit of [check] is"
        " broken, where a verdict is not as in the baseline, or where other settings do better."
        " Ends with 0 (pass), 1 (a limit is broken, or a regression), 2 (usage), 3 (cannot say) or"
        " 4 (broken), in every format."
    )
)


class Format(StrEnum):
    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"
    JUNIT = "junit"
    SARIF = "sarif"
    GITHUB = "github"
    GITLAB = "gitlab"


@app.command()
def check(
    paths: CheckPaths = None,
    format: Annotated[Format, typer.Option("--format", "-f", help="Kind of output.")] = Format.TEXT,
    output: Annotated[
        str | None, typer.Option("-o", "--output", metavar="FILE", help="Write to a file.")
    ] = None,
    guard: Annotated[
        list[str] | None,
        typer.Option("--guard", "-g", metavar="PRESET", help="Guard to judge. Repeatable."),
    ] = None,
    baseline: Annotated[
        str | None, typer.Option(metavar="FILE", help="Hold verdicts against this baseline.")
    ] = None,
    against: Annotated[
        str | None, typer.Option(metavar="OTHER.toml", help="Compare with other settings.")
    ] = None,
    against_guard: Annotated[
        str | None, typer.Option(metavar="PRESET", help="Compare with another guard.")
    ] = None,
    only_if_changed: Annotated[
        bool,
        typer.Option("--only-if-changed", help="Markdown: print nothing where all is as it was."),
    ] = False,
    why: Annotated[bool, typer.Option("--why", help="List what passed, too.")] = False,
    agent: Agents = None,
    since: Since = None,
    until: Until = None,
    tz: Zone = None,
    task_type: TaskType = None,
    labels: Labels = None,
    mapping: Mapping = None,
    log_format: LogFormat = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Cannot say where input is partial.")
    ] = False,
    processes: Processes = None,
    no_cache: NoCache = False,
    config: Config = None,
    quiet: Quiet = False,
) -> int:
    import time
    from dataclasses import replace

    from loopaudit import settings
    from loopaudit.check import judge as judging
    from loopaudit.check import options as checking
    from loopaudit.check import snapshot
    from loopaudit.cli import gate
    from loopaudit.cli import options as given
    from loopaudit.cli.auditing import analysed
    from loopaudit.cli.output import check as writable
    from loopaudit.replay import finding_labels

    writable(output)
    if against is not None and against_guard is not None:
        raise UsageError("--against and --against-guard cannot both be given")
    chosen = settings.load(config)
    options = checking.read(chosen)
    if guard:
        options = replace(options, guards=tuple(guard))
    if against_guard is not None and len(options.guards) != 1:
        raise UsageError("--against-guard compares one guard with another", "name one with --guard")
    if baseline is not None:
        options = replace(options, baseline=Path(baseline), baseline_wanted=True)
    old = None
    if against is None and against_guard is None:
        old = snapshot.read(options.baseline)
        if old is None and options.baseline_wanted:
            raise UsageError(
                f"no baseline {options.baseline}", "loopaudit baseline update --reason …"
            )
        gate.require_something(options, old)
    today = gate.today()
    zone = given.zone(tz or given.preferences(chosen).zone_name)
    between = given.window(since, until, zone, time.time())
    verdicts = finding_labels.read(finding_labels.path_of(chosen))
    suppressed = judging.active(options, today)

    def asked(using: settings.Settings) -> AuditOptions:
        guards = options.guards if against_guard is None else (*options.guards, against_guard)
        return given.audit_options(
            gate.paths_of(paths, agent, options, chosen),
            using,
            agents=agent or (),
            guards=guards,
            **between,
            task_type=task_type,
            log_format=log_format,
            labels=labels,
            mapping=mapping,
            processes=processes,
            no_cache=no_cache,
            quiet=quiet,
        )

    report, audited = analysed(asked(chosen), quiet=quiet)
    names = [found.preset for found in report.guards]
    if against_guard is not None:
        if len(names) < 2:
            raise UsageError(f"--against-guard {against_guard}: that is the guard judged")
        report.guards = report.guards[:1]
    mine = names[: len(report.guards)]
    new = snapshot.take(audited, mine, verdicts, suppressed)
    result = judging.judge(report, new, options, today, baseline=old, strict=strict)
    if against is not None:
        # the other file alone: nothing of the settings that are found here
        _, others = analysed(asked(settings.load(against, folder=os.sep)), quiet=quiet)
        judging.against(result, snapshot.take(others, mine, verdicts, suppressed), against)
    elif against_guard is not None:
        before = snapshot.take(audited, names[1:], verdicts, suppressed)
        judging.against(result, gate.renamed(before, names[1], mine[0]), names[1])
    gate.write(result, format, output, only_if_changed=only_if_changed, why=why)
    return result.code
