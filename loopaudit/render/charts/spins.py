"""How long loops spun: as recorded, and as each guard would have cut them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from loopaudit.findings import Finding
from loopaudit.render.charts.style import SERIES, WASTE, counts, figure, label, legend
from loopaudit.replay.savings import spin_length

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(slots=True)
class Spins:
    """Lengths in steps from onset to last, one a finding; by guard at its first intervention."""

    recorded: list[int] = field(default_factory=list)
    guarded: dict[str, list[int]] = field(default_factory=dict)

    def rows(self) -> list[dict[str, Any]]:
        return [
            {"finding": number + 1, "recorded": length}
            | {guard: lengths[number] for guard, lengths in self.guarded.items()}
            for number, length in enumerate(self.recorded)
        ]


def spins(findings: Sequence[Finding], guards: Sequence[str]) -> Spins:
    """As `mean_spins` of the report counts them."""
    out = Spins(guarded={guard: [] for guard in guards})
    for finding in findings:
        if finding.waste.unknown:
            continue  # attempts of an API call are no steps
        length = spin_length(finding)
        out.recorded.append(length)
        for guard in guards:
            first = next((stop for stop in finding.stops if stop.guard == guard), None)
            cut = length if first is None else max(0, first.saves_from - finding.onset.step)
            out.guarded[guard].append(min(length, cut))
    return out


def draw(data: Spins) -> Figure:
    """Share of loops that are at least so long."""
    drawn, axes = figure(
        f"How long {len(data.recorded):,} loops spun",
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
            label=f"{name}, mean {mean:.1f}",
        )
    if longest > 60:
        axes.set_xscale("symlog", linthresh=1)
        counts(axes, "x")
        axes.set_xlim(0, longest * 1.2)
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
