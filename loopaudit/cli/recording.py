"""Where a live run is recorded: a file that must not exist as something else than a file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from loopaudit.errors import UsageError


@contextmanager
def recording(target: str | None) -> Iterator[IO[bytes] | None]:
    """A binary stream to `target`, written line by line; None where nothing is recorded."""
    if target is None:
        yield None
        return
    try:
        stream = open(target, "wb")  # noqa: SIM115
    except OSError as error:
        raise UsageError(f"--record {target}: {(error.strerror or str(error)).lower()}") from None
    with stream:
        yield stream
