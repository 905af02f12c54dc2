"""`loopaudit cache`: what is kept of logs that were read before, and how to be rid of it."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import Annotated

import typer

from loopaudit.cli.app import command
from loopaudit.cli.flags import Config
from loopaudit.errors import UsageError

app = typer.Typer(
    **command(
        "Tells where results of reading logs are kept, and how many, or deletes them. They hold"
        " short excerpts of the logs, and only this user can read them. Settings, in [cache]:"
        " enabled, dir, max_mb (the oldest in use go when it is full), min_mb (of logs; with fewer"
        " it is not used). LOOPAUDIT_CACHE_DIR names another folder."
    )
)


class Action(StrEnum):
    INFO = "info"
    CLEAR = "clear"


@app.command()
def cache(
    action: Annotated[
        Action, typer.Argument(metavar="[info|clear]", help="Show, or delete.")
    ] = Action.INFO,
    config: Config = None,
) -> int:
    from loopaudit import settings, store
    from loopaudit.render.text import inert

    place = store.read(settings.load(config))
    if place.folder is None:
        print("no cache: this user has no home folder", file=sys.stderr)
        return 0
    folder = inert(str(place.folder))
    if action is Action.CLEAR:
        try:
            freed = store.clear(place.folder)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise UsageError(f"cannot clear {place.folder}: {reason}") from None
        print(f"{folder}: {_size(freed)} deleted")
        return 0
    shelf = store.Shelf(place.folder, place.most)
    use = shelf.use()
    shelf.close()
    off = "" if place.enabled else ", off"
    if use is None:
        why = f" ({inert(shelf.trouble)})" if shelf.trouble else ""
        print(f"{folder}: empty{why}, at most {_size(place.most)}{off}")
        return 0
    print(f"{inert(str(use.path))}: {_size(use.size)}, at most {_size(place.most)}{off}")
    print(f"{use.entries:,} results of reading{_when(use.oldest, use.newest)}")
    return 0


def _size(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"


def _when(oldest: float | None, newest: float | None) -> str:
    from datetime import UTC

    from loopaudit.render.figures import moment

    if oldest is None or newest is None:
        return ""
    return f", last used {moment(oldest, UTC)} to {moment(newest, UTC)} UTC"
