"""How long loops spun: as recorded, and as each guard would have cut them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from loopaudit.findings import Finding
from loopaudit.render.charts.style import GREY, SERIES, WASTE, counts, figure, label, legend
from loopaudit.render.figures import count
from loopaudit.replay.savings import spin_length

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: so many loops are drawn one by one
FEW = 16
_MARKERS = ("o", "s", "^", "D", "v", "P")


@dataclass(slots=True)
class Spins:
    """Lengths in steps from onset to last, one a finding; by guard at its first intervention."""

    recorded: list[int] = field(default_factory=list)
    guarded: dict[str, list[int]] = field(default_factory=dict)
    names: list[tuple[str, str]] = field(default_factory=list)  # id of the finding, rule

    def rows(self) -> list[dict[str, Any]]:
        return [
            {"finding": name, "rule": rule, "recorded": length}
            | {guard: lengths[number] for guard, lengths in self.guarded.items()}
            for number, ((name, rule), length) in enumerate(
                zip(self.names, self.recorded, strict=True)
            )
        ]


def spins(findings: Sequence[Finding], guards: Sequence[str]) -> Spins:
    """As `mean_spins` of the report counts them."""
    out = Spins(guarded={guard: [] for guard in guards})
    for finding in findings:
        if finding.waste.unknown:
            continue  # attempts of an API call are no steps
        length = spin_length(finding)
        out.recorded.append(length)
        out.names.append((finding.id, finding.rule))
        for guard in guards:
            first = next((stop for stop in finding.stops if stop.guard == guard), None)
            cut = length if first is None else max(0, first.saves_from - finding.onset.step)
            out.guarded[guard].append(min(length, cut))
    return out


def draw(data: Spins) -> Figure:
    """Few loops: a row each. Many: the share of loops that are at least so long."""
    return _each(data) if len(data.recorded) <= FEW else _shares(data)


def _each(data: Spins) -> Figure:
    """From where each guard would have cut a loop to where it ended as recorded."""
    size = len(data.recorded)
    drawn, axes = figure(
        f"How long {count(size, 'loop')} spun, as recorded and had guards been on",
        "steps from onset to last; guards cut a loop at their first intervention",
        rows=size + 1,
    )
    for number, length in enumerate(data.recorded):
        row = size - 1 - number
        least = min([length, *(lengths[number] for lengths in data.guarded.values())])
        axes.plot([least, length], [row, row], color=GREY, linewidth=1.2, zorder=1)
    named = [("as recorded", data.recorded, WASTE, "X")]
    for number, (guard, lengths) in enumerate(data.guarded.items()):
        marker = _MARKERS[number % len(_MARKERS)]
        named.append((label(guard), lengths, SERIES[number % len(SERIES)], marker))
    for number, (name, lengths, colour, marker) in enumerate(named):
        mean = sum(lengths) / len(lengths)
        axes.scatter(
            lengths,
            range(size - 1, -1, -1),
            s=64 - 8 * min(number, 4),
            marker=marker,
            color=colour,
            zorder=2 + number,
            label=f"{name}, mean {mean:,.1f}",
        )
    names = [f"{label(rule)}  {identity[:8]}" for identity, rule in data.names]
    axes.set_yticks(range(size - 1, -1, -1), names, fontsize=8.5)
    axes.set_ylim(-0.7, size - 0.3)
    _scale(axes, max(data.recorded))
    axes.grid(visible=False, axis="y")
    axes.grid(visible=True, axis="x")
    axes.set_xlabel("steps")
    legend(drawn, axes)
    return drawn


def _scale(axes: Axes, longest: int) -> None:
    from matplotlib.ticker import MaxNLocator

    if longest > 200:
        axes.set_xscale("symlog", linthresh=10)
        counts(axes, "x")
        axes.set_xlim(-0.4, longest * 1.3)
    else:
        axes.set_xlim(-0.02 * longest - 0.1, 1.05 * longest + 0.1)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))


def _shares(data: Spins) -> Figure:
    drawn, axes = figure(
        f"How long {count(len(data.recorded), 'loop')} spun, as recorded and had guards been on",
        "share of loops with at least so many steps from onset to last; guards cut them at their"
        " first intervention",
    )
    lines = [("as recorded", data.recorded, WASTE, "-")]
    styles = ("--", "-.", ":")
    for number, (guard, lengths) in enumerate(data.guarded.items()):
        colour = SERIES[number % len(SERIES)]
        lines.append((label(guard), lengths, colour, styles[number % len(styles)]))
    longest = max(data.recorded, default=1)
    for name, lengths, colour, style in lines:
        steps, shares = _at_least(lengths, longest)
        mean = sum(lengths) / len(lengths) if lengths else 0.0
        axes.step(
            steps,
            shares,
            where="pre",
            color=colour,
            linestyle=style,
            linewidth=2,
            label=f"{name}, mean {mean:,.1f}",
        )
    _scale(axes, longest)
    axes.set_ylim(0, 103)
    axes.set_xlabel("steps")
    axes.set_ylabel("% of loops")
    legend(drawn, axes)
    return drawn


def _at_least(lengths: Sequence[int], longest: int) -> tuple[list[int], list[float]]:
    ordered = sorted(lengths)
    size = len(ordered)
    steps = sorted({0, *ordered, longest + 1})
    position = 0
    shares = []
    for step in steps:
        while position < size and ordered[position] < step:
            position += 1
        shares.append(100 * (size - position) / size if size else 0.0)
    return steps, shares
