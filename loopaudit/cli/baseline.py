"""`loopaudit baseline`: keeps what guards do today, for `check` to compare with."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

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
from loopaudit.errors import InputError, UsageError

app = typer.Typer(
    **command(
        "update: replays the logs and keeps a verdict for each run, with who, when, why and which"
        " corpus. show: what is kept. A baseline is changed on purpose only: check never does."
    )
)


class Action(StrEnum):
    UPDATE = "update"
    SHOW = "show"


@app.command()
def baseline(
    action: Annotated[Action, typer.Argument(metavar="update|show", help="What to do.")],
    paths: CheckPaths = None,
    reason: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Why the verdicts are right as they are.")
    ] = None,
    by: Annotated[str | None, typer.Option(metavar="NAME", help="Who says so.")] = None,
    file: Annotated[
        str | None,
        typer.Option("--baseline", metavar="FILE", help="Where; else baseline of [check]."),
    ] = None,
    guard: Annotated[
        list[str] | None,
        typer.Option("--guard", "-g", metavar="PRESET", help="Guard to keep. Repeatable."),
    ] = None,
    agent: Agents = None,
    since: Since = None,
    until: Until = None,
    tz: Zone = None,
    task_type: TaskType = None,
    labels: Labels = None,
    mapping: Mapping = None,
    log_format: LogFormat = None,
    processes: Processes = None,
    no_cache: NoCache = False,
    config: Config = None,
    quiet: Quiet = False,
) -> int:
    import time

    from loopaudit import __version__, settings
    from loopaudit.check import comparing, judge, snapshot
    from loopaudit.check import options as checking
    from loopaudit.check.result import CheckResult
    from loopaudit.cli import gate
    from loopaudit.cli import options as given
    from loopaudit.cli.auditing import analysed, exit_code, measured
    from loopaudit.errors import ExitCode
    from loopaudit.replay import finding_labels

    chosen = settings.load(config)
    options = checking.read(chosen)
    place = options.baseline if file is None else Path(file)
    if action is Action.SHOW:
        return _show(place)
    if reason is None or not reason.strip():
        raise UsageError("baseline update needs a reason", '--reason "why the change is wanted"')
    zone = given.zone(tz or given.preferences(chosen).zone_name)
    asked = given.audit_options(
        gate.paths_of(paths, agent, options, chosen),
        chosen,
        agents=agent or (),
        guards=tuple(guard or options.guards),
        **given.window(since, until, zone, time.time()),
        task_type=task_type,
        log_format=log_format,
        labels=labels,
        mapping=mapping,
        processes=processes,
        no_cache=no_cache,
        quiet=quiet,
    )
    report, audited = analysed(asked, quiet=quiet)
    if not measured(report) or report.failures:
        # a baseline of nothing, or of a part, would make every later check pass or fail for it
        return exit_code(report, strict=False, quiet=quiet)
    today = gate.today()
    verdicts = finding_labels.read(finding_labels.path_of(chosen))
    names = [found.preset for found in report.guards]
    new = snapshot.take(audited, names, verdicts, judge.active(options, today))
    new.made = {
        "at": today.isoformat(),
        "by": gate.who(by),
        "reason": " ".join(reason.split()),
        "version": __version__,
    }
    old = snapshot.read(place)
    try:
        snapshot.write(new, place)
    except OSError as error:
        raise UsageError(f"{place}: {error.strerror}") from None
    changed = 0
    if old is not None:
        result = CheckResult([], new)
        comparing.compare(result, old, "")
        changed = len(result.changes)
    print(
        f"{place}: {len(new.runs):,} runs, corpus {new.digest}; {changed:,} verdicts changed"
        if old is not None
        else f"{place}: {len(new.runs):,} runs, corpus {new.digest}; new"
    )
    return ExitCode.PASS


def _show(place: Path) -> int:
    from loopaudit.check import snapshot
    from loopaudit.errors import ExitCode
    from loopaudit.render.text import inert

    found = snapshot.read(place)
    if found is None:
        raise InputError(f"no baseline {place}", "loopaudit baseline update --reason …")
    print(f"{place}: {len(found.runs):,} runs, corpus {inert(found.digest)}")
    for key, value in sorted(found.made.items()):
        print(f"  {inert(key):<8} {inert(value)}")
    print(f"  guards   {inert(', '.join(found.guards))}")
    for name, row in found.types.items():
        print(f"  {inert(name)}: {row.runs:,} runs, {row.healthy:,} healthy, {row.loops:,} loops")
    return ExitCode.PASS
