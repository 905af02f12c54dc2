"""Pieces as a Parquet table: one row a piece, one column a field, free values as JSON text.

The whole table is held in memory while it is written, about three times the size of its texts.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from decimal import Decimal
from io import BytesIO
from typing import Any

from loopaudit.formats.native.fields import PLAIN, VERSION, true
from loopaudit.formats.native.write import dump, record_of
from loopaudit.formats.shapes import count, number, seconds, whole
from loopaudit.model import Piece

#: fields with values of any shape: the column ends in this, and holds JSON
JSON = "_json"
_FREE = ("calls", "usage", "result", "metadata")


def write_parquet(pieces: Iterable[Piece], path: str) -> int:
    """Write pieces to a file; how many. Raises `OSError`."""
    import polars as pl

    schema: dict[str, Any] = {"loopaudit": pl.Int64, "type": pl.String, "run": pl.String}
    for fields in PLAIN.values():
        for key, clean in fields.items():
            kind: Any = pl.String
            if clean in (seconds, number):
                kind = pl.Float64
            elif clean in (count, whole):
                kind = pl.Int64
            elif clean is true:
                kind = pl.Boolean
            if key not in _FREE:
                schema[key] = kind
    schema |= dict.fromkeys((f"{key}{JSON}" for key in _FREE), pl.String)
    columns: dict[str, list[Any]] = {key: [] for key in schema}
    halves: dict[str, dict[int, str]] = {}  # texts with half an emoji, which is none of Parquet's
    rows = 0
    for piece in pieces:
        row = record_of(piece)
        row["loopaudit"] = VERSION
        for key in _FREE:
            if key in row:
                row[f"{key}{JSON}"] = dump({"v": row[key]})[5:-1].decode()
        for key, cells in columns.items():
            value = row.get(key)
            if isinstance(value, str) and not _whole(value):
                halves.setdefault(f"{key}{JSON}", {})[rows] = json.dumps(value)
                value = None
            cells.append(_cell(value, schema[key] == pl.Float64))
        rows += 1
    for key, found in halves.items():
        schema[key], columns[key] = pl.String, [found.get(row) for row in range(rows)]
    packed = BytesIO()  # the engine hides errors of the file in its own
    pl.DataFrame(columns, schema=schema).write_parquet(packed)
    with open(path, "wb") as file:
        file.write(packed.getbuffer())
    return rows


def _cell(value: Any, is_time: bool) -> Any:
    if isinstance(value, Decimal):
        return str(value)
    if is_time and isinstance(value, str):
        return seconds(value)
    return value


def _whole(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
