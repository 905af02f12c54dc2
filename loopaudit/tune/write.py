"""Puts what is recommended into the settings file, with where it comes from; the rest stays.

Comments and layout of the file are kept. Each value carries a comment with date, corpus, runs,
interval and what the held-out runs said. Nothing is written where no threshold pays, or where the
held-out runs did not confirm the choice.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from loopaudit.errors import UsageError
from loopaudit.guards import presets
from loopaudit.guards.preset import Number
from loopaudit.settings import FILE, Settings
from loopaudit.tune.advice import Advice, Trade
from loopaudit.tune.corpus import NO_TYPE
from loopaudit.tune.dimensions import LIMITS, SERVICE
from loopaudit.tune.statistics import CONFIDENCE
from loopaudit.tune.sweep import BASE_STEPS
from loopaudit.tune.tune import Tuning

Keys = tuple[str, ...]
Value = Number | bool

#: where a plain limit stands: guard set, or None for a budget
_SET_OF = {"steps": "backstop", "wall_time": "backstop", "token_budget": "fuses"}


def changes(tuning: Tuning) -> Iterator[tuple[Keys, Value, str]]:
    """(keys, value, provenance) of everything to be set, in order."""
    for advice in tuning.advice:
        if advice.together is None or not advice.together.advised:
            continue
        why = provenance(advice, tuning)
        for trade in (*advice.trades, *advice.warns):
            value = _value(trade)
            if trade.recommended == trade.dimension.choices[trade.dimension.now]:
                continue
            if trade.dimension.signal == BASE_STEPS and value is False:
                continue  # the watchdog has no way to do without a base
            keys = keys_of(advice, trade)
            yield keys, value, why
            if trade.recommended.option is not None and trade.dimension.option is not None:
                yield (*keys[:-1], "options", trade.dimension.option), trade.recommended.option, why


def _value(trade: Trade) -> Value:
    return False if trade.recommended.threshold is None else trade.recommended.threshold


def keys_of(advice: Advice, trade: Trade) -> Keys:
    """Where a threshold stands in the settings."""
    signal, task_type = trade.dimension.signal, advice.task_type
    if advice.guard == SERVICE:
        return ("budgets", "day", trade.dimension.unit)
    if advice.guard == LIMITS:
        if signal not in _SET_OF:
            if task_type == NO_TYPE:
                return ("budgets", "run", "usd")
            return ("budgets", "task_types", task_type, "run", "usd")
        name, variant = _SET_OF[signal], "production"
    else:
        name, _, variant = advice.guard.partition(":")
    inner = (variant,) if variant else ()
    if signal == BASE_STEPS:  # a limit, not a rule with levels
        return ("guards", name, "task_types", task_type, signal, *inner)
    poll = ("poll",) if trade.dimension.poll else ()
    return ("guards", name, "task_types", task_type, signal, *inner, *poll, trade.dimension.level)


def provenance(advice: Advice, tuning: Tuning) -> str:
    """One line: date, corpus, runs, what it saves and interrupts."""
    together = advice.together
    assert together is not None
    best = together.best["all"]
    low, high = best.false_stops_between
    return (
        f"loopaudit tune {today()}: corpus {tuning.digest}, {advice.healthy + advice.stuck} runs;"
        f" healthy interrupted {best.score.healthy} of {advice.healthy}"
        f" ({CONFIDENCE:.0%}: {low:.1%} to {high:.1%}); net {best.net:.6g} {advice.unit};"
        f" held out: {together.held}"
    )


def today() -> str:
    """The date in UTC; SOURCE_DATE_EPOCH stands in for the clock where it is set."""
    given = os.environ.get("SOURCE_DATE_EPOCH", "")
    at = int(given) if given.isascii() and given.isdigit() and len(given) < 12 else time.time()
    return datetime.fromtimestamp(at, UTC).date().isoformat()


def write(tuning: Tuning, config: str | None, settings: Settings) -> str:
    """Changes the settings file; what was done in one sentence. Raises `UsageError`."""
    path, inside = _target(config, settings)
    wanted = list(changes(tuning))
    no_type = [keys for keys, _, _ in wanted if NO_TYPE in keys]
    wanted = [change for change in wanted if NO_TYPE not in change[0]]
    if not wanted:
        return f"{path}: nothing to write" + (", runs have no task type" if no_type else "")
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        text = path.read_text(encoding="utf-8-sig") if path.exists() else ""
        document = tomlkit.parse(text)
        for keys, value, why in wanted:
            _put(document, (*inside, *keys), value, why)
        made = tomlkit.dumps(document)
    except (TOMLKitError, ValueError, TypeError) as error:
        raise UsageError(f"{path}: cannot be changed: {error}") from None
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    _check(made, inside)
    _replace(path, made)
    return f"{path}: {len(wanted)} value{'s' if len(wanted) > 1 else ''} written"


def _target(config: str | None, settings: Settings) -> tuple[Path, Keys]:
    if config is not None:
        path = Path(config)
    else:
        path = next((Path(la.label) for la in settings.layers if la.text is not None), Path(FILE))
    return path, ("tool", "loopaudit") if path.name == "pyproject.toml" else ()


def _put(document: Any, keys: Keys, value: Value, why: str) -> None:
    """Sets one value. Tables that are missing are made: those of a signal on one line."""
    import tomlkit

    # guards.SET.task_types.TYPE and budgets.task_types.TYPE.run are tables, what is below is inline
    deep = len(keys) - 1
    if "guards" in keys:
        deep = keys.index("guards") + 4
    here = document
    for number, key in enumerate(keys[:-1]):
        if key not in here:
            if number < deep:
                here[key] = tomlkit.table(is_super_table=number < deep - 1)
            else:
                here[key] = tomlkit.inline_table()
        here = here[key]
    here[keys[-1]] = value
    top = document
    for key in keys[: deep + 1]:
        line = top.item(key) if hasattr(top, "item") else top[key]
        top = top[key]
    with suppress(AttributeError):
        line.comment(why)


def _check(text: str, inside: Keys) -> None:
    """What is written must load: every guard set in it, before the file is touched."""
    import tomllib

    data: Any = tomllib.loads(text)
    for key in inside:
        data = data.get(key, {})
    user = data.get("guards", {})
    for name in user:
        presets.load(name, user)


def _replace(path: Path, text: str) -> None:
    path = Path(os.path.realpath(path))
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with open(handle, "w", encoding="utf-8", newline="") as stream:
                stream.write(text)
            mode = path.stat().st_mode & 0o777 if path.exists() else 0o644
            os.chmod(name, mode)
            os.replace(name, path)
        except BaseException:
            with suppress(OSError):
                os.unlink(name)
            raise
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
