"""How all charts look: colours that colour-blind eyes and print can tell, fonts, files.

Text of logs is drawn as it stands (no mathematics), inert, and in a font that has its characters;
what no font has is written as its code point, never as a box.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from loopaudit.render.text import cut, cut_middle, inert

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
        "font.family": ["DejaVu Sans", *_installed(), *_found],
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
    """An empty chart. `rows`: of a horizontal chart, which is as high as they need."""
    from matplotlib.figure import Figure

    height = max(2.6, 1.6 + 0.3 * rows) if rows else _INCHES[1]
    drawn = Figure(figsize=(_INCHES[0], height), layout="constrained")
    axes = drawn.add_subplot()
    axes.set_title(" ")  # keeps the room; the words begin at the edge, however wide the labels are
    for text, width, size, above in ((title, 96, 11, 22), (subtitle, 130, 8.5, 5)):
        words = axes.annotate(
            label(text, width),
            (0.01, 1),
            xycoords=("figure fraction", "axes fraction"),
            xytext=(0, above),
            textcoords="offset points",
            fontsize=size,
        )
        words.set_in_layout(False)
    return drawn, axes


def whole_steps(axes: Axes, first: float, last: float) -> None:
    """An axis of steps or tries: ticks at whole numbers only, one of a single step too."""
    from matplotlib.ticker import MaxNLocator

    axes.set_xlim(first - 0.6, last + 0.6)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))


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
    import matplotlib
    from matplotlib.text import Text

    for words in drawn.findobj(Text):  # labels made before a font for others was found
        words.set_fontfamily(matplotlib.rcParams["font.family"])
    drawn.savefig(target, format=kind, dpi=_DPI, metadata=metadata[kind])


def label(text: str, width: int = LABEL, *, ends: bool = False) -> str:
    """Text of a log as it can be drawn, cut to `width` columns; `ends`: in the middle, as paths.

    What no font has is written as code points in angle quotes, three of a row at most.
    """
    shown = (cut_middle if ends else cut)(inert(text), width)
    if all(map(_drawable, shown)):
        return shown
    out = []
    for drawable, chars in groupby(shown, _drawable):
        run = "".join(chars)
        out.append(run if drawable else _code_points(run))
    return "".join(out)


def _code_points(run: str) -> str:
    """`‹U+6587 U+4EF6›`; the rest of a long run is counted."""
    _undrawn.update(run)
    named = " ".join(f"U+{ord(char):04X}" for char in run[:3])
    return f"‹{named}{f' and {len(run) - 3} more' if len(run) > 3 else ''}›"


#: characters that no font had, since the program began
_undrawn: set[str] = set()


def undrawn() -> str:
    """What no font here could draw, in order; the picture shows code points instead."""
    return "".join(sorted(_undrawn))


@cache
def _drawable(char: str) -> bool:
    code = ord(char)
    if code < 0x250 or any(code in covered for covered in _coverage()):
        return True
    return _font_with(code)


def _font_with(code: int) -> bool:
    """Looks through all fonts of the machine for a rare character; texts to come use what is found.

    Fonts that draw a box for everything do not count.
    """
    import matplotlib
    from matplotlib.font_manager import fontManager, get_font

    fonts = {font.fname: font.name for font in fontManager.ttflist if "Last" not in font.name}
    for path, name in sorted(fonts.items(), key=lambda item: ("Regular" not in item[0], item)):
        if path not in _charmaps:
            try:
                _charmaps[path] = frozenset(get_font(path).get_charmap())
            except (OSError, RuntimeError):  # a file that is no font
                _charmaps[path] = frozenset()
        if code in _charmaps[path]:
            if name not in matplotlib.rcParams["font.family"]:
                matplotlib.rcParams["font.family"] = [*matplotlib.rcParams["font.family"], name]
                _found.append(name)
            return True
    return False


#: characters of fonts that were looked through, by path, and families found so
_charmaps: dict[str, frozenset[int]] = {}
_found: list[str] = []


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


def paper() -> str:
    """Of what is drawn on: for marks that are open."""
    import matplotlib

    return str(matplotlib.rcParams["axes.facecolor"])


def dollars(axes: Axes, axis: str = "y") -> None:
    """Ticks of money."""
    from matplotlib.ticker import FuncFormatter

    scale = getattr(axes, f"{axis}axis")

    def tick(value: float, _: int) -> str:
        return f"${value:,.{_digits(scale.get_ticklocs())}f}"

    scale.set_major_formatter(FuncFormatter(tick))


def _digits(ticks: Sequence[float]) -> int:
    """Decimals that tell all ticks of an axis apart: the same for each of them."""
    for digits in (0, 2, 4):
        if all(abs(tick - round(tick, digits)) < 1e-9 for tick in ticks):
            return digits
    return 6


def counts(axes: Axes, axis: str = "y") -> None:
    """Ticks of tokens or times: 12 k, 3.4 M."""
    from matplotlib.ticker import FuncFormatter

    def tick(value: float, _: int) -> str:
        for size, unit in ((1e9, " B"), (1e6, " M"), (1e3, " k")):
            if abs(value) >= size:
                return f"{value / size:.3g}{unit}"
        return f"{value:.3g}"

    getattr(axes, f"{axis}axis").set_major_formatter(FuncFormatter(tick))
