"""Labels of runs: what became of each and which type of task it was, from a file of the user.

Not the verdicts on findings of `loopaudit label`, which `finding_labels` keeps in a file of their
own. A labels file is CSV with a head line, or JSON lines; both have the columns

    run         id of a run, or of its session
    path        the log file: a name, a path or a glob; counts backwards from the file's name
    outcome     success, failure or partial; also pass/fail, yes/no, true/false, resolved, 0 to 1
    task_type   any name; guards have limits for those of `explain task-types`

A row needs `run` or `path` (both: both must fit), and `outcome` or `task_type`. A session or a
path labels the runs that nobody in it started, not their sub-agents. An id counts before a session,
a session before a path, a path before a glob; of rows that fit equally well the last one counts,
and where they disagree that is told. What cannot be used is an error with file and line.
"""

from __future__ import annotations

import csv
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import translate
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any

from loopaudit.errors import ConfigError
from loopaudit.formats.graded import FAILURE, PARTIAL, SUCCESS, graded
from loopaudit.model import Run
from loopaudit.settings import Settings
from loopaudit.settings.values import closest

#: columns by all the names that they go by
_COLUMNS = {
    **dict.fromkeys(("run", "run_id", "id", "session", "session_id"), "run"),
    **dict.fromkeys(("path", "file", "glob"), "path"),
    **dict.fromkeys(
        ("outcome", "label", "result", "success", "resolved", "reward", "score"), "outcome"
    ),
    **dict.fromkeys(("task_type", "task-type", "task type", "type"), "task_type"),
}
#: further words for an outcome, beside those that graders write
_WORDS = {
    **dict.fromkeys(("ok", "good", "done", "resolved", "solved", "completed", "healthy"), SUCCESS),
    **dict.fromkeys(
        ("bad", "wrong", "unresolved", "unsolved", "error", "stuck", "loop", "looped", "timeout"),
        FAILURE,
    ),
    "aborted": FAILURE,
}
_HINT = "success, failure or partial; true or false; or a grade from 0 to 1"
_LARGEST = 256 << 20  # bytes of a labels file
_MAGIC = re.compile(r"[*?[]")
_TOLD = 20  # lines and disagreements that are kept to be named


@dataclass(frozen=True, slots=True)
class Row:
    line: int
    run: str | None = None
    path: str | None = None
    outcome: str | None = None
    task_type: str | None = None


@dataclass(frozen=True, slots=True)
class RunLabels:
    """A labels file as read. `over_log`: its outcomes count before those in the logs."""

    file: str
    rows: tuple[Row, ...]
    over_log: bool = False
    unread: tuple[str, ...] = ()  # columns that say nothing here

    def types(self) -> RunLabels | None:
        """What of it decides how a run is judged: the task types."""
        rows = tuple(replace(row, outcome=None) for row in self.rows if row.task_type is not None)
        return replace(self, rows=rows) if rows else None


@dataclass(slots=True)
class Said:
    """What a labels file says of one run, with the lines that say it."""

    outcome: str | None = None
    outcome_line: int = 0
    task_type: str | None = None
    task_type_line: int = 0


@dataclass(slots=True)
class Use:
    """What became of a labels file. Lines and disagreements are told up to a number."""

    file: str
    rows: int
    matched: int = 0  # rows that fit a run
    labelled: int = 0  # runs that a row fits
    unmatched: list[int] = field(default_factory=list)  # lines
    disagreements: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)  # columns

    def disagree(self, words: str) -> None:
        if words not in self.disagreements:
            self.disagreements.append(words)


def of(file: str | None, settings: Settings) -> RunLabels | None:
    """The labels of `file`, else of `runs` of `[labels]`, from the folder of those settings.

    None where neither is given. Raises `ConfigError`.
    """
    table = settings.reader("labels")
    table.only(("runs", "over_log", "findings", "file"))
    over_log = table.flag("over_log")
    written = table.text("runs")
    if file is None and written is None:
        return None
    if file is None:
        place, _ = settings.place("labels", "runs")
        file = str((Path(place).parent if place else Path()) / os.path.expanduser(written or ""))
    return replace(read(file), over_log=over_log)


def read(file: str) -> RunLabels:
    """A labels file. Raises `ConfigError` with file and line."""
    text = _text(file)
    start = text.lstrip()[:1]
    if start == "[":
        raise ConfigError("labels are a JSON list", "write one object a line, or CSV", path=file)
    records, unread = _json_lines(text, file) if start == "{" else _csv(text, file)
    return RunLabels(
        file, tuple(_row(line, record, file) for line, record in records), False, unread
    )


