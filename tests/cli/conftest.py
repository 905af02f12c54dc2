"""Logs for the commands, and the helper modules of this folder."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from program import event_lines, looping


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """One run, in which the same failing call is made six times."""
    return event_lines(tmp_path / "loop.jsonl", looping())
