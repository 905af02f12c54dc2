"""Read one input: open, choose the reader by content, parse every record, build the runs."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import orjson

from loopaudit import plugins
from loopaudit.errors import InputError, LoopauditError, UnknownFormatError, UsageError
from loopaudit.findings import Failure, InputSummary
from loopaudit.formats.base import Format, Reader, Sample
from loopaudit.ingest.documents import locator, parse_document
from loopaudit.ingest.opening import CutStream, compression, lines, open_stream
from loopaudit.ingest.runs import RunAssembler
from loopaudit.ingest.salvage import CUT_TAIL, parse
from loopaudit.ingest.sources import Source
from loopaudit.model import Run, Skip

SAMPLE_RECORDS = 64
SAMPLE_BYTES = 4 << 20
#: below this confidence a log is not read without being told so
MIN_CONFIDENCE = 0.3
MAX_DOCUMENT = 1 << 30  # a JSON document is held in memory whole, at about ten times its size

_YAML_HEAD = re.compile(rb"\s*(?:---|#|[A-Za-z_][\w-]*:(?:\s|$))")


@dataclass(slots=True)
class Ingested:
    """What one job read: a summary an input, the runs, and everything that was lost."""

    inputs: list[InputSummary] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    skips: list[Skip] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    repaired: dict[str, int] = field(default_factory=dict)  # what had to be repaired, how often
    cut_tails: list[str] = field(default_factory=list)  # paths whose last line is unfinished


def load_format(name: str) -> Format:
    names = plugins.format_names()
    if name not in names:
        close = difflib.get_close_matches(name, names, 3)
        hint = f"did you mean {' or '.join(close)}?" if close else f"one of {', '.join(names)}"
        raise UsageError(f"no log format is called {name!r}", hint)
    loaded: Format = plugins.load(names[name], f"log format {name}")
    return loaded


def choose_format(sample: Sample) -> tuple[Format, float]:
    """The reader that is surest of `sample`. Raises `UnknownFormatError` with the closest ones."""
    ranking: list[tuple[float, int, Format]] = []
    for place, name in enumerate(plugins.format_names()):
        form = load_format(name)
        try:
            score = float(form.sniff(sample))
        except Exception:  # a broken sniffer must not hide the readers that work
            score = 0.0
        ranking.append((-score, place, form))
    ranking.sort(key=lambda r: r[:2])
    best, _, form = ranking[0]
    if -best < MIN_CONFIDENCE:
        close = ", ".join(f"{f.name} {-s:.0%}" for s, _, f in ranking[:3] if s < 0)
        keys = sorted({k for r in sample.records if isinstance(r, dict) for k in r})[:8]
        seen = f"its records have {', '.join(keys)}" if keys else "it holds no JSON objects"
        raise UnknownFormatError(
            f"{sample.path}: no reader knows this log; {seen}",
            f"closest: {close or 'none'}; --log-format NAME forces one",
        )
    return form, -best


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
    missing: set[str] = set()
    for source in sources:
        try:
            head = _Head(source, log_format)
        except LoopauditError as error:
            text = error.message.removeprefix(f"{source.path}: ").removeprefix(f"{source.real}: ")
            result.skips.append(Skip(source.path, None, text))
            continue
        reader = head.format.reader(source.path)
        if build is None:
            build = assembler(source.path, head.format.name)
        build.start_file(
            source.path, head.format.name, getattr(reader, "placeholder_outputs", False)
        )
        summary = _read(head, reader, build, result)
        missing |= reader.missing | head.format.lacks
        summary.missing = sorted(reader.missing | head.format.lacks)
        result.inputs.append(summary)
    if build is not None:
        result.runs = build.finish(missing)
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


def _read(head: _Head, reader: Reader, build: RunAssembler, result: Ingested) -> InputSummary:
    source = head.source
    path = source.path
    summary = InputSummary(path, head.format.name, head.confidence, bytes=source.size)
    reader.locate = head.locate
    feed, add, trim, loads = reader.feed, build.add, reader.trim, orjson.loads
    broken = 0
    number = 0
    raw = b""

    def give(number: int, value: Any) -> None:
        nonlocal broken
        try:
            for piece in feed(number, value):
                add(piece)
        except Exception as error:
            broken += 1
            reason = f"the {head.format.name} reader broke here ({type(error).__name__}: {error})"
            result.skips.append(Skip(path, number, reason))
            if broken == 1:
                owner = f"log format {head.format.name}"
                result.failures.append(Failure(owner, None, f"{path}:{number}", reason))

    try:
        if head.values is not None:
            for number, value in head.values:
                give(number, value)
            number = head.lines
        else:
            for raw in head.rows():
                number += 1
                try:
                    value = loads(trim(raw))
                except ValueError:
                    for value in _salvaged(raw, number, path, result):
                        give(number, value)
                    continue
                try:
                    for piece in feed(number, value):
                        add(piece)
                except Exception:
                    give(number, value)
    except CutStream as error:
        result.skips.append(Skip(path, number + 1, str(error)))
    finally:
        head.close()
    try:
        for piece in reader.end():
            add(piece)
    except Exception as error:
        owner = f"log format {head.format.name}"
        result.failures.append(Failure(owner, None, path, f"{type(error).__name__}: {error}"))
    result.skips += [Skip(path, line, reason) for line, reason in reader.rejected]
    summary.lines = number
    summary.records_used = reader.used
    summary.records_ignored = dict(sorted(reader.ignored.items()))
    summary.skips = sum(1 for s in result.skips if s.path == path)
    return summary


def _salvaged(raw: bytes, number: int, path: str, result: Ingested) -> list[Any]:
    parsed = parse(raw, last=not raw.endswith(b"\n"))
    for reason in parsed.lost:
        result.skips.append(Skip(path, number, reason))
        if reason == CUT_TAIL:
            result.cut_tails.append(path)
    if parsed.repaired:
        result.repaired[parsed.repaired] = result.repaired.get(parsed.repaired, 0) + 1
    return parsed.values


class _Head:
    """An opened input: its head parsed, its reader chosen, the rest still to be read."""

    def __init__(self, source: Source, log_format: str | None) -> None:
        self.source = source
        self.values: list[tuple[int, Any]] | None = None  # set for documents
        self.lines = 0
        self.locate: Callable[..., int] | None = None
        self._first: list[bytes] = []
        self._stream: BinaryIO = open_stream(source.real)
        try:
            sample = self._sample()
            if log_format is not None:
                self.format, self.confidence = load_format(log_format), 1.0
            else:
                self.format, self.confidence = choose_format(sample)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self._stream.close()

    def rows(self) -> Iterator[bytes]:
        yield from self._first
        yield from self._rest

    def _sample(self) -> Sample:
        packed = False
        with open(self.source.real, "rb") as raw:
            packed = compression(raw.read(6)) is not None
        self._rest = lines(self._stream, self.source.size if packed else 0)
        records: list[Any] = []
        size = 0
        cut = False
        while len(records) < SAMPLE_RECORDS and size < SAMPLE_BYTES:
            try:
                row = next(self._rest, None)
            except CutStream:
                cut = True
                break
            if row is None:
                break
            self._first.append(row)
            size += len(row)
            text = row.strip(b" \t\r\n\x00\xef\xbb\xbf")
            if not text:
                continue
            try:
                records.append(orjson.loads(text))
            except ValueError:
                if not records and self._is_document(text):
                    return self._document()
                records += parse(row, last=not row.endswith(b"\n")).values
        if cut and not self._first:
            raise InputError(f"{self.source.path}: packed data is damaged at its very start")
        if not records:
            raise InputError(f"{self.source.path}: holds no JSON record")
        if len(records) == 1 and isinstance(records[0], list) and size < SAMPLE_BYTES:
            return self._document()
        return Sample(self.source.path, records)

    def _is_document(self, text: bytes) -> bool:
        """Whether the first line opens a value that goes on below, or a YAML file."""
        if text[:1] in (b"{", b"["):
            return text[-1:] in (b"{", b"[", b",")
        return _YAML_HEAD.match(text) is not None

    def _document(self) -> Sample:
        data = bytearray()
        for row in self.rows():
            data += row
            if len(data) > MAX_DOCUMENT:
                raise InputError(f"{self.source.path}: one JSON document of more than 1 GiB")
        self.lines = data.count(b"\n") + (not data.endswith(b"\n"))
        self.values = parse_document(bytes(data), self.source.path)
        if len(self.values) == 1:
            self.locate = locator(bytes(data))
            return Sample(self.source.path, [self.values[0][1]], document=True)
        return Sample(self.source.path, [v for _, v in self.values[:SAMPLE_RECORDS]])


__all__ = ["Ingested", "choose_format", "load_format", "read_sources"]
