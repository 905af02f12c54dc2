"""Runs the engine for a command: with a progress bar, and the exit code that all commands share."""

from __future__ import annotations

import gc
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from loopaudit.errors import ExitCode, InputError

if TYPE_CHECKING:
    from loopaudit.findings import Report
    from loopaudit.replay.audit import AuditedRun, AuditOptions, Everything

#: lines and disagreements of a labels file named on stderr
_NAMED = 5


def analysed(options: AuditOptions, *, quiet: bool) -> tuple[Report, list[AuditedRun]]:
    """The report and its priced runs. Raises `InputError` where what was named is no log."""
    return studied(options, quiet=quiet)[1:]


def studied(options: AuditOptions, *, quiet: bool) -> tuple[Everything, Report, list[AuditedRun]]:
    """The same with what was read, from which single runs can be read again."""
    from loopaudit.cli.progress import bar
    from loopaudit.replay.audit import conclude_all, read_all
    from loopaudit.replay.pool import uncollected

    gc.unfreeze()  # what an earlier analysis held, where a log is followed
    with uncollected():
        with bar(not quiet) as progress:
            everything = read_all(replace(options, progress=progress))
        found, audited = conclude_all(everything, options)
        gc.freeze()  # all of it is needed to the end, and takes long to look through
    if not measured(found):
        named = {skip.path: skip.reason for skip in found.skips if skip.line is None}
        for path in options.paths:
            if path in named and named[path] != "empty":
                raise InputError(f"{path}: {named[path]}", _hint(named[path]))
    if not quiet:
        told_labels(found)
    return everything, found, audited


def told_labels(found: Report) -> None:
    """What of a labels file fits no run, contradicts, or is not read: said on stderr."""
    from loopaudit.render.text import inert

    use = found.meta.get("labels")
    if use is None:
        return
    said = []
    if use.unmatched:
        lines = ", ".join(map(str, use.unmatched[:_NAMED]))
        lines += ", …" if len(use.unmatched) > _NAMED else ""
        number = "1 label fits" if len(use.unmatched) == 1 else f"{len(use.unmatched):,} labels fit"
        said.append(f"{number} no run (of {use.rows:,}; line {lines})")
    said += use.disagreements[:_NAMED]
    if len(use.disagreements) > _NAMED:
        said.append(f"{len(use.disagreements) - _NAMED:,} more disagreements (report -f json)")
    if use.unread:
        said.append(f"not read: {', '.join(use.unread[:_NAMED])}")
    for words in said:
        print(f"loopaudit: {inert(use.file)}: {inert(words)}", file=sys.stderr)


def _hint(reason: str) -> str:
    from loopaudit.ingest.head import NOBODYS

    if reason.startswith(NOBODYS):
        return "--map FILE reads any JSON lines (explain map); --log-format NAME forces a reader"
    if reason == "holds no JSON record":
        return (
            "logs are JSON lines or JSON documents (explain lists the formats); turn other text"
            " into JSON lines, and --map FILE reads them (explain map)"
        )
    if "SQLite" in reason:
        return "close the agent that writes it, or copy it with its -wal file and name the copy"
    return "name a log, or a folder that holds logs"


def measured(found: Report) -> bool:
    return bool(found.totals.responses or found.totals.calls)


def exit_code(found: Report, *, strict: bool, quiet: bool, said: bool = False) -> ExitCode:
    """What a report ends with; loops and spent budgets alone are no failure.

    `said`: the screen has told where nothing was measured.
    """
    from loopaudit.findings import Completeness
    from loopaudit.render.screen import Screen
    from loopaudit.render.summary import why_nothing

    code, why = ExitCode.PASS, ""
    if found.failures:
        code, why = ExitCode.INTERNAL, f"{len(found.failures):,} failure(s), see the report"
    elif not measured(found):
        code = ExitCode.UNKNOWN
        why = "" if said else f"nothing measured: {why_nothing(found, Screen())}"
    elif strict and found.totals.completeness is Completeness.PARTIAL:
        code, why = ExitCode.UNKNOWN, f"partial input: {'; '.join(found.totals.reasons)}"
    if why and not quiet:
        sys.stdout.flush()
        print(f"loopaudit: {why}", file=sys.stderr)
    return code
