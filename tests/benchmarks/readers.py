"""Speed of every reader beside that of Claude Code, on files of its own kind.

    python tests/benchmarks/readers.py [CORPUS] [--size 20] [--rounds 3] [--only NAME ...]

Of each format the largest files of CORPUS (else of `sample_logs`) are written anew under fresh ids
until there are SIZE MB: a log of lines again and again into one file, a small document with its
longest list repeated, a database with all its rows. Files that were written for a test have answers
of a few words: the results of calls in them are replaced by those of Claude Code's files, marked
"filled". Each format has a process of its own, which reads Claude Code's files and those of the
format in turns, everything but the replay; the least user CPU seconds of each count. Told are MB/s,
the share of Claude Code's, and the time for a thousand responses and calls. Ends with 1 where a
share is below a quarter, but for logs that are dense: those whose responses and calls take no more
time than Claude Code's, but fewer bytes. A log that is grown calls the same again and again, so its
results are compared masked, which sessions seldom need.
"""

from __future__ import annotations

import argparse
import gc
import json
import re
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from loopaudit import plugins
from loopaudit.errors import InputError
from loopaudit.ingest.head import Head
from loopaudit.ingest.sources import Source, discover, is_database
from loopaudit.model import CallStatus, ResultPiece
from loopaudit.replay.audit import AuditOptions, make_plan
from loopaudit.replay.worker import ingest

SAMPLES = Path(__file__).parents[2] / "sample_logs"
LEAST = 0.25  # of Claude Code's MB/s
GROWN = 256 << 10  # bytes a small log is grown to
LARGE = 64 << 10  # a document of this size is taken as it is
_ID = re.compile(r"(?:^|_|[a-z])(?:[iI]d|ID|uuid|Uuid|UUID|ids|order)$|^(?:id|uuid)$")
_NO_ID = re.compile("model|provider|agent|project|user|tool_?name|task|app|workflow", re.IGNORECASE)
_TOKEN = re.compile(rb"[A-Za-z0-9_\-+/=:.]{4,}")


def ids_of(value: Any, key: str = "") -> Iterator[str]:
    """All texts that name a thing, by their keys."""
    if isinstance(value, dict):
        for name, part in value.items():
            yield from ids_of(part, str(name))
    elif isinstance(value, list):
        for part in value:
            yield from ids_of(part, key)
    elif isinstance(value, str) and _ID.search(key) and not _NO_ID.search(key):
        yield value
    elif isinstance(value, str) and value[:1] in "{[" and value[1:2] in '{["':
        try:
            yield from ids_of(orjson.loads(value))
        except ValueError:
            return


class Anew:
    """Writes a log anew, by a number: every id another one, and other results where it is filled.

    `place`: characters from the end of an id at which the number stands.
    """

    def __init__(self, ids: Iterable[str], results: dict[bytes, list[bytes]], place: int = 0):
        self.ids, self.place, self.results = {i.encode() for i in ids}, place, results
        longest = sorted(results, key=len, reverse=True)
        self.found = re.compile(b"|".join(map(re.escape, longest))) if results else None

    def __call__(self, text: bytes, number: int) -> bytes:
        def other(found: re.Match[bytes]) -> bytes:
            token = found.group()
            if token not in self.ids:
                return token
            end = len(token) - self.place
            whole = token[: end - 5] + b"%05x" % number + token[end:]
            return whole if len(token) >= 12 else token + b"%x" % number

        if self.found is not None:

            def result(found: re.Match[bytes]) -> bytes:
                many = self.results[found.group()]
                return many[(zlib.crc32(found.group()) + number) % len(many)]

            text = self.found.sub(result, text)
        return _TOKEN.sub(other, text) if number else text


def results_of(path: Path) -> set[str]:
    """The texts of results in a log, as its reader gives them."""
    head = Head(discover([str(path)]).sources[0], None)
    reader = head.format.reader(str(path))
    reader.locate = head.locate
    rows = list(head.values or enumerate(parsed(path.read_bytes()), 1))
    head.close()
    pieces = [piece for row in rows for piece in reader.feed(*row)] + list(reader.end())
    found = set()
    for piece in pieces:
        if isinstance(piece, ResultPiece) and piece.status is CallStatus.OK:
            blocks = piece.text if isinstance(piece.text, list) else [piece.text]
            texts = [b.get("text") if isinstance(b, dict) else b for b in blocks]
            found |= {text for text in texts if isinstance(text, str) and len(text) >= 8}
    return found


def escaped(text: str, times: int) -> bytes:
    """As it stands inside of a JSON text that stands in JSON texts."""
    for _ in range(times):
        text = orjson.dumps(text).decode()[1:-1]
    return text.encode()


def filling(path: Path, pool: list[str]) -> dict[bytes, list[bytes]]:
    """Each result in a log as it stands there -> what may stand in its place."""
    ways = {times: [escaped(text, times) for text in pool] for times in (2, 1)}
    texts = results_of(path)
    return {escaped(text, times): ways[times] for times in ways for text in texts}


