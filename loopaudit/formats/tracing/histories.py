"""Histories that share their beginnings: a tree of messages, each kept once.

A node stands for a history: its last piece, and the node of all before. Two histories that begin
alike share nodes, so the many copies of a growing conversation take the memory of the longest.
System prompts and call ids do not tell histories apart (both are rewritten on the way).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import orjson

from loopaudit.keys import canonical, digest
from loopaudit.model import BoundaryPiece, Piece, ResponsePiece, ResultPiece

ROOT = 0


class Histories:
    def __init__(self) -> None:
        self._nodes: dict[tuple[int, int], int] = {}
        self._parents: list[int] = [ROOT]
        self._pieces: list[Piece | None] = [None]
        self._read: dict[int, int] = {}  # digest of a list of messages as written -> its node

    def add(self, pieces: Iterable[Piece], node: int = ROOT) -> int:
        """The node of the history that goes on from `node` with `pieces`."""
        for piece in pieces:
            key = (node, _key(piece))
            found = self._nodes.get(key)
            if found is None:
                found = self._nodes[key] = len(self._parents)
                self._parents.append(node)
                self._pieces.append(piece)
            node = found
        return node

    def read(self, messages: list[Any], parse: Callable[[list[Any]], list[Piece]]) -> int:
        """The node of a list of messages. One that goes on with a list that was read before is
        parsed from there on only."""
        digests: list[int] = []
        sofar = 0
        for message in messages:
            sofar = digest(b"%x" % sofar + _written(message))
            digests.append(sofar)
        known = next((i for i in range(len(digests), 0, -1) if digests[i - 1] in self._read), 0)
        node = self._read[digests[known - 1]] if known else ROOT
        if known < len(messages):
            node = self.add(parse(messages[known:]), node)
            self._read[sofar] = node
        return node

    def up(self, node: int) -> Iterator[tuple[int, Piece]]:
        """Nodes with their pieces from the newest to the oldest."""
        while node != ROOT:
            piece = self._pieces[node]
            assert piece is not None
            yield node, piece
            node = self._parents[node]


def _written(message: Any) -> bytes:
    try:
        return orjson.dumps(message)
    except (TypeError, ValueError, RecursionError):
        return canonical(message)


def _key(piece: Piece) -> int:
    if isinstance(piece, ResponsePiece):
        calls = [
            [call.tool, canonical(call.args).decode("utf-8", "replace")] for call in piece.calls
        ]
        return digest(canonical(["A", (piece.text or "").strip(), calls]))
    if isinstance(piece, ResultPiece):
        return digest(b"R" + canonical(piece.text))
    if isinstance(piece, BoundaryPiece):
        return digest(f"{piece.kind}\0{(piece.text or '').strip()}")
    return 0
