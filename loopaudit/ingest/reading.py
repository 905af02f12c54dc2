"""Read inputs: parse every record, give it to the reader, build the runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import orjson

from loopaudit.errors import InputError
from loopaudit.findings import Failure, InputSummary
from loopaudit.formats.base import Reader
from loopaudit.ingest.again import STRIDE, RecordRereader, Rereader
from loopaudit.ingest.head import Head
from loopaudit.ingest.opening import TOO_LONG, CutStream, TooLong
from loopaudit.ingest.runs import RunAssembler
from loopaudit.ingest.salvage import CUT_TAIL, TOO_DEEP, parse
from loopaudit.ingest.sources import Source
from loopaudit.model import Piece, Run, Skip

#: bytes of lines that are parsed, read and built together: this fits the caches, and made the whole
#: a tenth faster than line by line
LOT_BYTES = 1 << 17


@dataclass(slots=True)
class Ingested:
    """What one job read: a summary an input, the runs, and everything that was lost."""

    inputs: list[InputSummary] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    mentioned: list[Run] = field(default_factory=list)  # without steps: what is said of others
    skips: list[Skip] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    repaired: dict[str, int] = field(default_factory=dict)  # what had to be repaired, how often
    cut_tails: list[str] = field(default_factory=list)  # paths whose last line is unfinished


def read_sources(
    sources: list[Source],
    assembler: Callable[[str, str], RunAssembler],
    log_format: str | None = None,
) -> Ingested:
    """Read `sources` into runs. Several sources are parts of the same runs and are merged.

    A source that cannot be read becomes a skip; the others are read all the same.
    """
    result = Ingested()
    build: RunAssembler | None = None
    missing: set[str] | frozenset[str] | None = None
    for source in sources:
        try:
            head = Head(source, log_format)
        except InputError as error:
            text = error.message.removeprefix(f"{source.path}: ").removeprefix(f"{source.real}: ")
            result.skips.append(Skip(source.path, None, text))
            continue
        reader = head.format.reader(source.path)
        if build is None:
            build = assembler(source.path, head.format.name)
        again = partial(head.format.reader, source.path)
        rereader = Rereader(source.real, again) if head.plain else None
        records = None if head.record is None else RecordRereader(head.record, again)
        in_memory = isinstance(head.values, list) or reader.holds_all
        form = head.format.name
        build.start_file(source.path, form, reader, rereader or records, in_memory=in_memory)
        summary = _read(head, reader, build, result, rereader)
        lacks = reader.missing | head.format.lacks
        missing = lacks if missing is None else missing & lacks  # parts of a run complete it
        summary.missing = sorted(lacks)
        result.inputs.append(summary)
    if build is not None:
        result.runs = build.finish(missing or ())
        result.mentioned = build.mentioned
        for run in result.runs:
            run.missing = _missing(run)
        counts: dict[str, int] = {}
        for run in result.runs:
            counts[run.path] = counts.get(run.path, 0) + 1
        for summary in result.inputs:
            summary.runs = counts.get(summary.path, 0)
    return result


def _missing(run: Run) -> frozenset[str]:
    """What the reader says is missing, and what plainly is."""
    lacks = set(run.missing)
    if run.steps:
        if all(step.at is None for step in run.steps):
            lacks.add("times")
        if all(step.usage is None for step in run.steps):
            lacks.add("usage")
    return frozenset(lacks)


def _read(
    head: Head,
    reader: Reader,
    build: RunAssembler,
    result: Ingested,
    rereader: Rereader | None,
) -> InputSummary:
    path = head.source.path
    owner = f"log format {head.format.name}"
    reader.locate = head.locate
    broken = number = offset = 0
    offsets = rereader.offsets if rereader is not None else []

    def broke(number: int, error: Exception) -> None:
        nonlocal broken
        if isinstance(error, MemoryError):
            raise error
        broken += 1
        reason = f"the {head.format.name} reader broke here ({type(error).__name__}: {error})"
        reader.rejected.append((number, reason))
        if broken == 1:
            result.failures.append(Failure(owner, None, f"{path}:{number}", reason))

    def give(values: Iterable[tuple[int, Any]]) -> None:
        """Each stage takes the whole lot, so that its code and data stay in the nearest caches."""
        feed, add = reader.feed, build.add
        read: list[tuple[int, list[Piece]]] = []
        for number, value in values:
            pieces: list[Piece] = []
            read.append((number, pieces))
            try:
                pieces += feed(number, value)
            except Exception as error:
                broke(number, error)
        for number, pieces in read:
            try:
                for piece in pieces:
                    add(piece)
            except Exception as error:
                broke(number, error)

    try:
        if head.values is not None:
            for row in head.values:
                give([row])
            number = head.line_count
            for loss in head.lost:
                reader.rejected.append(loss)
            if head.shallow:
                _repaired(TOO_DEEP, result)
        else:
            for raw, value in head.rows:
                number += 1
                offset += len(raw)
                known = value is not None
                values = [value] if known else _salvaged(raw, number, reader, result)
                give([(number, value) for value in values])
            for lot in _lots(head.rest()):
                first = number + 1
                for raw in lot:
                    if not number % STRIDE:
                        offsets.append(offset)
                    number += 1
                    offset += len(raw) + (raw.passed_over if isinstance(raw, TooLong) else 0)
                give(_parsed(lot, first, reader, result))
    except CutStream as error:
        reader.rejected.append((number + 1, str(error)))
    finally:
        head.close()
    try:
        for piece in reader.end():
            build.add(piece)
    except Exception as error:
        result.failures.append(Failure(owner, None, path, f"{type(error).__name__}: {error}"))
    skips = [Skip(path, line, reason) for line, reason in reader.rejected]
    if reader.rejected.more:
        reason = f"{reader.rejected.more:,} more records lost, not listed one by one"
        skips.append(Skip(path, skips[-1].line, reason, reader.rejected.more))
    result.skips += skips
    return InputSummary(
        path,
        head.format.name,
        head.confidence,
        lines=number,
        records_used=reader.used,
        records_ignored=dict(sorted(reader.ignored.items())),
        skips=sum(skip.count for skip in skips),
        bytes=head.source.size,
    )


def _lots(lines: Iterator[bytes]) -> Iterator[list[bytes]]:
    """Lines in lots of about `LOT_BYTES`. What came before a `CutStream` is given first."""
    lot: list[bytes] = []
    size = 0
    try:
        for raw in lines:
            lot.append(raw)
            size += len(raw)
            if size >= LOT_BYTES:
                yield lot
                lot, size = [], 0
    except CutStream:
        if lot:
            yield lot
        raise
    if lot:
        yield lot


def _parsed(
    lot: list[bytes], first: int, reader: Reader, result: Ingested
) -> Iterable[tuple[int, Any]]:
    """The values of a lot of lines, each with its line; `first` is the number of the first."""
    try:
        return enumerate(list(map(orjson.loads, lot)), first)
    except ValueError:
        pass
    values: list[tuple[int, Any]] = []
    for number, raw in enumerate(lot, first):
        try:
            values.append((number, orjson.loads(raw)))
        except ValueError:
            values += [(number, value) for value in _salvaged(raw, number, reader, result)]
    return values


def _salvaged(raw: bytes, number: int, reader: Reader, result: Ingested) -> list[Any]:
    if isinstance(raw, TooLong):
        reader.rejected.append((number, TOO_LONG))
        return []
    parsed = parse(raw, last=not raw.endswith(b"\n"))
    for reason in parsed.lost:
        reader.rejected.append((number, reason))
        if reason == CUT_TAIL:
            result.cut_tails.append(reader.path)
    if parsed.repaired:
        _repaired(parsed.repaired, result)
    return parsed.values


def _repaired(what: str, result: Ingested) -> None:
    result.repaired[what] = result.repaired.get(what, 0) + 1
