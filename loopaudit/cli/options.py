"""What several commands take: times in a stated zone, and where logs usually lie."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from loopaudit.errors import UsageError

if TYPE_CHECKING:
    from loopaudit.replay.audit import AuditOptions
    from loopaudit.settings import Settings

_AGO = re.compile(r"(\d{1,6})\s*(m|h|d|w)", re.ASCII)
_SECONDS = {"m": 60, "h": 3600, "d": 86400, "w": 604800}
_OFFSET = re.compile(r"(?:UTC)?([+-])(\d{1,2}):?(\d{2})?", re.ASCII)


def zone(name: str) -> tzinfo:
    """The zone behind `UTC`, `local`, `+02:00` or a name such as `Europe/Berlin`."""
    if name.upper() in ("UTC", "Z"):
        return UTC
    if name.lower() == "local":
        return _local()
    offset = _OFFSET.fullmatch(name)
    if offset:
        sign, hours, minutes = offset.groups()
        delta = timedelta(hours=int(hours), minutes=int(minutes or 0))
        if delta < timedelta(hours=24):
            return timezone(-delta if sign == "-" else delta)
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise UsageError(
            f"unknown time zone {name!r}", "UTC, local, +02:00 or a name like Europe/Berlin"
        ) from None


class Window(TypedDict):
    """Two arguments of `audit_options`, seconds since the epoch; `until` is exclusive."""

    since: float | None
    until: float | None


def window(since: str | None, until: str | None, where: tzinfo, now: float) -> Window:
    """What the flags `--since` and `--until` mean."""
    return {
        "since": None if since is None else moment(since, where, now, option="--since"),
        "until": None if until is None else moment(until, where, now, option="--until", end=True),
    }


def zone_title(name: str) -> str:
    """How a zone is named on screen."""
    return "UTC" if name.upper() in ("UTC", "Z") else name


def _local() -> tzinfo:
    """The machine's zone with its clock changes, where its name can be found out."""
    name = os.environ.get("TZ", "").lstrip(":") or os.path.realpath("/etc/localtime")
    try:
        return ZoneInfo(name.rpartition("zoneinfo/")[2])
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return datetime.now().astimezone().tzinfo or UTC


def moment(text: str, where: tzinfo, now: float, *, option: str, end: bool = False) -> float:
    """Seconds since the epoch of `7d` (ago), `today`, `yesterday`, a date or a time.

    A date means its first moment in zone `where`; with `end` its last (the next day's first).
    """
    text = text.strip()
    ago = _AGO.fullmatch(text)
    if ago:
        return now - int(ago[1]) * _SECONDS[ago[2]]
    today = datetime.fromtimestamp(now, where).date()
    try:
        if text in ("now",):
            return now
        if text in ("today", "yesterday"):
            day = today - timedelta(days=text == "yesterday")
        elif re.fullmatch(r"\d{4}-\d{2}-\d{2}", text, re.ASCII):
            day = datetime.fromisoformat(text).date()
        else:
            at = datetime.fromisoformat(text)
            return (at if at.tzinfo else at.replace(tzinfo=where)).timestamp()
        if end and day < date.max:
            day += timedelta(days=1)
        return datetime.combine(day, time(), where).timestamp()
    except (ValueError, OverflowError):
        raise UsageError(
            f"{option}: cannot read {text!r} as a time",
            "2026-05-01, 2026-05-01T14:00, 7d, 24h, today or yesterday",
        ) from None


@dataclass(frozen=True, slots=True)
class Preferences:
    """What `[report]` of the settings says, where no flag says otherwise."""

    top: int
    zone_name: str
    guards: tuple[str, ...]
    strict: bool


def preferences(settings: Settings) -> Preferences:
    """Raises `ConfigError` with file and line."""
    table = settings.reader("report")
    table.only(("top", "tz", "guards", "strict"))
    return Preferences(
        top=table.integer("top", 3, least=0) or 0,
        zone_name=table.text("tz", "UTC") or "UTC",
        guards=table.texts("guards"),
        strict=table.flag("strict"),
    )


