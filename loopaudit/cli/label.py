"""`loopaudit label`: a user's verdict on a finding, which tune and check count."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Annotated

import typer

from loopaudit.cli.app import command
from loopaudit.cli.flags import Agents, Config, LogFormat, Mapping, NoCache, Quiet
from loopaudit.errors import UsageError

app = typer.Typer(
    **command(
        "Says of a finding that it is a loop, or that it is none, and keeps that with the reason in"
        " the labels file (.loopaudit/labels.jsonl, or file of [labels]). tune and check count it."
        " The fingerprint of a finding is its id in report --format json; its beginning is enough"
        " where PATHS are given."
    )
)


class Verdict(StrEnum):
    LOOP = "loop"
    NOT_A_LOOP = "not-a-loop"


@app.command()
def label(
    finding: Annotated[str, typer.Argument(metavar="FINDING", help="Fingerprint of the finding.")],
    verdict: Annotated[Verdict, typer.Argument(metavar="loop|not-a-loop", help="What it is.")],
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PATHS]...", help="Logs in which it is looked up.", show_default=False
        ),
    ] = None,
    reason: Annotated[str | None, typer.Option(metavar="TEXT", help="Why.")] = None,
    by: Annotated[str | None, typer.Option(metavar="NAME", help="Who says so.")] = None,
    agent: Agents = None,
    mapping: Mapping = None,
    log_format: LogFormat = None,
    no_cache: NoCache = False,
    config: Config = None,
    quiet: Quiet = False,
) -> int:
    from loopaudit import settings
    from loopaudit.cli import gate
    from loopaudit.cli import options as given
    from loopaudit.cli.auditing import analysed
    from loopaudit.errors import ExitCode
    from loopaudit.render.text import inert
    from loopaudit.replay import finding_labels

    if reason is None or not reason.strip():
        raise UsageError("a label needs a reason", '--reason "why"')
    chosen = settings.load(config)
    place = finding_labels.path_of(chosen)
    finding_labels.read(place)  # a file that cannot be used is met before it grows
    rule = run = None
    if paths or agent:
        asked = given.audit_options(
            paths or [],
            chosen,
            agents=agent or (),
            log_format=log_format,
            mapping=mapping,
            no_cache=no_cache,
            quiet=quiet,
        )
        report, _ = analysed(asked, quiet=quiet)
        matches = [f for f in report.findings if f.id.startswith(finding)]
        if len(matches) != 1:
            found = ", ".join(f"{f.id} ({f.rule})" for f in (matches or report.findings)[:5])
            what = f"{len(matches)} findings match" if matches else "no finding matches"
            raise UsageError(f"{what} {finding!r}", f"findings here: {found or 'none'}")
        finding, rule, run = matches[0].id, matches[0].rule, matches[0].run
    elif not re.fullmatch(r"[0-9a-f]{16}", finding):
        raise UsageError(
            f"{finding!r} is no fingerprint of a finding",
            "16 hex digits, as in report --format json; or give PATHS to look it up",
        )
    one = finding_labels.Label(
        finding, verdict, " ".join(reason.split()), gate.who(by), gate.today().isoformat(),
        rule, run,
    )  # fmt: skip
    finding_labels.append(place, [one])
    about = f" ({rule} in {inert(run)})" if rule and run else ""
    print(f"{place}: {finding} is labelled {verdict}{about}")
    return ExitCode.PASS