def parsed(data: bytes) -> list[Any]:
    """The records of a log of lines; none of a document."""
    try:
        return [orjson.loads(line) for line in data.splitlines() if line.strip()]
    except ValueError:
        return []


def longest_list(value: Any) -> list[Any] | None:
    found: list[Any] | None = None
    for part in value.values() if isinstance(value, dict) else value:
        if isinstance(part, dict | list):
            inner = part if isinstance(part, list) else longest_list(part)
            if inner and (found is None or len(orjson.dumps(inner)) > len(orjson.dumps(found))):
                found = inner
    return found


def grown(data: bytes, results: dict[bytes, list[bytes]]) -> tuple[bytes, list[str]]:
    """A log of `GROWN` bytes with the records of `data` again and again, and the ids in it."""
    rows = parsed(data)
    if len(rows) > 1:
        if len(data) < GROWN:
            again = Anew((i for row in rows for i in ids_of(row)), results)
            data = data if data.endswith(b"\n") else data + b"\n"
            data = b"".join(until(GROWN, lambda number: again(data, number)))
        return data, [i for row in parsed(data) for i in ids_of(row)]
    try:
        value = orjson.loads(data)
    except ValueError:
        return data, []  # YAML, or objects one after the other
    if len(data) < LARGE:
        many = value if isinstance(value, list) else longest_list(value)
        if many:
            again, each = Anew(ids_of(many), results), orjson.dumps(many)
            many[:] = [
                part
                for text in until(GROWN, lambda n: again(each, n))
                for part in orjson.loads(text)
            ]
            option = orjson.OPT_INDENT_2 if data.count(b"\n") > 5 else None
            data = orjson.dumps(value, option=option)
    return data, list(ids_of(value))


def until(size: int, part: Callable[[int], bytes]) -> Iterator[bytes]:
    number = written = 0
    while written < size:
        text = part(number)
        yield text
        written += len(text)
        number += 1


def copies(paths: list[Path], folder: Path, size: int, pool: list[str]) -> None:
    """Fill `folder` with `size` bytes of logs like those at `paths`."""
    seeds = []
    for path in paths:
        data, ids = grown(path.read_bytes(), filling(path, pool) if pool else {})
        seeds.append((path, data, Anew(ids, {}, 5)))
    for number in range(size):
        path, data, again = seeds[number % len(seeds)]
        home = folder / f"{number:05}"
        home.mkdir(parents=True)
        (home / path.name).write_bytes(again(data, number + 1))
        size -= len(data)
        if size <= 0:
            break


def database(paths: list[Path], folder: Path, size: int, pool: list[str]) -> None:
    """A database at `folder` with the rows of that at `paths`, under fresh ids, to `size` bytes."""
    folder.mkdir(parents=True)
    path = paths[0]
    target = folder / path.name
    target.write_bytes(path.read_bytes())
    with sqlite3.connect(target) as base:
        tables = {
            table: base.execute(f"SELECT * FROM {table}").fetchall()
            for (table,) in base.execute(
                "SELECT name FROM sqlite_master WHERE type='table' AND name NOT LIKE 'sqlite%'"
            ).fetchall()
        }
        again = Anew((), filling(path, pool) if pool else {})
        number = written = 0
        while written < size:
            number += 1
            for table, rows in tables.items():
                names = [c[0] for c in base.execute(f"SELECT * FROM {table} LIMIT 0").description]
                for row in rows:
                    new = list(row)
                    for i, (name, cell) in enumerate(zip(names, row, strict=True)):
                        if _ID.search(name) and not _NO_ID.search(name):
                            new[i] = None if isinstance(cell, int) else cell and f"{cell}{number:x}"
                        elif isinstance(cell, str):
                            new[i] = again(cell.encode(), number).decode()
                            written += len(new[i])
                    base.execute(f"INSERT INTO {table} VALUES ({','.join('?' * len(new))})", new)


class Kind(NamedTuple):
    """Files of one format and shape."""

    format: str
    label: str
    paths: list[Path]
    filled: bool  # written for a test: to be filled with real results


def kinds(corpus: Path | None) -> list[Kind]:
    """What is measured: of every format the files of each folder of the corpus, else samples."""
    found: dict[tuple[str, str], list[tuple[int, Path, bool]]] = {}
    known: set[tuple[str, str]] = set()
    for root in (corpus, SAMPLES):
        if root is None:
            continue
        real = written_by_agents(root)
        new = set()
        for source in discover([str(root)]).sources:
            path = Path(source.path)
            try:
                head = Head(source, None)
            except InputError:
                continue
            head.close()
            own = head.format.name == "loopaudit"
            if (
                source.store
                or source.size < 700
                or path.suffix == ".eval"
                or ("rules" in path.parts) != own
            ):
                continue
            shape = head.format.name, path.suffix
            if shape in known and root is SAMPLES:
                continue
            label = path.relative_to(root).parts[0] if root is corpus or own else path.name
            if not once([source])[1]:
                continue  # tells of a session, and holds none
            new.add(shape)
            found.setdefault((head.format.name, f"{label} {path.suffix}"), []).append(
                (source.size, path, path in real)
            )
        known |= new
    told = []
    for (name, label), files in found.items():
        files.sort(reverse=True)
        best = [entry for entry in files if entry[2]] or files
        paths = [path for size, path, _ in best[:3] if size * 3 > best[0][0]]
        told.append(Kind(name, label, paths, not best[0][2]))
    order = list(plugins.FORMATS)
    return sorted(told, key=lambda kind: (order.index(kind.format), kind.label))


