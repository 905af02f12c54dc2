"""What readers of messages share: ids of runs, counts, and what the log lacks."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass, field
from typing import Any

from loopaudit.formats.base import Reader
from loopaudit.formats.shapes import shown
from loopaudit.model import (
    BoundaryKind,
    BoundaryPiece,
    Piece,
    ResponsePiece,
    ResultPiece,
    RunPiece,
)

_ENDINGS = frozenset(
    (
        "gz",
        "bz2",
        "xz",
        "zst",
        "json",
        "jsonl",
        "ndjson",
        "yaml",
        "yml",
        "txt",
        "log",
        "eval",
        "traj",
    )
)


def stem(path: str) -> str:
    """File name without folders and known endings; names runs that have no id of their own."""
    base = path.replace("\\", "/").rstrip("/").rpartition("/")[2]
    while True:
        rest, dot, ending = base.rpartition(".")
        if not (dot and rest and ending.lower() in _ENDINGS):
            return "stdin" if base in ("", "-") else base
        base = rest


@dataclass(slots=True)
class Tally:
    """What a log holds, to tell at its end what it lacks."""

    responses: int = 0
    usages: int = 0
    times: int = 0
    calls: int = 0
    arguments: int = 0
    results: int = 0
    called: set[str] = field(default_factory=set)  # runs whose last response called something
    went_on: bool = False  # some run went on after a call that had no result

    def add(self, pieces: Iterable[Piece]) -> None:
        for piece in pieces:
            if isinstance(piece, ResponsePiece):
                self.responses += 1
                self.usages += piece.usage is not None
                self.times += piece.at is not None
                if not self.results and piece.run in self.called:
                    self.went_on = True
                if piece.calls:
                    self.calls += len(piece.calls)
                    if not self.arguments:
                        self.arguments += any(call.args is not None for call in piece.calls)
                    if not self.results:
                        self.called.add(piece.run)
            elif isinstance(piece, ResultPiece):
                self.results += 1

    def missing(self) -> set[str]:
        """Of "results", "times", "usage", "arguments". A last call may well be unanswered."""
        lacks = set()
        if self.responses and not self.usages:
            lacks.add("usage")
        if self.responses and not self.times:
            lacks.add("times")
        if self.calls and not self.arguments:
            lacks.add("arguments")
        if self.calls and not self.results and self.went_on:
            lacks.add("results")
        return lacks


class LogReader(Reader):
    """What all readers of messages share: names of runs, counts, and what the log lacks."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.stem = stem(path)
        self._tally = Tally()
        self._runs = 0
        self._own: dict[str, int] = {}
        self._prompted: set[str] = set()

    def feed(self, line: int, record: Any) -> Iterable[Piece]:
        if record == []:
            self.ignored["empty list"] += 1
            return ()
        return self.read(line, record)

    def read(self, line: int, record: Any) -> Iterable[Piece]:
        """What `feed` is for other readers."""
        raise NotImplementedError

    def new_run(self, own: str | None = None) -> str:
        """Id of a new run: the log's own (numbered where it comes again), or `<stem>#<n>`.

        An own id as short as "7" tells nothing without the name of its file.
        """
        self._runs += 1
        if not own:
            return f"{self.stem}#{self._runs}"
        times = self._own[own] = self._own.get(own, 0) + 1
        run = own if len(own) >= 8 else f"{self.stem}:{own}"
        return run if times == 1 else f"{run}#{times}"

    def place(self, line: int, *keys: Any) -> int:
        """Line of a part of a document, where the opener can tell it."""
        if self.locate is None:
            return line
        return self.locate(*keys) or line

    def messages(
        self,
        line: int,
        messages: list[Any],
        keys: tuple[Any, ...],
        roles: Container[Any],
        read: Callable[[Any], Iterable[Piece]],
    ) -> list[Piece]:
        """Pieces of a list of messages, each with its line; one of no known role is rejected."""
        out: list[Piece] = []
        for index, message in enumerate(messages):
            place = self.place(line, *keys, index)
            role = message.get("role") if isinstance(message, dict) else message
            if not isinstance(message, dict) or not isinstance(role, str) or role not in roles:
                self.reject(place, f"no message: role {shown(role)}")
                continue
            for piece in read(message):
                piece.line = place
                out.append(piece)
        return out

    def emit(self, pieces: Iterable[Piece], run: str | None = None, line: int = 0) -> list[Piece]:
        """Pieces on their way out: run and line set, counted, the first prompt told of the run."""
        out: list[Piece] = []
        for piece in pieces:
            if run is not None:
                piece.run, piece.line = run, line
            if (
                isinstance(piece, BoundaryPiece)
                and piece.kind is BoundaryKind.USER
                and piece.text
                and piece.run not in self._prompted
            ):
                self._prompted.add(piece.run)
                out.append(RunPiece(piece.run, piece.line, prompt=piece.text[:2000]))
            out.append(piece)
        self._tally.add(out)
        return out

    def reject(self, line: int, reason: str) -> tuple[Piece, ...]:
        self.rejected.append((line, reason))
        return ()

    def end(self) -> Iterable[Piece]:
        self.missing |= self._tally.missing()
        return ()