def _text(file: str) -> str:
    if os.path.exists(file) and not os.path.isfile(file):  # a device may never end
        raise ConfigError("cannot read labels of runs: not a file", path=file)
    try:
        if os.path.getsize(file) > _LARGEST:
            raise ConfigError("labels of runs: more than 256 MiB", path=file)
        return Path(file).read_bytes().decode("utf-8-sig")
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ConfigError(f"cannot read labels of runs: {reason}", path=file) from None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise ConfigError("labels are not UTF-8 text", path=file, line=line) from None


Records = list[tuple[int, dict[str, Any]]]


def _csv(text: str, file: str) -> tuple[Records, tuple[str, ...]]:
    head = text.lstrip("\r\n").partition("\n")[0]
    delimiter = max((",", ";", "\t"), key=head.count)
    rows = csv.reader(StringIO(text, newline=""), delimiter=delimiter)
    records: Records = []
    names: list[str] = []
    known: list[str | None] = []
    try:
        for cells in rows:
            if not any(cell.strip() for cell in cells):
                continue
            if not names:
                names = [cell.strip() for cell in cells]
                known = _columns(names, file, rows.line_num)
                continue
            if len(cells) > len(names):
                raise ConfigError(
                    f"{len(cells)} cells in a row of {len(names)} columns",
                    "put texts that hold the separator in quotes",
                    path=file,
                    line=rows.line_num,
                )
            found = {k: cell for k, cell in zip(known, cells, strict=False) if k and cell.strip()}
            records.append((rows.line_num, found))
    except csv.Error as error:
        raise ConfigError(f"not CSV: {error}", path=file, line=rows.line_num) from None
    if not names:
        raise ConfigError("no labels in this file", "see loopaudit explain labels", path=file)
    return records, tuple(n for n, k in zip(names, known, strict=True) if k is None and n)


def _columns(names: Sequence[str], file: str, line: int) -> list[str | None]:
    """What each column is; None for one that says nothing here."""
    known = [_COLUMNS.get(name.lower()) for name in names]
    for column in ("run", "path", "outcome", "task_type"):
        twice = [name for name, is_ in zip(names, known, strict=True) if is_ == column]
        if len(twice) > 1:
            raise ConfigError(f"{' and '.join(twice)} are one column twice", path=file, line=line)
    for wanted, words in (
        (("run", "path"), "run or path"),
        (("outcome", "task_type"), "outcome or task_type"),
    ):
        if not set(wanted) & set(known):
            raise ConfigError(
                f"labels of runs need a column {words}; here are {', '.join(names) or 'none'}",
                "see loopaudit explain labels",
                path=file,
                line=line,
            )
    return known


def _json_lines(text: str, file: str) -> tuple[Records, tuple[str, ...]]:
    records: Records = []
    unread: dict[str, None] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            record: Any = json.loads(line)
        except (ValueError, RecursionError):
            raise ConfigError("not a JSON object", path=file, line=number) from None
        if not isinstance(record, dict):
            raise ConfigError("not a JSON object", path=file, line=number)
        if "finding" in record and "verdict" in record:
            raise ConfigError(
                "a verdict on a finding, not a label of a run",
                "verdicts are read from findings of [labels]; labels of runs have run or path",
                path=file,
                line=number,
            )
        found: dict[str, Any] = {}
        for name, value in record.items():
            column = _COLUMNS.get(name.strip().lower())
            if column is None:
                unread[name] = None
            elif value is not None:
                if column in found:
                    raise ConfigError(f"two names for {column}", path=file, line=number)
                found[column] = value
        records.append((number, found))
    return records, tuple(unread)


def _row(line: int, record: Mapping[str, Any], file: str) -> Row:
    texts: dict[str, str] = {}
    for name in ("run", "path", "task_type"):
        value = record.get(name)
        if value is None:
            continue
        if not isinstance(value, str) and (isinstance(value, bool) or not isinstance(value, int)):
            raise ConfigError(f"label: {name} must be a text", path=file, line=line)
        texts[name] = str(value).strip()
    if not texts.get("run") and not texts.get("path"):
        raise ConfigError(
            "label of no run: neither run nor path",
            "an id, or a path or glob",
            path=file,
            line=line,
        )
    outcome = record.get("outcome")
    return Row(
        line,
        texts.get("run") or None,
        texts.get("path") or None,
        None if outcome is None else _outcome(outcome, file, line),
        texts.get("task_type") or None,
    )


def _outcome(value: Any, file: str, line: int) -> str:
    word = value.strip().lower() if isinstance(value, str) else ""
    number = value
    if word:
        try:
            number = float(word)
        except ValueError:
            number = None
    known = graded(value, "")[0] or _WORDS.get(word) or graded(number, "")[0]
    if known is None:
        words = (SUCCESS, FAILURE, PARTIAL, *_WORDS)
        hint = closest(word, words, _HINT) if word else _HINT
        raise ConfigError(f"{str(value).strip()[:40]!r} is no outcome", hint, path=file, line=line)
    return known


