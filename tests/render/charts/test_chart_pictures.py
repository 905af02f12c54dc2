"""Charts look as they did when someone looked at them.

`python tests/render/charts/test_chart_pictures.py` draws the pictures anew; look before committing.
The tolerance is the root mean square of the differences of all pixels, 0 to 255: text that moves by
a pixel (another build of FreeType) stays below 4, a missing line or layer does not.
"""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from chart_data import FIGURES
from matplotlib.image import imread

from loopaudit.render.charts.style import looks, save

PICTURES = Path(__file__).parent / "pictures"
TOLERANCE = 4.0


def drawn(name: str, kind: str = "png", dark: bool = False) -> bytes:
    stream = io.BytesIO()
    with looks(dark):
        save(FIGURES[name](), stream, kind)
    return stream.getvalue()


def difference(name: str, picture: bytes) -> float:
    old = imread(PICTURES / f"{name}.png")[..., :3] * 255
    new = imread(io.BytesIO(picture))[..., :3] * 255
    assert old.shape == new.shape
    return float(np.sqrt(np.mean((old - new) ** 2)))


@pytest.mark.parametrize("name", sorted(FIGURES))
def test_pictures(name: str) -> None:
    assert difference(name, drawn(name)) <= TOLERANCE


def test_the_tolerance_sees_what_is_missing() -> None:
    """Without the loops, or with other data, the picture is another one."""
    from chart_data import WHEN, series, some_spins

    from loopaudit.render.charts import run, spins

    bare = series()
    bare.spans = []
    shorter = some_spins()
    shorter.recorded = [1, 1, 1, 2]
    for name, figure in (
        ("run", lambda: run.cost(bare, WHEN, "2026-01-01")),
        ("spins", lambda: spins.draw(shorter)),
    ):
        stream = io.BytesIO()
        with looks():
            save(figure(), stream, "png")
        assert difference(name, stream.getvalue()) > TOLERANCE


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_the_same_bytes_each_time(kind: str) -> None:
    for name in ("run", "cost_by_day", "timeline"):
        assert drawn(name, kind) == drawn(name, kind)


def test_every_kind_of_file() -> None:
    assert drawn("run", "png").startswith(b"\x89PNG")
    assert drawn("run", "pdf").startswith(b"%PDF")
    svg = drawn("run", "svg")
    assert b"<svg" in svg
    assert b"http://" not in svg.replace(b"http://www.w3.org", b"").replace(
        b"http://purl.org", b""
    ).replace(b"http://creativecommons.org", b"")


def test_dark_paper_is_dark() -> None:
    picture = imread(io.BytesIO(drawn("run", dark=True)))
    assert picture[2, 2, :3].max() < 0.15
    assert picture[..., :3].max() > 0.8  # and the ink is light


if __name__ == "__main__":
    PICTURES.mkdir(exist_ok=True)
    for name in FIGURES:
        (PICTURES / f"{name}.png").write_bytes(drawn(name))
