"""A screen of text: its width, colours and zone; rows with hanging indent; small tables."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, tzinfo
from typing import TextIO

from rich.cells import cell_len

from loopaudit.render.text import cut, wrap

LONGEST = 8_000  # columns of one row, however often it is wrapped
_CODES = {"bold": "1", "red": "31", "yellow": "33", "green": "32", "dim": "2"}


@dataclass(frozen=True, slots=True)
class Screen:
    """What is shown and how wide. `titles` maps a rule id to its one-line title."""

    width: int = 80
    colour: bool = False
    zone: tzinfo = UTC
    zone_name: str = "UTC"
    top: int = 5  # findings shown in full; 0: all
    why: bool = False  # list what was not counted, skipped or could not be decided
    titles: Mapping[str, str] = field(default_factory=dict)
    ascii: bool = False  # the terminal has no other letters

    def bar(self, first: int, last: int, of: int, columns: int) -> str:
        """Where `first` to `last` (from 0, both in) lie among `of`; never nothing of what is."""
        begin = min(columns - 1, first * columns // of)
        end = max(begin + 1, min(columns, -(-(last + 1) * columns // of)))
        off, on = (".", "#") if self.ascii else ("·", "█")
        return f"[{off * begin}{on * (end - begin)}{off * (columns - end)}]"

    def style(self, text: str, *names: str) -> str:
        if not self.colour or not names or not text:
            return text
        return f"\x1b[{';'.join(_CODES[name] for name in names)}m{text}\x1b[0m"

    def row(self, text: str, *styles: str, indent: int = 0, label: str = "") -> Iterator[str]:
        """`text` wrapped behind a label, with a hanging indent; styled line by line."""
        head = " " * indent + label
        hang = max(indent, cell_len(head))
        for number, line in enumerate(wrap(cut(text, LONGEST), max(self.width - hang, 20))):
            yield (head if number == 0 else " " * hang) + self.style(line, *styles)


#: for terminals without other letters; the widths stay
_PLAIN = str.maketrans(
    {"…": "~", "×": "x", "≥": ">", "·": ".", "→": ">", "–": "-", "—": "-", "“": '"', "”": '"'}
)


def put(lines: Iterable[str], stream: TextIO, screen: Screen | None = None) -> None:
    """Writes lines of text; one that starts with `::` would be a command to CI runners. What a
    plain screen does not have is written as its likeness, else as `?`."""
    for line in lines:
        if line.lstrip().startswith("::"):
            line = line.replace("::", ": :", 1)
        if screen is not None and screen.ascii and not line.isascii():
            line = _plain(line.translate(_PLAIN))
        stream.write(line.rstrip(" ") + "\n")


def _plain(line: str) -> str:
    return "".join(char if char.isascii() else "?" * cell_len(char) for char in line)


def table(rows: Sequence[tuple[str, ...]], right: Container[int] = ()) -> Iterator[str]:
    widths = [max(cell_len(cell) for cell in column) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = []
        for index, (cell, width) in enumerate(zip(row, widths, strict=True)):
            pad = " " * (width - cell_len(cell))
            cells.append(pad + cell if index in right else cell + pad)
        yield ("  " + "  ".join(cells)).rstrip()


def fitted(
    rows: Sequence[tuple[str, ...]], width: int, right: Container[int] = ()
) -> Iterator[str]:
    """A table where it fits; else each row as a paragraph: its first cell, then the others with
    the names of their columns (the first row), wrapped, none of them cut."""
    lines = list(table(rows, right))
    if all(cell_len(line) <= width for line in lines):
        yield from lines
        return
    names = rows[0]
    for row in rows[1:]:
        yield from _hung(row[0] or "-", width, 2)
        told = [
            f"{name} {cell}".strip() for name, cell in zip(names[1:], row[1:], strict=True) if cell
        ]
        yield from _hung("; ".join(told), width, 4)


def _hung(text: str, width: int, indent: int) -> Iterator[str]:
    for line in wrap(text, max(width - indent, 20)):
        yield " " * indent + line
