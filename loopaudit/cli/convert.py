"""`loopaudit convert`: logs written anew, to be shared or read by other programs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from loopaudit.cli.app import command
from loopaudit.cli.flags import Agents, Config, LogFormat, Mapping, Quiet
from loopaudit.errors import ExitCode, InputError, UsageError

if TYPE_CHECKING:
    from loopaudit.convert.redaction import Redactor
    from loopaudit.ingest.reading import Ingested
    from loopaudit.ingest.sources import Source

app = typer.Typer(
    **command(
        "Writes logs anew: as our own JSON lines or Parquet, which lose nothing and can be read "
        "again, or as ATIF trajectories. Secrets and personal strings are replaced, each by the "
        "same placeholder wherever it stands, so that loops stay loops; look before you share."
    )
)


class Kind(StrEnum):
    JSONL = "jsonl"
    PARQUET = "parquet"
    ATIF = "atif"


_SUFFIXES = {".jsonl": Kind.JSONL, ".ndjson": Kind.JSONL, ".parquet": Kind.PARQUET}


@app.command()
def convert(
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="[IN]... OUT",
            help="IN: files, folders or globs; - is stdin. OUT: a file, a folder for ATIF of"
            " several runs; - is stdout.",
            show_default=False,
        ),
    ],
    to: Annotated[
        Kind | None,
        typer.Option("--to", help="What to write; default: by the name of OUT (.json is ATIF)."),
    ] = None,
    redact: Annotated[
        bool, typer.Option("--redact/--no-redact", help="Replace secrets and personal strings.")
    ] = True,
    agent: Agents = None,
    mapping: Mapping = None,
    log_format: LogFormat = None,
    config: Config = None,
    quiet: Quiet = False,
) -> int:
    import os

    from loopaudit import files, settings
    from loopaudit.cli import options as given
    from loopaudit.convert.redaction import Redactor
    from loopaudit.ingest.sources import discover

    *paths, target = names
    if not paths and not agent:
        raise UsageError("two names are needed, IN and OUT", "or OUT and --agent NAME")
    kind = to or _SUFFIXES.get(os.path.splitext(target)[1].lower(), Kind.ATIF)
    if target == "-" and to is None:
        kind = Kind.JSONL
    if target == "-" and kind is not Kind.JSONL:
        raise UsageError(f"{kind.value} cannot be written to stdout", "name a file")
    chosen = settings.load(config)
    options = given.audit_options(
        paths, chosen, agents=agent or (), log_format=log_format, mapping=mapping, quiet=quiet
    )
    where = given.named(options.paths)
    found = discover(options.paths)
    sources = [s for s in found.sources if not _same(s.real, target)]
    if found.sources and not sources:
        raise UsageError(f"{target}: would be written over its own log", "name another OUT")
    if not sources:
        why = next((skip.reason for skip in found.skips), "no log file")
        raise InputError(f"{where}: {why}", "name a log, or a folder that holds logs")
    redactor = Redactor() if redact else None
    writers = {Kind.JSONL: _lines, Kind.PARQUET: _table, Kind.ATIF: _trajectories}
    try:
        with _local(target) as place:
            read, written = writers[kind](sources, place, options.log_format, redactor)
    except OSError as error:
        raise InputError(f"{target}: {files.reason(error)}") from error
    lost = sum(skip.count for skip in (*read.skips, *found.skips))
    if not written:
        raise _nothing(where, read)
    if not quiet:
        print(f"loopaudit: wrote {written} to {target}{_about(redactor, lost)}", file=sys.stderr)
    return ExitCode.INTERNAL if read.failures else ExitCode.PASS


@contextmanager
def _local(target: str) -> Iterator[str]:
    """Where to write what is meant for `target`: an object store gets it once it is whole."""
    from loopaudit import files

    if not files.is_remote(target):
        yield target
        return
    import os
    import tempfile

    from loopaudit.files import objects

    with tempfile.TemporaryDirectory(prefix="loopaudit-out-") as folder:
        place = os.path.join(folder, "out" + os.path.splitext(target)[1])
        yield place
        for above, _, names in sorted(os.walk(folder)):
            for name in sorted(names):
                path = os.path.join(above, name)
                inside = os.path.relpath(path, place)
                objects.put(target if inside == "." else f"{target.rstrip('/')}/{inside}", path)


def _same(one: str, other: str) -> bool:
    """Whether both name one file, links too."""
    import os

    try:
        return os.path.samefile(one, other)
    except OSError:
        return os.path.abspath(one) == os.path.abspath(other)


def _nothing(source: str, read: Ingested) -> InputError:
    why = next((skip.reason for skip in read.skips if skip.line is None), "nothing was read")
    return InputError(f"{source}: {why}", "loopaudit report says what is in it")


def _about(redactor: Redactor | None, lost: int) -> str:
    parts = []
    if redactor is not None:
        kinds = [f"{number:,} {kind}" for kind, number in sorted(redactor.counts.items())]
        parts.append(f"replaced: {', '.join(kinds)}" if kinds else "nothing to replace was found")
    if lost:
        parts.append(f"{lost:,} records could not be read (report --why lists them)")
    return "".join(f"; {part}" for part in parts)


def _lines(
    sources: list[Source], target: str, log_format: str | None, redactor: Redactor | None
) -> tuple[Ingested, str]:
    from loopaudit.cli.output import check, opened
    from loopaudit.convert.pieces import tell
    from loopaudit.formats.native.fields import VERSION
    from loopaudit.formats.native.write import dump, record_of

    check(target)
    count = 0
    with opened(target) as stream:
        stream.write(dump({"loopaudit": VERSION}).decode() + "\n")

        def take(piece: Any) -> None:
            nonlocal count
            count += 1
            piece = redactor.piece(piece) if redactor is not None else piece
            stream.write(dump(record_of(piece)).decode() + "\n")

        read = tell(sources, take, log_format)
        if not count:  # what stood in the file stays
            raise _nothing(", ".join(s.path for s in sources[:3]), read)
    return read, f"{count:,} lines"


def _table(
    sources: list[Source], target: str, log_format: str | None, redactor: Redactor | None
) -> tuple[Ingested, str]:
    from loopaudit.convert.columns import write_parquet
    from loopaudit.convert.pieces import tell

    pieces: list[Any] = []

    def take(piece: Any) -> None:
        pieces.append(redactor.piece(piece) if redactor is not None else piece)

    read = tell(sources, take, log_format)
    rows = write_parquet(pieces, target) if pieces else 0
    return read, f"{rows:,} rows" if rows else ""


def _trajectories(
    sources: list[Source], target: str, log_format: str | None, redactor: Redactor | None
) -> tuple[Ingested, str]:
    import json
    import os
    import re

    from loopaudit.convert.atif import trajectory
    from loopaudit.convert.pieces import runs_of

    read, runs = runs_of(sources, log_format, redactor)
    runs = [run for run in runs if run.steps]
    if not runs:
        return read, ""
    single = os.path.splitext(target)[1].lower() == ".json" and not os.path.isdir(target)
    if single and len(runs) > 1:
        raise UsageError(f"{len(runs):,} runs are as many trajectories", "name a folder as OUT")
    if not single:
        os.makedirs(target, exist_ok=True)
    for number, run in enumerate(runs, 1):
        name = re.sub(r"[^A-Za-z0-9._-]+", "-", run.id)[:80] or "run"
        path = target if single else os.path.join(target, f"{number:04d}-{name}.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(trajectory(run), file, indent=1, ensure_ascii=True)
            file.write("\n")
    return read, f"{len(runs):,} {'trajectory' if len(runs) == 1 else 'trajectories'}"
