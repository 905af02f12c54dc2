"""How all charts look: colours that colour-blind eyes and print can tell, fonts, files.

Text of logs is drawn as it stands (no mathematics), inert, and in a font that has its characters;
what no font has is written as its code point, never as a box.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from loopaudit.render.text import cut, inert

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's palette, ordered so that neighbours differ in lightness as well
BLUE, ORANGE, GREEN, SKY = "#0072B2", "#E69F00", "#009E73", "#56B4E9"
VERMILION, PURPLE, YELLOW, GREY = "#D55E00", "#CC79A7", "#F0E442", "#8C8C8C"
SERIES = (BLUE, ORANGE, GREEN, PURPLE, SKY, YELLOW, GREY)
WASTE = VERMILION
WASTE_HATCH, PARTIAL_HATCH = "////", "...."

#: columns of text in a label
LABEL = 34
_INCHES = (9.0, 5.0)
_DPI = 150
LIGHT = {"ink": "#1a1a1a", "paper": "#ffffff", "grid": "#d9d9d9"}
_DARK = {"ink": "#e8e8e8", "paper": "#16181d", "grid": "#3a3f4a"}
#: fonts with other scripts, in order; those that are not installed are left out
_FALLBACKS = (
    *("Noto Sans CJK SC", "Noto Sans CJK JP", "Noto Sans SC", "Source Han Sans SC"),
    *("WenQuanYi Micro Hei", "WenQuanYi Zen Hei", "Droid Sans Fallback", "PingFang SC"),
    *("Hiragino Sans GB", "Microsoft YaHei", "SimHei", "Noto Sans", "Arial Unicode MS"),
    *("Noto Emoji", "Symbola", "Segoe UI Symbol"),
)


#: settings that take the colour of the ink
_INKED = (
    *("text.color", "axes.labelcolor", "axes.edgecolor", "axes.titlecolor"),
    *("xtick.color", "ytick.color", "hatch.color"),
)


@contextmanager
def looks(dark: bool = False) -> Iterator[None]:
    """Settings that hold for all figures drawn inside."""
    import matplotlib

    colours = _DARK if dark else LIGHT
    ink, paper, grid = colours["ink"], colours["paper"], colours["grid"]
    settings: dict[str, Any] = {
        "font.family": ["DejaVu Sans", *_installed()],
        "font.size": 10,
        "text.parse_math": False,
        "axes.titlesize": 11,
        "axes.titlelocation": "left",
        "axes.titlepad": 22,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "axes.grid.axis": "y",
        "axes.axisbelow": True,
        "grid.color": grid,
        "grid.linewidth": 0.6,
        "legend.frameon": False,
        "legend.fontsize": 8.5,
        "svg.hashsalt": "loopaudit",
        "svg.fonttype": "path",
        "hatch.linewidth": 0.8,
        "figure.facecolor": paper,
        "savefig.facecolor": paper,
        "axes.facecolor": paper,
        **dict.fromkeys(_INKED, ink),
    }
    with matplotlib.rc_context(cast(Any, settings)):
        yield


def figure(title: str, subtitle: str = "", *, rows: int = 0) -> tuple[Figure, Axes]:
    """An empty chart. `rows`: of a horizontal chart, which grows with them."""
    from matplotlib.figure import Figure

    height = max(_INCHES[1], 1.6 + 0.3 * rows)
    drawn = Figure(figsize=(_INCHES[0], height), layout="constrained")
    axes = drawn.add_subplot()
    axes.set_title(label(title, 96))
    if subtitle:
        axes.text(
            0, 1.02, label(subtitle, 130), transform=axes.transAxes, fontsize=8.5, va="bottom"
        )
    return drawn, axes


def legend(drawn: Figure, axes: Axes, more: dict[str, Any] | None = None) -> None:
    """The legend below the chart; `more`: names with handles of their own."""
    handles, names = axes.get_legend_handles_labels()
    named = dict(zip(names, handles, strict=True)) | (more or {})
    if named:
        drawn.legend(
            list(named.values()), list(named), loc="outside lower left", ncols=min(4, len(named))
        )


def save(drawn: Figure, target: str | Path | IO[bytes], kind: str) -> None:
    """Writes a figure as "png", "svg" or "pdf"; the same figure gives the same bytes."""
    metadata: dict[str, dict[str, Any]] = {
        "png": {"Software": None},
        "svg": {"Date": None, "Creator": "loopaudit"},
        "pdf": {"CreationDate": None, "Creator": "loopaudit", "Producer": "loopaudit"},
    }
    drawn.savefig(target, format=kind, dpi=_DPI, metadata=metadata[kind])


def label(text: str, width: int = LABEL) -> str:
    """Text of a log as it can be drawn, cut to `width` columns."""
    return "".join(map(_drawable, cut(inert(text), width)))


@cache
def _drawable(char: str) -> str:
    code = ord(char)
    if code < 0x250 or any(code in covered for covered in _coverage()):
        return char
    return f"U+{code:04X} "


@cache
def _coverage() -> tuple[frozenset[int], ...]:
    """Characters of the fonts in use."""
    from matplotlib.font_manager import FontProperties, fontManager, get_font

    paths = [fontManager.findfont(FontProperties(family=n)) for n in ("DejaVu Sans", *_installed())]
    return tuple(frozenset(get_font(path).get_charmap()) for path in paths)


@cache
def _installed() -> tuple[str, ...]:
    from matplotlib.font_manager import fontManager

    known = {font.name for font in fontManager.ttflist}
    return tuple(name for name in _FALLBACKS if name in known)


def main_colour() -> str:
    """Of the line that matters most: it stands out on light and on dark paper."""
    import matplotlib

    return SKY if matplotlib.rcParams["text.color"] == _DARK["ink"] else BLUE


def dollars(axes: Axes, axis: str = "y") -> None:
    """Ticks of money."""
    from matplotlib.ticker import FuncFormatter

    def tick(value: float, _: int) -> str:
        digits = 0 if abs(value) >= 100 else 2 if abs(value) >= 0.1 or value == 0 else 4
        return f"${value:,.{digits}f}"

    getattr(axes, f"{axis}axis").set_major_formatter(FuncFormatter(tick))


def counts(axes: Axes, axis: str = "y") -> None:
    """Ticks of tokens or times: 12 k, 3.4 M."""
    from matplotlib.ticker import FuncFormatter

    def tick(value: float, _: int) -> str:
        for size, unit in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
            if abs(value) >= size:
                return f"{value / size:.3g}{unit}"
        return f"{value:.3g}"

    getattr(axes, f"{axis}axis").set_major_formatter(FuncFormatter(tick))
