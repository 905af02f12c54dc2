"""An opened input: its head parsed, its reader chosen by content, the rest still to be read."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from io import BytesIO
from itertools import islice
from typing import Any

import orjson

from loopaudit import files, plugins
from loopaudit.errors import InputError, UnknownFormatError, UsageError
from loopaudit.files import evidence
from loopaudit.formats.base import Format, Sample
from loopaudit.ingest import parquet
from loopaudit.ingest.documents import locator, parse_document
from loopaudit.ingest.opening import (
    MAX_LINE,
    TOO_LONG,
    CutStream,
    TooLong,
    is_packed,
    lines,
    open_stream,
)
from loopaudit.ingest.salvage import parse
from loopaudit.ingest.sources import Source, is_database

#: records looked at to choose a reader: a few, and more where those leave doubt
FIRST_LOOK, SECOND_LOOK = 6, 64
SAMPLE_BYTES = 4 << 20
#: a reader this sure after the first look is taken
SURE = 0.9
#: one this sure is taken without asking those that stand after it in the list: most logs then load
#: two readers of fifty
CERTAIN = 0.99
#: below this confidence a log is not read without being told so
MIN_CONFIDENCE = 0.3
MAX_DOCUMENT = 1 << 30  # a JSON document is held in memory whole, at about ten times its size

#: begins what is said of a log that no reader knows
NOBODYS = "no reader knows this log"
_ENDINGS = re.compile(r"\.\w+")
_YAML_HEAD = re.compile(rb"\s*(?:---|#|[A-Za-z_][\w-]*:(?:\s|$))")


def load_format(name: str) -> Format:
    """The format called `name`. Raises `UsageError` with the closest names."""
    if name.startswith(plugins.MAPPED):
        evidence.doubt()  # the mapping is a file of its own
        mapped: Format = plugins.load(name, "mapping")
        return mapped
    names = plugins.format_names()
    if name not in names:
        close = difflib.get_close_matches(name, names, 3)
        hint = f"did you mean {' or '.join(close)}?" if close else f"one of {', '.join(names)}"
        raise UsageError(f"no log format is called {name!r}", hint)
    if name not in plugins.FORMATS:
        evidence.doubt()  # another's code may change, and look at anything
    loaded: Format = plugins.load(names[name], f"log format {name}")
    return loaded


def rank_formats(sample: Sample) -> list[tuple[float, Format]]:
    """Readers with their confidence, the surest first; one that is certain ends the search."""
    ranking: list[tuple[float, Format]] = []
    for name in plugins.format_names():
        form = load_format(name)
        try:
            score = float(form.sniff(sample))
        except Exception:  # a broken sniffer must not hide the readers that work
            score = 0.0
        ranking.append((score, form))
        if score >= CERTAIN:
            break
    ranking.sort(key=lambda ranked: -ranked[0])  # stable: ties go by the order of the list
    return ranking


class Head:
    """Opens `source` and chooses its reader. Raises `InputError` or `UnknownFormatError`.

    `values` is set for documents (line, value); for other logs read `rows`, then `rest`.
    """

    def __init__(self, source: Source, log_format: str | None) -> None:
        self.source = source
        self.values: Iterable[tuple[int, Any]] | None = None
        self.line_count = 0  # of a document; records of a database or store
        self.lost: list[tuple[int, str]] = []  # line and reason, of a document
        self.shallow = False  # values of a document that are nested too deep are left out
        self.locate: Callable[..., int] | None = None
        self.record: Callable[[int], Any] | None = None  # that of a line, where there are no lines
        self.plain = False  # neither packed nor a document: lines can be found again
        self.rows: list[tuple[bytes, Any]] = []  # raw line, its value or `None` if not parsed
        self._stream: Any = _unlined(source)
        if self._stream is not None:
            try:
                self.format, self.confidence = self._records_of(self._stream, log_format)
            except BaseException:
                self.close()
                raise
            return
        self._stream = open_stream(source.real)
        self._records: list[Any] = []
        self._cut: CutStream | None = None
        self._broken: InputError | None = None  # what looked like a document and is none
        try:
            packed = is_packed(self._stream)
            self._lines = lines(self._stream, source.size if packed else 0)
            self.format, self.confidence = self._choose(log_format)
            self.plain = not packed and self.values is None
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self._stream.close()

    def rest(self) -> Iterator[bytes]:
        """The lines after `rows`. Raises `CutStream` where packed data breaks off."""
        if self._cut is not None:
            raise self._cut
        return self._lines

    def _records_of(self, kept: Any, log_format: str | None) -> tuple[Format, float]:
        """Choose the reader of what has records but no lines: a database, a session of a store."""
        tables = getattr(kept, "tables", None)
        first = [] if tables is not None else list(islice(kept.records(), FIRST_LOOK))
        path = self.source.path
        sample = Sample(path, [value for _, value in first], tables=tables or {})
        form, sure = self._surest(sample) if log_format is None else (load_format(log_format), 1.0)

        if tables is not None and not form.tables:
            raise InputError(f"{path}: a database, and {form.name} reads none")

        def records() -> Iterator[tuple[int, Any]]:
            kept.lost.clear()  # of the first look
            for line, value in kept.records(form.tables) if tables is not None else kept.records():
                self.line_count += 1
                yield line, value
            self.lost += kept.lost

        self.values = records()
        self.record = partial(kept.record, form.tables) if tables is not None else kept.record
        return form, sure

    def _surest(self, sample: Sample) -> tuple[Format, float]:
        ranking = rank_formats(sample)
        best, form = ranking[0]
        if best < MIN_CONFIDENCE:
            named = ", ".join(list(sample.tables)[:8])
            seen = f"a database with the tables {named}" if named else _seen(sample.records)
            raise UnknownFormatError(
                f"{sample.path}: {NOBODYS}; {seen}", "--log-format NAME forces a reader"
            )
        return form, best

    def _choose(self, log_format: str | None) -> tuple[Format, float]:
        sample = self._sample(FIRST_LOOK)
        if log_format is not None:
            return load_format(log_format), 1.0
        ranking = rank_formats(sample)
        if ranking[0][0] < SURE and not sample.document:
            sample = self._sample(SECOND_LOOK)
            ranking = rank_formats(sample)
        best, form = ranking[0]
        if best < MIN_CONFIDENCE:
            from loopaudit.ingest.near import nearest

            close = ", ".join(map(str, nearest(sample.records)))
            close = f"; closest: {close}" if close else "; no format has records like these"
            raise UnknownFormatError(
                f"{sample.path}: {NOBODYS}; {_seen(sample.records)}{close}",
                "--map FILE reads any JSON lines (explain map); --log-format NAME forces a reader",
            )
        return form, best

    def _sample(self, records: int) -> Sample:
        """Read on until `records` are parsed; a document is read whole."""
        path = self.source.path
        size = sum(len(raw) for raw, _ in self.rows)
        while len(self._records) < records and size < SAMPLE_BYTES and self.values is None:
            try:
                raw = next(self._lines, None)
            except CutStream as error:
                self._cut = error
                break
            if raw is None:
                break
            size += len(raw)
            text = raw.strip(b" \t\r\n\x00\xef\xbb\xbf")
            value = None
            if isinstance(raw, TooLong):
                self._broken = InputError(f"{path}: {TOO_LONG}")
            elif text:
                try:
                    value = orjson.loads(raw)
                    values = [value]
                except ValueError:
                    if not self._records and self._broken is None and _opens_document(text):
                        self._document(raw)
                        continue
                    values = parse(raw, last=not raw.endswith(b"\n")).values
                self._records += [v for v in values if isinstance(v, dict | list)]
            self.rows.append((raw, value))
        if self._broken is None and self._is_one_value(size):
            self._document(b"")
            return self._sample(records)
        if isinstance(self.values, list):
            return Sample(path, [v for _, v in self.values[:SECOND_LOOK]], len(self.values) == 1)
        if not self._records:
            raise self._broken or InputError(f"{path}: {self._cut or 'holds no JSON record'}")
        return Sample(path, self._records)

    def _is_one_value(self, size: int) -> bool:
        """Whether what was read is one list, or one value that breaks off."""
        if self.values is not None or size >= SAMPLE_BYTES:
            return False
        if self._records:
            return len(self._records) == 1 and isinstance(self._records[0], list)
        head = self.rows[0][0].lstrip()[:1] if len(self.rows) == 1 else b""
        return head == b"[" or (head == b"{" and ".json" in _ENDINGS.findall(self.source.path))

    def _document(self, first: bytes) -> None:
        """Read the whole input as one value; where it is none after all, go back to its lines."""
        path = self.source.path
        data = bytearray(b"".join(raw for raw, _ in self.rows))
        data += first
        try:
            if not is_packed(self._stream) and self.source.size < MAX_LINE and self._cut is None:
                data += self._stream.read(MAX_LINE)  # at once: it has a line for every value
            for raw in self.rest():
                data += raw
                if len(data) > MAX_DOCUMENT:
                    raise InputError(f"{path}: one JSON document of more than 1 GiB")
        except CutStream as error:
            self._cut = error
        except OSError as error:
            self._cut = CutStream(f"reading failed ({(error.strerror or str(error)).lower()})")
        except InputError as error:
            return self._back(data, error)
        self.line_count = data.count(b"\n") + (not data.endswith(b"\n"))
        text = bytes(data)
        try:
            found = parse_document(text, path)
        except InputError as error:
            return self._back(data, error)
        self.values, self.lost = found.values, found.lost
        self.shallow = found.shallow
        if self._cut is not None:
            self.lost.append((self.line_count, str(self._cut)))
        if len(self.values) == 1:
            self.locate = locator(text, self.values[0][1])

    def _back(self, data: bytearray, why: InputError) -> None:
        cut, rest = self._cut, self._lines

        def again() -> Iterator[bytes]:
            yield from BytesIO(data)
            if cut is not None:
                raise cut
            yield from rest

        self._broken, self._cut, self._lines = why, None, again()
        self.rows, self._records = [], []


def _unlined(source: Source) -> Any:
    """A database or a session of a store, opened; None for all else."""
    if source.store:
        from loopaudit.ingest.stores import Store

        return Store(source.store, source.real, source.folder)
    if is_database(source.real):
        from loopaudit.ingest.databases import Database

        return Database(source.real)
    if files.begins_with(source.real, parquet.MAGIC):
        return parquet.Parquet(source.real)
    return None


def _seen(records: list[Any]) -> str:
    """What a log holds, in a few words."""
    parts = [part for value in records for part in (value if isinstance(value, list) else [value])]
    keys = sorted({str(key)[:40] for part in parts if isinstance(part, dict) for key in part})[:8]
    return f"its records have {', '.join(keys)}" if keys else "it holds no JSON objects with keys"


def _opens_document(text: bytes) -> bool:
    """Whether the first line opens a value that goes on below, or a YAML file."""
    if text[:1] in (b"{", b"["):
        return text[-1:] in (b"{", b"[", b",")
    return _YAML_HEAD.match(text) is not None
