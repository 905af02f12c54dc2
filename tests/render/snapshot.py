"""Compares text with a file that was read by a person; LOOPAUDIT_SNAPSHOTS=1 writes it anew."""

from __future__ import annotations

import os
from pathlib import Path

FOLDER = Path(__file__).parent / "snapshots"


def check(name: str, text: str) -> None:
    path = FOLDER / name
    if os.environ.get("LOOPAUDIT_SNAPSHOTS") == "1":
        FOLDER.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")
