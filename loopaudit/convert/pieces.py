"""The pieces of inputs, as their readers tell them, on their way to a writer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from loopaudit.convert.redaction import Redactor
from loopaudit.formats.base import Reader
from loopaudit.ingest.reading import Ingested, read_sources
from loopaudit.ingest.results import Keep
from loopaudit.ingest.runs import RunAssembler
from loopaudit.ingest.sources import Source
from loopaudit.ingest.steps import PLACEHOLDER_OUTPUT
from loopaudit.model import CallStatus, Piece, ResponsePiece, ResultPiece, Run, UsageMark

#: texts are kept whole
_ALL = 1 << 40


class _Tap:
    """Takes the place of the assembler of runs: hands each piece on and keeps nothing."""

    def __init__(self, take: Callable[[Piece], None], begin: Callable[[str, str, Reader], None]):
        self.add = take
        self._begin = begin
        self.mentioned: list[Run] = []

    def start_file(self, path: str, format_name: str, reader: Reader, *_: Any, **__: Any) -> None:
        self._begin(path, format_name, reader)

    def finish(self, missing: Iterable[str] = ()) -> list[Run]:
        return []


def tell(
    sources: Iterable[Source],
    take: Callable[[Piece], None],
    log_format: str | None = None,
    begin: Callable[[str, str, Reader], None] = lambda path, name, reader: None,
) -> Ingested:
    """Give every piece of `sources` to `take`, in order; what was lost is in the answer.

    `begin` hears of each file: its path, the name of its format, its reader.
    """
    whole = Ingested()
    placeholders = streamed = flagged = False

    def started(path: str, name: str, reader: Reader) -> None:
        nonlocal placeholders, streamed, flagged
        placeholders, streamed = reader.placeholder_outputs, reader.streamed_calls
        flagged = reader.flags_failures
        begin(path, name, reader)

    def taken(piece: Piece) -> None:
        """Say of the piece what is known of all of its log."""
        if isinstance(piece, ResponsePiece):
            piece.streamed = piece.streamed or (streamed and bool(piece.calls))
            if placeholders:
                _mark(piece)
        elif isinstance(piece, ResultPiece) and flagged and piece.status is CallStatus.OK:
            piece.flagged = True
        take(piece)

    def tap(path: str, name: str) -> Any:
        return _Tap(taken, started)

    for source in sources:
        read = read_sources([source], tap, log_format)
        whole.inputs += read.inputs
        whole.skips += read.skips
        whole.failures += read.failures
    return whole


def _mark(piece: ResponsePiece) -> None:
    """Say of a count that may be a placeholder what only the reader of its format knows."""
    usage = piece.usage
    if (
        usage is not None
        and piece.finish is None
        and usage.mark is UsageMark.REPORTED
        and usage.output is not None
        and usage.output <= PLACEHOLDER_OUTPUT
    ):
        usage.mark, usage.note = UsageMark.LOWER_BOUND, "output written before the stream ended"


def runs_of(
    sources: Iterable[Source], log_format: str | None, redactor: Redactor | None
) -> tuple[Ingested, list[Run]]:
    """The runs of all sources with their texts whole: they are held in memory."""
    keep = Keep(args=_ALL, result=_ALL, error=_ALL, text=_ALL)
    build: list[RunAssembler] = []

    def begin(path: str, name: str, reader: Reader) -> None:
        if not build:
            build.append(RunAssembler(path, name, keep=keep))
        build[0].start_file(path, name, reader)

    def take(piece: Piece) -> None:
        build[0].add(redactor.piece(piece) if redactor is not None else piece)

    read = tell(sources, take, log_format, begin)
    return read, build[0].finish() if build else []
