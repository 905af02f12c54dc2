"""Parquet files as records: one row, one record; columns that end in `_json` hold JSON text.

The table is held in memory whole. Empty cells are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from typing import Any

from loopaudit import files
from loopaudit.errors import InputError

MAGIC = b"PAR1"
_JSON = "_json"


class Parquet:
    """The rows of a file. Raises `InputError`."""

    def __init__(self, path: str) -> None:
        import polars as pl

        self.lost: list[tuple[int, str]] = []
        try:
            self._rows: Any = pl.read_parquet(
                BytesIO(files.whole(path)) if files.is_remote(path) else path
            )
        except MemoryError:
            raise
        except Exception as error:  # of the engine, of whatever kind
            reason = " ".join(str(error).split())[:200]
            raise InputError(f"{path}: a Parquet file that cannot be read ({reason})") from error

    def records(self) -> Iterator[tuple[int, Any]]:
        for number, row in enumerate(self._rows.iter_rows(named=True), 1):
            yield number, record_of(row)

    def record(self, line: int) -> Any:
        return (
            record_of(self._rows.row(line - 1, named=True)) if 0 < line <= len(self._rows) else None
        )

    def close(self) -> None:
        self._rows = None


def record_of(row: dict[str, Any]) -> dict[str, Any]:
    """The record that a row stands for."""
    out: dict[str, Any] = {}
    for key, value in row.items():
        if value is None:
            continue
        if key.endswith(_JSON) and isinstance(value, str):
            try:
                out[key.removesuffix(_JSON)] = _loads(value)
                continue
            except ValueError:
                pass
        out[key] = value
    return out


def _loads(text: str) -> Any:
    import orjson

    try:
        return orjson.loads(text)
    except ValueError:
        import json

        return json.loads(text)  # half an emoji
