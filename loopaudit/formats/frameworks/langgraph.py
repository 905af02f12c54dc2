"""LangGraph state histories: checkpoints of threads, each with all messages so far.

`get_state_history` lists the newest first, and every checkpoint repeats the messages before it: a
message counts once, at the time of the first checkpoint that holds it. Checkpoints of one parent
twice are a fork (a retry or time travel): the branch that ends last is the run, the others are runs
forked from it. Messages that a later checkpoint no longer has were summed up or cut: a compaction.
A namespace is a subgraph, a run of its own. All checkpoints of a file are held until its end.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from loopaudit.formats.base import Format, Sample
from loopaudit.formats.langchain_shapes import message_pieces, unwrap
from loopaudit.formats.logreader import LogReader
from loopaudit.formats.shapes import Json, name, rows, seconds, table, words
from loopaudit.keys import canonical, digest
from loopaudit.model import (
    AttemptPiece,
    BoundaryKind,
    BoundaryPiece,
    Piece,
    ResponsePiece,
    ResultPiece,
    RunPiece,
)


@dataclass(slots=True)
class _Checkpoint:
    line: int
    keys: tuple[Any, ...]  # where its messages stand
    at: float | None
    parent: str | None
    messages: list[Any]
    agent: str | None
    errors: list[str]


@dataclass(slots=True)
class _Thread:
    checkpoints: dict[str, _Checkpoint] = field(default_factory=dict)


class GraphReader(LogReader):
    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._threads: dict[tuple[str, str], _Thread] = {}
        self._runs_of: dict[tuple[str, str], str] = {}

    def read(self, line: int, record: Any) -> Iterable[Piece]:
        if isinstance(record, list):
            for index, item in enumerate(record):
                self._take(line, item, (index,))
        else:
            self._take(line, record, ())
        return ()

    def _take(self, line: int, item: Any, keys: tuple[Any, ...]) -> None:
        place = self.place(line, *keys)
        if not isinstance(item, dict) or "values" not in item:
            self.reject(place, "no checkpoint: it has no values")
            return
        values = item["values"]
        keys = (*keys, "values") if isinstance(values, list) else (*keys, "values", "messages")
        found = values if isinstance(values, list) else table(item, "values").get("messages")
        self.used += 1
        config = table(table(item, "config"), "configurable")
        thread = name(config.get("thread_id")) or self.stem
        space = name(config.get("checkpoint_ns")) or ""
        checkpoints = self._threads.setdefault((thread, space), _Thread()).checkpoints
        key = name(config.get("checkpoint_id")) or f"#{len(checkpoints)}"
        before = table(table(item, "parent_config"), "configurable")
        told = table(item, "metadata")
        errors = [words(task.get("error")) for task in rows(item.get("tasks"))]
        checkpoints[key] = _Checkpoint(
            line,
            keys,
            seconds(item.get("created_at")),
            name(before.get("checkpoint_id")),
            found if isinstance(found, list) else [],
            name(told.get("lc_agent_name")) or name(told.get("graph_id")),
            [error for error in errors if error],
        )

    def end(self) -> Iterable[Piece]:
        out: list[Piece] = []
        for where in sorted(self._threads, key=lambda key: (key[0], len(key[1]), key[1])):
            out += self.emit(self._branches(where, self._threads[where].checkpoints))
        return [*out, *super().end()]

    def _branches(self, where: tuple[str, str], all_: dict[str, _Checkpoint]) -> Iterable[Piece]:
        parents = {point.parent for point in all_.values()}
        leaves = [key for key in all_ if key not in parents] or list(all_)[:1]
        leaves.sort(key=lambda key: (all_[key].at or 0.0, key), reverse=True)
        thread, space = where
        main: str | None = None
        for leaf in leaves:
            run = self.new_run("/".join(filter(None, (thread, space))))
            chain = _chain(all_, leaf)
            above = self._runs_of.get((thread, space.rpartition("|")[0])) if space else None
            yield RunPiece(
                run,
                self._line(chain[0], None),
                session=thread,
                parent=above,
                agent=next((p.agent for p in chain if p.agent), space.partition(":")[0] or None),
                forked_from=main,
                at=chain[0].at,
            )
            main = main or run
            self._runs_of.setdefault(where, run)
            yield from self._told(run, chain)

    def _line(self, point: _Checkpoint, index: int | None) -> int:
        return self.place(point.line, *point.keys, *([] if index is None else [index]))

    def _told(self, run: str, chain: list[_Checkpoint]) -> Iterable[Piece]:
        """Pieces of what each checkpoint adds to the one before."""
        seen: set[str] = set()
        before: set[str] = set()
        for point in chain:
            now: set[str] = set()
            new: list[tuple[int, tuple[str, Json]]] = []
            for index, message in enumerate(point.messages):
                told = unwrap(message)
                if told is None:
                    self.reject(self._line(point, index), "no LangChain message in a checkpoint")
                    continue
                key = name(told[1].get("id")) or f"{index} {digest(canonical(told[1])):x}"
                now.add(key)
                if key not in seen:
                    seen.add(key)
                    new.append((index, told))
            if before - now and now:
                yield BoundaryPiece(run, self._line(point, None), BoundaryKind.COMPACTION, point.at)
            before = now
            for index, told in new:
                for piece in message_pieces(*told):
                    piece.run, piece.line = run, self._line(point, index)
                    if isinstance(piece, ResponsePiece | ResultPiece | BoundaryPiece):
                        piece.at = point.at
                    yield piece
            for error in point.errors:
                line = self._line(point, None)
                yield AttemptPiece(run, line, point.at, message=error, gave_up=True)


def _chain(all_: dict[str, _Checkpoint], leaf: str) -> list[_Checkpoint]:
    """A branch from its first known checkpoint to `leaf`."""
    chain: list[_Checkpoint] = []
    seen: set[str] = set()
    key: str | None = leaf
    while key is not None and key in all_ and key not in seen:
        seen.add(key)
        chain.append(all_[key])
        key = all_[key].parent
    return chain[::-1]


def sniff(sample: Sample) -> float:
    records = sample.records
    if sample.document and records and isinstance(records[0], list):
        records = records[0][:32]
    if not records or not all(isinstance(record, dict) for record in records):
        return 0.0
    fits = [
        "values" in record
        and "thread_id" in table(table(record, "config"), "configurable")
        and ("next" in record or "metadata" in record)
        for record in records
    ]
    return 0.96 if all(fits) else 0.0


FORMAT = Format(
    name="langgraph",
    title="LangGraph state histories",
    sniff=sniff,
    reader=GraphReader,
    describes=(
        "States of LangGraph threads as get_state_history gives them, dumped as JSON: a list of "
        "checkpoints or one a line, newest first or last. The native stores (SQLite, Postgres) "
        "hold msgpack and are not read."
    ),
)
