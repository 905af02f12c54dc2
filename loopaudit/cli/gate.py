"""What `check` and `baseline` share: where their logs lie, which day it is, how they write."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from loopaudit.errors import UsageError

if TYPE_CHECKING:
    from loopaudit.check.options import CheckOptions
    from loopaudit.check.result import CheckResult
    from loopaudit.check.snapshot import Snapshot
    from loopaudit.settings import Settings


def today() -> date:
    """The day in UTC; SOURCE_DATE_EPOCH stands in for the clock where it is set."""
    given = os.environ.get("SOURCE_DATE_EPOCH", "")
    at = int(given) if given.isascii() and given.isdigit() and len(given) < 12 else time.time()
    return datetime.fromtimestamp(at, UTC).date()


def who(given: str | None) -> str:
    """A name for what is kept: as given, git's, or the login name."""
    import getpass

    for name in (given, os.environ.get("GIT_AUTHOR_NAME"), os.environ.get("GITHUB_ACTOR")):
        if name and name.strip():
            return name.strip()
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return "unknown"


def paths_of(
    paths: list[str] | None, agents: list[str] | None, options: CheckOptions, settings: Settings
) -> list[str]:
    """The paths named, else those of `[check]`, which count from the folder of the settings; where
    agents are named, those of `[check]` are not read."""
    if paths or agents:
        return list(paths or ())
    place, _ = settings.place("check", "paths")
    folder = Path(place).parent if place else Path()
    return [path if path == "-" else str(folder / path) for path in options.paths]


def require_something(options: CheckOptions, old: Snapshot | None) -> None:
    """A gate that has nothing to check must not pass."""
    if old is None and not options.limits and not options.task_types:
        raise UsageError(
            "nothing to check: [check] sets no limits and there is no baseline",
            "set limits in [check.limits], or run loopaudit baseline update --reason …",
        )


def renamed(old: Snapshot, name: str, to: str) -> Snapshot:
    """A snapshot of one guard as if it were another's, to be compared with that one."""

    def swap(counts: dict[str, int]) -> dict[str, int]:
        return {to: counts[name]} if name in counts else {}

    return replace(
        old,
        guards=(to,),
        runs={
            run: replace(row, outcomes={to: row.outcomes[name]}) for run, row in old.runs.items()
        },
        types={
            kind: replace(row, interrupted=swap(row.interrupted), missed=swap(row.missed))
            for kind, row in old.types.items()
        },
    )


def write(
    result: CheckResult, format: str, output: str | None, *, only_if_changed: bool, why: bool
) -> None:
    """Writes the result in a format; nothing where nothing changed and that was asked for."""
    from loopaudit import __version__
    from loopaudit.cli.output import coloured, opened, width
    from loopaudit.render import (
        check_json,
        check_text,
        github,
        gitlab,
        junit,
        markdown_check,
        sarif,
    )
    from loopaudit.render.screen import Screen, put

    if only_if_changed and not result.changed:
        return
    with opened(output) as stream:
        match format:
            case "json":
                check_json.write(result, __version__, stream)
            case "markdown":
                stream.writelines(f"{line}\n" for line in markdown_check.lines(result))
            case "junit":
                junit.write(result, stream)
            case "sarif":
                sarif.write(result, __version__, stream)
            case "gitlab":
                gitlab.write(result, stream)
            case "github":
                stream.writelines(f"{line}\n" for line in github.lines(result))
                _summary(result)
            case _:
                screen = Screen(width(stream), coloured(stream))
                put(check_text.lines(result, screen, why=why), stream)


def _summary(result: CheckResult) -> None:
    """The step summary of GitHub, where it runs there."""
    from loopaudit.render import markdown_check

    target = os.environ.get("GITHUB_STEP_SUMMARY")
    if not target:
        return
    try:
        with open(target, "a", encoding="utf-8", errors="backslashreplace") as stream:
            stream.writelines(f"{line}\n" for line in markdown_check.lines(result))
    except OSError as error:
        raise UsageError(f"GITHUB_STEP_SUMMARY {target}: {error.strerror}") from None
