"""Verdicts of users on findings, kept in a file of lines: was it a loop or not, and why.

Made by `loopaudit label`. Not the labels of whole runs, which `run_labels` reads.

Each line is an object with `finding` (the fingerprint in the JSON report), `verdict` ("loop" or
"not-a-loop"), `reason`, `by`, `at` (a date) and, for people, `rule` and `run`. The last line on a
finding counts. A line that cannot be used is an error that names file and line: a label that is
silently lost would change what is recommended.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loopaudit.errors import ConfigError, UsageError
from loopaudit.settings import Settings

LOOP, NOT_A_LOOP = "loop", "not-a-loop"
VERDICTS = (LOOP, NOT_A_LOOP)
FILE = ".loopaudit/labels.jsonl"
_LONGEST = 4_000  # characters of a text


@dataclass(frozen=True, slots=True)
class Label:
    finding: str
    verdict: str
    reason: str
    by: str | None = None
    at: str | None = None
    rule: str | None = None
    run: str | None = None


def path_of(settings: Settings) -> Path:
    """Its place: `findings` of `[labels]`, taken from the folder of the settings file.

    `file` is its older name. Labels of runs are other files: see `replay.run_labels`.
    """
    table = settings.reader("labels")
    table.only(("findings", "runs", "over_log", "file"))
    key = "file" if "file" in table.values and "findings" not in table.values else "findings"
    written = table.text(key, FILE) or FILE
    place, _ = settings.place("labels", key)
    folder = Path(place).parent if place and key in table.values else Path()
    return folder / os.path.expanduser(written)


def read(path: Path) -> dict[str, Label]:
    """The newest label of each finding; empty where there is no file. Raises `ConfigError`."""
    if path.exists() and not path.is_file():  # a device may never end
        raise ConfigError("cannot read labels: not a file", path=str(path))
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ConfigError(f"cannot read labels: {error.strerror}", path=str(path)) from None
    except UnicodeDecodeError:
        raise ConfigError("labels are not UTF-8 text", path=str(path)) from None
    found: dict[str, Label] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            label = _label(line, str(path), number)
            found[label.finding] = label
    return found


def _label(line: str, path: str, number: int) -> Label:
    try:
        record: Any = json.loads(line)
    except (ValueError, RecursionError):
        raise ConfigError("not a JSON object", path=path, line=number) from None
    if not isinstance(record, dict):
        raise ConfigError("not a JSON object", path=path, line=number)
    texts = {name: record.get(name) for name in Label.__slots__}
    for name, value in texts.items():
        needed = name in ("finding", "verdict", "reason")
        if not (isinstance(value, str) and value.strip() if needed else True) or not isinstance(
            value, str | None
        ):
            of_run = "finding" not in record and ("outcome" in record or "task_type" in record)
            hint = "labels of runs are read by --labels, or from runs of [labels]" if of_run else ""
            raise ConfigError(f"label: {name} must be a text", hint, path=path, line=number)
    if texts["verdict"] not in VERDICTS:
        raise ConfigError(
            "label: unknown verdict", f"one of {', '.join(VERDICTS)}", path=path, line=number
        )
    return Label(**texts)  # type: ignore[arg-type]


def append(path: Path, labels: Iterable[Label]) -> None:
    """Add lines to the file, which is made where it is missing. Raises `UsageError`."""
    lines = []
    for label in labels:
        record = {name: getattr(label, name) for name in Label.__slots__}
        kept = {name: value[:_LONGEST] for name, value in record.items() if value is not None}
        lines.append(json.dumps(kept, ensure_ascii=True) + "\n")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        cut = path.exists() and path.stat().st_size and not path.read_bytes().endswith(b"\n")
        with path.open("a", encoding="utf-8") as stream:
            stream.write(("\n" if cut else "") + "".join(lines))
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
