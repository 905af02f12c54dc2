"""The README's pictures are what the program draws from `sample_logs`.

`python tests/test_readme_pictures.py` draws them anew. Tolerance as in the tests of the charts.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / ".pictures"
TOLERANCE = 4.0

#: picture -> arguments of `loopaudit chart`
PICTURES = {
    "run": ("sample_logs/runaway.jsonl", "-k", "run", "-g", "fuses:demo", "-g", "loopaudit"),
    "timeline": ("sample_logs/runaway.jsonl", "-k", "timeline"),
}


def draw(name: str, target: Path) -> None:
    command = [sys.executable, "-m", "loopaudit", "chart", *PICTURES[name], "-q", "-o", str(target)]
    subprocess.run(command, cwd=ROOT, check=True, timeout=120)


@pytest.mark.parametrize("name", sorted(PICTURES))
def test_pictures_are_true(name: str, tmp_path: Path) -> None:
    draw(name, tmp_path / "new.png")
    old = imread(FOLDER / f"{name}.png")[..., :3] * 255
    new = imread(tmp_path / "new.png")[..., :3] * 255
    assert old.shape == new.shape
    assert float(np.sqrt(np.mean((old - new) ** 2))) <= TOLERANCE


def test_every_picture_is_shown_and_every_shown_one_is_there() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for path in FOLDER.iterdir():
        assert f"(.pictures/{path.name})" in text
    assert {path.stem for path in FOLDER.iterdir()} == set(PICTURES)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for picture in PICTURES:
        draw(picture, FOLDER / f"{picture}.png")