def audit_options(
    paths: list[str],
    settings: Settings,
    *,
    agents: Sequence[str] = (),
    guards: Sequence[str] = (),
    since: float | None = None,
    until: float | None = None,
    task_type: str | None = None,
    log_format: str | None = None,
    labels: str | None = None,
    mapping: str | None = None,
    processes: int | None = None,
    no_cache: bool = False,
    excerpts: bool = False,
    estimate: bool = False,
    quiet: bool = False,
) -> AuditOptions:
    """What the engine is asked for. Raises `UsageError` where something is named wrong.

    What is odd but can be used is said on stderr, unless `quiet`.
    """
    from loopaudit.guards.presets import variables
    from loopaudit.plugins import MAPPED, format_names, from_settings, load
    from loopaudit.replay.audit import AuditOptions
    from loopaudit.settings import unknown_variables

    from_settings(settings)
    if mapping is not None:
        if log_format is not None:
            raise UsageError("--map and --log-format are two readers", "give one of them")
        log_format = f"{MAPPED}{mapping}"
    if log_format is not None and log_format.startswith(MAPPED):
        load(log_format, "mapping")
    elif log_format is not None and log_format not in format_names():
        raise UsageError(
            f"unknown log format {log_format!r}", f"one of {', '.join(sorted(format_names()))}"
        )
    if not quiet:
        read = variables(settings.table("guards"))
        strange = [name for name in unknown_variables() if name not in read]
        if strange:
            print(f"loopaudit: nothing reads {', '.join(strange)}", file=sys.stderr)
        if task_type is not None:
            _check_task_type(task_type, settings)
    return AuditOptions(
        inputs(paths, agents),
        log_format=log_format,
        guards=tuple(guards),
        since=since,
        until=until,
        task_type=task_type,
        labels=labels,
        processes=processes,
        cache=not no_cache,
        settings=settings,
        excerpts=excerpts,
        estimate=estimate,
    )


def _check_task_type(name: str, settings: Settings) -> None:
    """A type that nothing knows is judged by the limits for all types: said, not refused."""
    from loopaudit import task_types
    from loopaudit.guards import presets

    user = settings.table("guards")
    known = {*task_types.types(task_types.built_in())}
    known |= {*task_types.types(task_types.read(settings.table("task_types")))}
    for preset in presets.names(user):
        known |= {*presets.load(preset, user).task_types}
    if name not in known:
        print(
            f"loopaudit: no guard and no rule knows task type {name!r};"
            f" known: {', '.join(sorted(known))}",
            file=sys.stderr,
        )


def usual_places() -> list[str]:
    """Folders in which coding agents keep their logs, where they exist on this machine."""
    from loopaudit import places

    found = []
    for agent in places.agents().values():
        found += places.places(agent, os.environ, Path.home())
    return found


def inputs(paths: list[str], agents: Sequence[str] = ()) -> list[str]:
    """The paths as given and the places of the agents named, or of all agents where nothing is.

    Raises `UsageError` where there are none.
    """
    found = [*paths, *(place for name in agents for place in _places_of(name))]
    found = found or usual_places()
    if not found:
        raise UsageError(
            "no PATHS given, and no logs where coding agents keep them",
            "name files or folders, or - for stdin; loopaudit sources says where it looked",
        )
    return found


def _places_of(name: str) -> list[str]:
    from loopaudit import places

    known = places.agents()
    if name not in known:
        from difflib import get_close_matches

        close = get_close_matches(name, known, 3)
        hint = f"did you mean {' or '.join(close)}?" if close else f"one of {', '.join(known)}"
        raise UsageError(f"no agent is called {name!r}", hint)
    found = places.places(known[name], os.environ, Path.home())
    if not found:
        looked = places.folders(known[name], os.environ, Path.home())
        raise UsageError(
            f"no logs of {known[name].title} on this machine",
            f"looked below {', '.join(looked)}; name a file or folder instead",
        )
    return found


def named(paths: Sequence[str], most: int = 3) -> str:
    """A few paths in words."""
    rest = len(paths) - most
    return ", ".join(paths[:most]) + (f" and {rest} more" if rest > 0 else "")