def written_by_agents(root: Path) -> set[Path]:
    """The files of a corpus that its list calls real; none where there is no list."""
    try:
        lines = (root / "MANIFEST.tsv").read_text(encoding="utf-8").splitlines()
    except OSError:
        return set()
    rows = [line.split("\t") for line in lines]
    return {root / row[1] for row in rows if row[2] == "real" and row[3] != "ours"}


def texts_of(paths: list[Path], most: int = 8_000) -> list[str]:
    """Some hundred results of Claude Code's files, to fill others with."""
    texts = sorted({text[:most] for path in paths for text in results_of(path)}, key=len)
    return texts[:: len(texts) // 200 or 1]


def once(sources: list[Source]) -> tuple[float, int, int]:
    """User CPU seconds to read all, responses and calls in them, records lost."""
    plan = make_plan(AuditOptions([]))
    gc.collect()
    gc.disable()  # as the workers of a report do
    before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    records = lost = 0
    for source in sources:
        read = ingest([source], plan)
        records += sum(1 + len(step.calls) for run in read.runs for step in run.steps)
        lost += len(read.skips)
    seconds = resource.getrusage(resource.RUSAGE_SELF).ru_utime - before
    gc.enable()
    return seconds, records, lost


def beside(claude: str, folder: str, rounds: int) -> None:
    """The part of the process of one format: prints what it measured as JSON."""
    theirs, ours = discover([claude]).sources, discover([folder]).sources
    for sources in (theirs, ours):
        once(sources[:2])  # imports, caches
    pairs = [(once(theirs), once(ours)) for _ in range(rounds)]
    least = [min(pair[side][0] for pair in pairs) for side in range(2)]
    sizes = [sum(source.size for source in sources) for sources in (theirs, ours)]
    counts = [pairs[0][side][1] for side in range(2)]
    print(json.dumps({"s": least, "bytes": sizes, "n": counts, "lost": pairs[0][1][2]}))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", type=Path, nargs="?")
    parser.add_argument("--size", type=float, default=20, help="MB of each format")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=())
    parser.add_argument("--beside", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--keep", type=Path, help="a folder in which the files written are left")
    given = parser.parse_args()
    if given.beside:
        beside(given.beside[0], given.beside[1], given.rounds)
        return 0
    all_kinds, size = kinds(given.corpus), int(given.size * 1e6)
    missing = set(plugins.FORMATS) - {kind.format for kind in all_kinds}
    assert not missing, missing
    (claude,) = [kind for kind in all_kinds if kind.format == "claude_code"][:1]
    pool = texts_of(claude.paths)
    print("| format | files | | MB/s | of Claude Code | ms per 1,000 | of Claude Code | records |")
    print("|---|---|---|---|---|---|---|---|")
    slow: list[str] = []
    dense: list[str] = []
    with tempfile.TemporaryDirectory() as scratch:
        home = given.keep or Path(scratch)
        theirs = home / "claude"
        copies(claude.paths, theirs, size, [])
        for number, kind in enumerate(all_kinds):
            if given.only and kind.format not in given.only:
                continue
            folder = home / f"{number}-{kind.format}"
            write = database if is_database(str(kind.paths[0])) else copies
            write(kind.paths, folder, size, pool if kind.filled else [])
            command = [sys.executable, __file__, "--rounds", str(given.rounds)]
            command += ["--beside", str(theirs), str(folder)]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            told = json.loads(done.stdout)
            rates = [b / s / 1e6 for b, s in zip(told["bytes"], told["s"], strict=True)]
            each = [s / max(n, 1) * 1e6 for s, n in zip(told["s"], told["n"], strict=True)]
            share = rates[1] / rates[0]
            lost = f", {told['lost']} lost" if told["lost"] else ""
            print(
                f"| {kind.format} | {kind.label} | {'filled' if kind.filled else 'real'} "
                f"| {rates[1]:.0f} | {share:.2f} | {each[1]:.0f} | {each[1] / each[0]:.2f} "
                f"| {told['n'][1]:,}{lost} |",
                flush=True,
            )
            if share < LEAST:
                (dense if each[1] <= each[0] else slow).append(f"{kind.format} ({kind.label})")
            if not given.keep:
                shutil.rmtree(folder)
    print(f"\nbelow a quarter, and slower a record: {', '.join(slow) or 'none'}")
    print(f"\nbelow a quarter, as they are dense: {', '.join(dense) or 'none'}")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
