"""What readers of session logs share: facts of runs, ignored kinds, totals of whole sessions."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

import orjson

from loopaudit import files
from loopaudit.formats.coding.spoken import spoken
from loopaudit.formats.logreader import LogReader
from loopaudit.formats.shapes import Json
from loopaudit.formats.usages import SPREAD
from loopaudit.model import (
    BUCKETS,
    BoundaryPiece,
    Piece,
    ResponsePiece,
    RunPiece,
    Usage,
    UsageMark,
)

_NAMES = 200  # names of ignored kinds that are told apart
_MOST_BESIDE = 1 << 20  # bytes of a file that is read beside a log
#: ids shorter than this ("20260816_3") are given anew on every machine
UNIQUE = 16


class SessionReader(LogReader):
    """Reads logs of whole sessions, whose runs have ids of their own."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._told: set[str] = set()  # runs of which the session is told

    def ignore(self, kind: str) -> tuple[Piece, ...]:
        """Leave a record out, and count it by its kind."""
        if len(self.ignored) >= _NAMES and kind not in self.ignored:
            kind = "other kinds"
        self.ignored[kind[:80]] += 1
        return ()

    def begun(self, run: str, line: int, **facts: Any) -> RunPiece:
        """What is known of a run. A session id that is unique lets other files go on with it.

        A sub-agent's run is named `<session>/<agent>`.
        """
        if run not in self._told:
            self._told.add(run)
            session = run.partition("/")[0]
            if "session" not in facts and len(session) >= UNIQUE:
                facts["session"] = session
        return RunPiece(run, line, **facts)

    def said(
        self, run: str, line: int, at: float | None, text: str | None, inserted: bool = False
    ) -> BoundaryPiece:
        """A message of the role "user"."""
        kind, text = spoken(text, inserted)
        return BoundaryPiece(run, line, kind, at, text)


def load(value: Any) -> Any:
    """The JSON value of a text; the value itself where it is no text or no JSON."""
    if isinstance(value, str | bytes):
        try:
            return orjson.loads(value)
        except (ValueError, UnicodeEncodeError):
            return value
    return value


def beside(path: str, *parts: str) -> Json:
    """The JSON object in a file beside (or, with "..", above) the log at `path`, else empty."""
    if path in ("", "-"):
        return {}
    try:
        name = os.path.join(os.path.dirname(path), *parts)
        value = orjson.loads(files.whole(name, _MOST_BESIDE))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def spread(
    run: str, line: int, ids: Sequence[str], total: Usage | None, cost: Decimal | None = None
) -> Iterable[ResponsePiece]:
    """The total of a session as estimates of its responses `ids`, which add up to it exactly."""
    if not ids or (total is None and cost is None):
        return
    shares: dict[str, list[int]] = {}
    for name in BUCKETS:
        amount = getattr(total, name) if total is not None else None
        if amount is not None:
            each, rest = divmod(amount, len(ids))
            shares[name] = [each + (index < rest) for index in range(len(ids))]
    for index, key in enumerate(ids):
        usage = None
        if shares:
            usage = Usage(mark=UsageMark.ESTIMATED, note=SPREAD)
            for name, parts in shares.items():
                setattr(usage, name, parts[index])
        share = cost / len(ids) if cost is not None else None
        yield ResponsePiece(run, line, id=key, usage=usage, cost=share)