# -- which rows fit a run -------------------------------------------------------------------------


class Matcher:
    """Looks rows up by run. Keeps count of those that fitted."""

    def __init__(self, labels: RunLabels) -> None:
        self.labels = labels
        self.fitted: dict[int, int] = {}  # line of a row by run id -> runs that it fits
        self.matched: set[int] = set()  # lines
        self.disagreements: list[str] = []
        self._by_run: dict[str, list[Row]] = {}
        self._by_name: dict[str, list[Row]] = {}  # rows of plain paths, by the file's name
        self._globs: list[tuple[re.Pattern[str], Row]] = []
        for row in labels.rows:
            if row.run is not None:
                self._by_run.setdefault(row.run, []).append(row)
            elif row.path is not None and not _MAGIC.search(row.path):
                self._by_name.setdefault(os.path.basename(_plain(row.path)), []).append(row)
            elif row.path is not None:
                self._globs.append((_pattern(row.path), row))

    def of(self, run: Run, *, root: bool) -> Said | None:
        """What the rows say of a run. `root`: no run of the same log started it."""
        ranked = list(self._fitting(run, root))
        if not ranked:
            return None
        said = Said()
        for name in ("outcome", "task_type"):
            telling = [(rank, row) for rank, row in ranked if getattr(row, name) is not None]
            if not telling:
                continue
            best = max(rank for rank, _ in telling)
            rows = sorted((row for rank, row in telling if rank == best), key=lambda row: row.line)
            last, value = rows[-1], getattr(rows[-1], name)
            setattr(said, name, value)
            setattr(said, f"{name}_line", last.line)
            other = next((r for r in reversed(rows) if getattr(r, name) != value), None)
            if other is not None:
                what = name.replace("_", " ")
                words = (
                    f"lines {other.line} and {last.line} disagree on the {what}; the last counts"
                )
                if words not in self.disagreements:
                    self.disagreements.append(words)
        return said

    def _fitting(self, run: Run, root: bool) -> Iterator[tuple[int, Row]]:
        bare = run.id.removeprefix(f"{run.path}:")
        place = _plain(run.path)
        ids = dict.fromkeys((bare, f"{run.path}:{bare}"))
        for name in ids:
            for row in self._by_run.get(name, ()):
                if row.path is None or _pattern(row.path).fullmatch(place):
                    self.fitted[row.line] = self.fitted.get(row.line, 0) + 1
                    yield self._hit(3, row)
        if not root:
            return
        if run.session is not None and run.session not in ids:
            for row in self._by_run.get(run.session, ()):
                if row.path is None or _pattern(row.path).fullmatch(place):
                    yield self._hit(2, row)
        for row in self._by_name.get(os.path.basename(place), ()):
            if _pattern(row.path or "").fullmatch(place):
                yield self._hit(1, row)
        for pattern, row in self._globs:
            if pattern.fullmatch(place):
                yield self._hit(0, row)

    def _hit(self, rank: int, row: Row) -> tuple[int, Row]:
        self.matched.add(row.line)
        return rank, row

    def use(self, labelled: int) -> Use:
        labels = self.labels
        unmatched = [row.line for row in labels.rows if row.line not in self.matched]
        use = Use(labels.file, len(labels.rows), len(labels.rows) - len(unmatched), labelled)
        use.unmatched, use.unread = unmatched, list(labels.unread)
        use.disagreements += self.disagreements
        for line, runs in self.fitted.items():
            if runs > 1:
                use.disagree(f"the run of line {line} is in {runs:,} logs; add its path")
        return use


@cache
def _pattern(glob: str) -> re.Pattern[str]:
    """Fits a path that is the glob, or ends with it after a slash."""
    plain = _plain(os.path.expanduser(glob))
    either = translate(plain)
    return re.compile(either if plain.startswith("/") else f"{either}|{translate('*/' + plain)}")


def _plain(path: str) -> str:
    """A path with slashes and without steps that lead nowhere."""
    return path if "://" in path else os.path.normpath(path).replace(os.sep, "/")


def matcher(labels: RunLabels) -> Matcher:
    """The matcher of the file of last time, or a new one: workers ask for the same one."""
    if not _last or _last[0].labels is not labels:
        _last[:] = [Matcher(labels)]
    return _last[0]


_last: list[Matcher] = []


def roots(runs: Iterable[Run]) -> set[tuple[str, str]]:
    """Path and id of the runs that no run of the same log started."""
    here = {(run.path, run.id) for run in runs}
    return {
        (run.path, run.id)
        for run in runs
        if run.parent is None
        or not here & {(run.path, run.parent), (run.path, f"{run.path}:{run.parent}")}
    }
