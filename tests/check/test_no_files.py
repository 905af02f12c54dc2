"""A baseline and labels that are devices or folders are told, not read for ever."""

from __future__ import annotations

from pathlib import Path

import pytest

from loopaudit.check import snapshot
from loopaudit.errors import ConfigError
from loopaudit.replay import finding_labels


def test_a_device_is_no_baseline_and_holds_no_labels(tmp_path: Path) -> None:
    link = tmp_path / "endless"
    link.symlink_to("/dev/zero")
    for read in (snapshot.read, finding_labels.read):
        for path in (link, tmp_path):
            with pytest.raises(ConfigError, match="not a file"):
                read(path)  # type: ignore[operator]
        assert not read(tmp_path / "none")  # type: ignore[operator]
