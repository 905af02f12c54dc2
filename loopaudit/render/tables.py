"""Rows of named values as CSV or Parquet."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from decimal import Decimal
from typing import IO, Any

from loopaudit.render.text import inert

Row = dict[str, Any]


def write_csv(rows: Sequence[Row], stream: IO[str]) -> None:
    """A header and a line a row; unknown numbers are empty, money is exact."""
    writer = csv.writer(stream, lineterminator="\n")
    if rows:
        writer.writerow(rows[0])
    for row in rows:
        writer.writerow([_cell(value) for value in row.values()])


def csv_text(value: str) -> str:
    """Text of a log as a cell that neither a terminal nor a spreadsheet acts on."""
    text = inert(value)
    # a spreadsheet would run what begins like this
    return f"'{text}" if text[:1] in ("=", "+", "-", "@") else text


def _cell(value: Any) -> Any:
    if isinstance(value, str):
        return csv_text(value)
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else format(value, "f") if isinstance(value, Decimal) else value


def write_parquet(rows: Sequence[Row], stream: IO[bytes]) -> None:
    """The same with types; money as decimals with twelve places."""
    from io import BytesIO

    import polars

    money = {
        name: polars.Decimal(38, 12)
        for name in (rows[0] if rows else ())
        if any(isinstance(row[name], Decimal) for row in rows)
    }
    frame = polars.DataFrame(list(rows), infer_schema_length=None, schema_overrides=money)
    whole = BytesIO()  # the engine hides errors of the stream in its own
    frame.write_parquet(whole)
    stream.write(whole.getbuffer())
